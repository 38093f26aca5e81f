"""In: nothing. Out: what all states of patterns (format `regex`) have, whatever they stand for.

See `json_regex_format`, which has the states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

from structgen.regular.charset import CharSet

Moves = Iterable[tuple[CharSet, "State"]]
Own = Iterable[tuple[CharSet, "State | None"]]
Again = tuple[CharSet, int] | None


@cache
def one(letter: str) -> CharSet:
    """The set of one letter."""
    return CharSet.chars(letter)


@dataclass(frozen=True)
class Place:
    """Open groups from the outside in (is it a lookbehind?), and the groups one may refer to."""

    stack: tuple[bool, ...] = ()
    groups: int = 0
    names: frozenset[str] = frozenset()

    @cached_property
    def _hash(self) -> int:
        return hash((self.stack, self.groups, self.names))

    def __hash__(self) -> int:
        """As of the fields, found once: each state has a place."""
        return self._hash

    def opened(self, *, behind: bool = False, captures: bool = False) -> Place:
        """Inside one more group."""
        groups = min(self.groups + captures, 9)
        return replace(self, stack=(*self.stack, behind), groups=groups)


@dataclass(frozen=True)
class State:
    """A position in a pattern; every one can be completed."""

    place: Place
    live: ClassVar[bool] = True
    closing: ClassVar[int] = 0  # least number of characters that end what is begun, groups aside
    complete: ClassVar[bool] = False
    again: ClassVar[Again] = None

    @property
    def nullable(self) -> bool:
        """May the pattern end here?"""
        return self.complete and not self.place.stack

    @property
    def shortest(self) -> int:
        """A lower bound on the characters still missing."""
        return self.closing + len(self.place.stack)

    def moves(self) -> list[tuple[CharSet, State]]:
        """The characters that may follow."""
        return [move for move in self.steps() if move[0]]

    def steps(self) -> Moves:
        """`moves`, with empty sets among them."""
        raise NotImplementedError


class Like(State):
    """Like another state, `base`, except for the characters `apart`."""

    base: State
    apart: ClassVar[CharSet]

    def own(self) -> Own:
        """What these characters lead to; None if they may not come next."""
        raise NotImplementedError

    @property
    def again(self) -> Again:  # type: ignore[override]
        """As in the other state."""
        found = self.base.again
        return None if found is None else (found[0] - self.apart, found[1])

    def steps(self) -> Moves:
        """See `State.steps`."""
        yield from ((chars - self.apart, state) for chars, state in self.base.moves())
        yield from ((chars, state) for chars, state in self.own() if state is not None)


@dataclass(frozen=True)
class Without(Like):
    """Like another state, but some characters may not come next."""

    base: State
    barred: CharSet

    @property
    def apart(self) -> CharSet:  # type: ignore[override]
        """See `Like`."""
        return self.barred

    @property
    def nullable(self) -> bool:
        """See `State.nullable`."""
        return self.base.nullable

    @property
    def shortest(self) -> int:
        """See `State.shortest`."""
        return self.base.shortest

    def own(self) -> Own:
        """See `Like.own`."""
        return [(self.barred, None)]
