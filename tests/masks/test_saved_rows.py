"""Mask rows come back from their stored form, and nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import ArtifactError
from structgen.masks.saved_rows import NAMES, Kept, SavedRows, pack

Arrays = dict[str, npt.NDArray[Any]]


def made(rng: np.random.Generator, count: int, words: int) -> dict[int, npt.NDArray[np.int32]]:
    """Positions in no order, and rows alike: a few dense ones with a few words changed."""
    dense = rng.integers(-(2**31), 2**31, (5, words)).astype(np.int32)
    rows = dense[rng.integers(0, 5, count)] * (rng.random(count) < 0.5)[:, None].astype(np.int32)
    for row in rows:
        changed = rng.integers(0, words, rng.integers(0, 6))
        row[changed] = rng.integers(-(2**31), 2**31, len(changed))
    positions = rng.choice(2**40, 2 * count, replace=False)
    return {at: rows[i % count] for i, at in enumerate(positions.tolist())}


def kept(rows: dict[int, npt.NDArray[np.int32]]) -> dict[int, Kept]:
    """The rows as `pack` takes them."""
    return {at: (rows.__getitem__, at) for at in rows}


def row_of(saved: SavedRows, at: int) -> npt.NDArray[np.int32] | None:
    """The row of a position, written over another one; None where there is none."""
    row = np.full(saved.words, -7, np.int32)
    if saved.write(at, row):
        return row
    assert (row == -7).all()
    return None


@given(
    seed=st.integers(0, 2**31),
    count=st.integers(0, 50),
    words=st.sampled_from([1, 7, 300, 70_000]),
)
def test_every_row_comes_back(seed: int, count: int, words: int) -> None:
    """Also of empty tables, and of vocabularies that need more than 16 bits for a word."""
    rng = np.random.default_rng(seed)
    rows = made(rng, count if words < 1000 else min(count, 4), words)
    saved = SavedRows(words, pack(words, kept(rows)))
    assert len(saved) == len(rows)
    for at, row in rows.items():
        found = row_of(saved, at)
        assert found is not None
        np.testing.assert_array_equal(found, row)
    for at, (make, place) in saved.items():
        np.testing.assert_array_equal(make(place), rows[at])
    again = pack(words, dict(saved.items()))
    for name in NAMES:
        np.testing.assert_array_equal(again[name], pack(words, kept(rows))[name])
    missing = int(rng.integers(2**41, 2**42))
    assert row_of(saved, missing) is None
    assert row_of(saved, -1) is None


def test_rows_alike_take_little_room() -> None:
    """A few words each, besides the few that are stored whole."""
    rng = np.random.default_rng(0)
    arrays = pack(4000, kept(made(rng, 400, 4000)))
    assert len(np.unique(arrays["places"])) <= 400
    assert len(arrays["records"]) <= 5 * 4002 + 400 * 17


def test_rows_unlike_all_others_are_stored_whole() -> None:
    """However many there are."""
    rows = np.random.default_rng(0).integers(0, 2**31, (60, 64)).astype(np.int32)
    saved = SavedRows(64, pack(64, kept(dict(enumerate(rows)))))
    for at, row in enumerate(rows):
        np.testing.assert_array_equal(row_of(saved, at), row)


def small() -> Arrays:
    """The arrays of four rows of 40 words."""
    return pack(40, kept(made(np.random.default_rng(1), 4, 40)))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_another_form_are_refused(name: str) -> None:
    """A missing array, another dtype, another number of dimensions."""
    good = small()
    other: list[Arrays] = [{k: v for k, v in good.items() if k != name}]
    other += [good | {name: good[name].astype(np.float64)}, good | {name: good[name][None]}]
    for arrays in other:
        with pytest.raises(ArtifactError, match=name):
            SavedRows(40, arrays)


@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**31), cut=st.booleans())
def test_hostile_numbers_lead_nowhere(name: str, seed: int, cut: bool) -> None:
    """Whatever stands in the arrays: a row of the right shape, none, or ArtifactError."""
    rng, arrays = np.random.default_rng(seed), small()
    changed = arrays[name].copy()
    if cut:
        changed = changed[: rng.integers(0, len(changed))]
    else:
        info = np.iinfo(changed.dtype)
        changed.flat[rng.integers(0, changed.size)] = rng.integers(
            info.min, info.max, dtype=changed.dtype, endpoint=True
        )
    for words in (40, 39):
        try:
            saved = SavedRows(words, arrays | {name: changed})
            for at in [*arrays["positions"].tolist(), *changed.flat[:9].tolist()]:
                row_of(saved, int(at))
        except ArtifactError:
            pass
        else:
            assert words == 40
