"""Writes specs as GBNF, the language of llama.cpp's grammars: the same texts, or an error."""

from __future__ import annotations

from typing import Any

from structgen.errors import UnsatisfiableSchemaError, UnsupportedSchemaError
from structgen.grammar.export.languages import Languages
from structgen.grammar.export.rules import Rules
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema


def export_gbnf(spec: Any, *, repeated_keys: bool = False) -> str:
    """A grammar in GBNF, from the rule `root`, of exactly the texts of a spec.

    spec: whatever `compile` takes. repeated_keys: whether keys that a schema leaves open may come
    twice in an object, which GBNF cannot forbid; readers of JSON take the last, and values still
    fit the schema.

    Raises UnsupportedSchemaError for what GBNF cannot say, with its JSON Pointer, or its line and
    column in a grammar; UnsatisfiableSchemaError where there is no text at all; what compiling the
    spec would raise.
    """
    from structgen.grammar.export.grammars import GrammarRules
    from structgen.grammar.export.json_texts import JsonRules
    from structgen.grammar.specs import GrammarSpec

    found = coerce(spec).portable()
    rules = Rules()
    if isinstance(found, GrammarSpec):
        return rules.text(GrammarRules(found.rules_as_written(), rules, repeated_keys).start())
    if isinstance(found, JsonSchema):
        return rules.text(JsonRules(found, rules, repeated_keys).start())
    language = found.language()
    if language is None:
        raise UnsupportedSchemaError(
            f"a spec of the kind {found.kind!r} cannot be exported to GBNF",
            keyword=found.kind,
            expected="a pattern, a choice, a grammar, or a JSON Schema",
            hint="export its parts",
        )
    if language.is_empty():
        raise UnsatisfiableSchemaError("no text fits the spec", expected="at least one text")
    pattern = getattr(found, "pattern", "")
    return rules.text(Languages(rules).expression(language, found.kind, lambda: pattern))
