"""Tests that length policies find the best draft length of simulated rounds."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import Budget, Round, StoppingPolicy
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.bandit import Arms, Bandit, Exp3, Ucb
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.policies.exit_layer import Del
from structgen.generation.speculation.policies.lengths import Adl, Fixed, Sized, Thompson
from structgen.generation.speculation.policies.stopping import (
    Confidence,
    Disco,
    Threshold,
    outcomes,
)
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import DraftTree, Draws, Scheme
from tests.generation.speculation.simulation import (
    TOKEN,
    Environment,
    chain,
    endless_context,
    round_of,
)
from tests.generation.speculation.toys import RandomDrafter, make_row, toy_constraint, toy_model

CHAIN = Budget(nodes=8, depth=8, width=1)


def cheap(width: int) -> float:
    """As with bfloat16: wide passes cost little."""
    return 1.0 + 0.05 * (width - 1)


def dear(width: int) -> float:
    """Each token costs as much as a pass of its own."""
    return float(width)


def middling(width: int) -> float:
    """Two further tokens cost a pass."""
    return 1.0 + 0.5 * (width - 1)


def test_outcomes_are_those_of_tested_nodes() -> None:
    """Children of reached nodes; nothing after the token at which the text ended."""
    context = endless_context()
    tree = chain(context, [0.5] * 4)
    assert list(outcomes(round_of(tree, 2))) == [(1, True), (2, True), (3, False)]
    ended = Round(tree, (1, 2), (TOKEN, TOKEN), np.zeros((5, 6)), None, 0, 0)
    assert list(outcomes(ended)) == [(1, True), (2, True)]


@pytest.mark.parametrize("time", [cheap, dear])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("make", [Sized, Thompson])
def test_the_best_length_is_found(
    make: type[Sized | Thompson], share: float, time: Callable[[int], float]
) -> None:
    """Tokens per second come within a few percent of the best fixed length."""
    world = Environment(share, time)
    best = world.rate(world.best(8))
    assert world.run(make(CHAIN), 800) > 0.93 * best


def test_thompson_comes_back_when_drafts_turn_good() -> None:
    """Beliefs fade, so lengths that were bad are tried again."""
    policy = Thompson(CHAIN)
    assert Environment(0.05, middling).run(policy, 300) > 0.95
    world = Environment(0.95, middling)
    assert world.run(policy, 1200) > 0.9 * world.rate(world.best(8))


def pulls(arms: Arms, means: list[float], rounds: int) -> float:
    """Regret of Bernoulli arms: what the best arm would have given more, in expectation."""
    rng = np.random.default_rng(3)
    regret = 0.0
    for _ in range(rounds):
        arm = arms.choose(rng)
        arms.reward(arm, float(rng.random() < means[arm]))
        regret += max(means) - means[arm]
    return regret


def test_ucb_keeps_its_regret_bound() -> None:
    """Theorem 1 of Auer et al. 2002: 8 sum(ln n / gap) + (1 + pi^2 / 3) sum(gap)."""
    means, rounds = [0.2, 0.5, 0.8], 3000
    gaps = [0.6, 0.3]
    bound = 8 * sum(math.log(rounds) / gap for gap in gaps) + (1 + math.pi**2 / 3) * sum(gaps)
    regret = pulls(Ucb(3), means, rounds)
    assert regret <= bound < 0.4 * 3000 * (0.6 + 0.3) / 3 * 2
    assert regret < 0.5 * pulls(RandomArms(), means, rounds)


class RandomArms:
    """The control: learns nothing."""

    def choose(self, rng: np.random.Generator) -> int:
        """Any of three."""
        return int(rng.integers(3))

    def reward(self, arm: int, value: float) -> None:
        """Nothing is learned."""


def test_exp3_keeps_its_regret_bound_when_rewards_change() -> None:
    """Corollary 3.2 of Auer et al. 2002b: 2.63 sqrt(g K ln K), g the best arm's reward."""
    rounds, rng = 3000, np.random.default_rng(5)
    exploration = min(1.0, math.sqrt(2 * math.log(2) / ((math.e - 1) * rounds)))
    arms, won, best = Exp3(2, exploration), 0.0, [0.0, 0.0]
    for number in range(rounds):  # the better arm changes once
        values = [1.0, 0.0] if number > rounds // 3 else [0.0, 1.0]
        arm = arms.choose(rng)
        arms.reward(arm, values[arm])
        won += values[arm]
        best = [b + v for b, v in zip(best, values, strict=True)]
    assert max(best) - won <= 2.63 * math.sqrt(2 * math.log(2) * rounds)
    assert arms.distribution[0] > 0.9


@pytest.mark.parametrize("arms", [Ucb(4, 0.3), Exp3(4)])
def test_a_bandit_finds_the_best_budget(arms: Arms) -> None:
    """Of four lengths, with the costs that it measures."""
    budgets = [Budget(n, n, 1) if n else Budget(0) for n in (0, 1, 4, 8)]
    world = Environment(0.9, cheap)
    policy = Bandit(budgets, arms)
    assert world.run(policy, 2000) > 0.88 * world.rate(8)
    assert max(set(world.lengths), key=world.lengths.count) == 8


def test_threshold_and_confidence_cut_where_they_say() -> None:
    """A chain of 0.8 each: P(some rejection) passes 0.5 after the fourth; see the formulas."""
    context = endless_context()
    context.keep_going = Threshold(0.5).keep_going
    assert len(chain(context, [0.8] * 9)) - 1 == 4  # 0.8^3 > 0.5 > 0.8^4: the fourth is the last
    context.keep_going = Confidence(0.6).keep_going
    assert len(chain(context, [0.9, 0.7, 0.5, 0.9])) - 1 == 3
    sure = Threshold(0.5, accepted=lambda tree, node: 1.0)
    context.keep_going = sure.keep_going
    assert len(chain(context, [0.1] * 9)) - 1 == 9


def test_disco_learns_which_tokens_are_kept() -> None:
    """A drafter that is sure where it is wrong is found out."""
    context = endless_context()
    policy = Disco(CHAIN)
    rng = np.random.default_rng(1)
    tree = chain(context, [0.95, 0.6, 0.95])
    assert policy.keep_going(tree, 1)
    for _ in range(400):  # the second token is nearly always kept, the others are rarely
        low = chain(context, [0.6])
        policy.observe(context, round_of(low, int(rng.random() < 0.9)))
        high = chain(context, [0.95])
        policy.observe(context, round_of(high, int(rng.random() < 0.1)))
    assert policy.kept(chain(context, [0.6]), 1) == pytest.approx(0.9, abs=0.12)
    assert policy.kept(chain(context, [0.95]), 1) == pytest.approx(0.1, abs=0.12)
    context.keep_going = policy.keep_going
    assert len(chain(context, [0.95, 0.6, 0.95])) - 1 == 1


def test_del_finds_the_layer_and_the_length() -> None:
    """Layer 2 of 8 is right in 9 of 10 cases, layer 1 never, layer 4 always but dearer."""
    rng = np.random.default_rng(2)
    share = {1: 0.0, 2: 0.9, 4: 1.0}
    policy = Del(tuple(share), 8, lambda states: np.eye(6)[states[:, 0].astype(int)])
    context = endless_context()
    for _ in range(300):
        tree = chain(context, [0.9] * 2)
        right = [[TOKEN if rng.random() < s else 2 for s in share.values()] for _ in range(3)]
        hidden = np.array(right, float)[:, :, None]
        seen = round_of(tree, 3)
        policy.observe(context, Round(**{**fields(seen), "hidden": hidden}))
        policy.costs.add(1.0, 1)
    assert policy.acceptance == pytest.approx([0.0, 0.9, 1.0], abs=0.2)
    rates = {
        (layer, n): sum(share[layer] ** i for i in range(n + 1)) / (n * layer / 8 + 1.0)
        for layer in share
        for n in range(1, 9)
    }
    layer, length = max(rates, key=lambda key: rates[key])
    assert policy.layer == layer
    assert abs(policy.budget(context).nodes - length) <= 4


def fields(seen: Round) -> dict[str, Any]:
    """The fields of a round by name."""
    return {name: getattr(seen, name) for name in Round.__dataclass_fields__}


POLICIES: list[Callable[[], Any]] = [
    Fixed,
    Adl,
    Sized,
    Thompson,
    Threshold,
    Confidence,
    Disco,
    lambda: Bandit([Budget(3), Budget(0)]),
]


@pytest.mark.parametrize("make", POLICIES)
@pytest.mark.parametrize("scheme", [None, Scheme.WOR])
def test_policies_leave_the_text_as_it_is(make: Callable[[], Any], scheme: Scheme | None) -> None:
    """The same tokens as with a fixed budget, by threads that share the policy."""
    constraint, target = toy_constraint(), TableTarget(toy_model())
    want = [make_row(constraint, 3, i) for i in range(12)]
    list(decode(target, want, Speculation(RandomDrafter(scheme))))
    policy = make()
    found = [make_row(constraint, 3, i) for i in range(12)]

    def work(part: int) -> None:
        for row in found[part::3]:
            list(decode(target, [row], Speculation(RandomDrafter(scheme), policy=policy)))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.tokens for row in found] == [row.tokens for row in want]


def test_what_a_token_will_be_does_not_decide_whether_it_is_drawn() -> None:
    """All draws at a node are there or none are, whatever they and their estimates are (O4)."""
    for make in (Threshold, Confidence, Disco):
        policy = make()
        assert isinstance(policy, StoppingPolicy)
        for first in (0.05, 0.95):
            context = endless_context()
            context.keep_going = policy.keep_going
            tree = chain(context, [first])
            added = []
            for estimate in (0.01, 0.99):
                draws = Draws(Scheme.WOR, np.array([TOKEN]), np.ones(1), (TOKEN,))
                twin = chain(context, [first])
                added.append(bool(twin.add_draws(1, draws, [estimate])))
            assert added[0] == added[1] == tree.may_go_on(1)


def test_adl_drafts_as_long_as_drafts_were_and_on_where_all_is_kept() -> None:
    """Its length is worked out by hand; each text has its own."""
    policy, context = Adl(weight=0.5, step=4), endless_context()
    assert policy.budget(context) == Budget(nodes=16, depth=16, width=1)
    policy.observe(context, round_of(DraftTree(context), 0))  # nothing drafted
    assert policy.budget(context).depth == 16
    policy.observe(context, round_of(chain(context, [0.5] * 6), 6))
    assert policy.budget(context).depth == 6 + 4  # all six were kept
    policy.observe(context, round_of(chain(context, [0.5] * 9), 1))
    assert policy.budget(context).depth == 8  # 7.5 drafted, 3.5 kept
    for _ in range(9):
        policy.observe(context, round_of(chain(context, [0.5]), 0))
    assert policy.budget(context) == Budget(nodes=2, depth=2, width=1)
    assert policy.budget(endless_context()).depth == 16


def test_cost_table_is_robust_and_interpolates() -> None:
    """Outliers do not move it; unmeasured widths lie between their neighbours."""
    table = CostTable()
    rng = np.random.default_rng(0)
    for _ in range(40):
        for width, seconds in ((1, 1.0), (4, 2.0), (8, 1.2)):
            table.add(seconds * (50.0 if rng.random() < 0.2 else 1.0), width)
    assert table.table() == pytest.approx({1: 1.0, 4: 2.0, 8: 1.2}, rel=0.03)
    assert table.ratio(6) == pytest.approx(1.6, rel=0.03)
    assert table.ratio(10) == pytest.approx(1.26, rel=0.03)
    assert table.seconds(6) == pytest.approx(1.6, rel=0.03)
    assert table.ratio(4, rows=7) == pytest.approx(1.09)
    assert table.best_size([0.9, 0.9, 0.9]) == 3
    assert table.best_size([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]) == 7  # a pass of 8 is the cheaper
    assert table.best_size([0.1]) == 0
    assert CostTable().seconds(1) == 0.0


def test_what_some_widths_take_is_expected_of_others() -> None:
    """Two tokens too, once eight were dear; and a single time is half believed."""
    table = CostTable()
    for _ in range(9):
        table.add(1.0, 1)
        table.add(1.21 + 0.5, 8)
    assert table.ratio(2) == pytest.approx(1.03 + 0.45)
    assert table.ratio(12) == pytest.approx(table.ratio(8) + 4 * 0.03)
    table.add(2.0, 12)
    assert table.ratio(12) == pytest.approx((2.0 + 1.33 + 0.45) / 2, rel=0.02)


def test_few_times_on_a_busy_machine_look_no_cheaper_than_many() -> None:
    """Three passes of different widths, half as long again as plain ones, timed amid noise."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        table = CostTable()
        for seconds in rng.lognormal(0.0, 0.4, 24):
            table.add(seconds, 1)
        for width, seconds in zip((4, 6, 8), 1.5 * rng.lognormal(0.0, 0.4, 3), strict=True):
            table.add(seconds, width)
        found.append(table.ratio(8))
    assert 1.3 < float(np.median(found)) < 1.6


def test_batches_share_times_with_batches_like_them() -> None:
    """Five to eight texts count alike; a pass that eight texts tell of is one pass."""
    table = CostTable()
    for _ in range(8):
        table.add(2.0, 1, rows=8)
        table.add(3.0, 4, rows=8)
    assert table.ratio(4, rows=5) == pytest.approx(1.5, abs=0.1)
    assert table.ratio(4) == pytest.approx(1.09)
    assert not table.plain_due(rows=6)
    for _ in range(8 * 100):
        table.add(3.0, 4, rows=8)
    assert not table.plain_due(rows=8)
    for _ in range(8 * 40):
        table.add(3.0, 4, rows=8)
    assert table.plain_due(rows=8)


def test_a_cost_table_measures_a_target() -> None:
    """Every width once per repeat; draft times are in units of T(1)."""
    table = CostTable()
    table.measure(TableTarget(toy_model()), (1, 3), context=2, repeats=2)
    assert (table.known(1), table.known(3), table.known(2)) == (2, 2, 0)
    assert table.draft_ratio(5) == 0.0
    tree = chain(endless_context(), [0.5, 0.5])
    table = CostTable()
    table.add(0.5, 1)
    table.observe(round_of(tree, 1, 1.0, draft_seconds=0.2))
    assert table.draft_ratio(5) == pytest.approx(1.0)
    assert table.ratio(3) == pytest.approx((2.0 + 1.06) / 2)  # one time alone is half believed
    assert table.rate(1.0, 2) == pytest.approx(2 / (1.53 + 0.4))
    assert table.rate(1.0, 2, drafted=True) == pytest.approx(2 / 1.53)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Threshold(1.5),
        lambda: Adl(weight=2.0),
        lambda: Adl(least=0),
        lambda: Fixed(cast(Any, 3)),
        lambda: Confidence(-0.1),
        lambda: Disco(threshold=2),
        lambda: Exp3(2, 0.0),
        lambda: Ucb(0),
        lambda: Ucb(2).reward(0, 1.5),
        lambda: Bandit([]),
        lambda: Thompson(memory=1.2),
        lambda: Sized(first=-1),
        lambda: Del((9,), 8, lambda states: np.zeros((1, 1))),
        lambda: CostTable(0),
        lambda: CostTable().add(1.0, 0),
    ],
)
def test_senseless_numbers_are_refused(make: Callable[[], Any]) -> None:
    """By a typed error that says what is expected."""
    with pytest.raises(GenerationError) as caught:
        make()
    assert caught.value.expected
