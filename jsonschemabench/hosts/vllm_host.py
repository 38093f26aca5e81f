"""vLLM's manager of structured outputs with one of its backends, without a model."""

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
    """One of vLLM's backends, for a tokenizer of transformers and a number of logits."""

    def __init__(self, engine: str, tokenizer: Any, size: int) -> None:
        self._config = SimpleNamespace(
            num_speculative_tokens=0,
            speculative_config=None,
            model_config=None,
            structured_outputs_config=SimpleNamespace(
                disable_any_whitespace=False, disable_additional_properties=False
            ),
        )
        self._words = -(-size // 32)
        self._backend = _class(engine)(self._config, tokenizer=tokenizer, vocab_size=size)

    def takes(self, request: Request) -> bool:
        """Whether a schema is compiled, and its text accepted."""
        try:
            return bool(self._grammar(request).accept_tokens("", request.tokens))
        except Exception:  # noqa: BLE001  each engine refuses in its own way
            return False

    def _grammar(self, request: Request) -> Any:
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions

        kind = StructuredOutputOptions.JSON
        return self._backend.compile_grammar(kind, request.spec.text, set())

    def replay(self, requests: Sequence[Request], batch: int) -> dict[str, list[int]]:
        """Nanoseconds of the steps with `batch` requests, by "first use" and "again"."""
        step = self._step(requests, batch)
        return {
            use: [clock for clock, _ in steps.replay(step, requests, batch, self._words)]
            for use in ("first use", "again")
        }

    def _step(self, requests: Sequence[Request], batch: int) -> steps.Step:
        """What vLLM's scheduler does between two forward passes."""
        grammars = [self._grammar(one) for one in requests]
        manager = self._manager(batch)
        running = {
            str(number): SimpleNamespace(
                request_id=str(number),
                use_structured_output=True,
                structured_output_request=SimpleNamespace(grammar=grammar, reasoning_ended=True),
            )
            for number, grammar in enumerate(grammars)
        }

        def step(todo: Sequence[tuple[int, int | None]], _rows: npt.NDArray[np.int32]) -> None:
            for number, token in todo:
                if token is None:
                    grammars[number].reset()
                else:
                    manager.accept_tokens(running[str(number)], [token])
            manager.grammar_bitmask(running, [str(number) for number, _ in todo], {})

        return step

    def _manager(self, batch: int) -> Any:
        """The manager of an engine that runs; it is made without one."""
        import torch
        from vllm.v1.structured_output import StructuredOutputManager

        manager: Any = StructuredOutputManager.__new__(StructuredOutputManager)
        manager.vllm_config = SimpleNamespace(
            **vars(self._config) | {"model_config": SimpleNamespace(is_diffusion=False)},
            scheduler_config=SimpleNamespace(max_num_seqs=batch),
        )
        manager.backend, manager._grammar_bitmask = self._backend, None
        manager._full_mask = torch.tensor(-1, dtype=torch.int32)
        manager.fill_bitmask_parallel_threshold, manager.enable_in_reasoning = 128, True
        return manager


def _class(engine: str) -> Any:
    if engine == "llguidance":
        from vllm.v1.structured_output.backend_guidance import GuidanceBackend

        return GuidanceBackend
    if engine == "xgrammar":
        from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

        return XgrammarBackend
    from structgen.integrations.vllm.backend import StructgenBackend

    return StructgenBackend
