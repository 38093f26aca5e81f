"""Tests that suffix tables count as a naive search does, and are safe to share."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import ArtifactError, GenerationError
from structgen.generation.speculation.drafters.suffix_index import (
    END,
    KIND,
    Occurrences,
    SuffixArray,
    SuffixIndex,
)
from structgen.util import container

TEXTS = st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=6)
STRINGS = st.lists(st.integers(0, 3), max_size=5)


def followers(texts: list[list[int]], string: list[int]) -> Counter[int]:
    """What follows a string in the texts, by looking everywhere; END where a text ends."""
    found: Counter[int] = Counter()
    for text in texts:
        for start in range(len(text) - len(string) + 1):
            end = start + len(string)
            if text[start:end] == string:
                found[text[end] if end < len(text) else END] += 1
    return found


@settings(max_examples=200, deadline=None)
@given(texts=TEXTS, string=STRINGS, depth=st.integers(6, 9))
def test_a_suffix_array_counts_what_follows(
    texts: list[list[int]], string: list[int], depth: int
) -> None:
    """For every string and every token, as a search by hand."""
    array = SuffixArray([np.array(text, np.int32) for text in texts], depth)
    node = array.find(string)
    wanted = followers(texts, string)
    if node is None:
        assert not wanted
        return
    found = {t: array.count(n) for t, n in array.following(node).items()}
    if not texts:
        found.pop(END)  # an array of nothing has one end
    assert found == wanted


def test_strings_longer_than_the_depth_are_not_told_apart() -> None:
    """They have no followers."""
    array = SuffixArray([np.arange(9, dtype=np.int32)], 4)
    node = array.find([1, 2, 3, 4])
    assert node is not None
    assert array.following(node) == {}


@settings(max_examples=200, deadline=None)
@given(text=st.lists(st.integers(0, 2), min_size=1, max_size=20), depth=st.integers(1, 6))
def test_occurrences_are_those_of_the_longest_strings(text: list[int], depth: int) -> None:
    """Each match has the places of its string, the longest comes first, none are equal."""
    seen = Occurrences(depth, most=None)
    seen.extend(text)
    matches = seen.matches(text[-1], text)
    for length, places in matches:
        string = text[len(text) - length :]
        assert {t: len(p) for t, p in seen.following(places).items()} == {
            t: n for t, n in followers([text], string).items() if t != END
        }
    counts = [len(places) for _, places in matches]
    assert counts == sorted(set(counts))
    repeats = [n for n in range(1, depth + 1) if followers([text], text[-n:]).total() > 1]
    assert (max(repeats) if repeats else 0) == (matches[0].length if matches else 0)


def test_only_the_last_places_are_looked_at() -> None:
    """With `most`, a frequent token costs no more than a rare one."""
    seen = Occurrences(depth=4, most=3)
    seen.extend([7, 1] * 10 + [7])
    [*_, shortest] = seen.matches(7, [7])
    assert len(shortest.positions) <= 3


@settings(max_examples=100, deadline=None)
@given(texts=TEXTS, most=st.integers(2, 30), string=STRINGS)
def test_an_index_keeps_the_newest_texts(
    texts: list[list[int]], most: int, string: list[int]
) -> None:
    """As many as fit, ends counted; what it finds is what they hold."""
    index = SuffixIndex(most, depth=8)
    for text in texts:
        index.add(text)
        assert index.size <= most
    index.refresh()
    kept = [text[-(most - 1) :] for text in texts if text]
    while sum(len(text) + 1 for text in kept) > most:
        kept.pop(0)
    assert index.texts == kept
    node = index.array.find(string)
    found = {} if node is None else index.array.following(node)
    if kept:
        counts = {t: index.array.count(n) for t, n in found.items()}
        assert counts == followers(kept, string)


@settings(max_examples=30, deadline=None)
@given(texts=TEXTS, most=st.integers(2, 40))
def test_a_saved_index_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[int]], most: int
) -> None:
    """With the newest texts, where it may hold less than before."""
    path = tmp_path_factory.mktemp("index") / "index.sgi"
    index = SuffixIndex(1000, depth=5)
    for text in texts:
        index.add(text)
    index.save(path, "v")
    back = SuffixIndex.load(path, "v", 4)
    assert (back.texts, back.size, back.depth) == (index.texts, index.size, 5)
    smaller = SuffixIndex.load(path, "v", 4, most)
    again = SuffixIndex(most)
    for text in texts:
        again.add(text)
    assert smaller.texts == again.texts


HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "vocabulary": ({"vocabulary": "other"}, {}),
    "depth": ({"depth": 10**9}, {}),
    "no depth": ({"depth": True}, {}),
    "tokens too large": ({}, {"tokens": np.array([1, 4], np.int32)}),
    "tokens negative": ({}, {"tokens": np.array([1, -1], np.int32)}),
    "tokens of floats": ({}, {"tokens": np.array([1.0, 2.0])}),
    "lengths too large": ({}, {"lengths": np.array([2**62, 2**62], np.int64)}),
    "lengths that overflow": ({}, {"lengths": np.array([2**63 - 1, 2**63 - 1, 4], np.int64)}),
    "lengths negative": ({}, {"lengths": np.array([3, -1], np.int64)}),
    "lengths too small": ({}, {"lengths": np.array([1], np.int64)}),
    "lengths in two dimensions": ({}, {"lengths": np.array([[2]], np.int64)}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_files_with_other_contents_are_refused(tmp_path: Path, case: str) -> None:
    """With an ArtifactError that names the file."""
    header: dict[str, Any] = {"vocabulary": "v", "depth": 4}
    arrays: dict[str, Any] = {
        "tokens": np.array([1, 2], np.int32),
        "lengths": np.array([2], np.int64),
    }
    path = tmp_path / "index.sgi"
    container.write(path, KIND, header, arrays)
    assert SuffixIndex.load(path, "v", 4).texts == [[1, 2]]
    changed, others = HOSTILE[case]
    container.write(path, KIND, header | changed, arrays | others)
    with pytest.raises(ArtifactError, match=r"index\.sgi"):
        SuffixIndex.load(path, "v", 4)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Each byte counts, and so do missing arrays, and files that are none."""
    path = tmp_path / "index.sgi"
    index = SuffixIndex()
    index.add([1, 2, 3])
    index.save(path, "v")
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ArtifactError):
            SuffixIndex.load(path, "v", 4)
    path.write_bytes(data[:-1])
    with pytest.raises(ArtifactError):
        SuffixIndex.load(path, "v", 4)
    container.write(path, KIND, {"vocabulary": "v", "depth": 4}, {})
    with pytest.raises(ArtifactError):
        SuffixIndex.load(path, "v", 4)
    with pytest.raises(ArtifactError):
        SuffixIndex.load(tmp_path / "none", "v", 4)


def test_senseless_sizes_are_refused() -> None:
    """An index holds something."""
    with pytest.raises(GenerationError):
        SuffixIndex(0)


def test_threads_add_and_read_at_once() -> None:
    """Nothing is lost, and every snapshot is whole."""
    index = SuffixIndex(10_000, depth=6)
    failures: list[str] = []

    def work(number: int) -> None:
        for i in range(40):
            index.add([number, i, number, i])
            array = index.array
            node = array.find([number])
            if node is not None:
                following = array.following(node)
                if sum(array.count(n) for n in following.values()) != array.count(node):
                    failures.append(f"{number} {i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.refresh()
    assert failures == []
    assert len(index) == 160
    node = index.array.find([3])
    assert node is not None
    wanted = followers(index.texts, [3])
    assert {t: index.array.count(n) for t, n in index.array.following(node).items()} == wanted
