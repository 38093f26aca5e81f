"""In: parts already in normal form. Out: the nodes of regular expressions, with what they know.

Nodes are made by the constructors in `regex_build` and walked by the rules in `regex`; this module
only says what a node knows about itself: emptiness as far as it is evident, nullability, lengths.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakValueDictionary

from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex, intern, intern_in

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class LeafState(Protocol):
    """A state of a foreign deterministic automaton; hashable, equal iff interchangeable.

    It may also have `shortest`, a lower bound on the length of what it accepts, `live`, true when
    it is known to accept something, and then `witness`, the length of something that it accepts.
    `reads`: disjoint sets of characters, if each move of it and of all states behind it is a union
    of these, and all these states are live. `again`: characters of which any may follow in any
    order, and how many of them; `may_end`, whether the text may end behind each. `base` and `own`:
    a state with the same moves, except for those of certain characters, and these; None for
    characters that do not follow. `boundless`: the state as it were if texts might have any length,
    and how many characters may follow before that makes a difference. `table()`: all states, and
    `number`, the place of this one there; `reads` then has a column for each of its sets.
    """

    @property
    def nullable(self) -> bool:
        """May a text end here?"""

    def moves(self) -> Sequence[tuple[CharSet, LeafState]]:
        """Disjoint character sets with the states they lead to; those may be dead ends."""


class StateTable(NamedTuple):
    """All states of a foreign automaton.

    moves: int32[S, len(reads)], -1 for none; ends: uint8[S], whether a text may end.
    """

    moves: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint8]


class Delayed(Protocol):
    """A language spelled out only when it is walked; hashable, equal iff interchangeable."""

    @property
    def nullable(self) -> bool:
        """Is the empty string a member?"""

    @property
    def shortest(self) -> int:
        """A lower bound on the length of the members."""

    def expand(self) -> Regex:
        """The language. Its steps must not depend on the steps of the node that delays it."""


class Chars(Regex):
    """One character out of a set."""

    __slots__ = ("chars",)

    def __init__(self, chars: CharSet) -> None:
        self.chars = chars
        self._describe(False, 1, 1, pace=1)


class Literal(Regex):
    """One text of at least two characters."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text
        self._describe(False, len(text), len(text), pace=1)


class WordTable:
    """Sorted distinct words; equal lists are one object, so nodes hold 10,000 words at no cost."""

    __slots__ = ("__weakref__", "lengths", "words")

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.lengths = [len(word) for word in words]


_word_tables: WeakValueDictionary[tuple[str, ...], WordTable] = WeakValueDictionary()


def word_table(words: tuple[str, ...]) -> WordTable:
    """The one table of these words, which must be sorted and distinct."""
    return intern_in(_word_tables, words, WordTable)


class Words(Regex):
    """The words `table.words[low:high]`, two or more, without the first `depth` letters."""

    __slots__ = ("depth", "high", "low", "table")

    def __init__(self, table: WordTable, low: int, high: int, depth: int) -> None:
        self.table, self.low, self.high, self.depth = table, low, high, depth
        lengths = table.lengths[low:high]
        few, most = min(lengths), max(lengths)
        self._describe(lengths[0] == depth, few - depth, most - depth, pace=max(most - few, 1))

    def members(self) -> list[str]:
        """All words of this language, sorted."""
        return [word[self.depth :] for word in self.table.words[self.low : self.high]]

    def has(self, text: str) -> bool:
        """Whether a text is one of the words."""
        listed = self.table.words
        whole = listed[self.low][: self.depth] + text
        at = bisect_left(listed, whole, self.low, self.high)
        return at < self.high and listed[at] == whole


class Leaf(Regex):
    """A state of a foreign automaton."""

    __slots__ = ("state",)

    def __init__(self, state: LeafState) -> None:
        self.state = state
        nullable = state.nullable
        shortest = 0 if nullable else max(1, getattr(state, "shortest", 1))
        self._describe(nullable, shortest, INFINITE, plain=False)
        if getattr(state, "live", False):
            self._live = True
            self.witness = 0 if nullable else getattr(state, "witness", INFINITE)


class Lazy(Regex):
    """A language spelled out when it is walked, so that it may mention itself after a character."""

    __slots__ = ("_expanded", "source")

    _expanded: Regex | None

    def __init__(self, source: Delayed) -> None:
        self.source = source
        self._expanded = None
        self._describe(source.nullable, source.shortest, INFINITE, plain=False)

    def expanded(self) -> Regex:
        """The language, spelled out once."""
        if self._expanded is None:
            self._expanded = self.source.expand()
        return self._expanded

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.expanded(),)


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
            pace=max(head.pace, tail.pace),
        )
        self.witness = min(head.witness + tail.witness, INFINITE)

    def verdict(self) -> bool | None:  # noqa: D102
        if self._live is None:
            head, tail = self.head.verdict(), self.tail._live
            if head is False or tail is False:
                self._live = False
            elif head and tail:
                self._live = True
        return self._live

    @property
    def in_a_row(self) -> list[Regex]:
        """All that follows each other; there may be too much of it for recursion."""
        found: list[Regex] = []
        at: Regex = self
        while isinstance(at, Concat):
            found.append(at.head)
            at = at.tail
        return [*found, at]

    @property
    def opened(self) -> bool:
        """Whether any text may follow all the rest."""
        at: Regex = self
        while isinstance(at, Concat):
            at = at.tail
        return at is ANY

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
        shortest, longest, pace = body.shortest, body.longest, body.pace
        if low < high:
            gap = shortest - max(low, 1) * (longest - shortest)
            pace = max(pace, gap, 0 if low else shortest)
        self._describe(
            low == 0 or body.nullable,
            low * shortest,
            min(high * longest, INFINITE),
            plain=body.plain,
            pace=pace,
        )
        if low > 0 and not body.nullable:
            self.witness = min(low * body.witness, INFINITE)

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
        pace = max(part.pace for part in parts)
        for low, high in bounds:
            pace = max(pace, low - longest)
            longest = max(longest, high)
        nullable = any(part.nullable for part in parts)
        plain = all(part.plain for part in parts)
        self._describe(nullable, bounds[0][0], longest, plain=plain, pace=pace)
        self.witness = min(part.witness for part in parts)

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
        if len(parts) == 2 and is_span(parts[0]) != is_span(parts[1]):
            span, other = parts if is_span(parts[0]) else parts[::-1]
            if shortest > longest:
                self._live = False
            elif other.pace < INFINITE and longest - shortest + 1 >= other.pace:
                self._live = True
                self.witness = shortest + other.pace - 1
            elif other.shortest >= span.shortest and other.witness <= span.longest:
                self._live = True
                self.witness = other.witness

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
            self.witness = min(self.witness, body.longest + 1)

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.body,)


def is_span(node: Regex) -> bool:
    """True for `any character{low,high}`: nothing but a bound on the length."""
    return (isinstance(node, Repeat) and node.body is ANY_CHAR) or node is ANY_CHAR


ANY_CHAR: Regex = intern(Chars, ALL)
ANY: Regex = intern(Repeat, ANY_CHAR, 0, INFINITE)


def matches(root: Regex, text: str) -> bool:
    """True iff the whole of `text` is a member; never searches."""
    if isinstance(root, Not):
        return not matches(root.body, text)
    if isinstance(root, And):
        return all(matches(part, text) for part in root.parts)
    if isinstance(root, Literal):
        return root.text == text
    if isinstance(root, Words):
        return root.has(text)
    if isinstance(root, Alt) and not root.plain:  # what is plain has fewer states, and alone
        return any(matches(part, text) for part in sorted(root.parts, key=_is_foreign))
    node = root
    while isinstance(node, Concat) and isinstance(node.head, Literal):
        if not text.startswith(node.head.text):
            return False
        text, node = text[len(node.head.text) :], node.tail
    for letter in text:
        node = node.after(ord(letter))
        if node is EMPTY:
            return False
    return node.nullable


def is_listed(node: Regex) -> bool:
    """Whether a node is a foreign automaton that has a table of its states."""
    return isinstance(node, Leaf) and hasattr(node.state, "table")


def is_lasting(language: object) -> bool:
    """Whether a language goes on behind most texts: all texts are in it, or all but others."""
    return language is ANY or isinstance(language, Not)


def free_place(vector: Sequence[object]) -> int | None:
    """The place of the only language of several that is lasting; None if not one is."""
    found = [place for place, language in enumerate(vector) if is_lasting(language)]
    return found[0] if len(found) == 1 else None


def texts_of(language: object) -> list[str] | None:
    """The texts of a language that is a list, or one of nothing; None of others."""
    if isinstance(language, Words):
        return language.members()
    if isinstance(language, Literal):
        return [language.text]
    return [] if language is EMPTY else None


def _is_foreign(node: Regex) -> bool:
    return not node.plain
