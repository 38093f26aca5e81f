from structgen import errors as errors
from structgen.automata.interface import DEAD as DEAD
from structgen.compose import filters as filters
from structgen.compose.all_of import all_of as all_of
from structgen.compose.sequences import FreeText as FreeText, any_of as any_of, sequence as sequence
from structgen.compose.tags import Tag as Tag, Tags as Tags
from structgen.compose.tools.tools import tools as tools
from structgen.constraint.batch import fill_masks as fill_masks
from structgen.constraint.cache import Cache as Cache
from structgen.constraint.compiler import check as check, compile as compile, load as load
from structgen.constraint.constraint import Constraint as Constraint, FINAL as FINAL
from structgen.constraint.enforced import assert_enforced as assert_enforced
from structgen.generation import penalties as penalties, sampling, speculation
from structgen.generation.generator import Generator as Generator, generate as generate
from structgen.grammar.combinators import (
    Grammar as Grammar,
    alt as alt,
    json_schema as json_schema,
    literal as literal,
    many as many,
    optional as optional,
    ref as ref,
    regex as regex,
    rule as rule,
    separated as separated,
    seq as seq,
    some as some,
)
from structgen.grammar.export.export import export_gbnf as export_gbnf
from structgen.grammar.ir import Indentation as Indentation
from structgen.grammar.shipped import shipped as shipped
from structgen.grammar.specs import Ebnf as Ebnf, Gbnf as Gbnf, Lark as Lark
from structgen.integrations.custom_generate import CustomGenerate as CustomGenerate
from structgen.integrations.huggingface import LogitsProcessor as LogitsProcessor
from structgen.integrations.providers.ask import ask as ask, ask_async as ask_async
from structgen.schema.export.export import export_schema as export_schema
from structgen.schema.json_schema import JsonSchema as JsonSchema
from structgen.schema.report.support import support as support
from structgen.spec.regular import Choice as Choice, Regex as Regex
from structgen.vocabulary.vocabulary import Vocabulary as Vocabulary
from structgen.version import __version__ as __version__

sample = sampling
speculate = speculation
