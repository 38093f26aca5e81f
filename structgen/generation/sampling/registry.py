"""The samplers by name, and `draw`, which runs one."""

from __future__ import annotations

import importlib
from typing import Protocol

from structgen.generation.checks import check, has_method, refuse_unknown
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples

#: name -> module and class; the class's defaults are what the name means.
FAMILIES = {
    "mask": ("structgen.generation.sampling.samplers.independent", "Mask"),
    "rejection": ("structgen.generation.sampling.samplers.independent", "Rejection"),
    "asap": ("structgen.generation.sampling.samplers.trie_samplers", "Asap"),
    "cars": ("structgen.generation.sampling.samplers.trie_samplers", "Cars"),
    "awrs": ("structgen.generation.sampling.samplers.independent", "Awrs"),
    "smc": ("structgen.generation.sampling.samplers.smc", "Smc"),
    "best_of": ("structgen.generation.sampling.samplers.best_of", "BestOf"),
    "beam": ("structgen.generation.sampling.search.beam", "Beam"),
    "best_first": ("structgen.generation.sampling.search.best_first", "BestFirst"),
    "mcts": ("structgen.generation.sampling.search.monte_carlo", "MonteCarlo"),
}


class SequenceSampler(Protocol):
    """A way to sample; what `draw` and `generate(sampler=...)` run."""

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` samples; equal seeds give equal samples. GenerationError when it cannot."""


def sampler_named(sampler: str | SequenceSampler) -> SequenceSampler:
    """The sampler of a name, with its defaults. GenerationError for an unknown name."""
    if not isinstance(sampler, str):
        fine = has_method("draw")(sampler)
        check("sampler", sampler, fine, "a name of sg.sample.FAMILIES, or such an object")
        return sampler
    if sampler not in FAMILIES:
        refuse_unknown("sampler", sampler, FAMILIES)
    module, name = FAMILIES[sampler]
    made: SequenceSampler = getattr(importlib.import_module(module), name)()
    return made


def draw(
    posterior: Posterior,
    sampler: str | SequenceSampler = "cars",
    n: int = 1,
    seed: int | None = None,
) -> Samples:
    """`n` samples of a posterior.

    sampler: a name of FAMILIES, or such an object with options of its own, as `Smc(particles=5)`.
    Equal seeds give equal samples. GenerationError or TruncatedError when it cannot.
    """
    return sampler_named(sampler).draw(posterior, n, seed)
