"""Classes of characters and sets of positions, against the same in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels


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
