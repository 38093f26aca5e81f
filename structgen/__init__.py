"""In: a language model and a spec. Out: text that is certain to fit the spec.

The names below are loaded on first use: importing structgen compiles nothing and imports neither
torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.lazy import importing

__version__ = "0.1.0"

_HOMES = {
    "compile": "structgen.pipeline",
    "load": "structgen.pipeline",
    "check": "structgen.pipeline",
    "generate": "structgen.decode.generator",
    "Generator": "structgen.decode.generator",
    "Vocabulary": "structgen.tokens.vocabulary",
    "Constraint": "structgen.constraint",
    "Cache": "structgen.cache",
    "DEAD": "structgen.automaton.automaton",
    "FINAL": "structgen.constraint",
    "JsonSchema": "structgen.spec.specs",
    "Regex": "structgen.spec.specs",
    "Choice": "structgen.spec.specs",
    "Lark": "structgen.spec.grammar_specs",
    "Gbnf": "structgen.spec.grammar_specs",
    "Ebnf": "structgen.spec.grammar_specs",
    "Grammar": "structgen.spec.grammar_specs",
    "Indentation": "structgen.grammar.ir",
    "shipped": "structgen.grammar.shipped",
    "alt": "structgen.grammar.combinators",
    "json_schema": "structgen.grammar.combinators",
    "literal": "structgen.grammar.combinators",
    "many": "structgen.grammar.combinators",
    "optional": "structgen.grammar.combinators",
    "ref": "structgen.grammar.combinators",
    "regex": "structgen.grammar.combinators",
    "rule": "structgen.grammar.combinators",
    "separated": "structgen.grammar.combinators",
    "seq": "structgen.grammar.combinators",
    "some": "structgen.grammar.combinators",
    "Tag": "structgen.compose.tags",
    "Tags": "structgen.compose.tags",
    "FreeText": "structgen.compose.combine",
    "sequence": "structgen.compose.combine",
    "any_of": "structgen.compose.combine",
    "all_of": "structgen.compose.all_of",
    "tools": "structgen.compose.tools",
    "filters": "structgen.compose.filters",
    "export_schema": "structgen.spec.dialect_export",
    "support": "structgen.spec.json_support",
    "errors": "structgen.errors",
    "sample": "structgen.sample",
    "speculate": "structgen.speculate",
    "penalties": "structgen.penalties",
}
_MODULES = {"errors", "filters", "penalties", "sample", "speculate"}  # names that are modules
__all__ = [
    "DEAD",
    "FINAL",
    "Cache",
    "Choice",
    "Constraint",
    "Ebnf",
    "FreeText",
    "Gbnf",
    "Generator",
    "Grammar",
    "Indentation",
    "JsonSchema",
    "Lark",
    "Regex",
    "Tag",
    "Tags",
    "Vocabulary",
    "all_of",
    "alt",
    "any_of",
    "check",
    "compile",
    "errors",
    "export_schema",
    "filters",
    "generate",
    "json_schema",
    "literal",
    "load",
    "many",
    "optional",
    "penalties",
    "ref",
    "regex",
    "rule",
    "sample",
    "separated",
    "seq",
    "sequence",
    "shipped",
    "some",
    "speculate",
    "support",
    "tools",
]

if TYPE_CHECKING:
    from structgen import errors as errors
    from structgen import penalties as penalties
    from structgen import sample as sample
    from structgen import speculate as speculate
    from structgen.automaton.automaton import DEAD as DEAD
    from structgen.cache import Cache as Cache
    from structgen.compose import filters as filters
    from structgen.compose.all_of import all_of as all_of
    from structgen.compose.combine import FreeText as FreeText
    from structgen.compose.combine import any_of as any_of
    from structgen.compose.combine import sequence as sequence
    from structgen.compose.tags import Tag as Tag
    from structgen.compose.tags import Tags as Tags
    from structgen.compose.tools import tools as tools
    from structgen.constraint import FINAL as FINAL
    from structgen.constraint import Constraint as Constraint
    from structgen.decode.generator import Generator as Generator
    from structgen.decode.generator import generate as generate
    from structgen.grammar.combinators import alt as alt
    from structgen.grammar.combinators import json_schema as json_schema
    from structgen.grammar.combinators import literal as literal
    from structgen.grammar.combinators import many as many
    from structgen.grammar.combinators import optional as optional
    from structgen.grammar.combinators import ref as ref
    from structgen.grammar.combinators import regex as regex
    from structgen.grammar.combinators import rule as rule
    from structgen.grammar.combinators import separated as separated
    from structgen.grammar.combinators import seq as seq
    from structgen.grammar.combinators import some as some
    from structgen.grammar.ir import Indentation as Indentation
    from structgen.grammar.shipped import shipped as shipped
    from structgen.pipeline import check as check
    from structgen.pipeline import compile as compile  # noqa: A004  the name of the contract
    from structgen.pipeline import load as load
    from structgen.spec.dialect_export import export_schema as export_schema
    from structgen.spec.grammar_specs import Ebnf as Ebnf
    from structgen.spec.grammar_specs import Gbnf as Gbnf
    from structgen.spec.grammar_specs import Grammar as Grammar
    from structgen.spec.grammar_specs import Lark as Lark
    from structgen.spec.json_support import support as support
    from structgen.spec.specs import Choice as Choice
    from structgen.spec.specs import JsonSchema as JsonSchema
    from structgen.spec.specs import Regex as Regex
    from structgen.tokens.vocabulary import Vocabulary as Vocabulary


__getattr__ = importing(__name__, _HOMES, _MODULES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
