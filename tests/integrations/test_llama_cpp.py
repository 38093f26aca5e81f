"""The processor and the loop for llama-cpp-python, over a stand-in for its `Llama`.

The stand-in has a vocabulary in a GGUF file, and logits that follow from the tokens read. It
forgets what stands behind `n_tokens`, as llama.cpp does.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.errors import HostError, TruncatedError
from structgen.generation.distribution import Sampler
from structgen.integrations.llama_cpp import LogitsProcessor, vocabulary_of, write
from structgen.masks import bitmask
from tests.integrations.conformance import stand_ins
from tests.vocabulary.test_gguf import written

stand_ins.prepare()
PIECES = ["</s>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "true", '{"', '":', "ab"]
KINDS = [3, 3, *[6] * 256, *[1] * 4]
SCHEMA = {
    "type": "object",
    "properties": {"first key": {"type": "boolean"}, "other": {"enum": ["abab", "ab"]}},
    "required": ["first key", "other"],
    "additionalProperties": False,
}


class Llama:
    """What the adapter uses of `llama_cpp.Llama`."""

    draft_model: Any = None
    _logits_all = True

    def __init__(self, path: Path) -> None:
        self.model_path = str(path)
        self.scores = np.zeros((400, self.n_vocab()), np.float32)
        self.ids = np.zeros(400, np.intc)
        self.n_tokens = 0
        self.passes: list[int] = []

    def n_vocab(self) -> int:
        """More logits than tokens."""
        return len(PIECES) + 7

    def tokenize(self, text: bytes, add_bos: bool, special: bool) -> list[int]:
        """A token for each byte, and some for more."""
        found = [1] if add_bos else []
        while text:
            longer = [p for p in PIECES[258:] if text.startswith(p.encode())]
            token = PIECES.index(longer[0]) if longer else 2 + text[0]
            text = text[len(longer[0]) if longer else 1 :]
            found.append(token)
        return found

    def reset(self) -> None:
        """Forget all."""
        self.n_tokens = 0

    def eval(self, tokens: list[int]) -> None:
        """Logits behind each token, which follow from all tokens before."""
        for token in tokens:
            self.ids[self.n_tokens] = token
            self.n_tokens += 1
            seed = zlib.crc32(self.ids[: self.n_tokens].tobytes())
            row = np.random.default_rng(seed).normal(size=self.n_vocab()) * 3
            self.scores[self.n_tokens - 1] = row
        self.scores[self.n_tokens :] = np.nan
        self.passes.append(len(tokens))


@pytest.fixture
def llama(tmp_path: Path) -> Llama:
    """The stand-in, with its file."""
    path = tmp_path / "model.gguf"
    path.write_bytes(
        written(
            {
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.tokens": PIECES,
                "tokenizer.ggml.token_type": KINDS,
                "tokenizer.ggml.eos_token_id": 0,
            }
        )
    )
    return Llama(path)


def plain(llama: Llama, prompt: str, spec: Any, sampler: Sampler, seed: int | None) -> str:
    """The same text token by token: processor, draw, eval."""
    processor = LogitsProcessor(llama, spec)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed or 0, 0])))
    llama.reset()
    llama.eval(llama.tokenize(prompt.encode(), add_bos=True, special=True))
    tokens: list[int] = []
    while True:
        ids = llama.ids[: llama.n_tokens]
        scores = processor(ids, llama.scores[llama.n_tokens - 1])
        allowed = np.flatnonzero(np.isfinite(scores))
        token = int(allowed[sampler.choose(scores[allowed].astype(float), rng)])
        if token == 0:
            return vocabulary_of(llama).decode_bytes(tokens).decode()
        tokens.append(token)
        llama.eval([token])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sampler", [Sampler(0.0), Sampler(1.0), Sampler(2.0, top_k=5)])
def test_drafts_change_nothing_but_the_number_of_passes(
    llama: Llama, seed: int, sampler: Sampler
) -> None:
    """With the same random numbers the text is that of writing token by token."""
    prompt = f"Prompt {seed}: "
    expected = plain(llama, prompt, SCHEMA, sampler, seed)
    one_by_one = len(llama.passes)
    llama.passes.clear()
    found = write(llama, prompt, SCHEMA, sampler=sampler, seed=seed)
    assert found == expected
    sg.check(SCHEMA, found)
    assert len(llama.passes) < one_by_one
    assert max(llama.passes[1:]) > 1, "forced text is read at once"


def test_the_mask_is_the_constraints(llama: Llama) -> None:
    """Bit for bit; tokens beyond the vocabulary are masked; the scores given stay as they are."""
    constraint = sg.compile(SCHEMA, vocabulary_of(llama))
    processor = LogitsProcessor(llama, constraint)
    scores = np.zeros(2 * llama.n_vocab(), np.float32)[::2]  # as llama.cpp's, not in one piece
    state, tokens = constraint.start, [1, 5]
    for text in ['{"', "f", "i"]:
        found = processor(np.array(tokens, np.intc), scores)
        assert not scores.any()
        row = constraint.mask_view(state)
        assert (bitmask.pack(np.isfinite(found)) == row).all()
        (token,) = llama.tokenize(text.encode(), add_bos=False, special=False)
        tokens.append(token)
        state = constraint.advance(state, token)
    processor.reset()
    again = processor(np.array(tokens, np.intc), scores)
    assert (bitmask.pack(np.isfinite(again)) == constraint.mask_view(constraint.start)).all()


def test_what_cannot_work_is_refused(llama: Llama) -> None:
    """A draft model, logits that are not kept, too few tokens."""
    with pytest.raises(TruncatedError) as caught:
        write(llama, "x", SCHEMA, max_tokens=5)
    assert caught.value.text
    llama._logits_all = False
    with pytest.raises(HostError, match="last logits") as refused:
        write(llama, "x", SCHEMA)
    assert refused.value.host == "llama-cpp-python"
    llama.draft_model = object()
    with pytest.raises(HostError, match="draft model"):
        LogitsProcessor(llama, SCHEMA)
