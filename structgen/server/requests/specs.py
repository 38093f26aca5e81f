"""Which constraint a request asks for: one field gives one spec, and two are a conflict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_core import from_json

from structgen.compose.sequences import FreeText
from structgen.grammar.specs import Gbnf, Lark, grammar_class
from structgen.integrations.structural_tags import structural_tag as structural_tag_spec
from structgen.schema.json_schema import JsonSchema
from structgen.server.errors import ApiError
from structgen.server.requests.wire import (
    ConstraintFields,
    GenerationFields,
    ResponseFormat,
    StructuredOutputs,
)
from structgen.spec.regular import Choice, Regex

JSON_KINDS = ("json_schema", "json_object")
_TAG_FIELDS = ("structures", "triggers", "format")


@dataclass(frozen=True)
class Wanted:
    """A constraint that a request asks for.

    param: the field, `response_format.json_schema.schema`. kind: what it is. content: what it says,
    as JSON. make: makes the spec; raises what broken specs raise. size: bytes of the content.
    key: a digest of kind and content; the same for the same constraint, in all requests.
    """

    param: str
    kind: str
    content: Any
    make: Callable[[], Any]

    @cached_property
    def text(self) -> str:
        """The content as JSON text; the order of keys is part of it."""
        return json.dumps([self.kind, self.content], ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return len(self.text.encode(errors="surrogatepass"))

    @cached_property
    def key(self) -> str:
        """32 hex digits of SHA-256 of the text."""
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()[:32]


FREE = Wanted("", "text", None, FreeText)


def wanted(body: GenerationFields) -> Wanted | None:
    """The one constraint of a request, or None. ApiError for two, and for options without one."""
    return one_of([*_of_format(body.response_format), *of_fields(body)], body)


def one_of(found: list[Wanted], body: ConstraintFields) -> Wanted | None:
    """The only one of the constraints found, with the options for JSON; ApiError for two."""
    if len(found) > 1:
        raise ApiError(
            f"{found[0].param} and {found[1].param} both constrain the text",
            param=found[1].param,
            code="conflicting_constraints",
            more={"conflicts_with": found[0].param, "hint": "give one of them"},
        )
    options = _json_options(body)
    if not options:
        return found[0] if found else None
    place = next(iter(options))
    if not found or found[0].kind not in JSON_KINDS:
        raise ApiError(
            f"{place} is about JSON, and no field of the request asks for JSON",
            param=place,
            code="conflicting_constraints",
        )
    return json_schema(found[0].param, found[0].content, found[0].kind, options[place])


def json_schema(
    param: str, schema: Any, kind: str = "json_schema", whitespace: str | None = None
) -> Wanted:
    """JSON that fits a schema."""
    if whitespace is None:
        return Wanted(param, kind, schema, lambda: JsonSchema(schema))
    content = {"schema": schema, "whitespace": whitespace}
    return Wanted(param, kind, content, lambda: JsonSchema(schema, whitespace=whitespace))


def json_object(param: str) -> Wanted:
    """Any JSON object."""
    return json_schema(param, {"type": "object"}, "json_object")


def _maker(kind: str, make: Callable[[Any], Any]) -> Callable[[str, Any], Wanted]:
    return lambda param, content: Wanted(param, kind, content, lambda: make(content))


regex = _maker("regex", Regex)
choice = _maker("choice", Choice)
gbnf = _maker("gbnf", Gbnf)
lark = _maker("lark", Lark)
structural_tag = _maker("structural_tag", structural_tag_spec)


def grammar(param: str, text: str) -> Wanted:
    """Text of a grammar in the language that it looks like."""
    return (gbnf if grammar_class(text) is Gbnf else lark)(param, text)


def _of_format(asked: ResponseFormat | None) -> Iterator[Wanted]:
    if asked is None:
        return
    place = "response_format"
    _check_format(asked)
    if asked.type == "structural_tag":
        given = {name: getattr(asked, name) for name in _TAG_FIELDS}
        yield structural_tag(place, {k: v for k, v in given.items() if v is not None})
    elif asked.schema_ is not None:
        yield json_schema(f"{place}.schema", asked.schema_)
    elif asked.type == "json_object":
        yield json_object(place)
    elif asked.type == "json_schema":
        inner = asked.json_schema
        if inner is not None and inner.schema_ is not None:
            yield json_schema(f"{place}.json_schema.schema", inner.schema_)
        else:
            where = f"{place}.json_schema" + ("" if inner is None else ".schema")
            raise ApiError(f"there is no {where}", param=where, code="missing_field")


def _check_format(asked: ResponseFormat) -> None:
    """Fields of other types are conflicts."""
    fitting = {
        "text": (),
        "json_object": ("schema_",),
        "json_schema": ("json_schema", "schema_"),
        "structural_tag": _TAG_FIELDS,
    }[asked.type]
    given = [
        name
        for name in ("json_schema", "schema_", *_TAG_FIELDS)
        if getattr(asked, name) is not None
    ]
    wrong = next((name for name in given if name not in fitting), None)
    both = asked.json_schema is not None and asked.schema_ is not None
    if wrong is not None or (both and asked.json_schema is not None and asked.json_schema.schema_):
        name = (wrong or "schema_").rstrip("_")
        raise ApiError(
            f"response_format.{name} has no place in a format of the type {asked.type!r}"
            if wrong
            else "response_format.schema and response_format.json_schema both are schemas",
            param=f"response_format.{name}",
            code="conflicting_constraints",
        )


def of_fields(body: ConstraintFields) -> Iterator[Wanted]:
    """The constraints that fields of the top level name."""
    if body.structured_outputs is not None:
        yield from _of_structured(body.structured_outputs)
    for name, make in _FIELDS.items():
        if (value := getattr(body, name)) is not None:
            yield make(name, value)


_FIELDS: dict[str, Callable[[str, Any], Wanted]] = {
    "guided_json": json_schema,
    "guided_regex": regex,
    "guided_choice": choice,
    "guided_grammar": grammar,
    "json_schema": json_schema,
    "grammar": gbnf,
    "regex": regex,
    "ebnf": gbnf,
}
_STRUCTURED: dict[str, Callable[[str, Any], Wanted]] = {
    "json": json_schema,
    "regex": regex,
    "choice": choice,
    "grammar": grammar,
}


def _of_structured(asked: StructuredOutputs) -> Iterator[Wanted]:
    place = "structured_outputs"
    given = asked.model_dump(by_alias=True, exclude_none=True)
    found = [
        make(f"{place}.{name}", given[name]) for name, make in _STRUCTURED.items() if name in given
    ]
    if asked.json_object:
        found.append(json_object(f"{place}.json_object"))
    if asked.structural_tag is not None:
        where = f"{place}.structural_tag"
        found.append(structural_tag(where, _structural_tag(asked.structural_tag, where)))
    if not found:
        raise ApiError(
            "structured_outputs has no constraint",
            param=place,
            code="missing_field",
            more={"expected": "json, json_object, regex, choice, grammar or structural_tag"},
        )
    yield from found


def _structural_tag(given: Any, place: str) -> Any:
    """A structural tag; vLLM's clients write it as JSON text."""
    try:
        return from_json(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ApiError(f"{place} is not JSON: {error}", param=place, code="invalid_json") from error


def _json_options(body: ConstraintFields) -> dict[str, str]:
    """The field that says how JSON is spaced, and what it says."""
    found = {}
    asked = body.structured_outputs
    if asked is not None and asked.disable_any_whitespace:
        found["structured_outputs.disable_any_whitespace"] = "compact"
    if asked is not None and asked.whitespace_pattern is not None:
        found["structured_outputs.whitespace_pattern"] = asked.whitespace_pattern
    if body.guided_whitespace_pattern is not None:
        found["guided_whitespace_pattern"] = body.guided_whitespace_pattern
    if len(found) > 1:
        first, second, *_ = found
        raise ApiError(
            f"{first} and {second} both say how JSON is spaced",
            param=second,
            code="conflicting_constraints",
        )
    return found
