"""Tests that drafters which draw keep the distribution of the text."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from structgen.constraint.constraint import FINAL
from structgen.generation.sampling.samplers.steps import without_replacement
from structgen.generation.sampling.table import TableModel
from structgen.generation.speculation.drafters.hybrid import HybridDrafter
from structgen.generation.speculation.drafters.jacobi import JacobiDrafter
from structgen.generation.speculation.drafters.ngrams import StandDrafter
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.rules import RecursiveRejection
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.speculation.toys import allowed, make_row, toy_constraint, toy_model

CONSTRAINT, MODEL = toy_constraint("(a|bc?|ca){1,3}"), toy_model()
SAMPLES = 3000
DEEPEST = 4.0  # standard deviations of a chi-squared statistic


def exact_law(model: TableModel) -> dict[tuple[int, ...], float]:
    """The probability of every text, by enumeration: the masked distribution, token by token."""
    distribution: dict[tuple[int, ...], float] = {}

    def walk(state: int, tokens: tuple[int, ...], reached: float) -> None:
        ids = allowed(CONSTRAINT, state)
        p = np.exp(model.log_probs([tokens])[0][ids])
        for token, share in zip(ids, p / p.sum(), strict=True):
            after = CONSTRAINT.advance(state, token)
            if after == FINAL:
                distribution[*tokens, token] = reached * share
            else:
                walk(after, (*tokens, token), reached * share)

    walk(CONSTRAINT.start, (), 1.0)
    return distribution


LAW = exact_law(MODEL)


def surprise(drafter: Any, rule: Any, seed: int = 0) -> float:
    """How far the texts of many rows are from the law: a chi-squared statistic, standardised.

    Each row's drafts have random numbers of their own; one drafter learns from all rows.
    """
    policy = Fixed(Budget(nodes=8, depth=3, width=2))
    rows = [make_row(CONSTRAINT, seed, i) for i in range(SAMPLES)]
    target = TableTarget(MODEL)
    for first in range(0, SAMPLES, 100):
        speculation = Speculation(drafter, rule, policy, seed=first)
        for _ in decode(target, rows[first : first + 100], speculation):
            pass
    found = Counter(tuple(row.tokens) for row in rows)
    assert set(found) <= set(LAW), "a text that cannot be"
    rest, statistic, cells = 0.0, 0.0, 0
    rest_found = 0
    for text, p in LAW.items():
        if SAMPLES * p < 8:
            rest += p
            rest_found += found[text]
            continue
        statistic += (found[text] - SAMPLES * p) ** 2 / (SAMPLES * p)
        cells += 1
    if rest > 0:
        statistic += (rest_found - SAMPLES * rest) ** 2 / (SAMPLES * rest)
        cells += 1
    return (statistic - (cells - 1)) / math.sqrt(2 * (cells - 1))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "drafter",
    [
        StandDrafter(),
        JacobiDrafter(3),
        HybridDrafter([StandDrafter(2), JacobiDrafter(2), SuffixDrafter()]),
    ],
    ids=["stand", "jacobi", "merged"],
)
def test_texts_have_the_distribution_that_they_have_without_drafts(drafter: Any) -> None:
    """Under recursive rejection; 8% in total variation would mostly be noticed."""
    assert surprise(drafter, RecursiveRejection()) < DEEPEST


class Mistaken(StandDrafter):
    """Says that its draws come from the uniform distribution."""

    def begin(self, context: Context) -> Any:
        """Like STAND, but for the distribution that is told."""
        session: Any = super().begin(context)
        propose = session.propose

        def mistaken(context: Context, budget: Budget) -> DraftTree:
            tree: DraftTree = propose(context, budget)
            for node, draws in tree.draws.items():
                even = np.full(len(draws.ids), 1.0 / len(draws.ids))
                tree.draws[node] = replace(draws, law=even)
            return tree

        session.propose = mistaken
        return session


@pytest.mark.thorough
def test_a_drafter_that_tells_another_distribution_is_noticed() -> None:
    """The test above can fail."""
    assert surprise(Mistaken(), RecursiveRejection()) > DEEPEST


def test_draws_without_replacement_have_their_distribution() -> None:
    """Every order comes as often as drawing one by one makes it (Plackett and Luce)."""
    rng = np.random.default_rng(3)
    distribution = np.array([0.5, 0.25, 0.15, 0.1])
    count = 8000
    logs = np.log(distribution)
    found = Counter(
        tuple(itertools.islice(without_replacement(logs, rng), 2)) for _ in range(count)
    )
    for first, second in itertools.permutations(range(4), 2):
        p = distribution[first] * distribution[second] / (1 - distribution[first])
        deviation = math.sqrt(count * p * (1 - p))
        assert abs(found[first, second] - count * p) < 4.5 * deviation


@pytest.mark.parametrize("drafter", [StandDrafter(), JacobiDrafter()], ids=["stand", "jacobi"])
def test_drafts_are_used(drafter: Any) -> None:
    """Tokens are kept, so the distributions above are not those of the plain loop."""
    rows = [make_row(CONSTRAINT, 1, i) for i in range(100)]
    for row in rows:
        list(decode(TableTarget(MODEL), [row], Speculation(drafter, RecursiveRejection())))
    kept = sum(row.stats.accepted for row in rows if row.stats is not None)
    assert kept > 20
