"""Kinds of specs by name, so that a spec can be written as JSON and made again from it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from structgen.errors import SpecError
from structgen.spec.base import Spec

HOMES = {
    "json_schema": "structgen.schema.json_schema:JsonSchema",
    "regex": "structgen.spec.regular:Regex",
    "choice": "structgen.spec.regular:Choice",
    "lark": "structgen.grammar.specs:Lark",
    "gbnf": "structgen.grammar.specs:Gbnf",
    "ebnf": "structgen.grammar.specs:Ebnf",
    "token": "structgen.grammar.embedded.tokens:Token",
    "grammar": "structgen.grammar.combinators:Grammar",
    "literal": "structgen.compose.base:Literal",
    "free_text": "structgen.compose.sequences:FreeText",
    "sequence": "structgen.compose.sequences:InOrder",
    "any_of": "structgen.compose.sequences:AnyOf",
    "all_of": "structgen.compose.all_of:AllOf",
    "tag": "structgen.compose.tags:Tag",
    "tags": "structgen.compose.tags:Tags",
    "tools": "structgen.compose.tools.tools:Tools",
    "parameters": "structgen.compose.tools.parameters:Parameters",
    "filter": "structgen.compose.filters:Filter",
    "token_rule": "structgen.compose.token_rules:TokenRule",
}


def class_of(kind: object) -> type[Spec]:
    """The class of the specs of a kind. Raises SpecError."""
    home = HOMES.get(kind) if isinstance(kind, str) else None
    if home is None:
        raise SpecError(f"{kind!r} is no kind of spec", expected=" or ".join(HOMES))
    module, _, name = home.partition(":")
    found: type[Spec] = getattr(import_module(module), name)
    return found


def spec_of(data: dict[str, Any]) -> Spec:
    """The spec that `{"kind": spec.kind, **spec.to_json()}` describes. Raises SpecError."""
    rest = dict(data)
    made: Any = class_of(rest.pop("kind", None))
    try:
        spec: Spec = made.from_json(rest)
    except (TypeError, KeyError, AttributeError) as error:
        raise SpecError(f"this is no {data['kind']} spec: {error}") from error
    return spec
