"""Random trees of sequences, choices, free text and tags are read exactly."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.compose import filters
from structgen.compose.all_of import all_of
from structgen.compose.sequences import FreeText, any_of, sequence
from structgen.compose.tags import Tag, Tags
from structgen.errors import SpecError
from structgen.masks.bitmask import unpack
from structgen.masks.registry import masks_of
from tests.compose import reference as ref
from tests.compose.test_tags import LETTERS, PATTERNS, short, vocabulary
from tests.helpers import laws

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
Tree = tuple[Any, ref.Form]

EMPTY = ref.Chain([])
leaves = st.one_of(
    st.sampled_from(PATTERNS).map(lambda p: (sg.Regex(p), ref.Pattern(p))),
    st.text("ab<>", max_size=2).map(lambda t: (sequence(t), ref.Marked(t.encode(), EMPTY, b""))),
    st.lists(short, max_size=1).map(
        lambda e: (FreeText(tuple(e)), ref.Free([text.encode() for text in e]))
    ),
)


def _tag(drawn: tuple[str, Tree, str]) -> Tree:
    begin, (content, model), end = drawn
    return Tag(begin, content, end), ref.Marked(begin.encode(), model, end.encode())


def _tags(drawn: list[tuple[str, Tree, str]]) -> Tree:
    tags = [_tag(one) for one in drawn]
    try:
        spec = Tags(tuple(tag for tag, _ in tags))
    except SpecError:  # one trigger inside another
        spec = Tags(tuple(tag for tag, _ in tags), text="none")
    triggers = [trigger.encode() for trigger in spec.triggers or ()]
    return spec, ref.Text([model for _, model in tags], triggers, spec.text)  # type: ignore[misc]


def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    """Trees one level higher."""
    several = st.lists(inner, min_size=1, max_size=3)
    tag = st.tuples(short, inner, st.text("ab<>", max_size=2))
    return st.one_of(
        several.map(lambda d: (sequence(*(s for s, _ in d)), ref.Chain([t for _, t in d]))),
        several.map(lambda d: (any_of(*(s for s, _ in d)), ref.Either([t for _, t in d]))),
        tag.map(_tag),
        st.lists(tag, min_size=1, max_size=2).map(_tags),
    )


trees = st.recursive(leaves, grown, max_leaves=5)


@given(trees)
def test_a_tree_accepts_what_its_reference_accepts(tree: Tree) -> None:
    """Every text of up to four letters."""
    spec, model = tree
    automaton = spec.automaton()
    for text in ref.texts_up_to(LETTERS, 4):
        at, _ = automaton.run(automaton.start, text)
        assert (at >= 0 and automaton.is_accepting(at)) == model.fits(text), text


@given(trees, st.integers(0, 2**32))
def test_masks_of_trees_are_exact(tree: Tree, seed: int) -> None:
    """A mask is what advancing allows; every token leads to a text that the reference accepts."""
    spec, model = tree
    rng = Random(seed)
    c = sg.compile(spec, vocabulary(rng))
    for text, state in laws.walk(c, rng, 3):
        laws.mask_is_advance(c, state)
        assert model.fits(text + c.shortest_completion(state))
        text_out = (text + c.shortest_completion(state)).decode(errors="replace")
        assert spec.parse(text_out) is not None


def below_is_exact(automaton: Automaton, vocab: sg.Vocabulary, rng: Random) -> None:
    """`Masks.below`: the tokens below a node that can be read on, and the nodes of ends."""
    masks, trie = masks_of(automaton, vocab), vocab.trie
    paths: list[bytes] = []
    for depth, byte in zip(trie.depth.tolist(), trie.byte.tolist(), strict=True):
        above = next((p for p in reversed(paths) if len(p) == depth - 1), b"")
        paths.append(above + bytes((byte,)))
    at = automaton.start
    for _ in range(3):
        for node in [-1, *rng.sample(range(len(trie)), 6)]:
            row = np.zeros(vocab.words, np.int32)
            ends = masks.below(at, node, row)
            below = range(node + 1, len(trie) if node < 0 else int(trie.end[node]))
            skip = 0 if node < 0 else len(paths[node])
            after = {i: automaton.run(at, paths[i][skip:])[0] for i in below}
            assert ends.tolist() == [
                i for i in below if after[i] >= 0 and automaton.is_accepting(after[i])
            ]
            found = set(np.flatnonzero(unpack(row, vocab.size)).tolist())
            named = {int(trie.token[i]) for i in below if after[i] >= 0 and trie.token[i] >= 0}
            assert found == named
        following = automaton.next_bytes(at)
        if following:
            at, _ = automaton.run(at, bytes((rng.choice(following),)))


@pytest.mark.parametrize(
    "spec",
    [
        FreeText(("ab",)),
        Tags((Tag("<a", sg.Regex("[ab]*"), ">"), Tag("<b", None, ">>"))),
        sequence(sg.Regex("a*b?"), "<", FreeText()),
        any_of(sg.Regex("(?:ab)+"), sequence("a", sg.Regex("[ab]{2}"))),
        all_of(sg.JsonSchema({"enum": ["ab", "a", "<"]}), filters.banned("b")),
        all_of(Tags((Tag("<a", sg.Regex("[ab]*"), ">"),)), filters.length(at_most=4)),
    ],
    ids=lambda spec: spec.kind,
)
def test_parts_below_a_node_are_exact(spec: Any) -> None:
    """Every automaton can go on from any node of the trie, so that it can be a part of others."""
    rng = Random(3)
    tokens = [bytes((byte,)) for byte in LETTERS + b'"\\u']
    tokens += [bytes(rng.choices(LETTERS + b'"', k=rng.randint(2, 4))) for _ in range(30)]
    tokens = sorted(set(tokens))
    below_is_exact(spec.automaton(), sg.Vocabulary(tokens), rng)
