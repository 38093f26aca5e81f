"""Delta rows give back the mask rows they were made of, and are short."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels

pytestmark = pytest.mark.nojit
Ints = npt.NDArray[np.int32]


def alike(rng: np.random.Generator, count: int, words: int) -> Ints:
    """int32[count, words]: few dense ones with some words changed, ones with few words, zeros."""
    dense = rng.integers(-(2**31), 2**31, (20, words)).astype(np.int32)
    rows = dense[rng.integers(0, rng.integers(1, 21), count)]
    rows *= (rng.random(count) < 0.7)[:, None]
    for row in rows:
        changed = rng.integers(0, words, rng.integers(0, 3 + words // 4))
        row[changed] = rng.integers(-3, 2**31, len(changed))
    return rows


def packed(rows: Ints) -> tuple[Ints, list[int], list[int]]:
    """A pool with a record of each row, their places, and their digests."""
    k, words = kernels("masks.delta_rows"), rows.shape[1]
    pool = np.full(k.BEGIN + len(rows) * k.needed(words), -7, np.int32)
    pool[k.WORDS] = words
    sizes = np.zeros(k.SIZE, np.int64)
    sizes[k.USED] = k.BEGIN
    places, digests = [], []
    for row in rows:
        before = int(sizes[k.USED])
        places.append(k.keep_row(pool, sizes, row))
        digests.append(int(sizes[k.DIGEST]))
        assert before <= places[-1] < sizes[k.USED] <= before + k.needed(words)
    return pool[: sizes[k.USED]], places, digests


@given(st.integers(1, 300), st.integers(1, 30), st.integers(0, 10**6))
def test_every_row_comes_back(words: int, count: int, seed: int) -> None:
    """One by one and many at once, whatever stood there, and nothing beyond."""
    k = kernels("masks.delta_rows")
    rng = np.random.default_rng(seed)
    rows = alike(rng, count, words)
    pool, places, _ = packed(rows)
    for row, at in zip(rows, places, strict=True):
        found = np.full(words + 1, 9, np.int32)
        assert k.write_row(pool, at, found[:words])
        assert found.tolist() == [*row.tolist(), 9]
    states = rng.integers(0, count, rng.integers(0, 9)).astype(np.int32)
    known = np.array([-1, *places], np.int32)
    many = np.full((len(states), words), 9, np.int32)
    assert k.write_rows(pool, len(pool), known, states, many)
    assert (many == rows[states]).all()
    for state in (-1, -2, count, 2**31 - 1):
        asked = np.array([*states, state], np.int32)
        many = np.zeros((len(asked), words), np.int32)
        assert not k.write_rows(pool, len(pool), known, asked, many)
    assert not k.write_rows(pool, places[-1], known, np.array([count - 1], np.int32), many[:1])


@given(st.integers(1, 300), st.integers(0, 10**6))
def test_equal_records_are_those_of_equal_rows(words: int, seed: int) -> None:
    """And one after the other, equal rows have equal records; digests of others differ mostly."""
    k = kernels("masks.delta_rows")
    rows = alike(np.random.default_rng(seed), 12, words).repeat(2, axis=0)
    pool, places, digests = packed(rows)
    found = list(zip(rows, places, digests, strict=True))
    for one, at, digest in found:
        for other, place, its_digest in found:
            if k.are_equal(pool, at, place):
                assert (one == other).all()
                assert digest == its_digest
    for first, second in zip(places[2::2], places[3::2], strict=True):
        assert k.are_equal(pool, first, second)
    different = {tuple(row) for row in rows.tolist()}
    assert len(set(digests)) >= len(different)


def test_a_row_of_another_width_is_not_written() -> None:
    """It would be written beyond its end, or left unfinished."""
    k = kernels("masks.delta_rows")
    pool, (at,), _ = packed(np.arange(200, dtype=np.int32)[None])
    for words in (0, 1, 199, 201):
        row = np.full(words, 9, np.int32)
        assert not k.write_row(pool, at, row)
        assert (row == 9).all()


def test_rows_alike_take_little_room() -> None:
    """The bases last used are found again, of more kinds than are looked at too."""
    k, words = kernels("masks.delta_rows"), 1600
    rng = np.random.default_rng(0)
    kinds = rng.integers(1, 2**31, (k.SIZE - k.BASES + 3, words)).astype(np.int32)
    few = np.concatenate([kinds[:4]] * 10)
    few[np.arange(40), rng.integers(0, words, 40)] = 0
    pool, _, _ = packed(few)
    assert len(pool) <= k.BEGIN + 4 * (words + k.LINE) + 40 * (k.CHANGES + 2 * 2)
    pool, _, _ = packed(np.concatenate([kinds, kinds[-1:]]))
    assert len(pool) >= len(kinds) * words
    before = len(packed(kinds)[0])
    assert len(pool) == before + k.CHANGES  # the last one is a base, and so is known
