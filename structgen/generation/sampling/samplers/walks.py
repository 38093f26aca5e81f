"""Attempts of the samplers that learn in a prefix trie, with the model asked in batches.

A walk is a generator: it yields a context whose next-token distribution it needs, and receives it.
Where the trie has the distribution already no model is needed, so walks run ahead until all of them
wait for the model.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structgen.generation.checks import check_count
from structgen.generation.distribution import row_rng
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Sample, check_found
from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie, load_trie, save_trie

Trie = PrefixTrie | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The end of a walk; if it failed, `log_weight` is -inf and the other numbers mean nothing."""

    place: Place
    logp_model: float
    logp_proposal: float
    log_weight: float


def failed(place: Place) -> Attempt:
    """The attempt of a walk that failed."""
    return Attempt(place, math.nan, math.nan, -math.inf)


Walk = Generator[Place, Doubles, Attempt]
StartWalk = Callable[[np.random.Generator], Walk]


def run_walks(posterior: Posterior, walks: Sequence[Walk]) -> list[Attempt]:
    """Run all walks to their ends, in step: one batch of the model for all that wait."""
    attempts: dict[int, Attempt] = {}
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


def draw_rounds(
    posterior: Posterior,
    start: StartWalk,
    end_round: Callable[[list[Attempt]], None],
    sizes: tuple[int, int, int],
    seed: int | None,
) -> tuple[list[Sample], list[float], UsageMeter]:
    """Rounds of walks until `n` succeed: the samples, and the log-weights of all attempts so far.

    sizes: n, walks in a round, most attempts. Of the last round, attempts after the n-th success
    are left out; which attempts succeed first must not depend on how long they take.
    """
    n, batch, most = sizes
    check_count("n", n)
    check_count("batch", batch)
    meter = UsageMeter(posterior)
    samples: list[Sample] = []
    weights: list[float] = []
    while len(samples) < n and len(weights) < most:
        first = len(weights)
        rngs = [row_rng(seed, i) for i in range(first, min(first + batch, most))]
        attempts = run_walks(posterior, [start(rng) for rng in rngs])
        end_round(attempts)
        for attempt in attempts:
            weight = attempt.log_weight
            if weight > -math.inf:
                weight += float(posterior.log_factors([attempt.place])[0])
            weights.append(weight)
            if weight > -math.inf:
                logs = attempt.logp_model, attempt.logp_proposal, weight
                samples.append(posterior.sample(attempt.place, *logs))
            if len(samples) == n:
                break
    check_found(len(samples), n, len(weights))
    return samples, weights, meter


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
