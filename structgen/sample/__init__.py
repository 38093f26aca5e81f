"""In: a model, a prompt and a spec. Out: samples of the model's own law, given that the text fits.

Masking renormalises each step and ignores what may still follow, so it bends the law of the texts.
What is here corrects that, or says by how much. START HERE:

interfaces       how samplers see a model, a potential, and each other
posterior        the law to sample: model, constraint, potentials, a budget of tokens
results          Sample and Samples: texts with their weights
families         the ways to sample, by name
potentials       critics: conditions and weights beyond grammars
search           the best texts instead of drawn ones

The names below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.lazy import importing

_HOMES = {
    "FAMILIES": "structgen.sample.families",
    "draw": "structgen.sample.families",
    "sample": "structgen.sample.api",
    "posterior_of": "structgen.sample.api",
    "Posterior": "structgen.sample.posterior",
    "Sample": "structgen.sample.results",
    "Samples": "structgen.sample.results",
    "Estimate": "structgen.sample.results",
    "TableModel": "structgen.sample.table",
    "LanguageModel": "structgen.sample.language_model",
    "exact_law": "structgen.sample.exact",
    "PrefixTrie": "structgen.sample.prefix_trie",
    "Mask": "structgen.sample.independent",
    "Awrs": "structgen.sample.independent",
    "Rejection": "structgen.sample.independent",
    "Asap": "structgen.sample.asap",
    "Cars": "structgen.sample.cars",
    "Smc": "structgen.sample.smc",
    "BestOf": "structgen.sample.best_of",
    "Beam": "structgen.sample.beam",
    "BestFirst": "structgen.sample.search",
    "MonteCarlo": "structgen.sample.search",
    "Critic": "structgen.sample.potentials",
    "TextCritic": "structgen.sample.potentials",
    "Product": "structgen.sample.potentials",
    "Context": "structgen.sample.context",
    "OnText": "structgen.sample.predicates",
    "OnTokens": "structgen.sample.predicates",
    "OnValue": "structgen.sample.predicates",
    "PartialValue": "structgen.spec.partial_json",
    "read_partial": "structgen.spec.partial_json",
    "SecondModel": "structgen.sample.second_model",
    "Monitor": "structgen.sample.monitors",
    "Monitored": "structgen.sample.monitors",
    "PythonNames": "structgen.sample.names_python",
    "SqlNames": "structgen.sample.names_sql",
    "prepares": "structgen.sample.names_sql",
    "join": "structgen.sample.joined",
}
__all__ = [
    "FAMILIES",
    "Asap",
    "Awrs",
    "Beam",
    "BestFirst",
    "BestOf",
    "Cars",
    "Context",
    "Critic",
    "Estimate",
    "LanguageModel",
    "Mask",
    "Monitor",
    "Monitored",
    "MonteCarlo",
    "OnText",
    "OnTokens",
    "OnValue",
    "PartialValue",
    "Posterior",
    "PrefixTrie",
    "Product",
    "PythonNames",
    "Rejection",
    "Sample",
    "Samples",
    "SecondModel",
    "Smc",
    "SqlNames",
    "TableModel",
    "TextCritic",
    "draw",
    "exact_law",
    "join",
    "posterior_of",
    "prepares",
    "read_partial",
    "sample",
]

if TYPE_CHECKING:
    from structgen.sample.api import posterior_of as posterior_of
    from structgen.sample.api import sample as sample
    from structgen.sample.asap import Asap as Asap
    from structgen.sample.beam import Beam as Beam
    from structgen.sample.best_of import BestOf as BestOf
    from structgen.sample.cars import Cars as Cars
    from structgen.sample.context import Context as Context
    from structgen.sample.exact import exact_law as exact_law
    from structgen.sample.families import FAMILIES as FAMILIES
    from structgen.sample.families import draw as draw
    from structgen.sample.independent import Awrs as Awrs
    from structgen.sample.independent import Mask as Mask
    from structgen.sample.independent import Rejection as Rejection
    from structgen.sample.joined import join as join
    from structgen.sample.language_model import LanguageModel as LanguageModel
    from structgen.sample.monitors import Monitor as Monitor
    from structgen.sample.monitors import Monitored as Monitored
    from structgen.sample.names_python import PythonNames as PythonNames
    from structgen.sample.names_sql import SqlNames as SqlNames
    from structgen.sample.names_sql import prepares as prepares
    from structgen.sample.posterior import Posterior as Posterior
    from structgen.sample.potentials import Critic as Critic
    from structgen.sample.potentials import Product as Product
    from structgen.sample.potentials import TextCritic as TextCritic
    from structgen.sample.predicates import OnText as OnText
    from structgen.sample.predicates import OnTokens as OnTokens
    from structgen.sample.predicates import OnValue as OnValue
    from structgen.sample.prefix_trie import PrefixTrie as PrefixTrie
    from structgen.sample.results import Estimate as Estimate
    from structgen.sample.results import Sample as Sample
    from structgen.sample.results import Samples as Samples
    from structgen.sample.search import BestFirst as BestFirst
    from structgen.sample.search import MonteCarlo as MonteCarlo
    from structgen.sample.second_model import SecondModel as SecondModel
    from structgen.sample.smc import Smc as Smc
    from structgen.sample.table import TableModel as TableModel
    from structgen.spec.partial_json import PartialValue as PartialValue
    from structgen.spec.partial_json import read_partial as read_partial


__getattr__ = importing(__name__, _HOMES)
