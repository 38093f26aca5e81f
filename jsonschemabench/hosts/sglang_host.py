"""SGLang's masks of a batch with one of its grammar backends, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from jsonschemabench import steps
from jsonschemabench.steps import Request

ENGINES = ("structgen", "llguidance", "xgrammar")
ROWS_SHARE_A_SCHEMA = False


class Backend:
    """One of SGLang's backends, for a tokenizer of transformers and a number of logits."""

    def __init__(self, engine: str, tokenizer: Any, size: int) -> None:
        self._size = size
        self._backend = _backend(engine, tokenizer, size)

    def takes(self, request: Request) -> bool:
        """Whether a schema is compiled, and its text accepted."""
        try:
            grammar = self._grammar(request)
            for token in request.tokens:
                grammar.accept_token(token)
        except Exception:  # noqa: BLE001  each engine refuses in its own way
            return False
        return True

    def _grammar(self, request: Request) -> Any:
        """That of a new request; what SGLang keeps for the schema is copied for it."""
        return self._backend.dispatch_json(request.spec.text).copy()

    def replay(self, requests: Sequence[Request], batch: int) -> dict[str, list[int]]:
        """Nanoseconds of the steps with `batch` requests, by "first use" and "again"."""
        step = self._step(requests)
        return {
            use: [clock for clock, _ in steps.replay(step, requests, batch, -(-self._size // 32))]
            for use in ("first use", "again")
        }

    def _step(self, requests: Sequence[Request]) -> steps.Step:
        """What SGLang's scheduler does between two forward passes."""
        from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo

        compiled = [self._grammar(one) for one in requests]
        grammars = [one.copy() for one in compiled]

        def step(todo: Sequence[tuple[int, int | None]], _rows: npt.NDArray[np.int32]) -> None:
            for number, token in todo:
                if token is None:
                    grammars[number] = compiled[number].copy()
                else:
                    grammars[number].accept_token(token)
            batch = SimpleNamespace(
                grammars=[grammars[number] for number, _ in todo],
                vocab_size=self._size,
                temperatures=todo,  # asked for its length alone
                device="cpu",
            )
            SamplingBatchInfo.update_regex_vocab_mask(batch)

        return step


def _backend(engine: str, tokenizer: Any, size: int) -> Any:
    ends = {tokenizer.eos_token_id}
    if engine == "llguidance":
        from sglang.srt.constrained.llguidance_backend import GuidanceBackend

        return GuidanceBackend(tokenizer, n_vocab=size, eos_token_ids=ends)
    if engine == "xgrammar":
        from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend

        return XGrammarGrammarBackend(
            tokenizer, vocab_size=size, model_eos_token_ids=list(ends), any_whitespace=True
        )
    from structgen.integrations.sglang.backend import StructgenBackend

    return StructgenBackend(tokenizer, size, ends)
