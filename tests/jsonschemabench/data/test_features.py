"""Keywords are found at every depth of a schema, and only where they are keywords."""

from __future__ import annotations

from typing import Any

import pytest

from jsonschemabench.data.features import features


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (True, []),
        ({"type": "string", "x-note": 1}, ["type"]),
        ({"properties": {"enum": {"minimum": 1}}}, ["minimum", "properties"]),
        ({"enum": [{"pattern": "x"}], "const": {"not": {}}}, ["const", "enum"]),
        ({"items": [{"maxLength": 1}], "not": {"items": {"$ref": "#"}}},
         ["$ref", "items", "maxLength", "not"]),
        ({"allOf": [{"if": {"anyOf": [{"uniqueItems": True}]}}]},
         ["allOf", "anyOf", "if", "uniqueItems"]),
        ({"dependencies": {"a": ["b"], "c": {"minItems": 1}}}, ["dependencies", "minItems"]),
        ({"format": "date", "then": {"format": "colour"}},
         ["format", "format: date", "format: other", "then"]),
    ],
)  # fmt: skip
def test_keywords_are_found_at_every_depth(schema: Any, found: list[str]) -> None:
    """Names of properties and values of `enum` are none."""
    assert features(schema) == found
