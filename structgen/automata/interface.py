"""The interface of all automata over bytes, and of their token masks.

Every spec becomes an `Automaton`: it says which bytes may follow. `Masks` are its token bitmasks
over one vocabulary. `Constraint` knows no more than these two. `pushdown.engine.Engine` is the
automaton of JSON Schemas and patterns; grammars, tags and products have others. An automaton is not
safe for concurrent calls: `Constraint` holds a lock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.util.cancellation import limited

_POSITION_BYTES, _STEP_BYTES = 400, 100  # of Python objects, about

DEAD = -1  #: no position: the text read is not allowed
Row = npt.NDArray[np.int32]
Bytes = Container[int]
ASK_LESS = "ask for fewer or shorter members, items or characters"  # where completions are too long


class Stored(NamedTuple):
    """An automaton as a file stores it: a header of JSON values, and arrays by name."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def completing(units: int) -> AbstractContextManager[None]:
    """The search for a shortest completion ends with BudgetError after so many units of work."""
    what = "the shortest way to end the text takes too long to find"
    return limited(units, what, ASK_LESS)


class Completes(Protocol):
    """Finds texts that lead to acceptance."""

    def shortest(self, at: int) -> bytes:
        """A shortest text from a position to where the text may end. Raises BudgetError."""


class Masks(ABC):
    """The token bitmasks of one automaton over one vocabulary."""

    @abstractmethod
    def row(self, at: int) -> Row:
        """int32[words], fresh: a bitmask of the tokens that may come next; special ones aside."""

    def write(self, at: int, row: Row) -> bool | None:
        """Overwrite `row`, int32[words], with the same bitmask.

        Returns whether the text may end there, None if that is not known after it.
        """
        row[:] = self.row(at)
        return None

    def cached_position(self, _at: int) -> int:
        """A position whose mask was computed before and is the same, and which accepts alike.

        DEAD if none is known.
        """
        return DEAD

    @abstractmethod
    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """OR into `row` the tokens below a trie node; their bytes after it are read from `at`.

        node: a node of `vocabulary.trie`, without its own token; -1 is the root. Returns the trie
        nodes (int32, ascending) below it after whose bytes the text may end.
        """

    @property
    def nbytes(self) -> int:
        """Memory in bytes; a constraint drops its masks when it is too much."""
        return 0


class Automaton(ABC):
    """A deterministic automaton over bytes whose positions are non-negative ints.

    No position is a dead end: from each of them some text leads to one that accepts.
    """

    #: "module:Class" of what computes its token masks; see `structgen.masks.registry`
    MASKS: ClassVar[str]

    start: int
    #: whether `specials` may be a `TokenSpecials`, by which text tokens stand for themselves, too
    reads_tokens: bool = False
    named_tokens: tuple[Any, ...] = ()  #: the `Token`s of which the vocabulary must have each

    @abstractmethod
    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """The position after some bytes, or DEAD, and how many of the bytes could be read."""

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
        """Bytes that can follow: each other one leads to the same `core` as one of these.

        Except where one of the two has a core of its own, as a key that was read before begins so.
        """
        return self.next_bytes(at)

    def specials(self, _at: int) -> Mapping[bytes, int]:
        """Special tokens, by their text, that may come next; and the positions after them."""
        return {}

    @abstractmethod
    def is_position(self, at: int) -> bool:
        """Whether a number (read from a file, say) is a position of this automaton."""

    @abstractmethod
    def core(self, at: int) -> Hashable:
        """Equal for positions with the same continuations, apart from the key that is being read.

        The key matters only when it is complete, as it must not come twice. Prefixes of keys that
        were read before have cores of their own.
        """

    def remembers(self, _at: int) -> Hashable:
        """Where the key began that `core` leaves out; None outside of keys.

        While this stays the same, positions with equal cores lead to positions with equal cores.
        """
        return None

    @abstractmethod
    def expected(self, at: int) -> str:
        """What may come next, in words for error messages."""

    @abstractmethod
    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """A finder of completions; with a smaller alphabet short ones rather than shortest."""

    @property
    @abstractmethod
    def size(self) -> dict[str, int]:
        """Counts of what has been built, by kind; "bytes" is the memory of all tables."""

    @property
    def nbytes(self) -> int:
        """`size["bytes"]`, which is asked for more often than the counts."""
        return self.size["bytes"]

    @abstractmethod
    def stored(self) -> Stored:
        """What a file stores; `Spec.automaton` makes an equal automaton from it."""


def size_of_parts(positions: int, steps: int, parts: Iterable[Automaton]) -> dict[str, int]:
    """The `size` of an automaton made of others, with positions and steps of its own in Python."""
    kept = _POSITION_BYTES * positions + _STEP_BYTES * steps
    total = {"positions": positions, "bytes": kept}
    for part in parts:
        for kind, count in part.size.items():
            total[kind] = total.get(kind, 0) + count
    return total
