"""Tests that a draft model's cache gives the logits of a fresh reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.models.reader import (
    ChainReader,
    Reader,
    TreeReader,
    reader_of,
)
from structgen.generation.speculation.models.trim import Head
from tests.generation.models import (
    build_model,
    build_tokenizer,
    hybrid_model,
    mamba_model,
    mixed_model,
    sliding_model,
)

VOCABULARY = 60  # tokens that the texts are made of


def whole(model: Any, tokens: list[int]) -> Any:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].numpy()


def some_ids(data: Any) -> Any:
    """A few tokens to ask about, or many."""
    count = data.draw(st.sampled_from([1, 3, 20, VOCABULARY]))
    return np.sort(np.random.default_rng(count).choice(VOCABULARY, count, replace=False))


def drive(reader: Reader, model: Any, data: Any, exact: float) -> int:
    """Follow a text through rounds of drafts, and compare all logits; how many were compared."""
    tokens = st.integers(3, VOCABULARY - 1)
    text, compared = [5, 9, 33], 0
    for _ in range(data.draw(st.integers(1, 4))):
        ids = some_ids(data)
        root, logits = reader.follow(text, ids)
        np.testing.assert_allclose(logits, whole(model, text)[ids], rtol=exact, atol=exact)
        paths = {root: text}
        for _ in range(data.draw(st.integers(0, 3))):
            nodes = [
                (data.draw(st.sampled_from(sorted(paths))), token)
                for token in data.draw(st.lists(tokens, min_size=1, max_size=3, unique=True))
            ]
            wanted = [some_ids(data) for _ in nodes]
            for node, ids, answer in zip(nodes, wanted, reader.grow(nodes, wanted), strict=True):
                if answer is None:
                    continue
                paths[answer[0]] = [*paths[node[0]], node[1]]
                expected = whole(model, paths[answer[0]])[ids]
                np.testing.assert_allclose(answer[1], expected, rtol=exact, atol=exact)
                compared += 1
        text = [*data.draw(st.sampled_from(sorted(paths.values()))), data.draw(tokens)]
        text += data.draw(st.lists(tokens, max_size=2))
    return compared


@pytest.fixture(scope="module")
def llama() -> Any:
    """A float64 model; the target around it and its head."""
    target = HuggingFaceTarget(build_model(build_tokenizer()).double())
    return target, Head(target), Head(target, trim=False)


@settings(max_examples=12)
@given(data=st.data())
def test_trees_are_read_as_their_paths(llama: Any, data: Any) -> None:
    """With the whole output layer, or with the rows that are asked about."""
    target, trimmed, full = llama
    assert trimmed.trimmed
    assert not full.trimmed
    head = data.draw(st.sampled_from([trimmed, full]))
    drive(TreeReader(target, head), target.model, data, 1e-10)


@pytest.fixture(scope="module", params=[sliding_model, mixed_model, hybrid_model, mamba_model])
def chain_target(request: Any) -> HuggingFaceTarget:
    """A target whose cache takes nothing back."""
    return HuggingFaceTarget(request.param())


@settings(max_examples=4)
@given(data=st.data())
def test_chains_are_read_as_their_paths(chain_target: HuggingFaceTarget, data: Any) -> None:
    """Nodes beside the chain are not answered; those of the chain are right."""
    reader = reader_of(chain_target, Head(chain_target))
    assert isinstance(reader, ChainReader)
    drive(reader, chain_target.model, data, 3e-4)


def test_the_same_text_again_and_another_text_are_read_anew(llama: Any) -> None:
    """A reader does not mind; it is only slower then."""
    target, head, _ = llama
    reader = TreeReader(target, head)
    ids = np.arange(VOCABULARY)
    for text in ([5, 6], [5, 6], [5, 6, 7], [5, 6, 7], [5], [9, 8], [9, 8, 7, 6]):
        _, logits = reader.follow(text, ids)
        np.testing.assert_allclose(logits, whole(target.model, text)[ids], rtol=1e-10, atol=1e-10)


def test_a_kept_draft_is_not_read_again(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a draft came true, only the token that was not drafted is read."""
    target, head, _ = llama
    reader = TreeReader(target, head)
    ids = np.arange(VOCABULARY)
    root, _ = reader.follow([5, 6, 7], ids)
    [first] = reader.grow([(root, 8)], [ids])
    assert first is not None
    reader.grow([(first[0], 9), (first[0], 10)], [ids, ids])
    read: list[int] = []
    forward = target.forward

    def counted(cache: Any, tokens: Any, *rest: Any, **more: Any) -> Any:
        read.append(len(tokens[0]))
        return forward(cache, tokens, *rest, **more)

    monkeypatch.setattr(target, "forward", counted)
    reader.follow([5, 6, 7, 8, 10, 20], ids)
    assert read == [1]


def test_scaled_logits_are_not_trimmed() -> None:
    """Where the model does more than multiply by the output layer, all rows are computed."""
    capped = mixed_model()
    capped.config.final_logit_softcapping = 0.5
    capped.config.layer_types = ["full_attention", "full_attention"]
    target = HuggingFaceTarget(capped)
    assert target.takes_trees
    assert not Head(target).trimmed
