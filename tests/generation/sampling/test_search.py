"""Tests that searches find the best texts within their budget, by enumeration."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import GenerationError, TruncatedError
from structgen.generation.sampling.exact import exact_law
from structgen.generation.sampling.interfaces import Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.potentials.joined import join
from structgen.generation.sampling.potentials.predicates import OnText
from structgen.generation.sampling.registry import draw
from structgen.generation.sampling.search.best_first import BestFirst
from structgen.generation.sampling.search.monte_carlo import MonteCarlo
from structgen.generation.sampling.search.tree import Ranking
from structgen.generation.sampling.table import TableModel
from tests.generation.sampling.toys import LETTERS, PATTERNS, letters

PENALTY = OnText(
    lambda text: -0.8 * text.count("b"), prefix=lambda text: -0.8 * text.count("b"), weighs=True
)
NO_CB = OnText(prefix=lambda text: "cb" not in text)


def random_toy(seed: int) -> Posterior:
    """One of the patterns under a random model."""
    return letters(PATTERNS[seed % len(PATTERNS)], seed, max_tokens=5, concentration=0.5)


def ranked(posterior: Posterior) -> list[Tokens]:
    """All sequences of a posterior, the most probable first."""
    distribution = exact_law(posterior).log_probs
    return sorted(distribution, key=lambda tokens: -distribution[tokens])


def critical(seed: int) -> Posterior:
    """A random toy with a predicate and a penalty."""
    constraint, potentials = join(sg.compile(sg.Regex("[abc]{0,4}"), LETTERS), [NO_CB, PENALTY])
    model = TableModel.random(6, seed, concentration=0.5)
    return Posterior(model, constraint, max_tokens=5, stop="eos", potentials=potentials)


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 8]), st.booleans())
def test_best_first_finds_the_most_probable_texts(seed: int, batch: int, weighed: bool) -> None:
    """In the order of the enumerated distribution, however many nodes are expanded together."""
    make = critical if weighed else random_toy
    best = ranked(make(seed))[:6]
    found = BestFirst(batch=batch).draw(make(seed), len(best))
    assert [sample.tokens for sample in found] == best
    for sample in found:
        assert math.isnan(sample.log_weight)


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_best_first_keeps_its_budget(seed: int, budget: int) -> None:
    """The model is asked for no more than the budget, and what is found is still the best."""
    posterior = random_toy(seed)
    best = ranked(random_toy(seed))[0]
    try:
        [found] = BestFirst(budget=budget).draw(posterior, 1)
    except TruncatedError:
        pass
    else:
        assert found.tokens == best
    assert posterior.model_rows <= budget


def test_best_first_expands_little() -> None:
    """A model that is sure of one text is asked little more than once for each of its tokens."""
    text = (0, 1, 0, 1, 0, 1, 4)
    model = TableModel(6, lambda seen: [0.9 if t == text[len(seen)] else 0.02 for t in range(6)])
    posterior = Posterior(model, sg.compile(sg.Regex("[abc]{0,6}"), LETTERS), stop="eos")
    [found] = BestFirst(batch=1).draw(posterior, 1)
    assert found.tokens == text
    assert posterior.model_rows <= len(text)


def test_a_costly_check_is_asked_of_few_texts() -> None:
    """A condition on whole texts is asked of those that are the best left, and of no others."""
    asked = []

    def check(text: str) -> bool:
        asked.append(text)
        return text.count("c") == 2

    constraint, _ = join(sg.compile(sg.Regex("[abc]{4}"), LETTERS), [OnText(check)])
    model = TableModel.random(6, 5, concentration=0.7)
    posterior = Posterior(model, constraint, max_tokens=12, stop="eos")
    [found] = BestFirst(batch=1).draw(posterior, 1)
    assert asked[-1] == found.text
    assert len(asked) == len(set(asked))
    plain = Posterior(model, sg.compile(sg.Regex("[abc]{4}"), LETTERS), max_tokens=5, stop="eos")
    assert len(asked) <= ranked(plain).index(found.tokens) + 1


def test_a_score_chooses_among_the_most_probable() -> None:
    """`candidates` texts are scored, each once; the best by score come first."""
    best = ranked(random_toy(1))[:5]
    asked = []

    def score(text: str) -> float:
        asked.append(text)
        return -len(text)

    found = BestFirst(score=score, candidates=5).draw(random_toy(1), 2)
    assert len(asked) == 5
    lengths = sorted(len(LETTERS.decode_bytes(tokens)) for tokens in best)
    assert [len(sample.text) for sample in found] == lengths[:2]


def test_a_ranking_of_many_tokens_grows() -> None:
    """What is ranked piece by piece comes in the order of a whole sort, each token once."""
    rng = np.random.default_rng(0)
    row = rng.choice([-np.inf, -3.0, -2.0, -1.0], 1000)
    ids = np.flatnonzero(rng.random(1000) < 0.8).astype(np.int32)
    seen: list[int] = []
    ranking = Ranking(ids, row, 0)
    while not ranking.exhausted:
        if ranking.used_up:
            ranking = Ranking(ids, row, ranking.taken)
        seen.append(ranking.take()[0])
    logs = row[ids]
    whole = ids[np.argsort(-logs, kind="stable")][: int((logs > -np.inf).sum())]
    assert seen == whole.tolist()


@pytest.mark.thorough
@given(st.integers(0, 10**6), st.sampled_from(["max", "mean"]), st.integers(1, 3))
def test_monte_carlo_finds_the_best_with_enough_budget(
    seed: int, backup: str, rollouts: int
) -> None:
    """What is known to the end is not visited again, so the search ends, with the best text."""
    wanted = {t: (hash(t) % 97) / 97 for t in ranked(critical(seed))}
    by_text: dict[str, float] = {}
    for tokens, value in wanted.items():
        by_text.setdefault(LETTERS.decode_bytes(tokens).decode(), value)
    search = MonteCarlo(
        score=lambda text: by_text[text],
        budget=10**5,
        rollouts=rollouts,
        backup=backup,  # type: ignore[arg-type]
    )
    [found] = search.draw(critical(seed), 1, seed)
    assert by_text[found.text] == max(by_text.values())


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4))
def test_monte_carlo_keeps_its_budget(seed: int, budget: int, rollouts: int) -> None:
    """The model is asked for no more than the budget."""
    posterior = critical(seed)
    with suppress(TruncatedError):
        MonteCarlo(budget=budget, rollouts=rollouts).draw(posterior, 1, seed)
    assert posterior.model_rows <= budget


@pytest.mark.thorough
def test_monte_carlo_gets_better_with_budget() -> None:
    """The mean over seeds of the best score rises with the budget, past that of plain draws."""

    def score(text: str) -> float:
        return sum(a == b for a, b in zip(text, "cabcbaab", strict=False)) - len(text) / 100

    def best(budget: int, seed: int) -> float:
        constraint = sg.compile(sg.Regex("[abc]{8}"), LETTERS)
        model = TableModel.random(6, seed, concentration=1.0)
        posterior = Posterior(model, constraint, max_tokens=9, stop="eos")
        search = MonteCarlo(score=score, budget=budget, batch=1, exploration=0.5)
        return score(search.draw(posterior, 1, seed)[0].text)

    means = [
        float(np.mean([best(budget, seed) for seed in range(12)])) for budget in (16, 128, 768)
    ]
    assert means[0] + 0.5 < means[1]
    assert means[1] + 0.5 < means[2]


def test_searches_have_names_and_refuse_wrong_options() -> None:
    """`draw` knows them by name; options that mean nothing are errors."""
    assert draw(random_toy(2), "best_first", 1)[0].tokens == ranked(random_toy(2))[0]
    assert len(draw(random_toy(2), "mcts", 2, seed=1)) == 2
    with pytest.raises(GenerationError):
        MonteCarlo(backup="median")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(GenerationError):
        MonteCarlo(exploration=-1.0)
    with pytest.raises(GenerationError):
        BestFirst(budget=0).draw(random_toy(2), 1)


def test_dead_ends_are_left() -> None:
    """Prefixes from which critics let nothing go on cost no more than their own expansion."""
    critic = OnText(lambda text: text.startswith("b"), prefix=lambda t: len(t) < 3 or t[0] == "b")
    constraint, _ = join(sg.compile(sg.Regex("[abc]{3}"), LETTERS), [critic])
    model = TableModel(6, lambda seen: (0.9, 0.02, 0.02, 0.02, 0.02, 0.02))
    for sampler in (BestFirst(), MonteCarlo(budget=200)):
        posterior = Posterior(model, constraint, max_tokens=4, stop="eos")
        [found] = sampler.draw(posterior, 1, 0)
        assert found.text[0] == "b"
    nothing, _ = join(sg.compile(sg.Regex("[abc]{3}"), LETTERS), [OnText(lambda text: False)])
    for sampler in (BestFirst(), MonteCarlo(budget=500)):
        with pytest.raises(TruncatedError):
            sampler.draw(Posterior(model, nothing, max_tokens=4, stop="eos"), 1, 0)
