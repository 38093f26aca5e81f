"""`BestFirst` and `MonteCarlo`: the best texts of a posterior by tree search.

`BestFirst` expands what is most probable so far; `MonteCarlo` balances what has scored well against
what the model finds probable and was hardly tried. Texts are chosen, not drawn, so their
`log_weight` is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.checks import check_count
from structgen.generation.sampling.interfaces import Place
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Samples, check_found
from structgen.generation.sampling.search.best_first import Frontier
from structgen.generation.sampling.search.monte_carlo import Planner
from structgen.generation.sampling.search.tree import Tree, search

Score = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class BestFirst:
    """The `n` most probable texts (times the potentials' factors), the best first.

    Exact, if the budget lasts: the probability only falls while a text grows, so the first text
    that is reached is the best of all. It holds for potentials too whose weights never rise.

    budget: most prefixes that the model is asked for. batch: prefixes that are asked for together.
    score: if given, of the `candidates` most probable texts those that score best; it is asked once
    for each. width: most children of a prefix that are looked at; None looks at all.
    """

    budget: int = 4096
    batch: int = 8
    score: Score | None = None
    candidates: int = 16
    width: int | None = None

    def draw(self, posterior: Posterior, n: int, seed: int | None = None) -> Samples:
        """The `n` best found; `seed` is not used. TruncatedError when fewer are found in budget."""
        del seed
        _check(n, self.budget, self.batch, self.candidates, self.width)
        meter = UsageMeter(posterior)
        tree = Tree(posterior, self.budget, self.width)
        frontier = Frontier(tree, n if self.score is None else max(self.candidates, n))
        search(tree, frontier, self.batch)
        found = [(node.place, node.logp) for node in frontier.found]
        if self.score is not None:
            scores = {place: self.score(_text(posterior, place)) for place, _ in found}
            found.sort(key=lambda one: -scores[one[0]])
        return _chosen(posterior, found, n, meter)


@dataclass(frozen=True, slots=True)
class MonteCarlo:
    """The `n` best texts by a score that Monte Carlo tree search finds, the best first.

    From a prefix that looks promising texts are drawn as the model continues it under the
    constraint, and scored; the score is backed up to all their prefixes. Next comes the child
    with the highest Q + exploration * P * sqrt(N) / (1 + n): Q, its best score (backup="max", as in
    PG-TD, arXiv 2303.05510) or its mean score, scaled to 0..1 over all scores so far; P, its
    probability; N and n, the visits of its parent and its own (PUCT, AlphaGo Zero). What is known
    to the end is not visited again: with enough budget the best text of all is found.

    score: from text to number, asked once for each whole text; None takes the log-probability with
    the potentials' factors. budget: most prefixes that the model is asked for. rollouts: texts that
    are drawn from each new prefix. batch: prefixes that are tried together. width: most children of
    a prefix; None takes all that the constraint allows.
    """

    score: Score | None = None
    budget: int = 4096
    rollouts: int = 1
    exploration: float = 1.0
    backup: Literal["max", "mean"] = "max"
    batch: int = 8
    width: int | None = None

    def __post_init__(self) -> None:
        if self.backup not in {"max", "mean"}:
            raise GenerationError(f"backup is {self.backup!r}", expected='"max" or "mean"')
        if not 0 <= self.exploration < math.inf:
            raise GenerationError(f"exploration is {self.exploration!r}", expected="0 or more")

    def draw(self, posterior: Posterior, n: int, seed: int | None = None) -> Samples:
        """The `n` best found. TruncatedError when fewer are found in budget."""
        _check(n, self.budget, self.batch, self.rollouts, self.width)
        meter = UsageMeter(posterior)
        tree = Tree(posterior, self.budget, self.width)
        score = self.score

        def value(place: Place, weight: float) -> float:
            return weight if score is None else float(score(_text(posterior, place)))

        planner = Planner(tree, value, self.rollouts, self.exploration, self.backup, seed)
        search(tree, planner, self.batch)
        found = sorted(planner.found.items(), key=lambda one: -one[1].value)
        return _chosen(posterior, [(place, seen.logp) for place, seen in found], n, meter)


def _check(n: int, *counts: int | None) -> None:
    check_count("n", n)
    for count in counts:
        if count is not None:
            check_count("an option of the search", count)


def _text(posterior: Posterior, place: Place) -> str:
    vocabulary = posterior.constraint.vocabulary
    return vocabulary.decode_bytes(posterior.text_tokens(place)).decode(errors="replace")


def _chosen(
    posterior: Posterior, found: Iterable[tuple[Place, float]], n: int, meter: UsageMeter
) -> Samples:
    """The first `n` of the texts found, as samples without weights."""
    best = list(found)[:n]
    check_found(len(best), n, len(best))
    samples = (posterior.sample(place, logp, math.nan, math.nan) for place, logp in best)
    return Samples(tuple(samples), np.empty(0), **meter.read())
