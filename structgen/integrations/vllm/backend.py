"""vLLM's interface for structured outputs, over a structgen constraint for each request.

`plugin` verifies the interface and puts these classes in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from structgen.errors import HostError, StructgenError
from structgen.integrations.compiled import Constraints
from structgen.integrations.matcher import Matcher, allocate_masks
from structgen.integrations.requests import check_spec, spec_of

_PADDING = -1  # a draft token that is none


@dataclass
class StructgenBackend(StructuredOutputBackend):  # type: ignore[misc]  # untyped
    """One for each engine: compiles the constraints of requests, each once."""

    def __post_init__(self) -> None:
        """Read the tokenizer. VocabularyError where it does not tell the bytes of its tokens."""
        options = self.vllm_config.structured_outputs_config
        if options.disable_additional_properties:
            raise HostError(
                "disable_additional_properties is set, which structgen does not do",
                host="vllm",
                hint="write additionalProperties into the schemas",
            )
        whitespace = "compact" if options.disable_any_whitespace else None
        self._constraints = Constraints(self.tokenizer, self.vocab_size, whitespace=whitespace)

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> StructgenGrammar:
        """The constraint of a request, at its start. What a broken spec raises."""
        constraint = self._constraints.get(request_type.name.lower(), grammar_spec)
        return StructgenGrammar(Matcher(constraint, stop_token_ids or ()))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """int32[max_num_seqs, words]: all tokens allowed."""
        return allocate_masks(max_num_seqs, self._constraints.vocabulary.size)

    def destroy(self) -> None:
        """Let go of the constraints."""
        self._constraints.clear()


class StructgenGrammar(StructuredOutputGrammar):  # type: ignore[misc]  # untyped
    """One for each request: the states of its text."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Go on by tokens; False at the first that is not allowed. Behind the end all are."""
        del request_id
        return all(map(self.matcher.accept, tokens))

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest beginning of the tokens that is allowed; without padding."""
        if _PADDING in tokens:
            tokens = tokens[: tokens.index(_PADDING)]
        return tokens[: self.matcher.validate(tokens)]

    def rollback(self, num_tokens: int) -> None:
        """Take tokens back, also the end token."""
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write the allowed tokens into one row of the masks."""
        self.matcher.fill(bitmask.numpy()[batch_index])

    def is_terminated(self) -> bool:
        """Whether an end token has been accepted."""
        return self.matcher.is_terminated

    def reset(self) -> None:
        """Go back to the beginning."""
        self.matcher.reset()


def validate(params: Any) -> None:
    """Refuse a request whose constraint cannot be compiled, with an error that is a client's (400).

    params: `SamplingParams`. It compiles without a vocabulary, which is the same for all errors.
    """
    if params.structured_outputs is None:
        return
    kind, content = get_structured_output_key(params.structured_outputs)
    try:
        check_spec(spec_of(kind.name.lower(), content))
    except StructgenError as error:
        raise VLLMValidationError(str(error), parameter="structured_outputs") from error
