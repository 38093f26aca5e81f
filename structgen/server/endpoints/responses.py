"""/v1/responses: messages and calls as items, whole or as events of a stream."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from structgen.server.endpoints.calls import ArgumentsEvent, CallEvent, CallReader, TextEvent
from structgen.server.endpoints.exchange import Exchange
from structgen.server.errors import ApiError
from structgen.server.jobs import Job, Piece
from structgen.server.reasoning import ReasoningReader
from structgen.server.requests.responses import as_chat, wanted
from structgen.server.requests.responses_wire import ResponsesRequest
from structgen.server.requests.tools import Plan, plan_tools
from structgen.server.requests.wire import ChatRequest
from structgen.server.service import Asked, Service, finish_reason, messages_of, usage
from structgen.server.settings import Limits

Event = dict[str, Any]
_NAMES = {  # of a kind of item: its field, and what the names of its events have
    "message": ("text", "output_text"),
    "reasoning": ("text", "reasoning_text"),
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
}


class Items:
    """The items of an answer while they are written, and the events that say so."""

    def __init__(self, plan: Plan, reasoning: ReasoningReader | None = None) -> None:
        self.items: list[Event] = []
        self.thoughts = ""
        self._reasoning = reasoning
        self._custom = plan.custom
        self._open = False
        self._calls: CallReader | None = None
        if plan.calls is not None:
            self._calls = CallReader(plan.calls, custom=bool(plan.custom))

    def feed(self, piece: Piece, logprobs: list[Event]) -> Iterator[Event]:
        """The events of a piece. `logprobs`: of its tokens, for those that are text."""
        ended, text = piece.finish is not None, piece.text
        if self._reasoning is not None:
            thoughts, text = self._reasoning.feed(text, ended=ended)
            if thoughts:
                yield from self._write("reasoning", thoughts, [])
                self.thoughts += thoughts
            if not text:  # tokens of the reasoning have no place for their probabilities
                logprobs = []
        found: Sequence[TextEvent | CallEvent | ArgumentsEvent]
        if self._calls is not None:
            found = self._calls.feed(text, ended=ended)
        else:
            found = [TextEvent(text)] if text or logprobs else []
        for event in found:
            if isinstance(event, CallEvent):
                yield from self.close()
                kind = "custom_tool_call" if event.name in self._custom else "function_call"
                yield from self._begin(kind, event.name)
            elif isinstance(event, TextEvent):
                yield from self._write("message", event.text, logprobs)
                logprobs = []
            else:
                yield self._more(event.text, [])
        if ended:
            yield from self.close()

    def _write(self, kind: str, text: str, logprobs: list[Event]) -> Iterator[Event]:
        """Add to the open item if it is of this kind, or else to a new one."""
        if not self._open or self.items[-1]["type"] != kind:
            yield from self.close()
            yield from self._begin(kind, "")
        yield self._more(text, logprobs)

    def close(self) -> Iterator[Event]:
        """The last item is whole, if one is open."""
        if not self._open:
            return
        self._open = False
        item = self.items[-1]
        item["status"] = "completed"
        field, name = _NAMES[item["type"]]
        if "content" in item:
            part = item["content"][0]
            whole = {name: part[name] for name in ("text", "logprobs") if name in part}
            yield self._event(f"response.{name}.done", content_index=0, **whole)
            yield self._event("response.content_part.done", content_index=0, part=part)
        else:
            yield self._event(f"response.{name}.done", **{field: item[field]})
        yield {
            "type": "response.output_item.done",
            "output_index": len(self.items) - 1,
            "item": item,
        }

    def _begin(self, kind: str, name: str) -> Iterator[Event]:
        self._open = True
        number = secrets.token_hex(12)
        item: Event = {"type": kind, "status": "in_progress"}
        if kind == "message":
            item |= {"id": f"msg_{number}", "role": "assistant", "content": []}
        elif kind == "reasoning":
            item |= {"id": f"rs_{number}", "summary": [], "content": []}
        else:
            field = _NAMES[kind][0]
            item |= {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name, field: ""}
        self.items.append(item)
        index = len(self.items) - 1
        yield {"type": "response.output_item.added", "output_index": index, "item": dict(item)}
        if "content" in item:
            part: Event = {"type": _NAMES[kind][1], "text": ""}
            if kind == "message":
                part |= {"annotations": [], "logprobs": []}
            yield self._event("response.content_part.added", content_index=0, part=dict(part))
            item["content"] = [part]

    def _more(self, text: str, logprobs: list[Event]) -> Event:
        item = self.items[-1]
        field, name = _NAMES[item["type"]]
        if "content" not in item:
            item[field] += text
            return self._event(f"response.{name}.delta", delta=text)
        part = item["content"][0]
        part["text"] += text
        more: Event = {}
        if "logprobs" in part:
            part["logprobs"] += logprobs
            more["logprobs"] = logprobs
        return self._event(f"response.{name}.delta", content_index=0, delta=text, **more)

    def _event(self, kind: str, **more: Any) -> Event:
        index = len(self.items) - 1
        about = {"type": kind, "item_id": self.items[-1]["id"], "output_index": index}
        return about | more


class Responses(Exchange):
    """One request."""

    PREFIX = "resp_"

    def __init__(self, service: Service, body: ResponsesRequest, limits: Limits) -> None:
        """Read the request. ApiError for what is wrong with it."""
        super().__init__(service, body, limits)
        self._chat = as_chat(body)
        try:
            self.plan = plan_tools(self._chat, wanted(body), limits.tools, service.call_format)
        except ApiError as error:  # tools are flat here
            if error.param is not None and error.param.startswith("tools["):
                error.param = error.param.replace(".function", "").replace(".custom", "")
            raise
        top = body.top_logprobs
        self.asked = Asked(
            prompts=[messages_of(self._chat.messages)],
            max_tokens=body.max_output_tokens,
            top=(top or 0) if top is not None or body.include else None,
            chat=True,
            prompt_field="input",
            tokens_field="max_output_tokens",
        )

    @property
    def generation(self) -> ChatRequest:
        """That of the chat."""
        return self._chat

    async def answer(self, job: Job) -> dict[str, Any]:
        """The whole answer."""
        final: Event = {}
        async for event in self.events(job):
            final = event
        answer: dict[str, Any] = final["response"]
        return answer

    async def events(self, job: Job) -> AsyncIterator[Event]:
        """The events of a stream, numbered."""
        number = 0
        async for event in self._events(job):
            yield event | {"sequence_number": number}
            number += 1

    async def _events(self, job: Job) -> AsyncIterator[Event]:
        items = Items(self.plan, self.service.reasoning_of(job))
        begun = self._response("in_progress", [], None)
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        reason = ""
        async for pieces in job.pieces():
            for piece in pieces:
                logprobs = self.service.probabilities(piece.tokens)
                for event in items.feed(piece, logprobs):
                    yield event
                reason = finish_reason(piece.finish) if piece.finish is not None else reason
        status = "incomplete" if reason == "length" else "completed"
        read = usage(job, 1, ("input", "output"))
        counts = read | {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": self.service.count(items.thoughts)},
        }
        response = self._response(status, items.items, counts)
        yield {"type": f"response.{status}", "response": response}

    def _response(self, status: str, output: list[Event], counts: Any) -> Event:
        body = self.body
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        given = body.model_dump(by_alias=True, exclude_none=True)
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": cut,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "model": body.model,
            "output": output,
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "temperature": 1.0 if body.temperature is None else body.temperature,
            "top_p": 1.0 if body.top_p is None else body.top_p,
            "text": given.get("text", {"format": {"type": "text"}}),
            "tool_choice": given.get("tool_choice", "auto"),
            "tools": given.get("tools", []),
            "usage": counts,
            "structgen": self.service.info(self.plan),
        }
