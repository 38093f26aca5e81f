"""`sg.LogitsProcessor` takes a spec and a tokenizer; the shipped model then writes what fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList

import structgen as sg
from structgen import demo
from structgen.errors import GenerationError, SpecError, VocabularyError
from structgen.integrations.huggingface import vocabulary_for

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
]
SCHEMA: Any = {
    "type": "object",
    "properties": {"age": {"type": "integer", "maximum": 99}, "role": {"enum": ["admin", "user"]}},
    "required": ["age", "role"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def shipped() -> tuple[Any, Any]:
    """The shipped model and its tokenizer."""
    path = str(demo.model_path())
    tokenizer = AutoTokenizer.from_pretrained(path)
    return AutoModelForCausalLM.from_pretrained(path), tokenizer


def written(shipped: tuple[Any, Any], processor: Any, **options: Any) -> list[str]:
    """Texts of `model.generate`."""
    model, tokenizer = shipped
    torch.manual_seed(0)
    inputs = tokenizer(["Ada is 36 and an admin."], return_tensors="pt")
    output = model.generate(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        logits_processor=LogitsProcessorList([processor]),
        max_new_tokens=60,
        **options,
    )
    rows = output[:, inputs["input_ids"].shape[1] :]
    return [str(text) for text in tokenizer.batch_decode(rows, skip_special_tokens=True)]


@pytest.mark.parametrize(
    "options",
    [{"do_sample": False}, {"num_beams": 3, "num_return_sequences": 2, "do_sample": False}],
    ids=["greedy", "beams"],
)
def test_a_spec_and_a_tokenizer_are_enough(
    shipped: tuple[Any, Any], options: dict[str, Any]
) -> None:
    """Each text is JSON that fits; beams, too. One object serves several calls."""
    processor = sg.LogitsProcessor(SCHEMA, shipped[1])
    for _ in range(2):
        for text in written(shipped, processor, **options):
            assert json.loads(text).keys() == {"age", "role"}
            sg.check(SCHEMA, text)


def test_the_vocabulary_is_read_once_for_a_tokenizer(shipped: tuple[Any, Any]) -> None:
    """And again when the tokenizer has grown, or in another width."""
    tokenizer = shipped[1]
    assert vocabulary_for(tokenizer) is vocabulary_for(tokenizer)
    wide = vocabulary_for(tokenizer, len(tokenizer) + 10)
    assert wide.size == len(tokenizer) + 10


def test_logits_wider_than_the_tokenizer_are_masked(shipped: tuple[Any, Any]) -> None:
    """What no token stands for is never written."""
    tokenizer = shipped[1]
    processor = sg.LogitsProcessor(sg.Regex("ab|ac"), tokenizer)
    width = len(tokenizer) + 100
    ids: Any = torch.tensor([[1, 2, 3]])  # transformers calls them LongTensor and FloatTensor
    scores: Any = torch.zeros(1, width)
    scores = processor(ids, scores)
    allowed = torch.nonzero(scores[0] == 0).flatten().tolist()
    assert allowed
    assert all(tokenizer.decode([i])[0] == "a" for i in allowed)


def test_what_is_missing_is_told(shipped: tuple[Any, Any]) -> None:
    """A tokenizer, a spec, a specs' list."""
    with pytest.raises(GenerationError, match="without the tokenizer"):
        sg.LogitsProcessor(SCHEMA)
    with pytest.raises(SpecError, match="is not a spec"):
        sg.LogitsProcessor("[0-9]+", shipped[1])
    with pytest.raises(GenerationError, match="there is no constraint"):
        sg.LogitsProcessor([], shipped[1])
    with pytest.raises(VocabularyError, match="does not tell the bytes"):
        sg.LogitsProcessor(SCHEMA, object())
