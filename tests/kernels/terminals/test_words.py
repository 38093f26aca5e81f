"""The DFAs of lists of words, and of texts place by place, against lists of the texts."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.kernels.masks.byte_walk import ENDS_FULL

CLASSES = 3
LETTERS = "ab\u00e9\u00e8\u20ac\u20ad\U0001f600"


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


@given(
    st.lists(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4, unique=True), min_size=1,
             max_size=4)
)  # fmt: skip
def test_places_are_read_byte_by_byte(places: list[list[str]]) -> None:
    """A state for each begin of a character at a place, and one for the end of the text."""
    texts = ["".join(chosen).encode() for chosen in product(*places)]
    states = {(i, char.encode()[:size]) for i, listed in enumerate(places) for char in listed
              for size in range(len(char.encode()))}  # fmt: skip
    data = [[char.encode() for char in listed] for listed in places]
    letters = np.array([byte for some in data for char in some for byte in char], np.int32)
    sizes = np.array([len(char) for some in data for char in some], np.int32)
    counts = np.array([*map(len, data)], np.int32)
    nexts = np.full((len(states) + 1, 256), -1, np.int32)
    distance = np.full(len(nexts), 1 << 28, np.int32)
    k = kernels("terminals.words")
    assert k.places_read(letters, sizes, counts, nexts, distance) == len(nexts)
    begins = {text[:size] for text in texts for size in range(len(text) + 1)}
    for begin in begins:
        state = 0
        for byte in begin:
            state = int(nexts[state, byte])
        ahead = {byte for byte in range(256) if begin + bytes([byte]) in begins}
        assert {*np.flatnonzero(nexts[state] >= 0).tolist()} == ahead
        rests = [len(text) - len(begin) for text in texts if text.startswith(begin)]
        assert distance[state] == min(rests)
        assert (state == len(states)) == (begin in texts)
