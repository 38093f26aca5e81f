"""Opens the file of a saved constraint.

In constant time: what is large is read, and checked, when it is first needed. What had not been
made yet is made on demand, as if the constraint had never been saved: the spec is compiled again
only when something is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator

from structgen.automata.interface import Automaton, Stored
from structgen.constraint.artifact import KIND, SPEC, check_version
from structgen.constraint.constraint import MAX_BYTES, Constraint
from structgen.errors import ArtifactError, StructgenError
from structgen.masks.saved_rows import NAMES, Saved, SavedRows
from structgen.spec.base import Spec
from structgen.spec.registry import class_of, spec_of
from structgen.util import container
from structgen.vocabulary.vocabulary import Vocabulary, checked_vocabulary


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
    if not isinstance(path, str | os.PathLike):
        raise ArtifactError(
            f"the path is {_shown(path)}",
            expected="the path of a file that Constraint.save wrote",
            hint="the path comes first: load(path, vocabulary)",
        )
    vocabulary = checked_vocabulary(vocabulary)
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


def _shown(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


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
