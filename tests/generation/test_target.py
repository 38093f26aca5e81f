"""Checks that caching, padding, dropping and trees change no logits of tiny random models.

The oracle is the model itself, given one whole sequence, without cache and without padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from structgen.errors import ModelError
from structgen.generation.models.target import HuggingFaceTarget
from tests.generation.models import (
    SHARED_STATES,
    bloom_model,
    gpt2_model,
    hybrid_model,
    mamba_model,
    mixed_model,
    sliding_model,
)

pytestmark = pytest.mark.matrix

PROMPTS = [[5, 9, 33], [7], [40, 41, 42, 43, 44, 45, 46], [12, 12]]


@pytest.fixture(scope="module")
def target(model: Any) -> HuggingFaceTarget:
    """The tiny model as a target."""
    return HuggingFaceTarget(model)


def whole(target: HuggingFaceTarget, tokens: list[int]) -> npt.NDArray[Any]:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        found: npt.NDArray[Any] = target.model(torch.tensor([tokens])).logits[0, -1].numpy()
    return found


def agree(found: Any, expected: list[npt.NDArray[Any]]) -> None:
    """Equal up to the rounding of float32, which depends on the shapes multiplied."""
    np.testing.assert_allclose(found.numpy(), np.array(expected), rtol=1e-4, atol=1e-4)


def test_prompts_of_different_lengths_read_together_are_read_right(
    target: HuggingFaceTarget,
) -> None:
    """Left padding does not show in the logits, and equal prompts get equal rows."""
    prompts = [*PROMPTS, PROMPTS[0]]
    _, logits = target.prefill(prompts)
    agree(logits, [whole(target, prompt) for prompt in prompts])
    assert np.array_equal(logits.numpy()[0], logits.numpy()[-1])


def test_rows_go_on_and_leave_without_disturbing_the_others(target: HuggingFaceTarget) -> None:
    """Every step of every row equals reading its tokens from the start, while rows leave."""
    rng = np.random.default_rng(0)
    cache, _ = target.prefill(PROMPTS)
    rows = [list(prompt) for prompt in PROMPTS]
    for leaving in [None, 2, None, 0, None, None]:
        if leaving is not None:
            stay = [i for i in range(len(rows)) if i != leaving]
            target.select(cache, stay)
            rows = [rows[i] for i in stay]
        fresh = [[int(rng.integers(3, 280))] for _ in rows]
        rows = [row + new for row, new in zip(rows, fresh, strict=True)]
        agree(target.forward(cache, fresh), [whole(target, row) for row in rows])
    assert cache.alive.shape[1] <= max(map(len, rows)) + 16, "few slots count for no row"


def test_a_long_row_that_leaves_takes_its_slots_along(target: HuggingFaceTarget) -> None:
    """Many slots that no row counts are cut out, and the others go on as before."""
    short = PROMPTS[0]
    cache, _ = target.prefill([short, [3 + i for i in range(60)]])
    target.select(cache, [0])
    assert cache.alive.shape[1] == len(short)
    agree(target.forward(cache, [[7]]), [whole(target, [*short, 7])])


def test_rows_can_be_repeated_and_reordered(target: HuggingFaceTarget) -> None:
    """Selecting a row twice makes two rows that go their own ways."""
    cache, _ = target.prefill(PROMPTS[:2])
    target.select(cache, [1, 0, 1])
    rows = [[*PROMPTS[1], 8], [*PROMPTS[0], 9], [*PROMPTS[1], 10]]
    agree(target.forward(cache, [[8], [9], [10]]), [whole(target, row) for row in rows])


def test_several_tokens_are_read_at_once(target: HuggingFaceTarget) -> None:
    """Rows may read different numbers of tokens; each gets a row of logits."""
    cache, _ = target.prefill(PROMPTS[:3])
    fresh = [[8, 9, 10], [11], [12, 13]]
    logits = target.forward(cache, fresh)
    agree(
        logits,
        [
            whole(target, prompt + row[: i + 1])
            for prompt, row in zip(PROMPTS, fresh, strict=False)
            for i in range(len(row))
        ],
    )
    agree(
        target.forward(cache, [[3], [4], [5]]),
        [whole(target, [*p, *f, t]) for p, f, t in zip(PROMPTS, fresh, [3, 4, 5], strict=False)],
    )


def paths(prompt: list[int], tokens: list[int], parents: list[int]) -> list[list[int]]:
    """The sequence that each node of a tree stands for."""
    found: list[list[int]] = []
    for token, parent in zip(tokens, parents, strict=True):
        found.append([*(prompt if parent < 0 else found[parent]), token])
    return found


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_tree_of_drafts_is_scored_as_its_paths(model: Any, attention: str) -> None:
    """Each node gets the logits of its own path; what is kept of it is as if read in order."""
    before = model.config._attn_implementation
    model.set_attn_implementation(attention)
    try:
        target = HuggingFaceTarget(model)
        assert target.takes_trees
        cache, _ = target.prefill(PROMPTS[:2])
        tokens = [[20, 21, 22, 23, 24], [30, 31, 32]]
        parents = [[-1, 0, 0, 2, -1], [-1, -1, 1]]
        drafted = [
            paths(prompt, row, above)
            for prompt, row, above in zip(PROMPTS, tokens, parents, strict=False)
        ]
        logits = target.forward(cache, tokens, parents)
        agree(logits, [whole(target, path) for row in drafted for path in row])

        target.commit(cache, [[0, 2, 3], []])
        rows = [[*PROMPTS[0], 20, 22, 23, 50], [*PROMPTS[1], 51]]
        agree(target.forward(cache, [[50], [51]]), [whole(target, row) for row in rows])
        assert cache.alive.sum(1).tolist() == list(map(len, rows))
    finally:
        model.set_attn_implementation(before)


def test_taking_back_a_chain_leaves_no_trace(target: HuggingFaceTarget) -> None:
    """Rejected tokens of a chain are cut out of the cache of a single row."""
    cache, _ = target.prefill([PROMPTS[2]])
    target.forward(cache, [[8, 9, 10, 11]])
    target.commit(cache, [[0, 1]])
    row = [*PROMPTS[2], 8, 9, 60]
    agree(target.forward(cache, [[60]]), [whole(target, row)])
    assert cache.alive.shape == (1, len(row))


def test_normalizers_and_masking_are_those_of_the_rows(target: HuggingFaceTarget) -> None:
    """The log of the sum of exponentials is that of float64, before and after masking."""
    from structgen.masks import bitmask

    _, logits = target.prefill(PROMPTS)
    raw = logits.numpy().astype(np.float64)
    np.testing.assert_allclose(
        logits.log_normalizers(), np.log(np.exp(raw).sum(1)), rtol=1e-13, atol=0
    )
    allowed = np.random.default_rng(3).random(raw.shape) < 0.3
    logits.wait()
    logits.apply(bitmask.pack(allowed))
    np.testing.assert_array_equal(
        logits.numpy(), np.where(allowed, raw, -np.inf).astype(np.float32)
    )
    np.testing.assert_allclose(
        logits.log_normalizers(),
        np.log(np.where(allowed, np.exp(raw), 0).sum(1)),
        rtol=1e-13,
        atol=0,
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes_are_served(model: Any, dtype: torch.dtype) -> None:
    """A model in another dtype gives logits that numpy can hold, close to those of float32."""
    import copy

    other = HuggingFaceTarget(copy.deepcopy(model).to(dtype))
    _, logits = other.prefill(PROMPTS)
    expected = np.array([whole(HuggingFaceTarget(model), prompt) for prompt in PROMPTS])
    found = logits.numpy()
    assert found.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    spread = 0.05 if dtype == torch.bfloat16 else 1e-4
    assert np.abs(found - expected).max() < spread * np.abs(expected).max()


@pytest.mark.parametrize("build", [sliding_model, mixed_model])
def test_a_sliding_window_is_batched_but_takes_no_drafts_back(build: Any) -> None:
    """Padding and dropping rows are right beyond the window; trees are refused with a reason."""
    target = HuggingFaceTarget(build())
    assert (target.takes_trees, target.takes_drafts) == (False, True)
    prompts = [[5, 6, 7, 8, 9, 10, 11], [12, 13]]
    cache, _ = target.prefill(prompts)
    rows = [list(prompt) for prompt in prompts]
    for token in range(20, 27):
        rows = [[*row, token] for row in rows]
        agree(target.forward(cache, [[token]] * 2), [whole(target, row) for row in rows])
    target.commit(cache, [[0], [0]])
    target.select(cache, [1])
    agree(target.forward(cache, [[30]]), [whole(target, [*rows[1], 30])])
    with pytest.raises(ModelError, match="cannot read trees"):
        target.forward(cache, [[3, 4]], [[-1, -1]])
    with pytest.raises(ModelError, match="cannot take back"):
        target.commit(cache, [[]])
    target.select(cache, [0, 0])
    with pytest.raises(ModelError, match="cannot read rows of several lengths"):
        target.forward(cache, [[3, 4], [5]])


def test_learned_positions_are_not_shifted_by_padding() -> None:
    """A GPT-2 reads padded rows, and a tree, as it reads each sequence alone."""
    target = HuggingFaceTarget(gpt2_model())
    assert target.context == 32
    prompts = [[5, 6, 7, 8], [9]]
    cache, logits = target.prefill(prompts)
    agree(logits, [whole(target, prompt) for prompt in prompts])
    agree(
        target.forward(cache, [[1, 2], [3, 4]], [[-1, -1], [-1, 0]]),
        [whole(target, row) for row in ([5, 6, 7, 8, 1], [5, 6, 7, 8, 2], [9, 3], [9, 3, 4])],
    )


@pytest.mark.parametrize(
    ("build", "several"),
    [
        (bloom_model, True),
        pytest.param(mamba_model, False, marks=SHARED_STATES),
        pytest.param(hybrid_model, True, marks=SHARED_STATES),
    ],
)
def test_models_without_trees_are_decoded_one_token_at_a_time(build: Any, several: bool) -> None:
    """Padding and dropping rows are right for them too; trees are refused, and drafts by some."""
    torch.manual_seed(3)
    target = HuggingFaceTarget(build())
    assert (target.takes_trees, target.takes_drafts) == (False, several)
    prompts = [[5, 6, 7, 8, 9, 10], [12, 13]]
    cache, logits = target.prefill([*prompts, prompts[0]])
    rows = [list(prompt) for prompt in [*prompts, prompts[0]]]
    agree(logits, [whole(target, row) for row in rows])
    for leaving in (0, 0):
        rows = [[*row, 20 + i] for i, row in enumerate(rows)]
        fresh = [row[-1:] for row in rows]
        agree(target.forward(cache, fresh), [whole(target, row) for row in rows])
        stay = [i for i in range(len(rows)) if i != leaving]
        target.select(cache, stay)
        rows = [rows[i] for i in stay]
    with pytest.raises(ModelError, match="cannot read trees"):
        target.forward(cache, [[3, 4]], [[-1, -1]])
    if several:
        expected = [whole(target, [*rows[0], 3]), whole(target, [*rows[0], 3, 4])]
        agree(target.forward(cache, [[3, 4]]), expected)
    else:
        with pytest.raises(ModelError, match="cannot read drafts"):
            target.forward(cache, [[3, 4]])


def test_a_model_without_a_cache_is_refused(model: Any) -> None:
    """A model that would have to read everything again for each token is not taken."""

    class Forgetful:
        config = model.config

        def eval(self) -> Any:
            return self

        def get_input_embeddings(self) -> Any:
            return model.get_input_embeddings()

        def get_output_embeddings(self) -> Any:
            return model.lm_head

        def forward(self, input_ids: Any) -> Any:
            return input_ids

        __call__ = forward

    with pytest.raises(ModelError, match="Forgetful takes no cache"):
        HuggingFaceTarget(Forgetful())


def test_prompts_that_cannot_be_read_are_refused(target: HuggingFaceTarget) -> None:
    """Too long, empty, or of another tokenizer: an error with the numbers, not a crash."""
    with pytest.raises(ModelError, match="96 tokens and the model's context is 96"):
        target.prefill([[5] * 96])
    with pytest.raises(ModelError, match="the prompt is empty"):
        target.prefill([[5], []])
    with pytest.raises(ModelError, match="token 9999 and the model knows"):
        target.prefill([[5, 9999]])
