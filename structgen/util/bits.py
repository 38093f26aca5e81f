"""Sets of small numbers as the bits of an int."""

from __future__ import annotations

from collections.abc import Iterator


def ones(bits: int) -> Iterator[int]:
    """The positions of the set bits, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
