"""The body of /v1/responses. Nothing is stored, so requests carry their whole conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from structgen.server.requests.wire import (
    ConversationFields,
    FunctionTool,
    SamplingFields,
    Wire,
)


class InputText(Wire):
    """A part of a message; texts of earlier answers are taken back as they were."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None
    parsed: Any = None


class InputMessage(Wire):
    """A message."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[InputText]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class InputCall(Wire):
    """An earlier call of a function."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None
    parsed_arguments: Any = None


class InputCustomCall(Wire):
    """An earlier call of a tool that takes text."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: str | None = None
    status: str | None = None


class InputResult(Wire):
    """What an earlier call gave."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: str
    id: str | None = None
    status: str | None = None


def _with_type(item: Any) -> Any:
    """An item with its type, which messages need not name."""
    return {"type": "message", **item} if isinstance(item, dict) else item


InputItem = Annotated[
    InputCall | InputCustomCall | InputResult | InputMessage,
    Field(discriminator="type"),
    BeforeValidator(_with_type),
]


class TextFormat(Wire):
    """`text.format`. A grammar is Lark's (`lark`), a pattern (`regex`), or Lark's or GBNF's."""

    type: Literal["text", "json_object", "json_schema", "grammar"]
    name: str | None = None
    description: str | None = None
    schema_: dict[str, Any] | bool | None = Field(None, alias="schema")
    strict: bool | None = None
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None
    grammar: str | None = None


class TextSettings(Wire):
    """`text`."""

    format: TextFormat | None = None


class FlatFunction(FunctionTool):
    """A tool that takes a JSON object."""

    type: Literal["function"]


class FlatFormat(Wire):
    """What a custom tool takes."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None


class FlatCustom(Wire):
    """A tool that takes text."""

    type: Literal["custom"]
    name: str
    description: str | None = None
    format: FlatFormat | None = None


FlatTool = Annotated[FlatFunction | FlatCustom, Field(discriminator="type")]


class FlatChoice(Wire):
    """`tool_choice` where it is an object."""

    type: Literal["function", "custom", "allowed_tools"]
    name: str | None = None
    mode: Literal["auto", "required"] | None = None
    tools: list[dict[str, Any]] | None = None


class ResponsesRequest(SamplingFields, ConversationFields):
    """The body of /v1/responses."""

    input: str | list[InputItem]
    instructions: str | None = None
    text: TextSettings | None = None
    tools: list[FlatTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | FlatChoice | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    include: list[Literal["message.output_text.logprobs"]] | None = None
    truncation: Literal["disabled"] | None = None
    background: Literal[False] | None = None
    previous_response_id: None = None
