"""Schemas that refer to themselves, whose questions lead to each other."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import pytest

import structgen as sg
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("order", ["declared", "any"])
def test_branches_that_contain_each_other_ask_few_nested_questions(order: str) -> None:
    """Whether infinitely many values fit one that leaves out others, which contain it."""
    again = {"$ref": "#/$defs/color"}
    keyed = {"type": "object", "additionalProperties": False, "minProperties": 1}
    languages = "^[a-zA-Z][a-zA-Z][a-zA-Z]?(-[a-z]+)?$"
    plain = [
        {"type": "array", "minItems": 3, "maxItems": 4, "items": {"type": "number", "minimum": 0}},
        {"type": "string", "pattern": "^#[0-9a-f]+$"},
        {"enum": ["black", "white"]},
    ]
    selectors = [
        _closed(ref={"type": "string"}),
        _closed(inherit={"enum": [True]}),
        {**keyed, "patternProperties": {"^([0-9]\\.?[0-9]*)x$": again}},
        {**keyed, "patternProperties": {languages: again}, "not": {"required": ["ios"]}},
    ]
    schema = {
        "$defs": {"color": {"oneOf": [{"oneOf": plain}, {"oneOf": selectors}]}},
        "type": "object",
        "patternProperties": {"^[a-z]+$": again},
    }
    values: list[Any] = [
        {"a": {"en": "#0f", "fr": {"1x": "black"}}},
        {"a": {"ref": "z"}, "b": [1, 2, 3]},
        {"a": {"ios": "black"}},
        {"a": {"2x": {"2x": {"ref": 1}}}},
        {"a": {"2x": {"2x": {"ref": "1"}}}},
    ]
    decide = json_decider(schema)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 500)
    try:
        constraint = sg.compile(sg.JsonSchema(schema, property_order=order), BYTES)
        for text in (json.dumps(value).encode() for value in values):
            state = constraint.advance_bytes(constraint.start, text)
            accepted = state != sg.DEAD and constraint.is_accepting(state)
            assert accepted is decide(text), text
    finally:
        sys.setrecursionlimit(limit)
