"""Tests that all parts together write texts that fit real specs.

The oracles are the `jsonschema` library, `re` and Pydantic. A random model writes as wildly as its
constraint allows, so these texts reach corners that a trained model seldom sees.
"""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

import structgen
from structgen.errors import TruncatedError
from structgen.generation.generator import Generator
from tests.generation.models import build_model

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "bé"]}, "maxItems": 3},
        "more": {"anyOf": [{"type": "null"}, {"type": "number"}]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "object": PERSON,
    "array": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    "integer": {"type": "integer"},
    "map": {"type": "object", "required": ["k"], "additionalProperties": {"type": "boolean"}},
    "enum": {"enum": [1, "two", [3], {"four": None}]},
    "recursive": {
        "$ref": "#/$defs/list",
        "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}},
    },
}


@pytest.fixture(scope="module")
def roomy(tokenizer: Any) -> Generator:
    """The tiny model with a longer context."""
    return Generator(build_model(tokenizer, context=400), tokenizer)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_json_texts_are_valid_within_every_budget(roomy: Generator, schema: dict[str, Any]) -> None:
    """Complete, chosen or closed: the text is JSON, valid, and its value is what it says."""
    for budget in (22, 30, 60):
        for result in roomy.generate("x", schema, n=8, seed=budget, max_tokens=budget):
            assert len(result.tokens) <= budget
            assert result.value == json.loads(result.text)
            jsonschema.validate(result.value, schema)


def test_a_schema_too_large_for_the_budget_is_refused(roomy: Generator) -> None:
    """The number of tokens in the message suffices."""
    with pytest.raises(TruncatedError, match="needs ") as caught:
        roomy.generate("x", PERSON, max_tokens=5)
    [needed] = re.findall(r"needs (\d+) tokens", str(caught.value))
    result = roomy.generate("x", PERSON, max_tokens=int(needed))
    jsonschema.validate(result.value, PERSON)


@pytest.mark.parametrize("pattern", ["[a-c]{2,5}x", "(ab|é+)*", r"\d{3}-\d{4}", "a?"])
def test_texts_match_their_pattern(roomy: Generator, pattern: str) -> None:
    """The value of a pattern is the text."""
    for result in roomy.generate("x", structgen.Regex(pattern), n=8, seed=0, max_tokens=12):
        assert re.fullmatch(pattern, result.text)
        assert result.value == result.text


def test_a_choice_is_one_of_its_texts(roomy: Generator) -> None:
    """All of the choices occur, and nothing else; one may begin like another."""
    choice = structgen.Choice(["yes", "yes, but", "no"])
    results = roomy.generate("x", choice, n=60, seed=0, temperature=4.0)
    assert {result.text for result in results} == {"yes", "yes, but", "no"}


def test_a_python_type_gives_its_instance(roomy: Generator) -> None:
    """A Pydantic model comes back as an instance of itself."""
    pydantic = pytest.importorskip("pydantic")
    field = pydantic.Field
    model = pydantic.create_model(
        "Point", x=(int, field(ge=-50, le=1000)), tag=(str, field(max_length=4))
    )
    for result in roomy.generate("x", model, n=5, seed=0, max_tokens=60):
        assert isinstance(result.value, model)
        assert result.value == model.model_validate_json(result.text)


def test_a_spec_per_row_and_a_compiled_one(roomy: Generator) -> None:
    """Different kinds of specs share a batch, also one that was compiled before."""
    compiled = structgen.compile(PERSON, roomy.vocabulary)
    prompts = ["x", "a longer prompt", "y"]
    specs = [compiled, structgen.Regex("[ab]{3}"), structgen.Choice(["left", "right"])]
    results = roomy.batch(prompts, specs, seed=1)
    jsonschema.validate(results[0].value, PERSON)
    assert re.fullmatch("[ab]{3}", results[1].text)
    assert results[2].text in {"left", "right"}
    for prompt, spec, result in zip(prompts, specs, results, strict=True):
        assert roomy.generate(prompt, spec, seed=1).tokens == result.tokens


def test_a_spec_is_compiled_once(roomy: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal specs find the constraint that is there."""
    from structgen.generation import compiled as home

    compiled = []
    original = home.compile_spec  # type: ignore[attr-defined]

    def count(spec: Any, vocabulary: Any, **options: Any) -> Any:
        compiled.append(spec)
        return original(spec, vocabulary, **options)

    monkeypatch.setattr(home, "compile_spec", count)
    for _ in range(3):
        roomy.generate("x", structgen.JsonSchema({"type": "boolean"}), seed=0)
        roomy.generate("x", structgen.Regex("ab?"), seed=0)
        roomy.generate("x", {"const": True}, seed=0)
    assert len(compiled) == 3
