"""The minimal DFA of a list of words, against the same in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.kernels.masks.byte_walk import ENDS_FULL

CLASSES = 3


@given(st.lists(st.lists(st.integers(0, CLASSES - 1), max_size=4), min_size=1, max_size=12))
def test_words_are_read_by_the_states_of_what_may_follow(listed: list[list[int]]) -> None:
    """One state for each set of rests, once equal states of the trie are merged."""
    k, words = kernels("terminals.words"), {(*word,) for word in listed}
    letters = np.array([letter for word in listed for letter in word], np.int32)
    starts = np.cumsum([0, *map(len, listed)], dtype=np.int32)
    begins = {word[:size] for word in words for size in range(len(word) + 1)}
    if len(begins) > 1:
        few = np.full((len(begins) - 1, CLASSES), -1, np.int32)
        assert k.words_read(letters, starts, few, np.zeros(len(few), np.int32)) == ENDS_FULL
    nexts, ends = np.full((64, CLASSES), -1, np.int32), np.zeros(64, np.int32)
    count = k.words_read(letters, starts, nexts, ends)
    assert count == len(begins)
    nexts, ends, number = nexts[:count], ends[:count], np.zeros(count, np.int32)
    left = k.merged(nexts, ends, number, np.full(256, -1, np.int32))
    rests = {frozenset(w[len(b) :] for w in words if w[: len(b)] == b) for b in begins}
    assert left == len(rests)
    for word in begins:
        state = 0
        for letter in word:
            state = int(nexts[state, letter])
        assert bool(ends[state]) == (word in words)
        assert number[state] == state
