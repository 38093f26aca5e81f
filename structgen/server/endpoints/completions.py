"""/v1/completions: texts that go on from prompts."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from structgen.server.errors import ApiError
from structgen.server.jobs import Job
from structgen.server.probabilities import TokenRecord, finite
from structgen.server.requests.specs import wanted
from structgen.server.requests.tools import plan_of
from structgen.server.requests.wire import CompletionRequest
from structgen.server.service import Asked, Service, finish_reason, usage
from structgen.server.settings import Limits

_DEFAULT_TOKENS = 16  # as OpenAI has it, where nothing constrains the text


class Completion:
    """One request."""

    def __init__(self, service: Service, body: CompletionRequest, limits: Limits) -> None:
        """Read the request. ApiError for what is wrong with it."""
        service.check_model(body.model)
        if body.best_of is not None and body.best_of != (body.n or 1):
            raise ApiError(
                f"best_of is {body.best_of}; all texts are returned",
                param="best_of",
                more={"expected": "the same as n"},
            )
        self.service = service
        self.body = body
        self.limits = limits
        self.plan = plan_of(wanted(body))
        self._id = f"cmpl-{secrets.token_hex(12)}"
        self._created = int(time.time())
        prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
        if not prompts:
            raise ApiError("there are no prompts", param="prompt")
        default = _DEFAULT_TOKENS if self.plan.enforced == "none" else None
        self._asked = Asked(
            prompts=prompts,
            max_tokens=body.max_tokens or default,
            top=body.logprobs,
            chat=False,
            prompt_field="prompt",
        )

    async def start(self) -> Job:
        """Compile and begin to write."""
        return await self.service.start(self.body, self._asked, self.plan, self.limits)

    async def answer(self, job: Job) -> dict[str, Any]:
        """The whole answer."""
        texts = [""] * len(job.rows)
        records: list[list[TokenRecord]] = [[] for _ in job.rows]
        reasons = [""] * len(job.rows)
        async for pieces in job.pieces():
            for piece in pieces:
                texts[piece.row] += piece.text
                records[piece.row] += piece.tokens
                if piece.finish is not None:
                    reasons[piece.row] = finish_reason(piece.finish)
        choices = [
            self._choice(i, texts[i], reasons[i], self._logprobs(records[i], 0)[0])
            for i in range(len(job.rows))
        ]
        return self._envelope(choices) | {
            "usage": usage(job, len(self._asked.prompts)),
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
                yield self._envelope([self._choice(piece.row, piece.text, reason, logprobs)]) | more
                more = {}
        options = self.body.stream_options
        if options is not None and options.include_usage:
            yield self._envelope([]) | {"usage": usage(job, len(self._asked.prompts))}

    def _choice(self, index: int, text: str, reason: str | None, logprobs: Any) -> dict[str, Any]:
        return {"index": index, "text": text, "finish_reason": reason, "logprobs": logprobs}

    def _envelope(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        about = {"id": self._id, "object": "text_completion", "created": self._created}
        return about | {"model": self.body.model, "choices": choices}

    def _logprobs(
        self, records: Sequence[TokenRecord], offset: int
    ) -> tuple[dict[str, Any] | None, int]:
        """Under the mask, and `raw_token_logprobs` under the model alone; and the next offset."""
        if self._asked.top is None:
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
