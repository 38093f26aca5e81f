"""Tests that the shipped demo models are small and answer their examples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from structgen.demo import EXAMPLES, draft_path, model_path
from structgen.demo.training.evaluate import (
    count_right,
    evaluate,
    greedy,
    leaves,
    load,
    same,
    unseen,
)
from structgen.demo.training.values import held_out

FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)
MIB = 1 << 20
RIGHT: dict[str, dict[str, Any]] = {
    "order": {
        "customer": "Nina Hartmann",
        "items": [
            {"product": "blue lamps", "quantity": 3},
            {"product": "oak chairs", "quantity": 12},
        ],
        "date": "2025-03-28",
        "shipping": "express",
    },
    "person": {"name": "Oscar Lehmann", "age": 36, "city": "Zurich", "job": "farmer"},
    "event": {
        "title": "River jazz",
        "date": "2025-02-14",
        "location": {"venue": "Phoenix Hall", "city": "Geneva"},
        "attendees": ["Felix", "Amina", "Luca"],
    },
    "ticket": {
        "id": "OPS-271",
        "summary": "Export chart is slow",
        "priority": "high",
        "status": "open",
        "reporter": "Ingrid Walker",
        "tags": ["backup", "video"],
    },
    "product": {
        "product": "Leather Backpack",
        "colour": "green",
        "price": 96,
        "stock": 15,
        "sizes": ["M", "L"],
    },
    "record": {"ward": "Lima", "sensor": "Wright", "voltage": 36, "checked": True},
}


@pytest.fixture(scope="module")
def main_model() -> tuple[Any, Any]:
    """The main model and its tokenizer."""
    pytest.importorskip("transformers")
    return load(model_path())


@pytest.fixture(scope="module")
def answers(main_model: tuple[Any, Any]) -> dict[str, str]:
    """The greedy answers to the shipped examples, without a constraint."""
    texts = greedy(*main_model, [prompt for prompt, _ in EXAMPLES.values()], None)
    return dict(zip(EXAMPLES, texts, strict=True))


@pytest.mark.parametrize(("folder", "limit"), [(model_path(), 16 * MIB), (draft_path(), 3 * MIB)])
def test_each_model_is_complete_and_within_its_size(folder: Path, limit: int) -> None:
    """A model folder has the five files and nothing else, and stays within its limit."""
    assert sorted(p.name for p in folder.iterdir()) == sorted(FILES)
    assert sum(p.stat().st_size for p in folder.iterdir()) <= limit


def test_both_models_share_one_tokenizer() -> None:
    """The draft model's tokens are those of the main model, id by id."""
    texts = [(folder / "tokenizer.json").read_bytes() for folder in (model_path(), draft_path())]
    assert texts[0] == texts[1]


def test_weights_are_in_half_precision() -> None:
    """The safetensors header of both models names 16-bit floats only."""
    for folder in (model_path(), draft_path()):
        raw = (folder / "model.safetensors").read_bytes()
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        assert {v["dtype"] for k, v in header.items() if k != "__metadata__"} == {"F16"}


def test_the_chat_template_gives_the_training_format(main_model: tuple[Any, Any]) -> None:
    """A user message is framed by the special tokens, each a single id."""
    _, tokenizer = main_model
    messages = [{"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert text == "<|bos|><|user|>Hi<|assistant|>"
    ids = tokenizer(text, add_special_tokens=False).input_ids
    assert [tokenizer.decode([i]) for i in ids[:2] + ids[-1:]] == [
        "<|bos|>",
        "<|user|>",
        "<|assistant|>",
    ]


@pytest.mark.parametrize(
    "text",
    ["Zoë Kröger-O'Neil", "naïve → ☃ 日本", 'a "b", {"c": [1, 2.50]}\n\ttab', "  two  spaces "],
)
def test_the_tokenizer_gives_back_every_text(main_model: tuple[Any, Any], text: str) -> None:
    """Decoding what was encoded gives the same text, also outside the alphabet of the corpus."""
    _, tokenizer = main_model
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_model_answers_the_shipped_examples(answers: dict[str, str], name: str) -> None:
    """The greedy answer without a constraint is the right one, and it fits the schema."""
    assert json.loads(answers[name]) == RIGHT[name]
    Draft202012Validator(EXAMPLES[name][1]).validate(RIGHT[name])


def test_the_examples_use_values_that_were_not_trained_on() -> None:
    """Each name, product and word of the examples' answers belongs to the evaluation split."""
    closed = {"blue", "oak", "express", "high", "open", "green", "hall", "slow", "leather"}
    words = {
        word
        for answer in RIGHT.values()
        for value in leaves(answer).values()
        if isinstance(value, str)
        for word in re.findall(r"[^\W\d_]{3,}", value.lower())
    }
    assert {w for w in words - closed if not held_out(w)} == {"ops"}
    assert held_out("OPS-271")


@pytest.mark.thorough
def test_a_constrained_answer_always_fits_its_schema(main_model: tuple[Any, Any]) -> None:
    """Under the constraint each answer to unseen prompts is valid and most fields are right."""
    score = evaluate(*main_model, unseen(12), constraint=True)
    assert score.valid_json == score.valid_schema == 1.0
    assert score.fields_right > 0.8


def test_the_draft_model_runs_with_the_main_vocabulary() -> None:
    """The draft model has one logit per token of the main model."""
    pytest.importorskip("transformers")
    draft, tokenizer = load(draft_path())
    assert draft.config.vocab_size == len(tokenizer)
    assert draft.num_parameters() < 1_400_000


def test_leaves_are_named_by_json_pointer() -> None:
    """Nested values, empty arrays and keys with `/` and `~` get their JSON Pointer."""
    assert leaves({"a": [{"b": 1}, []], "x/y~": None}) == {"/a/0/b": 1, "/a/1": [], "/x~1y~0": None}


def test_broken_output_counts_as_all_fields_wrong() -> None:
    """Text that is not JSON scores no field; a missing and a needless field count as wrong."""
    answer = {"a": 1, "b": "x"}
    assert count_right('{"a": 1, "b"', answer) == (0, 2)
    assert count_right('{"a": 1, "b": "x"}', answer) == (2, 2)
    assert count_right('{"a": 1, "c": "x"}', answer) == (1, 3)
    assert not same(True, 1)
    assert same(40, 40.0)


def test_importing_the_demo_package_stays_light() -> None:
    """Neither torch nor transformers is loaded by `import structgen.demo`."""
    heavy = "{'torch', 'transformers', 'tokenizers'}"
    code = f"import sys, structgen.demo; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
