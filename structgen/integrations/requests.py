"""Makes a spec of what inference servers hand over: a kind of constraint, and its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from structgen.errors import SpecError
from structgen.grammar.specs import grammar_class
from structgen.integrations.structural_tags import structural_tag
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


def _loaded(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise SpecError(f"the text is not JSON: {error}", expected="JSON text") from error


_KINDS: dict[str, Callable[[str, dict[str, Any]], Spec]] = {
    "json": lambda content, options: JsonSchema(content, **options),
    "json_object": lambda _, options: JsonSchema({"type": "object"}, **options),
    "regex": lambda content, _: Regex(content),
    "choice": _choice,
    "grammar": lambda content, _: grammar_class(content)(content),
    "structural_tag": lambda content, options: structural_tag(_loaded(content), **options),
}
