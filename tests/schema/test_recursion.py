"""Schemas that refer to themselves, whose questions lead to each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

import structgen as sg
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES

SELECTORS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"ref": {"type": "string"}}, "additionalProperties": False},
    {"type": "object", "additionalProperties": False, "minProperties": 1},
    {
        "patternProperties": {"^[a-z]{2,3}$": {"$ref": "#/$defs/color"}},
        "not": {"required": ["ios"]},
    },
]
COLORS: dict[str, Any] = {
    "$defs": {"color": {"oneOf": [{"oneOf": SELECTORS}]}},
    "patternProperties": {"^[a-z][a-zA-Z0-9]+$": {"$ref": "#/$defs/color"}},
}


@pytest.mark.parametrize("order", ["declared", "any"])
def test_branches_that_contain_each_other_ask_few_nested_questions(order: str) -> None:
    """Whether infinitely many values fit one leads to the same question about those in it."""
    constraint = sg.compile(sg.JsonSchema(COLORS, property_order=order), BYTES)
    decide = json_decider(COLORS)
    values = [{"ab": x} for x in (1, {"ref": "x"}, {"ios": 1}, {"abc": {"de": {"ref": 1}}}, {})]
    for text in (json.dumps(value).encode() for value in values):
        state = constraint.advance_bytes(constraint.start, text)
        accepted = state != sg.DEAD and constraint.is_accepting(state)
        assert accepted is decide(text), text
