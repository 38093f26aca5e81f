"""Classes of characters, and ways in the order in which they are tried, in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.kernels.masks.byte_walk import ENDS_FULL

KINDS = 2


@given(st.data())
def test_characters_of_one_class_are_in_the_same_sets(data: st.DataObject) -> None:
    """Those in no set are in no class, and spans are in order."""
    sets = [
        [
            *data.draw(st.sampled_from([(), ((0, 9),), ((3, 5),), ((4, 12),)])),
            (20 + i, 20 + i + i % 9),
        ]
        for i in range(data.draw(st.integers(0, 70)))
    ]
    bounds = np.array([(a, b + 1) for some in sets for a, b in some], np.int32).reshape(-1, 2)
    owners = np.array([i for i, some in enumerate(sets) for _ in some], np.int32)
    points = np.sort(bounds, axis=None)
    size, words = len(points), -(-len(sets) // 64)
    among, spans = np.zeros((2 * size, words), np.uint64), np.zeros((size, 3), np.int32)
    positions = np.array([[1 << i % 64 if i // 64 == k else 0 for k in range(2)]
                          for i in range(len(sets))], np.uint64).reshape(-1, 2)  # fmt: skip
    reading, slots = np.zeros((size, 2), np.uint64), np.full(1 << 10, -1, np.int32)
    count = kernels("terminals.positions").character_classes(
        bounds, owners, points, among, positions, reading, spans, slots
    )
    got = {c: kind for a, b, kind in spans[:count].tolist() for c in range(a, b + 1)}
    assert [*got] == sorted(got)
    held = {
        c: {i for i, some in enumerate(sets) if any(a <= c <= b for a, b in some)}
        for c in range(120)
    }
    assert got.keys() == {c for c, some in held.items() if some}
    for c, kind in got.items():
        low, high = reading[kind].tolist()
        assert held[c] == {i for i in range(128) if (low | high << 64) >> i & 1}


def all_ends_are_tried(ways: list[list[int]], kinds: list[int]) -> tuple[bool, int]:
    """What the kernel answers, and how many sets there are. kinds: what each position reads."""
    end = len(kinds)

    def tried(listed: list[int]) -> tuple[int, ...]:
        return tuple(listed[: listed.index(end) + 1] if end in listed else listed)

    todo = [(tried(ways[end]), frozenset(ways[end]))]
    for some, every in todo:
        if end in every and end not in some:
            return False, len(todo)
        for kind in range(KINDS):
            reading = [p for p in range(end) if kinds[p] == kind]
            onward = [after for p in some if p in reading for after in ways[p]]
            behind = frozenset(after for p in every if p in reading for after in ways[p])
            pair = tried(list(dict.fromkeys(onward))), behind
            if behind and pair not in todo:
                todo.append(pair)
    return True, len(todo)


@given(st.data())
def test_an_end_is_tried_where_there_is_one(data: st.DataObject) -> None:
    """With more positions than bits of a word, and with too little room."""
    size = data.draw(st.sampled_from([1, 2, 3, 70]))
    some = st.lists(st.integers(max(0, size - 3), size), max_size=3, unique=True)
    ways = [data.draw(some) for _ in range(min(size, 3))]
    ways = [[]] * (size - len(ways)) + ways + [data.draw(some)]
    kinds = [data.draw(st.integers(0, KINDS - 1)) for _ in range(min(size, 3))]
    kinds = [0] * (size - len(kinds)) + kinds
    wanted, count = all_ends_are_tried(ways, kinds)
    words = size // 64 + 1
    starts = np.cumsum([0, *map(len, ways)], dtype=np.int32)
    listed = np.array([place for row in ways for place in row], np.int32)
    behind, reading = np.zeros((size + 1, words), np.uint64), np.zeros((KINDS, words), np.uint64)
    for place, row in enumerate(ways):
        for after in row:
            behind[place, after >> 6] |= np.uint64(1 << (after & 63))
    for place, kind in enumerate(kinds):
        reading[kind, place >> 6] |= np.uint64(1 << (place & 63))
    for room in (count + 1, 1):
        tried, sizes = np.zeros((room, size + 1), np.int32), np.zeros(room, np.int32)
        every, marks = np.zeros((room, words), np.uint64), np.zeros(size + 1, np.int32)
        found = kernels("terminals.positions").all_ends_are_tried(
            starts, listed, behind, reading, tried, sizes, every, marks
        )
        assert found == (ENDS_FULL if room == 1 and ways[-1] else wanted)
