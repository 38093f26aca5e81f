"""/v1/chat/completions: what the rows write becomes messages, or deltas of them."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any

from structgen.server.endpoints.calls import ArgumentsEvent, CallEvent, CallReader, TextEvent
from structgen.server.endpoints.exchange import Exchange, collected
from structgen.server.errors import ApiError
from structgen.server.jobs import Job, Piece
from structgen.server.probabilities import TokenRecord
from structgen.server.reasoning import ReasoningReader
from structgen.server.requests.specs import wanted
from structgen.server.requests.tools import Plan, plan_tools
from structgen.server.requests.wire import ChatRequest
from structgen.server.service import Asked, Service, finish_reason, messages_of, usage
from structgen.server.settings import Limits

Delta = dict[str, Any]


class ChoiceReader:
    """Turns what one row writes into deltas."""

    def __init__(self, plan: Plan, reasoning: ReasoningReader | None = None) -> None:
        self._reasoning = reasoning
        self._calls: CallReader | None = None
        if plan.calls is not None:
            self._calls = CallReader(plan.calls, custom=bool(plan.custom))
        self._custom = plan.custom
        self._kinds: list[str] = []  # of each call

    def feed(self, piece: Piece) -> list[Delta]:
        """The deltas that a piece adds."""
        text, ended, found = piece.text, piece.finish is not None, list[Delta]()
        if self._reasoning is not None:
            thoughts, text = self._reasoning.feed(text, ended=ended)
            found = [{"reasoning_content": thoughts}] if thoughts else []
        if self._calls is None:
            return [*found, {"content": text}] if text else found
        return found + [self._delta(event) for event in self._calls.feed(text, ended=ended)]

    def finish(self, reason: str) -> str:
        """Why the text has ended, in OpenAI's words."""
        found = finish_reason(reason)
        return "tool_calls" if self._kinds and found == "stop" else found

    def _delta(self, event: TextEvent | CallEvent | ArgumentsEvent) -> Delta:
        if isinstance(event, TextEvent):
            return {"content": event.text}
        if isinstance(event, CallEvent):
            kind = "custom" if event.name in self._custom else "function"
            self._kinds.append(kind)
            inner = {"name": event.name, "arguments" if kind == "function" else "input": ""}
            call = {"index": event.number, "id": f"call_{secrets.token_hex(12)}", "type": kind}
            return {"tool_calls": [{**call, kind: inner}]}
        kind = self._kinds[event.number]
        field = "arguments" if kind == "function" else "input"
        return {"tool_calls": [{"index": event.number, kind: {field: event.text}}]}


def merge(deltas: Sequence[Delta]) -> Delta:
    """One message of all deltas."""
    content = [delta["content"] for delta in deltas if "content" in delta]
    calls: list[Delta] = []
    for delta in deltas:
        for part in delta.get("tool_calls", ()):
            if part["index"] == len(calls):
                calls.append({name: value for name, value in part.items() if name != "index"})
            else:
                kind = calls[part["index"]]["type"]
                (field, text), *_ = part[kind].items()
                calls[part["index"]][kind][field] += text
    message: Delta = {"role": "assistant", "content": "".join(content), "refusal": None}
    thoughts = [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta]
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = calls
    return message


class Chat(Exchange):
    """One request."""

    PREFIX = "chatcmpl-"

    def __init__(self, service: Service, body: ChatRequest, limits: Limits) -> None:
        """Read the request. ApiError for what is wrong with it."""
        super().__init__(service, body, limits)
        self.plan = plan_tools(body, wanted(body), limits.tools, service.call_format)
        if body.top_logprobs and not body.logprobs:
            raise ApiError(
                "top_logprobs is given, and logprobs is not true",
                param="top_logprobs",
                more={"expected": "logprobs: true"},
            )
        newer = body.max_completion_tokens is not None
        if newer and body.max_tokens not in (None, body.max_completion_tokens):
            raise ApiError(
                "max_tokens and max_completion_tokens, which mean the same, differ",
                param="max_tokens",
                more={"hint": "give one of them"},
            )
        self.asked = Asked(
            prompts=[messages_of(body.messages)],
            max_tokens=body.max_completion_tokens if newer else body.max_tokens,
            top=(body.top_logprobs or 0) if body.logprobs else None,
            chat=True,
            prompt_field="messages",
            tokens_field="max_completion_tokens" if newer else "max_tokens",
        )

    async def answer(self, job: Job) -> dict[str, Any]:
        """The whole answer."""
        choices, readers = [], self._readers(job)
        for i, (pieces, reader) in enumerate(zip(await collected(job), readers, strict=True)):
            message = merge([delta for piece in pieces for delta in reader.feed(piece)])
            logprobs = self._logprobs([record for piece in pieces for record in piece.tokens])
            reason = reader.finish(pieces[-1].finish or "")
            one = {"index": i, "message": message, "logprobs": logprobs, "finish_reason": reason}
            choices.append(one)
        return self.envelope("chat.completion", choices) | {
            "usage": usage(job, 1),
            "structgen": self.service.info(self.plan),
        }

    async def events(self, job: Job) -> AsyncIterator[dict[str, Any]]:
        """The chunks of a stream."""
        readers = self._readers(job)
        info = {"structgen": self.service.info(self.plan)}
        for i in range(len(job.rows)):
            yield self._chunk(i, {"role": "assistant", "content": ""}) | info
        async for pieces in job.pieces():
            for piece in pieces:
                deltas = readers[piece.row].feed(piece)
                logprobs = self._logprobs(piece.tokens) if piece.tokens else None
                if logprobs is not None and not deltas:
                    deltas = [{}]
                for delta in deltas:
                    yield self._chunk(piece.row, delta, logprobs=logprobs)
                    logprobs = None
                if piece.finish is not None:
                    reason = readers[piece.row].finish(piece.finish)
                    yield self._chunk(piece.row, {}, reason)
        if self.wants_usage:
            yield self.envelope("chat.completion.chunk", []) | {"usage": usage(job, 1)}

    def _readers(self, job: Job) -> list[ChoiceReader]:
        return [ChoiceReader(self.plan, self.service.reasoning_of(job)) for _ in job.rows]

    def _chunk(
        self, index: int, delta: Delta, reason: str | None = None, logprobs: Any = None
    ) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return self.envelope("chat.completion.chunk", [choice])

    def _logprobs(self, records: Sequence[TokenRecord]) -> dict[str, Any] | None:
        if self.asked.top is None:
            return None
        return {"content": self.service.probabilities(records), "refusal": None}


def sse(event: dict[str, Any]) -> bytes:
    """One event of a stream."""
    name = f"event: {event['type']}\n" if "type" in event else ""  # those of /v1/responses
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode(errors="replace")
