"""In: schemas, one value of a keyword often replaced by junk. Out: proof that plain ones are fine.

The oracle expands every subschema, plain or not: it must raise the same error at the same place.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.errors import StructgenError
from structgen.spec import json_plain
from structgen.spec.json_keywords import KEYWORDS
from structgen.spec.json_vocabularies import Dialect
from tests.schemas import parts_of, random_schema

JUNK: list[Any] = [
    None, True, -1, 1.5, float("inf"), float("nan"), 10**400, "", "string", "(", "#/nowhere", [],
    [1], ["a"], ["string", "x"], {}, {"a": 1}, {"a": {"type": "string"}}, {"type": 3},
    {"$ref": "#/x"},
]  # fmt: skip


def _error(schema: Any) -> tuple[str, str] | None:
    """What compiling raises, and where; the schemas are copied, as nodes go by identity."""
    try:
        sg.JsonSchema(copy.deepcopy(schema)).automaton()
    except StructgenError as error:
        return error.kind, error.location
    return None


def _never(*_given: Any) -> None:
    """Nothing is plain."""


@pytest.mark.parametrize("draft", [4, 7, 2019, 2020])
def test_plain_schemas_raise_what_expanding_all_raises(
    draft: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one fault in a schema at most, both ways find the same one, or none."""
    rng = Random(draft)
    found: set[str | None] = set()
    cases = []
    for _ in range(120):
        schema = random_schema(rng, draft, hard=rng.random() < 0.2)
        parts = [part for part in parts_of(schema) if part] if isinstance(schema, dict) else []
        if parts and rng.random() < 0.8:
            part = rng.choice(parts)
            keyword = rng.choice([*part, *KEYWORDS])
            part[keyword] = rng.choice(JUNK)
        cases.append((schema, _error(schema)))
    monkeypatch.setattr(json_plain, "exits", _never)
    monkeypatch.setattr(json_plain, "is_reference", _never)
    monkeypatch.setattr(json_plain, "scalar_key", _never)
    monkeypatch.setattr(json_plain, "is_possible", _never)
    for schema, error in cases:
        assert _error(schema) == error, schema
        found.add(error and error[0])
    assert {None, "broken_spec"} <= found


def test_most_of_a_usual_schema_is_plain() -> None:
    """Types, bounds and members are; logic, patterns and references are left to others."""
    inner = {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3}
    schema = {
        "type": "object",
        "title": "x",
        "properties": {"a": inner, "b": {"$ref": "#"}, "c": {"pattern": "^x"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert json_plain.children(inner, Dialect(2020)) == [(("items",), inner["items"])]
    left = json_plain.exits(schema, Dialect(2020), set())
    assert left == [(("properties", "b"), {"$ref": "#"}), (("properties", "c"), {"pattern": "^x"})]
    assert json_plain.children({"anyOf": [schema]}, Dialect(2020)) is None
    assert json_plain.children(schema, Dialect(2020, asserts_formats=True)) is None


def test_equal_keys_mean_the_same() -> None:
    """A broken value (true as a count) never takes the node of a good one that equals it."""
    sg.JsonSchema({"minLength": 1}).automaton()
    with pytest.raises(sg.errors.SpecError):
        sg.JsonSchema({"minLength": True}).automaton()
