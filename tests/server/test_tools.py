"""Tools: which may be called, what they are given, and how their calls come back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from structgen.compose.tools.call_formats import FORMATS
from structgen.compose.tools.tools import tools
from structgen.server.endpoints.calls import (
    ArgumentsEvent,
    CallEvent,
    CallReader,
    TextEvent,
    format_of,
    reads_pieces,
)
from tests.server.conftest import PERSON, Serving, ask, served

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 12}},
            "required": ["city"],
        },
    },
}
TIME = {"type": "function", "function": {"name": "get_time"}}
SUM: dict[str, Any] = {
    "type": "custom",
    "custom": {
        "name": "add",
        "format": {
            "type": "grammar",
            "grammar": {"syntax": "lark", "definition": 'start: /[0-9]+/ "+" /[0-9]+/'},
        },
    },
}
CODE: dict[str, Any] = {
    "type": "custom",
    "custom": {
        "name": "code",
        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[A-Z]{3}"}},
    },
}


def calls_of(found: Any) -> list[Any]:
    """The calls of an answer."""
    return list(found.choices[0].message.tool_calls or [])


def test_required_calls_fit_the_schemas_of_their_tools(client: Any) -> None:
    """Each call has an id, a name and arguments that fit."""
    found = ask(client, tools=[WEATHER, TIME], tool_choice="required", max_tokens=80, seed=4)
    assert calls_of(found)
    for call in calls_of(found):
        arguments = json.loads(call.function.arguments)
        assert list(arguments) == (["city"] if call.function.name == "get_weather" else [])
        assert call.id.startswith("call_")
    assert found.choices[0].message.content is None
    assert found.choices[0].finish_reason in ("tool_calls", "length")
    assert found.structgen["kind"] == "tools"


def test_one_tool_can_be_chosen(client: Any) -> None:
    """By its name, or among those allowed."""
    named = {"type": "function", "function": {"name": "get_time"}}
    found = ask(client, tools=[WEATHER, TIME], tool_choice=named)
    assert [call.function.name for call in calls_of(found)] == ["get_time"]
    allowed = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [named]},
    }
    found = ask(client, tools=[WEATHER, TIME], tool_choice=allowed, parallel_tool_calls=False)
    assert [call.function.name for call in calls_of(found)] == ["get_time"]


def test_no_parallel_calls_means_one(client: Any) -> None:
    """With several seeds."""
    for seed in range(3):
        found = ask(
            client,
            tools=[WEATHER],
            tool_choice="required",
            parallel_tool_calls=False,
            seed=seed,
            temperature=2,
        )
        assert len(calls_of(found)) == 1


def test_without_choice_the_model_may_answer(client: Any) -> None:
    """And with the choice `none` it must."""
    for choice in ("auto", "none"):
        found = ask(client, tools=[WEATHER], tool_choice=choice, temperature=0, max_tokens=20)
        assert found.choices[0].message.content


def test_calls_are_streamed_in_pieces(client: Any) -> None:
    """Name and id first, then the arguments as they are written; the same calls as in a whole."""
    fields: dict[str, Any] = {
        "tools": [WEATHER, TIME],
        "tool_choice": "required",
        "seed": 4,
        "max_tokens": 80,
    }
    whole = [(c.function.name, c.function.arguments) for c in calls_of(ask(client, **fields))]
    found: list[list[str]] = []
    pieces = 0
    for chunk in ask(client, stream=True, **fields):
        for part in chunk.choices[0].delta.tool_calls or ():
            if part.index == len(found):
                assert part.id
                found.append([part.function.name, ""])
            found[part.index][1] += part.function.arguments
            pieces += 1
    assert [(name, arguments) for name, arguments in found] == whole
    assert pieces > len(found)


def test_pydantic_tools_are_parsed_by_the_client(client: Any) -> None:
    """`parse` gives instances of the arguments."""
    import openai
    from pydantic import BaseModel

    class Lookup(BaseModel):
        name: str

    found = client.chat.completions.parse(
        model="demo",
        messages=[{"role": "user", "content": PERSON}],
        tools=[openai.pydantic_function_tool(Lookup)],
        tool_choice="required",
        parallel_tool_calls=False,
    )
    [call] = calls_of(found)
    assert isinstance(call.function.parsed_arguments, Lookup)


@pytest.mark.parametrize(("tool", "pattern"), [(SUM, r"[0-9]+\+[0-9]+"), (CODE, "[A-Z]{3}")])
def test_custom_tools_take_texts_of_their_grammar(
    tool: dict[str, Any], pattern: str, client: Any
) -> None:
    """A grammar of Lark's, or a pattern."""
    choice = {"type": "custom", "custom": {"name": tool["custom"]["name"]}}
    found = ask(client, tools=[WEATHER, tool], tool_choice=choice, max_tokens=60)
    [call] = calls_of(found)
    assert call.type == "custom"
    assert re.fullmatch(pattern, call.custom.input)


def test_tools_and_a_schema_go_together(client: Any) -> None:
    """The model calls, or its answer fits; with a required call the schema is refused."""
    import openai

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    format_ = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    found = ask(client, tools=[TIME], response_format=format_, seed=3, max_tokens=60)
    assert calls_of(found) or "a" in json.loads(found.choices[0].message.content)
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, tools=[TIME], response_format=format_, tool_choice="required")
    assert caught.value.param == "response_format.json_schema.schema"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a tool that is not there": (
        {"tools": [TIME], "tool_choice": {"type": "function", "function": {"name": "x"}}},
        "tool_choice",
    ),
    "required without tools": ({"tool_choice": "required"}, "tool_choice"),
    "two of a name": ({"tools": [TIME, TIME]}, "tools"),
    "arguments that are no object": (
        {
            "tools": [
                TIME,
                {"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}},
            ]
        },
        "tools[1].function.parameters",
    ),
    "a name that no format can write": (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "tools[0].function.name",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_tools_are_refused_with_their_place(name: str, client: Any) -> None:
    """Before anything is compiled."""
    import openai

    fields, place = WRONG[name]
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, **fields)
    assert caught.value.param == place


def test_a_broken_schema_of_a_tool_has_its_pointer(client: Any) -> None:
    """As everywhere."""
    import openai

    broken = {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": {"a": {"type": "x"}}}},
    }
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, tools=[broken])
    body: Any = caught.value.body
    assert "properties/a" in body["location"]


def test_calls_sent_back_reach_the_template(client: Any) -> None:
    """A conversation with a call and its result goes on."""
    found = ask(
        client, tools=[TIME], tool_choice="required", parallel_tool_calls=False, max_tokens=60
    )
    [call] = calls_of(found)
    messages = [
        {"role": "user", "content": PERSON},
        found.choices[0].message.model_dump(),
        {"role": "tool", "tool_call_id": call.id, "content": "12:30"},
    ]
    after = client.chat.completions.create(
        model="demo", messages=messages, tools=[TIME], max_tokens=8
    )
    assert after.choices[0].finish_reason in ("stop", "length")


@pytest.mark.parametrize("level", ["names", "off"])
def test_the_operator_decides_how_far_calls_are_enforced(level: Any, generator: Any) -> None:
    """Answers say how far; what cannot be kept is refused."""
    import openai

    from structgen.server.settings import Limits, ServerSettings, Tenant

    settings = ServerSettings(everybody=Tenant("everybody", Limits(tools=level)))
    with served(generator, settings) as serving, serving.client() as client:
        if level == "off":
            with pytest.raises(openai.BadRequestError) as caught:
                ask(client, tools=[WEATHER], tool_choice="required")
            assert caught.value.code == "not_enforced"
            found = ask(client, tools=[WEATHER], max_tokens=10)
            assert found.structgen["enforced"] == "none"
        else:
            found = ask(client, tools=[WEATHER], tool_choice="required", max_tokens=60)
            assert found.structgen["enforced"] == "names"
            assert all(call.function.name == "get_weather" for call in calls_of(found))


TEXTS = {
    "hermes": (
        'So: <tool_call>\n{"name": "f", "arguments": {"a": "}\\""}}\n</tool_call>\n'
        '<tool_call>\n{"name": "ff", "arguments":  {}}\n</tool_call> done'
    ),
    "llama3_json": '{"name": "f", "parameters": {"a": 1}}; {"name": "ff", "parameters": {}}',
    "mistral_v3": (
        '[TOOL_CALLS] [{"name": "f", "arguments": {"a": [1]}}, {"name": "ff", "arguments": {}}]'
    ),
    "mistral_v11": '[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]ff[ARGS]{}',
    "kimi_k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
        '<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_call_begin|>functions.ff:1'
        "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "qwen3_coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n"
        "<tool_call>\n<function=ff>\n</function>\n</tool_call>"
    ),
    "json_array": '[{"name": "f", "arguments": {"a": 1}}, {"name": "ff", "arguments": {}}]',
}


@pytest.mark.parametrize("style", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_calls_are_read_alike_however_a_text_is_cut(style: str, size: int) -> None:
    """Piece by piece they are what parsing the whole text gives."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    spec = tools(
        [{"name": "f", "parameters": schema}, {"name": "ff"}],
        style,
        text="around" if style == "hermes" else "none",
    )
    text = TEXTS[style]
    reader, said, found = CallReader(spec), "", []
    for begin in range(0, len(text), size):
        piece = text[begin : begin + size]
        for event in reader.feed(piece, ended=begin + size >= len(text)):
            if isinstance(event, TextEvent):
                said += event.text
            elif isinstance(event, CallEvent):
                found.append([event.name, ""])
            else:
                assert isinstance(event, ArgumentsEvent)
                found[event.number][1] += event.text
    expected = [(call.name, call.arguments) for call in spec.parse(text)]
    assert [(name, json.loads(arguments)) for name, arguments in found] == expected
    assert len(found) == 2
    assert said == ("So:  done" if style == "hermes" else "")


def test_the_call_format_is_taken_from_the_chat_template() -> None:
    """By the marks of a format that are in it."""
    assert format_of("no tools here") == "hermes"
    assert format_of('<tool_call>\n{"name": ...}\n</tool_call>') == "hermes"
    assert format_of(
        "x <tool_call> <function= <parameter= </parameter> </function> </tool_call>"
    ) == ("qwen3_coder")
    assert format_of("[TOOL_CALLS] [ARGS]") == "mistral_v11"
    assert [name for name in FORMATS if reads_pieces(FORMATS[name])]


def test_a_serving_fixture_is_at_rest(serving: Serving) -> None:
    """Nothing is left behind by the requests above."""
    assert serving.rests()
