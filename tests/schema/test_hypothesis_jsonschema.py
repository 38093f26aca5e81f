"""Instances that hypothesis-jsonschema draws are accepted exactly where jsonschema agrees.

Its strategies for objects do not run with current versions of hypothesis; objects are drawn by the
project's own strategies in `tests.fuzz`.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

import structgen as sg

SCHEMAS: list[dict[str, Any]] = [
    {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"enum": [1, "b", None]}},
    {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 3}, "minItems": 1},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "maxItems": 2},
    {"anyOf": [{"type": "string", "pattern": "^[a-c]+$"}, {"type": "integer", "minimum": 5}]},
    {"type": "number", "minimum": -1, "exclusiveMaximum": 2.5, "multipleOf": 0.5},
    {"allOf": [{"type": ["string", "null"]}, {"maxLength": 4}]},
    {"enum": [1, "b", None, True, [2, "c"]]},
]
VOCABULARY = sg.Vocabulary([bytes((b,)) for b in range(256)])


@pytest.mark.parametrize("place", range(len(SCHEMAS)))
def test_instances_are_judged_as_jsonschema_judges_them(place: int) -> None:
    """Instances drawn for the schema itself, and for all the others, which rarely fit."""
    schema = SCHEMAS[place]
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, VOCABULARY)
    validator = jsonschema.Draft202012Validator(schema)
    drawn = from_schema(schema) | st.one_of([from_schema(other) for other in SCHEMAS])

    @given(drawn)
    def judge(value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")
        state = constraint.advance_bytes(constraint.start, text)
        accepted = state >= 0 and constraint.is_accepting(state)
        assert accepted == validator.is_valid(value), text

    judge()
