"""In: the escapes that may stand in a JSON string. Out: the same with unpaired surrogates allowed.

An unpaired surrogate is read as U+FFFD, REPLACEMENT CHARACTER, which is what readers put in the
place of one that they cannot hold. Two escapes that form a pair are always one character.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from structgen.automata.lexer.lexer import (
    BACKSLASH,
    Digits,
    Escape,
    Fixed,
    LexState,
    Row,
    RowOf,
    Segment,
    Target,
    Text,
)

STANDS_FOR = 0xFFFD
_HIGH, _LOW, _END = 0xD800, 0xDC00, 0xE000


def with_unpaired(units: Iterable[Segment], text: Text) -> list[Segment]:
    """The UTF-16 code units that may be escaped at `text`, unpaired surrogates among them."""
    found = [s for s in text.segments() if s.lo <= STANDS_FOR <= s.hi]
    alone = found[0].target if found else None
    if not isinstance(alone, Text):
        return list(units)
    merged = [unit for unit in units if not _HIGH <= unit.lo < _LOW]
    after = _HIGH
    for unit in sorted((u for u in units if _HIGH <= u.lo < _LOW), key=lambda u: u.lo):
        if unit.lo > after:
            merged.append(Segment(after, unit.lo - 1, HighHalf(alone, ())))
        merged.append(Segment(unit.lo, unit.hi, HighHalf(alone, _low_halves(unit.target))))
        after = unit.hi + 1
    if after < _LOW:
        merged.append(Segment(after, _LOW - 1, HighHalf(alone, ())))
    merged.append(Segment(_LOW, _END - 1, alone))
    return merged


def _low_halves(after_high: LexState) -> tuple[Segment, ...]:
    """The low halves that a state after a high half asks for."""
    digits = after_high.then if isinstance(after_high, Fixed) else None
    return digits.segments if isinstance(digits, Digits) else ()


@dataclass(frozen=True, slots=True)
class HighHalf(LexState):
    """After an escaped high surrogate: a low half may follow, or it was `alone`."""

    alone: Text
    low: tuple[Segment, ...]

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
    low: tuple[Segment, ...]

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        targets: list[Target] = list(row_of(Escape(self.alone)).targets)
        digits = targets[ord("u")]
        units = digits.segments if isinstance(digits, Digits) else ()
        others = [unit for unit in units if not _LOW <= unit.lo < _END]
        merged = tuple(sorted((*others, *self.low), key=lambda unit: unit.lo))
        targets[ord("u")] = Digits(4, 4, merged, recorded=False) if merged else None
        return Row(targets)
