"""In: a model, a prompt and a spec. Out: samples of the model's own law, given that the text fits.

Masking renormalises each step and ignores what may still follow, so it bends the law of the texts.
What is here corrects that, or says by how much. START HERE:

interfaces       how samplers see a model, a potential, and each other
posterior        the law to sample: model, constraint, potentials, a budget of tokens
results          Sample and Samples: texts with their weights
families         the ways to sample, by name

The names below are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "FAMILIES": "families",
    "draw": "families",
    "sample": "api",
    "posterior_of": "api",
    "Posterior": "posterior",
    "Sample": "results",
    "Samples": "results",
    "Estimate": "results",
    "TableModel": "table",
    "LanguageModel": "language_model",
    "exact_law": "exact",
    "PrefixTrie": "prefix_trie",
    "Mask": "independent",
    "Awrs": "independent",
    "Rejection": "independent",
    "Asap": "asap",
    "Cars": "cars",
    "Smc": "smc",
    "BestOf": "best_of",
    "Beam": "beam",
}
__all__ = [
    "FAMILIES",
    "Asap",
    "Awrs",
    "Beam",
    "BestOf",
    "Cars",
    "Estimate",
    "LanguageModel",
    "Mask",
    "Posterior",
    "PrefixTrie",
    "Rejection",
    "Sample",
    "Samples",
    "Smc",
    "TableModel",
    "draw",
    "exact_law",
    "posterior_of",
    "sample",
]

if TYPE_CHECKING:
    from structgen.sample.api import posterior_of as posterior_of
    from structgen.sample.api import sample as sample
    from structgen.sample.asap import Asap as Asap
    from structgen.sample.beam import Beam as Beam
    from structgen.sample.best_of import BestOf as BestOf
    from structgen.sample.cars import Cars as Cars
    from structgen.sample.exact import exact_law as exact_law
    from structgen.sample.families import FAMILIES as FAMILIES
    from structgen.sample.families import draw as draw
    from structgen.sample.independent import Awrs as Awrs
    from structgen.sample.independent import Mask as Mask
    from structgen.sample.independent import Rejection as Rejection
    from structgen.sample.language_model import LanguageModel as LanguageModel
    from structgen.sample.posterior import Posterior as Posterior
    from structgen.sample.prefix_trie import PrefixTrie as PrefixTrie
    from structgen.sample.results import Estimate as Estimate
    from structgen.sample.results import Sample as Sample
    from structgen.sample.results import Samples as Samples
    from structgen.sample.smc import Smc as Smc
    from structgen.sample.table import TableModel as TableModel


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structgen.sample' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"structgen.sample.{home}"), name)
    globals()[name] = value
    return value
