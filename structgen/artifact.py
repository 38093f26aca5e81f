"""In: a constraint, or the file it was saved to. Out: the file, or a constraint like it.

A file holds the spec, the tables of the engine, and the mask rows that had been made. Rows are
memory-mapped. What had not been made yet is made on demand, as if the constraint had never been
saved: the machine is compiled again only when something is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen import __version__, container
from structgen.automaton.engine import Engine
from structgen.automaton.origins import Origins, Saved
from structgen.constraint import Constraint
from structgen.errors import ArtifactError
from structgen.mask.rows import RowStore
from structgen.spec.specs import KINDS

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary

KIND = "constraint"
FORMAT = 1
_SCALED = ("rows", "filled", "accept", "recorded")  # tables with one entry per lexer state
_CONTEXTS = ("ctx_base", "ctx_origin")

Arrays = dict[str, npt.NDArray[Any]]


def save(constraint: Constraint, path: str | os.PathLike[str]) -> None:
    """Write a constraint and all that it has made so far to one file."""
    spec = constraint.spec.portable()
    with constraint.lock:
        engine = constraint.engine
        tables, origins = engine.tables._asdict(), engine.origins
        counts = dict.fromkeys(_SCALED, len(origins.states))
        counts |= dict.fromkeys(_CONTEXTS, int(engine.tables.sizes[0]))
        arrays: Arrays = {k: np.array(a[: counts.get(k, len(a))]) for k, a in tables.items()}
        arrays["origin_states"] = np.array(origins.states, np.int64)
        arrays["origin_frames"] = np.array(origins.frames, np.int64).reshape(-1, 3)
        arrays["origin_labels"] = np.array(origins.labels, np.int64).reshape(-1, 2)
        arrays["births"] = np.frombuffer(bytes(origins.births), np.uint8)
        arrays |= constraint.stored()
        header = {
            "structgen": __version__,
            "format": FORMAT,
            "vocabulary": constraint.vocabulary.hash,
            "spec": {"kind": spec.kind, **spec.to_json()},
            "start": engine.start,
        }
    container.write(path, KIND, header, arrays)


def load(path: str | os.PathLike[str], vocabulary: Vocabulary) -> Constraint:
    """The constraint that `Constraint.save` wrote, with the same masks bit for bit.

    Raises ArtifactError when the file is damaged, of another version, or made for a vocabulary
    other than `vocabulary`.
    """
    header, arrays = container.read(path, KIND)
    place = str(path)
    found = (header.get("structgen"), header.get("format"))
    if found != (__version__, FORMAT):
        raise ArtifactError(
            f"the file was written by structgen {found[0]}, format {found[1]}",
            location=place,
            expected=f"structgen {__version__}, format {FORMAT}",
            hint="compile the spec again",
        )
    if header.get("vocabulary") != vocabulary.hash:
        raise ArtifactError(
            "the file was made for another vocabulary",
            location=place,
            expected=f"the vocabulary with hash {vocabulary.hash}",
            hint="compile the spec for this tokenizer",
        )
    try:
        _check(arrays, place)
        data = dict(header["spec"])
        spec = KINDS[data.pop("kind")].from_json(data)
        engine = Engine(spec.machine, _saved(arrays, int(header["start"])))
        rows = RowStore(vocabulary.words, np.asarray(arrays["mask_rows"]))
        return Constraint(spec, vocabulary, engine, rows, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ArtifactError(
            f"the file does not hold a constraint: {error!r}",
            location=place,
            hint="compile the spec again",
        ) from error


def _saved(arrays: Arrays, start: int) -> Saved:
    names = ("rows", "filled", "accept", "recorded", "needs_text", "ctx_base", "ctx_origin",
             "ctx_next", "events", "sizes", "need")  # fmt: skip
    origins = Origins(
        arrays["origin_states"].tolist(),
        [(int(a), int(b), int(c)) for a, b, c in arrays["origin_frames"]],
        [(int(a), int(b)) for a, b in arrays["origin_labels"]],
        bytearray(arrays["births"].tobytes()),
    )
    return Saved({name: np.array(arrays[name]) for name in names}, origins, start)


def _check(arrays: Arrays, place: str) -> None:
    """Refuse numbers that would lead a kernel outside its tables."""
    states, labels = len(arrays["origin_states"]), len(arrays["origin_labels"])
    contexts = int(arrays["sizes"][0])
    limits = [
        ("rows", -labels - 1, states),
        ("accept", -1, labels),
        ("ctx_base", 0, contexts),
        ("mask_index", -1, len(arrays["mask_rows"])),
    ]
    for name, low, end in limits:
        values = arrays[name]
        if values.size and not (low <= int(values.min()) and int(values.max()) < end):
            _broken(place, name)
    if len(arrays["needs_text"]) < labels or len(arrays["ctx_base"]) != contexts:
        _broken(place, "needs_text")
    pairs = [arrays["pairs"], arrays["events"][:, 1]]
    for values in pairs:
        real = values[values >= 0]
        if real.size and int((real >> 32).max()) >= states:
            _broken(place, "events")
        if real.size and int((real & 0xFFFFFFFF).max()) >= contexts:
            _broken(place, "events")
    for name in ("ctx_next", "events"):
        size = len(arrays[name])
        if size & (size - 1) or 2 * int(arrays["sizes"][1 if name == "ctx_next" else 2]) > size:
            _broken(place, name)


def _broken(place: str, name: str) -> NoReturn:
    raise ArtifactError(
        f"the table {name!r} is inconsistent", location=place, hint="compile the spec again"
    )
