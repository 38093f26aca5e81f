"""`CharSet` is a set of Unicode scalar values.

The oracle is Python's own set arithmetic over probe points at and beside every boundary.
"""

from __future__ import annotations

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.charset import ALL, MAX_CODE_POINT, NONE, CharSet, refine, union_all

INTERESTING = [0, 1, 9, 0x41, 0x5A, 0x7F, 0x80, 0xD7FE, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF]
POINTS = st.one_of(
    st.sampled_from([*INTERESTING, 0x10000, 0x10FFFE, MAX_CODE_POINT]),
    st.integers(0, 300),
    st.integers(0, MAX_CODE_POINT),
)
RANGES = st.lists(st.tuples(POINTS, POINTS).map(lambda pair: (min(pair), max(pair))), max_size=8)


def probes(*lists: list[tuple[int, int]]) -> list[int]:
    """Every boundary of some ranges, and its neighbours."""
    ends = {0, 0xD7FF, 0xD800, 0xDFFF, 0xE000, MAX_CODE_POINT}
    ends.update(end for ranges in lists for pair in ranges for end in pair)
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return sorted(point for point in near if 0 <= point <= MAX_CODE_POINT)


def holds(ranges: list[tuple[int, int]], point: int) -> bool:
    """Membership as the definition has it."""
    scalar = not 0xD800 <= point <= 0xDFFF
    return scalar and any(first <= point <= last for first, last in ranges)


@given(RANGES)
def test_a_set_holds_what_its_ranges_hold_save_surrogates(ranges: list[tuple[int, int]]) -> None:
    """Membership, size, truth and the lowest member follow from the ranges."""
    chars = CharSet.of(ranges)
    for point in probes(ranges):
        assert (point in chars) == holds(ranges, point)
    assert bool(chars) == (len(chars) > 0) == (chars is not NONE)
    members = [point for point in probes(ranges) if holds(ranges, point)]
    assert chars.first == min(members, default=-1)


@given(RANGES)
def test_ranges_are_sorted_disjoint_and_maximal(ranges: list[tuple[int, int]]) -> None:
    """No two neighbouring ranges touch, so equal sets have equal ranges."""
    found = CharSet.of(ranges).ranges
    assert all(first <= last for first, last in found)
    assert all(left[1] + 1 < right[0] for left, right in itertools.pairwise(found))


@given(RANGES, RANGES)
def test_operators_agree_with_set_arithmetic(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    """Union, intersection, difference and complement are what they are for sets of points."""
    a, b = CharSet.of(left), CharSet.of(right)
    for point in probes(left, right):
        in_a, in_b = holds(left, point), holds(right, point)
        assert (point in a | b) == (in_a or in_b)
        assert (point in a & b) == (in_a and in_b)
        assert (point in a - b) == (in_a and not in_b)
        assert (point in ~a) == (not in_a and not 0xD800 <= point <= 0xDFFF)


@given(RANGES, RANGES)
def test_equal_sets_are_one_object(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    """The laws of sets hold by identity."""
    a, b = CharSet.of(left), CharSet.of(right)
    assert CharSet.of(reversed(left)) is a
    assert ~~a is a
    assert a | b is b | a
    assert a & b is ~(~a | ~b)
    assert a - b is a & ~b
    assert (a - b) | (a & b) is a
    assert a & ~a is NONE
    assert a | ~a is ALL


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 80)), max_size=2),
    st.sets(st.integers(0, 100), min_size=20),
)
def test_few_ranges_and_many_have_in_common_what_points_have(
    few: list[tuple[int, int]], points: set[int]
) -> None:
    """The few begin and end within ranges of the many, between them, and around them."""
    a = CharSet.of((first, first + more) for first, more in few)
    b = CharSet.of((3 * point, 3 * point + point % 3) for point in points)
    common = [point for point in range(400) if point in a and point in b]
    left = [point for point in range(400) if point in a and point not in b]
    assert a & b is b & a is CharSet.of((point, point) for point in common)
    assert a - b is CharSet.of((point, point) for point in left)


def test_surrogates_are_in_no_set() -> None:
    """Neither the largest set nor a complement holds a surrogate."""
    assert 0xD800 not in ALL
    assert 0xDFFF not in ~NONE
    assert CharSet.of([(0xD800, 0xDFFF)]) is NONE
    assert CharSet.chars("\ud800a") is CharSet.chars("a")
    assert len(ALL) == 0x110000 - 0x800


def test_a_sample_is_printable_where_it_can_be() -> None:
    """People are shown a printable ASCII character rather than the lowest one."""
    assert chr((~NONE).sample) == " "
    assert chr(CharSet.of([(0, 0x1F), (0x61, 0x63)]).sample) == "a"
    assert CharSet.of([(0x100, 0x200)]).sample == 0x100
    assert NONE.sample == -1


@given(st.lists(RANGES, max_size=6))
def test_refining_cuts_into_disjoint_cells_with_all_their_owners(
    lists: list[list[tuple[int, int]]],
) -> None:
    """Each point lies in one cell exactly, and that cell names the sets that hold the point."""
    cells = refine([(CharSet.of(ranges), number) for number, ranges in enumerate(lists)])
    for point in probes(*lists):
        owners = tuple(n for n, ranges in enumerate(lists) if holds(ranges, point))
        found = [payloads for chars, payloads in cells if point in chars]
        assert [tuple(sorted(payloads)) for payloads in found] == ([owners] if owners else [])
    assert all(chars for chars, _ in cells)
    assert len({tuple(sorted(payloads)) for _, payloads in cells}) == len(cells)


def test_refining_sets_of_many_ranges_finds_the_same_cells() -> None:
    """Sets of 700 ranges take another path than small ones and are cut as finely."""
    even = CharSet.of([(n, n) for n in range(0, 1400, 2)])
    threes = CharSet.of([(n, n) for n in range(0, 2100, 3)])
    low = CharSet.of([(0, 999)])
    cells = {names: chars for chars, names in refine([(even, 2), (threes, 3), (low, 0)])}
    assert len(even.ranges) == len(threes.ranges) == 700
    for names, chars in cells.items():
        assert chars is CharSet.of(
            (n, n)
            for n in range(2100)
            if (n % 2 == 0 and n < 1400) == (2 in names)
            and (n % 3 == 0) == (3 in names)
            and (n < 1000) == (0 in names)
            and names
        )
    assert union_all(list(cells.values())) is even | threes | low


def test_a_set_survives_pickling_as_itself() -> None:
    """Unpickling finds the object that is there already."""
    chars = CharSet.of([(5, 9), (0x100, 0x1FF)])
    assert pickle.loads(pickle.dumps(chars)) is chars


def test_threads_agree_on_one_object() -> None:
    """Sets made at the same time in many threads are still one per value."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: CharSet.of([(n % 50, 70 + n % 50)]), range(4000)))
    assert len({id(chars) for chars in made}) == 50
