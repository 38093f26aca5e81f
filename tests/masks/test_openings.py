"""Masks at keys of objects say what may follow within the values of the keys.

The mask before the colon says so before anybody has looked there, where that is plain. The oracle
reads each token by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.constraint import artifact
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels
from structgen.util import container

BYTES = [b"<end>", *(bytes([byte]) for byte in range(256))]
SHALLOW = [
    b'":{', b'":{"', b'":{\n', b'":{\n"', b'":{\n\n', b'": {"', b'":  {', b":{", b':{"', b'":{,',
    b'":{1', b'a":{"', b'a":{ ', b'":1,{"', b'":1{"', b'":[{"', b'":["', b'":[{\n', b'":[\n',
    b'":[ "', b'":[ { "', b'":[-', b'":[1', b'":[["',
]  # fmt: skip
DEEP = [
    b'":{}', b'":{\n}', b'":{}}', b'":{"b', b'":{"b":', b'":{"c', b'":{"":', b'":{ "c"', b'":[]',
    b'":[\n]', b'":["a', b'":[""', b'":[{}', b'":[{"b', b'":[{"b":', b'":[1]', b'":[[]',
]  # fmt: skip
ON = [
    b'":""', b'":"",', b'":"","', b'":"",\n', b'":"",\n"', b'":"" ,"', b'":"", "', b'":"" ',
    b'":"";', b'":"""', b'":"",,', b'":"",1', b'":1"', b'":1,"', b'":null,"', b'":"" "', b'a":"","',
    b':"","', b'":"",  ', b'""', b'"","', b'"",\n', b'"', b'","', b'":"a","',
]  # fmt: skip  # on to the next member
CLOSED = [
    b'":""}',
    b'":"","b',
    b'":"","b":',
    b'":"","":""',
    b'":"",}',
    b'":"" }',
    b'""}',
    b'"","b"',
]
OTHERS: dict[str, Any] = {
    "free": {},
    "named": {"properties": {"b": {}}},
    "required": {"properties": {"b": {}}, "required": ["b"]},
    "taken": {"properties": {"b": {}, "": {}}, "required": [""]},
    "texts": {"additionalProperties": {"type": "string"}},
    "no empty one": {"additionalProperties": {"type": "string", "minLength": 1}},
    "numbers": {"additionalProperties": {"type": "integer"}},
    "either": {"additionalProperties": {"type": ["string", "number"]}, "properties": {"b": {}}},
    "closed": {"properties": {"b": {}}, "additionalProperties": False},
    "named texts": {"properties": {"b": {"type": "string"}, "bc": {"enum": ["", "a"]}}},
    "patterns": {"patternProperties": {"^b": {"type": "string"}, "^$": {"type": "null"}}},
    "short keys": {"propertyNames": {"maxLength": 1}},
    "counted": {"maxProperties": 1},
    "at least two": {"minProperties": 2, "properties": {"b": {}}},
    "depends": {"properties": {"b": {}}, "dependentRequired": {"b": ["c"]}},
    "two": {"anyOf": [{"required": ["b"]}, {"maxProperties": 1}]},
    "kept": {"not": {"const": {"b": ""}}},
}
VALUES: dict[str, dict[str, Any]] = {
    "named": {"properties": {"b": {}}},
    "required": {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
    "closed": {"properties": {"b": {}}, "additionalProperties": False},
    "none fits": {"properties": {"b": False}, "additionalProperties": False},
    "empty": {"maxProperties": 0},
    "counted": {"properties": {"b": {}}, "minProperties": 2},
    "patterns": {"patternProperties": {"^c+$": {"type": "null"}}, "additionalProperties": False},
    "names": {"propertyNames": {"maxLength": 1}},
    "depends": {"properties": {"b": {}}, "dependentRequired": {"b": ["c"]}},
    "two": {"anyOf": [{"required": ["b"]}, {"maxProperties": 0}]},
    "no object": {"type": "integer"},
    "or a number": {"type": ["number", "object"], "properties": {"b": {}}},
    "items": {"type": "array"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "kinds of text": {"type": "array", "items": {"enum": ["", "b"]}},
    "no text": {"type": "array", "items": {"type": "string", "pattern": "[^\\s\\S]"}},
    "many texts": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    "nothing": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    "first a text": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    "different": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "objects": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}},
    "closed ones": {
        "type": "array",
        "items": {"type": "object", "required": ["b"], "additionalProperties": False},
    },
    "empty ones": {"type": "array", "items": {"type": "object", "additionalProperties": False}},
    "full ones": {"type": "array", "items": {"type": "object", "required": ["b"]}},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "arrays": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    "both": {"type": ["array", "object"], "items": {"type": "string"}, "maxProperties": 0},
    "either": {
        "type": "array",
        "anyOf": [{"items": {"type": "string"}}, {"items": {"type": "object"}}],
    },
    "like them": {"type": "array", "items": {"$ref": "#/$defs/text"}},
    "nested": {"properties": {"b": {"properties": {"c": {}}, "required": ["c"]}}},
}
SPACES = ("any", "bounded", "compact", r" ?")
LAYOUTS = [
    ("declared", "bounded"),
    ("any", "any"),
    *(
        pytest.param(order, space, marks=pytest.mark.thorough)
        for order, space in [
            ("declared", "any"), ("declared", "compact"), ("declared", r" ?"), ("any", "compact"),
        ]
    ),
]  # fmt: skip


@pytest.fixture(scope="module", params=["shallow", "deep"])
def vocabulary(request: pytest.FixtureRequest) -> sg.Vocabulary:
    """All bytes, and tokens that go on behind a brace: deep ones close it, or begin a key."""
    tokens = SHALLOW + DEEP if request.param == "deep" else SHALLOW
    return sg.Vocabulary(BYTES + tokens, eos_ids=[0])


def holder(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object in which such a value may come, with a name or without."""
    one = {"type": "object"} | value
    inner = {"properties": {"a": one}, "additionalProperties": one}
    return {"type": "object", "$defs": {"text": {"type": "string"}}} | inner


def agree(spec: sg.JsonSchema, vocabulary: sg.Vocabulary, texts: Iterable[bytes]) -> None:
    """The mask behind each text is what the oracle says, or neither reads the text."""
    oracle = sg.compile(spec, vocabulary)
    for text in texts:
        constraint = sg.compile(spec, vocabulary)  # in which nothing has been read yet
        state = constraint.advance_bytes(constraint.start, text)
        same = oracle.advance_bytes(oracle.start, text)
        if state < 0:
            assert same == state
            continue
        row = np.zeros(vocabulary.words, np.int32)
        constraint.fill_mask(state, row)
        found = np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size]
        wanted = [oracle.advance(same, token) != sg.DEAD for token in range(vocabulary.size)]
        assert found.astype(bool).tolist() == wanted, text


@pytest.mark.parametrize("order", ["declared", pytest.param("any", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", VALUES)
def test_a_bit_is_set_where_the_token_can_be_read(
    vocabulary: sg.Vocabulary, name: str, space: str, order: Any
) -> None:
    """At the quote that ends a key, behind it, and behind the colon."""
    spec = sg.JsonSchema(holder(VALUES[name]), property_order=order, whitespace=space)
    agree(spec, vocabulary, (b'{"a', b'{"a"', b'{"a":', b'{"z', b'{"z":', b'{"a":1'))


@cache
def that_goes_on(deep: bool) -> sg.Vocabulary:
    """Tokens that go on to the next member; `deep` ones close an object."""
    return sg.Vocabulary(BYTES + ON + CLOSED * deep, eos_ids=[0])


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(("order", "space"), LAYOUTS)
@pytest.mark.parametrize("name", OTHERS)
def test_a_bit_is_set_where_the_token_goes_on_to_the_next_member(
    name: str, space: str, order: Any, deep: bool
) -> None:
    """At and within the first key, behind it, and in a later one; `deep` ones close an object."""
    vocabulary = that_goes_on(deep)
    schema = {"type": "object"} | OTHERS[name]
    texts = b'{" {"b {"b" {"b": {"b":" {"b":""," {"b":1,"a {"":"'.split()
    for begun, whole in (b"", schema), (b"[", {"items": schema, "uniqueItems": True}):
        spec = sg.JsonSchema({"type": "array"} | whole, property_order=order, whitespace=space)
        agree(spec, vocabulary, [begun + text for text in texts])


@pytest.mark.nojit
def test_an_object_is_opened_when_a_text_comes_to_it() -> None:
    """Not in the mask before its key ends, unless a token says more of it."""
    opened = {}
    for kind, tokens in ("shallow", SHALLOW), ("deep", SHALLOW + DEEP):
        vocabulary = sg.Vocabulary(BYTES + tokens, eos_ids=[0])
        constraint = sg.compile(sg.JsonSchema(holder(VALUES["named"])), vocabulary)
        row = np.zeros(vocabulary.words, np.int32)
        frames = []
        for text in b'{"a', b'{"a":':
            constraint.fill_mask(constraint.advance_bytes(constraint.start, text), row)
            frames.append(constraint.size["frames"])
        opened[kind] = frames
    before, after = opened["shallow"]
    assert before < min(after, opened["deep"][0])


@pytest.mark.parametrize(
    ("slot", "schema", "first"),
    [
        ("SKIP_TERMINAL", holder(VALUES["named"]), b'{"a'),
        ("END_TERMINAL", {"type": "object"} | OTHERS["named"], b'{"'),
    ],
)
def test_what_is_known_beforehand_is_saved_and_checked(
    tmp_path: Path, slot: str, schema: dict[str, Any], first: bytes
) -> None:
    """A loaded constraint has the same masks; a file that names a state that is none is refused."""
    vocabulary = sg.Vocabulary(BYTES + SHALLOW + ON, eos_ids=[0])
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, vocabulary)
    rows = np.zeros((2, vocabulary.words), np.int32)
    constraint.fill_mask(constraint.advance_bytes(constraint.start, first), rows[0])
    constraint.save(tmp_path / "good")
    loaded = sg.load(tmp_path / "good", vocabulary)
    for text in (b'{"', b'{"a', b'{"a"', b'{"a":', b'{"a":{', b'{"z'):
        for one, row in zip((constraint, loaded), rows, strict=True):
            one.fill_mask(one.advance_bytes(one.start, text), row)
        np.testing.assert_array_equal(*rows)
    header, arrays = container.read(tmp_path / "good", artifact.KIND)
    (name,) = (name for name in arrays if name.endswith("moves"))
    moves = arrays[name].copy()
    foretold = moves[:, 0] & 0xFFFFFFFF == getattr(kernels("tables"), slot)
    assert foretold.any()
    for forged in 1 << 55, -(1 << 60):
        moves[foretold, 1] = forged
        container.write(tmp_path / "bad", artifact.KIND, header, arrays | {name: moves})
        with pytest.raises(ArtifactError):
            sg.load(tmp_path / "bad", vocabulary).advance_bytes(0, b"{")
