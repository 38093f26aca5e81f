"""Tests that trained heads draft well, and change no distribution."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import structgen as sg
from structgen import demo
from structgen.demo.training.evaluate import unseen
from structgen.errors import GenerationError, ModelError
from structgen.generation.generator import Generator
from structgen.generation.speculation.heads.drafter import HeadDrafter
from structgen.generation.speculation.heads.eagle import EagleHeads
from structgen.generation.speculation.heads.files import head_drafter, load_heads, save_heads
from structgen.generation.speculation.heads.medusa import MedusaHeads
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees import BestFirst, Dynamic, Static, TreeBuilder
from tests.generation.speculation.toys import SIZE, SPEC, make_context, toy_constraint

SIZES = Fixed(Budget(nodes=9, depth=4, width=3))


def random_heads(kind: str, model: Any) -> MedusaHeads | EagleHeads:
    """Heads that know nothing."""
    torch.manual_seed(3)
    if kind == "eagle":
        return EagleHeads.of(model, {"attention": 4, "inner": 16})
    heads = MedusaHeads.of(model, {"count": 3})
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter)
    return heads


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["medusa", "eagle"])
@pytest.mark.parametrize("builder", [BestFirst(), Static("wor"), Dynamic()])
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 1, "top_k": 4}])
def test_heads_change_no_text(
    double: Generator, kind: str, builder: TreeBuilder, options: dict[str, Any]
) -> None:
    """Token for token what is written without drafts, in batches, also when closed in time."""
    drafter = HeadDrafter(random_heads(kind, double.target.model), builder)
    speculate = Speculation(drafter, policy=SIZES)
    for max_tokens in (20, 40):
        plain = double.batch(["true", "ab ab"], SPEC, max_tokens=max_tokens, **options)
        fast = double.batch(
            ["true", "ab ab"], SPEC, max_tokens=max_tokens, speculate=speculate, **options
        )
        assert [a.tokens for a in fast] == [a.tokens for a in plain]
        assert all(a.stats is not None and a.stats.drafted > 0 for a in fast)
        assert fast[0].stats is not None
        assert fast[0].stats.drafter == kind


class Recorder:
    """Heads that note what they are given, and think that each token is as likely as another."""

    name = "recorder"
    hidden = (0, -1)
    depth = 3

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.states: list[torch.Tensor] = []
        self.tokens: list[int] = []

    def begin(self) -> Recorder:
        """There is one text."""
        return self

    def read(self, hidden: Any, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """Keep what came."""
        assert len(tokens) == len(hidden) + 1
        assert not self.tokens or self.tokens[-1] == tokens[0]
        self.states.append(hidden)
        self.tokens = [*self.tokens[:-1], *tokens]
        return np.zeros(self.vocab_size)

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[Any]:
        """As likely as another."""
        return np.zeros((len(tokens), self.vocab_size))


def test_heads_see_the_states_of_the_path_that_was_kept(double: Generator) -> None:
    """What they read over the rounds is what a fresh pass over the text gives."""
    heads = Recorder(double.target.vocab_size)
    drafter = HeadDrafter(heads)
    assert drafter.hidden == (0, -1)
    result = double.generate(
        "ab ab", SPEC, seed=2, max_tokens=30, speculate=Speculation(drafter, policy=SIZES)
    )
    assert result.stats is not None
    assert result.stats.accepted > 0
    prompt = heads.tokens[: result.prompt_tokens]
    assert heads.tokens == [*prompt, *result.tokens][: len(heads.tokens)]
    with torch.inference_mode():
        output = double.target.model(torch.tensor([heads.tokens[:-1]]), output_hidden_states=True)
    fresh = torch.stack([output.hidden_states[0], output.hidden_states[-1]], 2)[0]
    read = torch.cat(heads.states)
    assert read.shape == fresh.shape
    torch.testing.assert_close(read, fresh, rtol=1e-9, atol=1e-9)


class Table:
    """Heads whose distributions are random numbers by depth, as parallel heads have them."""

    name = "table"
    hidden = ()

    def __init__(self, seed: int, depth: int = 3) -> None:
        self.depth = depth
        self.rows = 2 * np.random.default_rng(seed).normal(size=(depth, SIZE))
        self._depths = [0]

    def begin(self) -> Table:
        """It keeps only depths."""
        return self

    def read(self, hidden: Any, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """The first row."""
        self._depths = [0]
        row: npt.NDArray[Any] = self.rows[0]
        return row

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[Any]:
        """The row of each node's depth."""
        depths = [self._depths[parent] + 1 for parent in parents]
        self._depths += depths
        rows: npt.NDArray[Any] = self.rows[depths]
        return rows


def propose(drafter: HeadDrafter, context: Context, budget: Budget) -> DraftTree:
    """A draft after a prompt of one token."""
    session = drafter.begin(context)
    states = torch.zeros((1, 0, 2))
    logits = np.zeros((1, SIZE))
    session.observe(context, Round(DraftTree(context), (), (), logits, states, 0.0, 0.0))
    return session.propose(context, budget)


def paths_by_brute_force(
    context: Context, heads: Table, depth: int
) -> dict[tuple[int, ...], float]:
    """Every path that the grammar allows, with the product of the masked distributions along it."""
    found: dict[tuple[int, ...], float] = {}
    for length in range(1, depth + 1):
        for path in itertools.product(range(1, SIZE), repeat=length):
            state, share = context.state, 1.0
            for level, token in enumerate(path):
                ids, distribution = masked_law(context, state, heads.rows[level])
                share *= dict(zip(ids.tolist(), distribution.tolist(), strict=True)).get(token, 0.0)
                state = context.constraint.advance(state, token)
                if not share or state < 0:
                    share = 0.0
                    break
            if share:
                found[path] = share
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("nodes", [1, 4, 11])
def test_the_likeliest_paths_are_picked(seed: int, nodes: int) -> None:
    """Of all that the grammar allows, found by trying every one."""
    context = make_context(toy_constraint())
    heads = Table(seed)
    tree = propose(HeadDrafter(heads), context, Budget(nodes=nodes, depth=3, width=SIZE))
    known = paths_by_brute_force(context, heads, 3)
    picked = {tuple(tree.path(node)): tree.estimates[node] for node in range(1, len(tree))}
    assert len(picked) == min(nodes, len(known))
    for path, estimate in picked.items():
        assert estimate == pytest.approx(known[path], rel=1e-9)
    best = sorted(known.values(), reverse=True)[: len(picked)]
    np.testing.assert_allclose(sorted(picked.values(), reverse=True), best, rtol=1e-9)


@pytest.mark.parametrize("builder", [BestFirst(), Static("wor"), Dynamic()])
def test_heads_set_how_deep_a_draft_can_be(builder: TreeBuilder) -> None:
    """No distribution is asked for that they do not have; a chain where no trees are read."""
    context = make_context(toy_constraint("(a|bc?|ca)+"))
    for chain in (False, True):
        given = replace(context, chain=chain)
        budget = Budget(nodes=30, depth=9, width=1 if chain else 2)
        tree = propose(HeadDrafter(Table(0), builder), given, budget)
        assert max(tree.depths) == 3
        assert len(tree) <= (4 if chain else 31)


@torch.inference_mode()
def test_an_eagle_goes_on_as_if_it_began_anew(double: Generator) -> None:
    """Reading in pieces, with drafts in between, gives what reading all at once gives.

    And a draft's level gives what reading the path as if it were certain gives, if the states are
    those that were predicted.
    """
    heads = random_heads("eagle", double.target.model)
    assert isinstance(heads, EagleHeads)
    tokens = torch.randint(0, 40, (12,), generator=torch.Generator().manual_seed(1)).tolist()
    states = torch.randn((11, 1, 32), generator=torch.Generator().manual_seed(2))
    whole = heads.begin().read(states, tokens)
    pieces = heads.begin()
    for begin, end in ((0, 5), (5, 6), (6, 11)):
        row = pieces.read(states[begin:end], tokens[begin : end + 1])
        first = pieces.extend([0, 0], [7, 8])
        second = pieces.extend([2, 1, 2], [3, 4, 5])
    np.testing.assert_allclose(row, whole, rtol=1e-4, atol=1e-4)
    root = pieces._states[0]
    for parent, path, row in ((0, [7], first[0]), (0, [8], first[1]), (2, [8, 5], second[2])):
        predicted = [root] if parent == 0 else [root, pieces._states[parent]]
        longer = torch.cat([states, torch.stack(predicted)[:, None]])
        fresh = heads.begin().read(longer, [*tokens, *path])
        np.testing.assert_allclose(row, fresh, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def shipped() -> Generator:
    """The demo model in float32."""
    return Generator(demo.model_path(), dtype="float32")


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "least"), [("medusa", 1.4), ("eagle", 3.0)])
def test_shipped_heads_draft_well(shipped: Generator, name: str, least: float) -> None:
    """On unseen prompts, more tokens per forward pass than heads that know nothing."""
    examples = unseen(6, seed=11)
    prompts, specs = [e.prompt for e in examples], [sg.JsonSchema(e.schema) for e in examples]
    policy = Fixed(Budget(nodes=8, depth=4, width=3))

    def speed(drafter: HeadDrafter) -> float:
        found = shipped.batch(
            prompts, specs, temperature=0.0, speculate=Speculation(drafter, policy=policy)
        )
        stats = [result.stats for result in found if result.stats is not None]
        return sum(s.tokens - 1 for s in stats) / sum(s.forwards for s in stats)

    drafter = head_drafter(name, shipped.target.model)
    ignorant = HeadDrafter(random_heads(name, shipped.target.model))
    found = speed(drafter)
    assert found > least
    assert found > speed(ignorant) + 0.2


@pytest.mark.parametrize("name", ["medusa", "eagle"])
def test_shipped_heads_are_known_by_name(shipped: Generator, name: str) -> None:
    """`speculate="eagle"` drafts with them; the text is the plain one."""
    prompt, schema = demo.EXAMPLES["person"]
    plain = shipped.generate(prompt, schema, temperature=0.0)
    fast = shipped.generate(prompt, schema, temperature=0.0, speculate=name)
    assert fast.value == plain.value
    assert fast.stats is not None
    assert fast.stats.drafter == name
    assert fast.stats.tokens_per_forward > 1.2


@pytest.mark.parametrize("kind", ["medusa", "eagle"])
def test_heads_are_saved_and_loaded(double: Generator, kind: str, tmp_path: Path) -> None:
    """With their sizes; in half precision; only for the model that they fit."""
    heads = random_heads(kind, double.target.model)
    save_heads(heads, tmp_path / "heads")
    again = load_heads(tmp_path / "heads", double.target.model)
    assert again.config == heads.config
    for name, value in heads.state_dict().items():
        assert torch.equal(again.state_dict()[name], value.half().float())
    with pytest.raises(ModelError, match="another model"):
        load_heads(demo.heads_path(kind), double.target.model)


def test_errors_say_what_is_wrong(double: Generator, tmp_path: Path) -> None:
    """No such file, no heads in it, no such name, no hidden states."""
    model = double.target.model
    with pytest.raises(ModelError, match="cannot be read"):
        load_heads(tmp_path / "none", model)
    with pytest.raises(ModelError, match="no heads"):
        load_heads(demo.model_path() / "model.safetensors", model)
    with pytest.raises(ModelError, match="medusa or eagle"):
        head_drafter("hydra", model)
    context = make_context(toy_constraint())
    seen = Round(DraftTree(context), (), (), np.zeros((1, SIZE)), None, 0.0, 0.0)
    with pytest.raises(GenerationError, match="hidden states"):
        HeadDrafter(Table(0)).begin(context).observe(context, seen)
