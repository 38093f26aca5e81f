"""Random documents full of dynamic references get the verdicts of a naive evaluator.

The evaluator carries the dynamic scope along as it walks through schema and value together, as the
specifications describe it; the compiler must come to the same without ever seeing the value.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import DanglingReferenceError, UnsatisfiableSchemaError
from tests.helpers.oracle import DIALECTS
from tests.helpers.schemas import MISSPELT_ON_PURPOSE

pytestmark = MISSPELT_ON_PURPOSE  # documents with nothing but definitions, too

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])
AT = "http://example.com/"
NAMES = ("t", "u")
RESOURCES = ("root", "one", "two", "three")
VALUES: list[Any] = [
    1, "s", [], [1], ["s"], [[]], [[1]], [["s"]], [[[1]]], [[["s"]]], {"a": 1}, {"a": "s"},
    {"a": {"a": 1}}, {"a": {"a": "s"}}, {"a": [1]}, {"a": ["s"]}, [{"a": 1}], [{"a": "s"}],
    {"a": {"a": {"a": 1}}}, [{"a": [{"a": 1}]}], {"a": [{"a": ["s"]}]},
]  # fmt: skip
TYPES = st.sampled_from([["array", "object"], ["array", "object", "integer"], [
    "array", "object", "string"], ["integer"], ["string"]])  # fmt: skip


class Loop(Exception):  # noqa: N818  what the evaluator found, not a failure of it
    """The evaluation came back to the same schema and value."""


# -- the naive evaluator ------------------------------------------------------------------------


def resources_in(document: Any) -> dict[str, Any]:
    """Every schema with an `$id`, by its URI."""
    found = {}
    todo = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            if "$id" in value:
                found[AT + value["$id"].removeprefix(AT)] = value
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return found


def anchored(resource: Any, name: str) -> Any:
    """The schema with the dynamic anchor in a resource, None if there is none."""
    return next((s for s in resource["$defs"].values() if s.get("$dynamicAnchor") == name), None)


def fits(schema: Any, value: Any, scope: tuple[str, ...], found: Any, depth: int = 0) -> bool:
    """Whether a value is valid against a schema that stands in the last resource of the scope."""
    if depth > 60:
        raise Loop
    if "$id" in schema:
        scope = (*scope, AT + schema["$id"].removeprefix(AT))
    if "type" in schema and kind(value) not in schema["type"]:
        return False
    parts = [(sub, value) for sub in schema.get("allOf", [])]
    if "items" in schema and isinstance(value, list):
        parts += [(schema["items"], item) for item in value]
    if "a" in schema.get("properties", {}) and isinstance(value, dict) and "a" in value:
        parts.append((schema["properties"]["a"], value["a"]))
    if not all(fits(sub, v, scope, found, depth + 1) for sub, v in parts):
        return False
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in schema:
            uri, target = follow(keyword, schema[keyword], scope, found)
            inside = scope if "$id" in target or scope[-1] == uri else (*scope, uri)
            if not fits(target, value, inside, found, depth + 1):
                return False
    return True


def kind(value: Any) -> str:
    """The JSON type."""
    return {int: "integer", str: "string", list: "array", dict: "object"}[type(value)]


def follow(keyword: str, reference: str, scope: tuple[str, ...], found: Any) -> tuple[str, Any]:
    """The resource and the schema that a reference leads to in a dynamic scope."""
    if keyword == "$recursiveRef":
        uri = scope[-1]
        if found[uri].get("$recursiveAnchor"):
            uri = next(u for u in scope if found[u].get("$recursiveAnchor"))
        return uri, found[uri]
    uri, _, name = reference.partition("#")
    uri = AT + uri if uri else scope[-1]
    if not name:
        return uri, found[uri]
    if keyword == "$dynamicRef":
        uri = next((u for u in scope if anchored(found[u], name)), uri)
    return uri, anchored(found[uri], name)


# -- documents ----------------------------------------------------------------------------------


@st.composite
def documents(draw: st.DrawFn, draft: int) -> Any:
    """Up to four resources, in one another's definitions or values, that refer to one another."""
    uris = RESOURCES[: draw(st.integers(2, 4))]
    names = {uri: draw(st.sets(st.sampled_from(NAMES))) if draft == 2020 else () for uri in uris}

    def reference(here: str) -> Any:
        if draft == 2019 and draw(st.integers(0, 2)):
            return {"$recursiveRef": "#"}
        targets = [(uri, name) for uri in uris for name in sorted(names[uri])]
        if targets and draw(st.integers(0, 3)) > 0:
            target, name = draw(st.sampled_from(targets))
            keyword = draw(st.sampled_from(["$ref", "$dynamicRef", "$dynamicRef"]))
            return {keyword: f"{'' if target == here else target}#{name}"}
        return {"$ref": draw(st.sampled_from(uris))}

    def body(here: str) -> Any:
        schema: Any = {"type": draw(TYPES)} if draw(st.booleans()) else {}
        if draw(st.booleans()):
            schema["items"] = reference(here)
        if draw(st.booleans()):
            schema["properties"] = {"a": reference(here)}
        if not draw(st.integers(0, 3)):
            schema["allOf"] = [reference(here)]
        return schema

    def resource(uri: str) -> Any:
        schema = {"$id": AT + uri, **body(uri)}
        if draft == 2019 and draw(st.booleans()):
            schema["$recursiveAnchor"] = True
        anchors = sorted(names[uri])
        schema["$defs"] = {name: {"$dynamicAnchor": name, **body(uri)} for name in anchors}
        return schema

    root, *rest = [resource(uri) for uri in uris]
    for schema in rest:
        if "items" in root and "$id" not in root["items"] and draw(st.booleans()):
            root["items"] = schema
        else:
            root["$defs"][schema["$id"]] = schema
    return {"$schema": DIALECTS[draft], **root}


@pytest.mark.parametrize("draft", [2019, 2020])
@given(data=st.data())
def test_dynamic_references_go_where_evaluation_would(draft: int, data: st.DataObject) -> None:
    """The compiled schema lets through what the naive evaluator calls valid."""
    document = data.draw(documents(draft))
    found = resources_in(document)
    try:
        expected = [value for value in VALUES if fits(document, value, (), found)]
    except Loop:
        assume(False)
    spec = sg.JsonSchema(document, property_order="any", whitespace="any")
    try:
        constraint = sg.compile(spec, BYTES)
    except DanglingReferenceError:  # a loop that none of the values runs into
        assume(False)
    except UnsatisfiableSchemaError:
        assert expected == []
        return
    start = constraint.start
    texts = {json.dumps(v): v for v in VALUES}
    let_through = [
        value
        for text, value in texts.items()
        if constraint.is_accepting(constraint.advance_bytes(start, text.encode()))
    ]
    assert let_through == expected
