"""`property_order` and `whitespace`: keys come in the order, and gaps as, asked for."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

import structgen as sg

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])


def accepts(text: str, schema: Any, **options: Any) -> bool:
    """Whether a text is one of the schema's under the options."""
    constraint = sg.compile(sg.JsonSchema(schema, **options), BYTES)
    return constraint.is_accepting(constraint.advance_bytes(constraint.start, text.encode()))


def orders(schema: Any, keys: str) -> set[str]:
    """The orders of keys (one letter each, all of them there) that declared order lets through."""
    return {
        "".join(order)
        for order in permutations(keys)
        if accepts(json.dumps(dict.fromkeys(order, 1)), schema)
    }


@pytest.mark.parametrize(
    ("schema", "keys", "wanted"),
    [
        ({"properties": {"b": {}, "a": {}, "c": {}}}, "abc", {"bac"}),
        ({"properties": {"b": {}, "a": {}}, "required": ["c", "a"]}, "abc", {"bac"}),
        ({"required": ["c", "a", "b"]}, "abc", {"cab"}),
        ({"properties": {"b": {}}}, "bxy", {"bxy", "byx"}),
        ({"properties": {"b": {}}, "required": ["c"]}, "bcxy", {"bcxy", "bcyx"}),
        (
            {"allOf": [{"properties": {"c": {}, "a": {}}}, {"properties": {"b": {}}}]},
            "abc",
            {"cab"},
        ),
        ({"properties": {"z": {}}, "allOf": [{"properties": {"a": {}, "z": {}}}]}, "az", {"za"}),
        ({"allOf": [{"properties": {"a": {}, "z": {}}}], "properties": {"z": {}}}, "az", {"az"}),
        (
            {
                "$ref": "#/$defs/x",
                "properties": {"a": {}},
                "$defs": {"x": {"properties": {"b": {}}}},
            },
            "ab",
            {"ba"},
        ),
        (
            {
                "properties": {"a": {}},
                "$ref": "#/$defs/x",
                "$defs": {"x": {"properties": {"b": {}}}},
            },
            "ab",
            {"ab"},
        ),
        (
            {"anyOf": [{"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}]},
            "ab",
            {"ab", "ba"},
        ),
    ],
    ids=lambda x: None if isinstance(x, set) else repr(x),
)
def test_declared_order_is_that_of_the_document(schema: Any, keys: str, wanted: set[str]) -> None:
    """Named keys as written, merged left to right; then other required ones; then the rest."""
    assert orders(schema, keys) == wanted


def test_optional_keys_may_be_left_out_in_declared_order() -> None:
    """Any subset that has the required keys, in the one order."""
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]}
    for keys in ["b", "ab", "bc", "abc"]:
        assert accepts(json.dumps(dict.fromkeys(keys, 1)), schema)
    for keys in ["", "a", "ac", "ba", "cb"]:
        assert not accepts(json.dumps(dict.fromkeys(keys, 1)), schema)


def test_any_order_lets_all_orders_through() -> None:
    """The set of keys is what counts."""
    schema = {"properties": {"a": {}, "b": {}}, "required": ["c"]}
    for order in permutations("abcx"):
        assert accepts(json.dumps(dict.fromkeys(order, 1)), schema, property_order="any")


SCHEMA = {"type": "object", "properties": {"a": {"type": "array"}}}
COMPACT = '{"a":[1,2]}'
SPACED = '{"a": [1, 2]}'
INDENTED = '{\n  "a": [\n    1,\n    2\n  ]\n}'
WILD = ' {\t"a" :\r\n[ 1 , 2 ] } '


@pytest.mark.parametrize(
    ("whitespace", "wanted"),
    [
        ("compact", [COMPACT]),
        ("bounded", [COMPACT, SPACED]),
        ("indented", [COMPACT, SPACED, INDENTED]),
        ("any", [COMPACT, SPACED, INDENTED, WILD]),
        (" ?", [COMPACT, SPACED]),
        ("", [COMPACT]),
    ],
)
def test_gaps_are_those_of_the_white_space_mode(whitespace: str, wanted: list[str]) -> None:
    """Each mode takes its own layouts and refuses the wider ones."""
    layouts = [COMPACT, SPACED, INDENTED, WILD]
    assert [t for t in layouts if accepts(t, SCHEMA, whitespace=whitespace)] == wanted


def test_bounded_gaps_are_bounded() -> None:
    """A model that can only write spaces comes to an end."""
    for space, gap, most in (("bounded", " ", 0), ("indented", " ", 0), ("indented", "\n", 40)):
        constraint = sg.compile(sg.JsonSchema(SCHEMA, whitespace=space), BYTES)
        state, count = constraint.advance_bytes(constraint.start, b"{" + gap.encode()), 0
        while b" "[0] in constraint.allowed_bytes(state):
            state, count = constraint.advance_bytes(state, b" "), count + 1
        assert count == most
