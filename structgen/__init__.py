"""Make a language model write text that is certain to fit a schema, a pattern or a grammar.

To read the code, start here:

- `constraint.compiler.compile`: a spec and a vocabulary become a constraint, step by step:
  `spec.base` (specs; JSON Schema is in `schema.json_schema`, grammars in `grammar.specs`) ->
  `automata.interface` and `automata.pushdown.engine` (bytes that may follow) ->
  `masks.pushdown_masks` (tokens that may follow) -> `constraint.constraint` (states, kept masks).
- `generation.generator.generate`: a model and a constraint become text:
  `generation.generator` (options, values) -> `generation.loop` (forward pass, mask, token).

Packages import downwards only: errors, util, kernels, vocabulary, regular, automata, masks, spec,
schema, grammar, constraint, compose, demo, generation, integrations, cli. Inner loops are numba
code in `kernels`. `tests/test_tiny.py` shows the whole pipeline over twelve tokens.

The names below are loaded on first use: importing structgen compiles nothing and imports neither
torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.util.lazy import importing
from structgen.version import __version__ as __version__

_HOMES = {
    "compile": "structgen.constraint.compiler",
    "load": "structgen.constraint.compiler",
    "fill_masks": "structgen.constraint.batch",
    "check": "structgen.constraint.compiler",
    "generate": "structgen.generation.generator",
    "Generator": "structgen.generation.generator",
    "LogitsProcessor": "structgen.integrations.huggingface",
    "CustomGenerate": "structgen.integrations.custom_generate",
    "Vocabulary": "structgen.vocabulary.vocabulary",
    "Constraint": "structgen.constraint.constraint",
    "Cache": "structgen.constraint.cache",
    "assert_enforced": "structgen.constraint.enforced",
    "DEAD": "structgen.automata.interface",
    "FINAL": "structgen.constraint.constraint",
    "JsonSchema": "structgen.schema.json_schema",
    "Regex": "structgen.spec.regular",
    "Choice": "structgen.spec.regular",
    "Lark": "structgen.grammar.specs",
    "Gbnf": "structgen.grammar.specs",
    "Ebnf": "structgen.grammar.specs",
    "Grammar": "structgen.grammar.combinators",
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
    "FreeText": "structgen.compose.sequences",
    "sequence": "structgen.compose.sequences",
    "any_of": "structgen.compose.sequences",
    "all_of": "structgen.compose.all_of",
    "tools": "structgen.compose.tools.tools",
    "filters": "structgen.compose.filters",
    "export_schema": "structgen.schema.export.export",
    "support": "structgen.schema.report.support",
    "errors": "structgen.errors",
    "sample": "structgen.generation.sampling",
    "speculate": "structgen.generation.speculation",
    "penalties": "structgen.generation.penalties",
}
_MODULES = {"errors", "filters", "penalties", "sample", "speculate"}  # names that are modules
__all__ = [
    "DEAD",
    "FINAL",
    "Cache",
    "Choice",
    "Constraint",
    "CustomGenerate",
    "Ebnf",
    "FreeText",
    "Gbnf",
    "Generator",
    "Grammar",
    "Indentation",
    "JsonSchema",
    "Lark",
    "LogitsProcessor",
    "Regex",
    "Tag",
    "Tags",
    "Vocabulary",
    "all_of",
    "alt",
    "any_of",
    "assert_enforced",
    "check",
    "compile",
    "errors",
    "export_schema",
    "fill_masks",
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
    from structgen.automata.interface import DEAD as DEAD
    from structgen.compose import filters as filters
    from structgen.compose.all_of import all_of as all_of
    from structgen.compose.sequences import FreeText as FreeText
    from structgen.compose.sequences import any_of as any_of
    from structgen.compose.sequences import sequence as sequence
    from structgen.compose.tags import Tag as Tag
    from structgen.compose.tags import Tags as Tags
    from structgen.compose.tools.tools import tools as tools
    from structgen.constraint.batch import fill_masks as fill_masks
    from structgen.constraint.cache import Cache as Cache
    from structgen.constraint.compiler import check as check
    from structgen.constraint.compiler import compile as compile  # noqa: A004  the name of the contract
    from structgen.constraint.compiler import load as load
    from structgen.constraint.constraint import FINAL as FINAL
    from structgen.constraint.constraint import Constraint as Constraint
    from structgen.constraint.enforced import assert_enforced as assert_enforced
    from structgen.generation import penalties as penalties
    from structgen.generation import sampling as sampling
    from structgen.generation import speculation as speculation
    from structgen.generation.generator import Generator as Generator
    from structgen.generation.generator import generate as generate
    from structgen.grammar.combinators import Grammar as Grammar
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
    from structgen.grammar.specs import Ebnf as Ebnf
    from structgen.grammar.specs import Gbnf as Gbnf
    from structgen.grammar.specs import Lark as Lark
    from structgen.integrations.custom_generate import CustomGenerate as CustomGenerate
    from structgen.integrations.huggingface import LogitsProcessor as LogitsProcessor
    from structgen.schema.export.export import export_schema as export_schema
    from structgen.schema.json_schema import JsonSchema as JsonSchema
    from structgen.schema.report.support import support as support
    from structgen.spec.regular import Choice as Choice
    from structgen.spec.regular import Regex as Regex
    from structgen.vocabulary.vocabulary import Vocabulary as Vocabulary


__getattr__ = importing(__name__, _HOMES, _MODULES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
