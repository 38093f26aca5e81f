"""Tests that trees, commits and chains leave logits and cache exact.

The oracle is the model itself, reading each path from its start, without a cache.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.generator import Generator
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.chains import Chains
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from tests.generation.models import (
    bloom_model,
    build_model,
    build_tokenizer,
    gpt2_model,
    hybrid_model,
    mamba_model,
    mixed_model,
    sliding_model,
)
from tests.generation.naive import NaiveConstraint
from tests.generation.speculation.toys import RandomDrafter

Tree = tuple[list[int], list[int]]


def llama_model() -> Any:
    """Rotary positions and shared keys."""
    return build_model(build_tokenizer())


def whole(model: Any, tokens: list[int]) -> Any:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].numpy()


def paths(prompt: list[int], tree: Tree) -> list[list[int]]:
    """The sequence that each node of a tree stands for."""
    found: list[list[int]] = []
    for token, parent in zip(*tree, strict=True):
        found.append([*(prompt if parent < 0 else found[parent]), token])
    return found


@st.composite
def trees(draw: Any) -> Tree:
    """A tree of up to nine nodes."""
    size = draw(st.integers(1, 9))
    parents = [draw(st.integers(-1, i - 1)) for i in range(size)]
    return [draw(st.integers(3, 60)) for _ in range(size)], parents


def line_of(tree: Tree, node: int) -> list[int]:
    """The nodes from the top to this one."""
    found: list[int] = []
    while node >= 0:
        found.append(node)
        node = tree[1][node]
    return found[::-1]


def read_in_two(target: Any, cache: Any, drafted: list[Tree], first: int) -> Any:
    """Logits of all nodes, row by row; the nodes from `first` on are read in a second pass."""
    found: list[list[Any]] = [[] for _ in drafted]
    for part in (slice(0, first), slice(first, None)):
        tokens, parents = [t[part] for t, _ in drafted], [p[part] for _, p in drafted]
        if any(tokens):
            logits = iter(target.forward(cache, tokens, parents).numpy())
            for mine, row in zip(found, tokens, strict=True):
                mine += [next(logits) for _ in row]
    return np.array([row for mine in found for row in mine])


MODELS = {
    "llama32": (llama_model, torch.float32, 3e-5),
    "llama64": (llama_model, torch.float64, 1e-11),
    "gpt2": (gpt2_model, torch.float64, 1e-11),
    "sliding": (sliding_model, torch.float64, 1e-11),
    "mixed": (mixed_model, torch.float32, 1e-4),
}


@pytest.fixture(scope="module", params=MODELS)
def tree_target(request: Any) -> Any:
    """A target that reads trees, and how exact it is."""
    build, dtype, exact = MODELS[request.param]
    target = HuggingFaceTarget(build().to(dtype)).with_trees()
    assert target is not None
    assert target.takes_trees
    return target, exact


@settings(max_examples=4)
@given(data=st.data())
def test_trees_are_read_as_their_paths_round_after_round(tree_target: Any, data: Any) -> None:
    """Logits of every node, keys and values of what is kept: as if read alone, from the start."""
    target, exact = tree_target
    rows = [[5, 9, 33], [7]]
    cache, _ = target.prefill(rows)
    for _ in range(2):
        drafted = [data.draw(trees()) for _ in rows]
        logits = read_in_two(target, cache, drafted, data.draw(st.integers(1, 9)))
        wanted = [p for row, tree in zip(rows, drafted, strict=True) for p in paths(row, tree)]
        expected = np.array([whole(target.model, path) for path in wanted])
        np.testing.assert_allclose(logits, expected, rtol=exact, atol=exact * 10)
        kept = [line_of(t, data.draw(st.integers(-1, len(t[0]) - 1))) for t in drafted]
        target.commit(cache, kept)
        rows = [
            row + [tree[0][i] for i in line]
            for row, tree, line in zip(rows, drafted, kept, strict=True)
        ]
    assert cache.alive.sum(1).tolist() == list(map(len, rows))
    for r, row in enumerate(rows):
        fresh, _ = target.prefill([row])
        for kept_layer, layer in zip(cache.past.layers, fresh.past.layers, strict=True):
            for name in ("keys", "values"):
                found = getattr(kept_layer, name)[r][:, cache.alive[r]].numpy()
                again = getattr(layer, name)[0].numpy()
                np.testing.assert_allclose(found, again, rtol=exact, atol=exact * 10)


def test_refused_tokens_are_forgotten_in_time() -> None:
    """Those at the end at once, others while they are few beside those that count."""
    target = HuggingFaceTarget(llama_model())
    cache, _ = target.prefill([[5, 9, 33]])
    for count in range(1, 60):
        target.forward(cache, [[4, 5, 6, 7]], [[-1, -1, -1, 1]])
        target.commit(cache, [[1, 3]])
        counted = 3 + 2 * count
        slots = cache.past.layers[0].keys.shape[2]  # type: ignore[union-attr]
        assert cache.alive.shape[1] == slots
        assert int(cache.alive.sum()) == counted
        assert slots <= counted + max(17, counted // 7)
    target.forward(cache, [[4, 5, 6]], [[-1, 0, 1]])
    target.commit(cache, [[0]])
    assert cache.alive.shape[1] <= slots + 1


CHAINS = [sliding_model, mixed_model, bloom_model, hybrid_model]


@pytest.mark.parametrize("build", CHAINS)
def test_chains_take_back_what_their_caches_cannot(build: Any) -> None:
    """After drafts that were kept in part, wholly, or not at all, rows are as if read in order."""
    rng = np.random.default_rng(1)
    model = build()
    target = Chains(HuggingFaceTarget(model))
    rows = [[5, 9, 33, 40, 41, 42], [7]]
    cache, logits = target.prefill(rows)
    for counts in [(4, 2), (1, 3), (5, 1), (1, 1), (6, 6), (3, 9)]:
        drafts = [rng.integers(3, 60, count).tolist() for count in counts]
        logits = target.forward(cache, drafts)
        wanted = [
            row + draft[: i + 1]
            for row, draft in zip(rows, drafts, strict=True)
            for i in range(len(draft))
        ]
        expected = np.array([whole(model, row) for row in wanted])
        np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=2e-4)
        kept = [list(range(int(rng.integers(1, count + 1)))) for count in counts]
        target.commit(cache, kept)
        rows = [
            row + draft[: len(keep)] for row, draft, keep in zip(rows, drafts, kept, strict=True)
        ]
    target.select(cache, [1, 0, 1])
    logits = target.forward(cache, [[8], [9, 10], [11]])
    ends = [[*rows[1], 8], [*rows[0], 9], [*rows[0], 9, 10], [*rows[1], 11]]
    expected = np.array([whole(model, row) for row in ends])
    np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=2e-4)
    with pytest.raises(GenerationError, match="a tree was drafted"):
        target.forward(cache, [[8]], [[-1]])


def test_what_is_read_again_and_again_is_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every draft refused no pass reads more than a few tokens beside the draft."""
    inner = HuggingFaceTarget(sliding_model())
    target = Chains(inner)
    cache, _ = target.prefill([[5, 6]])
    row, longest = [5, 6], 0
    read = inner.forward

    def counted(cache: Any, tokens: Any, *rest: Any) -> Any:
        nonlocal longest
        longest = max(longest, len(tokens[0]))
        return read(cache, tokens, *rest)

    monkeypatch.setattr(inner, "forward", counted)
    for i in range(40):
        row.append(3 + i)
        logits = target.forward(cache, [[row[-1], 50, 51]])
        np.testing.assert_allclose(logits.numpy()[0], whole(inner.model, row), atol=2e-4)
        target.commit(cache, [[0]])
    assert 3 < longest <= 16 + 3


@pytest.mark.parametrize("build", [*CHAINS, mamba_model])
def test_models_with_other_caches_write_the_same_with_drafts(build: Any) -> None:
    """Token for token; a model that reads one token at a time is given no drafts."""
    tokenizer = build_tokenizer()
    model = build()
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    generator = Generator(model, tokenizer)
    words = NaiveConstraint(["abababab", "abbaabba", "aaaabbbb"], generator.vocabulary)
    sizes = Fixed(Budget(nodes=4, depth=4, width=3))
    speculate = Speculation(RandomDrafter(None), policy=sizes)
    for options in ({"temperature": 0.0}, {"seed": 4}):
        plain = generator.batch(["aa", "x", ""], words, **options)
        fast = generator.batch(["aa", "x", ""], words, speculate=speculate, **options)
        assert [a.tokens for a in plain] == [b.tokens for b in fast]
        assert all((b.stats is None) == (build is mamba_model) for b in fast)
        assert all(b.stats is None or b.stats.drafted for b in fast)
    many = generator.generate("aa", words, n=5, seed=1, speculate=speculate)
    assert all((b.stats is None) == (build not in {sliding_model, mixed_model}) for b in many)


def family(name: str) -> Any:
    """A tiny model of a family with sliding windows."""
    import transformers

    shape: dict[str, Any] = {
        "vocab_size": 64, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 3,
        "initializer_range": 0.5,
    }  # fmt: skip
    more: dict[str, tuple[str, dict[str, Any]]] = {
        "Gemma3": ("Gemma3TextConfig", {"layer_types": ["sliding_attention", "full_attention"]}),
        "GptOss": ("GptOssConfig", {"num_local_experts": 2, "num_experts_per_tok": 1}),
        "Qwen2": ("Qwen2Config", {"use_sliding_window": True, "max_window_layers": 1}),
        "Phi3": ("Phi3Config", {"pad_token_id": 0}),
        "Cohere2": ("Cohere2Config", {"layer_types": ["sliding_attention", "full_attention"]}),
    }
    config, settings = more[name]
    torch.manual_seed(7)
    untyped: Any = getattr(transformers, f"{name}ForCausalLM")
    return untyped(getattr(transformers, config)(**shape, **settings)).eval()


@pytest.mark.parametrize("name", ["Gemma3", "GptOss", "Qwen2", "Phi3", "Cohere2"])
def test_families_with_windows_read_trees(name: str) -> None:
    """Beyond the window, after a commit, in a batch with rows of several lengths."""
    model = family(name)
    plain = HuggingFaceTarget(model)
    assert not plain.takes_trees
    target = plain.with_trees()
    assert target is not None
    assert target is plain.with_trees()
    rows = [[5, 6, 7, 8, 9], [10]]
    cache, logits = target.prefill(rows)
    np.testing.assert_allclose(
        logits.numpy(), [whole(model, row) for row in rows], rtol=1e-3, atol=1e-3
    )
    for tree, kept in [
        (([20, 21, 22, 23, 24], [-1, 0, 0, 2, 3]), [0, 2, 3]),
        (([30, 31, 32], [-1, -1, 1]), [1]),
    ]:
        logits = target.forward(cache, [tree[0], tree[0]], [tree[1], tree[1]])
        expected = [whole(model, path) for row in rows for path in paths(row, tree)]
        np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-3, atol=1e-3)
        target.commit(cache, [kept, kept[:1]])
        rows = [[*rows[0], *(tree[0][i] for i in kept)], [*rows[1], tree[0][kept[0]]]]
        rows = [[*row, 40] for row in rows]
        logits = target.forward(cache, [[40], [40]])
        expected = [whole(model, row) for row in rows]
        np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-3, atol=1e-3)


def test_models_that_cannot_take_trees_stay_as_they_are() -> None:
    """Recurrent ones have no way; those that take them already are their own."""
    for build in (mamba_model, hybrid_model, bloom_model):
        assert HuggingFaceTarget(build()).with_trees() is None
    target = HuggingFaceTarget(llama_model())
    assert target.with_trees() is target


def test_the_output_layer_can_be_left_out() -> None:
    """Hidden states come without logits, where the model can."""
    target = HuggingFaceTarget(llama_model())
    cache, _ = target.prefill([[5, 6, 7]])
    logits = target.forward(cache, [[8, 9]], [[-1, -1]], (-1,), scored=False)
    assert logits.numpy().shape == (0, target.vocab_size)
    assert logits.hidden is not None
    rows = logits.hidden[0][:, 0].numpy() @ target.model.lm_head.weight.detach().numpy().T
    expected = np.array([whole(target.model, [5, 6, 7, token]) for token in (8, 9)])
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-4)


def test_a_copied_cache_has_a_future_of_its_own() -> None:
    """Reading on does not change the copy, with keys and values or with recurrent states."""
    for build in (llama_model, sliding_model, hybrid_model, mamba_model):
        target = HuggingFaceTarget(build())
        cache, _ = target.prefill([[5, 6, 7]])
        twin = copy.deepcopy(cache)
        for token in (20, 21):
            target.forward(cache, [[token]])
        found = target.forward(twin, [[30]]).numpy()[0]
        expected = whole(target.model, [5, 6, 7, 30])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-4)
