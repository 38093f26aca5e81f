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
from structgen.generation.sampling.registry import draw
from structgen.generation.sampling.samplers.asap import Asap
from structgen.generation.sampling.samplers.cars import Cars
from structgen.generation.sampling.samplers.independent import Mask
from structgen.generation.sampling.samplers.interfaces import SequenceSampler
from structgen.generation.sampling.samplers.particles import run
from structgen.generation.sampling.samplers.prefix_trie import NONE, PrefixTrie
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.table import TableModel

SAMPLES = 200
POPULATIONS = 6000


@dataclass(frozen=True)
class Distance:
    """KL(law of a sampler || posterior), in nats.

    kl: of the law that the sampler has after 200 samples; enumerated, or for SMC the mean law of
    many populations, whose `floor` is what chance alone would give. empirical: the plug-in estimate
    from 200 samples, whose floor is (strings - 1) / 400 = 0.04.
    """

    sampler: str
    kl: float
    floor: float
    empirical: float


def seventeen() -> Posterior:
    """The posterior; its evidence is 17/32."""
    vocabulary = sg.Vocabulary([b"0", b"1", b"</s>"], eos_ids=[2])
    model = TableModel(3, lambda _: (0.5, 0.5, 0.0))
    return Posterior(model, sg.compile(sg.Regex("00000|1[01]{4}"), vocabulary), max_tokens=5)


def distances(seed: int) -> list[Distance]:
    """Mask, ASAp, CARS and SMC with five particles, in that order."""
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
    laws = {
        "mask": law_of_tries(posterior, PrefixTrie(), masked=True),
        "asap": law_of_tries(posterior, tries["asap"], masked=True),
        "cars": law_of_tries(posterior, tries["cars"], masked=False),
        "smc5": _law_of_populations(posterior, seed),
    }
    chance = (len(target) - 1) / (2 * POPULATIONS)
    return [
        Distance(
            sampler=name,
            kl=max(kl(laws[name], target), 0.0),
            floor=chance if name == "smc5" else 0.0,
            empirical=kl(drawn[name], target),
        )
        for name in arms
    ]


def law_of_tries(posterior: Posterior, trie: PrefixTrie, *, masked: bool) -> dict[Tokens, float]:
    """The law of the next sample, by walking all strings: p * theta where the trie has been.

    On new ground p is masked (ASAp, and masking itself with an empty trie) or not (CARS, whose
    attempts outside the constraint fail and are left out).
    """
    law: dict[Tokens, float] = {}

    def go_on(place: Place, node: int, q: float) -> None:
        if posterior.ended(place):
            law[place.tokens] = q
            return
        ids = posterior.allowed(place).tolist()
        weights = np.exp(posterior.log_probs([place])[0])[ids]
        total = weights.sum() if masked or node != NONE else 1.0
        if node != NONE:
            weights = weights * np.exp(trie.nodes[node].log_theta)
            total = weights.sum()
        for token, weight in zip(ids, weights, strict=True):
            if weight > 0:
                below = trie.child(node, token) if node != NONE else NONE
                go_on(posterior.after(place, token), below, q * float(weight / total))

    go_on(posterior.start, trie.root, 1.0)
    whole = sum(law.values())
    return {y: q / whole for y, q in law.items()}


def _law_of_populations(posterior: Posterior, seed: int) -> dict[Tokens, float]:
    """The mean law of one draw from a population of five."""
    sampler = Smc(5)
    rngs = [np.random.default_rng([seed, i]) for i in range(POPULATIONS)]
    law: dict[Tokens, float] = {}
    stepper = sampler.stepper
    for group in run(posterior, stepper, 5, rngs, sampler.resample):
        weights = np.exp([particle.log_weight for particle in group])
        for particle, weight in zip(group, weights / weights.sum(), strict=True):
            y = particle.place.tokens
            law[y] = law.get(y, 0.0) + float(weight) / POPULATIONS
    return law
