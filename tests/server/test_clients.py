"""Clients that people use, over a socket, as they are installed; each is skipped where it is not.

pip install instructor litellm langchain-openai
pytest tests/server/test_clients.py
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

import structgen
from tests.server.conftest import PERSON, Serving

# Warnings are those of the clients' own packages.
pytestmark = pytest.mark.filterwarnings("default")


class Person(BaseModel):
    """What is asked for: bounds that no prompt would hold to."""

    name: str = Field(min_length=2, max_length=24)
    age: int = Field(ge=0, le=150)


MESSAGES = [{"role": "user", "content": PERSON}]


def get_age(name: str, years: int) -> str:
    """Say how old somebody is."""
    return f"{name}: {years}"


@pytest.mark.parametrize("mode", ["JSON_SCHEMA", "TOOLS", "TOOLS_STRICT"])
def test_instructor_gets_its_model(mode: str, serving: Serving) -> None:
    """At the first try, in each of its modes that send the schema."""
    instructor = pytest.importorskip("instructor")
    client = instructor.from_openai(serving.client(), mode=instructor.Mode[mode])
    found = client.chat.completions.create(
        model="demo", messages=MESSAGES, response_model=Person, max_retries=0
    )
    assert isinstance(found, Person)


def test_instructor_streams_a_model_that_grows(serving: Serving) -> None:
    """Partial values, and the whole at the end."""
    instructor = pytest.importorskip("instructor")
    client = instructor.from_openai(serving.client(), mode=instructor.Mode.JSON_SCHEMA)
    seen = list(
        client.chat.completions.create_partial(
            model="demo", messages=MESSAGES, response_model=Person, max_retries=0
        )
    )
    assert len(seen) > 1
    Person.model_validate(seen[-1].model_dump())


def test_litellm_sends_schemas_and_tools(serving: Serving) -> None:
    """As a provider that speaks OpenAI's API; a Pydantic model as `response_format`."""
    litellm = pytest.importorskip("litellm")
    place: dict[str, Any] = {
        "model": "openai/demo",
        "api_base": serving.url,
        "api_key": "none",
        "messages": MESSAGES,
    }
    found = litellm.completion(**place, response_format=Person)
    Person.model_validate_json(found.choices[0].message.content)
    tool = {"name": "get_age", "parameters": Person.model_json_schema()}
    called = litellm.completion(
        **place, tools=[{"type": "function", "function": tool}], tool_choice="required"
    )
    [call, *_] = called.choices[0].message.tool_calls
    assert call.function.name == "get_age"
    Person.model_validate_json(call.function.arguments)


def test_litellm_streams_and_tells_what_is_wrong(serving: Serving) -> None:
    """Pieces make the whole; a spec that nothing fits is a 400 with its reason."""
    litellm = pytest.importorskip("litellm")
    place = {"model": "openai/demo", "api_base": serving.url, "api_key": "none"}
    chunks = litellm.completion(**place, messages=MESSAGES, response_format=Person, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    Person.model_validate_json(text)
    broken = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "nothing"}}}
    with pytest.raises(litellm.BadRequestError, match="nothing"):
        litellm.completion(**place, messages=MESSAGES, response_format=broken, num_retries=0)


def test_ask_reads_what_litellm_returns(serving: Serving) -> None:
    """A function around it, with the schema as `response_format`."""
    litellm = pytest.importorskip("litellm")

    def complete(messages: Any, response_format: Any) -> Any:
        return litellm.completion(
            model="openai/demo",
            api_base=serving.url,
            api_key="none",
            messages=messages,
            response_format=response_format,
        )

    found = structgen.ask(complete, PERSON, Person, provider="openai")
    assert isinstance(found.value, Person)
    assert found.attempts[-1].finish_reason == "stop"


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_langchain_gets_structured_output(method: str, serving: Serving) -> None:
    """By both of its ways that name a schema."""
    langchain = pytest.importorskip("langchain_openai")
    model = langchain.ChatOpenAI(
        model="demo", base_url=serving.url, api_key="none", max_retries=0, use_responses_api=False
    )
    found = model.with_structured_output(Person, method=method).invoke(PERSON)
    assert isinstance(found, Person)


def test_langchain_binds_tools_and_uses_responses(serving: Serving) -> None:
    """A Python function as a tool; the same over /v1/responses."""
    langchain = pytest.importorskip("langchain_openai")
    for responses in (False, True):
        model = langchain.ChatOpenAI(
            model="demo",
            base_url=serving.url,
            api_key="none",
            max_retries=0,
            use_responses_api=responses,
        )
        said = model.bind_tools([get_age], tool_choice="required").invoke(PERSON)
        [call, *_] = said.tool_calls
        assert call["name"] == "get_age"
        assert isinstance(json.loads(json.dumps(call["args"]))["years"], int)
