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

SOME = -2  # see `kernels.tables`
Arrays = dict[str, npt.NDArray[Any]]

_STATES = ("rows", "filled", "accept", "recorded", "guard")  # tables with one entry per lexer state
_CONTEXTS = ("contexts", "origin")
_HASHES = {"remembered": 1, "events": 2, "moves": 4}  # and where `sizes` has their entries
_OTHERS = ("needs_text", "interned", "sizes", "need", *_HASHES)


def stored(engine: Engine) -> Stored:
    """The tables of an engine, cut to what is used, and the origins of its numbers."""
    tables, origins = engine.tables._asdict(), engine.origins
    counts = dict.fromkeys(_STATES, engine.states_made)
    counts |= dict.fromkeys(_CONTEXTS, int(engine.tables.sizes[0]))
    counts |= {"frames": len(origins.frames), "needs_text": engine.labels_made}
    arrays: Arrays = {k: np.array(a[: counts.get(k, len(a))]) for k, a in tables.items()}
    arrays["rows"][arrays["filled"] == 0] = -1  # what nobody has written yet may be anything
    arrays["origin_states"] = np.array(origins.states, np.int64)
    arrays["origin_frames"] = np.array(origins.frames, np.int64).reshape(-1, 3)
    arrays["origin_labels"] = np.array(origins.labels, np.int64).reshape(-1, 2)
    arrays["births"] = np.frombuffer(bytes(origins.births), np.uint8)
    return Stored({"start": engine.start, "shared": engine.shared_states}, arrays)


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
    names = (*_STATES, *_CONTEXTS, *_OTHERS, "frames", "order")
    tables = {name: np.array(arrays[name]) for name in names}
    return Saved(tables, origins, int(saved.header["start"]), int(saved.header["shared"]))


def _check(arrays: Arrays) -> None:
    """Refuse numbers that would lead a kernel outside its tables."""
    states, labels = len(arrays["rows"]), len(arrays["needs_text"])
    contexts = int(arrays["sizes"][0])
    frames = len(arrays["origin_frames"])
    limits = [
        ("rows", -labels - 1, states),
        ("accept", -1, labels),
        ("interned", -1, contexts),
    ]
    for name, low, end in limits:
        _check_range(name, arrays[name], low, end)
    if len(arrays["contexts"]) != contexts:
        _broken("contexts")
    if len(arrays["frames"]) != frames or any(len(arrays[n]) != states for n in _STATES):
        _broken("frames")
    _check_range("frames", arrays["frames"][:, :2], -1, states)
    _check_range("guard", arrays["guard"], -1, len(arrays["order"]) + 1)
    _check_range("contexts", arrays["contexts"][:, 0], 0, frames)
    _check_range("contexts", arrays["contexts"][:, 1], -1, contexts)
    _check_range("contexts", arrays["contexts"][:, 2], SOME, contexts)
    _check_range("contexts", arrays["contexts"][:, 3], 0, contexts)
    _check_range("origin", arrays["origin"] >> 8, -1, contexts)
    _check_pairs("events", arrays["events"][:, 1], states, contexts)
    moves = arrays["moves"][:, 1]
    moves = moves[moves >= 0]
    kinds, first, second = moves >> 56, (moves >> 28) & 0xFFFFFFF, moves & 0xFFFFFFF
    _check_range("moves", kinds, 0, 4)
    _check_range("moves", first, 0, max(frames, labels))
    _check_range("moves", first[kinds != 2], 0, frames)
    _check_range("moves", first[kinds == 2], 0, labels)
    _check_range("moves", second, 0, frames)
    for name, at in _HASHES.items():
        size = len(arrays[name])
        if size & (size - 1) or 2 * int(arrays["sizes"][at]) > size:
            _broken(name)
    if len(arrays["interned"]) & (len(arrays["interned"]) - 1):
        _broken("interned")


def _check_range(name: str, values: npt.NDArray[Any], low: int, end: int) -> None:
    if values.size and not (low <= int(values.min()) and int(values.max()) < end):
        _broken(name)


def _check_pairs(name: str, pairs: npt.NDArray[Any], states: int, contexts: int) -> None:
    real = pairs[pairs >= 0]
    _check_range(name, real >> 32, 0, states)
    _check_range(name, real & 0xFFFFFFFF, 0, contexts)


def _broken(name: str) -> NoReturn:
    raise ArtifactError(f"the table {name!r} is inconsistent", hint="compile the spec again")
