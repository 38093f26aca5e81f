"""Ranges of code points in UTF-8, against Python's own codec."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.charset import MAX_CODE_POINT, CharSet
from structgen.regular.utf8 import DIGIT, FIRST_CONTINUATION, Segment, blocks, leads, within

POINTS = st.one_of(
    st.integers(0, MAX_CODE_POINT),
    st.sampled_from([0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000]),
)
RANGES = st.lists(st.tuples(POINTS, st.integers(0, 5000)), max_size=4).map(
    lambda found: [
        Segment(lo, hi, i % 2)
        for i, (lo, hi) in enumerate(
            CharSet.of([(lo, min(lo + more, MAX_CODE_POINT)) for lo, more in found]).ranges
        )
    ]
)


def spelled(segments: tuple[Segment[int], ...], more: int) -> dict[bytes, int]:
    """The continuation bytes that `segments` allow, with what they lead to."""
    found: dict[bytes, int] = {}
    for first, last, inside in blocks(segments, 1 << DIGIT * (more - 1)):
        rests = spelled(inside, more - 1) if more > 1 else {b"": inside[0].target}
        for digit in range(first, last + 1):
            for rest, target in rests.items():
                found[bytes([FIRST_CONTINUATION + digit]) + rest] = target
    return found


@given(RANGES)
def test_lead_and_continuation_bytes_spell_exactly_the_code_points(
    segments: list[Segment[int]],
) -> None:
    """Each from U+0080 on once, in the form of Python's codec."""
    found = [
        (bytes([lead]) + rest, target)
        for found_leads, more, inside in leads(segments)
        for lead in found_leads
        for rest, target in spelled(inside, more).items()
    ]
    wanted = {
        chr(point).encode(): target
        for lo, hi, target in segments
        for point in range(max(lo, 0x80), hi + 1)
    }
    assert dict(found) == wanted
    assert len(found) == len(wanted)


@given(RANGES, st.integers(1, 5000))
def test_blocks_cut_each_code_point_into_one_block(segments: list[Segment[int]], size: int) -> None:
    """Blocks ascend, and their segments together are the given ones."""
    found: dict[int, int] = {}
    before = -1
    for first, last, inside in blocks(segments, size):
        assert before < first <= last
        before = last
        for block in range(first, last + 1):
            for lo, hi, target in inside:
                assert 0 <= lo <= hi < size
                found |= dict.fromkeys(range(block * size + lo, block * size + hi + 1), target)
    assert found == {p: target for lo, hi, target in segments for p in range(lo, hi + 1)}


@given(RANGES, POINTS, POINTS)
def test_segments_are_cut_to_a_range(segments: list[Segment[int]], lo: int, hi: int) -> None:
    """What lies outside is left out, and what reaches outside is cut."""
    kept = within(segments, lo, hi)
    points = {p for s in segments for p in range(s.lo, s.hi + 1)}
    assert {p for s in kept for p in range(s.lo, s.hi + 1)} == {p for p in points if lo <= p <= hi}
