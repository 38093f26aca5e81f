"""Exact distributions of whole texts of a toy grammar, with and without drafts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from structgen.generation.row import Row
from structgen.generation.sampling.table import TableModel
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees import Distribution, Distributions, TreeBuilder, notify
from structgen.generation.speculation.verify import Write, verify
from tests.generation.sampling.exhaustive import ScriptedDraws
from tests.generation.speculation.toys import SIZE, allowed, make_context, make_row

Tokens = tuple[int, ...]
TextDistribution = Mapping[Tokens, float]

DRAWS = (
    "structgen.generation.distribution.draw",
    "structgen.generation.speculation.verify.draw",
    "structgen.generation.speculation.trees.drawing.draw",
    "structgen.generation.speculation.trees.growing.draw",
)
ORDERS = (
    "structgen.generation.speculation.trees.drawing.without_replacement",
    "structgen.generation.speculation.awrs.without_replacement",
)


def scripted_draws(patch: pytest.MonkeyPatch) -> ScriptedDraws:
    """All draws of the loop, of tree builders and of the verifier, enumerated."""
    return ScriptedDraws(patch, DRAWS, ORDERS)


def distributions_of(model: TableModel) -> Distributions:
    """A drafter's distributions: those of a model, masked; remembered, as grammars here are few."""
    known: dict[Hashable, Distribution] = {}

    def distribution(tree: DraftTree, node: int) -> Distribution:
        context, state = tree.context, tree.states[node]
        prefix = (*context.written, *tree.path(node))
        key = context.sampler, id(context.constraint), state, prefix
        if key not in known:
            known[key] = masked_law(context, state, model.log_probs([prefix])[0])
        return known[key]

    return lambda tree, nodes: [distribution(tree, node) for node in nodes]


@dataclass
class Drafting:
    """A drafter that grows trees from the distributions of a second model."""

    builder: TreeBuilder
    distributions: Distributions
    hidden: tuple[int, ...] = ()

    def begin(self, context: Context) -> Drafting:
        """It keeps nothing of one text."""
        return self

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """What the builder grows."""
        return self.builder.grow(context, budget, self.distributions)

    def observe(self, context: Context, seen: Round) -> None:
        """The builder may learn."""
        notify(self.builder, seen)

    def end(self, context: Context) -> None:
        """There is nothing to end."""


@dataclass(frozen=True)
class Toy:
    """A grammar, the target's model, and what else its distribution is made of."""

    constraint: Any
    model: TableModel
    weigh: Callable[[int, Any], Any] | None = None
    temperature: float = 1.0

    def row(self, sample: int = 0, seed: int = 0, budget: int = 9) -> Row:
        """A row that has written nothing."""
        row = make_row(self.constraint, seed, sample, budget, temperature=self.temperature)
        return Row(replace(row.request, weight=self.weigh), row.rng)

    def text_distribution(self) -> TextDistribution:
        """The distribution of plain masked decoding: products of those of the tokens."""
        found: dict[Tokens, float] = {}
        waiting: list[tuple[Tokens, int, float]] = [((), self.constraint.start, 1.0)]
        while waiting:
            prefix, state, mass = waiting.pop()
            ids = np.array(allowed(self.constraint, state), np.int64)
            logs = self.model.log_probs([prefix])[0][ids]
            if self.weigh is not None:
                logs = logs + self.weigh(state, ids)
            weights = np.exp(logs / self.temperature)
            for token, share in zip(ids.tolist(), weights / weights.sum(), strict=True):
                after = self.constraint.advance(state, token)
                if after < 0:
                    found[(*prefix, token)] = mass * float(share)
                else:
                    waiting.append(((*prefix, token), after, mass * float(share)))
        return found


@dataclass(frozen=True)
class ExactLoop:
    """The loop on one text, round by round, every draw enumerated.

    A round depends on what is written before it and on nothing else, so the distribution of a text
    is a product over rounds. Each round grows a real tree, which the real code verifies.
    """

    scripted: ScriptedDraws
    toy: Toy
    distributions: Distributions
    budget: Budget

    def text_distribution(self, builder: TreeBuilder, write: Write) -> TextDistribution:
        """The probability of every text."""
        whole: Counter[Tokens] = Counter()
        begun: dict[Tokens, float] = {(): 1.0}
        while begun:
            prefix = min(begun, key=len)
            mass = begun.pop(prefix)
            for share, row in self.scripted.every_run(partial(self._round, prefix, builder, write)):
                tokens = tuple(row.tokens)
                if row.finish is None:
                    begun[tokens] = begun.get(tokens, 0.0) + mass * share
                else:
                    whole[tokens] += mass * share  # type: ignore[assignment]  # counts are masses
        return whole

    def _round(self, prefix: Tokens, builder: TreeBuilder, write: Write) -> Row:
        row = self.toy.row()
        for token in prefix:
            logits = np.full(SIZE, -np.inf)
            logits[token] = 0.0
            row.step(logits, 0.0, lambda *_: 0)
        context = make_context(self.toy.constraint, remaining=row.remaining)
        context.tokens += prefix
        context.state = row.state
        tree = builder.grow(context, self.budget, self.distributions)
        prefixes = [(*prefix, *tree.path(node)) for node in range(len(tree))]
        verify(row, tree, self.toy.model.log_probs(prefixes), write)
        return row


def distance(found: TextDistribution, wanted: TextDistribution) -> float:
    """Total variation of two distributions."""
    texts = set(found) | set(wanted)
    return sum(abs(found.get(text, 0.0) - wanted.get(text, 0.0)) for text in texts) / 2


def g_test(counts: Mapping[Tokens, int], distribution: TextDistribution) -> float:
    """The p-value of counts under a distribution; cells with an expectation below 10 are pooled.

    AssertionError for a text that the distribution excludes.
    """
    assert set(counts) <= set(distribution)
    total = sum(counts.values())
    cells = [(counts.get(text, 0), total * mass) for text, mass in distribution.items()]
    rare = [cell for cell in cells if cell[1] < 10]
    cells = [cell for cell in cells if cell[1] >= 10]
    if rare:
        cells.append((sum(n for n, _ in rare), sum(e for _, e in rare)))
    g = 2 * sum(n * math.log(n / e) for n, e in cells if n)
    return _upper_gamma((len(cells) - 1) / 2, max(g, 0.0) / 2)


def _upper_gamma(a: float, x: float) -> float:
    """The regularised upper incomplete gamma function: by its series below a, by a fraction above.

    Source: Abramowitz & Stegun 6.5.29 and 6.5.31.
    """
    if x == 0.0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        terms = itertools.accumulate(range(1, 400), lambda t, n: t * x / (a + n), initial=1 / a)
        return 1.0 - scale * sum(terms)
    fraction = 0.0
    for n in range(400, 0, -1):
        fraction = n * (n - a) / (x + 2 * n + 1 - a - fraction)
    return scale / (x + 1 - a - fraction)
