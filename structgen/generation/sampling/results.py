"""`Sample` and `Samples`: texts with importance weights, and what the weights estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from structgen.constraint.enforced import Enforced
from structgen.errors import GenerationError, TruncatedError
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.generation.sampling.samplers.resampling import resample


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, drawn by a sampler.

    text, value: what was written, and what it stands for. tokens: the ids, with the end token if
    the model ended the text itself. logp_model: natural log of the tokens' probability under the
    model (its temperature included), the constraint left aside. logp_proposal: the same under the
    sampler as it was then; nan where that cannot be said. log_weight: natural log of the importance
    weight: weighted so, samples stand for the posterior distribution; nan for texts that were not
    drawn. enforced: under which spec: see `structgen.constraint.enforced`.
    """

    text: str
    value: Any
    tokens: Tokens
    logp_model: float
    logp_proposal: float
    log_weight: float
    enforced: Enforced


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its standard error; nan where there are too few samples for an error."""

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Sequence[Sample]):
    """Samples of one posterior, in the order drawn.

    exact: whether they are independent draws from the posterior itself, as `cars` and `rejection`
    give; their weights are then equal. attempts: float64[m], read-only: log-weights of all
    attempts, those that failed (-inf) too; the mean of their exponentials estimates how probable
    the model makes the constraint. model_calls, model_rows: batches and prefixes that the model was
    asked for. checks: tokens whose membership was tested one by one. bounds: below and above the
    probability of the constraint for certain, where a prefix trie knows.
    """

    samples: tuple[Sample, ...]
    attempts: Doubles
    exact: bool = False
    model_calls: int = 0
    model_rows: int = 0
    checks: int = 0
    bounds: tuple[float, float] | None = None

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sample, ...]: ...
    def __getitem__(self, index: int | slice) -> Sample | tuple[Sample, ...]:
        return self.samples[index]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    @property
    def weights(self) -> Doubles:
        """float64[n]: normalised to sum 1."""
        logs = np.array([sample.log_weight for sample in self.samples])
        return normalised(logs)

    @property
    def effective_sample_size(self) -> float:
        """How many equally weighted samples these are worth, 0 to n: 1 / sum of squared weights."""
        return effective_size(np.array([sample.log_weight for sample in self.samples]))

    @property
    def satisfied(self) -> Estimate:
        """The probability that the model satisfies the constraint by itself, within the budget.

        With potentials that are not boolean it is the model's mean of their factor.
        """
        return mean_weight(self.attempts)

    def resample(self, count: int, seed: int | None = None) -> tuple[Sample, ...]:
        """`count` of the samples, drawn by their weights. GenerationError when none weighs."""
        rng = np.random.default_rng(seed)
        return tuple(self.samples[i] for i in resample("systematic", self.weights, count, rng))


def check_found(found: int, wanted: int, attempts: int) -> None:
    """TruncatedError unless enough samples were found."""
    if found < wanted:
        raise TruncatedError(
            f"{found} of {wanted} texts were found in {attempts} attempts",
            expected="texts that fit and end within max_tokens",
            hint="give more max_tokens or max_attempts, or a sampler that learns from failures, "
            "such as cars",
        )


def normalised(log_weights: Doubles) -> Doubles:
    """float64[n] that sum to 1. GenerationError when there are none or all are 0."""
    total = log_sum_exp(log_weights)
    if total == -math.inf:
        raise GenerationError("none of the samples has a weight", expected="at least one that fits")
    weights: Doubles = np.exp(log_weights - total)
    return weights


def effective_size(log_weights: Doubles) -> float:
    """(sum of weights)^2 / sum of their squares; 0 where all are 0, nan where one is nan."""
    if np.isnan(log_weights).any():
        return math.nan
    total = log_sum_exp(log_weights)
    if total == -math.inf:
        return 0.0
    return math.exp(2 * total - log_sum_exp(2 * log_weights))


def mean_weight(log_weights: Doubles) -> Estimate:
    """The mean of exponentials of float64[m], with its standard error."""
    if not len(log_weights):
        return Estimate(math.nan, math.nan)
    weights = np.exp(log_weights)
    error = weights.std(ddof=1) / math.sqrt(len(weights)) if len(weights) > 1 else math.nan
    return Estimate(float(weights.mean()), float(error))
