"""Chat completions, asked for with the client that most programs use."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.server.conftest import PERSON, Serving, ask

SMALL: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "schema": SMALL}}


def test_a_pydantic_model_is_parsed(client: Any) -> None:
    """`parse` gives an instance, and the answer says that all of it was enforced."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    messages = [{"role": "user", "content": PERSON}]
    found = client.chat.completions.parse(
        model="demo", messages=messages, response_format=Person, temperature=0
    )
    assert found.choices[0].message.parsed == Person(name="Oscar Lehmann", age=36)
    assert found.choices[0].finish_reason == "stop"
    assert found.structgen["enforced"] == "full"
    assert found.structgen["field"] == "response_format.json_schema.schema"
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens


def test_a_stream_gives_the_same_text_in_pieces(client: Any) -> None:
    """Deltas together are the text; the usage comes last."""
    whole = ask(client, response_format=FORMAT, seed=3)
    chunks = list(
        ask(
            client,
            response_format=FORMAT,
            seed=3,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    pieces = [c.choices[0].delta.content or "" for c in chunks if c.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert sum(map(bool, pieces)) > 3
    assert chunks[0].structgen["spec"] == whole.structgen["spec"]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage == whole.usage


def test_streamed_text_is_whole_characters(client: Any) -> None:
    """A character of several tokens comes in one delta."""
    text = "Zürich 東京 🦉"
    chunks = ask(client, extra_body={"guided_choice": [text]}, stream=True)
    pieces = [c.choices[0].delta.content or "" for c in chunks]
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_stream_is_parsed_into_a_pydantic_model(client: Any) -> None:
    """The client's own streaming helper works."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str

    messages = [{"role": "user", "content": PERSON}]
    with client.chat.completions.stream(
        model="demo", messages=messages, response_format=Person, temperature=0
    ) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert final.choices[0].message.parsed == Person(name="Oscar Lehmann")


def test_a_seed_makes_texts_reproducible_and_n_makes_them_differ(client: Any) -> None:
    """The same seed gives the same texts; sample 0 of three is the text of a request for one."""
    three = ask(client, response_format=FORMAT, seed=11, n=3, temperature=2)
    again = ask(client, response_format=FORMAT, seed=11, n=3, temperature=2)
    texts = [choice.message.content for choice in three.choices]
    assert texts == [choice.message.content for choice in again.choices]
    assert len(set(texts)) > 1
    assert [choice.index for choice in three.choices] == [0, 1, 2]
    one = ask(client, response_format=FORMAT, seed=11, temperature=2)
    assert one.choices[0].message.content == texts[0]


def test_the_text_is_that_of_the_generator(client: Any, generator: Any) -> None:
    """The server's batches give what the library gives."""
    import structgen as sg

    for seed in range(3):
        found = ask(client, response_format=FORMAT, seed=seed)
        expected = generator.generate(PERSON, sg.JsonSchema(SMALL), seed=seed)
        assert found.choices[0].message.content == expected.text


def test_stop_ends_a_text_where_it_may_end(client: Any) -> None:
    """The stop sequence is no part of the text."""
    free = ask(client, temperature=0, max_tokens=30).choices[0].message.content
    stop = free[8:11]
    found = ask(client, temperature=0, max_tokens=30, stop=[stop]).choices[0]
    assert found.message.content == free[: free.index(stop)]
    assert found.finish_reason == "stop"
    inside = ask(client, temperature=0, response_format=FORMAT, stop="Oscar").choices[0]
    json.loads(inside.message.content)  # a text that may not end there is closed


def test_a_text_is_closed_within_max_tokens(client: Any) -> None:
    """It fits all the same, and the reason says that it was cut short."""
    found = ask(client, response_format=FORMAT, max_completion_tokens=12)
    assert json.loads(found.choices[0].message.content).keys() == {"name", "age"}
    assert found.choices[0].finish_reason == "length"
    assert found.usage.completion_tokens <= 12


def test_log_probabilities_are_raw_and_under_the_mask(client: Any) -> None:
    """They sum up over the tokens, whose bytes are the text; alternatives come best first."""
    found = ask(client, response_format=FORMAT, temperature=0, logprobs=True, top_logprobs=3)
    choice = found.choices[0]
    tokens = choice.logprobs.content
    written = b"".join(bytes(token.bytes) for token in tokens)
    assert written.decode() == choice.message.content
    for token in tokens:
        assert token.raw_logprob <= token.logprob + 1e-6 <= 1e-6
        others = [other.logprob for other in token.top_logprobs]
        assert others == sorted(others, reverse=True)
        assert token.top_logprobs[0].token == token.token
        assert math.fsum(map(math.exp, others)) <= 1 + 1e-6
    chunks = ask(
        client, response_format=FORMAT, temperature=0, logprobs=True, top_logprobs=3, stream=True
    )
    streamed = [
        t.model_dump()
        for chunk in chunks
        if chunk.choices[0].logprobs
        for t in chunk.choices[0].logprobs.content
    ]
    assert [t["token"] for t in streamed] == [t.token for t in tokens]


def test_penalties_and_biases_count(client: Any) -> None:
    """A bias of -100 keeps a token out where another one fits."""
    fields: dict[str, Any] = {"extra_body": {"guided_regex": "a|b"}, "temperature": 0}
    first = ask(client, **fields, logprobs=True).choices[0]
    vocabulary = {"a", "b"}
    token = ask(client, **fields, logprobs=True, top_logprobs=2).choices[0].logprobs.content[0]
    assert {other.token for other in token.top_logprobs} == vocabulary
    import transformers

    from structgen import demo

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(demo.model_path()))
    [written] = tokenizer(first.message.content, add_special_tokens=False)["input_ids"]
    other = ask(client, **fields, logit_bias={str(written): -100}).choices[0].message.content
    assert {other, first.message.content} == vocabulary
    ask(client, max_tokens=5, presence_penalty=0.5, frequency_penalty=0.5, top_p=0.9)


def test_a_conversation_with_parts_and_answers_is_taken(client: Any) -> None:
    """Messages of all roles, and what an answer had beside its text."""
    first = ask(client, max_tokens=8)
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        first.choices[0].message.model_dump(),
        {"role": "user", "content": "Go on."},
    ]
    found = client.chat.completions.create(model="demo", messages=messages, max_tokens=8)
    assert found.structgen == {
        "enforced": "none",
        "engine": first.structgen["engine"],
        "spec": None,
        "kind": None,
        "field": None,
    }


def test_the_headers_say_what_was_enforced(serving: Serving) -> None:
    """For those who see no bodies."""
    import httpx

    body = {"model": "demo", "messages": [{"role": "user", "content": "x"}], "regex": "yes|no"}
    found = httpx.post(f"{serving.url}/chat/completions", json=body)
    assert found.headers["x-structgen-enforced"] == "full"
    assert found.headers["x-structgen-spec"] == found.json()["structgen"]["spec"]
    assert found.headers["server"].startswith("structgen/")


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_that_is_complete_at_once_ends(client: Any, *, stream: bool) -> None:
    """A spec whose only text is empty."""
    found = ask(client, extra_body={"guided_regex": ""}, stream=stream)
    choice = [c.choices[0] for c in found][-1] if stream else found.choices[0]
    assert choice.finish_reason == "stop"
