"""Checks that texts of transformers' `generate` end within `max_new_tokens` of the processor."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList

import structgen as sg
from structgen.errors import TruncatedError, UnclosedTextWarning
from structgen.generation.closing import Closer, Speller
from structgen.integrations.token_limit import TokenLimit
from structgen.masks import bitmask
from tests.generation.models import build_model, build_tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("error::structgen.errors.UnclosedTextWarning"),
    pytest.mark.matrix,
]
NESTED = sg.JsonSchema(
    {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["name", "children"],
                "additionalProperties": False,
            }
        },
    }
)
SHORTEST = 22  # tokens of {"name":"","children":[]}
CALLS = [
    {"do_sample": False},
    pytest.param(
        {"do_sample": True, "temperature": 3.0, "num_return_sequences": 4},
        marks=pytest.mark.thorough,
    ),
    pytest.param(
        {"do_sample": True, "top_k": 0, "num_return_sequences": 4}, marks=pytest.mark.thorough
    ),
    {"do_sample": False, "num_beams": 4, "num_return_sequences": 4},
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tiny one."""
    return build_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    """A tiny Llama, which would go on for ever."""
    return build_model(tokenizer, context=256)


def texts(model: Any, tokenizer: Any, limit: int, **options: Any) -> list[str]:
    """What the model writes behind two prompts."""
    inputs = tokenizer(["x", "y"], return_tensors="pt")
    processor = sg.LogitsProcessor(NESTED, tokenizer, max_new_tokens=limit)
    torch.manual_seed(limit)
    output = model.generate(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        logits_processor=LogitsProcessorList([processor]),
        max_new_tokens=limit,
        **options,
    )
    rows = output[:, inputs["input_ids"].shape[1] :].tolist()
    return [tokenizer.decode(row, skip_special_tokens=True) for row in rows]


@pytest.mark.parametrize("options", CALLS, ids=["greedy", "hot", "whole", "beams"])
def test_every_text_is_whole(model: Any, tokenizer: Any, options: dict[str, Any]) -> None:
    """With limits from the shortest text on, also where objects in objects wait to be closed."""
    for limit in (SHORTEST, SHORTEST + 1, 40, 90):
        for text in texts(model, tokenizer, limit, **options):
            sg.check(NESTED, text, exact_layout=True)
            assert json.loads(text).keys() == {"name", "children"}


def test_a_limit_below_the_shortest_text_is_refused(tokenizer: Any) -> None:
    """When the processor is made, with both numbers."""
    with pytest.raises(TruncatedError, match=f"needs {SHORTEST} tokens, and 5 are left"):
        sg.LogitsProcessor(NESTED, tokenizer, max_new_tokens=5)


def test_no_limit_masks_nothing_more(model: Any, tokenizer: Any) -> None:
    """Far from the limit the scores are those of a processor without one."""
    prompt: Any = torch.tensor([[5, 9]])
    scores = model(prompt).logits[:, -1].detach()
    plain = sg.LogitsProcessor(NESTED, tokenizer)(prompt, scores)
    limited = sg.LogitsProcessor(NESTED, tokenizer, max_new_tokens=200)(prompt, scores)
    assert bool((plain == limited).all())


def test_near_the_limit_only_tokens_that_can_be_closed_stay(tokenizer: Any) -> None:
    """Compared with trying each allowed token; the best of them are kept."""
    vocabulary = sg.Vocabulary.from_transformers(tokenizer)
    constraint = sg.compile(
        sg.JsonSchema({"type": "array", "items": {"type": "string"}}), vocabulary
    )
    state = constraint.state_of(tokenizer("[")["input_ids"])
    for left in (1, 2, 3, 5):
        limit = TokenLimit(constraint, 1 + left)
        row = constraint.mask_view(state)
        allowed = np.flatnonzero(bitmask.unpack(row, vocabulary.size))
        scores = torch.full((vocabulary.size,), -torch.inf)
        scores[allowed.tolist()] = torch.rand(len(allowed))
        before = scores.clone()
        limit.restrict(scores, state, 1)
        kept = torch.isfinite(scores).nonzero().flatten().tolist()
        ends = Closer(constraint, Speller(vocabulary))
        for token in allowed.tolist():
            after = constraint.advance(state, token)
            fits = after == sg.FINAL or ends.fits(after, left - 1)
            assert (token in kept) == fits
        assert bool((scores[kept] == before[kept]).all())


def test_a_text_that_is_too_long_already_is_said(tokenizer: Any) -> None:
    """A host went on by a token that nobody tried."""
    vocabulary = sg.Vocabulary.from_transformers(tokenizer)
    constraint = sg.compile(NESTED, vocabulary)
    limit = TokenLimit(constraint, SHORTEST)
    scores = torch.zeros(vocabulary.size)
    with pytest.warns(UnclosedTextWarning, match=f"within {SHORTEST} tokens"):
        limit.restrict(scores, constraint.start, SHORTEST - 1)
