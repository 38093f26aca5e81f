"""Measures samplers on a grammar of seventeen strings, whose posterior is known exactly.

The grammar `00000 | 1xxxx` of the ASAp paper (arXiv 2405.21047) under a model that takes both bits
to be equally probable: the posterior is uniform. What a sampler draws is compared with it by the
Kullback-Leibler divergence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import structgen as sg
from structgen.generation.sampling.exact import exact_law, frequencies, kl
from structgen.generation.sampling.interfaces import Place, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import SequenceSampler, draw
from structgen.generation.sampling.samplers.independent import Mask
from structgen.generation.sampling.samplers.particles import run
from structgen.generation.sampling.samplers.prefix_trie import NONE, PrefixTrie
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.samplers.trie_samplers import Asap, Cars
from structgen.generation.sampling.table import TableModel

SAMPLES = 200
POPULATIONS = 6000


@dataclass(frozen=True)
class Distance:
    """KL(distribution of a sampler || posterior), in nats.

    kl: of the distribution that the sampler has after 200 samples; enumerated, or for SMC the mean
    over many populations, whose `floor` is what chance alone would give. empirical: the plug-in
    estimate from 200 samples, whose floor is (strings - 1) / 400 = 0.04.
    """

    sampler: str
    kl: float
    floor: float
    empirical: float


def seventeen() -> Posterior:
    """The posterior over the seventeen strings; its evidence is 17/32."""
    vocabulary = sg.Vocabulary([b"0", b"1", b"</s>"], eos_ids=[2])
    model = TableModel(3, lambda _: (0.5, 0.5, 0.0))
    return Posterior(model, sg.compile(sg.Regex("00000|1[01]{4}"), vocabulary), max_tokens=5)


def distances(seed: int) -> list[Distance]:
    """The divergences of masking, ASAp, CARS and SMC with five particles, in that order."""
    posterior = seventeen()
    target = {y: math.exp(logp) for y, logp in exact_law(posterior).log_probs.items()}
    tries = {"asap": PrefixTrie(), "cars": PrefixTrie()}
    arms: dict[str, SequenceSampler] = {
        "mask": Mask(),
        "asap": Asap(tries["asap"]),
        "cars": Cars(tries["cars"]),
        "smc5": Smc(5),
    }
    drawn = {
        name: frequencies(s.tokens for s in draw(posterior, arm, SAMPLES, seed))
        for name, arm in arms.items()
    }
    exact = {
        "mask": next_sample(posterior, PrefixTrie(), masked=True),
        "asap": next_sample(posterior, tries["asap"], masked=True),
        "cars": next_sample(posterior, tries["cars"], masked=False),
        "smc5": _mean_of_populations(posterior, seed),
    }
    chance = (len(target) - 1) / (2 * POPULATIONS)
    return [
        Distance(
            sampler=name,
            kl=max(kl(exact[name], target), 0.0),
            floor=chance if name == "smc5" else 0.0,
            empirical=kl(drawn[name], target),
        )
        for name in arms
    ]


def next_sample(posterior: Posterior, trie: PrefixTrie, *, masked: bool) -> dict[Tokens, float]:
    """The exact distribution of the next sample, by enumeration of all strings.

    Where the trie has a node, a token has the probability p * theta, normalised; elsewhere p is
    masked (ASAp, and masking itself with an empty trie) or not (CARS, whose attempts outside the
    constraint fail and are left out).
    """
    found: dict[Tokens, float] = {}

    def go_on(context: Place, node: int, q: float) -> None:
        """Add the strings that begin with this context, which q is the probability of."""
        if posterior.ended(context):
            found[context.tokens] = q
            return
        ids = posterior.allowed(context).tolist()
        weights = np.exp(posterior.log_probs([context])[0])[ids]
        total = weights.sum() if masked or node != NONE else 1.0
        if node != NONE:
            weights = weights * np.exp(trie.nodes[node].log_theta)
            total = weights.sum()
        for token, weight in zip(ids, weights, strict=True):
            if weight > 0:
                below = trie.child(node, token) if node != NONE else NONE
                go_on(posterior.after(context, token), below, q * float(weight / total))

    go_on(posterior.start, trie.root, 1.0)
    whole = sum(found.values())
    return {y: q / whole for y, q in found.items()}


def _mean_of_populations(posterior: Posterior, seed: int) -> dict[Tokens, float]:
    """The distribution of one draw from a population of five, as the mean over POPULATIONS."""
    sampler = Smc(5)
    rngs = [np.random.default_rng([seed, i]) for i in range(POPULATIONS)]
    found: dict[Tokens, float] = {}
    stepper = sampler.stepper
    for group in run(posterior, stepper, 5, rngs, sampler.resample):
        weights = np.exp([particle.log_weight for particle in group])
        for particle, weight in zip(group, weights / weights.sum(), strict=True):
            y = particle.place.tokens
            found[y] = found.get(y, 0.0) + float(weight) / POPULATIONS
    return found
