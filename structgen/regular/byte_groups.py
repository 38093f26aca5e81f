"""Groups of UTF-8 lead bytes, few enough for the bits of an int64, that speed up trie walks.

A walk over a vocabulary's trie can skip a subtree if the lexer state reads all its bytes and loops:
with a set of byte groups for the subtree and one for the state that is a single comparison. A group
stands for whole characters: those whose UTF-8 form begins with one of its bytes.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.utf8 import LEADS

UInt64s = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int32]

BROKEN = 0  #: the group of bytes that begin no character, and of invalid UTF-8
BROKEN_BIT = 1 << BROKEN
_ASCII = (
    0x00, *range(0x20, 0x32), 0x38, *range(0x3A, 0x42), 0x47, *range(0x5B, 0x62), 0x67,
    *range(0x7B, 0x80),
)  # fmt: skip  # first byte of each ASCII group
_LEADS = (
    0xC2, 0xC3, 0xC4, 0xCC, 0xCE, 0xD0, 0xD4, 0xE0, 0xE1, 0xE2, 0xE3, 0xE4, 0xEA, 0xEC, 0xEE, 0xEF,
    0xF0, 0xF1,
)  # fmt: skip
_BEFORE_SURROGATES, _LAST_SURROGATE = 0xD7FF, 0xDFFF
_NEVER = 63  # the class of code points that no state reads


@cache
def groups() -> npt.NDArray[np.uint8]:
    """uint8[256]: the group of each byte."""
    found = np.full(256, BROKEN, np.uint8)
    for number, first in enumerate((*_ASCII, *_LEADS), 1):
        found[first:] = number
    found[0x80:0xC2] = found[0xF5:] = BROKEN
    found.flags.writeable = False
    return found


@cache
def quoted() -> np.int64:
    """int64: the groups without characters that a JSON string must escape."""
    escaped = [*range(0x20), 0x22, 0x5C]
    return ~np.int64(sum({1 << int(groups()[byte]) for byte in escaped}) | BROKEN_BIT)


def _first_point(byte: int) -> int:
    """The first code point that begins with a byte."""
    for lead, first, _, size, _ in reversed(LEADS):
        if byte >= lead:
            return max((byte - lead) * size, first)
    return byte


@cache
def _ends() -> tuple[Ints, Ints]:
    """The first and last code point of each group from 1 on."""
    first = np.array([_first_point(lead) for lead in (*_ASCII, *_LEADS)], np.int32)
    return first, np.append(first[1:] - 1, 0x10FFFF).astype(np.int32)


def needed(low: Ints, high: Ints, classes: Ints) -> UInt64s:
    """uint64[groups]: for each group, bits of the character classes that its characters are in.

    low, high, classes: int32[k], ranges of all code points but surrogates, ascending, each with its
    class or -1.
    """
    first, last = _ends()
    found = np.zeros(len(first) + 1, np.uint64)
    kernels("regular.state_spans").gather(
        low, high, np.where(classes < 0, _NEVER, classes), first, last, found
    )
    found[BROKEN] = 1 << _NEVER
    return found


@lru_cache(maxsize=4096)
def whole(ranges: tuple[tuple[int, int], ...]) -> int:
    """Bits of the groups all of whose characters are in sorted ranges of code points."""
    return whole_of(np.array(ranges, np.int32).reshape(-1, 2))


def whole_of(ranges: Ints) -> int:
    """`whole` of ranges as int32[k, 2]."""
    if not len(ranges):
        return 0
    low, high = ranges.T
    high = np.where(high == _BEFORE_SURROGATES, _LAST_SURROGATE, high)
    begins = np.append(True, low[1:] != high[:-1] + 1)
    low, high = low[begins], high[np.append(begins[1:], True)]
    first, last = _ends()
    at = low.searchsorted(first, "right") - 1  # the range in which each group may be
    groups = np.flatnonzero((at >= 0) & (high[at] >= last)) + 1
    return sum(1 << group for group in groups.tolist())
