"""Tests that drafting with some of a model's layers does what it says.

The oracle for a part of a model is a model built with that many layers, and given their weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import structgen as sg
from structgen.errors import ModelError
from structgen.generation.generator import Generator
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.models import (
    Clasp,
    EarlyExit,
    LayerSkipDrafter,
    NearestPrompt,
    Swift,
)
from structgen.generation.speculation.models.layers import Layered, with_layers
from structgen.generation.speculation.models.selectors import embed, matching, spread
from structgen.generation.speculation.policies.exit_layer import Del
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from tests.generation.models import (
    bloom_model,
    build_model,
    build_tokenizer,
    gpt2_model,
    mixed_model,
)
from tests.generation.speculation.models.test_model_drafter import PROMPTS, assert_same
from tests.generation.speculation.toys import SPEC, make_context

SHORT = sg.JsonSchema(
    {"type": "array", "prefixItems": [{"enum": ["ab", "abab"]}] * 4, "items": False, "minItems": 4},
    whitespace="compact",
)
IDLE = (2, 4)  # layers of the model below that do nothing


@pytest.fixture(scope="module")
def generator() -> Generator:
    """A float64 Llama of six layers, two of which add nothing."""
    tokenizer = build_tokenizer()
    model = build_model(tokenizer, layers=6).double()
    with torch.no_grad():
        for layer in IDLE:
            model.model.layers[layer].self_attn.o_proj.weight.zero_()
            model.model.layers[layer].mlp.down_proj.weight.zero_()
    return Generator(model, tokenizer)


def whole(model: Any, tokens: list[int]) -> Any:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].numpy()


def llama_model() -> Any:
    """Six layers."""
    return build_model(build_tokenizer(), layers=6)


@pytest.mark.parametrize(
    ("build", "layers"),
    [
        (llama_model, (0, 2, 5)),
        (llama_model, (3,)),
        (gpt2_model, (1,)),
        (mixed_model, (1,)),
        (bloom_model, (1, 0)),
    ],
)
def test_a_part_is_a_model_of_those_layers(build: Any, layers: tuple[int, ...]) -> None:
    """Its logits, read at once and with a cache, are those of a model made of copies."""
    model = build()
    part = with_layers(model, layers)
    config = part.config
    oracle = type(model)(config).eval()
    weights = dict(model.state_dict())
    for name in oracle.state_dict():
        parts = name.split(".")
        place = next((i for i, piece in enumerate(parts) if piece.isdigit()), None)
        if place is not None:
            source = [*parts]
            source[place] = str(layers[int(parts[place])])
            oracle.state_dict()[name].copy_(weights[".".join(source)])
        else:
            oracle.state_dict()[name].copy_(weights[name])
    tokens = [5, 9, 33, 7, 8]
    np.testing.assert_allclose(whole(part, tokens), whole(oracle, tokens), rtol=1e-5, atol=1e-5)
    target = HuggingFaceTarget(part)
    cache, _ = target.prefill([tokens[:2]])
    for i in range(2, 5):
        logits = target.forward(cache, [tokens[i : i + 1]]).numpy()[0]
        np.testing.assert_allclose(logits, whole(oracle, tokens)[i], rtol=1e-4, atol=1e-4)
    shared = {weight.data_ptr() for weight in model.parameters()}
    assert {weight.data_ptr() for weight in part.parameters()} <= shared
    assert len(model.state_dict()) == len(weights), "the model stays whole"


def test_hidden_states_are_told_by_each_for_itself() -> None:
    """A part does not add to what the whole model tells, nor the other way round."""
    model = llama_model()
    with torch.no_grad():
        for _ in range(2):
            parts = [(model, 6), (with_layers(model, (1, 3)), 2), (model, 6)]
            for part, count in parts:
                states = part(torch.tensor([[5, 6]]), output_hidden_states=True).hidden_states
                assert len(states) == count + 1


def test_parts_of_a_model_with_windows_take_trees() -> None:
    """Of one kind of layers, or of both; each node is read as its path."""
    model = Layered(HuggingFaceTarget(mixed_model()))
    for layers in ((0,), (1,), (0, 1)):
        target, _ = model.part(layers)
        assert target.takes_trees
        row = [5, 9, 33, 7, 8, 6]
        cache, _ = target.prefill([row])
        logits = target.forward(cache, [[20, 21, 22]], [[-1, -1, 0]]).numpy()
        expected = [whole(target.model, [*row, *path])[-1] for path in ([20], [21], [20, 22])]
        np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)


def test_layers_that_do_not_exist_are_refused(generator: Generator) -> None:
    """None, or one too many."""
    model = Layered(generator.target)
    for layers in ((), (6,), (-1,)):
        with pytest.raises(ModelError, match="layers are"):
            model.part(layers)
    assert spread(6, 3) == (0, 2, 5)
    assert spread(6, 6) == tuple(range(6))


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 5}])
@pytest.mark.parametrize(
    "selector",
    [
        (0, 5),
        Swift(0.5, every=1, window=8),
        NearestPrompt(Swift(0.5, every=2, window=8)),
        Clasp(0.5, every=2),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_the_texts_stay(generator: Generator, selector: Any, options: dict[str, Any]) -> None:
    """Whichever layers draft, also when they change on the way."""
    stats = assert_same(generator, LayerSkipDrafter(generator.target, selector), **options)
    assert all(found.drafted for found in stats)
    assert stats[0].drafter == "layer skip"


@pytest.mark.parametrize("layers", [(0, 1, 2, 3, 4, 5), (0, 1, 3, 5)])
def test_layers_that_matter_suffice(generator: Generator, layers: tuple[int, ...]) -> None:
    """All layers, or all but the idle ones, draft what will be written."""
    chain = Fixed(Budget(nodes=4, depth=4, width=1))
    speculate = Speculation(LayerSkipDrafter(generator.target, layers), policy=chain)
    for prompt in PROMPTS:
        result = generator.generate(
            prompt,
            SHORT,
            temperature=0.0,
            max_tokens=60,
            on_truncation="raise",
            speculate=speculate,
        )
        assert result.stats is not None
        assert result.stats.accepted == result.stats.drafted > 0


@pytest.mark.thorough
def test_swift_leaves_out_what_does_nothing(generator: Generator) -> None:
    """From a bad start the search climbs to layers that draft everything rightly."""
    search = Swift(4 / 6, every=1, window=16, trials=200)
    model = Layered(generator.target)
    drafter = LayerSkipDrafter(generator.target, search)
    before = search.best(model)
    assert set(before) & set(IDLE)
    for prompt in PROMPTS * 3:
        generator.generate(prompt, SPEC, temperature=0.0, max_tokens=30, speculate=drafter)
    assert set(search.best(model)) == {0, 1, 3, 5}


def written(generator: Generator) -> Any:
    """A context with a text written greedily."""
    result = generator.generate(PROMPTS[0], SPEC, temperature=0.0, max_tokens=30)
    compiled = generator.specs.get(SPEC)[0]
    context = make_context(compiled, generator.tokenizer(PROMPTS[0])["input_ids"])
    context.tokens += result.tokens
    return context


def test_matching_is_the_share_of_right_guesses(generator: Generator) -> None:
    """All layers guess all that was written greedily."""
    model, context = Layered(generator.target), written(generator)
    assert matching(model, range(6), context, 16) == (16, 16)
    count = len(context.written)
    assert matching(model, (0, 1, 3, 5), context, 1000) == (count, count)
    assert matching(model, (3,), context, 16)[0] < 16


def test_similar_prompts_begin_with_what_was_found(generator: Generator) -> None:
    """The nearest prompt's layers; the search's own where none is near."""
    model = Layered(generator.target)
    nearest = NearestPrompt(Swift(0.5), least=0.99)
    constraint = generator.specs.get(SPEC)[0]
    nearest.remember(embed(model, [40, 41, 42]), (2, 3, 5))
    nearest.remember(embed(model, [50, 51, 52]), (0, 3, 4))
    for prompt, layers in (
        ([42, 40, 41], (2, 3, 5)),
        ([51, 52, 50], (0, 3, 4)),
        ([3, 4, 5], nearest.search.best(model)),
    ):
        selection = nearest.begin(model, make_context(constraint, prompt))
        assert selection.layers == layers
    selection.end(make_context(constraint))
    again = nearest.begin(model, make_context(constraint, [5, 4, 3]))
    assert again.layers == nearest.search.best(model)


def test_clasp_leaves_out_what_does_nothing(generator: Generator) -> None:
    """With as many layers to leave out as are idle, it finds them."""
    model = Layered(generator.target)
    clasp = Clasp(4 / 6)
    _, logits = generator.target.prefill([[5, 6, 7, 8, 9]], clasp.hidden(model))
    assert logits.hidden is not None
    assert clasp.choose(model, logits.hidden[0], 0) == (0, 1, 3, 5)


def test_clasp_finds_the_nearest_way(generator: Generator) -> None:
    """With one layer left out, the outcome is the best of all that leave out one."""
    model = Layered(HuggingFaceTarget(llama_model().double()))
    _, logits = model.target.prefill([[5, 6, 7, 8, 9]], tuple(range(6)))
    assert logits.hidden is not None
    states = logits.hidden[0]
    full = model.run(5, states[None, :, 5], 0)[0]

    def cosine(layers: list[int]) -> float:
        found = states[None, :, 0]
        for layer in layers:
            found = model.run(layer, found, 0)
        return float(torch.nn.functional.cosine_similarity(found[0], full, dim=-1).mean())

    chosen = Clasp(5 / 6).choose(model, states, 0)
    ways = [[layer for layer in range(6) if layer != skipped] for skipped in range(6)]
    assert len(chosen) == 5
    assert cosine(list(chosen)) >= sorted(map(cosine, ways))[-2]


def test_clasp_refuses_layers_that_cannot_be_run_alone() -> None:
    """GPT-2 adds positions before its layers, so they would be added twice."""
    with pytest.raises(ModelError, match="cannot be run one by one"):
        LayerSkipDrafter(HuggingFaceTarget(gpt2_model()), Clasp())


def test_early_exits_follow_a_policy(generator: Generator) -> None:
    """The layers below the exit draft, the policy sees the states at each exit, the text stays."""
    model = Layered(generator.target)
    policy = Del((2, 3, 5), 6, model.logits)
    drafter = LayerSkipDrafter(generator.target, EarlyExit(policy))
    assert drafter.hidden == (2, 3, 5)
    plain = generator.generate("ab", SPEC, temperature=0.0)
    speculate = Speculation(drafter, policy=policy)
    fast = generator.generate("ab", SPEC, temperature=0.0, speculate=speculate)
    assert fast.tokens == plain.tokens
    assert policy.acceptance != [0.5] * 3
