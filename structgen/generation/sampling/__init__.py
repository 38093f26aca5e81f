"""Samplers of the model's own distribution over texts, given that the text fits the spec.

Masking renormalises at each step and ignores how likely a text is to end well from there, so it
distorts the distribution of whole texts. The samplers here correct that, or estimate by how much.
START HERE:

interfaces       how samplers see a model, a potential and a context
posterior        the distribution to sample: model, constraint, potentials, a budget of tokens
results          Sample and Samples: texts with importance weights
registry         the samplers by name, and `draw`
samplers         masking, rejection, AWRS, ASAp, CARS, SMC, best-of-n
potentials       critics: conditions and weights beyond grammars
search           the best texts instead of drawn ones: beam, best-first, Monte Carlo tree search

The names below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.util.lazy import importing

_HOMES = {
    "FAMILIES": "structgen.generation.sampling.registry",
    "draw": "structgen.generation.sampling.registry",
    "sample": "structgen.generation.sampling.api",
    "posterior_of": "structgen.generation.sampling.api",
    "Posterior": "structgen.generation.sampling.posterior",
    "Sample": "structgen.generation.sampling.results",
    "Samples": "structgen.generation.sampling.results",
    "Estimate": "structgen.generation.sampling.results",
    "TableModel": "structgen.generation.sampling.table",
    "LanguageModel": "structgen.generation.sampling.language_model",
    "exact_law": "structgen.generation.sampling.exact",
    "PrefixTrie": "structgen.generation.sampling.samplers.prefix_trie",
    "Mask": "structgen.generation.sampling.samplers.independent",
    "Awrs": "structgen.generation.sampling.samplers.independent",
    "Rejection": "structgen.generation.sampling.samplers.independent",
    "Asap": "structgen.generation.sampling.samplers.trie_samplers",
    "Cars": "structgen.generation.sampling.samplers.trie_samplers",
    "Smc": "structgen.generation.sampling.samplers.smc",
    "BestOf": "structgen.generation.sampling.samplers.best_of",
    "Beam": "structgen.generation.sampling.search.beam",
    "BestFirst": "structgen.generation.sampling.search.best_first",
    "MonteCarlo": "structgen.generation.sampling.search.monte_carlo",
    "Critic": "structgen.generation.sampling.potentials.potentials",
    "TextCritic": "structgen.generation.sampling.potentials.potentials",
    "Product": "structgen.generation.sampling.potentials.potentials",
    "Context": "structgen.generation.sampling.context",
    "OnText": "structgen.generation.sampling.potentials.predicates",
    "OnTokens": "structgen.generation.sampling.potentials.predicates",
    "OnValue": "structgen.generation.sampling.potentials.predicates",
    "PartialValue": "structgen.spec.partial_json",
    "read_partial": "structgen.spec.partial_json",
    "SecondModel": "structgen.generation.sampling.potentials.second_model",
    "Monitor": "structgen.generation.sampling.potentials.monitors",
    "Monitored": "structgen.generation.sampling.potentials.monitors",
    "PythonNames": "structgen.generation.sampling.potentials.names_python",
    "SqlNames": "structgen.generation.sampling.potentials.names_sql",
    "prepares": "structgen.generation.sampling.potentials.names_sql",
    "join": "structgen.generation.sampling.potentials.joined",
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
    from structgen.generation.sampling.api import posterior_of as posterior_of
    from structgen.generation.sampling.api import sample as sample
    from structgen.generation.sampling.context import Context as Context
    from structgen.generation.sampling.exact import exact_law as exact_law
    from structgen.generation.sampling.language_model import LanguageModel as LanguageModel
    from structgen.generation.sampling.posterior import Posterior as Posterior
    from structgen.generation.sampling.potentials.joined import join as join
    from structgen.generation.sampling.potentials.monitors import Monitor as Monitor
    from structgen.generation.sampling.potentials.monitors import Monitored as Monitored
    from structgen.generation.sampling.potentials.names_python import PythonNames as PythonNames
    from structgen.generation.sampling.potentials.names_sql import SqlNames as SqlNames
    from structgen.generation.sampling.potentials.names_sql import prepares as prepares
    from structgen.generation.sampling.potentials.potentials import Critic as Critic
    from structgen.generation.sampling.potentials.potentials import Product as Product
    from structgen.generation.sampling.potentials.potentials import TextCritic as TextCritic
    from structgen.generation.sampling.potentials.predicates import OnText as OnText
    from structgen.generation.sampling.potentials.predicates import OnTokens as OnTokens
    from structgen.generation.sampling.potentials.predicates import OnValue as OnValue
    from structgen.generation.sampling.potentials.second_model import SecondModel as SecondModel
    from structgen.generation.sampling.registry import FAMILIES as FAMILIES
    from structgen.generation.sampling.registry import draw as draw
    from structgen.generation.sampling.results import Estimate as Estimate
    from structgen.generation.sampling.results import Sample as Sample
    from structgen.generation.sampling.results import Samples as Samples
    from structgen.generation.sampling.samplers.best_of import BestOf as BestOf
    from structgen.generation.sampling.samplers.independent import Awrs as Awrs
    from structgen.generation.sampling.samplers.independent import Mask as Mask
    from structgen.generation.sampling.samplers.independent import Rejection as Rejection
    from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie as PrefixTrie
    from structgen.generation.sampling.samplers.smc import Smc as Smc
    from structgen.generation.sampling.samplers.trie_samplers import Asap as Asap
    from structgen.generation.sampling.samplers.trie_samplers import Cars as Cars
    from structgen.generation.sampling.search.beam import Beam as Beam
    from structgen.generation.sampling.search.best_first import BestFirst as BestFirst
    from structgen.generation.sampling.search.monte_carlo import MonteCarlo as MonteCarlo
    from structgen.generation.sampling.table import TableModel as TableModel
    from structgen.spec.partial_json import PartialValue as PartialValue
    from structgen.spec.partial_json import read_partial as read_partial


__getattr__ = importing(__name__, _HOMES)
