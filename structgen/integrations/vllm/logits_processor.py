"""Constrains single requests of vLLM by a logits processor: for an engine with another backend.

    NAME=structgen.integrations.vllm.logits_processor:StructgenProcessor
    vllm serve MODEL --logits-processors $NAME

A request asks for it by `SamplingParams(extra_args={"structgen": {"json": {...}}})`; over HTTP,
where extra arguments are texts, by `vllm_xargs`, with the JSON text of the same. The kinds are
those of `structured_outputs`. This is the interface of vLLM's first model runner, which has no
logits processors with speculative decoding; the backend of `plugin` works there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

from structgen.errors import SpecError, StructgenError
from structgen.integrations.compiled import Constraints
from structgen.integrations.matcher import Follower
from structgen.integrations.requests import check_spec, spec_of
from structgen.masks import bitmask

NAME = "structgen"  # of the extra argument


class StructgenProcessor(AdapterLogitsProcessor):  # type: ignore[misc]  # untyped
    """Masks the logits of the requests that ask for it."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request whose constraint cannot be compiled, as a client's error (400)."""
        try:
            asked = _asked(sampling_params)
            if asked is not None:
                check_spec(spec_of(*asked))
        except StructgenError as error:
            raise ValueError(f"extra_args[{NAME!r}]: {error}") from error

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        super().__init__(vllm_config, device, is_pin_memory)
        config = vllm_config.model_config
        tokenizer = cached_tokenizer_from_config(model_config=config)
        self._constraints = Constraints(tokenizer, config.get_vocab_size())

    def is_argmax_invariant(self) -> bool:
        """Whether the best token stays the same: it need not."""
        return False

    def new_req_logits_processor(
        self, params: Any
    ) -> Callable[[list[int], torch.Tensor], torch.Tensor] | None:
        """What masks the logits of a new request, which may have been written to before."""
        asked = _asked(params)
        if asked is None:
            return None
        constraint = self._constraints.get(*asked)
        follower = Follower(constraint, params.all_stop_token_ids, prompt=0)

        def process(output_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
            row = follower.row(output_ids)[: bitmask.words(len(logits))]
            bitmask.apply(logits.unsqueeze(0), row[None])
            return logits

        return process


def _asked(params: Any) -> tuple[str, str] | None:
    """The kind of a request's constraint, and its content. SpecError for what cannot be read."""
    given = (params.extra_args or {}).get(NAME)
    if given is None:
        return None
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise SpecError(f"the text is not JSON: {error}") from error
    if not isinstance(found, dict) or len(found) != 1:
        raise SpecError("there is not one constraint", expected='such as {"regex": "[0-9]+"}')
    ((kind, content),) = found.items()
    return kind, content if isinstance(content, str) else json.dumps(content)
