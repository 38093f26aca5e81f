r"""Lexer states over bytes, made from regular languages over characters.

A lexer state is an immutable, hashable description of a place inside a lexeme; its row says what
each byte does there, and is computed when first needed. A lexeme ends with a terminal, whose
meaning only the machine above knows. Characters are spelled here: in plain UTF-8, and inside JSON
strings, where `\\u0041` is another spelling of `A`. A role without `escapes` has one spelling for
each character: itself, or, for those that JSON strings cannot hold, a short escape (`\\n`), or
`\\u001b` in small digits where there is none. Rows have no targets from which nothing can be
accepted.

An unpaired surrogate escape, where a role allows it, is read as the character that stands in for it
(`regular.lone_surrogates`), which itself can be written only where any text may come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from structgen.regular.charset import MAX_CODE_POINT, CharSet, refine
from structgen.regular.expressions.nodes import Literal, Words, open_ended_index
from structgen.regular.lone_surrogates import SHIFT, STAND_IN
from structgen.regular.regex import ANY, EMPTY
from structgen.regular.utf8 import (
    ASTRAL,
    DIGIT,
    FIRST_CONTINUATION,
    LAST_ASCII,
    Segment,
    blocks,
    leads,
    within,
)
from structgen.regular.words import WordRange

QUOTE, BACKSLASH = 0x22, 0x5C
ESCAPES = {
    0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 8, 0x66: 12, 0x6E: 10, 0x72: 13, 0x74: 9,
}  # fmt: skip
SOLIDUS = 0x2F  # the only character with a short escape that needs none
_HEX_ONLY = ((0, 7), (11, 11), (14, 0x1F))  # characters that nothing but `\\u` can spell
# characters that JSON strings cannot hold as they are: controls, quote, backslash
_ESCAPED = ((0, 0x1F), (QUOTE, QUOTE), (BACKSLASH, BACKSLASH))
_HIGH, _LOW, _END = 0xD800, 0xDC00, 0xE000  # surrogates: high halves, low halves
_PLANE_16 = 0x100000  # private use, in the end of which stand-ins for surrogates are
_MANY = 100  # segments; more are not cached, as comparing them costs as much as the work


class End(NamedTuple):
    """The byte ends the lexeme, with a terminal."""

    terminal: Hashable


class LexState:
    """A place inside a lexeme. Subclasses are frozen and compare by content.

    No ABC, as `isinstance` of one is slow, and it is asked for each part of a schema.
    """

    recorded: bool = False  #: whether the bytes read from here on are captured

    @property
    def narrow(self) -> bool:
        """Whether few texts fit, so that caching the tokens within the lexeme does not pay."""
        return False

    def row(self, row_of: RowOf) -> Row:
        """What each byte does here; `row_of` gives (cached) rows of other states."""
        raise NotImplementedError


Target = LexState | End | None
RowOf = Callable[[LexState], "Row"]


class Row(NamedTuple):
    """targets: one per byte; accept: the terminal if the lexeme may end before the next byte."""

    targets: Sequence[Target]
    accept: Hashable | None = None


Segments = tuple[Segment[Any], ...]  # each leads to a lexer state


class Language(Protocol):
    """A state of a deterministic automaton over characters; hashable; EMPTY when dead."""

    @property
    def nullable(self) -> bool:
        """Whether the empty text is in the language."""

    def moves(self) -> tuple[tuple[CharSet, Any], ...]:
        """Disjoint character sets and the live states they lead to."""


Vector = tuple[Language, ...]  # several languages read side by side, one per alternative


class Role(Protocol):
    """What a text is: how it is spelled, and the terminal that it ends with. Hashable."""

    @property
    def quoted(self) -> bool:
        """True inside a JSON string, where escapes are another spelling."""

    @property
    def recorded(self) -> bool:
        """Whether its bytes are captured for the machine."""

    @property
    def escapes(self) -> bool:
        """Whether characters may have any of their spellings, and not only the canonical one."""

    @property
    def surrogates(self) -> bool:
        """Whether unpaired surrogates may be escaped."""

    def end(self, vector: Vector) -> Target:
        """What the closing quote leads to; of unquoted text an End with the terminal, or None."""


def vector_moves(vector: Vector) -> list[tuple[CharSet, Vector]]:
    """Disjoint character sets and the vector that each leads to; never all dead."""
    place = only_live_index(vector)
    if place is not None:
        return [(chars, with_only(vector, place, after)) for chars, after in vector[place].moves()]
    moves = [(chars, (at, after)) for at, x in enumerate(vector) for chars, after in x.moves()]
    found: list[tuple[CharSet, Vector]] = []
    for chars, alive in refine(moves):
        after: list[Language] = [EMPTY] * len(vector)
        for at, language in alive:
            after[at] = language
        found.append((chars, tuple(after)))
    return found


@dataclass(frozen=True, slots=True)
class Text(LexState):
    """Between two characters of a text that is read in several languages side by side."""

    vector: Vector
    role: Role

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As the role has it."""
        return self.role.recorded

    @property
    def narrow(self) -> bool:
        """See `LexState.narrow`."""
        return all(isinstance(x, WordRange | Literal | Words) or x is EMPTY for x in self.vector)

    def segments(self) -> list[Segment[Text]]:
        """The code points that may follow, with the next states, sorted."""
        moves = [(chars, Text(after, self.role)) for chars, after in vector_moves(self.vector)]
        out = [Segment(lo, hi, target) for chars, target in moves for lo, hi in chars.ranges]
        out.sort(key=lambda s: s.lo)
        return out

    def spelled(self) -> list[Segment[Text]]:
        """The same of code points that can be written as what they are.

        Characters that stand in for surrogates are, where they are read as all others of plane 16,
        but for values that are compared with others.
        """
        segments = self.segments()
        if not self.role.surrogates:
            return segments
        found = within(segments, 0, STAND_IN - 1)
        ends_before = bool(found) and found[-1].lo <= _PLANE_16 and found[-1].hi == STAND_IN - 1
        if ends_before and not self.recorded:
            found[-1] = found[-1]._replace(hi=MAX_CODE_POINT)
        return found

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        segments = self.spelled()
        first = 0x20 if self.role.quoted else 0
        for lo, hi, target in segments:
            if lo > LAST_ASCII:
                break
            for byte in range(max(lo, first), min(hi, LAST_ASCII) + 1):
                targets[byte] = target
        multibyte = tuple(s for s in segments if s.hi > LAST_ASCII)
        leads_of = _leads if len(multibyte) < _MANY else _leads.__wrapped__
        for byte, state in leads_of(multibyte, self.recorded) if multibyte else ():
            targets[byte] = state
        end = self.role.end(self.vector)
        if not self.role.quoted:
            return Row(targets, end.terminal if isinstance(end, End) else None)
        targets[QUOTE] = end
        escapable: Any = segments if self.role.escapes else _in_ranges(segments, _ESCAPED)
        if self.role.surrogates:
            escapable = any(Escape(self).row(row_of).targets)
        targets[BACKSLASH] = Escape(self) if escapable else None
        return Row(targets)


def only_live_index(vector: Vector) -> int | None:
    """The index of the only language that is not empty; None if there is not exactly one."""
    alive = [place for place, language in enumerate(vector) if language is not EMPTY]
    return alive[0] if len(alive) == 1 else None


def with_only(vector: Vector, place: int, language: Language) -> Vector:
    """A vector of empty languages but for one."""
    return tuple(language if i == place else EMPTY for i in range(len(vector)))


def open_ended_form(state: LexState) -> LexState:
    """A text whose only live (or open-ended) language is replaced by that of all texts."""
    if not isinstance(state, Text):
        return state
    place = only_live_index(state.vector)
    place = open_ended_index(state.vector) if place is None else place
    return replace(state, vector=with_only(state.vector, place or 0, ANY))


@lru_cache(maxsize=1 << 14)
def _leads(segments: Segments, recorded: bool) -> list[tuple[int, LexState]]:
    """The UTF-8 lead bytes of the code points from U+0080 on, and the states behind them."""
    targets: list[tuple[int, LexState]] = []
    made: dict[tuple[int, Segments], LexState] = {}
    for found, more, inside in leads(segments):
        state = made.setdefault((more, inside), Digits(DIGIT, more, inside, recorded))
        targets += ((byte, state) for byte in found)
    return targets


@dataclass(frozen=True, slots=True)
class Digits(LexState):
    """Inside a character spelled in digits: UTF-8 continuation bytes (6 bits) or hex (4 bits)."""

    bits: int
    left: int
    segments: Segments
    recorded: bool
    capitals: bool = True  #: whether hex digits may be capitals, too

    def row(self, row_of: RowOf) -> Row:  # noqa: ARG002
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        for first, last, inside in blocks(self.segments, 1 << self.bits * (self.left - 1)):
            after: LexState = inside[0].target
            if self.left > 1:
                after = replace(self, left=self.left - 1, segments=inside)
            for digit in range(first, last + 1):
                for byte in self._spellings(digit):
                    targets[byte] = after
        return Row(targets)

    def _spellings(self, digit: int) -> tuple[int, ...]:
        if self.bits == DIGIT:
            return (FIRST_CONTINUATION + digit,)
        small = ord(f"{digit:x}")
        return (small, ord(f"{digit:X}")) if self.capitals else (small,)


@dataclass(frozen=True, slots=True)
class Escape(LexState):
    """After a backslash inside a JSON string."""

    text: Text

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As the role has it."""
        return self.text.recorded

    def row(self, row_of: RowOf) -> Row:  # noqa: ARG002
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        segments, any_spelling = self.text.spelled(), self.text.role.escapes
        for byte, code in ESCAPES.items():
            for seg in segments if any_spelling or byte != SOLIDUS else ():
                if seg.lo <= code <= seg.hi:
                    targets[byte] = seg.target
        units: list[Segment[Any]] = _in_ranges(segments, _HEX_ONLY)
        if any_spelling:
            units = [*within(segments, 0, ASTRAL - 1), *_high_surrogates(segments, self.recorded)]
        if self.text.role.surrogates:
            units = with_unpaired(units, self.text)
        if units:
            ordered = tuple(sorted(units, key=lambda s: s.lo))
            targets[ord("u")] = Digits(4, 4, ordered, self.recorded, any_spelling)
        return Row(targets)


def _in_ranges(
    segments: list[Segment[Text]], ranges: Iterable[tuple[int, int]]
) -> list[Segment[Text]]:
    """The parts of `segments` within some ranges."""
    return [part for lo, hi in ranges for part in within(segments, lo, hi)]


def _high_surrogates(segments: list[Segment[Text]], recorded: bool) -> list[Segment[LexState]]:
    """The high surrogates D800..DBFF, each followed by its escaped low half."""
    astral = [Segment(s.lo - ASTRAL, s.hi - ASTRAL, s.target) for s in segments if s.hi >= ASTRAL]
    return [
        Segment(_HIGH + first, _HIGH + last, _low_surrogate(inside, recorded))
        for first, last, inside in blocks(astral, _END - _LOW)
    ]


def _low_surrogate(inside: Segments, recorded: bool) -> LexState:
    units = tuple(Segment(_LOW + s.lo, _LOW + s.hi, s.target) for s in inside)
    return Fixed(b"\\u", Digits(4, 4, units, recorded), recorded)


@dataclass(frozen=True, slots=True)
class Fixed(LexState):
    """Exactly these bytes, then `then`."""

    data: bytes
    then: LexState | End
    recorded: bool = False

    @property
    def narrow(self) -> bool:
        """See `LexState.narrow`."""
        return isinstance(self.then, End) or self.then.narrow

    def row(self, row_of: RowOf) -> Row:  # noqa: ARG002
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        rest = self.data[1:]
        targets[self.data[0]] = Fixed(rest, self.then, self.recorded) if rest else self.then
        return Row(targets)


def with_unpaired(units: Iterable[Segment[Any]], text: Text) -> list[Segment[Any]]:
    """The code units that may be escaped at `text`, with unpaired surrogates among them."""
    stand_ins = within(text.segments(), STAND_IN, STAND_IN + _END - _HIGH - 1)
    alone = [Segment(s.lo - SHIFT, s.hi - SHIFT, s.target) for s in stand_ins]
    found = [unit for unit in units if not _HIGH <= unit.lo < _LOW]
    found += within(alone, _LOW, _END - 1)
    paired = sorted((u for u in units if _HIGH <= u.lo < _LOW), key=lambda u: u.lo)
    alone = within(alone, _HIGH, _LOW - 1)
    ends = sorted({end for s in (*alone, *paired) for end in (s.lo, s.hi + 1)})
    for first, after in pairwise(ends):  # high halves: alone, with a low one behind, or either
        without = [s.target for s in within(alone, first, first)]
        with_low = [s.target for s in within(paired, first, first)]
        if without:
            low = _low_halves(with_low[0]) if with_low else ()
            found.append(Segment(first, after - 1, HighHalf(without[0], low)))
        elif with_low:
            found.append(Segment(first, after - 1, with_low[0]))
    return found


def _low_halves(after_high: LexState) -> Segments:
    """The low halves that may follow a high half."""
    digits = after_high.then if isinstance(after_high, Fixed) else None
    return digits.segments if isinstance(digits, Digits) else ()


@dataclass(frozen=True, slots=True)
class HighHalf(LexState):
    """After an escaped high surrogate: a low half may follow, or it was `alone`."""

    alone: Text
    low: Segments

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As the text."""
        return self.alone.recorded

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        base = row_of(self.alone)
        targets = list(base.targets)
        if self.low or targets[BACKSLASH] is not None:
            targets[BACKSLASH] = _HalfEscape(self.alone, self.low)
        return Row(targets, base.accept)


@dataclass(frozen=True, slots=True)
class _HalfEscape(LexState):
    """After a high surrogate and a backslash."""

    alone: Text
    low: Segments

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As the text."""
        return self.alone.recorded

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        targets: list[Target] = list(row_of(Escape(self.alone)).targets)
        digits = targets[ord("u")]
        units = digits.segments if isinstance(digits, Digits) else ()
        others = [unit for unit in units if not _LOW <= unit.lo < _END]
        merged = tuple(sorted((*others, *self.low), key=lambda unit: unit.lo))
        capitals = self.alone.role.escapes
        targets[ord("u")] = Digits(4, 4, merged, self.recorded, capitals) if merged else None
        return Row(targets)
