"""Classes of characters that an automaton does not tell apart, so that its tables have few columns.

The sets that an automaton reads are refined into disjoint classes (as lexer generators do); a table
has one column a class. Bit sets over classes fit into 64 bits.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.regular import byte_groups
from structgen.regular.charset import CharSet

Ints = npt.NDArray[np.int32]

MAX_CLASSES = 62  # of characters that some position tells apart


class TooLargeError(Exception):
    """An automaton would be too large, or a part of its expression has no table of states."""


class CharacterClasses(NamedTuple):
    """A partition of the code points into classes.

    low, high, group: int32[k], ranges of code points in order, each with its class; code points
    that no set has are in no range. letters: int32[classes], a sample of each class. reads:
    uint64[n], bits of the classes that make up each of the given sets. needs: uint64[groups], bits
    of the classes that the characters of each byte group are in (`byte_groups`). total: whether
    each character is in a class.
    """

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    letters: npt.NDArray[np.int32]
    reads: npt.NDArray[np.uint64]
    needs: npt.NDArray[np.uint64]
    total: bool


def classes_of(sets: list[CharSet | None]) -> CharacterClasses:
    """The coarsest partition of which all given sets are unions; None stands for the empty set.

    One sweep over the ends of all ranges. Raises TooLargeError beyond MAX_CLASSES.
    """
    numbers: dict[CharSet, int] = {}
    for chars in sets:
        if chars is not None:
            numbers.setdefault(chars, len(numbers))
    toggles = {0: 0, 0xD800: 0, 0xE000: 0, 0x110000: 0}  # sets that begin or end at a code point
    for chars, number in numbers.items():
        bit = 1 << number
        for first, last in chars.ranges:
            toggles[first] = toggles.get(first, 0) ^ bit
            toggles[last + 1] = toggles.get(last + 1, 0) ^ bit
    known: dict[int, int] = {}  # the class of each combination of sets
    spans: list[tuple[int, int, int]] = []
    active = 0
    for first, after in pairwise(sorted(toggles)):
        active ^= toggles[first]
        if first != 0xD800:  # surrogates are no characters
            group = known.setdefault(active, len(known)) if active else -1
            spans.append((first, after - 1, group))
    if len(known) > MAX_CLASSES:
        raise TooLargeError
    letters = [0] * len(known)
    for first, _, group in reversed(spans):
        if group >= 0:
            letters[group] = first
    reads = [0] * len(numbers)
    for active, group in known.items():
        while active:
            lowest = active & -active
            reads[lowest.bit_length() - 1] |= 1 << group
            active ^= lowest
    low, high, groups = np.array(spans, np.int32).T.copy()
    read = groups >= 0
    return CharacterClasses(
        low[read],
        high[read],
        groups[read],
        np.array(letters, np.int32),
        np.array([0 if s is None else reads[numbers[s]] for s in sets], np.uint64),
        byte_groups.needed(low, high, groups),
        bool(read.all()),
    )


def sets_of(classes: CharacterClasses) -> list[CharSet]:
    """The set of characters of each class."""
    ranges: list[list[tuple[int, int]]] = [[] for _ in classes.letters]
    for low, high, group in zip(classes.low, classes.high, classes.group, strict=True):
        ranges[group].append((int(low), int(high)))
    return [CharSet.of(part) for part in ranges]


def classes_in(classes: CharacterClasses, letters: Ints) -> Ints:
    """int32[k]: the class of each code point, -1 for none."""
    if not len(classes.low):
        return np.full(len(letters), -1, np.int32)
    at = np.maximum(np.searchsorted(classes.low, letters, "right") - 1, 0)
    inside = (letters >= classes.low[at]) & (letters <= classes.high[at])
    return np.where(inside, classes.group[at], np.int32(-1))
