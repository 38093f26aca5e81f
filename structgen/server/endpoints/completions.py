"""/v1/completions: texts that go on from prompts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from structgen.server.endpoints.exchange import Exchange, collected
from structgen.server.errors import ApiError
from structgen.server.jobs import Job
from structgen.server.probabilities import TokenRecord, finite
from structgen.server.requests.specs import wanted
from structgen.server.requests.tools import plan_of
from structgen.server.requests.wire import CompletionRequest
from structgen.server.service import Asked, Service, finish_reason, usage
from structgen.server.settings import Limits

_KIND = "text_completion"
_DEFAULT_TOKENS = 16  # as OpenAI has it, where nothing constrains the text


class Completion(Exchange):
    """One request."""

    PREFIX = "cmpl-"

    def __init__(self, service: Service, body: CompletionRequest, limits: Limits) -> None:
        """Read the request. ApiError for what is wrong with it."""
        super().__init__(service, body, limits)
        if body.best_of is not None and body.best_of != (body.n or 1):
            raise ApiError(
                f"best_of is {body.best_of}; all texts are returned",
                param="best_of",
                more={"expected": "the same as n"},
            )
        self.plan = plan_of(wanted(body))
        prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
        if not prompts:
            raise ApiError("there are no prompts", param="prompt")
        default = _DEFAULT_TOKENS if self.plan.enforced == "none" else None
        self.asked = Asked(
            prompts=prompts,
            max_tokens=body.max_tokens or default,
            top=body.logprobs,
            chat=False,
            prompt_field="prompt",
        )

    async def answer(self, job: Job) -> dict[str, Any]:
        """The whole answer."""
        choices = []
        for i, pieces in enumerate(await collected(job)):
            text = "".join(piece.text for piece in pieces)
            records = [record for piece in pieces for record in piece.tokens]
            reason = finish_reason(pieces[-1].finish or "")
            choices.append(self._choice(i, text, reason, self._logprobs(records, 0)[0]))
        return self.envelope(_KIND, choices) | {
            "usage": usage(job, len(self.asked.prompts)),
            "structgen": self.service.info(self.plan),
        }

    async def events(self, job: Job) -> AsyncIterator[dict[str, Any]]:
        """The chunks of a stream."""
        offsets = [0] * len(job.rows)
        more: dict[str, Any] = {"structgen": self.service.info(self.plan)}
        async for pieces in job.pieces():
            for piece in pieces:
                logprobs, offsets[piece.row] = self._logprobs(piece.tokens, offsets[piece.row])
                reason = None if piece.finish is None else finish_reason(piece.finish)
                choice = self._choice(piece.row, piece.text, reason, logprobs)
                yield self.envelope(_KIND, [choice]) | more
                more = {}
        if self.wants_usage:
            yield self.envelope(_KIND, []) | {"usage": usage(job, len(self.asked.prompts))}

    def _choice(self, index: int, text: str, reason: str | None, logprobs: Any) -> dict[str, Any]:
        return {"index": index, "text": text, "finish_reason": reason, "logprobs": logprobs}

    def _logprobs(
        self, records: Sequence[TokenRecord], offset: int
    ) -> tuple[dict[str, Any] | None, int]:
        """Under the mask, and `raw_token_logprobs` under the model alone; and the next offset."""
        if self.asked.top is None:
            return None, offset
        texts, offsets = [], []
        for record in records:
            texts.append(self._text(record.token))
            offsets.append(offset)
            offset += len(texts[-1])
        found = {
            "tokens": texts,
            "token_logprobs": [finite(record.masked) for record in records],
            "raw_token_logprobs": [finite(record.raw) for record in records],
            "top_logprobs": [
                {self._text(other.token): finite(other.masked) for other in record.others}
                for record in records
            ],
            "text_offset": offsets,
        }
        return found, offset

    def _text(self, token: int) -> str:
        return self.service.token_text(token).decode(errors="replace")
