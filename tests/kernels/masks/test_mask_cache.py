"""Records of the mask cache are found by their words, and only by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.masks.mask_cache import MaskCache
from tests.kernels.served import opened

words = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-2, 3))
keys = st.lists(words, max_size=5).map(tuple)

pytestmark = pytest.mark.nojit


@given(st.lists(st.tuples(keys, st.integers(0, 99)), max_size=40), keys)
def test_records_are_found_by_their_words(
    records: list[tuple[tuple[int, ...], int]], other: tuple[int, ...]
) -> None:
    """As in a dictionary that keeps what came first, also when its hash table has grown."""
    k = kernels("masks.mask_cache")
    sought, kept = opened(k.value_of), opened(k.find_or_add)
    known = k.MaskCache(
        kinds=np.zeros(1, np.int32),
        recipes=np.zeros((1, 2), np.int64),
        places=np.full(128, -1, np.int64),
        records=np.zeros(512, np.int64),
        key=np.zeros(8, np.int64),
        sizes=np.zeros(8, np.int64),
    )
    wanted: dict[tuple[int, ...], int] = {}
    for key, number in records:
        wanted.setdefault(key, number)
        known.key[: len(key)] = key
        kept(known, len(key), number)
    larger = np.full(256, -1, np.int64)
    k.rehash_records(known.records, int(known.sizes[k.USED]), larger)
    for grown in (known, known._replace(places=larger)):
        for key in (*wanted, other):
            grown.key[: len(key)] = key
            assert sought(grown, len(key)) == wanted.get(key, -1)


def test_room_is_made_before_it_is_needed() -> None:
    """However long the keys are that a walk may look for."""
    known = MaskCache(words=3)
    for asked in (1, 50, 2000):
        known.make_room(asked)
        assert len(known._arrays.key) >= 4 + asked
    assert known.nbytes > 0
