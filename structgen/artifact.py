"""In: a constraint, or the file it was saved to. Out: the file, or a constraint like it.

A file holds the spec, the tables of the engine, and the mask rows that had been made. Rows are
memory-mapped. What had not been made yet is made on demand, as if the constraint had never been
saved: the machine is compiled again only when something is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen import __version__, container
from structgen.automaton.automaton import Stored
from structgen.constraint import Constraint
from structgen.errors import ArtifactError
from structgen.mask.rows import RowStore
from structgen.spec.specs import KINDS

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary

KIND = "constraint"
FORMAT = 2

Arrays = dict[str, npt.NDArray[Any]]


def save(constraint: Constraint, path: str | os.PathLike[str]) -> None:
    """Write a constraint and all that it has made so far to one file."""
    spec = constraint.spec.portable()
    with constraint.lock:
        automaton = constraint.automaton.stored()
        arrays = automaton.arrays | constraint.stored()
        header = {
            "structgen": __version__,
            "format": FORMAT,
            "vocabulary": constraint.vocabulary.hash,
            "spec": {"kind": spec.kind, **spec.to_json()},
            "automaton": automaton.header,
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
        automaton = spec.automaton(Stored(header["automaton"], arrays))
        rows = RowStore(vocabulary.words, np.asarray(arrays["mask_rows"]))
        return Constraint(spec, vocabulary, automaton, rows, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ArtifactError(
            f"the file does not hold a constraint: {error!r}",
            location=place,
            hint="compile the spec again",
        ) from error


def _check(arrays: Arrays, place: str) -> None:
    """Refuse numbers that would lead outside the rows."""
    index = arrays["mask_index"]
    if index.size and not (int(index.min()) >= -1 and int(index.max()) < len(arrays["mask_rows"])):
        raise ArtifactError(
            "the table 'mask_index' is inconsistent", location=place, hint="compile the spec again"
        )
