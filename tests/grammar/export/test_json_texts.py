"""JSON Schemas in GBNF: the texts that generation may write, or a refusal with a JSON Pointer."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.errors import StructgenError, UnsupportedSchemaError
from tests.grammar.export.compare import check_export
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas
from tests.helpers.values import mutated, near_value

pytestmark = MISSPELT_ON_PURPOSE

CLOSED = {"additionalProperties": False}
TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
            **CLOSED,
        }
    },
    "$ref": "#/$defs/tree",
}
SCHEMAS: dict[str, Any] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "range": {"type": "integer", "minimum": -7, "maximum": 250},
    "decimal range": {"type": "number", "minimum": 0, "exclusiveMaximum": 1.5},
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 100},
    "string": {"type": "string"},
    "lengths": {"type": "string", "minLength": 2, "maxLength": 5},
    "pattern": {"type": "string", "pattern": '^[a-z"\\n]+$', "maxLength": 9},
    "date": {"type": "string", "format": "date"},
    "ipv4": {"type": "string", "format": "ipv4"},
    "enum": {"enum": ["a", 'b\n"', 1, 2.5, None, True, [1, {"x": 2}], {}]},
    "object": {
        "properties": {"a": {"type": "integer"}, "é\t": {"type": "null"}, "c": {}},
        "required": ["c"],
        "type": "object",
        **CLOSED,
        "propertyNames": {"maxLength": 5},
        "minProperties": 2,
    }
    | {"properties": {"a": {"type": "integer"}, "é\t": {"type": "null"}, "c": {"const": 1}}},
    "array": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    "tuple": {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}},
    "contains": {
        "type": "array",
        "items": {"enum": [1, 2]},
        "contains": {"const": 1},
        "minContains": 2,
        "maxItems": 4,
    },
    "tree": TREE,
    "union": {
        "oneOf": [
            {"properties": {"k": {"const": "x"}, "n": {"type": "integer"}}, "required": ["k", "n"]}
            | {"type": "object"}
            | CLOSED,
            {"properties": {"k": {"const": "y"}, "s": {"type": "string"}}, "required": ["k"]}
            | {"type": "object"}
            | CLOSED,
        ]
    },
    "overlapping union": {
        "anyOf": [{"type": "integer", "minimum": 3}, {"multipleOf": 2, "type": "integer"}]
    },
    "not": {"type": "string", "not": {"enum": ["a", "ab"]}, "maxLength": 3},
    "if": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"type": "integer"}},
        **CLOSED,
        "if": {"properties": {"a": {"const": True}}, "required": ["a"]},
        "then": {"required": ["b"]},
    },
    "listed keys": {
        "type": "object",
        "propertyNames": {"enum": ["a", "bc"]},
        "additionalProperties": {"type": "integer"},
    },
    "one key by pattern": {
        "type": "object",
        "patternProperties": {"^a$": {"type": "null"}},
        **CLOSED,
    },
}
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"whitespace": "indented"},
]
MORE_LAYOUTS: list[dict[str, Any]] = [
    {"whitespace": "compact"},
    {"whitespace": "any"},
    {"escapes": "any"},
]


@pytest.mark.parametrize(
    "layout",
    LAYOUTS + [pytest.param(layout, marks=pytest.mark.thorough) for layout in MORE_LAYOUTS],
    ids=str,
)
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_the_same_texts_exported(name: str, layout: dict[str, Any]) -> None:
    """Walks through both automata find no difference, in any layout."""
    check_export(sg.JsonSchema(SCHEMAS[name], **layout), walks=12)


def fits(spec: Any, text: str) -> bool:
    """Whether a text is one of a spec."""
    automaton = spec.automaton()
    at = automaton.run(automaton.start, text.encode())[0]
    return bool(at >= 0 and automaton.is_accepting(at))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_jsonschema_library_agrees_about_canonical_texts(name: str) -> None:
    """Of values near the schema, written as generation writes them."""
    schema, rng = SCHEMAS[name], Random(2)
    grammar = sg.Gbnf(sg.export_gbnf(sg.JsonSchema(schema, whitespace="compact")))
    judge = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    order = [*schema.get("properties", {}), "value", "children", "k", "n", "s"]
    for _ in range(40):
        value = near_value(schema, rng)
        for each in (value, mutated(value, rng)):
            text = json.dumps(in_order(each, order), ensure_ascii=False, separators=(",", ":"))
            if has_natural_numbers(each):
                assert fits(grammar, text) == judge.is_valid(each), text


def in_order(value: Any, names: list[str]) -> Any:
    """A value with the keys of its objects in the order of a list, others behind."""
    if isinstance(value, list):
        return [in_order(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    known = [name for name in dict.fromkeys(names) if name in value]
    return {
        key: in_order(value[key], names) for key in (*known, *(k for k in value if k not in known))
    }


def has_natural_numbers(value: Any) -> bool:
    """Whether numbers are integers or have few digits, as generation writes them."""
    if isinstance(value, dict):
        return all(map(has_natural_numbers, value.values()))
    if isinstance(value, list):
        return all(map(has_natural_numbers, value))
    return not isinstance(value, float) or (value % 1 != 0 and "e" not in repr(value))


@given(schemas(), st.booleans())
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_any_schema_has_the_same_texts_exported_or_is_refused(schema: Any, closed: bool) -> None:
    """Refusals have a JSON Pointer and say what to do."""
    spec = sg.JsonSchema(schema, closed=closed)
    try:
        spec.automaton()
    except StructgenError:
        return
    try:
        sg.export_gbnf(spec)
    except UnsupportedSchemaError as refusal:
        location, hint = refusal.location, refusal.hint
    else:
        check_export(spec, walks=5, length=25)
        return
    assert location.startswith("#")
    assert hint


@given(schemas(), st.integers(0, 1000))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_values_with_repeated_keys_still_fit(schema: Any, seed: int) -> None:
    """The last of equal keys counts for readers, and for the jsonschema library."""
    try:
        sg.JsonSchema(schema).automaton()
        text = sg.export_gbnf(schema, repeated_keys=True)
    except StructgenError:
        return
    rng, automaton = Random(seed), sg.Gbnf(text).automaton()
    judge = jsonschema.Draft202012Validator(schema)
    for _ in range(5):
        written = sampled(automaton, rng)
        assert judge.is_valid(json.loads(written)), f"{written}\n{text}"


def sampled(automaton: Automaton, rng: Random, most: int = 60) -> str:
    """A random text; beyond `most` bytes it goes the shortest way to its end."""
    at, text = automaton.start, b""
    while not (automaton.is_accepting(at) and (len(text) > most or rng.random() < 0.3)):
        if len(text) > most:
            return (text + automaton.completions().shortest(at)).decode()
        following = automaton.next_bytes(at)
        if not following:
            break
        # quotes, braces and few letters, so that keys are short and come twice
        likely = [byte for byte in following if byte in b'"{}:,ab1'] or following
        byte = rng.choice(likely if rng.random() < 0.9 else following)
        at, text = automaton.run(at, bytes([byte]))[0], text + bytes([byte])
    return text.decode()


def test_a_pattern_and_a_length_are_one_count() -> None:
    """Not a rule for each length."""
    schema = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 900}
    assert sg.export_gbnf(schema) == 'root ::= "\\"" [a-z]{1,900} "\\""\n'
    check_export({**schema, "minLength": 3, "maxLength": 5})


REFUSED: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "items that differ": (
        {"properties": {"a": {"type": "array", "uniqueItems": True}}, **CLOSED, "type": "object"},
        {},
        "uniqueItems",
        "#/properties/a/uniqueItems",
    ),
    "listed items that differ": (
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        {},
        "uniqueItems",
        "#/uniqueItems",
    ),
    "keys without a name": ({"type": "object"}, {}, "additionalProperties", "#"),
    "keys by a pattern": (
        {"type": "object", "patternProperties": {"^x": {}}, **CLOSED},
        {},
        "additionalProperties",
        "#/additionalProperties",
    ),
    "counted keys": (
        {"type": "object", "minProperties": 2},
        {"repeated_keys": True},
        "additionalProperties",
        "#",
    ),
    "a format with many states": (
        {"properties": {"h": {"type": "string", "format": "hostname"}}, **CLOSED, "type": "object"},
        {},
        "",
        "#/properties/h",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_memory_is_refused_with_its_pointer(name: str) -> None:
    """The keyword, and its JSON Pointer."""
    schema, options, keyword, pointer = REFUSED[name]
    with pytest.raises(UnsupportedSchemaError) as error:
        sg.export_gbnf(schema, **options)
    assert (error.value.keyword, error.value.location) == (keyword, pointer)


@pytest.mark.parametrize("options", [{"property_order": "any"}, {"surrogates": "allow"}], ids=str)
def test_options_that_need_memory_are_refused(options: dict[str, Any]) -> None:
    """Keys in any order, and unpaired surrogates."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, **CLOSED}
    with pytest.raises(UnsupportedSchemaError):
        sg.export_gbnf(sg.JsonSchema(schema, **options))


def test_repeated_keys_change_nothing_but_that_keys_may_come_twice() -> None:
    """Names keep their place and their schemas."""
    schema = {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}}
    grammar = sg.Gbnf(sg.export_gbnf({"type": "object", **schema}, repeated_keys=True))
    assert fits(grammar, '{"a": 1, "b": null, "c": null}')
    assert fits(grammar, '{"b": null, "b": null}')
    assert not fits(grammar, '{"b": null, "a": 1}')
    assert not fits(grammar, '{"a": null}')
    assert not fits(grammar, '{"b": 1}')


def test_a_python_type_is_exported_as_its_schema() -> None:
    """As it is compiled."""
    grammar = sg.Gbnf(sg.export_gbnf(list[int]))
    assert fits(grammar, "[1, 2]")
    assert not fits(grammar, '["a"]')
