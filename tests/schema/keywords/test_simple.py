"""The fast checks of simple subschemas agree with expanding them.

Keyword values are often replaced by junk. The oracle expands every subschema, simple or not: it
must raise the same error at the same place.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.errors import StructgenError
from structgen.schema.keywords import simple
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.keywords.schemas import Schemas
from structgen.schema.references.vocabularies import Dialect
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, parts_of, random_schema

pytestmark = MISSPELT_ON_PURPOSE

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


def _never(*_known_document: Any, **_named: Any) -> None:
    """Nothing is simple."""


@pytest.mark.parametrize("draft", [4, 7, 2019, 2020])
def test_simple_schemas_raise_what_expanding_all_raises(
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
    monkeypatch.setattr(simple, "complex_below", _never)
    monkeypatch.setattr(simple, "is_reference", _never)
    monkeypatch.setattr(simple, "scalar_key", _never)
    monkeypatch.setattr(simple, "surely_satisfiable", _never)
    for schema, error in cases:
        assert _error(schema) == error, schema
        found.add(error and error[0])
    assert {None, "broken_spec"} <= found


def test_most_of_a_usual_schema_is_simple() -> None:
    """Types, bounds and members are; logic, patterns and references are left to others."""
    inner = {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3}
    schema = {
        "type": "object",
        "title": "x",
        "properties": {"a": inner, "b": {"$ref": "#"}, "c": {"pattern": "^x"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert simple.children(inner, Dialect(2020)) == [(("items",), inner["items"])]
    left = simple.complex_below(schema, Dialect(2020), set(), set())
    assert left == [(("properties", "b"), {"$ref": "#"}), (("properties", "c"), {"pattern": "^x"})]
    assert simple.children({"anyOf": [schema]}, Dialect(2020)) is None
    assert simple.children(schema, Dialect(2020, asserts_formats=True)) is None


def test_what_names_must_fit_is_not_taken_for_what_values_must() -> None:
    """Bounds say nothing of property names; the same bounds elsewhere in the process still hold."""
    for limit, names in ((-31, {"minimum": -31}), (-32, {"allOf": [{"minimum": -32}]})):
        sg.check(sg.JsonSchema({"propertyNames": names}), '{"a": 1}')
        with pytest.raises(StructgenError):
            sg.check(sg.JsonSchema({"minimum": limit}), str(limit - 1))


def test_equal_keys_mean_the_same() -> None:
    """A broken value (true as a count) never takes the node of a good one that equals it."""
    sg.JsonSchema({"minLength": 1}).automaton()
    with pytest.raises(sg.errors.SpecError):
        sg.JsonSchema({"minLength": True}).automaton()


MEMBERS: list[Any] = [
    True, False, {}, {"type": "integer"}, {"type": []}, {"enum": ["a", 1]}, {"enum": []},
    {"enum": ["\ud800"]}, {"enum": ["a"], "type": "integer"}, {"enum": ["a"], "type": "string"},
    {"enum": ["a"], "minLength": 2}, {"$ref": "#/$defs/x"}, {"$ref": "#/$defs/no"}, {"not": {}},
    {"type": "string", "minLength": 3, "maxLength": 2}, {"type": "array", "items": False},
    {"$id": "http://x/", "type": "string"}, {"type": "object", "required": ["z"]},
    {"type": "object", "required": ["z"], "additionalProperties": False},
    {"type": "object", "required": ["z"], "properties": {"z": {"not": {}}}},
]  # fmt: skip


def _texts_fit(schema: Any) -> bool:
    try:
        sg.JsonSchema(copy.deepcopy(schema)).automaton()
    except sg.errors.UnsatisfiableSchemaError:
        return False
    return True


@pytest.mark.parametrize("outer", [False, True])
def test_whether_required_members_can_be_there_is_seen_rightly(
    outer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever two of them are, as solving what everything costs has it."""
    cases = []
    for i, a in enumerate(MEMBERS):
        for rest, needed in ((MEMBERS[-i - 1], ["a", "b"]), (False, ["a"]), (True, ["b", "c"])):
            defs = {"x": {"type": "object", "required": ["q"]}, "no": {"not": {}}}
            schema = {"type": "object", "properties": {"a": a}, "additionalProperties": rest}
            schema["required"] = needed
            if outer:
                schema = {"type": "object", "properties": {"o": schema}, "required": ["o"]}
            cases.append(({**schema, "$defs": defs}, _texts_fit({**schema, "$defs": defs})))
    monkeypatch.setattr(simple, "surely_satisfiable", _never)
    for schema, fits in cases:
        assert _texts_fit(schema) == fits, schema
    assert 10 < sum(fits for _, fits in cases) < len(cases) - 10


def test_what_surely_fits_something() -> None:
    """Members that must be there are looked at, however deep, each once."""
    dialect, text = Dialect(2020), {"type": "string", "format": "date"}
    deep: dict[str, Any] = text
    for _ in range(2000):
        deep = {"properties": {"a": deep, "b": deep}, "required": ["a", "b"]}
    assert simple.surely_satisfiable(deep, dialect)
    assert simple.surely_satisfiable({"enum": [1, "a"]}, dialect)
    assert simple.surely_satisfiable({"required": ["a"], "additionalProperties": text}, dialect)
    for doubtful in (
        {"properties": {"a": False}, "required": ["a"]},
        {"properties": {"a": text}, "required": ["b"], "additionalProperties": False},
        {"properties": {"a": text | {"minLength": 1}}, "required": ["a"]},
        {"enum": ["\u20ac"]},
        {"required": [["a"]]},
    ):
        assert not simple.surely_satisfiable(doubtful, dialect)


def test_whether_a_value_fits_is_known_without_its_cost() -> None:
    """As asked of each member of an object by itself; only what fits nothing has no cost."""
    more: list[Any] = [
        {"type": "number", "minimum": 3, "maximum": 2}, {"multipleOf": 7, "minimum": 1},
        {"type": "string", "pattern": "a^"}, {"type": "string", "pattern": "^é+$"},
        {"enum": ["\ud800"], "type": "string"}, {"type": ["null", "array"], "minItems": 1},
        {"type": "integer", "minimum": 0.1, "maximum": 0.9}, {"const": {"z": 1}},
    ]  # fmt: skip
    defs = {"x": {"type": "object", "required": ["q"]}, "no": {"not": {}}}
    found = set()
    for member in MEMBERS + more:
        schemas = [_schemas({"properties": {"a": member}, "$defs": defs}) for _ in range(2)]
        matchers = [s.costs.objects(s.normal_form(s.root))[0] for s in schemas]
        fits = schemas[0].costs.satisfiable(matchers[0].child("a"))
        assert fits == (schemas[1].costs.of(matchers[1].child("a")) is not None), member
        assert matchers[0].is_possible(0) == fits
        found.add(fits)
    assert found == {True, False}


def _schemas(schema: Any) -> Schemas:
    """The subschemas of a document, of which nothing is known yet."""
    return Schemas(
        copy.deepcopy(schema),
        assert_formats=False,
        declared=False,
        gap=0,
        natural=False,
        registry=None,
    )


def test_what_asks_for_the_same_twice_is_looked_at_once() -> None:
    """At each level, that is: otherwise forty levels would take longer than anybody waits."""
    defs: dict[str, Any] = {"d0": {"type": "object", "required": ["v"]}}
    for depth in range(1, 41):
        below = {"$ref": f"#/$defs/d{depth - 1}"}
        has_z = {"properties": {"k": {"type": "object", "required": ["z"]}}}
        then, other = ({"required": [name], "properties": {name: below}} for name in "wu")
        defs[f"d{depth}"] = {
            "type": "object", "properties": {"k": below}, "required": ["k"],
            "if": has_z, "then": then, "else": other,
        }  # fmt: skip
    schema = {"$ref": "#/$defs/d40", "$defs": defs}
    automaton = sg.JsonSchema(schema, property_order="any").automaton()
    at, _ = automaton.run(automaton.start, b'{"k": {"k": {"k": ')
    assert automaton.next_bytes(at)


def test_a_type_beside_a_schema_is_joined_to_it() -> None:
    """Where it leaves the schema as it is; what else stands beside one has to be expanded."""
    named = {"required": ["a"], "title": "x"}
    assert simple.with_type({}, named) == named
    assert simple.with_type({"type": "object"}, named) == {**named, "type": "object"}
    assert simple.with_type({**named, "type": "object"}, {"type": "object"})
    assert simple.with_type({**named, "type": "object"}, {"type": "string"}) is None
    assert simple.with_type({"type": "object"}, {"type": "string"}) is None
    assert simple.with_type(named, {"minProperties": 2}) is None
    assert simple.with_type(named, {"$ref": "#/$defs/a"}) is None
