"""The requests of the OpenAI API, with the fields that vLLM, SGLang and llama.cpp add to it.

A field that is not here is refused, whatever it means: nothing is ignored. Fields that change
nothing of a text, such as `user`, are taken and left alone. A field that is null is not given.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Wire(BaseModel):
    """An object of a request: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())


class JsonSchemaFormat(Wire):
    """`response_format.json_schema`. `strict` changes nothing: what is asked for is enforced."""

    name: str = "answer"
    description: str | None = None
    schema_: dict[str, Any] | bool | None = Field(None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Wire):
    """`response_format`; `schema` beside `type` is llama.cpp's way of writing it."""

    type: Literal["text", "json_object", "json_schema", "structural_tag"]
    json_schema: JsonSchemaFormat | None = None
    schema_: dict[str, Any] | bool | None = Field(None, alias="schema")
    structures: list[Any] | None = None
    triggers: list[Any] | None = None
    format: dict[str, Any] | None = None


class StructuredOutputs(Wire):
    """vLLM's `structured_outputs`: exactly one constraint, and how JSON is spaced."""

    json_: dict[str, Any] | bool | str | None = Field(None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: dict[str, Any] | str | None = None
    disable_fallback: bool | None = None
    disable_any_whitespace: bool | None = None
    disable_additional_properties: Literal[False] | None = None
    whitespace_pattern: str | None = None


class StreamOptions(Wire):
    """`stream_options`."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None


class ConstraintFields(Wire):
    """Every field of the top level that constrains the text."""

    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | bool | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    guided_whitespace_pattern: str | None = None
    guided_decoding_backend: Literal["auto", "structgen"] | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | bool | None = None
    regex: str | None = None
    ebnf: str | None = None


class SamplingFields(ConstraintFields):
    """What all requests share: the model, how its tokens are drawn, and how the answer comes."""

    model: str
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    speculate: str | None = None
    sampler: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None


class ConversationFields(Wire):
    """What chats and responses share, though most of it changes nothing of a text."""

    parallel_tool_calls: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    store: Literal[False] | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None


class GenerationFields(SamplingFields):
    """What chat and text completions share."""

    response_format: ResponseFormat | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    stop: str | list[str] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: dict[int, float] | None = None


class TextPart(Wire):
    """A part of a message; this server reads text alone."""

    type: Literal["text"]
    text: str


class CalledFunction(Wire):
    """The function of a call in an earlier message."""

    name: str
    arguments: str


class CalledCustom(Wire):
    """The custom tool of a call in an earlier message."""

    name: str
    input: str


class EarlierCall(Wire):
    """A call in an earlier message of the assistant."""

    id: str
    type: Literal["function", "custom"] = "function"
    function: CalledFunction | None = None
    custom: CalledCustom | None = None
    index: int | None = None


class Message(Wire):
    """A message. What answers carry beside their text is taken when it is sent back."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    tool_calls: list[EarlierCall] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    function_call: None = None
    parsed: Any = None


class FunctionTool(Wire):
    """The function of a tool."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class CustomGrammar(Wire):
    """The grammar of a custom tool's input."""

    syntax: Literal["lark", "regex"]
    definition: str


class CustomFormat(Wire):
    """What the input of a custom tool is: any text, or texts of a grammar."""

    type: Literal["text", "grammar"] = "text"
    grammar: CustomGrammar | None = None


class CustomTool(Wire):
    """A tool that takes text."""

    name: str
    description: str | None = None
    format: CustomFormat | None = None


class FunctionEntry(Wire):
    """A tool that takes a JSON object."""

    type: Literal["function"]
    function: FunctionTool


class CustomEntry(Wire):
    """A tool that takes text."""

    type: Literal["custom"]
    custom: CustomTool


ToolEntry = Annotated[FunctionEntry | CustomEntry, Field(discriminator="type")]


class ToolName(Wire):
    """The name of a tool, where one is chosen."""

    name: str


class AllowedTools(Wire):
    """`tool_choice.allowed_tools`: some of the tools."""

    mode: Literal["auto", "required"]
    tools: list[dict[str, Any]] = Field(min_length=1)


class ToolChoice(Wire):
    """`tool_choice` where it is an object: one tool, or some of them."""

    type: Literal["function", "custom", "allowed_tools"]
    function: ToolName | None = None
    custom: ToolName | None = None
    allowed_tools: AllowedTools | None = None


class ChatRequest(GenerationFields, ConversationFields):
    """The body of /v1/chat/completions."""

    messages: list[Message] = Field(min_length=1)
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: bool | None = None
    tools: list[ToolEntry] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    modalities: list[Literal["text"]] | None = None


class CompletionRequest(GenerationFields):
    """The body of /v1/completions."""

    prompt: str | list[str]
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    best_of: int | None = None
    echo: Literal[False] | None = None
    suffix: None = None
