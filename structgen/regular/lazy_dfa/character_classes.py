"""Classes of characters that an automaton does not tell apart."""

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
    """The expression has too many positions, or what is no union, sequence or repetition."""


class PositionClasses(NamedTuple):
    """Characters that no position tells apart.

    low, high, group: int32[k], the code points that some position reads, in order, with their
    classes. letters: int32[classes], one of each. reads: uint64[n + 1], bits of the classes that
    each position reads. needs: those that the characters of each group of bytes are in
    (`byte_groups`).
    total: whether each character is in a class.
    """

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    letters: npt.NDArray[np.int32]
    reads: npt.NDArray[np.uint64]
    needs: npt.NDArray[np.uint64]
    total: bool


def classes_of(sets: list[CharSet | None]) -> PositionClasses:
    """The classes of what positions read. Raises TooLargeError when there are too many."""
    numbers: dict[CharSet, int] = {}
    for chars in sets:
        if chars is not None:
            numbers.setdefault(chars, len(numbers))
    toggles = {0: 0, 0xD800: 0, 0xE000: 0, 0x110000: 0}
    for chars, number in numbers.items():
        bit = 1 << number
        for first, last in chars.ranges:
            toggles[first] = toggles.get(first, 0) ^ bit
            toggles[last + 1] = toggles.get(last + 1, 0) ^ bit
    known: dict[int, int] = {}
    spans: list[tuple[int, int, int]] = []
    active = 0
    for first, after in pairwise(sorted(toggles)):
        active ^= toggles[first]
        if first != 0xD800:
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
    return PositionClasses(
        low[read],
        high[read],
        groups[read],
        np.array(letters, np.int32),
        np.array([0 if s is None else reads[numbers[s]] for s in sets], np.uint64),
        byte_groups.needed(low, high, groups),
        bool(read.all()),
    )


def sets_of(classes: PositionClasses) -> list[CharSet]:
    """The characters of each class."""
    ranges: list[list[tuple[int, int]]] = [[] for _ in classes.letters]
    for low, high, group in zip(classes.low, classes.high, classes.group, strict=True):
        ranges[group].append((int(low), int(high)))
    return [CharSet.of(part) for part in ranges]


def places_in(classes: PositionClasses, letters: Ints) -> Ints:
    """int32[k]: the classes that code points are in, -1 for none."""
    if not len(classes.low):
        return np.full(len(letters), -1, np.int32)
    at = np.maximum(np.searchsorted(classes.low, letters, "right") - 1, 0)
    inside = (letters >= classes.low[at]) & (letters <= classes.high[at])
    return np.where(inside, classes.group[at], np.int32(-1))
