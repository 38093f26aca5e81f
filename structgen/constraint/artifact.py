"""In: a constraint, or the file it was saved to. Out: the file, or a constraint like it.

A file holds the spec, the tables of its automaton, and the mask rows that had been made. It is
mapped, so that processes share it, and opened in constant time: what is large is read, and checked,
when it is first needed. What had not been made yet is made on demand, as if the constraint had
never been saved: the spec is compiled again only when something is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen import __version__
from structgen.automata.interface import Automaton, Stored
from structgen.constraint.constraint import MAX_BYTES, Constraint
from structgen.constraint.precompute import Explored
from structgen.errors import ArtifactError, StructgenError
from structgen.masks.saved_rows import NAMES, Saved, SavedRows
from structgen.spec.base import Spec
from structgen.spec.registry import class_of, spec_of
from structgen.util import container

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

KIND = "constraint"
FORMAT = 27
SPEC = "spec"  # the array with the spec as JSON text, which may be long

Arrays = dict[str, npt.NDArray[Any]]


def described(spec: Spec) -> dict[str, Any]:
    """A spec with its options as JSON, from which `spec_of` makes it again."""
    portable = spec.portable()
    return {"kind": portable.kind, **portable.to_json()}


def key_of(spec: Spec, vocabulary: Vocabulary) -> str:
    """What decides whether a saved constraint is this one: a hex digest.

    It covers the spec with its options, the vocabulary, and the versions of structgen and of the
    format.
    """
    return _key(_text(described(spec)), vocabulary.hash)


def save(
    constraint: Constraint, path: str | os.PathLike[str], explored: Explored | None = None
) -> None:
    """Write a constraint and all that it has made so far to one file, the first mask at least.

    `explored` says what was made ahead of time, for `inspect` and for those who resume.
    """
    vocabulary = constraint.vocabulary
    constraint.mask_id(constraint.start)
    with constraint.lock:
        spec = described(constraint.spec)
        automaton = constraint.automaton.stored()
        rows = constraint.stored()
        size = constraint.size
    text = _text(spec)
    header = {
        "structgen": __version__,
        "format": FORMAT,
        "key": _key(text, vocabulary.hash),
        "vocabulary": vocabulary.hash,
        "tokens": vocabulary.size,
        "narrows": constraint.spec.of_text() is not constraint.spec,
        "kind": spec["kind"],
        "writes_all_bytes": constraint.writes_all_bytes,
        "start": constraint.automaton.start,
        "automaton": automaton.header,
        "size": size,
        "explored": None if explored is None else explored._asdict(),
    }
    tables = {f"automaton.{name}": array for name, array in automaton.arrays.items()}
    arrays = tables | rows | {SPEC: np.frombuffer(text, np.uint8)}
    container.write(path, KIND, header, arrays)


def load(
    path: str | os.PathLike[str],
    vocabulary: Vocabulary,
    *,
    spec: Spec | None = None,
    max_bytes: int = MAX_BYTES,
) -> Constraint:
    """The constraint that `Constraint.save` wrote, with the same masks bit for bit.

    `spec` is the one that was saved, where it is at hand: its `parse` is then used. Raises
    ArtifactError when the file is damaged, of another version, or made for a vocabulary other than
    `vocabulary`. Of a file larger than `container.EAGER` a part that is damaged is noticed when it
    is first needed, as is in any file what does not fit together; `container.File(path,
    KIND).verify()` looks for damage in all of it.
    """
    file = container.File(path, KIND)
    header = file.header
    check_version(header, file.path)
    make_spec = _spec_maker(file, spec)
    with _understood(file.path):
        if header.get("narrows") is True:
            vocabulary = make_spec().narrowed(vocabulary)
        if header.get("vocabulary") != vocabulary.hash:
            raise ArtifactError(
                "the file was made for another vocabulary",
                location=file.path,
                expected=f"the vocabulary with hash {vocabulary.hash}",
                hint="compile the spec for this tokenizer",
            )
        start = header["start"]
        if type(start) is not int or not 0 <= start < 1 << 63:
            raise ValueError(start)
        rows = SavedRows(vocabulary.words, {n: file.section(n) for n in NAMES}, file.path)
        saved = Saved(rows, start, header["writes_all_bytes"] is True)
        automaton = _restorer(file, make_spec)
        return Constraint(make_spec, vocabulary, automaton, saved, max_bytes)


def rows_of(file: container.File) -> int:
    """How many different rows a file holds. Raises ArtifactError where there are none."""
    return len(np.unique(file.array("places")))


def check_version(header: dict[str, Any], place: str) -> None:
    """Raise ArtifactError unless this version of structgen wrote the file at `place`."""
    found = (header.get("structgen"), header.get("format"))
    if found != (__version__, FORMAT):
        raise ArtifactError(
            f"the file was written by structgen {found[0]}, format {found[1]}",
            location=place,
            expected=f"structgen {__version__}, format {FORMAT}",
            hint="compile the spec again",
        )


def _spec_maker(file: container.File, spec: Spec | None) -> Callable[[], Spec]:
    def make() -> Spec:
        if spec is not None:
            return spec
        with _understood(file.path):
            return spec_of(json.loads(file.array(SPEC).tobytes()))

    return make


def _restorer(file: container.File, make_spec: Callable[[], Spec]) -> Callable[[], Automaton]:
    def make() -> Automaton:
        header = file.header
        with _understood(file.path):
            stored = Stored(header["automaton"], file.arrays("automaton."))
            automaton = class_of(header["kind"]).restored(make_spec, stored)
            if automaton.start != header["start"]:
                raise ValueError(header["start"])
            return automaton

    return make


def _text(spec: dict[str, Any]) -> bytes:
    return json.dumps(spec, separators=(",", ":")).encode("ascii")


def _key(spec: bytes, vocabulary: str) -> str:
    digest = blake2b(f"structgen {__version__} {FORMAT} {vocabulary} ".encode(), digest_size=20)
    digest.update(spec)
    return digest.hexdigest()


@contextlib.contextmanager
def _understood(place: str) -> Iterator[None]:
    """Whatever goes wrong inside with the file at `place` is an ArtifactError."""
    try:
        yield
    except ArtifactError:
        raise
    except (
        StructgenError, KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        raise ArtifactError(
            f"the file does not hold a constraint: {error!r:.200}",
            location=place,
            hint="compile the spec again",
        ) from error
