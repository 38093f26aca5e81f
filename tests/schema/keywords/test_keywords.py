"""Every keyword, alone, accepts the values that the jsonschema library accepts.

Each draft judges every value, so what a draft does not know must be ignored by both.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import structgen as sg
from tests.helpers.oracle import DIALECTS, json_decider

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])
VALUES: list[Any] = [
    None, True, False, 0, -0.0, 1, 1.0, 2, 3, -1, 1.5, 0.1, 0.3, 7, 10, 1e3, 12345678901234567890,
    "", "a", "b", "ab", "aa", "é", "a😀", "😀", "3", "a b", '"',
    [], [1], [1, 1], [1, "a"], ["a", 1], [1, 2, 3], [None, "a", [1]], [[], {}], [{"a": 1}], ["a"],
    {}, {"a": 1}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 1}, {"b": 1, "a": 1}, {"a": 1, "c": None},
    {"a": 1, "b": "x", "c": []}, {"ab": 1}, {"ab": "x", "b": 2}, {"é": 1}, {"": 0}, {"a": {"a": 1}},
    {"a": [1], "x": {"a": 1}},
]  # fmt: skip
SCHEMAS: list[Any] = [
    {"type": "null"}, {"type": "boolean"}, {"type": "integer"}, {"type": "number"},
    {"type": "string"}, {"type": "array"}, {"type": "object"}, {"type": ["string", "null"]},
    {"type": ["integer", "array"]},
    {"enum": [1, "a", None, [1], {"a": 1}]}, {"enum": [True, 0]}, {"enum": [1.0, False]},
    {"enum": [0, 1, 2, 3, "a"]}, {"not": {"enum": [-1, 0, 1, 2, 10, 1.5]}},
    {"enum": [1, 2, 3, 7, 10], "minimum": 2}, {"enum": [-1, 0, 1], "multipleOf": 0.5},
    {"enum": [-4, -2, 0, 2, 3, 6, 9, 12, 25]}, {"enum": [1, 3, 5, 7, 10.0, 20, 30, 0.5]},
    {"items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"const": 1}, {"const": {"a": 1, "b": 1}}, {"const": [1, 1]}, {"const": True},
    {"minimum": 1}, {"maximum": 1}, {"minimum": 0.2, "maximum": 7}, {"multipleOf": 3},
    {"multipleOf": 0.1}, {"multipleOf": 0.5, "minimum": 1}, {"type": "integer", "multipleOf": 1.5},
    {"minLength": 2}, {"maxLength": 1}, {"minLength": 1, "maxLength": 2}, {"pattern": "a"},
    {"pattern": "^a"}, {"pattern": "b$"}, {"pattern": "^(a|😀)+$"}, {"pattern": "^$"},
    {"pattern": "a", "maxLength": 1, "type": "string"},
    {"items": {"type": "integer"}}, {"items": {"items": {"type": "integer"}}},
    {"minItems": 2}, {"maxItems": 1}, {"minItems": 1, "maxItems": 2, "items": {"type": "string"}},
    {"prefixItems": [{"type": "integer"}, {"type": "string"}]},
    {"prefixItems": [{"const": 1}], "items": {"const": 1}},

    {"properties": {"a": {"type": "integer"}}},
    {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]},
    {"properties": {"a": {}}, "additionalProperties": False},
    {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
    {"patternProperties": {"^a": {"type": "integer"}}},
    {"patternProperties": {"b": {"type": "string"}, "^a": {}}, "additionalProperties": False},
    {"patternProperties": {"a": {"type": "integer"}}, "properties": {"a": {"minimum": 2}}},
    {"patternProperties": {"^[ab]$": {"type": "integer"}}, "additionalProperties": False},
    {"patternProperties": {"^(a|b)$": {"type": "integer"}, "^a?$": {"minimum": 1}, "c": False},
     "properties": {"a": {"maximum": 0}, "b": {}}},
    {"patternProperties": {"^(a|é)$": {"type": "integer"}}, "required": ["b"], "minProperties": 2},
    {"patternProperties": {"^[ab]$": {"type": "integer"}}, "additionalProperties": {"const": None}},
    {"not": {"patternProperties": {"^[ab]$": {"type": "integer"}}}},
    {"propertyNames": {"pattern": "^a"}, "patternProperties": {"^(a|b|ab)$": {"type": "integer"}}},
    {"patternProperties": {"^(a|b)$": False, "^$": True}, "unevaluatedProperties": False},
    {"oneOf": [{"patternProperties": {"^[ab]$": {"type": "integer"}}}, {"required": ["a", "b"]}],
     "type": "object"},
    {"required": ["a"]}, {"required": ["a", "b"]}, {"minProperties": 2}, {"maxProperties": 1},
    {"minProperties": 1, "maxProperties": 2, "properties": {"a": {"type": "string"}}},
    {"propertyNames": {"pattern": "^a"}}, {"propertyNames": {"maxLength": 1}},

    {"dependentRequired": {"a": ["b"], "b": ["a"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"type": "string"}}}}},
    {"allOf": [{"minimum": 1}, {"maximum": 2}]},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["b"]}],
     "minProperties": 2},
    {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
    {"anyOf": [{"minItems": 2}, {"items": {"type": "array"}}]},
    {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": [tag]}}}
               for tag in (1, "1", True)]},
    {"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": tags}}}
               for tags in ([1, 2], [1.0, 3], ["a"])]},
    {"oneOf": [{"properties": {"a": {"enum": [1]}}, "required": ["a"], "type": "object"},
               {"properties": {"a": {"enum": ["x"]}}, "required": ["a"], "type": "object"}]},
    {"$ref": "#/definitions/x", "definitions": {"x": {"type": "integer"}}},
    {"$ref": "#/definitions/x", "minimum": 2, "definitions": {"x": {"type": "integer"}}},
    {"properties": {"a": {"$ref": "#"}, "x": {"$ref": "#/definitions/a~1b"}},
     "definitions": {"a/b": {"required": ["a"]}}, "additionalProperties": {"$ref": "#"}},
    {"title": "t", "description": "d", "default": 3, "examples": [1], "readOnly": True, "x-own": 1},
]  # fmt: skip
BY_DRAFT: list[tuple[int, Any]] = [
    (4, {"minimum": 1, "exclusiveMinimum": True}), (4, {"maximum": 1, "exclusiveMaximum": False}),
    (4, {"items": [{"type": "integer"}], "additionalItems": False}),
    *((d, {"dependencies": {"a": ["b"]}}) for d in (4, 6, 7)),
    *((d, {"dependencies": {"a": {"maxProperties": 1}}}) for d in (4, 6, 7)),
    (2020, {"prefixItems": [{}], "items": False}),
    (6, {"exclusiveMinimum": 1, "exclusiveMaximum": 7}),
    (7, {"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": {"type": "array"}}),
    (7, {"items": [{"const": 1}]}), (2019, {"items": [{"type": "integer"}]}),
    (2020, {"exclusiveMinimum": 1, "minimum": 0}),
    (2019, {"$ref": "#/$defs/x", "minimum": 2, "$defs": {"x": {"type": "integer"}}}),
    (2020, {"items": {"$ref": "#here"}, "$defs": {"x": {"$anchor": "here", "type": "integer"}}}),
    (7, {"items": {"$ref": "#here"}, "definitions": {"x": {"$id": "#here", "type": "integer"}}}),
]  # fmt: skip


def check(schema: Any, draft: int) -> None:
    """Every value in its usual spelling is accepted iff the library validates it."""
    whole = {"$schema": DIALECTS[draft], **schema}
    decide = json_decider(whole)
    spec = sg.JsonSchema(whole, property_order="any", whitespace="any", formats="annotate")
    constraint = sg.compile(spec, BYTES)
    for value in VALUES:
        text = json.dumps(value, ensure_ascii=False).encode()
        state = constraint.advance_bytes(constraint.start, text)
        assert constraint.is_accepting(state) == decide(text), text


@pytest.mark.parametrize("draft", DIALECTS)
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_a_keyword_means_what_the_library_means(schema: Any, draft: int) -> None:
    """Values of every type, since most keywords leave other types alone."""
    check(schema, draft)


@pytest.mark.parametrize(("draft", "schema"), BY_DRAFT, ids=json.dumps)
def test_keywords_with_a_form_of_their_own_in_a_draft(draft: int, schema: Any) -> None:
    """Exclusive bounds, lists of items, siblings of references, anchors."""
    check(schema, draft)


@pytest.mark.parametrize(
    "text",
    ["01", "+1", ".5", "1.", "1e", "0x1", "NaN", "Infinity", "'a'", '"\\x41"', '"\t"', '"\\ud800"',
     "[1,]", '{"a":1,}', '{"a":1,"a":1}', '{a:1}', "nul", "True", "[1 2]", "{} {}", "", " ",
     "\ufeff1", "1 // x"],
)  # fmt: skip
def test_what_is_not_json_is_never_accepted(text: str) -> None:
    """The empty schema accepts JSON texts, without repeated keys, and nothing else."""
    spec = sg.JsonSchema({}, property_order="any", whitespace="any")
    constraint = sg.compile(spec, BYTES)
    state = constraint.advance_bytes(constraint.start, text.encode())
    assert not constraint.is_accepting(state)
    assert not json_decider({})(text.encode())


def test_listed_numbers_come_in_any_spelling() -> None:
    """Hundreds of them, by themselves and in listed values."""
    numbers = [i * i * 7 for i in range(1, 200)]
    schema = {"anyOf": [{"enum": numbers}, {"enum": [[i] for i in numbers]}]}
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, BYTES)
    decide = json_decider({"$schema": DIALECTS[2020], **schema})
    for number in (7, 175, 847):
        for text in (f"{number}.0", f"{number / 10:.1f}e1", f"{number}E0", f"{number}.5"):
            for whole in (text, f"[{text}]"):
                state = constraint.advance_bytes(constraint.start, whole.encode())
                assert constraint.is_accepting(state) == decide(whole.encode()), whole


def test_a_long_list_of_numbers_is_read_as_it_is_written() -> None:
    """Whole ones in digits as well; by themselves, beside bounds, and in listed values."""
    numbers: list[float] = [i * i * 7 for i in range(1100)]
    numbers += [i * i + 0.25 for i in range(800)] + [i * i * 7 + 3.0 for i in range(9, 200)]
    schema = {
        "anyOf": [
            {"enum": numbers, "minimum": 100, "not": {"const": 175}},
            {"enum": [[number, "x", {"a": number}] for number in numbers]},
        ]
    }
    decide = json_decider({"$schema": DIALECTS[2020], **schema})
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, BYTES)
    tried = numbers[::100]
    texts = [json.dumps(x) for i in tried for x in (i, i + 1, [i, "x", {"a": i}], [i, "x"])]
    texts += [str(int(i)) for i in tried if i == int(i)]
    assert {decide(text.encode()) for text in texts} == {True, False}
    for text in texts:
        state = constraint.advance_bytes(constraint.start, text.encode())
        assert constraint.is_accepting(state) == decide(text.encode()), text
