"""In: parts already in normal form. Out: the hash-consed nodes of regular expressions, with bounds.

Nodes are made by the constructors in `regex_build` and walked by the rules in `regex`; this module
only says what a node knows about itself: emptiness as far as it is evident, nullability, lengths.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol
from weakref import WeakValueDictionary

from structgen.automaton import regex_search
from structgen.automaton.charset import ALL, CharSet, union_all

Moves = tuple[tuple[CharSet, "Regex"], ...]
INFINITE = 1 << 62  # upper bound of lengths and counts that stands for "no bound"

_ids = itertools.count()
_table: WeakValueDictionary[tuple[Any, ...], Regex] = WeakValueDictionary()
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a fork may happen while another thread holds it
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def intern(kind: type[Regex], *fields: Any) -> Regex:
    """The one node of `kind` with these fields."""
    key = (kind, *fields)
    found = _table.get(key)
    if found is not None:
        return found
    with _lock:
        found = _table.get(key)
        if found is None:
            found = _table[key] = kind(*fields)
    return found


class LeafState(Protocol):
    """A state of a foreign deterministic automaton; hashable, equal iff interchangeable."""

    @property
    def nullable(self) -> bool:
        """May a text end here?"""

    def moves(self) -> Sequence[tuple[CharSet, LeafState]]:
        """Disjoint character sets with the states they lead to; those may be dead ends."""


class Regex:
    """A regular language; equal forms are one object, so `is` and `==` agree.

    `nullable`: does the empty string belong? `id`: a small int, never used twice in a process.
    `shortest`, `longest`: bounds on the length of members in characters (`longest` may be
    `INFINITE`); exact when `plain`, which says that no intersection, complement or foreign leaf
    occurs inside. `dense`: non-empty, and each length within the bounds occurs.
    """

    __slots__ = (
        "__weakref__", "_distance", "_live", "_moves", "_steps",
        "dense", "id", "longest", "nullable", "plain", "shortest",
    )  # fmt: skip

    derive: ClassVar[Callable[[Any], Iterable[tuple[CharSet, Regex]]]]  # set by module `regex`
    id: int
    nullable: bool
    shortest: int
    longest: int
    plain: bool
    dense: bool
    _live: bool | None
    _distance: int
    _steps: Moves | None
    _moves: Moves | None

    def _describe(
        self,
        nullable: bool,
        shortest: int,
        longest: int,
        *,
        plain: bool = True,
        dense: bool = False,
    ) -> None:
        self.id = next(_ids)
        self.nullable = nullable
        self.shortest = shortest
        self.longest = longest
        self.plain = plain
        self.dense = dense
        self._live = True if plain or nullable else None
        self._distance = -1
        self._steps = self._moves = None

    def moves(self) -> Moves:
        """Disjoint character sets with the derivatives they lead to, dead ends left out.

        Each derivative occurs once; the sets are ordered by their first member. Raises
        `BudgetError` when deciding whether a derivative is empty costs too much.
        """
        found = self._moves
        if found is None:
            found = self.steps()
            if not self.plain:
                found = tuple(move for move in found if regex_search.live(move[1]))
            self._moves = found
        return found

    def steps(self) -> Moves:
        """`moves` with the dead ends left in; never searches."""
        if self._steps is not None:
            return self._steps
        stack: list[Regex] = [self]
        while stack:
            node = stack[-1]
            if node._steps is not None:
                stack.pop()
                continue
            missing = [part for part in node.sources() if part._steps is None]
            if missing:
                stack.extend(missing)
                continue
            node._steps = _group(node.derive())
            stack.pop()
        found = self._steps
        return found if found is not None else ()

    def after(self, code_point: int) -> Regex:
        """The derivative by one character, `EMPTY` when no move covers it; may be a dead end."""
        for chars, target in self.steps():
            if code_point in chars:
                return target
        return EMPTY

    def is_empty(self) -> bool:
        """True iff the language has no member; exact. Raises `BudgetError` if too costly."""
        return not regex_search.live(self)

    def verdict(self) -> bool | None:
        """Is the language non-empty, as far as can be told without a search?"""
        return self._live

    def sources(self) -> Iterable[Regex]:
        """The nodes whose steps `derive` reads."""
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


def _group(moves: Iterable[tuple[CharSet, Regex]]) -> Moves:
    """Moves with each target once, `EMPTY` left out, ordered by first character."""
    groups: dict[Regex, list[CharSet]] = {}
    for chars, target in moves:
        if chars and target is not EMPTY:
            groups.setdefault(target, []).append(chars)
    joined = [(union_all(sets), target) for target, sets in groups.items()]
    if len(joined) > 1:
        joined.sort(key=_first)
    return tuple(joined)


def _first(move: tuple[CharSet, Regex]) -> int:
    return move[0].ranges[0][0]


class _Nothing(Regex):
    """The empty language, or the language of the empty string alone."""

    __slots__ = ()

    def __init__(self, *, nullable: bool) -> None:
        self._describe(nullable, 0, 0, dense=nullable)
        self._live = nullable


class Chars(Regex):
    """One character out of a set."""

    __slots__ = ("chars",)

    def __init__(self, chars: CharSet) -> None:
        self.chars = chars
        self._describe(False, 1, 1, dense=True)


class Literal(Regex):
    """One text of at least two characters."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text
        self._describe(False, len(text), len(text), dense=True)


class WordTable:
    """Sorted distinct words; equal lists are one object, so nodes hold 10,000 words at no cost."""

    __slots__ = ("__weakref__", "lengths", "words")

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.lengths = [len(word) for word in words]


_word_tables: WeakValueDictionary[tuple[str, ...], WordTable] = WeakValueDictionary()


def word_table(words: tuple[str, ...]) -> WordTable:
    """The one table of these words, which must be sorted and distinct."""
    with _lock:
        found = _word_tables.get(words)
        if found is None:
            found = _word_tables[words] = WordTable(words)
    return found


class Words(Regex):
    """The words `table.words[low:high]`, two or more, without the first `depth` letters."""

    __slots__ = ("depth", "high", "low", "table")

    def __init__(self, table: WordTable, low: int, high: int, depth: int) -> None:
        self.table, self.low, self.high, self.depth = table, low, high, depth
        lengths = table.lengths[low:high]
        self._describe(lengths[0] == depth, min(lengths) - depth, max(lengths) - depth)

    def members(self) -> list[str]:
        """All words of this language, sorted."""
        return [word[self.depth :] for word in self.table.words[self.low : self.high]]


class Leaf(Regex):
    """A state of a foreign automaton."""

    __slots__ = ("state",)

    def __init__(self, state: LeafState) -> None:
        self.state = state
        self._describe(state.nullable, 0 if state.nullable else 1, INFINITE, plain=False)


class Concat(Regex):
    """`head` then `tail`; `head` is never itself a concatenation."""

    __slots__ = ("head", "tail")

    def __init__(self, head: Regex, tail: Regex) -> None:
        self.head, self.tail = head, tail
        self._describe(
            head.nullable and tail.nullable,
            head.shortest + tail.shortest,
            min(head.longest + tail.longest, INFINITE),
            plain=head.plain and tail.plain,
            dense=head.dense and tail.dense,
        )

    def verdict(self) -> bool | None:  # noqa: D102
        if self._live is None:
            head, tail = self.head.verdict(), self.tail._live
            if head is False or tail is False:
                self._live = False
            elif head and tail:
                self._live = True
        return self._live

    def spine(self) -> Iterable[tuple[Regex, Regex]]:
        """The parts a member can start in, each with what follows it."""
        node: Regex = self
        while isinstance(node, Concat):
            yield node.head, node.tail
            if not node.head.nullable:
                return
            node = node.tail
        yield node, EPSILON

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return [head for head, _ in self.spine()]


class Repeat(Regex):
    """Between `low` and `high` times `body`; `high` may be `INFINITE`."""

    __slots__ = ("body", "high", "low")

    def __init__(self, body: Regex, low: int, high: int) -> None:
        self.body, self.low, self.high = body, low, high
        shortest, longest = body.shortest, body.longest
        gapless = body.dense and (
            (low == high or max(low, 1) * (longest - shortest) >= shortest - 1)
            and (low > 0 or shortest <= 1)
        )
        self._describe(
            low == 0 or body.nullable,
            low * shortest,
            min(high * longest, INFINITE),
            plain=body.plain,
            dense=gapless,
        )

    def verdict(self) -> bool | None:  # noqa: D102
        if self._live is None:
            self._live = self.body._live
        return self._live

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.body,)


class Alt(Regex):
    """A member of any of `parts` (two or more, none of them an alternative itself)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Regex, ...]) -> None:
        self.parts = parts
        bounds = sorted((part.shortest, part.longest) for part in parts)
        longest = bounds[0][1]
        dense = all(part.dense for part in parts)
        for low, high in bounds:
            dense = dense and low <= longest + 1
            longest = max(longest, high)
        nullable = any(part.nullable for part in parts)
        plain = all(part.plain for part in parts)
        self._describe(nullable, bounds[0][0], longest, plain=plain, dense=dense)

    def verdict(self) -> bool | None:  # noqa: D102
        if self._live is None:
            verdicts = [part._live for part in self.parts]
            if True in verdicts:
                self._live = True
            elif None not in verdicts:
                self._live = False
        return self._live

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return self.parts


class And(Regex):
    """A member of every one of `parts` (two or more, none of them an intersection itself)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Regex, ...]) -> None:
        self.parts = parts
        shortest = max(part.shortest for part in parts)
        longest = min(part.longest for part in parts)
        nullable = all(part.nullable for part in parts)
        self._describe(nullable, shortest, longest, plain=False)
        if len(parts) == 2 and all(part.dense for part in parts) and any(map(is_span, parts)):
            self._live = shortest <= longest

    def verdict(self) -> bool | None:  # noqa: D102
        if self._live is None and any(part._live is False for part in self.parts):
            self._live = False
        return self._live

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return self.parts


class Not(Regex):
    """Every string that is no member of `body`."""

    __slots__ = ("body",)

    def __init__(self, body: Regex) -> None:
        self.body = body
        self._describe(not body.nullable, 1 if body.nullable else 0, INFINITE, plain=False)
        if body.longest < INFINITE:
            self._live = True

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.body,)


def is_span(node: Regex) -> bool:
    """True for `any character{low,high}`: nothing but a bound on the length."""
    return (isinstance(node, Repeat) and node.body is ANY_CHAR) or node is ANY_CHAR


EMPTY: Regex = _Nothing(nullable=False)
EPSILON: Regex = _Nothing(nullable=True)
ANY_CHAR: Regex = intern(Chars, ALL)
ANY: Regex = intern(Repeat, ANY_CHAR, 0, INFINITE)
