"""Turns logits into the distribution that a token is drawn from, and draws from it.

The order is fixed: mask, temperature, top-k, top-p, min-p. The mask comes first, and each transform
keeps the most probable token, so there is always something left to draw. A transform maps
log-weights float64[k] of the allowed tokens to log-weights float64[k], with -inf for what it drops;
equal weights are ordered by token id, so results do not depend on how a sort treats ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check, check_number, is_integer

Doubles = npt.NDArray[np.float64]

_FIRST_LOOK = 64  # tokens that top-p sorts at first; eight times as many if that is not enough
_BLOCK = 512  # weights in a block; `draw` sums blocks, then looks into the one it needs


def softmax(logits: Doubles) -> Doubles:
    """float64[k] probabilities of log-weights float64[k], not all of them -inf."""
    weights: Doubles = np.exp(logits - logits.max())
    weights /= weights.sum()
    return weights


def log_sum_exp(logits: Doubles) -> float:
    """Log of the sum of exponentials of float64[k]; -inf where there is nothing to sum."""
    top = logits.max(initial=-np.inf)
    return float(top + np.log(np.exp(logits - top).sum())) if top > -np.inf else -math.inf


def with_temperature(logits: Doubles, temperature: float) -> Doubles:
    """Divide by a temperature > 0; the largest becomes 0, so that a tiny one does no harm."""
    if temperature == 1.0:
        return logits
    with np.errstate(over="ignore"):  # what overflows becomes -inf, which is its limit
        scaled: Doubles = (logits - logits.max()) / temperature
    return scaled


def with_top_k(logits: Doubles, top_k: int) -> Doubles:
    """Keep the `top_k` largest; among equals at the edge, those that come first."""
    if top_k >= len(logits):
        return logits
    kept = largest(logits, top_k)
    limited = np.full_like(logits, -np.inf)
    limited[kept] = logits[kept]
    return limited


def with_top_p(logits: Doubles, top_p: float) -> Doubles:
    """Keep the fewest most probable tokens whose probabilities reach `top_p` together."""
    if top_p >= 1.0:
        return logits
    probabilities = softmax(logits)
    look = min(_FIRST_LOOK, len(logits))
    while True:
        order = largest(logits, look)
        mass = np.cumsum(probabilities[order])
        if mass[-1] >= top_p or look == len(logits):
            break
        look = min(8 * look, len(logits))
    kept = order[: int(np.searchsorted(mass, top_p)) + 1]
    limited = np.full_like(logits, -np.inf)
    limited[kept] = logits[kept]
    return limited


def with_min_p(logits: Doubles, min_p: float) -> Doubles:
    """Keep the tokens at least `min_p` times as probable as the most probable one."""
    if min_p <= 0.0:
        return logits
    return np.where(logits >= logits.max() + math.log(min_p), logits, -np.inf)


def largest(logits: Doubles, count: int) -> npt.NDArray[np.int64]:
    """Indices of the `count` largest, largest first, equals in the order of their indices."""
    if not count:
        return np.zeros(0, np.int64)
    edge = np.partition(logits, len(logits) - count)[len(logits) - count]
    candidates = np.flatnonzero(logits >= edge)
    order = np.argsort(-logits[candidates], kind="stable")[:count]
    return candidates[order]


def draw(weights: Doubles, rng: np.random.Generator) -> int:
    """An index with probabilities proportional to `weights`, never one of weight 0.

    Takes one uniform number u < 1: the index is that of the first edge of the cumulative sum
    *above* u times the total, and an empty bin has no such edge. O(k), with few passes.
    """
    # Two levels instead of one cumulative sum over all weights: first the block, then the index in
    # it.
    sums = np.add.reduceat(weights, np.arange(0, len(weights), _BLOCK))
    edges = np.cumsum(sums)
    wanted = rng.random() * edges[-1]
    block = min(int(np.searchsorted(edges, wanted, side="right")), int(np.flatnonzero(sums)[-1]))
    first = block * _BLOCK
    inside = weights[first : first + _BLOCK]
    rest = wanted - (edges[block - 1] if block else 0.0)
    index = int(np.searchsorted(np.cumsum(inside), rest, side="right"))
    return first + min(index, int(np.flatnonzero(inside)[-1]))


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a token is chosen among the allowed ones.

    temperature: 0 takes the most probable token, the smallest id among equals.
    top_k: keep that many; None keeps all. top_p, min_p: see `with_top_p` and `with_min_p`;
    the neutral values are 1 and 0.
    GenerationError when a number is out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, lambda x: 0.0 <= x < math.inf, "0 or more")
        check_number("top_p", self.top_p, lambda x: 0.0 < x <= 1.0, "a number in (0, 1]")
        check_number("min_p", self.min_p, lambda x: 0.0 <= x <= 1.0, "a number in [0, 1]")
        if self.top_k is not None:
            fine = is_integer(self.top_k, 1)
            check("top_k", self.top_k, fine, "an integer of 1 or more, or None")

    @property
    def greedy(self) -> bool:
        """Whether there is nothing random: the most probable token is taken."""
        return self.temperature == 0.0

    def distribution(self, logits: Doubles) -> Doubles:
        """float64[k]: the probabilities that `choose` draws by; logits float64[k], not all -inf."""
        if self.greedy:
            distribution = np.zeros_like(logits)
            distribution[int(logits.argmax())] = 1.0
            return distribution
        scaled = with_temperature(logits, self.temperature)
        if self.top_k is not None:
            scaled = with_top_k(scaled, self.top_k)
        return softmax(with_min_p(with_top_p(scaled, self.top_p), self.min_p))

    def choose(self, logits: Doubles, rng: np.random.Generator) -> int:
        """An index into logits float64[k]. Uses one number of `rng`, none when greedy."""
        if self.greedy:
            return int(logits.argmax())
        return draw(self.distribution(logits), rng)


def row_rng(seed: int | None, sample: int) -> np.random.Generator:
    """The random numbers of one row; they depend on `seed` and the sample's number alone."""
    if seed is None:
        return np.random.Generator(np.random.PCG64())
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, sample])))
