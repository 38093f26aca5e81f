"""Tests that drafts of models with other tokens are cut into the right target tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen import demo
from structgen.errors import VocabularyError
from structgen.generation.generator import Generator
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.masked import distribution_over
from structgen.generation.speculation.models import NgramCache, Retokenizer, TextDrafter
from structgen.generation.speculation.models.text_drafter import Pair, Rewriter
from tests.generation.models import OTHER_MERGES, build_model, build_tokenizer
from tests.generation.speculation.models.test_model_drafter import assert_same, generator
from tests.generation.speculation.toys import allowed, make_context

__all__ = ["generator"]


def other_tokenizer() -> Any:
    """One with fewer and other merges, and other ids."""
    return build_tokenizer(OTHER_MERGES, ["<start>"])


@pytest.fixture(scope="module")
def pair() -> Pair:
    """The tiny tokenizer's vocabulary as the target's, and another one."""
    ours = sg.Vocabulary.from_transformers(build_tokenizer())
    theirs = sg.Vocabulary.from_transformers(other_tokenizer())
    return Pair.of(ours, theirs)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 5}])
@pytest.mark.parametrize("rewriter", [None, NgramCache()])
def test_the_texts_stay(
    generator: Generator, rewriter: Rewriter | None, options: dict[str, Any]
) -> None:
    """Whatever a model with other tokens drafts, and however it is cut."""
    tokenizer = other_tokenizer()
    drafter = TextDrafter(build_model(tokenizer, seed=3), tokenizer, rewriter=rewriter)
    assert all(found.drafted for found in assert_same(generator, drafter, **options))


@given(text=st.text(alphabet='aby{":ké true,', max_size=20), cut=st.integers(0, 3))
def test_retokenizing_writes_the_draft_as_the_target_s_tokenizer_would(
    pair: Pair, text: str, cut: int
) -> None:
    """The tokenizer's own cut of the text, up to the last whole character."""
    assert pair.draft.encode is not None
    assert pair.target.encode is not None
    drafted = pair.draft.encode(text)
    drafted = drafted[: len(drafted) - cut]
    whole = pair.draft.decode_bytes(drafted).decode(errors="ignore")
    assert Retokenizer().rewrite(pair, drafted) == pair.target.encode(whole)


@given(texts=st.lists(st.text(alphabet='aby{":ké true,', max_size=20), max_size=4))
def test_the_cache_joins_what_was_joined_before(pair: Pair, texts: list[str]) -> None:
    """It writes a beginning of the draft; all tokens that were seen are used again."""
    assert pair.draft.encode is not None
    assert pair.target.encode is not None
    cache = NgramCache()
    for text in texts:
        drafted = pair.draft.encode(text)
        found = cache.rewrite(pair, drafted)
        data = pair.target.decode_bytes(found)
        assert pair.draft.decode_bytes(drafted).startswith(data)
        known = [t for t in pair.target.encode(text) if pair.tokens.ids[t] < 0]
        cache.learn(pair, known)
        for token in known:
            assert cache.rewrite(pair, pair.tokens.read([token])) == [token]


def test_the_cache_is_bounded_and_takes_the_longest(pair: Pair) -> None:
    """The oldest entry leaves; a longer sequence wins over its beginning."""
    ours, theirs = pair.target, pair.draft

    def token(text: str) -> int:
        return ours.tokens.index(text.encode())

    def spelled(text: str) -> list[int]:
        return [theirs.tokens.index(bytes([b])) for b in text.encode()]

    long, short = token("true"), token("aa")
    cache = NgramCache(size=1)
    assert cache.rewrite(pair, spelled("aa")) == [token("a"), token("a")]
    cache.learn(pair, [short])
    assert cache.rewrite(pair, spelled("aab")) == [short, token("b")]
    cache.learn(pair, [long])
    assert cache.rewrite(pair, spelled("aa")) == [token("a"), token("a")]
    tokens = pair.tokens.read([long])
    assert cache.rewrite(pair, [*tokens, *spelled("b")]) == [long, token("b")]


def test_a_good_draft_model_saves_passes() -> None:
    """The shipped draft model, taken for one with other tokens."""
    generator = Generator(demo.model_path(), dtype="float32")
    drafter = TextDrafter(demo.draft_path(), dtype="float32")
    prompt, schema = demo.EXAMPLES["person"]
    plain = generator.generate(prompt, schema, temperature=0.0)
    fast = generator.generate(prompt, schema, temperature=0.0, speculate=drafter)
    assert fast.tokens == plain.tokens
    assert fast.stats is not None
    assert fast.stats.tokens_per_forward > 2


def test_estimates_are_the_draft_model_s_probabilities(generator: Generator) -> None:
    """Where both have the same tokens: of each token among those that the constraint allows."""
    model = generator.target.model
    drafter = TextDrafter(model, generator.tokenizer, rewriter=NgramCache())
    constraint = generator.specs.get(sg.Regex("[ab]{9}"))[0]
    context = make_context(constraint, [40, 41, 42])
    tree = drafter.begin(context).propose(context, Budget(nodes=5, depth=5, width=1))
    assert len(tree) > 2
    text, expected = [40, 41, 42], 1.0
    for node in range(1, len(tree)):
        with torch.no_grad():
            logits = model(torch.tensor([text])).logits[0, -1].numpy()
        ids, distribution = distribution_over(
            context, *some(constraint, tree.states[node - 1], logits)
        )
        expected *= distribution[list(ids).index(tree.tokens[node])]
        assert tree.estimates[node] == pytest.approx(expected, rel=1e-9)
        assert distribution.max() == distribution[list(ids).index(tree.tokens[node])]
        text.append(tree.tokens[node])


def some(constraint: Any, state: int, logits: Any) -> tuple[Any, Any]:
    """The tokens that are allowed, and their logits."""
    ids = np.array(allowed(constraint, state))
    return ids, logits[ids]


def test_a_model_without_a_tokenizer_is_refused() -> None:
    """Its text could not be read."""
    with pytest.raises(VocabularyError, match="without its tokenizer"):
        TextDrafter(build_model(build_tokenizer()))
