"""Tests the algebra of potentials, and that joining them weights properly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import GenerationError, VocabularyError
from structgen.generation.sampling.context import Context, Contexts
from structgen.generation.sampling.exact import exact_law, kl
from structgen.generation.sampling.interfaces import Potential, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.potentials.joined import join
from structgen.generation.sampling.potentials.potentials import REFUSED, Critic, OverTokens, Product
from structgen.generation.sampling.potentials.predicates import OnText, OnTokens, OnValue
from structgen.generation.sampling.potentials.second_model import SecondModel
from structgen.generation.sampling.samplers.independent import Mask
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.samplers.steps import AwrsStep, MaskStep
from structgen.generation.sampling.table import TableModel
from structgen.masks import bitmask
from tests.generation.sampling.exhaustive import ScriptedDraws
from tests.generation.sampling.toys import LETTERS

texts = st.lists(st.sampled_from(LETTERS.text_ids.tolist()), max_size=6).map(tuple)

NO_CC = OnText(prefix=lambda text: "cc" not in text)
HAS_B = OnText(lambda text: "b" in text, prefix=lambda text: len(text) < 6)
FEW = OnTokens(prefix=lambda tokens: len(set(tokens)) <= 2)
LIKES_A = OnText(
    lambda text: 0.7 * text.count("a"), prefix=lambda text: 0.5 * text.count("a"), weighs=True
)
NO_BA = OnText(lambda text: -1.0 if "ba" in text else 0.5, weighs=True)
SECOND = SecondModel(TableModel.random(6, 7), 0.5)
SECOND_ENDS = SecondModel(TableModel.random(6, 8), -1.0, ends=True)
CRITICS = [NO_CC, HAS_B, FEW, LIKES_A, NO_BA, SECOND, SECOND_ENDS, NO_CC * LIKES_A * SECOND]


def weights(critic: Critic, text: Tokens) -> tuple[list[float], float]:
    """log_prefix of every beginning of a text, and log_complete of it."""
    potential = critic.over(LETTERS)
    prefixes = [text[:end] for end in range(len(text) + 1)]
    return potential.log_prefix(prefixes).tolist(), float(potential.log_complete([text])[0])


@pytest.mark.parametrize("critic", CRITICS)
@given(text=texts)
def test_what_is_refused_stays_refused(critic: Critic, text: Tokens) -> None:
    """Behind a refused prefix every prefix and the whole text are refused."""
    prefixes, complete = weights(critic, text)
    for before, after in pairwise([*prefixes, complete]):
        assert before > REFUSED or after == REFUSED


@given(text=texts)
def test_a_critic_that_changes_its_mind_is_held_to_its_word(text: Tokens) -> None:
    """A predicate that is True again after False: the distribution above holds all the same."""
    prefixes, complete = weights(OnTokens(prefix=lambda tokens: len(tokens) != 2), text)
    assert prefixes == [0.0 if n < 2 else REFUSED for n in range(len(text) + 1)]
    assert complete == (0.0 if len(text) < 2 else REFUSED)


@pytest.mark.parametrize("critic", [NO_CC, FEW, LIKES_A, NO_BA])
@given(text=texts)
def test_the_weights_of_steps_telescope(critic: Any, text: Tokens) -> None:
    """The first prefix, the steps and the end multiply to the weight of the whole text."""
    potential = critic.over(LETTERS)
    prefixes, complete = weights(critic, text)
    if REFUSED in prefixes:
        return
    steps = [float(potential.log_weight_next(text[:i], [t])[0]) for i, t in enumerate(text)]
    end = complete - prefixes[-1]
    assert prefixes[0] + sum(steps) + end == pytest.approx(complete, abs=1e-12)
    assert steps == [after - before for before, after in pairwise(prefixes)]


@pytest.mark.thorough
@pytest.mark.parametrize(("one", "other"), list(product(CRITICS[:7], repeat=2)))
@given(text=texts)
def test_products_add_logs(one: Critic, other: Critic, text: Tokens) -> None:
    """The product of two critics weighs the sum of their logs, and refuses what either refuses."""
    (p1, c1), (p2, c2), (p3, c3) = (weights(c, text) for c in (one, other, one * other))
    assert p3 == pytest.approx([a + b for a, b in zip(p1, p2, strict=True)])
    assert c3 == pytest.approx(c1 + c2)


@given(text=texts)
def test_a_second_model_weighs_its_own_probability(text: Tokens) -> None:
    """The power of the product of the table's probabilities, in one batch for all beginnings."""
    model = TableModel.random(6, 7)
    rows = [model.log_probs([text[:i]])[0, t] for i, t in enumerate(text)]
    prefixes, complete = weights(SecondModel(TableModel.random(6, 7), 0.5), text)
    assert prefixes == pytest.approx([0.5 * sum(rows[:n]) for n in range(len(text) + 1)])
    assert complete == pytest.approx(0.5 * sum(rows))
    ends = float(np.log(np.exp(model.log_probs([text])[0, [4, 5]]).sum()))
    both = SecondModel(TableModel.random(6, 7), 0.5, ends=True).over(LETTERS)
    assert both.log_complete([text])[0] == pytest.approx(0.5 * (sum(rows) + ends))


def test_a_second_model_refuses_what_it_never_writes() -> None:
    """Probability 0 refuses, to the power of a negative strength too."""
    model = TableModel(6, lambda _: (1, 0, 1, 1, 1, 1))
    for strength in (1.0, -1.0):
        potential = SecondModel(model, strength).over(LETTERS)
        assert potential.log_prefix([(0,), (1,), (1, 0)]).tolist()[1:] == [REFUSED, REFUSED]
    with pytest.raises(VocabularyError):
        SecondModel(TableModel.random(5, 1)).over(LETTERS)
    with pytest.raises(GenerationError):
        SecondModel(model, math.inf)


def _posterior(pattern: str, critics: Sequence[Critic], seed: int = 3) -> Posterior:
    constraint, potentials = join(sg.compile(sg.Regex(pattern), LETTERS), critics)
    model = TableModel.random(6, seed, concentration=0.7)
    return Posterior(model, constraint, max_tokens=5, stop="eos", potentials=potentials)


@pytest.mark.parametrize("critics", [[c] for c in CRITICS] + [[NO_CC, LIKES_A, HAS_B * SECOND]])
def test_the_joined_distribution_is_the_models_times_the_weights(critics: Sequence[Critic]) -> None:
    """Enumerated: each text's probability is p(text) * exp(log_complete) / Z, no text is lost."""
    plain = exact_law(_posterior("[abc]{0,4}", []))
    potentials: list[Potential] = [critic.over(LETTERS) for critic in critics]
    expected = {}
    for tokens, logp in plain.log_probs.items():
        weight = sum(float(p.log_complete([tokens[:-1]])[0]) for p in potentials)
        if weight > REFUSED:
            expected[tokens] = math.exp(logp + weight)
    total = sum(expected.values())
    distribution = exact_law(_posterior("[abc]{0,4}", critics))
    assert distribution.log_evidence == pytest.approx(plain.log_evidence + math.log(total))
    assert distribution.log_probs.keys() == expected.keys()
    for tokens, weight in expected.items():
        assert math.exp(distribution.log_probs[tokens]) == pytest.approx(weight / total)


@pytest.mark.thorough
@pytest.mark.parametrize("critics", [[NO_CC], [HAS_B], [LIKES_A], [NO_CC, NO_BA]])
def test_steps_weigh_properly_under_critics(
    critics: Sequence[Critic], scripted: ScriptedDraws
) -> None:
    """Every way to draw is enumerated: the mean weight of each text is exactly its share."""
    distribution = exact_law(_posterior("a?b?[bc]{0,2}", critics))
    sampler = Mask(max_attempts=1)
    posterior = _posterior("a?b?[bc]{0,2}", critics)
    means: dict[Tokens, float] = {}

    def run() -> Any:
        try:
            return sampler.draw(posterior, 1, 0)
        except GenerationError:
            return None

    for probability, found in scripted.every_run(run):
        if found is not None:
            [sample] = found
            means[sample.tokens] = means.get(sample.tokens, 0.0) + probability * math.exp(
                sample.log_weight
            )
    assert means.keys() == distribution.log_probs.keys()
    for tokens, mean in means.items():
        assert mean == pytest.approx(
            math.exp(distribution.log_probs[tokens] + distribution.log_evidence)
        )


@pytest.mark.thorough
@pytest.mark.parametrize("inside", ["mask", "awrs"])
def test_smc_with_critics_comes_near_the_distribution(inside: Any) -> None:
    """Populations with twists and predicates: close to the enumerated distribution."""
    critics = [NO_CC, LIKES_A, HAS_B]
    distribution = exact_law(_posterior("[abc]{0,4}", critics))
    samples = Smc(particles=20, inside=inside).draw(_posterior("[abc]{0,4}", critics), 400, 5)
    found: dict[Tokens, float] = {}
    for sample, weight in zip(samples, samples.weights, strict=True):
        found[sample.tokens] = found.get(sample.tokens, 0.0) + float(weight)
    floor = (len(distribution.log_probs) - 1) / (2 * len(samples))
    assert distribution.kl_from(found) < 2 * floor
    plain = exact_law(_posterior("[abc]{0,4}", []))
    here = {tokens: math.exp(logp) for tokens, logp in distribution.log_probs.items()}
    assert kl(here, {t: math.exp(p) for t, p in plain.log_probs.items()}) > 4 * floor
    assert samples.satisfied.value == pytest.approx(
        math.exp(distribution.log_evidence), abs=5 * samples.satisfied.standard_error
    )


def test_awrs_asks_a_predicate_few_times() -> None:
    """One accepted token at a place with 1,000 candidates costs a handful of questions."""
    asked = 0

    def predicate(text: str) -> bool:
        nonlocal asked
        asked += 1
        return not text.endswith("7")

    vocabulary = sg.Vocabulary([*(f"{i} ".encode() for i in range(1000)), b"7"], eos_ids=[])
    constraint = sg.compile(sg.Regex("[0-9 ]{0,40}!?"), vocabulary)
    joined, _ = join(constraint, [OnText(prefix=predicate)])
    posterior = Posterior(TableModel(1001, lambda _: [1.0] * 1001), joined, max_tokens=9)
    rng = np.random.default_rng(1)
    asked = 0
    for stepper in (AwrsStep(), MaskStep()):
        rows = posterior.log_probs([posterior.start])
        step = stepper.step(posterior, posterior.start, rows[0], rng)
        assert step.token is not None
        assert 0 < asked < 10
        asked = 0


def test_a_joined_constraint_keeps_the_rules_of_states() -> None:
    """Equal paths give equal states, ends need both, and bytes alone ask the constraint alone."""
    plain = sg.compile(sg.Regex("a*b?"), LETTERS)
    joined, potentials = join(plain, [HAS_B, OnTokens(prefix=lambda t: len(t) < 3), LIKES_A])
    assert len(potentials) == 1
    state = joined.advance(joined.start, 0)
    assert joined.advance(joined.start, 0) == state
    assert not joined.is_accepting(state)
    assert plain.is_accepting(plain.advance(plain.start, 0))
    assert joined.advance(state, 4) == sg.DEAD
    rows = bitmask.allocate(2, LETTERS.size)
    joined.fill_masks([state, joined.start], rows)
    assert bitmask.unpack(rows, LETTERS.size)[:, :4].tolist() == [[True, True, True, False]] * 2
    done = joined.advance(state, 1)
    assert joined.is_accepting(done)
    assert joined.advance(done, 5) == sg.FINAL
    long = joined.advance(joined.advance(state, 0), 0)
    assert long == sg.DEAD
    assert joined.advance(sg.DEAD, 0) == sg.DEAD
    assert joined.allowed_bytes(state) == frozenset(b"ab")
    assert joined.is_accepting(joined.advance_bytes(state, b"a"))
    assert joined.advance_bytes(state, b"c") == sg.DEAD
    assert joined.shortest_completion(state) == b""
    assert join(plain, [LIKES_A])[0] is plain
    nothing, _ = join(plain, [OnText(prefix=lambda text: False)])
    assert nothing.start == sg.DEAD


def test_values_are_judged_while_they_are_written() -> None:
    """A predicate on final members refuses a beginning as soon as the member is final."""
    vocabulary = sg.Vocabulary([bytes([i]) for i in range(128)])

    def cheap(value: Any) -> bool:
        return all(v < 20 for pointer, v in value.finals() if pointer.endswith("/price"))

    critic = OnValue(lambda value: sum(i["price"] for i in value) < 30, prefix=cheap)
    potential = critic.over(vocabulary)

    def judged(text: str) -> tuple[bool, bool]:
        tokens = tuple(text.encode())
        return potential.log_prefix([tokens])[0] == 0, potential.log_complete([tokens])[0] == 0

    assert judged('[{"price": 2') == (True, False)
    assert judged('[{"price": 25') == (True, False)
    assert judged('[{"price": 25}') == (False, False)
    assert judged('[{"price": 15}, {"price": 14}]') == (True, True)
    assert judged('[{"price": 15}, {"price": 16}]') == (True, False)
    assert judged("[}") == (False, False)


def test_contexts_decode_whole_characters() -> None:
    """A token that ends inside a character adds it when the rest has come."""
    vocabulary = sg.Vocabulary([b"a", "é".encode()[:1], "é".encode()[1:], b"</s>"], eos_ids=[3])
    contexts = Contexts(vocabulary)
    assert contexts.of((0, 1)).text == "a"
    assert contexts.of((0, 1)).data == "aé".encode()[:2]
    assert contexts.of((0, 1, 2)).text == "aé"
    assert contexts.of((0, 3)).text == "a"
    assert contexts.of((0, 1, 2)).tokens == (0, 1, 2)
    assert contexts.of((0, 1)) is contexts.of((0, 1, 2)).parent


def test_a_fold_looks_at_each_token_once() -> None:
    """What was folded of a beginning is not folded again for what goes on with it."""
    seen: list[Tokens] = []

    def step(total: int, context: Context) -> int:
        seen.append(context.tokens)
        return total + len(context.piece)

    contexts = Contexts(LETTERS)
    assert contexts.of((0, 2)).fold("length", 0, step) == 3
    assert contexts.of((0, 2, 1)).fold("length", 0, step) == 4
    assert seen == [(), (0,), (0, 2), (0, 2, 1)]


def test_wrong_answers_are_errors() -> None:
    """A weight that is no number, a weight from a predicate, and no function at all."""
    for bad in ("nan", "inf"):
        with pytest.raises(GenerationError, match="finite"):
            OnText(partial(str.__add__, bad), weighs=True).over(LETTERS).log_complete([()])
    with pytest.raises(GenerationError, match="no function"):
        OnText()
    wrong = OnText(lambda text: 1.0, weighs=True)
    wrong.boolean = True
    assert wrong.over(LETTERS).log_complete([()])[0] == 0.0
    assert isinstance(wrong.over(LETTERS), OverTokens)
    assert Product([NO_CC, LIKES_A]).boolean is False
