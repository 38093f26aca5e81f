"""Draw one token: under the mask, from the model alone, or by testing one token after another.

Each step is properly weighted, so that texts drawn step by step stand for the posterior. The mask
renormalises what is allowed, and the mass it keeps is the token's weight. Adaptive weighted
rejection sampling (AWRS, Lipkin et al. 2025, arXiv 2504.05410) makes no mask: tokens are tested in
the order of a draw without replacement until one is accepted; that one is a draw from the masked
distribution, and testing one more token gives a weight that is unbiased for each token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check_count
from structgen.generation.distribution import draw, log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior

_FIRST_LOOK = 32  # tokens that are sorted at first; eight times as many if that is not enough


@dataclass(frozen=True, slots=True)
class Step:
    """One token, properly weighted.

    For every token t: E[exp(log_weight) * 1{token = t}] = p(t) if t is accepted, else 0, where p is
    the model's distribution of the next token. `token` is None, and log_weight -inf, where none was
    found.
    log_proposal: log of the probability with which the token was drawn; nan where it is unknown.
    """

    token: int | None
    log_weight: float
    log_proposal: float


NO_TOKEN = Step(None, -math.inf, math.nan)


class Stepper(Protocol):
    """Draws a token; the inner sampler of SMC."""

    def step(
        self, posterior: Posterior, place: Place, row: Doubles, rng: np.random.Generator
    ) -> Step:
        """A step at a place, given the model's log probabilities float64[V] there."""


@dataclass(frozen=True, slots=True)
class MaskStep:
    """Draws under the mask; where masks are not exact, by rejection inside the mask."""

    def step(
        self, posterior: Posterior, place: Place, row: Doubles, rng: np.random.Generator
    ) -> Step:
        """See `Stepper`."""
        if not posterior.exact_masks:
            return AwrsStep(among="allowed").step(posterior, place, row, rng)
        ids = posterior.allowed(place)
        logs = row[ids]
        mass = log_sum_exp(logs)
        if mass == -math.inf:
            return NO_TOKEN
        index = draw(np.exp(logs - mass), rng)
        return Step(int(ids[index]), mass, float(logs[index]) - mass)


@dataclass(frozen=True, slots=True)
class FreeStep:
    """Draws from the model's own distribution; a token that is not accepted ends the attempt."""

    def step(
        self, posterior: Posterior, place: Place, row: Doubles, rng: np.random.Generator
    ) -> Step:
        """See `Stepper`."""
        token = draw(np.exp(row), rng)
        accepted = posterior.accepts(place, token)
        return Step(token, 0.0, float(row[token])) if accepted else NO_TOKEN


@dataclass(frozen=True, slots=True)
class AwrsStep:
    """Draws a token by adaptive weighted rejection sampling.

    max_rejects: refusals after which an attempt is given up; None tests until one is accepted.
    among: which tokens are tested at all, while the others are known to be refused: "plausible"
    ones, by the bytes that may come next; "allowed" ones, by the mask, for constraints whose masks
    are not exact; or "all".
    GenerationError for a cap that is not positive.
    """

    max_rejects: int | None = None
    among: Literal["plausible", "allowed", "all"] = "plausible"

    def __post_init__(self) -> None:
        if self.max_rejects is not None:
            check_count("max_rejects", self.max_rejects)

    def step(
        self, posterior: Posterior, place: Place, row: Doubles, rng: np.random.Generator
    ) -> Step:
        """See `Stepper`."""
        ids = self._tested(posterior, place)
        order = without_replacement(row[ids], rng)
        token, log_weight = draw_in_order(
            ids, row[ids], order, lambda t: posterior.accepts(place, t), self.max_rejects
        )
        return Step(token, log_weight, math.nan)

    def _tested(self, posterior: Posterior, place: Place) -> npt.NDArray[np.int32]:
        if self.among == "plausible":
            return posterior.plausible(place)
        if self.among == "allowed":
            return posterior.allowed(place)
        return np.arange(posterior.model.vocab_size, dtype=np.int32)


def draw_in_order(
    ids: npt.NDArray[np.int32],
    logs: Doubles,
    order: Iterable[int],
    accepts: Callable[[int], bool],
    max_rejects: int | None = None,
) -> tuple[int | None, float]:
    """The first of some tokens that is accepted, and the log of its weight; (None, -inf) if none.

    ids: int32[k], ascending, and logs: float64[k], their log probabilities. order: positions of
    those that are possible, as drawn without replacement.
    """
    found = first_accepted((int(ids[i]) for i in order), accepts, max_rejects)
    if found.token is None:
        return None, -math.inf
    if found.alone:
        return found.token, float(logs[np.searchsorted(ids, found.token)])
    # Summed again from what is left: subtracting would lose all precision of a small rest.
    left = logs.copy()
    left[np.searchsorted(ids, found.rejected)] = -np.inf
    return found.token, min(log_sum_exp(left), 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of testing tokens in order.

    token: the first that was accepted, None if none was. rejected: those refused before it.
    alone: whether the next one in order was refused, so that the weight is p(token); otherwise it
    is the mass that was not rejected.
    """

    token: int | None
    rejected: tuple[int, ...]
    alone: bool = False

    def weight(self, p: Sequence[Any]) -> Any:
        """The weight under probabilities `p` of tokens; exact for rational numbers."""
        if self.token is None:
            return 0 * p[0]
        return p[self.token] if self.alone else sum(p) - sum(p[t] for t in self.rejected)


def first_accepted(
    order: Iterable[int], accepts: Callable[[int], bool], max_rejects: int | None = None
) -> Outcome:
    """Test the tokens of `order`, which are all that have a positive probability.

    The weight is right for each token t: over orders drawn without replacement, the mean of
    weight * 1{token = t} is p(t) if t is accepted, else 0. With `max_rejects` M, the M-th refusal
    gives up, with weight 0, and after M - 1 refusals no further token is tested.
    """
    rejected: list[int] = []
    tokens = iter(order)
    for token in tokens:
        if accepts(token):
            last = max_rejects is not None and len(rejected) >= max_rejects - 1
            following = None if last else next(tokens, None)
            alone = following is not None and not accepts(following)
            return Outcome(token, tuple(rejected), alone)
        rejected.append(token)
        if max_rejects is not None and len(rejected) >= max_rejects:
            break
    return Outcome(None, tuple(rejected))


def without_replacement(logs: Doubles, rng: np.random.Generator) -> Iterator[int]:
    """Indices into log-weights float64[k] as draws without replacement; -inf never comes.

    By Gumbel keys (Vieira 2014; Kool, van Hoof & Welling 2019): O(k), and little more for each
    index that is looked at.
    """
    with np.errstate(divide="ignore"):
        keys = logs - np.log(rng.standard_exponential(len(logs)))
    possible = int((logs > -np.inf).sum())
    look = given = 0
    while given < possible:
        look = min(max(_FIRST_LOOK, 8 * look), possible)
        top = np.argpartition(-keys, look - 1)[:look]
        yield from top[np.argsort(-keys[top], kind="stable")][given:look].tolist()
        given = look
