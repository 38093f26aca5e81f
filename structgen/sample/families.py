"""In: the name of a way to sample, or an object that is one. Out: a Family."""

from __future__ import annotations

import difflib
import importlib

from structgen.errors import GenerationError
from structgen.sample.interfaces import Family
from structgen.sample.posterior import Posterior
from structgen.sample.results import Samples

#: name -> module and class; the class's defaults are what the name means.
FAMILIES = {
    "mask": ("structgen.sample.independent", "Mask"),
    "rejection": ("structgen.sample.independent", "Rejection"),
    "asap": ("structgen.sample.asap", "Asap"),
    "cars": ("structgen.sample.cars", "Cars"),
    "awrs": ("structgen.sample.independent", "Awrs"),
    "smc": ("structgen.sample.smc", "Smc"),
    "best_of": ("structgen.sample.best_of", "BestOf"),
    "beam": ("structgen.sample.beam", "Beam"),
    "best_first": ("structgen.sample.search", "BestFirst"),
    "mcts": ("structgen.sample.search", "MonteCarlo"),
}


def family(sampler: str | Family) -> Family:
    """What a name means, with its defaults. GenerationError for a name that means nothing."""
    if not isinstance(sampler, str):
        return sampler
    if sampler not in FAMILIES:
        close = difflib.get_close_matches(sampler, FAMILIES, 1)
        raise GenerationError(
            f"there is no sampler {sampler!r}",
            expected="one of " + ", ".join(FAMILIES),
            hint=f"did you mean {close[0]!r}?" if close else "",
        )
    module, name = FAMILIES[sampler]
    made: Family = getattr(importlib.import_module(module), name)()
    return made


def draw(
    posterior: Posterior, sampler: str | Family = "cars", n: int = 1, seed: int | None = None
) -> Samples:
    """`n` samples of a posterior.

    sampler: a name of FAMILIES, or such an object with options of its own, as `Smc(particles=5)`.
    Equal seeds give equal samples. GenerationError or TruncatedError when it cannot.
    """
    return family(sampler).draw(posterior, n, seed)
