"""Logits processors for `model.generate` of transformers, called as it does, without a model."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from jsonschemabench.steps import Request

ENGINES = ("structgen", "llguidance", "xgrammar", "outlines-core")
ROWS_SHARE_A_SCHEMA = True  # as outlines' processors have it
PROMPT = 4  # tokens before the text


class Backend:
    """What makes processors with one engine, for a tokenizer of transformers and so many logits."""

    def __init__(self, engine: str, tokenizer: Any, size: int) -> None:
        self._size = size
        self._end = tokenizer.eos_token_id
        self._maker = MAKERS[engine](tokenizer, size)

    def takes(self, request: Request) -> bool:
        """Whether a schema is compiled, and its text allowed token by token."""
        import torch

        try:
            processor = self._maker(request.spec.text)()
            ids = torch.tensor([[self._end] * PROMPT + request.tokens])
            for length, token in enumerate(request.tokens, PROMPT):
                scores = processor(ids[:, :length], torch.zeros(1, self._size))
                if scores[0, token] == -torch.inf:
                    return False
        except Exception:  # noqa: BLE001  each engine refuses in its own way
            return False
        return True

    def replay(self, requests: Sequence[Request], batch: int) -> dict[str, list[int]]:
        """Nanoseconds of the steps with `batch` rows of a request, by "first use" and "again"."""
        times: dict[str, list[int]] = {"first use": [], "again": []}
        gc.collect()
        gc.freeze()  # what is there now need not be looked at again in the middle of a step
        for request in requests:
            make = self._maker(request.spec.text)
            for took in times.values():
                took += self._steps(make(), request.tokens, batch)
        gc.unfreeze()
        return times

    def _steps(self, processor: Any, tokens: Sequence[int], batch: int) -> list[int]:
        import torch

        torch.set_num_threads(1)  # waking more takes longer than most steps do
        ids = torch.tensor([[self._end] * PROMPT + list(tokens)] * batch)
        scores = torch.zeros(batch, self._size)
        times = []
        for length in range(PROMPT, ids.shape[1] + 1):
            given = scores.clone()
            begin = time.perf_counter_ns()
            processor(ids[:, :length], given)
            times.append(time.perf_counter_ns() - begin)
        return times[1:]  # without the first mask


#: Makes processors of one compiled schema, given as JSON text.
Maker = Callable[[str], Callable[[], Any]]


def _structgen(tokenizer: Any, size: int) -> Maker:
    import structgen as sg
    from structgen.integrations.huggingface import vocabulary_for

    vocabulary = vocabulary_for(tokenizer, size, None)

    def of(schema: str) -> Callable[[], Any]:
        constraint = sg.compile(sg.JsonSchema(schema), vocabulary)
        return lambda: sg.LogitsProcessor(constraint)

    return of


def _xgrammar(tokenizer: Any, size: int) -> Maker:
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    about = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
    compiler = xgrammar.GrammarCompiler(about)

    def of(schema: str) -> Callable[[], Any]:
        grammar = compiler.compile_json_schema(schema)
        return lambda: LogitsProcessor(grammar)

    return of


def _llguidance(tokenizer: Any, size: int) -> Maker:
    import llguidance.hf
    from outlines.backends.llguidance import LLGuidanceLogitsProcessor

    tokens = llguidance.hf.from_tokenizer(tokenizer, size)

    def of(schema: str) -> Callable[[], Any]:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        return lambda: LLGuidanceLogitsProcessor(grammar, tokens, "torch")

    return of


def _outlines_core(tokenizer: Any, _size: int) -> Maker:
    from outlines.backends.outlines_core import OutlinesCoreBackend, OutlinesCoreLogitsProcessor
    from outlines.models.transformers import TransformerTokenizer
    from outlines_core import Index
    from outlines_core.json_schema import build_regex_from_schema

    known = TransformerTokenizer(tokenizer)
    vocabulary = OutlinesCoreBackend.create_outlines_core_vocabulary(
        known.get_vocab(),
        known.eos_token_id,
        known.eos_token,
        known.convert_token_to_string,
    )

    def of(schema: str) -> Callable[[], Any]:
        index = Index(build_regex_from_schema(schema), vocabulary)
        return lambda: OutlinesCoreLogitsProcessor(index, "torch")

    return of


MAKERS: dict[str, Callable[[Any, int], Maker]] = {
    "structgen": _structgen,
    "llguidance": _llguidance,
    "xgrammar": _xgrammar,
    "outlines-core": _outlines_core,
}
