"""`structgen.support` reports mistakes and refusals where there are some, and only there."""

from __future__ import annotations

import json
from typing import Any

import pytest
import referencing
import referencing.jsonschema
from hypothesis import given

import structgen as sg
from structgen.errors import SpecError, StructgenError
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.references import metaschemas
from structgen.schema.references.vocabularies import CLOSES
from structgen.schema.report.advice import IN_PLACE, SAYS_TYPE, TYPE_OF
from structgen.schema.report.support import SupportReport
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas

pytestmark = MISSPELT_ON_PURPOSE

DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT4 = "http://json-schema.org/draft-04/schema#"
BACKREFERENCE = r"(a+)\1"  # no regular language, so it stays refused

SLIPS: list[tuple[str, str, Any]] = [
    ("no keyword", "#", {"name": "string", "age": 3}),
    ("misspelt keyword", "#/components/a/propertes",
     {"$ref": "#/components/a", "components": {"a": {"type": "object", "propertes": {}}}}),
    ("misspelt keyword", "#/minlength", {"type": "string", "minlength": 3}),
    ("misspelt keyword", "#/additionalproperties",
     {"type": "object", "additionalproperties": False}),
    ("misspelt keyword", "#/items/requried",
     {"type": "array", "items": {"type": "object", "requried": ["a"]}}),
    ("foreign keyword", "#/nullable", {"type": "string", "nullable": True}),
    ("other draft", "#/const", {"$schema": DRAFT4, "const": 3}),
    ("other draft", "#/prefixItems", {"$schema": DRAFT7, "type": "array", "prefixItems": [{}]}),
    ("other draft", "#/divisibleBy", {"type": "number", "divisibleBy": 3}),
    ("keyword alone", "#/then", {"then": {"type": "string"}}),
    ("keyword alone", "#/if", {"if": {"type": "string"}}),
    ("keyword alone", "#/minContains", {"type": "array", "minContains": 2}),
    ("ignored beside $ref", "#/minLength",
     {"$schema": DRAFT7, "$ref": "#/definitions/a", "minLength": 3,
      "definitions": {"a": {"type": "string"}}}),
    ("no type", "#/properties", {"properties": {"a": {"type": "string"}}}),
    ("no type", "#/items/minLength", {"type": "array", "items": {"minLength": 3}}),
    ("no type", "#/anyOf/0/required", {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    ("dead keyword", "#/minLength", {"type": "integer", "minLength": 3}),
    ("dead keyword", "#/anyOf/0/items",
     {"type": "object", "anyOf": [{"items": {"type": "string"}}, {"required": ["a"]}]}),
    ("dead keyword", "#/propertyNames/minimum",
     {"type": "object", "propertyNames": {"minimum": 3}}),
    ("excluded value", "#/enum/1", {"enum": [1, "x"], "type": "integer"}),
    ("excluded value", "#/enum/0", {"enum": ["x", "xyz"], "minLength": 2}),
    ("excluded value", "#/enum/1", {"enum": [{"a": 1}, {"b": 1}], "required": ["a"]}),
    ("crossed bounds", "#/minimum", {"type": "number", "minimum": 3, "maximum": 2}),
    ("crossed bounds", "#/minimum", {"minimum": 3, "exclusiveMaximum": 3}),
    ("crossed bounds", "#/minItems", {"type": "array", "minItems": 3, "maxItems": 2}),
    ("never true", "#", {"allOf": [{"type": "string"}, {"type": "number"}]}),
    ("never true", "#/properties/a",
     {"type": "object", "properties": {"a": {"type": "string", "const": 5}}}),
    ("always true", "#/items", {"type": "array", "items": {"anyOf": [{}, {"type": "string"}]}}),
    ("forbidden key", "#/required",
     {"type": "object", "required": ["b"], "properties": {"a": {}}, "additionalProperties": False}),
    ("additionalProperties beside branches", "#/additionalProperties",
     {"allOf": [{"type": "object", "properties": {"a": {}}}], "additionalProperties": False}),
    ("additionalProperties beside branches", "#/additionalProperties",
     {"type": "object", "$ref": "#/$defs/a", "additionalProperties": False,
      "$defs": {"a": {"type": "object", "properties": {"a": {}}}}}),
    ("unused definition", "#/$defs/b", {"$ref": "#/$defs/a", "$defs": {"a": {}, "b": {}}}),
    ("unused definition", "#/$defs/b",
     {"$defs": {"b": {"type": "array", "items": {"$ref": "#/$defs/b"}}}}),
    ("unknown format", "#/format", {"type": "string", "format": "emial"}),
    ("no anchors", "#/pattern", {"type": "string", "pattern": "a+"}),
    ("slashes", "#/pattern", {"type": "string", "pattern": "/^a+$/i"}),
    ("no anchors", "#/patternProperties/x",
     {"type": "object", "patternProperties": {"x": {"type": "string"}}}),
]  # fmt: skip

SOUND: list[Any] = [
    {},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind", "extra"]},
    {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False,
     "required": ["xa"]},
    {"type": ["string", "null"], "minLength": 2},
    {"enum": ["a", "b", None]},
    {"type": "object", "propertyNames": {"pattern": "^a"}},
    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "number"}}},
    {"$schema": DRAFT7, "type": "array", "items": [{"type": "null"}], "additionalItems": False},
    {"type": "object", "dependencies": {"a": ["b"]}, "note": "not a misspelt 'not'"},
    {"type": "string", "format": "date", "examples": ["x"], "x-own": {"minlength": 1}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}}],
     "properties": {"a": {}}, "additionalProperties": False},
]  # fmt: skip


@pytest.mark.parametrize(("kind", "pointer", "schema"), SLIPS, ids=lambda x: str(x)[:60])
def test_a_slip_is_found_at_its_place(kind: str, pointer: str, schema: Any) -> None:
    """Each slip gives advice of its kind, with the pointer of the culprit and a message."""
    found = [a for a in sg.support(schema).advice if a.kind == kind]
    assert pointer in [a.pointer for a in found]
    assert all(a.message for a in found)


@pytest.mark.parametrize("schema", SOUND, ids=json.dumps)
def test_a_sound_schema_gets_no_warning(schema: Any) -> None:
    """What is meant as it is written is not warned about."""
    assert sg.support(schema).warnings == ()


def test_a_refused_schema_gets_a_full_report() -> None:
    """Every refusal is listed, not only the one that compiling stops at; the rest is judged."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": BACKREFERENCE},
            "b": {"type": "string", "pattern": BACKREFERENCE, "title": "b"},
            "c": {"type": "integer", "minimum": 3},
        },
    }
    report = sg.support(schema)
    refused = {pointer: support.keyword for pointer, support in report.with_status("refused")}
    assert refused == {"#/properties/a": "pattern", "#/properties/b": "pattern"}
    assert report.problem is not None
    by_pointer = {node.pointer: node for node in report.nodes}
    assert by_pointer["#/properties/a"].cost is None
    cost = by_pointer["#/properties/c"].cost
    assert cost is not None
    assert (cost.alternatives, cost.shortest) == (1, 1)


def test_a_draft_that_is_refused_is_still_reported() -> None:
    """Where a vocabulary is required that nobody knows, keywords are read as by default."""
    uri = "http://example.com/meta"
    core = "https://json-schema.org/draft/2020-12/vocab/core"
    metaschema = {"$id": uri, "$vocabulary": {core: True, "http://example.com/own": True}}
    resource = referencing.jsonschema.DRAFT202012.create_resource(metaschema)
    registry = referencing.Registry[Any]().with_resource(uri, resource)
    report = sg.support(sg.JsonSchema({"$schema": uri, "type": "strong"}, registry=registry))
    assert [s.keyword for _, s in report.with_status("refused")] == ["$schema"]
    assert [s.keyword for _, s in report.with_status("broken")] == ["type"]


def test_a_schema_of_draft_3_is_reported_as_one_of_draft_4() -> None:
    """That is what is enforced of it."""
    uri = "http://json-schema.org/draft-03/schema#"
    report = sg.support({"$schema": uri, "divisibleBy": 2, "extends": {"properties": {}}})
    assert report.draft == 4
    found = {support.keyword for node in report.nodes for support in node.keywords}
    assert found == {"$schema", "multipleOf", "allOf", "properties"}


def test_each_broken_keyword_is_named() -> None:
    """Broken parts are found wherever they stand, also where nothing refers to them."""
    report = sg.support(
        {
            "items": {"$ref": "#/$defs/gone"},
            "minLength": -1,
            "$defs": {"x": {"enum": 3}, "y": {"allOf": [{"$ref": "#/$defs/y"}]}},
        }
    )
    broken = {f"{pointer} {support.keyword}" for pointer, support in report.with_status("broken")}
    assert broken >= {"#/items $ref", "# minLength", "#/$defs/x enum", "#/$defs/y allOf"}


def test_costs_tell_simple_from_costly() -> None:
    """Branches add alternatives, bounds on length states; a shortest value is as it is written."""

    def cost_of(schema: Any) -> Any:
        return sg.support(schema, whitespace="compact").nodes[0].cost

    branches = [{"type": "object", "required": [name]} for name in "abc"]
    assert cost_of({"type": "object"}).alternatives == 1
    assert cost_of({"anyOf": branches}).alternatives == 3
    short, long = ({"type": "string", "maxLength": n} for n in (2, 30))
    assert cost_of(short).states < cost_of(long).states
    assert cost_of({"type": "string", "maxLength": 100_000}).capped
    assert cost_of({"const": {"a": [1, "é"]}}).shortest == len('{"a":[1,"é"]}'.encode())
    assert cost_of({"type": "string", "minLength": 3, "maxLength": 2}).shortest is None


def test_an_unused_refusal_does_not_keep_a_schema_from_compiling() -> None:
    """It is reported where it stands; `problem` says what compiling says."""
    report = sg.support({"type": "null", "$defs": {"x": {"pattern": BACKREFERENCE}}})
    assert report.problem is None
    assert [pointer for pointer, _ in report.with_status("refused")] == ["#/$defs/x"]


def test_every_keyword_about_one_type_is_known_as_such() -> None:
    """A keyword that becomes enforced must say what type it is about, or that it is about all."""
    general = IN_PLACE | SAYS_TYPE
    assert [k for k in KEYWORDS if k not in TYPE_OF and k not in general] == []


def test_every_enforced_keyword_is_one_of_a_metaschema() -> None:
    """The table of keywords and the metaschemas agree on names and first drafts."""
    drafts = metaschemas.drafts_of()
    assert CLOSES not in drafts  # which is our own
    for keyword, (_, first, last) in KEYWORDS.items() - {(CLOSES, KEYWORDS[CLOSES])}:
        known = drafts[keyword]
        assert all(first <= draft for draft in known if draft >= 4), keyword
        assert last in known or last > max(known), keyword


@pytest.mark.parametrize("draft", [4, 6, 7, 2019, 2020])
def test_the_holders_of_subschemas_are_those_of_the_metaschemas(draft: int) -> None:
    """What the table says is what the metaschema says; what it adds is heeded in every draft."""
    known = metaschemas.keywords_of(draft)
    said = {keyword: shape for keyword, shape in known.items() if any(shape)}
    kept = metaschemas.subschema_keywords(draft)
    assert {keyword: kept[keyword] for keyword in said} == said
    assert kept.keys() - said.keys() <= {*metaschemas.DEFINITIONS, "dependencies"}


def test_subschemas_are_found_where_the_metaschemas_have_them() -> None:
    """By keyword and draft: single ones, lists, objects; not inside values, not in annotations."""
    schema = {
        "items": [{"title": "a"}, True],
        "properties": {"p": {"not": {}}},
        "dependencies": {"d": {"title": "d"}, "e": ["d"]},
        "enum": [{"title": "no"}],
        "example": {"title": "no"},
    }
    found = [path for path, _ in metaschemas.subschemas(schema, 7)]
    assert found == [("items", 0), ("items", 1), ("properties", "p"), ("dependencies", "d")]


@given(schemas())
def test_the_report_agrees_with_compiling(schema: Any) -> None:
    """Without refusals a schema compiles, or is unsatisfiable; a problem is what compiling says."""
    report: SupportReport = sg.support(schema)
    try:
        sg.JsonSchema(schema).machine()
        raised = None
    except StructgenError as error:
        raised = str(error)
    assert (None if report.problem is None else str(report.problem)) == raised
    if report.problem is not None and report.problem.kind != "unsatisfiable":
        assert report.with_status("refused") + report.with_status("broken")
    json.dumps(report.to_json())


@pytest.mark.parametrize("text", ["[1]", "3", "{"])
def test_what_is_no_schema_is_an_error(text: str) -> None:
    """There is nothing to report about."""
    with pytest.raises(SpecError):
        sg.support(text)


def test_python_types_have_reports() -> None:
    """Whatever `compile` takes for JSON, `support` takes, too."""
    assert sg.support(list[int]).problem is None
    assert sg.support(sg.JsonSchema({"type": "null"})).nodes[0].pointer == "#"


def test_a_schema_that_two_places_share_is_reported_in_both() -> None:
    """As Python code and aliases of YAML share them."""
    shared = {"type": "string", "minlength": 1}
    report = sg.support({"type": "object", "properties": {"a": shared, "b": shared}})
    assert [advice.pointer for advice in report.warnings] == [
        "#/properties/a/minlength",
        "#/properties/b/minlength",
    ]


def test_what_references_lead_to_is_reported_once_wherever_it_is() -> None:
    """Under names that are no keywords, and in documents that were given; metaschemas are not."""
    document = {"parts": {"a": {"items": {"$ref": "#/parts/b"}}, "b": {"minimum": "x"}}}
    registry = referencing.Registry[Any]().with_contents(
        [("d", document)], default_specification=referencing.Specification.OPAQUE
    )
    schema = {
        "allOf": [{"$ref": "d#/parts/a"}, {"$ref": "#/parts/c/not"}, {"$ref": "#/parts/c"}],
        "parts": {"c": {"not": {"$ref": DRAFT7}}},
    }
    report = sg.support(sg.JsonSchema(schema, registry=registry))
    assert [node.pointer for node in report.nodes] == [
        *("#", "#/allOf/0", "#/allOf/1", "#/allOf/2"),
        *("d#/parts/a", "d#/parts/a/items", "#/parts/c/not", "#/parts/c", "d#/parts/b"),
    ]
    [(pointer, _)] = report.with_status("broken")
    assert pointer == "d#/parts/b"
