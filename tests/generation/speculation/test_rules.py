"""Tests that acceptance rules keep the target's distribution, and which mistakes would not.

Every rule's distribution is worked out by trying all draws, so nothing is left to statistics.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import AcceptRule, Fork, Plan
from structgen.generation.speculation.rules import (
    Judge,
    KSeq,
    OptimalTransport,
    RecursiveRejection,
    Reflective,
    SampleCompare,
    Typical,
    optimal_acceptance,
)
from structgen.generation.speculation.rules.exact import exactly, outcomes
from structgen.generation.speculation.rules.optimal import escape, largest_flow
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import Doubles, Scheme
from structgen.generation.speculation.verify import decide
from tests.generation.speculation.toys import RandomDrafter

SIZE = 6
LOSSLESS: list[AcceptRule] = [
    SampleCompare(),
    RecursiveRejection(),
    KSeq(),
    OptimalTransport(),
    OptimalTransport(most=3),
]
PAIRS = [(rule, scheme) for rule in LOSSLESS for scheme in Scheme if scheme in rule.schemes]
IDS = [f"{type(rule).__name__}-{scheme.name}" for rule, scheme in PAIRS]
JUDGES = [Judge(lambda fork: [0.9] * 9), Judge(lambda fork: [0.1] * 9)]


class Distributions(NamedTuple):
    """Distributions of a target and a drafter over the same tokens, both masked."""

    p: Doubles
    q: Doubles


def norm(weights: Doubles) -> Doubles:
    """Weights made to sum to 1."""
    distribution: Doubles = weights / weights.sum()
    return distribution


def instances(count: int, seed: int = 0) -> Iterator[Distributions]:
    """Random distributions, and special ones: one token, zeros, equal ones, one-hot ones."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        allowed = rng.random(SIZE) < rng.choice([0.3, 0.6, 1.0])
        allowed[rng.integers(SIZE)] = True
        p = norm(rng.dirichlet(np.full(SIZE, 0.7)) * allowed)
        q = norm(rng.dirichlet(np.full(SIZE, 0.7)) * allowed)
        some = allowed & (rng.random(SIZE) < 0.5)
        some[np.flatnonzero(allowed)[0]] = True
        yield {
            0: Distributions(p, q),
            1: Distributions(p, norm(q * some)),
            2: Distributions(norm(p * some), q),
            3: Distributions(p, p.copy()),
            4: Distributions(np.eye(SIZE)[np.flatnonzero(allowed)[-1]], q),
            5: Distributions(p, norm(p * (1 + 1e-15 * rng.normal(size=SIZE)))),
            6: Distributions(np.eye(SIZE)[0], np.eye(SIZE)[0]),
            7: Distributions(norm(p**40), norm(q**40)),
        }[number % 8]


def subset(rng: np.random.Generator) -> tuple[int, ...]:
    """Some tokens."""
    return tuple(np.flatnonzero(rng.random(SIZE) < 0.3).tolist())


def heavy(q: Doubles) -> Callable[[tuple[int, ...]], bool]:
    """Stop drawing when half of the mass was drawn: a stopping time."""
    return lambda drawn: bool(q[list(drawn)].sum() > 0.5)


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "scheme"), PAIRS, ids=IDS)
def test_a_lossless_rule_writes_the_distribution(rule: AcceptRule, scheme: Scheme) -> None:
    """Over all draws, with and without points, for any number of draws; and it accepts no more
    than any rule can."""
    rng = np.random.default_rng(1)
    for (p, q), count in itertools.product(instances(16), (1, 2, 3)):
        for points in ((), subset(rng)):
            found = exactly(rule, p, q, scheme, count, points, heavy(q))
            np.testing.assert_allclose(found.distribution, p, atol=1e-12, rtol=0)
            assert not found.distribution[p == 0.0].any()
            if scheme is not Scheme.ADAPTIVE:
                bound = optimal_acceptance(p, q, scheme, count, points)
                assert found.acceptance <= bound + 1e-12
                apart = not q[list(points)].any()
                if isinstance(rule, OptimalTransport) and rule.most > 3 and apart:
                    assert found.acceptance == pytest.approx(bound, abs=1e-12)


@pytest.mark.parametrize(("rule", "scheme"), PAIRS, ids=IDS)
def test_plans_are_distributions_and_random_numbers_have_no_bad_ends(
    rule: AcceptRule, scheme: Scheme
) -> None:
    """Outcomes sum to 1; the first and last random number never give what p excludes."""
    ends = [SimpleNamespace(random=lambda end=end: end) for end in (0.0, 1 - 2.0**-53)]
    for (p, q), count in itertools.product(instances(24, seed=2), (1, 3)):
        for drawn, _ in itertools.islice(outcomes(q, scheme, count), 40):
            fork = Fork(p, q, drawn, (), scheme)
            plan = rule.plan(fork)
            assert plan.accept.min(initial=0.0) >= 0.0
            assert plan.residual.min() >= 0.0
            assert plan.accept.sum() + plan.residual.sum() == pytest.approx(1.0, abs=1e-12)
            for end in ends:
                assert p[decide(rule, fork, end)] > 0.0  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", LOSSLESS)
def test_a_draw_that_the_distribution_excludes_is_not_kept(rule: AcceptRule) -> None:
    """Even where it is all that was drafted."""
    p, q = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    plan = rule.plan(Fork(p, q, (0,), (), Scheme.IID))
    assert plan.accept.tolist() == [0.0]
    assert plan.residual.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("scheme", [Scheme.IID, Scheme.WOR])
def test_the_bound_is_the_least_over_all_sets(scheme: Scheme) -> None:
    """Of the 2^k sets of tokens, by definition."""
    rng = np.random.default_rng(3)
    for (p, q), count in itertools.product(instances(24, seed=4), (1, 2, 3)):
        points = subset(rng)
        draws = list(outcomes(q, scheme, count))
        least = 0.0
        for bits in range(1 << SIZE):
            inside = {i for i in range(SIZE) if bits >> i & 1}
            if inside.issuperset(points):
                covered = sum(mass for drawn, mass in draws if inside.issuperset(drawn))
                least = min(least, p[list(inside)].sum() - covered)
        bound = optimal_acceptance(p, q, scheme, count, points)
        assert bound == pytest.approx(1.0 + least, abs=1e-12)


def test_escapes_are_exact_where_masses_differ_by_many_orders() -> None:
    """Draws without replacement among tokens that hardly ever come."""
    q = norm(np.array([1.0, 1e-3, 1e-9, 1e-9, 1e-14, 1e-30]))
    for count in (1, 2, 3):
        draws = list(outcomes(q, Scheme.WOR, count))
        missing = [sum(m for drawn, m in draws if max(drawn) > i) for i in range(SIZE)]
        np.testing.assert_allclose(escape(q, Scheme.WOR, count), missing, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_largest_flow_meets_a_smallest_cut(data: Any) -> None:
    """And it sends no more than there is, nor more than fits."""
    sources = data.draw(st.integers(1, 6))
    amounts = {s: data.draw(st.floats(0, 1)) for s in range(sources)}
    room = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5))
    some = st.sets(st.integers(0, len(room) - 1))
    targets = {s: data.draw(some) for s in amounts}
    flow = largest_flow(amounts, targets, room)
    into = [sum(flow[s].get(t, 0.0) for s in amounts) for t in range(len(room))]
    assert all(found <= space + 1e-12 for found, space in zip(into, room, strict=True))
    assert all(sum(flow[s].values()) <= amounts[s] + 1e-12 for s in amounts)
    assert all(set(flow[s]) == targets[s] and min(flow[s].values(), default=0) >= 0 for s in flow)
    cuts = (
        sum(room[t] for t in cut) + sum(amounts[s] for s in amounts if not targets[s] <= set(cut))
        for size in range(len(room) + 1)
        for cut in itertools.combinations(range(len(room)), size)
    )
    assert sum(into) == pytest.approx(min(cuts), abs=1e-9)


def test_masking_the_drafter_as_well_accepts_more() -> None:
    """min(p, q) can only grow on what is allowed."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        raw, distribution = rng.dirichlet(np.ones(SIZE)), rng.dirichlet(np.ones(SIZE))
        allowed = np.arange(SIZE) <= rng.integers(1, SIZE)
        p = norm(distribution * allowed)
        masked, bare = (
            exactly(RecursiveRejection(), p, q, Scheme.IID, 1) for q in (norm(raw * allowed), raw)
        )
        assert masked.acceptance >= bare.acceptance - 1e-12
        np.testing.assert_allclose(bare.distribution, p, atol=1e-12)


def test_the_best_points_and_one_draw_behind_them_are_used_as_well_as_can_be() -> None:
    """Speculative sampling off the points, the rest falling on them, accepts what is optimal."""
    for (p, q), count in itertools.product(instances(40, seed=7), (1, 2)):
        top = tuple(np.argsort(-q)[:count].tolist())
        behind = q.copy()
        behind[list(top)] = 0.0
        if behind.sum() > 0.0:
            distribution = norm(behind)
            found = exactly(RecursiveRejection(), p, distribution, Scheme.IID, 1, top)
            bound = optimal_acceptance(p, distribution, Scheme.IID, 1, top)
            assert found.acceptance == pytest.approx(bound, abs=1e-12)


class Broken:
    """A rule with one of the known mistakes; `raw` are the distributions before the mask."""

    schemes = frozenset(Scheme)
    lossless = True

    def __init__(self, mistake: str, raw: Distributions) -> None:
        self.mistake = mistake
        self.raw = raw

    def plan(self, fork: Fork) -> Plan:
        """Speculative sampling of one draw, done wrong."""
        p, [x] = fork.p, fork.drawn
        q = self.raw.q if fork.q is None else fork.q
        residual = norm(np.maximum(p - q, 0.0))
        kept = min(1.0, p[x] / q[x])
        if self.mistake == "no residual":
            residual = p
        elif self.mistake == "ratio with the unmasked drafter":  # O1
            kept = min(1.0, p[x] / self.raw.q[x])
            residual = norm(np.maximum(p - self.raw.q, 0.0))
        elif self.mistake == "ratio of unmasked distributions":  # O2
            kept = min(1.0, self.raw.p[x] / self.raw.q[x])
        elif self.mistake == "mask after the residual":  # O2
            residual = norm(np.maximum(self.raw.p - self.raw.q, 0.0) * (p > 0.0))
        return Plan(np.array([kept]), (1.0 - kept) * residual)


def error(distribution: Doubles, p: Doubles) -> float:
    """Total variation."""
    return float(np.abs(distribution - p).sum() / 2)


def masked_instance(seed: int) -> tuple[Distributions, Distributions]:
    """Raw distributions over six tokens, and the same distributions masked to four."""
    rng = np.random.default_rng(seed)
    raw = Distributions(rng.dirichlet(np.ones(SIZE)), rng.dirichlet(np.ones(SIZE)))
    allowed = np.arange(SIZE) < 4
    return raw, Distributions(norm(raw.p * allowed), norm(raw.q * allowed))


@pytest.mark.parametrize(
    "mistake",
    [
        "no residual",
        "ratio with the unmasked drafter",
        "ratio of unmasked distributions",
        "mask after the residual",
    ],
)
def test_known_mistakes_of_rules_are_noticed(mistake: str) -> None:
    """The same enumeration finds them at fault; without the mistake, there is nothing to find."""
    errors = []
    for seed in range(10):
        raw, (p, q) = masked_instance(seed)
        assert error(exactly(Broken("none", raw), p, q, Scheme.IID, 1).distribution, p) < 1e-12
        errors.append(error(exactly(Broken(mistake, raw), p, q, Scheme.IID, 1).distribution, p))
    assert np.mean(errors) > 0.005


def guess(p: Doubles, q: Doubles) -> Doubles:
    """O3: the drafter's best guess passed off as a draw."""
    top = int(q.argmax())
    plan = RecursiveRejection().plan(Fork(p, q, (top,), (), Scheme.IID))
    np.add.at(plan.residual, [top], plan.accept)
    return plan.residual


def pruned(p: Doubles, q: Doubles) -> Doubles:
    """O4: draws left out afterwards because they are improbable."""
    distribution = np.zeros(SIZE)
    for drawn, mass in outcomes(q, Scheme.WOR, 2):
        kept = tuple(t for t in drawn if q[t] > 0.2)
        plan = RecursiveRejection().plan(Fork(p, q, kept, (), Scheme.WOR))
        np.add.at(distribution, list(kept), mass * plan.accept)
        distribution += mass * plan.residual
    return distribution


def looked_back(p: Doubles, q: Doubles) -> Doubles:
    """A number of draws that depends on them, for a rule that counts on a settled one."""
    top = int(q.argmax())
    rule = OptimalTransport()
    return exactly(
        rule, p, q, Scheme.ADAPTIVE, 2, enough=lambda drawn: drawn == (top,)
    ).distribution


@pytest.mark.parametrize("mistake", [guess, pruned, looked_back])
def test_known_mistakes_of_drafters_are_noticed(
    mistake: Callable[[Doubles, Doubles], Doubles],
) -> None:
    """What the rules are right for, they are right for alone."""
    pairs = [masked_instance(seed)[1] for seed in range(10)]
    assert np.mean([error(mistake(p, q), p) for p, q in pairs]) > 0.003


def test_dropping_illegal_draws_has_the_error_that_theory_gives() -> None:
    """The mass that the drafter gives to them, times the distance of p and the residual."""
    for seed in range(10):
        raw, (p, _) = masked_instance(seed)
        distribution = np.zeros(SIZE)
        for drawn, mass in outcomes(raw.q, Scheme.IID, 1):
            fork = Fork(p, raw.q, drawn if p[drawn[0]] > 0 else (), (), Scheme.IID)
            plan = RecursiveRejection().plan(fork)
            np.add.at(distribution, list(fork.drawn), mass * plan.accept)
            distribution += mass * plan.residual
        illegal = raw.q[4:].sum()
        rest = norm(np.maximum(p - raw.q, 0.0))
        assert error(distribution, p) == pytest.approx(illegal * error(p, rest), abs=1e-14)


@pytest.mark.parametrize("rule", [Typical(), *JUDGES])
def test_lossy_rules_write_only_what_is_possible(rule: AcceptRule) -> None:
    """Whatever they think of a token that the distribution excludes."""
    for p, q in instances(24, seed=8):
        for drawn, _ in outcomes(q, Scheme.WOR, 2):
            plan = rule.plan(Fork(p, q, drawn, (5,) * (5 not in drawn), Scheme.WOR))
            assert plan.accept.sum() + plan.residual.sum() == pytest.approx(1.0)
        assert not exactly(rule, p, q, Scheme.WOR, 2, (5,)).distribution[p == 0.0].any()


def test_typical_acceptance_follows_its_threshold() -> None:
    """min(epsilon, delta exp(-entropy)): above it the most probable child is kept for certain."""
    p = np.array([0.1, 0.2, 0.7])
    entropy = -float((p * np.log(p)).sum())
    fork = Fork(p, None, (), (0, 1), None)
    assert Typical(epsilon=0.15, delta=9.0).plan(fork).accept.tolist() == [0.0, 1.0]
    delta = 0.2 * np.exp(entropy)
    assert Typical(epsilon=0.9, delta=delta * 0.999).plan(fork).accept.tolist() == [0.0, 1.0]
    none = Typical(epsilon=0.9, delta=delta * 1.001).plan(fork)
    assert none.accept.tolist() == [0.0, 0.0]
    assert none.residual.tolist() == p.tolist()


def test_reflection_mixes_in_a_second_distribution() -> None:
    """The inner rule writes the mixture; what the first distribution excludes stays excluded."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    rule = Reflective(lambda fork: np.array([0.1, 0.3, 0.6]), share=0.4)
    found = exactly(rule, p, q, Scheme.IID, 1)
    np.testing.assert_allclose(found.distribution, [0.4, 0.6, 0.0], atol=1e-12)
    unmoved = exactly(Reflective(lambda fork: np.array([0.0, 0.0, 1.0])), p, q, Scheme.IID, 1)
    np.testing.assert_allclose(unmoved.distribution, p, atol=1e-12)


@pytest.mark.parametrize("rule", [Typical(), Judge(lambda fork: []), Reflective(lambda f: f.p)])
def test_lossy_rules_must_be_wanted(rule: AcceptRule) -> None:
    """Only who says so gets one."""
    with pytest.raises(GenerationError, match="changes the distribution"):
        Speculation(RandomDrafter(None), rule)
    assert Speculation(RandomDrafter(None), rule, lossy=True).rule is rule
