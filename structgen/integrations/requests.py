"""Makes a spec of what inference servers hand over: a kind of constraint, and its content as text.

Structural tags are read in both forms that are in use: a list of `structures` with `triggers`, and
a `format` that is nested (sequences, alternatives, tags, ...).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from structgen.compose.sequences import FreeText, any_of, sequence
from structgen.compose.tags import Tag, Tags
from structgen.errors import SpecError
from structgen.grammar.specs import Gbnf, Lark
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.spec.regular import Choice, Regex


def spec_of(kind: str, content: str, *, whitespace: str | None = None) -> Spec:
    """The spec of a request. whitespace: of JSON, as `JsonSchema` takes it; None is its default.

    kind: "json" (a schema's text), "json_object" (no content), "regex", "choice" (a JSON list of
    texts), "grammar" (GBNF where it has `::=`, else Lark) or "structural_tag" (JSON text).
    SpecError for another kind, and whatever a broken spec raises.
    """
    make = _KINDS.get(kind)
    if make is None:
        raise SpecError(f"{kind!r} is no kind of constraint", expected=", ".join(_KINDS))
    options = {} if whitespace is None else {"whitespace": whitespace}
    return make(content, options)


def check_spec(spec: Spec) -> None:
    """Raise what compiling the spec would, without a vocabulary."""
    coerce(spec).automaton()


def _choice(content: str, _options: dict[str, Any]) -> Spec:
    texts = _loaded(content)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SpecError("the choices are no list of texts", expected='such as ["yes", "no"]')
    return Choice(texts)


def _grammar(content: str, _options: dict[str, Any]) -> Spec:
    return Gbnf(content) if "::=" in content else Lark(content)


def _structural_tag(content: str, options: dict[str, Any]) -> Spec:
    given = _loaded(content)
    if not isinstance(given, dict):
        raise SpecError("a structural tag is no JSON object", expected='{"type": ...}')
    if "format" in given:
        return _Formats(options).spec(given["format"], "/format")
    where = ""
    tags = []
    for i, one in enumerate(_member(given, "structures", list, where)):
        pointer = f"/structures/{i}"
        schema = JsonSchema(_member(one, "schema", (dict, bool), pointer), **options)
        begin, end = _member(one, "begin", str, pointer), _member(one, "end", str, pointer)
        tags.append(Tag(begin, schema, end))
    return Tags(tuple(tags), tuple(_member(given, "triggers", list, where)))


class _Formats:
    """Makes specs of nested formats. options: of JSON Schemas."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def spec(self, given: Any, pointer: str) -> Spec:
        """The spec of a format at a JSON Pointer. SpecError names what is not known."""
        kind = _member(given, "type", str, pointer)
        make: Callable[[Any, str], Spec] | None = getattr(self, f"_{kind}", None)
        if make is None:
            raise SpecError(
                f"the format {kind!r} is not known",
                location=f"{pointer}/type",
                expected="const_string, json_schema, regex, grammar, any_text, sequence, or, tag, "
                "triggered_tags, tags_with_separator or optional",
            )
        return make(given, pointer)

    def _const_string(self, given: Any, pointer: str) -> Spec:
        return Choice([_member(given, "value", str, pointer)])

    def _json_schema(self, given: Any, pointer: str) -> Spec:
        if given.get("style", "json") != "json":
            raise SpecError(
                f"the style {given['style']!r} is not known",
                location=f"{pointer}/style",
                expected='"json"',
                hint="structgen.tools(..., format=...) writes calls in the formats of models",
            )
        return JsonSchema(_member(given, "json_schema", (dict, bool), pointer), **self._options)

    def _regex(self, given: Any, pointer: str) -> Spec:
        return Regex(_member(given, "pattern", str, pointer))

    def _grammar(self, given: Any, pointer: str) -> Spec:
        return _grammar(_member(given, "grammar", str, pointer), {})

    def _any_text(self, given: Any, pointer: str) -> Spec:
        for limit in ("max_tokens", "max_chars"):
            if given.get(limit) is not None:
                raise SpecError(f"{limit} of free text is not enforced", location=pointer)
        return FreeText(tuple(given.get("excludes", ())))

    def _sequence(self, given: Any, pointer: str) -> Spec:
        return sequence(*self._elements(given, pointer))

    def _or(self, given: Any, pointer: str) -> Spec:
        return any_of(*self._elements(given, pointer))

    def _optional(self, given: Any, pointer: str) -> Spec:
        inner = _member(given, "content", dict, pointer)
        return any_of(Choice([""]), self.spec(inner, f"{pointer}/content"))

    def _tag(self, given: Any, pointer: str) -> Tag:
        content = _member(given, "content", dict, pointer)
        begin, end = _member(given, "begin", str, pointer), _member(given, "end", str, pointer)
        if content.get("type") == "any_text" and end and not content.get("excludes"):
            return Tag(begin, None, end)  # free text that goes on to the end
        return Tag(begin, self.spec(content, f"{pointer}/content"), end)

    def _triggered_tags(self, given: Any, pointer: str) -> Spec:
        first_only = bool(given.get("stop_after_first"))
        return Tags(
            self._tags(given, pointer),
            tuple(_member(given, "triggers", list, pointer)),
            text="before" if first_only else "around",
            at_least=int(bool(given.get("at_least_one"))),
            at_most=1 if first_only else None,
            excludes=tuple(given.get("excludes", ())),
        )

    def _tags_with_separator(self, given: Any, pointer: str) -> Spec:
        return Tags(
            self._tags(given, pointer),
            text="none",
            at_least=int(bool(given.get("at_least_one"))),
            at_most=1 if given.get("stop_after_first") else None,
            separator=_member(given, "separator", str, pointer),
        )

    def _elements(self, given: Any, pointer: str) -> list[Spec]:
        found = _member(given, "elements", list, pointer)
        return [self.spec(one, f"{pointer}/elements/{i}") for i, one in enumerate(found)]

    def _tags(self, given: Any, pointer: str) -> tuple[Tag, ...]:
        found = _member(given, "tags", list, pointer)
        return tuple(self._tag(one, f"{pointer}/tags/{i}") for i, one in enumerate(found))


def _member(given: Any, name: str, kind: type | tuple[type, ...], pointer: str) -> Any:
    """A member of a JSON object. SpecError where it lacks, or is of another type."""
    if not isinstance(given, dict) or not isinstance(given.get(name), kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise SpecError(
            f"a structural tag has no {name} that can be read",
            location=f"{pointer}/{name}",
            expected=" or ".join(_JSON_NAMES[one] for one in kinds),
        )
    return given[name]


def _loaded(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise SpecError(f"the text is not JSON: {error}", expected="JSON text") from error


_JSON_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}
_KINDS: dict[str, Callable[[str, dict[str, Any]], Spec]] = {
    "json": lambda content, options: JsonSchema(content, **options),
    "json_object": lambda _, options: JsonSchema({"type": "object"}, **options),
    "regex": lambda content, _: Regex(content),
    "choice": _choice,
    "grammar": _grammar,
    "structural_tag": _structural_tag,
}
