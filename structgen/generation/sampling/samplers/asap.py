"""Adaptive sampling with approximate expected futures (ASAp, Park et al. 2024, arXiv 2405.21047).

Tokens are drawn by p * theta, where theta is an upper bound, learnt in a prefix trie, on the
probability that a text which goes on so fits. It starts at 1, so the first sample is that of
masking. The importance weights are proper at every iteration, converged or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from structgen.generation.distribution import draw, log_sum_exp
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples
from structgen.generation.sampling.samplers.prefix_trie import NONE, PrefixTrie
from structgen.generation.sampling.samplers.walks import (
    Attempt,
    OpenTrie,
    Trie,
    Walk,
    bounds,
    draw_rounds,
    failed,
)


@dataclass(frozen=True, slots=True)
class Asap:
    """The ASAp sampler: each sample learns from those before it.

    trie: what was learnt before: a PrefixTrie, which goes on learning, or a file, which is read if
    it is there and written afterwards, or a directory of such files, one for each prompt and spec.
    batch: walks that run side by side and learn from each other as they go; 1 learns the most from
    each sample. max_attempts: per sample.
    """

    trie: Trie | None = None
    batch: int = 1
    max_attempts: int = 100

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` weighted samples. TruncatedError when too many attempts fail."""
        opened = OpenTrie(self.trie, posterior)
        trie = opened.trie
        samples, attempts, meter = draw_rounds(
            posterior,
            lambda rng: _walk(posterior, trie, rng),
            lambda _attempts: trie.bound(),
            (n, self.batch, self.max_attempts * n),
            seed,
        )
        opened.close()
        limits = bounds(trie, samples)
        # The first n attempts are a number fixed before, so their mean is not biased.
        return Samples(tuple(samples), np.array(attempts[:n]), bounds=limits, **meter.read())


def _walk(posterior: Posterior, trie: PrefixTrie, rng: np.random.Generator) -> Walk:
    place, above, last = posterior.start, NONE, NONE
    logp = log_proposal = log_weight = 0.0
    while not posterior.ended(place):
        node = trie.child(above, last)
        if node == NONE:
            ids = posterior.allowed(place)
            row = (yield place) if len(ids) else np.empty(0)
            node = trie.add(above, last, ids, row[ids])
        weights = trie.weights(node)
        mass = log_sum_exp(weights)
        if mass == -math.inf:
            trie.update(node)
            return failed(place)
        index = draw(np.exp(weights - mass), rng)
        entry = trie.nodes[node]
        above, last = node, int(entry.ids[index])
        place = posterior.after(place, last)
        logp += float(entry.log_p[index])
        log_proposal += float(weights[index]) - mass
        # The weight p(text) / proposal(text), step by step: p / (p theta / mass) = mass / theta.
        log_weight += mass - float(entry.log_theta[index])
        if place.state == -1:
            trie.refuse(above, last)
            trie.update(above)
            return failed(place)
    if above != NONE:
        trie.update(above)
    return Attempt(place, logp, log_proposal, log_weight)
