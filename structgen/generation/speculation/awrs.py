"""Draws from the masked distribution at a draft node by testing single tokens, without a mask.

SampleCompare needs no more than a draw from the distribution, so where membership tests are cheap
and masks are not, adaptive weighted rejection sampling (arXiv 2504.05410) serves at every node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.errors import GenerationError
from structgen.generation.distribution import log_sum_exp, with_temperature
from structgen.generation.interfaces import Drawn
from structgen.generation.row import Request, Row
from structgen.generation.sampling.samplers.plausible import plausible_tokens
from structgen.generation.sampling.samplers.steps import draw_in_order, without_replacement
from structgen.generation.speculation.tree import Doubles, DraftTree


def check_tested(request: Request) -> None:
    """GenerationError where drawing needs all allowed tokens: truncation, weights, transforms."""
    sampler = request.sampler
    truncated = sampler.top_k is not None or sampler.top_p < 1.0 or sampler.min_p > 0.0
    if truncated or request.weight is not None or request.transforms:
        raise GenerationError(
            "tokens are to be drawn by testing, and their distribution is truncated or weighed",
            location=request.label,
            hint="leave out top_k, top_p, min_p, penalties and weights, or draw with masks",
        )


def write_tested(row: Row, _tree: DraftTree, _node: int, logits: npt.NDArray[Any]) -> None:
    """Write one token at a node of a draft: a `Write` for SampleCompare."""
    row.take(draw_tested(row, logits))


def draw_tested(row: Row, logits: npt.NDArray[Any]) -> Drawn:
    """A token distributed as the row's sampler draws among what its state allows.

    Tokens whose first byte may come are tested in the order of a draw without replacement, until
    one is accepted. `log_masked` is an estimate: `log_raw` plus the log of the weight, whose mean
    is right for each token (see `structgen.generation.sampling.samplers.steps`) under the
    distribution at the row's temperature.
    """
    values = logits.astype(np.float64)
    log_raw = log_sum_exp(values)
    if row.closing_plan or not math.isfinite(log_raw):
        return Drawn(None, log_raw, log_raw, values.__getitem__)
    request, state = row.request, row.state
    constraint, sampler = request.constraint, request.sampler
    ids = plausible_tokens(constraint.vocabulary).after(constraint.allowed_bytes(state))
    warm: Doubles = values if sampler.greedy else with_temperature(values, sampler.temperature)
    logs = warm[ids] - log_sum_exp(warm)
    order = _by_size(logs) if sampler.greedy else without_replacement(logs, row.rng)
    token, log_weight = draw_in_order(
        ids, logs, order, lambda token: constraint.advance(state, token) != DEAD
    )
    return Drawn(token, log_raw, log_raw + log_weight, values.__getitem__)


def _by_size(logs: Doubles) -> Iterator[int]:
    """Indices of what is possible, largest first, equals in the order of their indices."""
    order = np.argsort(-logs, kind="stable")
    yield from order[logs[order] > -np.inf].tolist()
