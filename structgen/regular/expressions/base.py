"""The node of a regular expression: hash-consing, and how any node is walked by derivatives.

`Regex` is the base class. Each kind of node (module `nodes`) says what it knows about itself; its
derivation rule needs the constructors of other nodes, and is attached to it in module
`structgen.regular.regex`.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from structgen.regular.charset import CharSet, union_all
from structgen.util.cancellation import checkpoint

Moves = tuple[tuple[CharSet, "Regex"], ...]
INFINITE = 1 << 62  # stands for "no upper bound" of lengths and counts
DERIVED_PER_UNIT = 4  # nodes whose derivatives take about a unit of work

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_ids = itertools.count()
_table: WeakValueDictionary[tuple[Any, ...], Regex] = WeakValueDictionary()
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a fork may happen while another thread holds it
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def intern(kind: type[Regex], *fields: Any) -> Regex:
    """The one node of `kind` with these fields (hash-consing)."""
    key = (kind, *fields)
    found = _table.get(key)
    if found is not None:
        return found
    with _lock:
        found = _table.get(key)
        if found is None:
            found = _table[key] = kind(*fields)
    return found


def intern_in(
    table: WeakValueDictionary[Key, Value], key: Key, make: Callable[[Key], Value]
) -> Value:
    """The value under `key` of a table of shared objects, made when missing."""
    with _lock:
        found = table.get(key)
        if found is None:
            found = table[key] = make(key)
    return found


class Regex:
    """A regular language; equal forms are one object, so `is` and `==` agree.

    `nullable`: is the empty string a member? `id`: a small int, never used twice in a process.
    `plain`: no intersection, complement or sub-automaton occurs inside. `shortest`, `longest`:
    bounds on the length of members in characters (`longest` may be `INFINITE`), exact when `plain`.
    `length_gap`: among any so many neighbouring lengths within the bounds one is that of a member,
    and so are both bounds; `INFINITE` when that is not known. `witness`: some member is at most
    that long; `INFINITE` when none is known.
    """

    __slots__ = (
        "__weakref__", "_distance", "_moves", "_nonempty", "_steps",
        "id", "length_gap", "longest", "nullable", "plain", "shortest", "witness",
    )  # fmt: skip

    derive: ClassVar[Callable[[Any], Iterable[tuple[CharSet, Regex]]]]  # attached by `derivatives`
    id: int
    nullable: bool
    shortest: int
    longest: int
    plain: bool
    length_gap: int
    witness: int
    _nonempty: bool | None
    _distance: int
    _steps: Moves | None
    _moves: Moves | None
    #: decides whether a language has a member; `search` attaches it
    search_member: ClassVar[staticmethod[[Regex], bool]]

    def _describe(
        self,
        nullable: bool,
        shortest: int,
        longest: int,
        *,
        plain: bool = True,
        length_gap: int = INFINITE,
    ) -> None:
        self.id = next(_ids)
        self.nullable = nullable
        self.shortest = shortest
        self.longest = longest
        self.plain = plain
        self.length_gap = length_gap
        self.witness = 0 if nullable else shortest if plain else INFINITE
        self._nonempty = True if plain or nullable else None
        self._distance = -1
        self._steps = self._moves = None

    def moves(self) -> Moves:
        """The derivatives by disjoint character sets, without those that are empty languages.

        Each derivative occurs once; the sets are ordered by their first member. Raises
        `BudgetError` when deciding whether a derivative is empty costs too much.
        """
        found = self._moves
        if found is None:
            found = self.steps()
            if not self.plain:
                found = tuple(move for move in found if not move[1].is_empty())
            self._moves = found
        return found

    def steps(self) -> Moves:
        """`moves` with empty derivatives left in; never searches."""
        if self._steps is not None:
            return self._steps
        stack: list[Regex] = [self]  # no recursion: expressions may be very deep
        derived = 0
        while stack:
            node = stack[-1]
            if node._steps is not None:
                stack.pop()
                continue
            missing = [part for part in node.sources() if part._steps is None]
            if missing:
                stack.extend(missing)
                continue
            derived += 1
            if derived % DERIVED_PER_UNIT == 1:
                checkpoint()
            node._steps = _group(node.derive())
            stack.pop()
        found = self._steps
        return found if found is not None else ()

    def after(self, code_point: int) -> Regex:
        """The derivative by one character, `EMPTY` when no move covers it; may be empty else."""
        for chars, target in self.steps():
            if code_point in chars:
                return target
        return EMPTY

    def is_empty(self) -> bool:
        """True iff the language has no member; exact. Raises `BudgetError` if too costly."""
        known = self.known_nonempty()
        return not (self.search_member(self) if known is None else known)

    def known_nonempty(self) -> bool | None:
        """Whether the language is non-empty, None where telling takes a search."""
        return self._nonempty

    def sources(self) -> Iterable[Regex]:
        """The nodes whose `steps` the derivation rule reads."""
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


def _group(moves: Iterable[tuple[CharSet, Regex]]) -> Moves:
    """Join moves with the same target, leave `EMPTY` out, order by first character."""
    groups: dict[Regex, list[CharSet]] = {}
    for chars, target in moves:
        if chars and target is not EMPTY:
            groups.setdefault(target, []).append(chars)
    joined = [
        (union_all(sets) if len(sets) > 1 else sets[0], target) for target, sets in groups.items()
    ]
    if len(joined) > 1:
        joined.sort(key=_first)
    return tuple(joined)


def _first(move: tuple[CharSet, Regex]) -> int:
    return move[0].ranges[0][0]


class _Nothing(Regex):
    """The empty language, or the language of the empty string alone."""

    __slots__ = ()

    def __init__(self, *, nullable: bool) -> None:
        self._describe(nullable, 0, 0, length_gap=1 if nullable else INFINITE)
        self._nonempty = nullable
        self.witness = 0 if nullable else INFINITE


EMPTY: Regex = _Nothing(nullable=False)
EPSILON: Regex = _Nothing(nullable=True)
