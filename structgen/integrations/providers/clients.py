"""How the official clients of providers are called, and what their answers say.

A client is known by its methods, so that nothing has to be imported; the asynchronous ones have the
same. What a client raises goes through untouched.

    openai.OpenAI         chat.completions.create   response_format
    anthropic.Anthropic   messages.create           output_config.format
    google.genai.Client   models.generate_content   response_json_schema, response_schema
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from structgen.errors import ArgumentError
from structgen.generation.prompts import Message
from structgen.schema.export.dialects import ProviderDialect

# Why an answer ended, in small letters, where it is not whole, and where the model or a filter
# refuses.
CUT = frozenset(("length", "max_tokens", "model_context_window_exceeded"))
REFUSED = frozenset(
    "content_filter refusal safety recitation blocklist prohibited_content spii".split()
)
_NAME = "answer"  # of the schema, which OpenAI wants


class Request(NamedTuple):
    """What is asked. schema: in that dialect. options: the client's own, such as the model."""

    messages: list[Message]
    schema: dict[str, Any] | None
    dialect: ProviderDialect | None
    options: Mapping[str, Any]

    @property
    def response_format(self) -> dict[str, Any] | None:
        """The schema in the form of OpenAI's API."""
        if self.schema is None:
            return None
        named = {"name": _NAME, "schema": self.schema, "strict": True}
        return {"type": "json_schema", "json_schema": named}


class Reply(NamedTuple):
    """What an answer says. finish_reason: as the provider has it; refusal: "" where it is none."""

    text: str
    finish_reason: str = ""
    refusal: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the text was cut off."""
        return self.finish_reason.lower() in CUT


Send = Callable[[Any, Request], Any]


def sender_of(client: Any) -> tuple[Send, str | None]:
    """How to ask a client, and the name of its dialect, None of a function. ArgumentError."""
    for method, send, dialect in _CLIENTS:
        try:
            attrgetter(method)(client)
        except AttributeError:
            continue
        return send, dialect
    if callable(client):
        return _call, None
    raise ArgumentError(
        f"{client!r:.80} is no client",
        expected="a client of openai, anthropic or google-genai, or a function of messages and "
        "response_format",
    )


def _call(function: Any, request: Request) -> Any:
    if request.options:
        raise ArgumentError(
            f"a function is asked, and {', '.join(request.options)} given",
            expected="options of a client",
            hint="let the function itself pass them on",
        )
    return function(request.messages, request.response_format)


def _openai(client: Any, request: Request) -> Any:
    form = {} if request.schema is None else {"response_format": request.response_format}
    return client.chat.completions.create(messages=request.messages, **form, **request.options)


def _anthropic(client: Any, request: Request) -> Any:
    system, turns = _split(request.messages)
    options = dict(request.options)
    if system:
        options["system"] = system
    if request.schema is not None:
        form = {"type": "json_schema", "schema": request.schema}
        options["output_config"] = {**options.get("output_config", {}), "format": form}
    return client.messages.create(messages=turns, **options)


def _gemini(client: Any, request: Request) -> Any:
    system, turns = _split(request.messages)
    config = dict(request.options)
    model = config.pop("model", None)
    if system:
        config["system_instruction"] = system
    if request.schema is not None and request.dialect is not None:
        openapi = request.dialect.null == "nullable"
        config["response_mime_type"] = "application/json"
        config["response_schema" if openapi else "response_json_schema"] = request.schema
    contents = [
        {
            "role": "model" if turn["role"] == "assistant" else turn["role"],
            "parts": [{"text": text}] if isinstance(text := turn["content"], str) else text,
        }
        for turn in turns
    ]
    return client.models.generate_content(model=model, contents=contents, config=config)


def _split(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The text of system messages, and the others."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    turns = [message for message in messages if message["role"] != "system"]
    return "\n\n".join(map(str, system)), turns


_CLIENTS: tuple[tuple[str, Send, str], ...] = (
    ("chat.completions.create", _openai, "openai"),
    ("messages.create", _anthropic, "anthropic"),
    ("models.generate_content", _gemini, "gemini"),
)


def reply_of(response: Any) -> Reply:
    """What a client or function has returned: a text, or an answer of one of the APIs.

    An answer may be an object or, of OpenAI's and Anthropic's APIs, the JSON as a dict.
    ArgumentError for anything else.
    """
    if isinstance(response, str):
        return Reply(response)
    if choices := _get(response, "choices"):
        return _of_chat(choices[0])
    if isinstance(content := _get(response, "content"), list):
        return _reply(content, _get(response, "stop_reason"))
    if hasattr(response, "candidates"):
        return _of_gemini(response)
    raise ArgumentError(
        f"the answer is {response!r:.80}",
        expected="a text, or an answer of chat completions, messages or generate_content",
        hint="ask without stream",
    )


def _of_chat(choice: Any) -> Reply:
    message = _get(choice, "message")
    found = _reply([{"text": _get(message, "content")}], _get(choice, "finish_reason"))
    refusal = _get(message, "refusal")
    return found._replace(refusal=refusal) if refusal else found


def _of_gemini(response: Any) -> Reply:
    if not response.candidates:
        reason = _plain(getattr(response.prompt_feedback, "block_reason", None))
        return Reply("", reason, f"the prompt was blocked: {reason}")
    [candidate, *_] = response.candidates
    parts = (candidate.content and candidate.content.parts) or []
    said = [part for part in parts if not getattr(part, "thought", None)]
    return _reply(said, candidate.finish_reason)


def _reply(parts: Sequence[Any], finish_reason: Any) -> Reply:
    """The reply of parts, of which some have text, and of why it ended."""
    text = "".join(_get(part, "text") or "" for part in parts)
    reason = _plain(finish_reason)
    refused = reason.lower() in REFUSED
    return Reply(text, reason, f"{reason}: {text}" * refused)


def _get(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _plain(reason: Any) -> str:
    """A reason, which may be an enum or None, as text."""
    return str(getattr(reason, "value", reason) or "")
