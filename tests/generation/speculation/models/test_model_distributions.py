"""Tests that drawn drafts of models, and the texts, have the right distributions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import structgen as sg
from structgen.generation.distribution import Sampler
from structgen.generation.generator import Generator
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.masked import allowed_ids, distribution_over, masked_law
from structgen.generation.speculation.models import LayerSkipDrafter, ModelDrafter
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.rules import KSeq, OptimalTransport, RecursiveRejection
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.trees import Dynamic, Static, StochasticBeam
from tests.generation.models import OTHER_MERGES, build_model, build_tokenizer
from tests.generation.speculation.models.test_model_drafter import generator, nearby
from tests.generation.speculation.toys import make_context

__all__ = ["generator"]

LETTERS = sg.Regex("[ab]{2}")
LONGER = sg.Regex("[ab]{8}")
DRAWING = [Static("wor"), Static("iid"), Static("greedy"), StochasticBeam(), Dynamic()]
WARM = 4.0  # the temperature at which the tiny model leaves several texts probable
WORST = 50.0  # chi-square with 6 degrees of freedom exceeds it once in 10^8 tests


def logits_after(model: Any, tokens: list[int]) -> Any:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].numpy()


@pytest.mark.parametrize("builder", DRAWING, ids=lambda builder: type(builder).__name__)
@pytest.mark.parametrize("shared", [True, False])
def test_draws_tell_the_distribution_that_they_come_from(
    generator: Generator, builder: Any, shared: bool
) -> None:
    """Masked, at the text's temperature, over the tokens that both have: as read afresh."""
    tokenizer = build_tokenizer() if shared else build_tokenizer(OTHER_MERGES, ["<start>"])
    model = build_model(tokenizer, seed=3).double()
    drafter = ModelDrafter(model, None if shared else tokenizer, builder=builder)
    context = make_context(generator.specs.get(LONGER)[0], [40, 41, 42])
    context.sampler = Sampler(temperature=3.0, top_k=5)
    session = drafter.begin(context)
    tokens = drafter._map(context.constraint.vocabulary)
    compared = 0
    for _ in range(3):
        tree = session.propose(context, Budget(nodes=9, depth=3, width=2))
        for node, draws in tree.draws.items():
            text = tokens.read(context.tokens + tree.path(node))
            row = logits_after(model, text)
            ids = allowed_ids(context, tree.states[node])
            ids = ids[tokens.ids[ids] >= 0]
            ids, distribution = distribution_over(context, ids, row[tokens.ids[ids]])
            if isinstance(builder, Static) and builder.pick == "greedy":
                kept = np.isin(ids, draws.ids)
                ids, distribution = ids[kept], distribution[kept] / distribution[kept].sum()
            np.testing.assert_array_equal(draws.ids, ids)
            np.testing.assert_allclose(draws.law, distribution, rtol=1e-9)
            compared += 1
        token = tree.tokens[1]
        context.state = context.constraint.advance(context.state, token)
        context.tokens.append(token)
    assert compared >= 3


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.6, "top_k": 3}])
def test_a_target_that_drafts_for_itself_accepts_everything(
    generator: Generator, settings: dict[str, Any]
) -> None:
    """Draft and target have the same distribution, so the ratio is 1 everywhere."""
    chain = Fixed(Budget(nodes=3, depth=3, width=1))
    every = range(len(generator.target.model.model.layers))
    for drafter in (
        ModelDrafter(generator.target, builder=Static("iid")),
        LayerSkipDrafter(generator.target, list(every), builder=Static("wor")),
    ):
        speculate = Speculation(drafter, rule=RecursiveRejection(), policy=chain)
        for result in generator.generate(
            "ab", LONGER, n=5, seed=2, on_truncation="raise", speculate=speculate, **settings
        ):
            assert result.stats is not None
            assert result.stats.accepted == result.stats.drafted > 0


def exact_law(generator: Generator) -> dict[tuple[int, ...], float]:
    """The probability of every token sequence under masked decoding, by enumeration."""
    constraint = generator.specs.get(LETTERS)[0]
    context = make_context(constraint)
    context.sampler = Sampler(temperature=WARM)
    distribution: dict[tuple[int, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], int, float]] = [((), constraint.start, 1.0)]
    prompt = generator.tokenizer("ab")["input_ids"]
    while waiting:
        tokens, state, mass = waiting.pop()
        if constraint.is_accepting(state):
            distribution[tokens] = mass
            continue
        row = logits_after(generator.target.model, [*prompt, *tokens])
        for token, chance in zip(*masked_law(context, state, row), strict=True):
            after = constraint.advance(state, int(token))
            waiting.append(((*tokens, int(token)), after, mass * float(chance)))
    return distribution


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("builder", "rule"),
    [
        (Static("wor"), RecursiveRejection()),
        (Static("iid"), KSeq()),
        (Static("greedy"), OptimalTransport()),
        (StochasticBeam(), RecursiveRejection()),
    ],
    ids=lambda part: type(part).__name__,
)
def test_texts_follow_the_masked_distribution(
    generator: Generator, builder: Any, rule: Any
) -> None:
    """All sequences of two letters, against their exact probabilities (chi-square)."""
    count = 400
    drafter = ModelDrafter(nearby(generator, 0.1), builder=builder)
    policy = Fixed(Budget(nodes=2, depth=1, width=2))
    speculate = Speculation(drafter, rule=rule, policy=policy)
    results = generator.generate(
        "ab", LETTERS, n=count, seed=0, temperature=WARM, speculate=speculate
    )
    seen = Counter(result.tokens for result in results)
    distribution = exact_law(generator)
    assert sum(distribution.values()) == pytest.approx(1.0)
    assert set(seen) <= set(distribution)
    large = {tokens: mass * count for tokens, mass in distribution.items() if mass * count >= 5}
    assert len(large) >= 4
    rest = count - sum(large.values())
    cells = [(seen[tokens], expected) for tokens, expected in large.items()]
    cells.append((count - sum(seen[tokens] for tokens in large), max(rest, 1.0)))
    assert sum((found - expected) ** 2 / expected for found, expected in cells) < WORST
