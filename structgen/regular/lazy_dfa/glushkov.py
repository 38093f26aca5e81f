"""The position automaton of a plain regular expression (Glushkov 1961), determinised lazily.

A position is one place in the expression where a character is read. Which positions may come first
and which may follow each is read off the expression once, with bounded repeats written out; a DFA
state is a set of positions, one bit each, and a kernel finds its moves with bit operations.

Two reductions keep the number of states small. In a run of positions that repeat one character
class (x{0,9}) some positions read all that the others read, so only one of them is kept in a set
(subsumption). And alternatives that any text may follow share the positions of that any-text tail.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL, CharSet, one_character
from structgen.regular.expressions.base import EPSILON, INFINITE, Regex
from structgen.regular.expressions.nodes import ANY, Alt, Chars, Concat, Literal, Repeat, Words
from structgen.regular.lazy_dfa.character_classes import TooLargeError, classes_of
from structgen.regular.lazy_dfa.states import Array, TableAutomaton, nothing_ahead, unknown_ahead
from structgen.util.cached import cached_attribute

MAX_POSITIONS = 2000
MAX_DEPTH = 100  # of nested expressions
MAX_LINKS = 20_000  # "may follow" links written while the expression is read


class Part(NamedTuple):
    """A subexpression: bit sets of its first and last positions, and whether it is nullable."""

    first: int
    last: int
    empty: bool


class Run(NamedTuple):
    """Positions `first` to `last` that repeat one character class: one subsumes the others.

    In x{0,n} the first reads all that the later ones read, since more repeats are left. In x{n,}
    the last does (`rises`), since no more repeats are needed.
    """

    first: int
    last: int
    rises: bool

    def pieces(self) -> list[tuple[int, int, bool, bool]]:
        """The run cut at 64-bit words, beginning with the word of the position that is kept.

        Each piece: the index of the word; the run's bits in it; whether it is not the first piece;
        whether the run rises.
        """
        bits = (2 << self.last) - (1 << self.first)
        words = range(self.first >> 6, (self.last >> 6) + 1)
        return [
            (word, bits >> (word << 6) & (1 << 64) - 1, i > 0, self.rises)
            for i, word in enumerate(reversed(words) if self.rises else words)
        ]


class Positions:
    """The positions of an expression, numbered from 1. Raises TooLargeError.

    start: bits of the positions that may come first. follow[p]: bits of those that may follow
    position p. Bit 0 of either says that the text may end. sets[p]: the characters that p reads.
    runs: see `Run`.
    """

    def __init__(self, regex: Regex) -> None:
        """Read the positions off `regex`."""
        self._begin()
        whole = self._part(regex, 0)
        self.start = whole.first | whole.empty
        self._link(whole.last, 1)
        #: state sets that accept every text: a position that repeats all characters, and the end
        self.universal = [
            1 << place | 1
            for place, chars in enumerate(self.sets)
            if chars == ALL and self.follow[place] >> place & self.follow[place] & 1
        ]

    def _begin(self) -> None:
        self.follow = [0]
        self.sets: list[CharSet | None] = [None]
        self.runs: list[Run] = []
        self._links = 0

    def _part(self, node: Regex, depth: int) -> Part:
        if depth > MAX_DEPTH:
            raise TooLargeError
        if isinstance(node, Chars):
            return self._character(node.chars)
        if isinstance(node, Literal):
            return self._text(node.text)
        if isinstance(node, Concat):
            return self._sequence(node, depth + 1)
        if isinstance(node, Repeat):
            return self._repetition(node, depth + 1)
        if isinstance(node, Alt):
            return self._alternatives(node, depth + 1)
        if isinstance(node, Words):
            return self._words(node.members())
        if node is EPSILON:
            return Part(0, 0, True)
        raise TooLargeError

    def _character(self, chars: CharSet) -> Part:
        bit = 1 << self._position(chars)
        return Part(bit, bit, False)

    def _position(self, chars: CharSet | None) -> int:
        place = len(self.follow)
        if place > MAX_POSITIONS:
            raise TooLargeError
        self.follow.append(0)
        self.sets.append(chars)
        return place

    def _text(self, text: str) -> Part:
        return self._chain([*map(one_character, text)])

    def _chain(self, sets: list[CharSet]) -> Part:
        """A position for each of some characters in a row; the next one follows each."""
        begin, end = len(self.follow), len(self.follow) + len(sets)
        if end - 1 > MAX_POSITIONS:
            raise TooLargeError
        self.follow += [2 << place for place in range(begin, end - 1)]
        self.follow.append(0)
        self.sets += sets
        return Part(1 << begin, 1 << (end - 1), False)

    def _words(self, texts: list[str]) -> Part:
        """A trie: one position for each prefix of a word."""
        places: dict[str, int] = {}
        first = last = 0
        for text in texts:
            before = 0
            for size in range(1, len(text) + 1):
                begin = text[:size]
                place = places.get(begin)
                if place is None:
                    place = places[begin] = self._position(one_character(text[size - 1]))
                    if before:
                        self.follow[before] |= 1 << place
                    else:
                        first |= 1 << place
                before = place
            last |= 1 << before if before else 0
        return Part(first, last, "" in texts)

    def _alternatives(self, node: Alt, depth: int) -> Part:
        """A union. Alternatives that any text may follow share the positions of that tail.

        Otherwise a state would say which of them have been read, which does not matter.
        """
        opened = [part for part in node.parts if isinstance(part, Concat) and part.ends_in_anything]
        if len(opened) < 2:
            return _either([self._part(part, depth) for part in node.parts])
        closed = [self._part(part, depth) for part in node.parts if part not in opened]
        heads = _either([self._sequence(part, depth, opened=True) for part in opened])
        return _either([*closed, self._joined(heads, self._part(ANY, depth))])

    def _sequence(self, node: Concat, depth: int, *, opened: bool = False) -> Part:
        """A concatenation. opened: without its last part."""
        whole = Part(0, 0, True)
        at: Regex = node
        while isinstance(at, Concat):
            whole = self._joined(whole, self._part(at.head, depth))
            at = at.tail
        return whole if opened else self._joined(whole, self._part(at, depth))

    def _joined(self, one: Part, other: Part) -> Part:
        self._link(one.last, other.first)
        first = one.first | other.first if one.empty else one.first
        last = one.last | other.last if other.empty else other.last
        return Part(first, last, one.empty and other.empty)

    def _repetition(self, node: Repeat, depth: int) -> Part:
        """A repeat: copies of the body in a row; without an upper bound the last one loops."""
        endless = node.high == INFINITE
        count = max(node.low, 1) if endless else node.high
        if count * max(node.body.shortest, 1) > MAX_POSITIONS:
            raise TooLargeError
        if isinstance(node.body, Chars):
            return self._characters(node, node.body.chars, count, endless=endless)
        whole, begin, links = Part(0, 0, True), len(self.follow), self._links
        met = len(self.runs)
        body = self._part(node.body, depth)
        one = slice(begin, len(self.follow))
        runs = self.runs[met:]
        follow, size, links = self.follow[one], len(self.follow) - begin, self._links - links
        if begin + size * count > MAX_POSITIONS + 1:
            raise TooLargeError
        last = 0
        for number in range(1, count + 1):
            if number > 1:
                body = Part(body.first << size, body.last << size, body.empty)
                shift = size * (number - 1)  # a copy is the first body with its bits moved up
                self.follow += [bits << shift for bits in follow]
                self.runs += [Run(r.first + shift, r.last + shift, r.rises) for r in runs]
                self._repeat(one)
                self._links += links
            whole = self._joined(whole, body)
            if number >= node.low or body.empty:
                last |= body.last
        if endless:
            self._link(body.last, body.first)
        return Part(whole.first, last | whole.last, node.low == 0 or whole.empty)

    def _repeat(self, places: slice) -> None:
        """Copy what each of some positions reads, for one more copy of a repeated body."""
        self.sets += self.sets[places]

    def _characters(self, node: Repeat, chars: CharSet, count: int, *, endless: bool) -> Part:
        """`_repetition` of one character class: a chain, of which a part is a `Run`."""
        least, begin = max(node.low, 1), len(self.follow)
        chain = self._chain([chars] * count)
        if endless:
            self._link(chain.last, chain.last)
        run = Run(begin if endless else begin + least - 1, begin + count - 1, endless)
        if run.first < run.last:
            self.runs.append(run)
        last = (chain.last << 1) - (chain.first << (least - 1))  # the bits from that one on
        return Part(chain.first, last, node.low == 0)

    def _link(self, last: int, first: int) -> None:
        """Let the positions in `first` follow each of those in `last`."""
        if not first:
            return
        while last:
            low = last & -last
            self.follow[low.bit_length() - 1] |= first
            last ^= low
            self._links += 1
        if self._links > MAX_LINKS:
            raise TooLargeError


def _either(parts: list[Part]) -> Part:
    """The union of some parts."""
    first = last = 0
    for part in parts:
        first |= part.first
        last |= part.last
    return Part(first, last, any(part.empty for part in parts))


class PositionAutomaton(TableAutomaton):
    """A DFA whose states are sets of positions: uint64[S, W] bits."""

    is_kernel_only = True

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        # any text may come first: no state is dead
        self._open = isinstance(regex, Concat) and regex.head is ANY
        self._listed = isinstance(regex, Words)  # a finite language: no loops
        self._number(Positions(regex), ends=regex.nullable)

    def _number(self, positions: Positions, *, ends: bool) -> None:
        """Lay out positions as words."""
        classes = classes_of(positions.sets)
        width = len(positions.follow) // 64 + 1
        bits = [*positions.follow, positions.start, *positions.universal]
        data = b"".join(part.to_bytes(8 * width, "little") for part in bits)
        rows = np.frombuffer(data, np.uint64).reshape(-1, width).copy()
        count = len(positions.follow)
        super().__init__(rows[count], classes, ends=ends)
        self._follow, self._universal = rows[:count], rows[count + 1 :]
        pieces = [piece for run in positions.runs for piece in run.pieces()]
        self._runs = np.array(pieces, np.uint64).reshape(-1, 4)
        self._scratch = np.zeros((len(classes.letters), width), np.uint64)

    def _find(self, state: int, count: int) -> None:
        known, now, end = -1, self.found, self.found + count
        while known < now < end:
            known = now
            kernels("regular.glushkov").explore(
                self._follow,
                self.classes.reads,
                self._universal,
                self._runs,
                self.states,
                self.search,
                self._scratch,
                state,
                end - now,
            )
            made, now, _ = self.search.sizes.tolist()
            if now == made:
                return
            state = self._next()  # a branch ended before `count`: go on with another one

    def _endings(self, begin: int, end: int) -> Array:
        found: Array = (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        found = unknown_ahead(end - begin)
        states = np.ascontiguousarray(self.states[begin:end])
        kernels("regular.required_ahead").look_from(states, self.classes.reads, self._behind, found)
        return found

    @cached_attribute
    def _behind(self) -> Any:
        """`Ahead` of each position, as a fixpoint over `follow`."""
        found = nothing_ahead(len(self._follow))
        kernels("regular.required_ahead").look_behind(self._follow, self.classes.reads, found)
        return found

    def _write_known_loops(self, order: Array) -> bool:
        if self._open:
            self.loops[order], self.often[order] = -1, 255
        return self._open or self._listed
