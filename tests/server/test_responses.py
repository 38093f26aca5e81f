"""The responses API: formats of the text, tools, streams."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.server.conftest import PERSON

WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}},
        "required": ["city"],
    },
}
ADD: dict[str, Any] = {
    "type": "custom",
    "name": "add",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: /[0-9]+/ "+" /[0-9]+/'},
}
CODE: dict[str, Any] = {
    "type": "custom",
    "name": "code",
    "format": {"type": "grammar", "syntax": "regex", "definition": "[A-Z]{3}"},
}


def respond(client: Any, **fields: Any) -> Any:
    """A response of the shipped model."""
    return client.responses.create(**{"model": "demo", "input": PERSON} | fields)


def test_a_pydantic_model_is_parsed(client: Any) -> None:
    """`parse` sends the schema as `text.format`."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    found = client.responses.parse(model="demo", input=PERSON, text_format=Person, temperature=0)
    assert found.output_parsed == Person(name="Oscar Lehmann", age=36)
    assert found.status == "completed"
    assert found.structgen["field"] == "text.format.schema"
    assert found.usage.total_tokens == found.usage.input_tokens + found.usage.output_tokens


FORMATS: dict[str, tuple[dict[str, Any], str]] = {
    "regex": ({"type": "grammar", "syntax": "regex", "definition": "a{3}"}, "a{3}"),
    "lark": ({"type": "grammar", "syntax": "lark", "definition": 'start: "b" "c"'}, "bc"),
    "grammar": ({"type": "grammar", "grammar": 'root ::= "d" | "e"'}, "d|e"),
    "json_object": ({"type": "json_object"}, r"(?s)\{.*\}"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_constrains_the_text(name: str, client: Any) -> None:
    """Grammars as well as JSON."""
    style, pattern = FORMATS[name]
    found = respond(client, text={"format": style}, max_output_tokens=30, temperature=1.5)
    assert re.fullmatch(pattern, found.output_text)
    assert found.structgen["enforced"] == "full"


def test_a_stream_ends_with_the_whole_response(client: Any) -> None:
    """Pieces together are the text of the last event; numbers count up."""
    fields: dict[str, Any] = {
        "text": {"format": FORMATS["json_object"][0]},
        "temperature": 0,
        "max_output_tokens": 30,
    }
    events = list(respond(client, stream=True, **fields))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created"
    final = events[-1].response
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(pieces) == final.output_text
    assert len(pieces) > 3
    whole = respond(client, **fields)
    assert whole.output_text == final.output_text


def test_the_streaming_helper_of_the_client_works(client: Any) -> None:
    """It checks the order of events."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str

    with client.responses.stream(
        model="demo", input=PERSON, text_format=Person, temperature=0
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_parsed == Person(name="Oscar Lehmann")
    assert kinds[-1] == "response.completed"


def test_functions_are_called(client: Any) -> None:
    """Whole and in pieces; and the conversation goes on with what they gave."""
    fields: dict[str, Any] = {
        "tools": [WEATHER],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "extra_body": {"seed": 1},
    }
    found = respond(client, **fields)
    [call] = found.output
    assert call.type == "function_call"
    assert list(json.loads(call.arguments)) == ["city"]
    events = list(respond(client, stream=True, **fields))
    pieces = [e.delta for e in events if e.type == "response.function_call_arguments.delta"]
    assert "".join(pieces) == call.arguments
    after = respond(
        client,
        input=[
            {"role": "user", "content": PERSON},
            call.model_dump(exclude_none=True),
            {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
        ],
        tools=[WEATHER],
        tool_choice="none",
        max_output_tokens=6,
    )
    assert after.output[0].type == "message"


@pytest.mark.parametrize(("tool", "pattern"), [(ADD, r"[0-9]+\+[0-9]+"), (CODE, "[A-Z]{3}")])
def test_custom_tools_take_texts_of_their_grammar(
    tool: dict[str, Any], pattern: str, client: Any
) -> None:
    """Lark's grammars and patterns."""
    choice = {"type": "custom", "name": tool["name"]}
    found = respond(client, tools=[WEATHER, tool], tool_choice=choice, max_output_tokens=60)
    [call] = found.output
    assert call.type == "custom_tool_call"
    assert re.fullmatch(pattern, call.input)
    stream = respond(client, tools=[tool], tool_choice=choice, max_output_tokens=60, stream=True)
    kinds = [event.type for event in stream]
    assert "response.custom_tool_call_input.done" in kinds


def test_log_probabilities_come_with_the_text(client: Any) -> None:
    """Where they are asked for."""
    found = respond(
        client,
        include=["message.output_text.logprobs"],
        top_logprobs=2,
        text={"format": FORMATS["regex"][0]},
    )
    part = found.output[0].content[0]
    assert "".join(one.token for one in part.logprobs) == part.text
    assert part.logprobs[0].top_logprobs


def test_a_text_that_was_cut_short_is_incomplete(client: Any) -> None:
    """And says why."""
    found = respond(client, max_output_tokens=4)
    assert found.status == "incomplete"
    assert found.incomplete_details.reason == "max_output_tokens"


def test_instructions_and_earlier_answers_are_read(client: Any) -> None:
    """An answer's items can be sent back as they are."""
    first = respond(client, instructions="Be short.", max_output_tokens=6)
    found = respond(
        client,
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
            *[item.model_dump(exclude_none=True) for item in first.output],
            {"role": "user", "content": "Go on."},
        ],
        max_output_tokens=6,
    )
    assert found.usage.input_tokens > 10


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"extra_body": {"text": {"fromat": {}}}}, "text.fromat"),
    "no schema": ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format"),
    "conflict": (
        {"text": {"format": FORMATS["regex"][0]}, "extra_body": {"guided_regex": "a"}},
        "guided_regex",
    ),
    "a pattern": (
        {"text": {"format": {"type": "grammar", "syntax": "regex", "definition": "("}}},
        "text.format.definition",
    ),
    "a tool's schema": (
        {"tools": [{"type": "function", "name": "f", "parameters": {"type": "string"}}]},
        "tools[0].parameters",
    ),
    "a custom tool": (
        {"tools": [{"type": "custom", "name": "f", "format": {"type": "grammar"}}]},
        "tools[0].format",
    ),
    "a choice": ({"tools": [WEATHER], "tool_choice": {"type": "function"}}, "tool_choice"),
    "earlier responses": ({"previous_response_id": "resp_1"}, "previous_response_id"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_kept_is_refused_with_its_place(name: str, client: Any) -> None:
    """As in chats."""
    import openai

    fields, place = WRONG[name]
    with pytest.raises(openai.BadRequestError) as caught:
        respond(client, **fields)
    assert caught.value.param == place
