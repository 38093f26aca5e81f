"""Which nodes of a trie stand between certain bytes, and the texts of nodes, by prefixes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.kernels.trie.tries import Vocabulary, random_vocabulary

pytestmark = pytest.mark.nojit
SEEDS = st.integers(0, 10**6)
BYTES = st.frozensets(st.sampled_from(b'ab"\\{}[]:, 01'))


def flags(of: frozenset[int]) -> np.ndarray:
    """uint8[256]: 1 for each byte of a set."""
    found = np.zeros(256, np.uint8)
    found[sorted(of)] = 1
    return found


def between(vocabulary: Vocabulary, lasts: frozenset[int], firsts: frozenset[int]) -> list[int]:
    """The nodes that the kernel marks."""
    marks = np.zeros(len(vocabulary.starts), np.uint8)
    path = np.zeros(vocabulary.depth + 1, np.int32)
    kernels("trie.paths").mark_between(vocabulary.nodes, flags(lasts), flags(firsts), path, marks)
    found: list[int] = np.flatnonzero(marks).tolist()
    return found


@given(SEEDS, BYTES, BYTES)
def test_marked_nodes_end_with_one_byte_and_go_on_with_another(
    seed: int, lasts: frozenset[int], firsts: frozenset[int]
) -> None:
    """As the prefixes of all words say."""
    vocabulary = random_vocabulary(Random(seed))
    starts = {*vocabulary.starts}
    wanted = [
        node
        for node, start in enumerate(vocabulary.starts)
        if start[-1] in lasts and any(start + bytes([first]) in starts for first in firsts)
    ]
    assert between(vocabulary, lasts, firsts) == wanted


def test_nothing_is_marked_without_bytes() -> None:
    """With no last bytes, and with no first bytes."""
    vocabulary = Vocabulary([b"ab", b"abc"])
    every = frozenset(range(256))
    assert between(vocabulary, every, every) == [0, 1]
    assert between(vocabulary, frozenset(), every) == between(vocabulary, every, frozenset()) == []


@given(SEEDS, st.data())
def test_paths_are_what_words_have_behind_a_prefix(seed: int, data: st.DataObject) -> None:
    """Of any nodes below a node or the root, in ascending order, none among them."""
    vocabulary = random_vocabulary(Random(seed))
    starts = vocabulary.starts
    top = data.draw(st.integers(-1, len(starts) - 1))
    prefix = starts[top] if top >= 0 else b""
    below = [i for i, start in enumerate(starts) if start.startswith(prefix) and start != prefix]
    some = sorted(data.draw(st.sets(st.sampled_from(below)))) if below else []
    texts = [starts[node].removeprefix(prefix) for node in some]
    begins = np.cumsum([0, *map(len, texts)])[:-1].astype(np.int64)
    found = np.zeros(len(b"".join(texts)), np.uint8)
    path = np.zeros(vocabulary.depth, np.uint8)
    nodes = np.array(some, np.int32)
    kernels("trie.paths").write_paths(vocabulary.nodes, top, nodes, begins, path, found)
    assert found.tobytes() == b"".join(texts)
