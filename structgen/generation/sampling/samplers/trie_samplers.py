"""Samplers that learn in a prefix trie: CARS, whose samples are exact and independent, and ASAp.

Constrained adaptive rejection sampling (CARS, arXiv 2510.01902): where the prefix trie has no node
yet, tokens are drawn from the model itself, and an attempt that leaves the constraint fails; where
it has one, p * theta avoids what is known to fail. The normalisers cancel along the way, so an
attempt ends in a fitting text with probability p(text) / theta(root), the same factor for all
texts. Attempts get fewer as the trie learns.

Adaptive sampling with approximate expected futures (ASAp, Park et al. 2024, arXiv 2405.21047):
tokens are drawn by p * theta, where theta is an upper bound, learnt in a prefix trie, on the
probability that a text which goes on so fits. It starts at 1, so the first sample is that of
masking. The importance weights are proper at every iteration, converged or not.

An attempt is a walk, a generator: it yields a context whose next-token distribution it needs, and
receives it. Where the trie has the distribution already no model is needed, so walks run ahead
until all of them wait for the model.
"""

from __future__ import annotations

import math
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from structgen.generation.distribution import draw, log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Sample, Samples
from structgen.generation.sampling.samplers.independent import draw_rounds, exact_samples
from structgen.generation.sampling.samplers.particles import Particle
from structgen.generation.sampling.samplers.prefix_trie import (
    NONE,
    Ids,
    PrefixTrie,
    load_trie,
    save_trie,
)

Trie = PrefixTrie | str | os.PathLike[str]


def failed(place: Place) -> Particle:
    """The end of a walk that failed: its weight is 0."""
    return Particle(place, math.nan, math.nan, -math.inf)


Walk = Generator[Place, Doubles, Particle]


def run_walks(posterior: Posterior, walks: Sequence[Walk]) -> list[Particle]:
    """Run all walks to their ends, in step: one batch of the model for all that wait."""
    attempts: dict[int, Particle] = {}
    waiting: dict[int, Place] = {}

    def go_on(number: int, row: Doubles | None) -> None:
        try:
            waiting[number] = walks[number].send(row)  # type: ignore[arg-type]  # None starts it
        except StopIteration as stop:
            waiting.pop(number, None)
            attempts[number] = stop.value

    for number in range(len(walks)):
        go_on(number, None)
    while waiting:
        rows = posterior.log_probs(list(waiting.values()))
        for number, row in zip(list(waiting), rows, strict=True):
            go_on(number, row)
    return [attempts[number] for number in range(len(walks))]


def weighed(posterior: Posterior, attempts: Sequence[Particle]) -> Iterator[Particle]:
    """The attempts, their weights times the potentials' factors; asked when they are looked at."""
    for one in attempts:
        factor = posterior.log_factors([one.place])[0] if one.log_weight > -math.inf else 0.0
        yield replace(one, log_weight=one.log_weight + float(factor))


class OpenTrie:
    """A trie as the user gave it: an object, a file that is read and written again, or None.

    In a directory each prompt, model, spec and budget gets a file of its own.
    """

    def __init__(self, given: Trie | None, posterior: Posterior) -> None:
        self._path = None if given is None or isinstance(given, PrefixTrie) else Path(given)
        if self._path is not None and self._path.is_dir():
            self._path /= f"{posterior.key}.trie"
        if isinstance(given, PrefixTrie):
            self.trie = given
        elif self._path is not None and self._path.exists():
            self.trie = load_trie(self._path)
        else:
            self.trie = PrefixTrie()
        self.trie.made_for(posterior.key)

    def close(self) -> None:
        """Write the file, if there is one."""
        if self._path is not None:
            save_trie(self.trie, self._path)


def bounds(trie: PrefixTrie, samples: Sequence[Sample]) -> tuple[float, float]:
    """Below and above the evidence: the mass of the texts found, and the root's theta."""
    found = {sample.tokens: math.exp(sample.logp_model) for sample in samples}
    return min(math.fsum(found.values()), 1.0), math.exp(trie.log_theta)


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

        def run_round(rngs: list[np.random.Generator]) -> Iterator[Particle]:
            attempts = run_walks(posterior, [_asap_walk(posterior, trie, rng) for rng in rngs])
            trie.bound()
            return weighed(posterior, attempts)

        sizes = (n, self.batch, self.max_attempts * n)
        samples, attempts, meter = draw_rounds(posterior, run_round, sizes, seed)
        opened.close()
        limits = bounds(trie, samples)
        # The first n attempts are a number fixed before, so their mean is not biased.
        return Samples(tuple(samples), np.array(attempts[:n]), bounds=limits, **meter.read())


def _asap_walk(posterior: Posterior, trie: PrefixTrie, rng: np.random.Generator) -> Walk:
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
    return Particle(place, logp, log_proposal, log_weight)


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

        def run_round(rngs: list[np.random.Generator]) -> Iterator[Particle]:
            learnt = [Learnt([]) for _ in rngs]
            pairs = zip(rngs, learnt, strict=True)
            attempts = run_walks(posterior, [_cars_walk(posterior, trie, *pair) for pair in pairs])
            for one in learnt:
                one.teach(trie)
            trie.bound()
            return weighed(posterior, attempts)

        sizes = (n, self.batch, self.max_attempts)
        samples, attempts, meter = draw_rounds(posterior, run_round, sizes, seed)
        opened.close()
        found = exact_samples(posterior, samples, attempts, meter)
        return replace(found, bounds=bounds(trie, samples))


def _cars_walk(
    posterior: Posterior, trie: PrefixTrie, rng: np.random.Generator, learnt: Learnt
) -> Walk:
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
    return Particle(place, logp, log_proposal, log_weight)
