"""The file of a saved constraint: its header, its parts, and how it is written.

A file holds the spec, the tables of its automaton, and the mask rows that had been made. It is
mapped, so that processes share it; `structgen.constraint.loading` opens it.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Automaton
from structgen.constraint.precompute import Explored
from structgen.errors import ArtifactError
from structgen.spec.base import Spec
from structgen.util import container
from structgen.version import __version__
from structgen.vocabulary.vocabulary import Vocabulary

KIND = "constraint"
FORMAT = 28
SPEC = "spec"  # the array with the spec as JSON text, which may be long

Arrays = dict[str, npt.NDArray[Any]]


class Saveable(Protocol):
    """What a constraint shows of itself to be saved."""

    vocabulary: Vocabulary
    start: int

    @property
    def spec(self) -> Spec:
        """What it was compiled from."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held by whoever looks at more than one part of it."""

    @property
    def automaton(self) -> Automaton:
        """The automaton of its spec."""

    @property
    def size(self) -> dict[str, int]:
        """How much has been built."""

    @property
    def writes_all_bytes(self) -> bool:
        """Whether its vocabulary has a token for each byte."""

    def mask_id(self, state: int, /) -> int:
        """A number for the mask of a state, which is made."""

    def stored(self) -> Arrays:
        """The rows that have been made."""


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
    constraint: Saveable, path: str | os.PathLike[str], explored: Explored | None = None
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


def _text(spec: dict[str, Any]) -> bytes:
    return json.dumps(spec, separators=(",", ":")).encode("ascii")


def _key(spec: bytes, vocabulary: str) -> str:
    digest = blake2b(f"structgen {__version__} {FORMAT} {vocabulary} ".encode(), digest_size=20)
    digest.update(spec)
    return digest.hexdigest()
