"""What is said of a trie's subtrees fits words of whole, cut and broken characters.

The oracle is Python's own decoder of UTF-8, which says how far the bytes of a word are characters.
"""

from __future__ import annotations

import codecs
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.masks.shared import subtrees_of
from structgen.regular.byte_groups import groups
from tests.kernels.trie.tries import Vocabulary

pytestmark = pytest.mark.nojit
SEEDS = st.integers(0, 10**6)
LETTERS = 'aB0 ~"\\\n\u00e9\u0416\u0800\u4e2d\ud7ff\uffff\U0001f600\U0010ffff'
WRONG = [b"\x80", b"\xc1", b"\xe0\x80", b"\xed\xa0\x80", b"\xf4\x90", b"\xff"]


def words_of(rng: Random) -> list[bytes]:
    """Characters in a row, most of them whole."""
    parts = [letter.encode() for letter in LETTERS]
    pieces = [*parts * 4, *(part[:n] for part in parts for n in range(1, len(part))), *WRONG]
    count = rng.randrange(1, 40)
    return [b"".join(rng.choices(pieces, k=rng.choice([1, 2, 3, 9]))) for _ in range(count)]


def begun(word: bytes) -> list[int] | None:
    """The groups of the characters that a word begins; None if it is part of no text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(word)
    except UnicodeDecodeError:
        return None
    leads = [*(letter.encode()[0] for letter in text), *decoder.getstate()[0][:1]]
    return [int(groups()[lead]) for lead in leads]


@given(SEEDS)
def test_a_subtree_is_as_high_as_the_most_characters_that_begin_in_it(seed: int) -> None:
    """From each first byte on, among the texts there."""
    rng = Random(seed)
    vocabulary = Vocabulary([word for word in words_of(rng) if begun(word) is not None] or [b"a"])
    subtrees = subtrees_of(vocabulary.nodes, vocabulary.depth)
    for first in np.flatnonzero(vocabulary.nodes.root_child >= 0):
        found = [begun(word) for word in vocabulary.words if word[0] == first]
        height = subtrees.at[vocabulary.nodes.root_child[first], kernels("trie.nodes").HEIGHT]
        assert height == max(len(one) for one in found if one is not None)
