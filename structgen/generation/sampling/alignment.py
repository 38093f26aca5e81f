"""Measures how far masking distorts the distribution of texts, and where.

Texts are drawn twice: by masking, and aligned, by a sampler of the posterior itself. A masked
text's importance weight w is the product of the probability masses that its masks kept; if it is
the same for all texts, masking distorts nothing. With Q the distribution of masked texts and P the
posterior,

    KL(Q || P) = log mean_Q(w) - mean_Q(log w)        KL(P || Q) = mean_P(log w) - log mean_Q(w)

in nats, and mean_Q(w), failed attempts counted as 0, is the probability that the model satisfies
the constraint by itself. Masked texts may miss what the model means altogether, and then their mean
weight is far too small; so an exact sampler's own estimate is taken where there is one, and masked
texts are worth n * mean_Q(w) / mean_P(w) aligned ones. Standard errors are those of the delta
method.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from structgen.errors import TruncatedError, ValidationError
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import SequenceSampler, draw
from structgen.generation.sampling.results import Estimate, Samples, effective_size
from structgen.generation.sampling.samplers.trie_samplers import Cars
from structgen.spec.partial_json import read_partial

ATTEMPTS = 20  #: per aligned text, before an exact sampler is given up
SHOWN_PLACES = 12  #: the most distorted ones
SHOWN_TEXTS = 20  #: those whose shares differ most
SHOWN_VALUES = 8  #: of a field, the most frequent ones
SHOWN_TOKENS = 4  #: at a place, the most probable ones


@dataclass(frozen=True, slots=True)
class Position:
    """Statistics of one token index, over all masked texts.

    reached: share of the texts that have this token. removed: mean probability that the mask took
    away there. distortion: share of the variance of log w that arises there; all sum to 1.
    """

    index: int
    reached: float
    removed: float
    distortion: float


@dataclass(frozen=True, slots=True)
class Spot:
    """A prefix after which the mask removed much probability.

    share: of the masked texts that begin so. removed: the probability taken away. wanted, left: the
    most probable tokens among those taken away and those left, as text, with probabilities: the
    model's of those taken away, the mask's of those left.
    """

    text: str
    index: int
    share: float
    removed: float
    wanted: tuple[tuple[str, float], ...]
    left: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """What was written, and in which share of the masked and of the aligned texts."""

    text: str
    masked: float
    aligned: float


@dataclass(frozen=True, slots=True)
class Field:
    """The values at one JSON Pointer. distance: half the sum of the shares' differences."""

    pointer: str
    distance: float
    values: tuple[Shares, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The measurements; the module docstring defines them.

    drawn, aligned: numbers of texts. sampler: what drew the aligned ones; exact: whether they are
    independent draws of the distribution itself. satisfied: the model's own probability of the
    constraint.
    unfinished: share of attempts at masking that failed: out of tokens, or no token allowed.
    """

    drawn: int
    aligned: int
    sampler: str
    exact: bool
    satisfied: Estimate
    kl_masked: Estimate
    kl_aligned: Estimate
    effective_sample_size: float
    removed: float
    unfinished: float
    model_rows: int
    positions: tuple[Position, ...]
    spots: tuple[Spot, ...]
    texts: tuple[Shares, ...]
    fields: tuple[Field, ...]

    @property
    def trustworthy(self) -> bool:
        """Whether the masked texts are worth enough for the figures: at least ten aligned ones."""
        return self.effective_sample_size >= min(10.0, self.drawn / 2)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON; numbers that are not finite become None."""
        found: dict[str, Any] = _finite(asdict(self))
        return found


def measure(
    posterior: Posterior, n: int, seed: int | None = None, sampler: str | SequenceSampler = "cars"
) -> Alignment:
    """Draw `n` texts by masking and `n` aligned ones, and compare them.

    Where `cars` finds too few texts in `ATTEMPTS` * n attempts, or another sampler by its own
    limit, sequential Monte Carlo takes its place, which is not exact. TruncatedError when masking,
    or that, finds too few.
    """
    rows_before = posterior.model_rows
    masked = draw(posterior, "mask", n, seed)
    name = sampler if isinstance(sampler, str) else type(sampler).__name__.lower()
    other = None if seed is None else seed + 1
    try:
        limited = Cars(max_attempts=ATTEMPTS * n) if sampler == "cars" else sampler
        aligned = draw(posterior, limited, n, other)
    except TruncatedError:
        name, aligned = "smc", draw(posterior, "smc", n, other)
    steps = _trace(posterior, [sample.tokens for sample in (*masked, *aligned)])
    logs = [_log_kept(sample.tokens, steps) for sample in masked]
    weights = np.array([sum(kept) for kept in logs])
    other_weights = np.array([sum(_log_kept(sample.tokens, steps)) for sample in aligned])
    unfinished = float((masked.attempts == -np.inf).mean())
    satisfied = aligned.satisfied if aligned.exact else masked.satisfied
    mean = None
    if aligned.exact:
        relative = satisfied.standard_error / satisfied.value
        mean = Estimate(math.log(satisfied.value) - math.log1p(-unfinished), relative)
    return Alignment(
        drawn=len(masked),
        aligned=len(aligned),
        sampler=name,
        exact=aligned.exact,
        satisfied=satisfied,
        kl_masked=kl_masked(weights, mean),
        kl_aligned=kl_aligned(other_weights, aligned.weights, mean or _log_mean(weights)),
        effective_sample_size=(
            effective_size(weights)
            if mean is None
            else n * math.exp(min(mean.value - log_sum_exp(other_weights) + math.log(n), 0.0))
        ),
        removed=float(np.mean([-math.expm1(log) for kept in logs for log in kept] or [0.0])),
        unfinished=unfinished,
        model_rows=posterior.model_rows - rows_before,
        positions=_positions(logs),
        spots=_spots(posterior, masked, steps),
        texts=_texts((masked, aligned)),
        fields=_fields((masked, aligned)),
    )


def kl_masked(log_weights: Doubles, log_mean: Estimate | None = None) -> Estimate:
    """KL(Q || P) from the log-weights float64[n] of masked texts.

    log_mean: the log of the mean weight from elsewhere; None takes it from these texts.
    """
    if log_mean is not None:
        error = math.hypot(_error(log_weights), log_mean.standard_error)
        return Estimate(log_mean.value - float(log_weights.mean()), error)
    mean = _log_mean(log_weights).value
    influence = np.exp(log_weights - mean) - log_weights
    return Estimate(mean - float(log_weights.mean()), _error(influence))


def kl_aligned(log_weights: Doubles, shares: Doubles, log_mean: Estimate) -> Estimate:
    """KL(P || Q) from log-weights of aligned texts with shares, and the log of the mean weight."""
    value = float(shares @ log_weights)
    spread = math.sqrt(float(shares**2 @ (log_weights - value) ** 2))
    return Estimate(value - log_mean.value, math.hypot(spread, log_mean.standard_error))


def _log_mean(log_weights: Doubles) -> Estimate:
    """Log of the mean weight; its error is that of the mean, relative to it."""
    mean = log_sum_exp(log_weights) - math.log(len(log_weights))
    return Estimate(mean, _error(np.exp(log_weights - mean)))


def _error(values: Doubles) -> float:
    """The standard error of the mean; nan of one value."""
    if len(values) < 2:
        return math.nan
    return float(values.std(ddof=1)) / math.sqrt(len(values))


@dataclass(frozen=True, slots=True)
class _Step:
    """What the mask does after a prefix: log of the mass kept, tokens removed and left."""

    log_kept: float
    wanted: tuple[tuple[int, float], ...]
    left: tuple[tuple[int, float], ...]


def _trace(posterior: Posterior, texts: Sequence[Tokens]) -> dict[Tokens, _Step]:
    """The step after each proper prefix of the texts; the model reads them token by token."""
    found: dict[Tokens, _Step] = {}
    level: dict[Tokens, Place] = {(): posterior.start}
    while level:
        rows = posterior.log_probs(list(level.values()))
        for place, row in zip(level.values(), rows, strict=True):
            found[place.tokens] = _step(posterior, place, row)
        depth = len(next(iter(level))) + 1
        above, level = level, {}
        for tokens in texts:
            if len(tokens) > depth and tokens[:depth] not in level:
                before = above[tokens[: depth - 1]]
                level[tokens[:depth]] = posterior.after(before, tokens[depth - 1])
    return found


def _step(posterior: Posterior, place: Place, row: Doubles) -> _Step:
    ids = posterior.allowed(place)
    log_kept = min(log_sum_exp(row[ids]), 0.0)
    refused = row.copy()
    refused[ids] = -np.inf
    kept = np.full_like(row, -np.inf)
    kept[ids] = row[ids]
    return _Step(log_kept, _top(refused), _top(kept - log_kept))


def _top(row: Doubles) -> tuple[tuple[int, float], ...]:
    """The most probable tokens, and their probabilities."""
    count = min(SHOWN_TOKENS, len(row))
    best = np.argpartition(-row, count - 1)[:count]
    best = best[np.argsort(-row[best], kind="stable")]
    return tuple((int(t), math.exp(row[t])) for t in best if row[t] > -np.inf)


def _log_kept(tokens: Tokens, steps: Mapping[Tokens, _Step]) -> list[float]:
    return [steps[tokens[:end]].log_kept for end in range(len(tokens))]


def _positions(logs: Sequence[Sequence[float]]) -> tuple[Position, ...]:
    longest = max(map(len, logs))
    table = np.zeros((len(logs), longest))
    there = np.zeros((len(logs), longest), np.bool_)
    for row, kept in enumerate(logs):
        table[row, : len(kept)] = kept
        there[row, : len(kept)] = True
    total = table.sum(1)
    variance = float(total.var())
    centred = total - total.mean()
    found = []
    for index in range(longest):
        covariance = float((table[:, index] * centred).mean())
        removed = -np.expm1(table[there[:, index], index])
        share = covariance / variance if variance > 0 else 0.0
        found.append(Position(index, float(there[:, index].mean()), float(removed.mean()), share))
    return tuple(found)


def _spots(
    posterior: Posterior, masked: Samples, steps: Mapping[Tokens, _Step]
) -> tuple[Spot, ...]:
    """The prefixes of masked texts that lost most, by mass and by how many texts begin so."""
    visits: dict[Tokens, int] = {}
    for sample in masked:
        for end in range(len(sample.tokens)):
            visits[sample.tokens[:end]] = visits.get(sample.tokens[:end], 0) + 1
    order = sorted(visits, key=lambda prefix: visits[prefix] * steps[prefix].log_kept)
    vocabulary = posterior.constraint.vocabulary

    def words(tokens: Sequence[tuple[int, float]]) -> tuple[tuple[str, float], ...]:
        return tuple((vocabulary.token_bytes(t).decode(errors="replace"), p) for t, p in tokens)

    return tuple(
        Spot(
            text=vocabulary.decode_bytes(prefix).decode(errors="replace"),
            index=len(prefix),
            share=visits[prefix] / len(masked),
            removed=-math.expm1(steps[prefix].log_kept),
            wanted=words(steps[prefix].wanted),
            left=words(steps[prefix].left),
        )
        for prefix in order[:SHOWN_PLACES]
        if steps[prefix].log_kept < -1e-9
    )


Counts = dict[str, list[float]]  # text -> its shares of the masked and of the aligned texts


def _count(counts: Counts, text: str, column: int, share: float) -> None:
    counts.setdefault(text, [0.0, 0.0])[column] += share


def _texts(samples: tuple[Samples, Samples]) -> tuple[Shares, ...]:
    """Whole texts, those whose shares differ most first."""
    counts: Counts = {}
    for column, drawn in enumerate(samples):
        for sample, share in zip(drawn, _weights(drawn, column), strict=True):
            _count(counts, sample.text, column, share)
    found = sorted(_read(counts), key=lambda one: (-abs(one.masked - one.aligned), -one.aligned))
    return tuple(found[:SHOWN_TEXTS])


def _fields(samples: tuple[Samples, Samples]) -> tuple[Field, ...]:
    """The leaves of JSON objects and arrays, those that differ most first."""
    fields: dict[str, Counts] = {}
    for column, drawn in enumerate(samples):
        for sample, share in zip(drawn, _weights(drawn, column), strict=True):
            for pointer, text in _leaves(sample.text):
                _count(fields.setdefault(pointer, {}), text, column, share)
    found = []
    for pointer, counts in fields.items():
        values = sorted(_read(counts), key=lambda one: -max(one.masked, one.aligned))
        distance = sum(abs(one.masked - one.aligned) for one in values) / 2
        found.append(Field(pointer, distance, tuple(values[:SHOWN_VALUES])))
    return tuple(sorted(found, key=lambda field: -field.distance))


def _leaves(text: str) -> list[tuple[str, str]]:
    """JSON Pointers and JSON texts of what an object or array holds; of other texts nothing."""
    try:
        whole = read_partial(f"{text} ")
    except ValidationError:
        return []
    if not isinstance(whole.value, dict | list):
        return []
    return [
        (pointer, json.dumps(value, ensure_ascii=False))
        for pointer, value in whole.finals()
        if not isinstance(value, dict | list) or not value
    ]


def _weights(samples: Samples, column: int) -> list[float]:
    """The shares of samples: masked ones count the same, aligned ones by their weights."""
    return samples.weights.tolist() if column else [1 / len(samples)] * len(samples)


def _read(counts: Counts) -> list[Shares]:
    return [Shares(text, masked, aligned) for text, (masked, aligned) in counts.items()]


def _finite(value: Any) -> Any:
    """The same JSON, with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
