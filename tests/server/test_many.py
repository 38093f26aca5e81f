"""Many clients at once, clients that go away, keys and limits, figures."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from structgen.util.cancellation import CancelledError, checkpoint
from tests.server.conftest import PERSON, Serving, ask, served, wait_for

LONG = {"guided_regex": "[a-z ]{800}"}  # a text that takes seconds


def schema_of(number: int) -> dict[str, Any]:
    """A schema that no other client has."""
    return {
        "type": "object",
        "properties": {
            f"field{number}": {"type": "string", "maxLength": 6},
            "n": {"type": "integer", "minimum": number, "maximum": number + 9},
        },
        "required": [f"field{number}", "n"],
        "additionalProperties": False,
    }


@pytest.mark.thorough
def test_64_clients_with_a_schema_each_get_texts_that_fit(serving: Serving) -> None:
    """At once, half of them streaming; the texts share forward passes."""
    import openai

    async def one(client: Any, number: int) -> str:
        schema = {"name": "a", "schema": schema_of(number)}
        fields: dict[str, Any] = {
            "model": "demo",
            "messages": [{"role": "user", "content": f"Client {number}"}],
            "response_format": {"type": "json_schema", "json_schema": schema},
            "max_tokens": 24,
            "seed": number,
        }
        if number % 2:
            found = await client.chat.completions.create(**fields)
            return str(found.choices[0].message.content)
        stream = await client.chat.completions.create(**fields, stream=True)
        return "".join([c.choices[0].delta.content or "" async for c in stream])

    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(
            base_url=serving.url, api_key="none", max_retries=0, timeout=60
        ) as client:  # a connection for each
            return await asyncio.gather(*(one(client, number) for number in range(64)))

    before = figures(serving)
    texts = asyncio.run(all_of_them())
    for number, text in enumerate(texts):
        jsonschema.validate(json.loads(text), schema_of(number))
    after = figures(serving)
    steps = after["structgen_steps_total"] - before["structgen_steps_total"]
    tokens = "structgen_tokens_total" + '{kind="completion"}'
    assert after[tokens] - before.get(tokens, 0) > 4 * steps
    assert serving.rests()


def test_a_spec_that_many_want_is_compiled_once(serving: Serving) -> None:
    """Those who come while it is compiled wait for the same compilation."""
    import openai

    schema = {"type": "array", "items": schema_of(1000), "minItems": 1, "maxItems": 2}

    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=serving.url, api_key="none") as client:
            asked = [
                client.completions.create(
                    model="demo", prompt="x", max_tokens=60, extra_body={"guided_json": schema}
                )
                for _ in range(8)
            ]
            return await asyncio.gather(*asked)

    before = figures(serving)
    asyncio.run(all_of_them())
    after = figures(serving)
    name = 'structgen_compile_lookups_total{outcome="miss"}'
    assert after[name] - before.get(name, 0) == 1
    count = "structgen_compile_seconds_count"
    assert after[count] - before.get(count, 0) == 1


def figures(serving: Serving) -> dict[str, float]:
    """What /metrics says."""
    import httpx

    text = httpx.get(f"{serving.root}/metrics").text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_a_client_that_closes_its_stream_frees_its_row(serving: Serving, client: Any) -> None:
    """Long before its text would have ended."""
    stream = ask(client, extra_body=LONG, max_tokens=900, stream=True)
    for _, chunk in zip(range(5), stream, strict=False):
        assert chunk.choices
    assert serving.service.engine.busy[0] == 1
    stream.close()
    assert serving.rests(5)


def test_a_client_that_hangs_up_frees_its_row(serving: Serving) -> None:
    """Also where nothing was streamed."""
    body = json.dumps({"model": "demo", "prompt": "x", "max_tokens": 900, "n": 3, **LONG}).encode()
    host, port = serving.root.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = (
            f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        wait_for(lambda: serving.service.engine.busy[0] == 3)
    assert serving.rests(5)


def test_a_request_joins_texts_under_way(serving: Serving, client: Any) -> None:
    """It is answered while a longer one is still being written."""
    stream = ask(client, extra_body=LONG, max_tokens=900, stream=True)
    next(stream)
    found = ask(client, extra_body={"guided_choice": ["yes"]})
    assert found.choices[0].message.content == "yes"
    assert serving.service.engine.busy[0] == 1
    stream.close()
    assert serving.rests(5)


def test_health_models_and_metrics(serving: Serving, client: Any) -> None:
    """What a monitor and a client ask first."""
    import httpx

    assert httpx.get(f"{serving.root}/health").json()["status"] == "ok"
    assert [model.id for model in client.models.list()] == ["demo"]
    assert client.models.retrieve("demo").owned_by == "structgen"
    ask(client, extra_body={"guided_regex": "a{3}"})
    found = figures(serving)
    assert found["structgen_mask_p99_seconds"] > 0
    assert found["structgen_waiting_seconds_count" + '{reason="row"}'] > 0
    with pytest.raises(Exception, match="broken"):
        ask(client, extra_body={"guided_json": {"type": "broken"}})
    after = figures(serving)
    name = "structgen_refused_specs_total" + '{code="broken_spec"}'
    assert after[name] == found.get(name, 0) + 1


@pytest.fixture(scope="module")
def limited(generator: Any) -> Iterator[Serving]:
    """A server with keys: one may do little, another much."""
    from structgen.server.settings import Limits, ServerSettings, Tenant

    little = Limits(
        concurrent=1,
        max_tokens=40,
        choices=2,
        body_bytes=20_000,
        spec_bytes=5_000,
        compile_seconds=0.3,
    )
    keys = {
        "little-key": Tenant("little", little),
        "much-key": Tenant("much", Limits()),
        "hasty-key": Tenant("hasty", Limits(seconds=0.1)),
        "states-key": Tenant("states", Limits(states=20)),
    }
    with served(generator, ServerSettings(keys=keys, rows=2, waiting=2)) as found:
        yield found


def test_a_key_is_needed_where_there_are_keys(limited: Serving) -> None:
    """For everything but /health."""
    import httpx
    import openai

    with limited.client("wrong") as client, pytest.raises(openai.AuthenticationError):
        client.models.list()
    assert httpx.get(f"{limited.root}/health").status_code == 200
    assert httpx.get(f"{limited.root}/metrics").status_code == 401
    with limited.client("little-key") as client:
        assert [model.id for model in client.models.list()] == ["demo"]


LIMITS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "max_tokens": ({"max_tokens": 41}, "invalid_value", "max_tokens"),
    "choices": ({"n": 3}, "invalid_value", "n"),
    "a spec": (
        {"extra_body": {"guided_choice": ["x" * 6000]}},
        "spec_too_large",
        "guided_choice",
    ),
    "a request": ({"content": "x" * 30_000}, "request_too_large", None),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_beyond_a_limit_is_refused(name: str, limited: Serving) -> None:
    """With the limit and the field."""
    import openai

    fields, code, param = LIMITS[name]
    with limited.client("little-key") as client, pytest.raises(openai.APIStatusError) as caught:
        ask(client, **fields)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_a_key_has_so_many_requests_under_way(limited: Serving) -> None:
    """One more is refused; once they have ended there is room again."""
    import openai

    with limited.client("little-key") as client:
        stream = ask(client, extra_body={"guided_regex": "[a-z]{39}"}, stream=True)
        with pytest.raises(openai.RateLimitError):
            ask(client, max_tokens=1)
        assert len(list(stream)) > 1
        wait_for(lambda: ask_quietly(client))


def ask_quietly(client: Any) -> bool:
    """Whether a request is let in."""
    import openai

    try:
        ask(client, max_tokens=1)
    except openai.RateLimitError:
        return False
    return True


def test_a_request_ends_when_its_time_is_up(limited: Serving) -> None:
    """With an error, in a stream as well; and its row is free."""
    import openai

    with limited.client("hasty-key") as client:
        with pytest.raises(openai.APIStatusError) as caught:
            ask(client, extra_body=LONG, max_tokens=900)
        assert (caught.value.status_code, caught.value.code) == (504, "timeout")
        with pytest.raises(openai.APIError, match="time"):
            list(ask(client, extra_body=LONG, max_tokens=900, stream=True))
    assert limited.rests()


def test_a_spec_may_take_so_many_states(limited: Serving) -> None:
    """What takes more is ended, and says so."""
    import openai

    with limited.client("states-key") as client:
        ask(client, extra_body={"guided_regex": "[a-z]{5}"})
        with pytest.raises(openai.BadRequestError) as caught:
            ask(client, extra_body=LONG, max_tokens=900)
        assert caught.value.code == "states_limit"


def endless(monkeypatch: Any, compiler: Any) -> list[str]:
    """From now on compilations end only if they are cancelled; returns what becomes of them."""
    seen: list[str] = []

    def never(_spec: Any, **_options: Any) -> Any:
        seen.append("begun")
        try:
            while True:
                checkpoint()
                time.sleep(0.001)
        except CancelledError:
            seen.append("cancelled")
            raise

    monkeypatch.setattr(compiler._specs, "get", never)
    return seen


def test_a_spec_that_takes_too_long_is_given_up(limited: Serving, monkeypatch: Any) -> None:
    """The request fails, the compilation ends, and who asks again begins another one."""
    import openai

    fields: dict[str, Any] = {"extra_body": {"guided_regex": "slow[0-9]"}}
    with limited.client("little-key") as client:
        with monkeypatch.context() as patch:
            seen = endless(patch, limited.service.compiler)
            with pytest.raises(openai.BadRequestError) as caught:
                ask(client, **fields)
            assert (caught.value.code, caught.value.param) == ("compile_timeout", "guided_regex")
            wait_for(lambda: seen == ["begun", "cancelled"])
        found = ask(client, **fields)
    assert re.fullmatch("slow[0-9]", found.choices[0].message.content)


def test_a_compilation_ends_when_its_last_client_goes_away(
    serving: Serving, monkeypatch: Any
) -> None:
    """Two clients wait for one spec: it goes on without the first, and ends with the second."""
    seen = endless(monkeypatch, serving.service.compiler)
    host, port = serving.root.removeprefix("http://").split(":")
    asked = {"model": "demo", "prompt": "x", "guided_regex": "gone[0-9]"}
    body = json.dumps(asked).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    sent = head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    before = figures(serving)
    joined = 'structgen_compile_lookups_total{outcome="joined"}'
    cancelled = "structgen_cancelled_compilations_total"
    with socket.create_connection((host, int(port))) as second:
        with socket.create_connection((host, int(port))) as first:
            first.sendall(sent)
            wait_for(lambda: seen == ["begun"])
            second.sendall(sent)
            wait_for(lambda: figures(serving)[joined] == before.get(joined, 0) + 1)
        waits = serving.service.compiler._under_way
        wait_for(lambda: [one.waiters for one in waits.values()] == [1])
        assert seen == ["begun"]
    wait_for(lambda: seen == ["begun", "cancelled"])
    assert not waits
    assert figures(serving)[cancelled] == before[cancelled] + 1


def test_too_many_texts_wait_or_are_refused(limited: Serving) -> None:
    """A request for more texts than the server writes at once, and one too many in the queue."""
    import openai

    with limited.client("much-key") as client:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(client, n=3)
        assert caught.value.param == "n"

    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(
            base_url=limited.url, api_key="states-key", max_retries=0
        ) as client:
            asked = [
                client.completions.create(
                    model="demo", prompt=PERSON, n=2, extra_body={"guided_regex": "[ab]{30}"}
                )
                for _ in range(12)
            ]
            return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(all_of_them())
    refused = [one for one in found if isinstance(one, openai.RateLimitError)]
    answered = [one for one in found if not isinstance(one, Exception)]
    assert refused
    assert answered
    assert len(refused) + len(answered) == 12
