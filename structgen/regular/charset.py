"""Immutable sets of Unicode code points, hash-consed.

A `CharSet` holds Unicode scalar values: 0..0x10FFFF without the surrogates 0xD800..0xDFFF. Equal
sets are the same object, so `is`, `==` and hashing cost nothing, and binary operations are memoised
by identity.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar
from weakref import WeakValueDictionary

from structgen.util.bits import ones
from structgen.util.cancellation import checkpoint

MAX_CODE_POINT = 0x10FFFF
SEEK_FROM = 8  # times as many ranges, in which those of another set are looked up
SETS_PER_UNIT = 2  # that are cut into disjoint ones in a unit of work
POINTS_PER_UNIT = 64  # code points between which they change
Ranges = tuple[tuple[int, int], ...]
Payload = TypeVar("Payload")

_ALL_RANGES: Ranges = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))

_table: WeakValueDictionary[Ranges, CharSet] = WeakValueDictionary()
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a fork may happen while another thread holds it
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


class CharSet:
    """An immutable set of Unicode scalar values; equal sets are one object.

    `ranges` holds sorted, maximal, inclusive `(first, last)` pairs. Make one with `CharSet.of` or
    `CharSet.chars`, combine with `|`, `&`, `-` and `~` (complement in `ALL`).
    """

    __slots__ = ("__weakref__", "ranges")

    ranges: Ranges

    @staticmethod
    def of(ranges: Iterable[tuple[int, int]]) -> CharSet:
        """The set of all code points in inclusive `ranges` (any order), without surrogates."""
        merged = _normalise(ranges)
        if merged and (merged[0][0] < 0 or merged[-1][1] > MAX_CODE_POINT or _surrogate(merged)):
            merged = _common(merged, _ALL_RANGES)
        return _intern(merged)

    @staticmethod
    def chars(text: str) -> CharSet:
        """The set of the characters of `text` (surrogates in it are left out)."""
        return CharSet.of([(ord(c), ord(c)) for c in text])

    @property
    def first(self) -> int:
        """The lowest member, or -1 when the set is empty."""
        return self.ranges[0][0] if self.ranges else -1

    @property
    def sample(self) -> int:
        """A member to show people: the lowest printable ASCII one, else the lowest; -1 if none."""
        shown = self & _PRINTABLE
        return shown.first if shown else self.first

    def __or__(self, other: CharSet) -> CharSet:
        return self if self is other else _union(self, other)

    def __and__(self, other: CharSet) -> CharSet:
        return self if self is other else _intersection(self, other)

    def __sub__(self, other: CharSet) -> CharSet:
        return NONE if self is other else _difference(self, other)

    def __invert__(self) -> CharSet:
        return _difference(ALL, self)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, item: int | str) -> bool:
        point = ord(item) if isinstance(item, str) else item
        at = bisect_right(self.ranges, (point, MAX_CODE_POINT + 1)) - 1
        return at >= 0 and self.ranges[at][1] >= point

    def __len__(self) -> int:
        """How many code points the set holds."""
        return sum(last - first + 1 for first, last in self.ranges)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{first:X}" if first == last else f"{first:X}-{last:X}"
            for first, last in self.ranges[:8]
        )
        more = f", ... {len(self.ranges)} ranges" if len(self.ranges) > 8 else ""
        return f"CharSet({shown}{more})"

    def __reduce__(self) -> tuple[object, ...]:
        return (CharSet.of, (self.ranges,))


def _intern(ranges: Ranges) -> CharSet:
    found = _table.get(ranges)
    if found is not None:
        return found
    with _lock:
        found = _table.get(ranges)
        if found is None:
            found = object.__new__(CharSet)
            found.ranges = ranges
            _table[ranges] = found
    return found


def _normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort, drop empty ranges, join those that touch."""
    merged: list[tuple[int, int]] = []
    start = end = -2
    for first, last in sorted(ranges):
        if last < first:
            continue
        if first > end + 1:
            if end != -2:
                merged.append((start, end))
            start, end = first, last
        elif last > end:
            end = last
    if end != -2:
        merged.append((start, end))
    return tuple(merged)


def _surrogate(ranges: Ranges) -> bool:
    """True when a range reaches into the surrogates."""
    at = bisect_right(ranges, (0xDFFF, MAX_CODE_POINT + 1)) - 1
    return at >= 0 and ranges[at][1] >= 0xD800


def _common(left: Ranges, right: Ranges) -> Ranges:
    """The intersection of two sorted lists of ranges."""
    if len(left) > len(right):
        left, right = right, left
    if SEEK_FROM * len(left) < len(right):
        return _found_in(left, right)
    out: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        a, b = left[i]
        c, d = right[j]
        first = a if a > c else c  # noqa: FURB136 - twice as fast as max()
        last = b if b < d else d  # noqa: FURB136
        if first <= last:
            out.append((first, last))
        if b < d:
            i += 1
        else:
            j += 1
    return tuple(out)


def _found_in(few: Ranges, many: Ranges) -> Ranges:
    """`_common` where the ranges of one side are looked up in the other."""
    out: list[tuple[int, int]] = []
    for first, last in few:
        begin = bisect_right(many, (first, MAX_CODE_POINT + 1))
        begin -= begin > 0 and many[begin - 1][1] >= first
        within = [*many[begin : bisect_right(many, (last, MAX_CODE_POINT + 1), begin)]]
        if within:  # the first may begin before, and the last end behind
            within[0] = max(first, within[0][0]), within[0][1]
            within[-1] = within[-1][0], min(last, within[-1][1])
            out += within
    return tuple(out)


@lru_cache(maxsize=4096)
def _gaps(chars: CharSet) -> Ranges:
    """All integers from 0 to the last code point that are not in a set, as ranges."""
    out: list[tuple[int, int]] = []
    after = 0
    for first, last in chars.ranges:
        if first > after:
            out.append((after, first - 1))
        after = last + 1
    if after <= MAX_CODE_POINT:
        out.append((after, MAX_CODE_POINT))
    return tuple(out)


@lru_cache(maxsize=1 << 16)
def _union(left: CharSet, right: CharSet) -> CharSet:
    return _intern(_normalise(left.ranges + right.ranges))


@lru_cache(maxsize=1 << 16)
def _intersection(left: CharSet, right: CharSet) -> CharSet:
    if left is ALL or right is NONE:
        return right
    if right is ALL or left is NONE:
        return left
    return _intern(_common(left.ranges, right.ranges))


@lru_cache(maxsize=1 << 16)
def _difference(left: CharSet, right: CharSet) -> CharSet:
    return _intern(_common(left.ranges, _gaps(right)))


@lru_cache(maxsize=4096)
def one_character(letter: str) -> CharSet:
    """The set of one character."""
    return CharSet.chars(letter)


def union_all(sets: Sequence[CharSet]) -> CharSet:
    """The union of any number of sets in one pass."""
    if len(sets) <= 2:
        return NONE if not sets else sets[0] | sets[-1]
    return _intern(_normalise(pair for chars in sets for pair in chars.ranges))


def refine(
    items: Iterable[tuple[CharSet, Payload]],
) -> list[tuple[CharSet, tuple[Payload, ...]]]:
    """Cut overlapping sets into disjoint ones, each with the payloads of all sets that cover it.

    Every returned set is non-empty, each combination of payloads occurs once, and the order of
    payloads within a combination is that of `items`.
    """
    owners: dict[CharSet, list[Payload]] = {}
    for chars, payload in items:
        if chars:
            owners.setdefault(chars, []).append(payload)
    sets = list(owners)
    if len(sets) < 2:
        return [(chars, tuple(owners[chars])) for chars in sets]
    # A sweep touches every range, pairwise work every pair of sets but is memoised.
    if len(sets) == 2 or len(sets) ** 2 < sum(len(chars.ranges) for chars in sets):
        cells = _refine_pairwise(sets)
    else:
        cells = _refine_sweep(sets)
    return [(chars, tuple(p for i in at for p in owners[sets[i]])) for chars, at in cells]


def _refine_pairwise(sets: list[CharSet]) -> list[tuple[CharSet, tuple[int, ...]]]:
    """Refinement set by set with the memoised operations: for few sets or sets of many ranges."""
    cells: list[tuple[CharSet, tuple[int, ...]]] = []
    for number, rest in enumerate(sets):
        split: list[tuple[CharSet, tuple[int, ...]]] = []
        for cell, at in cells:
            common = cell & rest
            if not common:
                split.append((cell, at))
                continue
            split.append((common, (*at, number)))
            if common is not cell:
                split.append((cell - common, at))
            rest = rest - common
        if rest:
            split.append((rest, (number,)))
        cells = split
    return cells


def _refine_sweep(sets: list[CharSet]) -> list[tuple[CharSet, tuple[int, ...]]]:
    """Refinement by one sweep over all boundaries: for many sets of few ranges."""
    toggles: dict[int, int] = {}
    for number, chars in enumerate(sets):
        bit = 1 << number
        for first, last in chars.ranges:
            toggles[first] = toggles.get(first, 0) ^ bit
            toggles[last + 1] = toggles.get(last + 1, 0) ^ bit
    checkpoint(len(sets) // SETS_PER_UNIT + len(toggles) // POINTS_PER_UNIT)
    spans: dict[int, list[tuple[int, int]]] = {}
    active = start = 0
    for point in sorted(toggles):
        if active:
            spans.setdefault(active, []).append((start, point - 1))
        active ^= toggles[point]
        start = point
    return [(_intern(tuple(ranges)), tuple(ones(active))) for active, ranges in spans.items()]


ALL = CharSet.of(_ALL_RANGES)
NONE = CharSet.of(())
_PRINTABLE = CharSet.of([(0x20, 0x7E)])
