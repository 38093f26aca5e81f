"""The processor for MLX: with the real `mlx.core` where it is installed, and mlx-lm's loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.integrations.mlx import LogitsProcessor
from tests.integrations.conformance import stand_ins
from tests.integrations.conformance.adapters import PROMPT, SIZE, TOKENIZER, VOCABULARY

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]
needs_mlx = pytest.mark.skipif(
    not (stand_ins.installed("mlx") and stand_ins.installed("mlx_lm")),
    reason="mlx and mlx-lm are not installed",
)


class Wrapper:
    """mlx-lm's wrapper around a tokenizer, as far as it is looked at."""

    detokenizer = None
    eos_token_ids = frozenset({7, TOKENIZER.eos_token_id})
    _tokenizer = TOKENIZER


def allowed(processor: LogitsProcessor, tokens: list[int], size: int = SIZE) -> list[int]:
    """The tokens that are left."""
    import mlx.core as mx

    logits = processor(mx.array(tokens), mx.array(np.zeros((1, size), np.float32)))
    return [int(t) for t in np.flatnonzero(np.isfinite(np.array(logits)[0]))]


def test_the_wrappers_end_tokens_end_texts() -> None:
    """All of them, where the text may end."""
    processor = LogitsProcessor(sg.Choice(["a"]), Wrapper())
    [a] = allowed(processor, PROMPT)
    assert VOCABULARY.tokens[a] == b"a"
    assert allowed(processor, [*PROMPT, a]) == sorted(Wrapper.eos_token_ids)


def test_a_constraint_needs_no_tokenizer_and_a_new_prompt_begins_anew() -> None:
    """Logits beyond the vocabulary are masked; `reset` begins a prompt that goes on."""
    constraint = sg.compile(sg.Choice(["ab"]), VOCABULARY)
    processor = LogitsProcessor(constraint)
    first = allowed(processor, PROMPT, SIZE + 100)
    assert all(t < SIZE for t in first)
    [a] = [t for t in first if VOCABULARY.tokens[t] == b"a"]
    assert allowed(processor, [*PROMPT, a]) != first
    assert allowed(processor, [9, 9]) == first
    processor.reset()
    assert allowed(processor, [9, 9, a]) == first


@needs_mlx
def test_mlx_lms_loop_writes_what_fits() -> None:
    """A model with logits that do not depend on the text, through mlx-lm's own generation."""
    import mlx.core as mx
    from mlx_lm.generate import generate_step
    from mlx_lm.sample_utils import make_sampler

    class Model:
        """Random logits, always the same."""

        layers: tuple[Any, ...] = ()

        def __call__(self, tokens: Any, **_: Any) -> Any:
            row = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)
            return mx.broadcast_to(mx.array(row), (*tokens.shape, SIZE))

    spec = sg.Regex("(ab|ba){2,3}")
    processor = LogitsProcessor(spec, TOKENIZER)
    mx.random.seed(1)
    steps = generate_step(
        mx.array(PROMPT), Model(), max_tokens=40, sampler=make_sampler(temp=1.0),
        logits_processors=[processor], prompt_cache=[],
    )  # fmt: skip
    tokens: list[int] = []
    for token, _ in steps:
        if int(token) in VOCABULARY.eos_ids:
            break
        tokens.append(int(token))
    sg.check(spec, VOCABULARY.decode_bytes(tokens).decode())
