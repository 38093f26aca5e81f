"""Runs samplers on tasks of the demo model, each within a budget, and estimates their divergence.

A budget is a number of prefixes that go through the model, or seconds. A sampler draws answers one
after another until it is used up, and what it answered last counts: samplers that learn have learnt
by then, the others answer as they always do, and those that found nothing have no answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from jsonschemabench.aligned.tasks import Task
from structgen.errors import TruncatedError
from structgen.generation.generator import Generator
from structgen.generation.sampling.api import posterior_of
from structgen.generation.sampling.language_model import LanguageModel
from structgen.generation.sampling.registry import SequenceSampler, draw
from structgen.generation.sampling.results import Sample
from structgen.generation.sampling.samplers.best_of import BestOf
from structgen.generation.sampling.samplers.independent import Awrs, Mask, Rejection
from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.samplers.trie_samplers import Asap, Cars

MAX_TOKENS = 60
MAX_ANSWERS = 40
ATTEMPTS = 400  # of CARS, for the reference
ROUND = 8  # attempts of those that fail, before the clock is looked at

#: Arms, each made anew for a run: what it has learnt is its own.
ARMS: dict[str, Callable[[], SequenceSampler]] = {
    "mask": lambda: Mask(1),
    "awrs": lambda: Awrs(max_attempts=1),
    "best of 8": lambda: BestOf(8, Mask(1)),
    "smc 5": lambda: Smc(5, max_attempts=1),
    "smc 20": lambda: Smc(20, max_attempts=1),
    "asap": lambda: Asap(PrefixTrie(), max_attempts=1),
    "cars": lambda: Cars(PrefixTrie(), batch=ROUND, max_attempts=ROUND),
    "rejection": lambda: Rejection(max_attempts=ROUND),
}


@dataclass(frozen=True)
class Budget:
    """What a run may cost: `rows` prefixes read by the model, or `seconds`; the other is None."""

    rows: int | None = None
    seconds: float | None = None

    def is_used_up(self, rows: int, seconds: float) -> bool:
        """Whether no further answer is begun."""
        return (self.rows is not None and rows >= self.rows) or (
            self.seconds is not None and seconds >= self.seconds
        )


@dataclass
class Run:
    """What an arm made of a task. `answers` in order; `failures` are attempts without a text."""

    task: Task
    arm: str
    answers: list[Sample] = field(default_factory=list)
    failures: int = 0
    rows: int = 0
    seconds: float = 0.0
    checks: int = 0

    @property
    def right(self) -> bool:
        """Whether the last answer is right; False when there is none."""
        return bool(self.answers) and self.task.is_right(self.answers[-1].text)

    @property
    def tokens(self) -> int:
        """Tokens of all answers."""
        return sum(len(answer.tokens) for answer in self.answers)


def run_arm(generator: Generator, task: Task, arm: str, budget: Budget, seed: int) -> Run:
    """Let an arm answer a task until the budget is used up, or there are MAX_ANSWERS."""
    posterior = posterior_of(generator, task.prompt, task.spec, max_tokens=MAX_TOKENS)
    model = posterior.model
    if not isinstance(model, LanguageModel):
        raise TypeError("the posterior of a Generator has a LanguageModel")
    sampler = ARMS[arm]()
    done = Run(task, arm)
    begun = time.perf_counter()
    turn = 0
    while len(done.answers) < MAX_ANSWERS:
        if budget.is_used_up(model.rows_read, time.perf_counter() - begun):
            break
        try:
            done.answers.append(draw(posterior, sampler, 1, seed * 1_000_003 + turn)[0])
        except TruncatedError:
            done.failures += 1
        turn += 1
        if not (budget.rows is None or turn < 50 * MAX_ANSWERS):
            break  # whatever it reads is cached by now, so the rows would never be used up
    done.seconds = time.perf_counter() - begun
    done.rows, done.checks = model.rows_read, posterior.checks
    return done


@dataclass(frozen=True)
class Reference:
    """Estimate of a task's evidence, the probability that the model's text fits the spec.

    Its log, its relative standard error, and the sampler that made it.
    """

    log_evidence: float
    relative_error: float
    sampler: str


def reference(generator: Generator, task: Task, seed: int) -> Reference:
    """The evidence by CARS where it finds texts, else by SMC with a large population.

    A first run of CARS fills its trie; a second one, which fails less, makes the estimate.
    """
    posterior = posterior_of(generator, task.prompt, task.spec, max_tokens=MAX_TOKENS)
    sampler = Cars(PrefixTrie(), batch=ROUND, max_attempts=ATTEMPTS)
    try:
        draw(posterior, sampler, MAX_ANSWERS, seed)
        found = draw(posterior, sampler, 2 * MAX_ANSWERS, seed + 1)
        how = "cars"
    except TruncatedError:
        found = draw(posterior, Smc(50), MAX_ANSWERS, seed)
        how = "smc 50"
    evidence = found.satisfied
    return Reference(math.log(evidence.value), evidence.standard_error / evidence.value, how)


def divergence(runs: Sequence[Run], evidence: dict[str, Reference]) -> tuple[float, float]:
    """KL(distribution of the arm || posterior) in nats, from the answers' weights, and its error.

    The mean of log Z - log weight over all answers. For SMC it is an upper bound, since a draw's
    weight is that of its whole population.
    """
    gaps = [
        evidence[run.task.name].log_evidence - answer.log_weight
        for run in runs
        for answer in run.answers
    ]
    found = np.array([gap for gap in gaps if math.isfinite(gap)])
    if len(found) < 2:
        return math.nan, math.nan
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))
