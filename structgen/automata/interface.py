"""In: nothing. Out: `Automaton`, what every spec becomes, and `Masks`, its rows over a vocabulary.

The seam between what texts are allowed and which tokens follow: `Constraint` knows no more than
this. `engine.Engine` is the pushdown automaton of JSON Schemas and patterns; grammars, tags and
products are other ones. An automaton is not safe for concurrent calls: `Constraint` holds a lock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    pass

_POSITION_BYTES, _STEP_BYTES = 400, 100  # of Python objects, about

DEAD = -1  #: no position: what was read is not allowed
Row = npt.NDArray[np.int32]
Bytes = Container[int]


class Stored(NamedTuple):
    """What a file keeps of an automaton: a header of JSON values, and arrays by name."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


class Completes(Protocol):
    """Finds texts that end well."""

    def shortest(self, at: int) -> bytes:
        """A shortest text from a position to where the text may end. Raises BudgetError."""


class Masks(ABC):
    """The token masks of one automaton over one vocabulary."""

    @abstractmethod
    def row(self, at: int) -> Row:
        """The tokens whose bytes may come next: a fresh int32[words]; special tokens aside."""

    def write(self, at: int, row: Row) -> bool | None:
        """Write the same into `row`, int32[words], in place of what it has.

        Returns whether the text may end there, None if that did not come out.
        """
        row[:] = self.row(at)
        return None

    def twin(self, _at: int) -> int:
        """A position whose row was made before and is equal, as is whether texts may end there.

        DEAD if none is known.
        """
        return DEAD

    @abstractmethod
    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """Or into `row` the tokens that go on below a trie node, read from `at` behind the node.

        node: a node of `vocabulary.trie`, whose own token is not looked at; -1 is the root.
        Returns the nodes (ascending, int32) below it after whose bytes the text may end.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of what has been made; a constraint drops these masks when they are too many."""
        return 0


class Automaton(ABC):
    """A deterministic automaton over bytes whose positions are non-negative ints.

    No position is a dead end: from each of them some text leads to one that accepts.
    """

    #: "module:Class" of what computes its token masks; see `structgen.masks.registry`
    MASKS: ClassVar[str]

    start: int

    @abstractmethod
    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """The position after some bytes, or DEAD; and how many could be read."""

    @abstractmethod
    def is_accepting(self, at: int) -> bool:
        """Whether the text may end here."""

    @abstractmethod
    def next_bytes(self, at: int) -> list[int]:
        """The bytes that can follow, ascending."""

    def only_byte(self, at: int) -> int:
        """The byte if exactly one can follow, else -1."""
        found = self.next_bytes(at)
        return found[0] if len(found) == 1 else -1

    def branches(self, at: int) -> list[int]:
        """Some of the bytes that can follow: each other leads to the same core as one of these.

        Or one of the two has a core of its own since a key that was read before begins so.
        """
        return self.next_bytes(at)

    def specials(self, _at: int) -> Mapping[bytes, int]:
        """Special tokens, by their text, that may come next; and the positions after them."""
        return {}

    @abstractmethod
    def is_position(self, at: int) -> bool:
        """Whether a number, as a file may hold any, is that of a position that is there."""

    @abstractmethod
    def core(self, at: int) -> Hashable:
        """Equal for positions with the same futures, up to the key that is being read.

        Which one that is matters when it is over: it must not come again. Beginnings of keys that
        have been read already have cores of their own.
        """

    def remembers(self, _at: int) -> Hashable:
        """Where the key began that is being read and that `core` leaves out; None outside of keys.

        While it stays the same, positions with one core are led to positions with one core.
        """
        return None

    @abstractmethod
    def expected(self, at: int) -> str:
        """What may come next, in words."""

    @abstractmethod
    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """Finds completions; with a smaller alphabet short ones rather than shortest."""

    @property
    @abstractmethod
    def size(self) -> dict[str, int]:
        """How much has been built, by kind; "bytes" is the memory of all tables."""

    @abstractmethod
    def stored(self) -> Stored:
        """What a file keeps; `Spec.automaton` makes an equal automaton from it."""


def size_of_parts(positions: int, steps: int, parts: Iterable[Automaton]) -> dict[str, int]:
    """The `size` of an automaton made of others, with its own positions and steps in Python."""
    kept = _POSITION_BYTES * positions + _STEP_BYTES * steps
    total = {"positions": positions, "bytes": kept}
    for part in parts:
        for kind, count in part.size.items():
            total[kind] = total.get(kind, 0) + count
    return total
