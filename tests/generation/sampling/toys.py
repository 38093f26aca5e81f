"""Toy posteriors over a handful of tokens, small enough to enumerate.

The grammar of seventeen strings is that of the ASAp paper (arXiv 2405.21047): 00000, or 1 and four
bits, under a model that takes both bits to be equally probable. Masking makes 00000 as frequent as
all the others together.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

import structgen as sg
from structgen.generation.sampling.exact import exact_law
from structgen.generation.sampling.interfaces import Place, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.table import TableModel

ZERO, ONE, END = 0, 1, 2
BITS = sg.Vocabulary([b"0", b"1", b"</s>"], eos_ids=[END])
LETTERS = sg.Vocabulary([b"a", b"b", b"ab", b"c", b"</s>", b"</t>"], eos_ids=[4, 5])
RARE = (ZERO,) * 5

#: Patterns over LETTERS that masking distorts in different ways: dead ends, loops, two
#: tokenizations.
PATTERNS = ["aaa|b[abc]{2}", "(ab|ba)*c?", "a*b|c{2,3}", "(a|ab)(c|bcd?)?b*"]


def bits(pattern: str, max_tokens: int) -> Posterior:
    """A language of bits under the uniform model; a text ends where nothing can follow."""
    model = TableModel(3, lambda _: (0.5, 0.5, 0.0))
    return Posterior(model, sg.compile(sg.Regex(pattern), BITS), max_tokens=max_tokens)


def seventeen() -> Posterior:
    """The seventeen strings; Z is 17/32."""
    return bits("00000|1[01]{4}", 5)


def letters(
    pattern: str,
    seed: int,
    *,
    max_tokens: int = 4,
    concentration: float = 0.7,
    stop: Literal["complete", "eos"] = "eos",
) -> Posterior:
    """A language over LETTERS under a random model, with a distribution for every prefix."""
    model = TableModel.random(6, seed, concentration)
    constraint = sg.compile(sg.Regex(pattern), LETTERS)
    return Posterior(model, constraint, max_tokens=max_tokens, stop=stop)


def evidence_by_text(posterior: Posterior) -> dict[Tokens, float]:
    """The probability, not normalised, of each sequence: what proper weights must come to."""
    distribution = exact_law(posterior)
    return {
        y: math.exp(logp + distribution.log_evidence) for y, logp in distribution.log_probs.items()
    }


def posterior_distribution(posterior: Posterior) -> dict[Tokens, float]:
    """The normalised probability of each sequence."""
    return {y: math.exp(logp) for y, logp in exact_law(posterior).log_probs.items()}


def future(posterior: Posterior, place: Place) -> float:
    """The exact probability that a prefix ends well: c(prefix)."""
    if posterior.ended(place):
        return 1.0
    if posterior.remaining(place) <= 0:
        return 0.0
    p = np.exp(posterior.log_probs([place])[0])
    allowed = posterior.allowed(place).tolist()
    return float(sum(p[t] * future(posterior, posterior.after(place, t)) for t in allowed))


def masked_law(posterior: Posterior) -> dict[Tokens, float]:
    """The distribution of local masking, attempts that come to nothing left out."""
    distribution: dict[Tokens, float] = {}

    def go_on(place: Place, q: float) -> None:
        if posterior.ended(place):
            distribution[place.tokens] = q
            return
        ids = posterior.allowed(place).tolist()
        p = np.exp(posterior.log_probs([place])[0])[ids]
        for token, share in zip(ids, p / p.sum(), strict=True) if len(ids) else ():
            go_on(posterior.after(place, token), q * float(share))

    go_on(posterior.start, 1.0)
    total = sum(distribution.values())
    return {y: q / total for y, q in distribution.items()}
