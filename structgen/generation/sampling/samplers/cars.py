"""Constrained adaptive rejection sampling (CARS, arXiv 2510.01902): exact, independent samples.

Where the prefix trie has no node yet, tokens are drawn from the model itself, and an attempt that
leaves the constraint fails; where it has one, p * theta avoids what is known to fail. The
normalisers cancel along the way, so an attempt ends in a fitting text with probability
p(text) / theta(root), the same factor for all texts. Attempts get fewer as the trie learns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from structgen.generation.distribution import draw, log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples
from structgen.generation.sampling.samplers.independent import exact_samples
from structgen.generation.sampling.samplers.prefix_trie import NONE, Ids, PrefixTrie
from structgen.generation.sampling.samplers.walks import (
    Attempt,
    OpenTrie,
    Trie,
    Walk,
    bounds,
    draw_rounds,
    failed,
)


@dataclass(slots=True)
class Learnt:
    """What a walk adds to the trie: new nodes, in order, and a token after which no text fits."""

    nodes: list[tuple[Tokens, Ids, Doubles]]
    refused: tuple[Tokens, int] | None = None

    def teach(self, trie: PrefixTrie) -> None:
        """Add it to the trie."""
        for tokens, ids, log_p in self.nodes:
            above, last = (trie.find(tokens[:-1]), tokens[-1]) if tokens else (NONE, NONE)
            trie.update(trie.add(above, last, ids, log_p))
        if self.refused is not None:
            node = trie.find(self.refused[0])
            trie.refuse(node, self.refused[1])
            trie.update(node)


@dataclass(frozen=True, slots=True)
class Cars:
    """The CARS sampler: exact, independent samples.

    trie: as in `Asap`; one trie may serve both. batch: attempts that run side by side; they learn
    nothing from each other until all have ended, which keeps them exact. max_attempts: of all
    samples together.
    """

    trie: Trie | None = None
    batch: int = 8
    max_attempts: int = 10_000

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` independent samples of the posterior. TruncatedError when not enough fit."""
        opened = OpenTrie(self.trie, posterior)
        trie = opened.trie
        learnt: list[Learnt] = []

        def start(rng: np.random.Generator) -> Walk:
            learnt.append(Learnt([]))
            return _walk(posterior, trie, rng, learnt[-1])

        def end_round(_attempts: list[Attempt]) -> None:
            for one in learnt:
                one.teach(trie)
            learnt.clear()
            trie.bound()

        sizes = (n, self.batch, self.max_attempts)
        samples, attempts, meter = draw_rounds(posterior, start, end_round, sizes, seed)
        opened.close()
        found = exact_samples(posterior, samples, attempts, meter)
        return replace(found, bounds=bounds(trie, samples))


def _walk(posterior: Posterior, trie: PrefixTrie, rng: np.random.Generator, learnt: Learnt) -> Walk:
    """Walk without changing the trie: a round's attempts share the factor theta(root)."""
    place, node = posterior.start, trie.root
    log_weight = trie.log_theta
    logp = log_proposal = 0.0
    while not posterior.ended(place):
        if node != NONE:
            entry = trie.nodes[node]
            weights = trie.weights(node)
            mass = log_sum_exp(weights)
            if mass == -math.inf:
                return failed(place)
            index = draw(np.exp(weights - mass), rng)
            token = int(entry.ids[index])
            logp += float(entry.log_p[index])
            log_proposal += float(weights[index]) - mass
            node = trie.child(node, token)
        else:
            ids = posterior.allowed(place)
            row = (yield place) if len(ids) else np.empty(0)
            learnt.nodes.append((place.tokens, ids, row[ids]))
            if not len(ids):
                return failed(place)
            # New ground: draw from the model itself; a token outside the mask fails the attempt.
            token = draw(np.exp(row), rng)
            index = int(np.searchsorted(ids, token))
            if index == len(ids) or ids[index] != token:
                return failed(place)
            logp += float(row[token])
            log_proposal += float(row[token])
        before, place = place, posterior.after(place, token)
        if place.state == -1:
            learnt.refused = (before.tokens, token)
            return failed(place)
    return Attempt(place, logp, log_proposal, log_weight)
