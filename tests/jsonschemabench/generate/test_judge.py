"""A text's validity is that of the jsonschema library, and right fields are counted by value."""

from __future__ import annotations

from typing import Any

import pytest

from jsonschemabench.generate.judge import Judgement, Question, judge

AGE = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("text", "schema", "valid"),
    [
        ('{"age": 3}', AGE, True),
        ('{"age": "3"}', AGE, False),
        ('"2025-02-30"', {"format": "date"}, False),
        ('"2025-02-28"', {"format": "date"}, True),
        ("3", True, True),
        ("3", False, False),
        ("[1, 1]", {"uniqueItems": True}, False),
        # The draft that `$schema` names: in draft 4 the bound is a flag beside `minimum`.
        (
            "3",
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "minimum": 3,
                "exclusiveMinimum": True,
            },
            False,
        ),
        ("3", {"$ref": "http://example.com/nowhere.json"}, None),
        ('"a"', {"pattern": "("}, None),
    ],
)
def test_validity_is_that_of_the_library(text: str, schema: Any, valid: bool | None) -> None:
    """Formats checked, no document fetched, and None where the library cannot say."""
    found = judge(Question(text, schema))
    assert (found.json, found.valid) == (True, valid)
    assert bool(found.why) is (valid is not True)


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "NaN", "[" * 100_000, "3 4"])
def test_what_is_no_json_is_not_valid(text: str) -> None:
    """Not even under a schema that allows everything; and all fields are wrong."""
    found = judge(Question(text, True, {"a": 1, "b": [2, 3]}, judged=True))
    assert (found.json, found.valid, found.right, found.fields) == (False, False, 0, 3)


def test_fields_are_counted_by_value() -> None:
    """A superfluous field is wrong, as a missing one is."""
    question = Question('{"a": 1, "c": 5}', True, {"a": 1.0, "b": 2}, judged=True)
    assert judge(question) == Judgement(json=True, valid=True, right=1, fields=3)


def test_a_code_fence_is_opened_only_for_the_model_alone() -> None:
    """Chat models like to write one; an engine that lets one through has failed."""
    text = 'Here you are:\n```json\n{"age": 3}\n```\n'
    assert judge(Question(text, AGE, fenced=True)).valid is True
    assert judge(Question(text, AGE)).json is False
