"""References: small schemas, one per rule, accept the values that the drafts say.

The jsonschema library judges, too; where it departs from the draft, the case says how.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
import referencing
from referencing.jsonschema import DRAFT4, DRAFT7

import structgen as sg
from structgen.errors import DanglingReferenceError, SpecError, UnsupportedSchemaError
from tests.helpers.oracle import DIALECTS, json_decider

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])
AT = "http://example.com/"
VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"
VOCABULARY_2019 = "https://json-schema.org/draft/2019-09/vocab/"
INTEGER = {"type": "integer"}
STRING = {"type": "string"}


class Case(NamedTuple):
    """A schema with values that fit it and values that don't."""

    name: str
    draft: int
    schema: Any
    valid: list[Any]
    invalid: list[Any]
    documents: dict[str, Any] = {}  # noqa: RUF012  by URI; read only
    departs: str = ""  # how the library departs from the draft


def dialled(schema: Any, draft: int) -> Any:
    """The schema with the draft's `$schema`, unless it has one."""
    return {"$schema": DIALECTS[draft], **schema}


def registry_of(documents: dict[str, Any], draft: int) -> referencing.Registry[Any]:
    """The documents, read by the draft where they don't say."""
    specification = referencing.jsonschema.specification_with(DIALECTS[draft])
    return referencing.Registry[Any]().with_contents(
        documents.items(), default_specification=specification
    )


def compiled(schema: Any, registry: referencing.Registry[Any] | None = None) -> sg.Constraint:
    """The constraint of exactly the valid JSON texts, formats as annotations."""
    spec = sg.JsonSchema(
        schema, property_order="any", whitespace="any", formats="annotate", registry=registry
    )
    return sg.compile(spec, BYTES)


def accepts(constraint: sg.Constraint, value: Any) -> bool:
    """Whether the text of a value is let through."""
    text = json.dumps(value).encode()
    return constraint.is_accepting(constraint.advance_bytes(constraint.start, text))


def each(drafts: tuple[int, ...], name: str, *rest: Any, **more: Any) -> list[Case]:
    """The same case in several drafts."""
    return [Case(name, draft, *rest, **more) for draft in drafts]


SIBLINGS = [
    *each((4, 6, 7), "siblings of $ref are ignored", {
        "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 1, "enum": [1]}},
        "definitions": {"s": STRING},
    }, [{"a": "long"}], [{"a": 1}]),
    *each((4, 6, 7), "ignored siblings exclude nothing elsewhere", {
        "allOf": [{"properties": {"a": {"$ref": "#/definitions/s", "enum": [1]}}},
                  {"properties": {"a": {"enum": ["x", 2]}}}],
        "required": ["a"], "definitions": {"s": STRING},
    }, [{"a": "x"}], [{"a": 1}, {"a": 2}]),
    *each((2019, 2020), "siblings of $ref count", {
        "properties": {"a": {"$ref": "#/$defs/s", "maxLength": 1}}, "$defs": {"s": STRING},
    }, [{"a": "s"}], [{"a": "long"}, {"a": 1}]),
    *each((6, 7), "an $id beside $ref is none", {
        "$id": AT + "base/",
        "allOf": [{"$id": AT + "elsewhere/", "$ref": "x.json"}],
        "definitions": {"x": {"$id": AT + "base/x.json", **INTEGER},
                        "y": {"$id": AT + "elsewhere/x.json", **STRING}},
    }, [1], ["a"]),
    Case("an id beside $ref is none", 4, {
        "id": AT + "base/",
        "allOf": [{"id": AT + "elsewhere/", "$ref": "x.json"}],
        "definitions": {"x": {"id": AT + "base/x.json", **INTEGER},
                        "y": {"id": AT + "elsewhere/x.json", **STRING}},
    }, [1], ["a"]),
    *each((2019, 2020), "an $id beside $ref is the reference's base", {
        "$id": AT + "base/",
        "allOf": [{"$id": AT + "elsewhere/", "$ref": "x.json"}],
        "$defs": {"x": {"$id": AT + "base/x.json", **INTEGER},
                  "y": {"$id": AT + "elsewhere/x.json", **STRING}},
    }, ["a"], [1]),
    *each((4, 6, 7, 2019, 2020), "a property may be called $ref", {
        "properties": {"$ref": {"$ref": "#/definitions/i"}}, "definitions": {"i": INTEGER},
    }, [{"$ref": 1}], [{"$ref": "a"}]),
]  # fmt: skip

POINTERS = [
    *each((4, 6, 7, 2019, 2020), "escapes and percent-encoding", {
        "properties": {"a": {"$ref": "#/definitions/x~0y"}, "b": {"$ref": "#/definitions/x~1y"},
                       "c": {"$ref": "#/definitions/x%25y"}, "d": {"$ref": "#/definitions/x%22y"},
                       "e": {"$ref": "#/definitions/%C3%A9"}, "f": {"$ref": "#/definitions/é"},
                       "g": {"$ref": "#/definitions/~01"}, "h": {"$ref": "#/definitions/"}},
        "definitions": {"x~y": INTEGER, "x/y": INTEGER, "x%y": INTEGER, 'x"y': INTEGER,
                        "é": INTEGER, "~1": INTEGER, "": INTEGER, "/": STRING},
    }, [dict.fromkeys("abcdefgh", 1)], [{c: "s"} for c in "abcdefgh"]),
    *each((4, 6, 7, 2019, 2020), "into arrays and properties", {
        "allOf": [{}, {"properties": {"a": INTEGER}}],
        "properties": {"b": {"$ref": "#/allOf/1/properties/a"}},
    }, [{"b": 1}, {"a": 1}], [{"b": "s"}, {"a": "s"}]),
    *each((4, 6, 7), "into an array of items", {
        "items": [INTEGER, {"$ref": "#/items/0"}],
    }, [[1, 2]], [[1, "s"], ["s"]]),
    *each((4, 7, 2020), "into keywords that the draft does not know", {
        "x-own": [{"deep": {"not a schema": INTEGER}}], "$ref": "#/x-own/0/deep/not%20a%20schema",
    }, [1], ["s"]),
    Case("into an annotation", 2020, {"examples": [STRING], "$ref": "#/examples/0"}, ["s"], [1]),
    *each((2019, 2020), "definitions inside definitions", {
        "$ref": "#/$defs/a/$defs/b", "$defs": {"a": {"$defs": {"b": INTEGER}}},
    }, [1], ["s"]),
    *each((4, 6, 7, 2019, 2020), "the whole document", {
        "properties": {"a": {"$ref": "#"}}, "additionalProperties": False,
    }, [{"a": {"a": {}}}], [{"a": {"b": 1}}]),
    *each((6, 7, 2019, 2020), "from the names of properties to what is around them", {
        "maxLength": 1, "propertyNames": {"$ref": "#"},
        "additionalProperties": {"propertyNames": {"not": {"$ref": "#"}}},
    }, [{}, {"a": 1}, {"a": {"bc": 1}}, "a"], [{"ab": 1}, {"a": {"b": 1}}, "ab"]),
    *each((6, 7, 2019, 2020), "to booleans", {
        "properties": {"a": {"$ref": "#/definitions/t"}, "b": {"$ref": "#/definitions/f"}},
        "definitions": {"t": True, "f": False},
    }, [{"a": 1}], [{"b": 1}]),
]  # fmt: skip

IDENTIFIERS = [
    Case("id with a plain name", 4, {
        "items": {"$ref": "#here"}, "definitions": {"a": {"id": "#here", **INTEGER}},
    }, [[1]], [["s"]]),
    *each((6, 7), "$id with a plain name", {
        "items": {"$ref": "#here"}, "definitions": {"a": {"$id": "#here", **INTEGER}},
    }, [[1]], [["s"]]),
    *each((2019, 2020), "$anchor", {
        "items": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here", **INTEGER}},
    }, [[1]], [["s"]]),
    *each((2019, 2020), "$anchor by an absolute URI, in a subschema with its own $id", {
        "$id": AT + "root", "items": {"$ref": AT + "nested#here"},
        "$defs": {"a": {"$id": "nested", "$defs": {"b": {"$anchor": "here", **INTEGER}}},
                  "c": {"$anchor": "here", **STRING}},
    }, [[1]], [["s"]]),
    *each((6, 7), "$id with a URI and a plain name", {
        "items": {"$ref": AT + "own#here"},
        "definitions": {"a": {"$id": AT + "own#here", **INTEGER}},
    }, [[1]], [["s"]], departs="takes the fragment for a part of the resource's URI"),
    Case("ids resolve against the ids around them", 4, {
        "id": AT + "root.json",
        "items": {"$ref": "folder/leaf.json"},
        "definitions": {"a": {"id": "folder/", "definitions": {
            "b": {"id": "leaf.json", "items": {"$ref": "#/definitions/c"},
                  "definitions": {"c": INTEGER}}}}},
    }, [[[1]]], [[["s"]]]),
    *each((6, 7, 2019, 2020), "$ids resolve against the $ids around them", {
        "$id": AT + "root.json",
        "items": {"$ref": "folder/leaf.json"},
        "definitions": {"a": {"$id": "folder/", "definitions": {
            "b": {"$id": "leaf.json", "items": {"$ref": "#/definitions/c"},
                  "definitions": {"c": INTEGER}}}}},
    }, [[[1]]], [[["s"]]]),
    *each((6, 7, 2019, 2020), "an $id beside a pointer's target changes the base", {
        "$id": AT + "root.json",
        "$ref": "#/definitions/a/definitions/b",
        "definitions": {"a": {"$id": "folder/", "definitions": {
            "b": {"items": {"$ref": "leaf.json"}}, "c": {"$id": "leaf.json", **INTEGER}}}},
    }, [[1]], [["s"]]),
    Case("draft 4 knows no $id", 4, {
        "allOf": [{"$id": AT + "x/", "items": {"$ref": "#/definitions/i"}}],
        "definitions": {"i": INTEGER},
    }, [[1]], [["s"]]),
    *each((6, 7, 2019, 2020), "later drafts know no id", {
        "allOf": [{"id": AT + "x/", "items": {"$ref": "#/definitions/i"}}],
        "definitions": {"i": INTEGER},
    }, [[1]], [["s"]]),
    *each((6, 7, 2019, 2020), "an $id in a constant is data", {
        "properties": {"a": {"const": {"$id": AT + "x", **STRING}}, "b": {"$ref": AT + "x"}},
        "enum": [{"b": 1, "$id": AT + "x"}, {"b": "s"}, {"a": {"$id": AT + "x", **STRING}}],
        "definitions": {"real": {"$id": AT + "x", **INTEGER}},
    }, [{"b": 1, "$id": AT + "x"}, {"a": {"$id": AT + "x", **STRING}}], [{"b": "s"}]),
    *each((6, 7, 2019, 2020), "an $id under an unknown keyword is none", {
        "definitions": {"a": {"x-own": {"$id": AT + "x", **STRING}},
                        "b": {"not": {"x-own": [{"$id": AT + "x", **STRING}]}},
                        "real": {"$id": AT + "x", **INTEGER}},
        "items": {"$ref": AT + "x"},
    }, [[1]], [["s"]]),
    *each((7, 2019, 2020), "a URN as base", {
        "$id": "urn:uuid:deadbeef-1234-ffff-ffff-4321feeb",
        "items": {"$ref": "#/definitions/i"},
        "properties": {"a": {"$ref": "urn:uuid:deadbeef-1234-ffff-ffff-4321feeb#/definitions/i"},
                       "b": {"$ref": "urn:example:other"}},
        "definitions": {"i": INTEGER, "j": {"$id": "urn:example:other", **STRING}},
    }, [[1], {"a": 1, "b": "s"}], [["s"], {"a": "s"}, {"b": 1}]),
    *each((7, 2019, 2020), "a relative URI with folders as base", {
        "$id": "a/b.json", "items": {"$ref": "c.json"},
        "properties": {"x": {"$ref": "b.json"}},
        "definitions": {"c": {"$id": "c.json", "items": {"$ref": "b.json#/definitions/i"}},
                        "i": INTEGER},
    }, [[[1]], {"x": [[1]]}], [[["s"]], {"x": [["s"]]}],
       departs="resolves a relative root $id against itself"),
    *each((7, 2020), "a file as base", {
        "$id": "file:///c:/folder/file.json", "items": {"$ref": "#/definitions/i"},
        "properties": {"a": {"$ref": "file:///c:/folder/file.json#/definitions/i"}},
        "definitions": {"i": INTEGER},
    }, [[1], {"a": 1}], [["s"], {"a": "s"}]),
    *(Case("an $id that is only a fragment changes no base", draft, {
        "properties": {"a": {"$id": "#/properties/a", "items": {"$ref": "#/definitions/i"}}},
        "definitions": {"i": INTEGER},
    }, [{"a": [1]}], [{"a": ["s"]}], departs="loses the document under such an $id" * (draft > 7))
      for draft in (7, 2020)),
    *each((6, 7, 2019, 2020), "an absolute path as reference", {
        "$id": AT + "deep/down/root.json", "items": {"$ref": "/top.json"},
        "definitions": {"t": {"$id": AT + "top.json", **INTEGER}},
    }, [[1]], [["s"]]),
]  # fmt: skip

DOCUMENTS = [
    *each((4, 6, 7, 2019, 2020), "another document, a place in it, and on from there", {
        "properties": {"a": {"$ref": AT + "one.json"},
                       "b": {"$ref": AT + "one.json#/definitions/i"}},
    }, [{"a": [1], "b": 1}], [{"a": ["s"]}, {"b": "s"}, {"a": 1}], documents={
        AT + "one.json": {"type": "array", "items": {"$ref": "two.json#/definitions/r"},
                          "definitions": {"i": INTEGER}},
        AT + "two.json": {"definitions": {"r": {"$ref": "one.json#/definitions/i"}}},
    }),
    *each((6, 7, 2019, 2020), "a base changed by an $id, then a document relative to it", {
        "$id": AT + "root.json",
        "properties": {"a": {"$id": "folder/", "items": {"$ref": "leaf.json"}}},
    }, [{"a": [1]}], [{"a": ["s"]}], documents={AT + "folder/leaf.json": INTEGER}),
    *each((2019, 2020), "a document whose $id is not where it was found", {
        "$ref": AT + "found-here",
    }, ["s"], [1], documents={AT + "found-here": {
        "$id": AT + "named/so", "$defs": {"s": STRING}, "$ref": "so#/$defs/s"}},
        departs="takes where it was found for the base"),
    *each((2019, 2020), "a subschema of another document by its own $id", {
        "$ref": AT + "inner",
    }, [1], ["s"], documents={AT + "outer": {"$defs": {"i": {"$id": "inner", **INTEGER}}}}),
    Case("$schema of the document decides: siblings", 2020, {"$ref": AT + "seven.json"},
         ["long"], [1], documents={AT + "seven.json": {
             "$schema": DIALECTS[7], "$ref": "#/definitions/s", "maxLength": 1,
             "definitions": {"s": STRING}}}, departs="lets the siblings of $ref count"),
    Case("$schema of the document decides: keywords", 2020, {"$ref": AT + "nineteen.json"},
         [["s", 1]], [], documents={AT + "nineteen.json": {
             "$schema": DIALECTS[2019], "type": "array", "prefixItems": [INTEGER]}}),
    Case("$schema of the document decides also for places in it", 2020, {
        "$ref": AT + "four.json#/definitions/a",
    }, [2], [1], documents={AT + "four.json": {
        "$schema": DIALECTS[4],
        "definitions": {"a": {"minimum": 1, "exclusiveMinimum": True, "const": 7}}}},
         departs="reads what has no $schema itself by the draft of the reference"),
    Case("draft 7 may refer to 2020-12", 7, {"items": {"$ref": AT + "twenty.json"}},
         [[["s"]]], [[[1]]], documents={AT + "twenty.json": {
             "$schema": DIALECTS[2020], "prefixItems": [STRING]}}),
    Case("a pasted subschema is read by the draft that it names", 2020, {
        "properties": {"a": {"$schema": DIALECTS[4], "id": "nothing/changes",
                             "minimum": 1, "exclusiveMinimum": True,
                             "items": [{"$ref": "#/$defs/i"}]},
                       "b": {"$ref": "#/properties/a"}},
        "$defs": {"i": INTEGER},
    }, [{"a": 2, "b": [1]}], [{"a": 1}, {"b": 1}, {"b": ["s"]}]),
]  # fmt: skip

DYNAMIC = [
    Case("$dynamicRef to an $anchor is a $ref", 2020, {
        "$id": AT + "root", "$ref": "list",
        "$defs": {"a": {"$anchor": "t", **STRING},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$anchor": "t", **INTEGER}}}},
    }, [[1]], [["s"]]),
    Case("$dynamicRef finds the outermost $dynamicAnchor", 2020, {
        "$id": AT + "root", "$ref": "list",
        "$defs": {"a": {"$dynamicAnchor": "t", **STRING},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t"}}}},
    }, [["s"]], [[1]]),
    Case("a $dynamicRef starts at a $dynamicAnchor, or it is a $ref", 2020, {
        "$id": AT + "root", "$ref": "list",
        "$defs": {"a": {"$dynamicAnchor": "t", **STRING},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#/$defs/b"},
                           "$defs": {"b": {"$dynamicAnchor": "t"}}}},
    }, [[1], ["s"]], []),
    Case("a plain $anchor of the name does not count", 2020, {
        "$id": AT + "root", "$ref": "list",
        "$defs": {"a": {"$anchor": "t", **STRING},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t", **INTEGER}}}},
    }, [[1]], [["s"]]),
    Case("$ref to a $dynamicAnchor is not dynamic", 2020, {
        "$id": AT + "root", "$ref": "list",
        "$defs": {"a": {"$dynamicAnchor": "t", **STRING},
                  "list": {"$id": "list", "items": {"$ref": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t", **INTEGER}}}},
    }, [[1]], [["s"]], departs="treats $ref to a $dynamicAnchor as $dynamicRef"),
    Case("the dynamic scope has what surrounds an $id, too", 2020, {
        "$id": AT + "root", "$dynamicAnchor": "t", "type": ["object", "integer"],
        "properties": {"a": {"$id": "inner", "$dynamicAnchor": "t", "type": ["object", "string"],
                             "properties": {"b": {"$dynamicRef": "#t"}}}},
    }, [{"a": {"b": 1}}, {"a": {"b": {"a": "s"}}}], [{"a": {"b": "s"}}],
       departs="leaves out of the scope what is entered without a reference"),
    Case("resources in between without the anchor don't matter", 2020, {
        "$id": AT + "root", "$ref": "between",
        "$defs": {"a": {"$dynamicAnchor": "t", **STRING},
                  "between": {"$id": "between", "$ref": "list"},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t"}}}},
    }, [["s"]], [[1]]),
    Case("of three resources with the anchor the outermost counts", 2020, {
        "$id": AT + "root", "$ref": "between",
        "$defs": {"a": {"$dynamicAnchor": "t", **STRING},
                  "between": {"$id": "between", "$ref": "list",
                              "$defs": {"b": {"$dynamicAnchor": "t", "type": "null"}}},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t"}}}},
    }, [["s"]], [[1], [None]]),
    Case("of three recursive resources the outermost counts", 2019, {
        "$id": AT + "root", "$recursiveAnchor": True, "type": ["array", "string"],
        "items": {"$ref": "between"},
        "$defs": {"between": {"$id": "between", "$recursiveAnchor": True, "type": ["array", "null"],
                              "items": {"$ref": "list"}},
                  "list": {"$id": "list", "$recursiveAnchor": True, "type": ["array", "integer"],
                           "items": {"$recursiveRef": "#"}}},
    }, [[[["s"]]]], [[[[1]]], [[[None]]]]),
    Case("what was left is not in scope", 2020, {
        "$id": AT + "root", "allOf": [{"$ref": "strict"}, {"$ref": "list"}],
        "$defs": {"strict": {"$id": "strict", "$defs": {"a": {"$dynamicAnchor": "t", **STRING}}},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"b": {"$dynamicAnchor": "t", **INTEGER}}}},
    }, [[1]], [["s"]]),
    Case("one list, two element types", 2020, {
        "$id": AT + "root",
        "properties": {"i": {"$ref": "integers"}, "s": {"$ref": "strings"}},
        "$defs": {"integers": {"$id": "integers", "$ref": "list",
                               "$defs": {"e": {"$dynamicAnchor": "t", **INTEGER}}},
                  "strings": {"$id": "strings", "$ref": "list",
                              "$defs": {"e": {"$dynamicAnchor": "t", **STRING}}},
                  "list": {"$id": "list", "items": {"$dynamicRef": "#t"},
                           "$defs": {"e": {"$dynamicAnchor": "t"}}}},
    }, [{"i": [1], "s": ["s"]}], [{"i": ["s"]}, {"s": [1]}]),
    Case("a tree that is extended", 2020, {
        "$id": AT + "strict-tree", "$dynamicAnchor": "node",
        "$ref": "tree", "unevaluatedProperties": False,
    }, [{"children": [{"data": 1}]}], [{"children": [{"daat": 1}]}, {"daat": 1}], documents={
        AT + "tree": {"$id": AT + "tree", "$dynamicAnchor": "node", "type": "object", "properties":
                      {"data": True, "children": {"items": {"$dynamicRef": "#node"}}}}}),
    Case("$recursiveRef without an anchor is a $ref", 2019, {
        "properties": {"a": {"$recursiveRef": "#"}}, "additionalProperties": False,
    }, [{"a": {"a": {}}}], [{"a": {"b": 1}}]),
    *(Case(f"$recursiveAnchor {outer} outside, {inner} inside", 2019, {
        "$id": AT + "root", "$recursiveAnchor": outer, "type": ["object", "integer"],
        "additionalProperties": {"$ref": "inner"},
        "$defs": {"inner": {"$id": "inner", "$recursiveAnchor": inner, "type": ["object", "string"],
                            "additionalProperties": {"$recursiveRef": "#"}}},
    }, [{"a": {"b": good}}], [{"a": {"b": bad}}]) for outer, inner, good, bad in (
        (True, True, 1, "s"), (False, True, "s", 1), (True, False, "s", 1))),
    Case("$recursiveRef goes to the outermost, whatever is in between", 2019, {
        "$id": AT + "root", "$recursiveAnchor": True, "type": ["object", "integer"],
        "additionalProperties": {"$ref": "between"},
        "$defs": {
            "between": {"$id": "between", "$ref": "inner"},
            "inner": {"$id": "inner", "$recursiveAnchor": True, "type": ["object", "string"],
                      "additionalProperties": {"$recursiveRef": "#"}}},
    }, [{"a": {"b": 1}}], [{"a": {"b": "s"}}], departs="stops at the first without the anchor"),
    Case("$recursiveRef depends on the way", 2019, {
        "$id": AT + "root",
        "if": {"required": ["i"]},
        "then": {"$id": "i", "$recursiveAnchor": True, "type": ["object", "integer"],
                 "$ref": "inner"},
        "else": {"$id": "s", "$recursiveAnchor": True, "type": ["object", "string"],
                 "$ref": "inner"},
        "$defs": {"inner": {"$id": "inner", "$recursiveAnchor": True,
                            "additionalProperties": {"$recursiveRef": "#"}}},
    }, [{"i": 1}, {"x": "s"}, {"i": {"x": 1}}], [{"i": "s"}, {"x": 1}, {"x": {"y": 1}}]),
    Case("draft 2020-12 knows no $recursiveRef", 2020, {"$recursiveRef": "#/nowhere"}, [1], []),
    Case("draft 2019-09 knows no $dynamicRef", 2019, {"$dynamicRef": "#/nowhere"}, [1], []),
]  # fmt: skip

VOCABULARIES = [
    *(Case(f"no validation vocabulary in {draft}", draft, {
        "$schema": AT + "meta", "properties": {"a": {"minimum": 5, "type": "string"}, "b": False},
        "required": ["c"], "maxProperties": 1,
    }, [{"a": 1}, {}, {"a": 1, "d": 1}], [{"b": 1}], documents={AT + "meta": {
        "$schema": DIALECTS[draft], "$id": AT + "meta",
        "$vocabulary": {f"{vocabulary}core": True, f"{vocabulary}applicator": True}}},
        departs="reads no $vocabulary")
      for draft, vocabulary in ((2019, VOCABULARY_2019), (2020, VOCABULARY))),
    Case("constants without the validation vocabulary", 2020, {
        "$schema": AT + "meta", "required": ["a"],
        "allOf": [{"properties": {"a": {"enum": [1]}}}, {"properties": {"a": {"const": 2}}},
                  {"properties": {"b": {"not": {"const": 3}}}}],
    }, [{}, {"a": 1}, {"a": 3}], [{"b": 3}, {"b": 4}], documents={AT + "meta": {
        "$schema": DIALECTS[2020],
        "$vocabulary": {f"{VOCABULARY}core": True, f"{VOCABULARY}applicator": True}}},
        departs="reads no $vocabulary"),
    Case("no applicator vocabulary", 2020, {
        "$schema": AT + "meta", "properties": {"a": False}, "required": ["a"],
    }, [{"a": 1}], [{}], documents={AT + "meta": {
        "$vocabulary": {f"{VOCABULARY}core": True, f"{VOCABULARY}validation": True},
        "$schema": AT + "meta", "$id": AT + "meta"}}, departs="reads no $vocabulary"),
    Case("an unknown vocabulary that is optional", 2020, {
        "$schema": AT + "meta", "type": "integer", "own": 1,
    }, [1], ["s"], documents={AT + "meta": {
        "$schema": DIALECTS[2020], "$id": AT + "meta", "$vocabulary": {
            f"{VOCABULARY}core": True, f"{VOCABULARY}validation": True, AT + "own": False}}}),
    Case("a metaschema without vocabularies is of its own draft", 2020, {
        "$schema": AT + "meta", "items": [INTEGER], "additionalItems": False,
    }, [[1]], [["s"], [1, 1]], documents={AT + "meta": {
        "$schema": DIALECTS[7], "$id": AT + "meta"}}, departs="does not read the metaschema"),
    Case("a metaschema of a metaschema", 2020, {
        "$schema": AT + "meta", "items": [INTEGER], "additionalItems": False,
    }, [[1]], [["s"], [1, 1]], documents={
        AT + "meta": {"$schema": AT + "metameta"}, AT + "metameta": {"$schema": DIALECTS[6]},
    }, departs="does not read the metaschema"),
    *(Case(f"{uri} is draft 7", 2020, {
        "$schema": uri, "items": [INTEGER], "additionalItems": False,
    }, [[1]], [["s"], [1, 1]], departs="knows the exact URIs only") for uri in (
        "https://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/hyper-schema#")),
    Case("a $schema that nobody knows changes nothing", 2020, {
        "$schema": AT + "meta", "prefixItems": [INTEGER],
    }, [[1]], [["s"]]),
    Case("a vocabulary that asserts formats", 2020, {"$schema": AT + "meta", "format": "ipv4"},
         ["127.0.0.1", 1], ["localhost"], documents={AT + "meta": {
             "$schema": DIALECTS[2020], "$vocabulary": {
                 f"{VOCABULARY}core": True, f"{VOCABULARY}format-assertion": False}}},
         departs="reads no $vocabulary"),
    *(Case(f"format in 2019-09, required: {required}", 2019, {
        "$schema": AT + "meta", "format": "ipv4", "allOf": [{"format": "own"}]},
        ["127.0.0.1", 1] + ["localhost"] * (not required), ["localhost"] * required,
        documents={AT + "meta": {"$schema": DIALECTS[2019], "$vocabulary": {
            f"{VOCABULARY_2019}core": True, f"{VOCABULARY_2019}applicator": True,
            f"{VOCABULARY_2019}format": required}}},
        departs="reads no $vocabulary" * required) for required in (True, False)),
    *each((2019, 2020), "dependencies count in every draft", {
        "dependencies": {"a": ["b"], "c": {"maxProperties": 1}},
    }, [{}, {"a": 1, "b": 1}, {"c": 1}], [{"a": 1}, {"c": 1, "d": 1}],
        departs="knows dependencies up to draft 7"),
]  # fmt: skip

CASES = [
    *SIBLINGS, *POINTERS, *IDENTIFIERS, *DOCUMENTS, *DYNAMIC, *VOCABULARIES,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.draft} {c.name}")
def test_references_lead_where_the_draft_says(case: Case) -> None:
    """Each value is let through or not, as the case says, and as the library says."""
    schema = dialled(case.schema, case.draft)
    registry = registry_of(case.documents, case.draft)
    constraint = compiled(schema, registry)
    assert [v for v in case.valid if not accepts(constraint, v)] == []
    assert [v for v in case.invalid if accepts(constraint, v)] == []
    if not case.departs:
        decide = json_decider(schema, registry, case.draft)
        assert [v for v in case.valid if not decide(json.dumps(v).encode())] == []
        assert [v for v in case.invalid if decide(json.dumps(v).encode())] == []


@pytest.mark.parametrize("draft", DIALECTS)
def test_a_schema_may_refer_to_its_metaschema(draft: int) -> None:
    """Then exactly the schemas of that draft fit, as the library says."""
    constraint = compiled({"properties": {"schema": {"$ref": DIALECTS[draft]}}})
    decide = json_decider({"$ref": DIALECTS[draft]})
    schemas: list[Any] = [
        True, 5, {}, {"type": "integer"}, {"type": "text"}, {"minLength": -1}, {"required": ["a"]},
        {"required": []}, {"properties": {"a": {"minimum": "1"}}}, {"$id": "#a", "id": "#a"},
        {"items": [{}]}, {"items": {"items": {"anyOf": []}}}, {"exclusiveMinimum": True},
        {"exclusiveMinimum": True, "minimum": 1}, {"dependentRequired": {"a": [1]}},
        {"dependencies": {"a": ["b", "b"]}}, {"$defs": {"a": {"$anchor": "not an anchor"}}},
        {"not": {"unevaluatedItems": 3}}, {"contains": {"prefixItems": []}}, {"const": {}},
    ]  # fmt: skip
    verdicts = [accepts(constraint, {"schema": schema}) for schema in schemas]
    assert verdicts == [decide(json.dumps(schema).encode()) for schema in schemas]
    assert True in verdicts
    assert False in verdicts


def test_a_document_is_read_by_the_draft_it_was_given_with() -> None:
    """Without a `$schema`, the specification of a Resource counts; an opaque one is like us."""
    contents = {"allOf": [{"$ref": "#s", "maxLength": 1}], "x": {"id": "#s"},
                "definitions": {"s": {"id": "#s", "$id": "#s", "$anchor": "s"}}}  # fmt: skip
    schema = {"$ref": AT + "doc"}
    for resource, counts in (
        (DRAFT4.create_resource(contents), False),
        (DRAFT7.create_resource(contents), False),
        (referencing.Resource.opaque(contents), True),
    ):
        registry = referencing.Registry[Any]().with_resource(AT + "doc", resource)
        assert accepts(compiled(schema, registry), "long") is not counts


def test_documents_come_from_the_registry_s_own_function_only_when_needed() -> None:
    """`retrieve` of a registry is asked for what nothing else has, and never for metaschemas."""
    asked: list[str] = []

    def retrieve(uri: str) -> referencing.Resource[Any]:
        asked.append(uri)
        return referencing.Resource.opaque({"type": "integer"})

    registry = referencing.Registry[Any](retrieve=retrieve)  # type: ignore[call-arg]
    schema = {"items": {"$ref": AT + "far"}, "properties": {"a": {"$ref": DIALECTS[7]}}}
    constraint = compiled(schema, registry)
    assert asked == [AT + "far"]
    assert accepts(constraint, [1])
    assert not accepts(constraint, ["s"])


def test_a_spec_as_json_has_the_retrieved_documents() -> None:
    """So a saved constraint never asks for them again; those that lead on to others, too."""
    far: Any = {
        "one": {"type": "array", "items": {"$ref": "two#/definitions/x"}},
        "two": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"x": INTEGER},
        },
    }
    asked = []

    def retrieve(uri: str) -> referencing.Resource[Any]:
        asked.append(uri)
        contents = far[uri.removeprefix(AT)]
        return referencing.jsonschema.DRAFT202012.create_resource(contents)

    schema = {"$ref": AT + "one", "not": {"$ref": "#/$defs/a"}, "$defs": {
        "a": {"$ref": "inner"}, "b": {"$id": "inner", "minItems": 3},
        "c": {"$ref": "://["}}}  # fmt: skip
    registry = referencing.Registry[Any](retrieve=retrieve)  # type: ignore[call-arg]
    spec = sg.JsonSchema(schema | {"$id": AT + "root"}, registry=registry)
    saved = spec.to_json()
    assert (spec.to_json(), len(asked)) == (saved, len(set(asked)))
    assert set(saved["documents"]) == {AT + "one", AT + "two"}
    again = sg.JsonSchema.from_json(json.loads(json.dumps(saved)))
    asked.clear()
    for value, fits in [([1, 2], True), ([1, 2, 3], False), (["x"], False), (1, False)]:
        assert accepts(compiled(again.schema, again.registry), value) == fits
    assert asked == []


def test_a_retrieved_document_may_ask_what_was_evaluated() -> None:
    """Also where schemas that it refers to were read before it came."""
    far = {"$ref": AT + "root", "unevaluatedProperties": False}
    registry = referencing.Registry[Any](  # type: ignore[call-arg]
        retrieve=lambda _: referencing.jsonschema.DRAFT202012.create_resource(far)
    )
    schema = {"$id": AT + "root", "properties": {"a": INTEGER, "b": {"$ref": AT + "far"}}}
    constraint = compiled(schema, registry)
    valid: list[Any] = [{"a": 1}, {"c": 1}, {"b": {"a": 1}}, {"b": {"b": {"a": 1}}}]
    invalid: list[Any] = [{"b": {"c": 1}}, {"b": {"a": "s"}}, {"b": {"b": {"c": 1}}}]
    assert [v for v in valid if not accepts(constraint, v)] == []
    assert [v for v in invalid if accepts(constraint, v)] == []


def test_one_object_may_stand_in_two_documents() -> None:
    """A Python dict that two documents share refers to different places in each."""
    shared = {"$ref": "#/definitions/t"}
    documents = {
        AT + name: {"items": shared, "definitions": {"t": {"type": name}}}
        for name in ("integer", "string")
    }
    schema = {"properties": {name: {"$ref": AT + name} for name in ("integer", "string")}}
    constraint = compiled(schema, registry_of(documents, 2020))
    assert accepts(constraint, {"integer": [1], "string": ["s"]})
    assert not accepts(constraint, {"integer": ["s"]})
    assert not accepts(constraint, {"string": [1]})


LOOPS: list[tuple[Any, str]] = [
    ({"$ref": "#"}, "# -> #"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
     "#/$defs/a -> #/$defs/b -> #/$defs/a"),
    ({"properties": {"p": {"allOf": [{"$ref": "#/properties/p"}]}}},
     "#/properties/p -> #/properties/p/allOf/0 -> #/properties/p"),
    ({"items": {"$dynamicRef": "#x", "$dynamicAnchor": "x"}}, "#/items -> #/items"),
    ({"$schema": DIALECTS[2019], "anyOf": [{}, {"not": {"$recursiveRef": "#"}}]},
     "# -> #/anyOf/1 -> #/anyOf/1/not -> #"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "loop"), LOOPS, ids=[loop for _, loop in LOOPS])
def test_a_loop_without_a_value_is_named(schema: Any, loop: str) -> None:
    """The error shows the way around."""
    with pytest.raises(DanglingReferenceError) as caught:
        compiled(schema)
    assert loop in caught.value.problem


def test_the_same_place_twice_is_no_loop() -> None:
    """Two references to one schema meet at the same value without harm."""
    schema = {"allOf": [{"$ref": "#/$defs/i"}, {"$ref": "#/$defs/i"}], "$defs": {"i": INTEGER}}
    assert accepts(compiled(schema), 1)


@pytest.mark.parametrize(("reference", "meant"), [
    ("#/definitions/adress", "#/definitions/address"),
    ("#definitions/address", "#/definitions/address"),
    ("#/$defs/address", "#/definitions/address"), ("#/", "#"), ("#houze", "#house"),
    ("root#/definitions/Address", "root#/definitions/address"),
    ("#/definitions/a~1c", "#/definitions/a~1b"), ("#/definition", "#/definitions"),
    ("#/definitions/other", None), ("#/title/x", None), ("#gone", None), ("#//", None),
])  # fmt: skip
def test_what_a_reference_probably_means(reference: str, meant: str | None) -> None:
    """A place with nearly its name, if there is one; the suggestion leads somewhere."""
    schema = {"$id": AT + "root", "title": "t", "items": {"$ref": reference}, "definitions":
              {"address": {"minimum": 1}, "a/b": {}, "h": {"$anchor": "house"}}}  # fmt: skip
    with pytest.raises(DanglingReferenceError, match="leads nowhere") as caught:
        compiled(schema)
    assert caught.value.location == "#/items/$ref"
    if meant is None:
        assert "did you mean" not in caught.value.hint
    else:
        assert caught.value.hint == f"did you mean {meant!r}?"
        compiled(schema | {"items": {"$ref": meant}})


@pytest.mark.parametrize("reference", [
    "#/definitions/b", "#/definitions/a/0", "#/allOf/-1", "#/allOf/01", "#/allOf/1", "#/allOf/x",
    "#/title/0", "#gone", "#/definitions/a/minimum/x", "root#gone",
])  # fmt: skip
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_to_nothing_is_an_error(keyword: str, reference: str) -> None:
    """It says where the reference stands, and nothing else is tried."""
    schema = {"$id": AT + "root", "title": "t", "allOf": [{}], "items": {keyword: reference},
              "definitions": {"a": {"minimum": 1}}}  # fmt: skip
    with pytest.raises(DanglingReferenceError, match="leads nowhere") as caught:
        compiled(schema)
    assert caught.value.location == f"#/items/{keyword}"


def test_a_missing_document_is_asked_for_by_name() -> None:
    """The hint is code that would supply it, and a foreign place is told apart from our own."""
    documents = {AT + "one": {"properties": {"a/b": {"$ref": "two#/x"}}}}
    with pytest.raises(DanglingReferenceError) as caught:
        compiled({"$ref": AT + "one"}, registry_of(documents, 2020))
    assert AT + "two" in caught.value.problem
    assert f"with_resource('{AT}two'" in caught.value.hint
    assert caught.value.location == f"{AT}one#/properties/a~1b/$ref"


@pytest.mark.parametrize("schema", [
    {"$schema": DIALECTS[2019], "items": {"$recursiveRef": "#/items"}},
    {"items": {"$dynamicRef": 1}}, {"items": {"$ref": "http://[gone"}},
    {"items": {"$id": "http://[gone", "minimum": 1}}, {"$id": "http://[gone"},
    {"items": {"$schema": 1}}, {"$ref": "#/title", "title": "t"},
], ids=json.dumps)  # fmt: skip
def test_what_cannot_be_a_reference_is_a_broken_schema(schema: Any) -> None:
    """A wrong type or URI is a typed error with a place, not a crash."""
    with pytest.raises(SpecError) as caught:
        compiled(schema)
    assert caught.value.location.startswith("#")


@pytest.mark.parametrize(
    ("vocabularies", "schema"),
    [({AT + "own": True}, {}), ({f"{VOCABULARY}format-assertion": True}, {"format": "own"})],
)
def test_what_a_vocabulary_requires_is_never_passed_over(vocabularies: Any, schema: Any) -> None:
    """Unknown vocabularies that are required are refused, and so are unknown asserted formats."""
    metaschema = {"$vocabulary": {f"{VOCABULARY}core": True, **vocabularies}}
    with pytest.raises(UnsupportedSchemaError) as caught:
        compiled({"$schema": AT + "meta", **schema}, registry_of({AT + "meta": metaschema}, 2020))
    assert caught.value.keyword in ("$vocabulary", "format")
    assert caught.value.location in ("#/$schema", "#/format")


def test_draft_3_is_refused_within_a_schema_of_another_draft() -> None:
    """Only whole documents of draft 3 are rewritten."""
    inner = {"$schema": "http://json-schema.org/draft-03/schema#", "divisibleBy": 2}
    with pytest.raises(UnsupportedSchemaError, match="draft 3") as caught:
        compiled({"items": inner})
    assert caught.value.keyword == "$schema"
    assert caught.value.location == "#/items/$schema"


def test_schemas_without_foreign_references_load_no_metaschemas() -> None:
    """Plain schemas pay nothing for what references might need."""
    code = """
import sys, structgen as sg
schema = {"properties": {"a": {"$ref": "#/$defs/x/items"}}, "$defs": {"x": {"items": {}}}}
sg.JsonSchema(schema).machine()
print("jsonschema_specifications" in sys.modules, "referencing" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_what_is_no_schema_in_the_registry_does_no_harm() -> None:
    """A subschema is found by its `$id` though other documents are odd, or of unknown draft."""
    documents = {
        AT + "odd": {"properties": [1], "allOf": 3, "$id": 7, "items": {"$id": []}, "not": "x"},
        AT + "list": [1],
        AT + "old": {"$schema": "http://json-schema.org/draft-03/schema#"},
        AT + "outer": {"$defs": {"i": {"$id": "inner", **INTEGER}}},
    }
    registry = referencing.Registry[Any]().with_resources(
        (uri, referencing.Resource.opaque(contents)) for uri, contents in documents.items()
    )
    constraint = compiled({"$ref": AT + "inner"}, registry)
    assert accepts(constraint, 1)
    assert not accepts(constraint, "s")
    with pytest.raises(DanglingReferenceError):
        compiled({"$ref": AT + "nowhere"}, registry)


def test_a_spec_written_as_json_keeps_the_drafts_of_its_documents() -> None:
    """Documents without `$schema` are read as before, whatever said by which draft."""
    contents = {"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": STRING}}
    for resource, draft in (
        (DRAFT7.create_resource(contents), 2020),
        (referencing.Resource.opaque(contents), 2020),
        (referencing.Resource.opaque(contents), 7),
    ):
        registry = referencing.Registry[Any]().with_resource(AT + "doc", resource)
        spec = sg.JsonSchema(dialled({"$ref": AT + "doc"}, draft), registry=registry)
        again = sg.JsonSchema.from_json(json.loads(json.dumps(spec.to_json())))
        verdicts = [accepts(sg.compile(s, BYTES), "long") for s in (spec, again)]
        assert verdicts == [resource == DRAFT7.create_resource(contents) or draft == 7] * 2


TUPLE = {"type": "array", "items": [STRING, INTEGER], "additionalItems": False, "minItems": 2}
LISTED = [
    TUPLE,
    {"properties": {"a": TUPLE, "items": INTEGER}, "unevaluatedProperties": False},
    {"anyOf": [{"items": [{"$anchor": "s", "type": "string"}]}, {"items": {"$ref": "#s"}}]},
]
LISTED_VALUES: list[Any] = [
    ["a", 1], ["a"], [1, 1], ["a", 1, 1], ["a", "b"], {"a": ["a", 1]}, {"a": [1]}, {"items": 1},
    {"items": "a"}, {"b": 1},
]  # fmt: skip


@pytest.mark.parametrize("schema", LISTED, ids=json.dumps)
def test_a_list_in_items_says_that_a_schema_is_of_draft_2019_09(schema: dict[str, Any]) -> None:
    """Where it names no draft, and has nothing of a later one."""
    constraint = compiled(schema)
    decide = json_decider(schema, draft=2019)
    for value in LISTED_VALUES:
        assert accepts(constraint, value) == decide(json.dumps(value).encode()), value
    with pytest.raises(sg.errors.ValidationError, match="`type` at #/items/1"):
        sg.check(TUPLE, ["a", "b"])


def test_a_list_that_is_no_keyword_says_nothing_of_the_draft() -> None:
    """As in a default; and a schema of draft 2020-12 may have none."""
    assert sg.JsonSchema({"default": {"items": [1]}, "prefixItems": [{}]}).schema.keys() == {
        "default", "prefixItems"
    }  # fmt: skip
    refused: list[Any] = [{"prefixItems": [{}], "items": [{}]}, dialled({"items": [{}]}, 2020)]
    for schema in refused:
        with pytest.raises(SpecError, match="'items' is an array of schemas"):
            compiled(schema)
