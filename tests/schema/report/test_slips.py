"""Misspelt keywords warn when a schema is compiled, and are errors if asked for."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import structgen as sg
from structgen.errors import MisspeltKeywordWarning, NoKeywordWarning, SpecError
from structgen.schema.references import metaschemas
from structgen.schema.report.slips import KNOWN, slips_in

VOCABULARY = sg.Vocabulary([b"<end>", *(bytes([b]) for b in range(256))], eos_ids=[0])

OLD = "http://json-schema.org/draft-07/schema#"
SLIPS: list[tuple[Any, str, str]] = [
    ({"propertes": {"a": {}}}, "#/propertes", "properties"),
    ({"properties": {"a": {"requird": ["b"]}}}, "#/properties/a/requird", "required"),
    ({"anyOf": [{}, {"minlength": 3}]}, "#/anyOf/1/minlength", "minLength"),
    ({"$defs": {"a/b": {"OneOf": []}}}, "#/$defs/a~1b/OneOf", "oneOf"),
    ({"items": {"type:": "null"}}, "#/items/type:", "type"),
    ({"$schema": OLD, "items": [{"propertes": {}}]}, "#/items/0/propertes", "properties"),
]
A_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
FINE: list[Any] = [
    True,
    {},
    {"properties": {"requird": {"type": "null"}, "propertes": {}}},
    {"enum": [{"propertes": 1}], "default": {"minlength": 1}},
    {"items": {"x-requird": [], "_requird": [], "form": "a", "constraints": {}}},
    {"title": "anything", "nullable": True, "x-origin": {"type": "string"}, "default": 1},
    {"dependencies": {}, "divisibleBy": 2, "additionalItems": True, "id": "a"},
    {"requires": [], "required": []},  # the keyword itself is there
]


@pytest.mark.parametrize(("schema", "pointer", "meant"), SLIPS)
def test_a_slip_warns_and_is_an_error_if_strict(schema: Any, pointer: str, meant: str) -> None:
    """With its place and the keyword that was probably meant."""
    with pytest.warns(MisspeltKeywordWarning, match=repr(meant)) as caught:
        sg.compile(schema, VOCABULARY)
    [warning] = [w for w in caught if w.category is MisspeltKeywordWarning]
    assert isinstance(warning.message, MisspeltKeywordWarning)
    assert (warning.message.location, warning.message.meant) == (pointer, meant)
    assert warning.filename == __file__
    with pytest.raises(SpecError, match=repr(meant)) as error:
        sg.compile(schema, VOCABULARY, strict=True)
    assert error.value.location == pointer
    assert pointer in [advice.pointer for advice in sg.support(schema).warnings]


def test_of_many_slips_the_first_few_warn() -> None:
    """The last of these says how many more there are, and what lists them; the report has all."""
    schema: Any = {"properties": {f"p{i}": {"requird": []} for i in range(20)}}
    with pytest.warns(MisspeltKeywordWarning) as caught:
        sg.compile(schema, VOCABULARY)
    assert ["17 more" in str(w.message) for w in caught] == [False, False, True]
    assert len(sg.support(schema).warnings) >= 20


@pytest.mark.parametrize("schema", FINE)
def test_other_names_are_left_alone(schema: Any) -> None:
    """Names of properties, values, private names, annotations, keywords of other drafts."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.compile(schema, VOCABULARY, strict=True)


OTHER_THINGS: list[tuple[Any, str]] = [
    ({"name": "string", "tags": ["a"]}, '"properties"'),
    ({"openapi": "3.1.0", "paths": {}, "components": {"schemas": {"A": A_SCHEMA}}},
     "#/components/schemas/A"),
    ({"spec": {"versions": [{"schema": A_SCHEMA}]}}, "#/spec/versions/0/schema"),
    ({"name": "f", "description": "a tool", "input_schema": A_SCHEMA}, "#/input_schema"),
    ({"$defs": {"A": A_SCHEMA}}, "#/$defs/A"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "hint"), OTHER_THINGS)
def test_what_is_no_schema_warns_and_is_an_error_if_strict(document: Any, hint: str) -> None:
    """An example, or a document with schemas inside, restricts nothing; a schema in it is named."""
    with pytest.warns(NoKeywordWarning, match=re.escape(hint)) as caught:
        sg.compile(document, VOCABULARY)
    assert caught[0].filename == __file__
    with pytest.raises(SpecError, match=re.escape(hint)):
        sg.compile(document, VOCABULARY, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.compile(A_SCHEMA, VOCABULARY)


def test_every_keyword_of_every_draft_is_known() -> None:
    """The names are written out; the metaschemas have no others."""
    assert metaschemas.drafts_of().keys() <= KNOWN


def test_a_schema_that_holds_itself_has_an_end() -> None:
    """Python allows what JSON does not."""
    schema: dict[str, Any] = {}
    schema["items"] = schema
    assert list(slips_in(schema)) == []
