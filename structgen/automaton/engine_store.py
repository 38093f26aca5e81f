"""In: an engine, or the arrays it was stored as. Out: those arrays, or tables to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Stored
from structgen.automaton.origins import Origins, Saved
from structgen.errors import ArtifactError

if TYPE_CHECKING:
    from structgen.automaton.engine import Engine

Arrays = dict[str, npt.NDArray[Any]]

_STATES = ("rows", "filled", "accept", "recorded")  # tables with one entry per lexer state
_CONTEXTS = ("ctx_base", "ctx_origin")
_OTHERS = ("needs_text", "ctx_next", "events", "sizes", "need")


def stored(engine: Engine) -> Stored:
    """The tables of an engine, cut to what is used, and the origins of its numbers."""
    tables, origins = engine.tables._asdict(), engine.origins
    counts = dict.fromkeys(_STATES, len(origins.states))
    counts |= dict.fromkeys(_CONTEXTS, int(engine.tables.sizes[0]))
    arrays: Arrays = {k: np.array(a[: counts.get(k, len(a))]) for k, a in tables.items()}
    arrays["origin_states"] = np.array(origins.states, np.int64)
    arrays["origin_frames"] = np.array(origins.frames, np.int64).reshape(-1, 3)
    arrays["origin_labels"] = np.array(origins.labels, np.int64).reshape(-1, 2)
    arrays["births"] = np.frombuffer(bytes(origins.births), np.uint8)
    return Stored({"start": engine.start}, arrays)


def restored(saved: Stored) -> Saved:
    """What an engine starts from. Raises ArtifactError when the tables do not fit together."""
    arrays = saved.arrays
    _check(arrays)
    origins = Origins(
        arrays["origin_states"].tolist(),
        [(int(a), int(b), int(c)) for a, b, c in arrays["origin_frames"]],
        [(int(a), int(b)) for a, b in arrays["origin_labels"]],
        bytearray(arrays["births"].tobytes()),
    )
    names = (*_STATES, *_CONTEXTS, *_OTHERS)
    tables = {name: np.array(arrays[name]) for name in names}
    return Saved(tables, origins, int(saved.header["start"]))


def _check(arrays: Arrays) -> None:
    """Refuse numbers that would lead a kernel outside its tables."""
    states, labels = len(arrays["origin_states"]), len(arrays["origin_labels"])
    contexts = int(arrays["sizes"][0])
    limits = [("rows", -labels - 1, states), ("accept", -1, labels), ("ctx_base", 0, contexts)]
    for name, low, end in limits:
        values = arrays[name]
        if values.size and not (low <= int(values.min()) and int(values.max()) < end):
            _broken(name)
    if len(arrays["needs_text"]) < labels or len(arrays["ctx_base"]) != contexts:
        _broken("needs_text")
    pairs = arrays["events"][:, 1]
    real = pairs[pairs >= 0]
    if real.size and int((real >> 32).max()) >= states:
        _broken("events")
    if real.size and int((real & 0xFFFFFFFF).max()) >= contexts:
        _broken("events")
    for name in ("ctx_next", "events"):
        size = len(arrays[name])
        if size & (size - 1) or 2 * int(arrays["sizes"][1 if name == "ctx_next" else 2]) > size:
            _broken(name)


def _broken(name: str) -> NoReturn:
    raise ArtifactError(f"the table {name!r} is inconsistent", hint="compile the spec again")
