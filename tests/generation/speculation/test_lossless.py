"""Tests that whole texts keep their distribution, and shows what would distort it.

Wherever draws can be enumerated they are: errors below 1e-12 are rounding. What draws from
continuous distributions, and the loop as a whole, is tested by sampling: with some thirty cells, a
G-test at 1e-6 finds a total variation of 0.07 with probability 0.999 in 6,000 texts, of 0.1 in
3,000.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation import distribution as drawing
from structgen.generation.loop import decode as decode_plainly
from structgen.generation.row import Row
from structgen.generation.sampling.table import TableModel
from structgen.generation.speculation.awrs import draw_tested, write_tested
from structgen.generation.speculation.interfaces import AcceptRule, Budget, Fork, Plan
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.masked import allowed_ids
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.rules import (
    Judge,
    KSeq,
    OptimalTransport,
    RecursiveRejection,
    Reflective,
    SampleCompare,
)
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import Context, DraftTree, Draws, Scheme
from structgen.generation.speculation.trees import (
    BestFirst,
    Cape,
    Distributions,
    Dynamic,
    Sequoia,
    Static,
    StochasticBeam,
    TreeBuilder,
    merge,
)
from structgen.generation.speculation.verify import write_masked
from tests.generation.speculation.toy_texts import (
    Drafting,
    ExactLoop,
    Toy,
    distance,
    distributions_of,
    g_test,
    scripted_draws,
)
from tests.generation.speculation.toys import RandomDrafter, allowed, toy_constraint, toy_model

TOY = Toy(toy_constraint("(a|bc?|ca){1,2}"), toy_model(1))
LAWS = distributions_of(toy_model(2))
SMALL = Budget(3, depth=2, width=2)
EXACT = 1e-12


@dataclass
class Merged:
    """Drawn children with the best guesses of another model beside them, cut to the budget."""

    builder: TreeBuilder

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """Two trees in one, in which not all has room."""
        drawn = self.builder.grow(context, Budget(3, depth=2, width=3), distributions)
        best = BestFirst().grow(context, budget, distributions_of(toy_model(3)))
        return merge([drawn, best], Budget(2, depth=2, width=3))


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> ExactLoop:
    """The loop with every draw enumerated."""
    return ExactLoop(scripted_draws(monkeypatch), TOY, LAWS, SMALL)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("builder", "rule"),
    [
        (BestFirst(), SampleCompare()),
        (BestFirst(), RecursiveRejection()),
        (Cape(), SampleCompare()),
        (Dynamic(), RecursiveRejection()),
        (Dynamic(), SampleCompare()),
        (Merged(Dynamic()), RecursiveRejection()),
        (Merged(Static("iid")), KSeq()),
        (Merged(Static("wor")), OptimalTransport()),
        (Sequoia(2), RecursiveRejection()),
        (Static("greedy"), OptimalTransport()),
        (Static("greedy"), RecursiveRejection()),
        (Static("iid"), KSeq()),
        (Static("iid"), OptimalTransport()),
        (Static("iid"), RecursiveRejection()),
        (Static("wor"), OptimalTransport()),
    ],
    ids=lambda part: type(part).__name__ + getattr(part, "pick", ""),
)
def test_texts_keep_their_distribution(
    loop: ExactLoop, builder: TreeBuilder, rule: AcceptRule
) -> None:
    """Of all texts, over all drafts and all decisions."""
    found = loop.text_distribution(builder, partial(write_masked, rule))
    assert distance(found, TOY.text_distribution()) < EXACT


def test_temperature_is_part_of_both_distributions(loop: ExactLoop) -> None:
    """Whatever temperature the drafter has, as long as its distribution is what it drew from."""
    hot = replace(loop, toy=replace(TOY, temperature=0.5))
    found = hot.text_distribution(Dynamic(), partial(write_masked, RecursiveRejection()))
    assert distance(found, hot.toy.text_distribution()) < EXACT
    assert distance(found, TOY.text_distribution()) > 0.05


def weigh(state: int, ids: Any) -> Any:
    """Log weights that a state and a token have, one of them refused."""
    return np.where((ids == 3) & (state % 2 == 1), -np.inf, np.log(1.0 + ids + state % 5))


@pytest.mark.parametrize("rule", [RecursiveRejection(), SampleCompare(), OptimalTransport()])
def test_weights_are_part_of_the_distribution(loop: ExactLoop, rule: AcceptRule) -> None:
    """What is drafted knows nothing of them; what is written has the weighted distribution."""
    weighed = replace(loop, toy=replace(TOY, weigh=weigh))
    found = weighed.text_distribution(Static("wor"), partial(write_masked, rule))
    assert distance(found, weighed.toy.text_distribution()) < EXACT
    assert distance(found, TOY.text_distribution()) > 0.05


def test_weights_by_what_can_follow_give_the_model_s_own_distribution(loop: ExactLoop) -> None:
    """Weights of what the model gives to fitting continuations turn masking into the posterior.

    Masks alone do not give it.
    """
    distribution = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.2])
    constraint = TOY.constraint
    fits: dict[int, float] = {}

    def mass(state: int) -> float:
        if state < 0:
            return 1.0
        if state not in fits:
            following = {t: constraint.advance(state, t) for t in allowed(constraint, state)}
            fits[state] = sum(distribution[t] * mass(after) for t, after in following.items())
        return fits[state]

    def future(state: int, ids: Any) -> Any:
        return np.log([mass(constraint.advance(state, int(t))) for t in ids])

    toy = Toy(constraint, TableModel(6, lambda prefix: distribution.tolist()), future)
    found = replace(loop, toy=toy).text_distribution(
        Dynamic(), partial(write_masked, RecursiveRejection())
    )
    texts = {text: float(np.prod(distribution[list(text)])) for text in toy.text_distribution()}
    total = sum(texts.values())
    assert total == pytest.approx(mass(constraint.start))
    wanted = {text: p / total for text, p in texts.items()}
    assert distance(found, wanted) < EXACT
    assert distance(replace(toy, weigh=None).text_distribution(), wanted) > 0.05


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("builder", "temperature", "pattern"),
    [(BestFirst(), 1.0, None), (BestFirst(), 0.5, None), (Static("wor"), 1.0, "(a|bc?){1,2}")],
    ids=["points", "cool", "draws"],
)
def test_testing_tokens_keeps_the_distribution(
    loop: ExactLoop, builder: TreeBuilder, temperature: float, pattern: str | None
) -> None:
    """Comparing with a token that was found by testing some, instead of drawn with a mask."""
    constraint = toy_constraint(pattern) if pattern else TOY.constraint
    toy = replace(TOY, temperature=temperature, constraint=constraint)
    one = replace(loop, toy=toy, budget=Budget(2, depth=2, width=1))
    assert distance(one.text_distribution(builder, write_tested), toy.text_distribution()) < EXACT


def test_tested_tokens_are_properly_weighted(loop: ExactLoop) -> None:
    """The mean of the weight, where a token comes, is the model's probability of that token."""
    logits = TOY.model.log_probs([()])[0] + 3.0
    means = dict.fromkeys(allowed(TOY.constraint, TOY.constraint.start), 0.0)
    for share, drawn in loop.scripted.every_run(lambda: draw_tested(TOY.row(), logits)):
        assert drawn.token is not None
        means[drawn.token] += share * np.exp(drawn.log_masked - drawn.log_raw)
    distribution = np.exp(logits - logits.max())
    distribution /= distribution.sum()
    assert means == pytest.approx({token: distribution[token] for token in means}, abs=EXACT)


class Maskless:
    """A constraint that can tell what is allowed, and make no masks."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        assert not name.startswith("fill_mask")
        return getattr(self._inner, name)


def test_testing_makes_no_masks() -> None:
    """Not one, from the prompt to the end of the texts; and greedy texts are the same."""
    model = TableTarget(toy_model(1))
    bare = Toy(Maskless(TOY.constraint), toy_model(1))
    drafter = Drafting(BestFirst(), uniform)
    for temperature in (0.0, 1.0):
        rows = [replace(bare, temperature=temperature).row(i) for i in range(40)]
        list(decode(model, rows, Speculation(drafter, policy=Fixed(SMALL), tested=True)))
        assert all(row.finish is not None for row in rows)
        assert temperature == 0.0 or sum(row.stats.accepted for row in rows if row.stats) > 0
        plain = [replace(TOY, temperature=temperature).row(i) for i in range(40)]
        list(decode_plainly(model, plain))
        if temperature == 0.0:
            assert [row.tokens for row in rows] == [row.tokens for row in plain]


def uniform(tree: DraftTree, nodes: Sequence[int]) -> list[tuple[Any, Any]]:
    """A drafter's distributions, uniform over what passes a test."""
    advance = tree.context.constraint.advance
    fits = [[t for t in range(1, 6) if advance(tree.states[node], t) >= 0] for node in nodes]
    return [(np.array(ids, np.int64), np.full(len(ids), 1 / max(len(ids), 1))) for ids in fits]


@pytest.mark.parametrize("options", [{"top_k": 2}, {"top_p": 0.5}, {"min_p": 0.1}])
def test_testing_refuses_distributions_that_need_a_mask(options: dict[str, Any]) -> None:
    """Truncation looks at all that is allowed; so do rules with ratios, and weights."""
    row = TOY.row()
    sampler = replace(row.request.sampler, **options)
    for request in (replace(row.request, sampler=sampler), replace(row.request, weight=weigh)):
        speculation = Speculation(RandomDrafter(None), tested=True)
        with pytest.raises(GenerationError, match="truncated or weighed"):
            list(decode(TableTarget(TOY.model), [Row(request, row.rng)], speculation))
    with pytest.raises(GenerationError, match="needs the whole masked distribution"):
        Speculation(RandomDrafter(None), KSeq(), tested=True)


def run_texts(rows: list[Row], **how: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """What becomes of rows in the loop."""
    target = TableTarget(TOY.model)
    list(decode(target, rows, Speculation(**how)) if how else decode_plainly(target, rows))
    for row in rows:
        yield tuple(row.tokens), str(row.finish)


def one_text(budget: int, how: dict[str, Any]) -> tuple[tuple[int, ...], str]:
    """What becomes of one row."""
    [text] = run_texts([TOY.row(budget=budget)], **how)
    return text


@pytest.mark.parametrize("budget", [2, 3])
def test_the_whole_loop_closes_texts_with_the_same_distribution(
    monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    """From the prompt on, where budgets end in the middle of drafts."""
    scripted = scripted_draws(monkeypatch)
    how = {
        "drafter": Drafting(Static("wor"), LAWS),
        "rule": RecursiveRejection(),
        "policy": Fixed(Budget(2, depth=2, width=2)),
    }
    distributions: list[dict[Any, float]] = [{}, {}]
    for found, options in zip(distributions, ({}, how), strict=True):
        one = partial(one_text, budget, options)
        for share, text in scripted.every_run(one):
            found[text] = found.get(text, 0.0) + share
    assert distance(distributions[1], distributions[0]) < EXACT
    assert {finish for _, finish in distributions[0]} == {"closed", "complete", "eos"}


# -- by sampling ----------------------------------------------------------------------------------


def sample(count: int, seed: int, **how: Any) -> Counter[tuple[int, ...]]:
    """Texts of the loop, 500 rows at a time."""
    found: Counter[tuple[int, ...]] = Counter()
    for first in range(0, count, 500):
        speculation = dict(how, seed=seed + first)
        rows = [TOY.row(first + i, seed) for i in range(500)]
        found.update(tokens for tokens, _ in run_texts(rows, **speculation))
    return found


SAMPLED = Fixed(Budget(4, depth=2, width=2))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("builder", "rule", "count"),
    [
        (StochasticBeam(), RecursiveRejection(), 6_000),
        (Static("wor"), RecursiveRejection(), 3_000),
    ],
    ids=["beam", "keys"],
)
def test_sampled_texts_keep_their_distribution(
    builder: TreeBuilder, rule: AcceptRule, count: int
) -> None:
    """In batches, with the random numbers that are used: no worse than one in a million."""
    how = {"drafter": Drafting(builder, LAWS), "rule": rule, "policy": SAMPLED}
    assert g_test(sample(count, 1, **how), TOY.text_distribution()) > 1e-6


class NoResidual(RecursiveRejection):
    """Draws from the distribution itself after a refusal: a mistake."""

    def plan(self, fork: Fork) -> Plan:
        """Right up to the residual."""
        plan = super().plan(fork)
        return Plan(plan.accept, (1.0 - plan.accept.sum()) * fork.p)


@pytest.mark.thorough
def test_the_test_by_sampling_finds_mistakes() -> None:
    """With far fewer texts."""
    drafter = Drafting(StochasticBeam(), LAWS)
    counts = sample(2_000, 1, drafter=drafter, rule=NoResidual(), policy=SAMPLED)
    assert g_test(counts, TOY.text_distribution()) < 1e-6


def test_plans_learn_from_what_was_kept() -> None:
    """A drafter that is the target itself: first children are kept as often as can be."""
    builder = Sequoia(2, every=8)
    before = builder.ranks.rates
    drafter = Drafting(builder, distributions_of(TOY.model))
    how = {"drafter": drafter, "rule": RecursiveRejection(), "policy": SAMPLED}
    list(run_texts([TOY.row(i) for i in range(60)], **how))
    after = builder.ranks.rates
    assert after[0] > before[0]
    assert after[1] < before[1]  # the first is kept unless it would have to be the end token


def test_lossy_rules_ask_about_tokens_and_their_prefix() -> None:
    """Whom they ask is told what the text is so far; what is written still fits."""
    model = toy_model(4)
    seen: list[Fork] = []

    def second(fork: Fork) -> Any:
        seen.append(fork)
        distribution = np.exp(model.log_probs([fork.prefix[1:]])[0])  # without the prompt
        return distribution[fork.ids]

    drafter = Drafting(BestFirst(), LAWS)
    for rule in (Reflective(second), Judge(lambda fork: second(fork)[list(fork.children)], 0.3)):
        rows = [TOY.row(i) for i in range(20)]
        texts = list(run_texts(rows, drafter=drafter, rule=rule, policy=SAMPLED, lossy=True))
        prefixes = {(1, *tokens[:end]) for tokens, _ in texts for end in range(len(tokens))}
        assert {fork.prefix for fork in seen} <= prefixes
        assert len(seen) > len(rows)
        assert {tokens for tokens, _ in texts} <= set(TOY.text_distribution())
        seen.clear()


# -- what would distort the distribution
# ----------------------------------------------------------------------


@dataclass
class Broken:
    """Grows trees with one of the known mistakes of drafters."""

    mistake: str

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """One level."""
        tree = DraftTree(context)
        row = np.exp(toy_model(2).log_probs([tuple(context.written)])[0])
        ids = allowed_ids(context, context.state)
        ids = ids[ids > 0]
        if not len(ids) or not tree.may_go_on(0):
            return tree
        distribution = row[ids] / row[ids].sum()
        draw = partial(drawing.draw, rng=context.rng)  # looked up here, as it is replaced
        if self.mistake == "a guess as a draw":
            self._add(tree, ids, distribution, [int(distribution.argmax())])
        elif self.mistake == "another distribution than was drawn from":
            self._add(tree, ids, distribution, [draw(np.ones(len(ids)))])
        elif self.mistake == "improbable draws left out":
            index = draw(distribution)
            if distribution[index] > 0.3:
                self._add(tree, ids, distribution, [index])
        elif self.mistake == "refused draws left out":
            index = draw(row)
            if index in ids:
                self._add(tree, np.arange(len(row)), row, [index])
        else:
            self._add(tree, ids, distribution, [draw(distribution)])
        return tree

    def _add(self, tree: DraftTree, ids: Any, distribution: Any, drawn: list[int]) -> None:
        tokens = tuple(int(ids[i]) for i in drawn)
        tree.add_draws(0, Draws(Scheme.IID, ids, distribution, tokens), [1.0] * len(drawn))


@pytest.mark.parametrize(
    "mistake",
    [
        "a guess as a draw",
        "another distribution than was drawn from",
        "improbable draws left out",
        "refused draws left out",
    ],
)
def test_mistakes_of_drafters_bend_the_distribution_of_texts(loop: ExactLoop, mistake: str) -> None:
    """The same enumeration notices each; without a mistake there is nothing to notice."""
    write = partial(write_masked, RecursiveRejection())
    assert distance(loop.text_distribution(Broken("none"), write), TOY.text_distribution()) < EXACT
    assert distance(loop.text_distribution(Broken(mistake), write), TOY.text_distribution()) > 1e-3
    compared = loop.text_distribution(Broken(mistake), partial(write_masked, SampleCompare()))
    assert distance(compared, TOY.text_distribution()) < EXACT


def test_a_mask_for_each_depth_writes_what_is_not_allowed(loop: ExactLoop) -> None:
    """Siblings have states of their own; the mask of one is not that of the other."""

    def write(row: Row, tree: DraftTree, node: int, logits: Any) -> None:
        first = tree.depths.index(tree.depths[node])
        fits = allowed_ids(tree.context, tree.states[first])
        scores = np.full(len(logits), -np.inf)
        scores[fits] = logits[fits]
        row.step(scores, 0.0)

    with pytest.raises(GenerationError, match="the mask allowed token"):
        loop.text_distribution(BestFirst(), write)


@pytest.mark.thorough
def test_random_numbers_shared_with_the_drafter_bend_the_distribution() -> None:
    """Drafts that know what the verifier will draw are kept too often."""

    class Sharing(Drafting):
        """Draws with the numbers that its row will be verified with."""

        def begin(self, context: Context) -> Drafting:
            """Take the row's own generator, in the same place."""
            context.rng = TOY.row(next(numbers), 1).rng
            context.rng.random()  # used for the first token
            return self

    numbers = iter(range(10_000))
    drafter = Sharing(Static("iid"), LAWS)
    policy = Fixed(Budget(1, depth=1, width=1))
    counts = sample(3_000, 1, drafter=drafter, rule=RecursiveRejection(), policy=policy)
    assert g_test(counts, TOY.text_distribution()) < 1e-6
    numbers = iter(range(10_000, 20_000))
    counts = sample(3_000, 1, drafter=drafter, rule=RecursiveRejection(), policy=policy)
    assert g_test(counts, TOY.text_distribution()) > 1e-6


@pytest.mark.parametrize("rule", [KSeq(), OptimalTransport()])
def test_rules_are_refused_where_they_would_be_wrong(rule: AcceptRule) -> None:
    """A number of draws that was not settled beforehand."""
    drafter = Drafting(Dynamic(), LAWS)
    with pytest.raises(GenerationError, match="is not right for draws"):
        list(run_texts([TOY.row(i) for i in range(9)], drafter=drafter, rule=rule))


# -- distributions of every run
# ----------------------------------------------------------------------------

EMPTY = (np.empty(0, np.int64), np.empty(0))
REFUSED = (np.array([0, 3]), np.array([0.5, 0.5]))  # the end, and what never begins a text
WRITERS = st.sampled_from(
    [
        (RandomDrafter(None), SampleCompare()),
        (RandomDrafter(Scheme.IID), KSeq()),
        (RandomDrafter(Scheme.WOR), RecursiveRejection()),
        (RandomDrafter(Scheme.WOR), OptimalTransport()),
        (Drafting(Dynamic(), LAWS), RecursiveRejection()),
        (Drafting(StochasticBeam(), LAWS), RecursiveRejection()),
        (Drafting(Static("greedy"), LAWS), OptimalTransport()),
        (Drafting(Static("wor"), lambda tree, nodes: [EMPTY] * len(nodes)), OptimalTransport()),
        (Drafting(BestFirst(), lambda tree, nodes: [REFUSED] * len(nodes)), SampleCompare()),
    ]
)


@settings(max_examples=120, deadline=None)
@given(
    WRITERS,
    st.integers(0, 2**32),
    st.integers(2, 9),
    st.builds(Budget, st.integers(0, 9), st.integers(0, 5), st.integers(1, 4), st.just(0.0)),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_whatever_is_drafted_the_text_fits(
    writer: tuple[Any, AcceptRule], seed: int, room: int, budget: Budget, temperature: float
) -> None:
    """Each token is in the mask of its state; nothing follows the end; budgets are kept; greedy
    texts are those of the plain loop. Drafts may be empty, hold the end token, run into the limit,
    or be refused altogether."""
    drafter, rule = writer
    toy = replace(TOY, temperature=temperature)
    rows = [toy.row(i, seed, room) for i in range(3)]
    list(run_texts(rows, drafter=drafter, rule=rule, policy=Fixed(budget), seed=seed % 1000))
    for row in rows:
        state = TOY.constraint.start
        for token in row.tokens:
            assert token in allowed(TOY.constraint, state)
            state = TOY.constraint.advance(state, token)
        assert len(row.tokens) <= room
        assert (row.finish == "eos") == (state < 0)
        assert state < 0 or TOY.constraint.is_accepting(state)
    if temperature == 0.0:
        plain = [toy.row(i, seed, room) for i in range(3)]
        assert list(run_texts(plain)) == [(tuple(r.tokens), str(r.finish)) for r in rows]
