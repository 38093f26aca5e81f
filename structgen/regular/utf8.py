"""UTF-8 by ranges of code points: which bytes spell them (RFC 3629).

A character is a lead byte, and behind it continuation bytes, each a digit of 6 bits. `blocks`
splits ranges by their next digit, in UTF-8 as in the hex digits of `\\u0041`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from structgen.regular.charset import MAX_CODE_POINT

T = TypeVar("T")

LAST_ASCII, ASTRAL = 0x7F, 0x10000
FIRST_CONTINUATION, DIGIT = 0x80, 6  # a continuation byte is the one plus a digit of so many bits
# lead byte of block 0, first and last code point, code points per lead byte, continuation bytes
LEADS = (
    (0xC0, 0x80, 0x7FF, 1 << DIGIT, 1),
    (0xE0, 0x800, 0xFFFF, 1 << 2 * DIGIT, 2),
    (0xF0, ASTRAL, MAX_CODE_POINT, 1 << 3 * DIGIT, 3),
)


class Segment(NamedTuple, Generic[T]):
    """Code points lo..hi (inclusive, maybe relative to a block) that lead to `target`."""

    lo: int
    hi: int
    target: T


Segments = Sequence[Segment[T]]  # sorted and disjoint


def within(segments: Segments[T], lo: int, hi: int) -> list[Segment[T]]:
    """The parts of segments in lo..hi."""
    first = bisect_left(segments, lo, key=lambda s: s.hi)
    last = bisect_right(segments, hi, lo=first, key=lambda s: s.lo)
    return [Segment(max(s.lo, lo), min(s.hi, hi), s.target) for s in segments[first:last]]


def blocks(segments: Segments[T], size: int) -> Iterator[tuple[int, int, tuple[Segment[T], ...]]]:
    """Runs of blocks of so many code points: first and last block, and the segments inside of each.

    Those inside are relative to their block. Blocks without segments are left out.
    """
    block = 0
    for at, (lo, hi, target) in enumerate(segments):
        block = max(block, lo // size)
        while block <= hi // size:
            base, first = block * size, block
            if lo <= base and hi >= base + size - 1:  # the segment covers this block, and more
                block = (hi + 1) // size
                yield first, block - 1, (Segment(0, size - 1, target),)
                continue
            inside = []
            for i in range(at, len(segments)):
                low, high, to = segments[i]
                if low >= base + size:
                    break
                inside.append(Segment(max(low - base, 0), min(high - base, size - 1), to))
            block += 1
            yield first, first, tuple(inside)


def leads(segments: Segments[T]) -> Iterator[tuple[range, int, tuple[Segment[T], ...]]]:
    """Lead bytes, how many bytes follow each, and the segments of what these spell.

    Of code points from U+0080 on, and without forms that are longer than they need be.
    """
    for lead, first, last, size, more in LEADS:
        for begin, end, inside in blocks(within(segments, first, last), size):
            yield range(lead + begin, lead + end + 1), more, inside
