"""`ask`: answers that fit come back as values; others are sent back with what is wrong with them.

The model is a script. The clients are functions, stand-ins with the methods of the official ones,
and, where they are installed, the official ones themselves over a socket.

pip install openai anthropic google-genai
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import enum
import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from random import Random
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

import structgen as sg
from structgen.errors import (
    ArgumentError,
    BudgetError,
    NoAnswerError,
    NotEnforcedError,
    SpecError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    ValidationError,
)
from structgen.schema.export.dialects import DIALECTS
from structgen.schema.export.export import export
from structgen.schema.export.readings import readings
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas
from tests.helpers.values import any_value, mutated, near_value
from tests.schema.export.test_dialects import as_json_schema, valid

pytestmark = MISSPELT_ON_PURPOSE

PERSON: Any = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "maximum": 150},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
ADA = '{"name": "Ada", "age": 36}'
WRONG = '{"name": "A", "age": 360}'


class Script:
    """A function that gives these answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, Any]] = []

    def __call__(self, messages: Any, response_format: Any) -> Any:
        """The next answer."""
        self.asked.append((list(messages), response_format))
        return self.answers[len(self.asked) - 1]


def test_a_wrong_answer_goes_back_with_all_that_is_wrong() -> None:
    """The second request has the text, and each broken keyword with its place."""
    script = Script(WRONG, ADA)
    found = sg.ask(script, "Who?", PERSON)
    assert (found.value, found.text, found.part) == ({"name": "Ada", "age": 36}, ADA, "whole")
    first, second = found.attempts
    assert isinstance(first.error, ValidationError)
    assert (first.error.keyword, second.error, second.faults) == ("minLength", None, ())
    [(begun, form), (again, _)] = script.asked
    assert form is None
    assert begun == again[:1]
    assert json.dumps(PERSON) in begun[0]["content"]
    assert again[1] == {"role": "assistant", "content": WRONG}
    for said in ("/name", "`minLength` at #/properties/name", "/age", "<= 150"):
        assert said in again[2]["content"]


def test_no_answer_that_fits_is_an_error_with_all_of_them() -> None:
    """It keeps texts and errors, also when it travels to another process."""
    script = Script(WRONG, "{", WRONG)
    with pytest.raises(NoAnswerError, match=r"none of 3 answers fits.*maximum") as caught:
        sg.ask(script, "Who?", PERSON)
    error = pickle.loads(pickle.dumps(caught.value))
    assert [attempt.text for attempt in error.attempts] == [WRONG, "{", WRONG]
    assert [attempt.error.keyword for attempt in error.attempts] == ["minLength", "", "minLength"]
    assert error.text == WRONG
    with pytest.raises(NoAnswerError):
        sg.ask(Script(WRONG), "Who?", PERSON, attempts=1)


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (f"\n{ADA}\n", "whole"),
        (f"```json\n{ADA}\n```", "fenced"),
        (f"Here it is [sic]:\n\n  ```\n{ADA}\n  ```\nDone. {{}}", "fenced"),
        (f"Sure! {ADA} Anything else {{?}}", "first value"),
        (f"```\n{ADA}\n```\n```\n{WRONG}\n```", "first value"),
    ],
)
def test_what_stands_around_json_is_named(answer: str, part: str) -> None:
    """A fence or prose costs no second request, and the answer says what was left out."""
    found = sg.ask(Script(answer), "Who?", PERSON)
    assert (found.part, found.attempts[0].text) == (part, answer)
    assert json.loads(found.text) == found.value == json.loads(ADA)


def test_a_wrong_value_in_prose_is_judged_by_itself() -> None:
    """Errors are about the JSON, not about the words before it."""
    with pytest.raises(NoAnswerError) as caught:
        sg.ask(Script(f"Sure! {WRONG}"), "Who?", PERSON, attempts=1)
    [attempt] = caught.value.attempts
    assert (attempt.part, attempt.checked) == ("first value", WRONG)
    assert attempt.error.value_path == "/name"


class Even(BaseModel):
    """A type with a check that no schema has."""

    n: int

    @field_validator("n")
    @classmethod
    def _even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n


class Colour(enum.Enum):
    """A type of its own."""

    RED = "red"


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int


class Pair(TypedDict):
    """A TypedDict."""

    a: int


@pytest.mark.parametrize(
    ("type_", "answer", "value"),
    [
        (Point, '{"x": 1}', Point(1)),
        (Pair, '{"a": 1}', {"a": 1}),
        (Colour, '{"value": "red"}', Colour.RED),
        (list[Point], '{"value": [{"x": 1}]}', [Point(1)]),
        (list[int], "[1]", [1]),
    ],
)
def test_values_have_the_type_that_was_asked_for(type_: Any, answer: str, value: Any) -> None:
    """As of `generate`; the object that a dialect wants around other values is taken off."""
    script = Script(answer)
    found = sg.ask(script, "What?", type_, provider="openai")
    assert found.value == value
    assert type(found.value) is type(value)
    sent = script.asked[0][1]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(sent["schema"])


def test_null_stands_for_an_absent_key_where_the_dialect_wants_all() -> None:
    """OpenAI's dialect has no optional keys, so its null is no value here."""
    script = Script('{"name": "Ada", "age": 36, "tags": null}')
    found = sg.ask(script, "Who?", PERSON, provider="openai")
    assert found.value == json.loads(found.text) == {"name": "Ada", "age": 36}
    assert "tags" in script.asked[0][1]["json_schema"]["schema"]["required"]
    assert {loss.keyword for loss in found.losses} == {"minLength", "uniqueItems", "required"}


def test_the_prompt_says_what_the_schema_sent_does_not() -> None:
    """Nothing where that says all; the whole schema where it is looser, or not sent at all."""
    exact = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    said = Script('{"a": 1}')
    sg.ask(said, "Which?", exact, provider="openai")
    assert said.asked[0][0] == [{"role": "user", "content": "Which?"}]
    looser = Script(ADA)
    sg.ask(looser, [{"role": "assistant", "content": "Hi"}], PERSON, provider="openai")
    assert [m["role"] for m in looser.asked[0][0]] == ["assistant", "user"]
    assert "uniqueItems" in looser.asked[0][0][1]["content"]
    own = Script(ADA)
    sg.ask(own, "Who?", PERSON, instruction="In JSON.")
    assert own.asked[0][0] == [{"role": "user", "content": "Who?\n\nIn JSON."}]


def test_a_schema_that_a_dialect_cannot_say_is_not_sent() -> None:
    """The prompt has it instead, and a loss says so."""
    tree = {"type": "object", "properties": {"below": {"$ref": "#"}}, "required": ["below"]}
    either = {"anyOf": [tree | {"$id": "https://example.org/tree"}, {"type": "null"}]}
    script = Script("null")
    found = sg.ask(script, "Which?", either, provider="anthropic")
    [loss] = found.losses
    assert (loss.keyword, loss.effect) == ("$ref", "looser")
    assert script.asked[0][1] is None


@pytest.mark.parametrize(
    ("spec", "answers", "value"),
    [
        (sg.Regex("[a-z]+@x"), ["abc@y", "abc@x"], "abc@x"),
        (sg.Choice(["yes", "no"]), ["Yes.", " no\n"], "no"),
        (sg.Lark('start: "hi " NAME\nNAME: /[A-Z]+/'), ["hi ada", "```\nhi ADA\n```"], "hi ADA"),
        (sg.Regex("a?"), ["b", ""], ""),
        (sg.sequence(sg.Choice(["a"]), sg.Regex("[0-9]")), ["ab", "a1"], ["a", "1"]),
    ],
)
def test_other_specs_are_checked_and_mended(spec: Any, answers: list[str], value: Any) -> None:
    """No schema is sent for them; the error says what came before and what was expected."""
    script = Script(*answers)
    found = sg.ask(script, "What?", spec, provider="openai")
    assert found.value == value
    assert found.text in answers[1]
    assert [form for _, form in script.asked] == [None, None]
    assert "expected" in script.asked[1][0][2]["content"]


def chat(text: Any, reason: str = "stop", refusal: Any = None) -> dict[str, Any]:
    """An answer of OpenAI's API."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def message(text: str, reason: str = "end_turn") -> dict[str, Any]:
    """An answer of Anthropic's API, with a thought before the text."""
    thought = {"type": "thinking", "thinking": "{}", "signature": ""}
    content = [thought, {"type": "text", "text": text}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    rest = {"id": "1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return {**rest, "content": content, "stop_reason": reason, "stop_sequence": None}


def candidates(text: str, reason: str = "STOP") -> dict[str, Any]:
    """An answer of Gemini's API, with a thought before the text."""
    parts = [{"text": "{}", "thought": True}, {"text": text}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]}


def test_cut_and_empty_answers_are_named() -> None:
    """And are asked for again; what fits is taken although it was cut."""
    answers = [chat(ADA[:9], "length"), message("", "max_tokens"), chat(None, "tool_calls")]
    script = Script(*answers)
    with pytest.raises(NoAnswerError, match=r"the answer is empty \(.*tool_calls") as caught:
        sg.ask(script, "Who?", PERSON)
    faults = [attempt.faults[0] for attempt in caught.value.attempts]
    assert ["cut off" in fault for fault in faults] == [True, True, False]
    assert "cut off" in script.asked[1][0][-1]["content"]
    assert script.asked[2][0] == script.asked[1][0]  # nothing to send back
    assert sg.ask(Script(chat(ADA, "length")), "Who?", PERSON).text == ADA


@pytest.mark.parametrize(
    "answer",
    [chat(None, refusal="I cannot."), chat(ADA, "content_filter"), message(ADA, "refusal")],
)
def test_a_refusal_is_not_asked_again(answer: Any) -> None:
    """Nor is a text that a filter has left standing."""
    script = Script(answer, ADA)
    with pytest.raises(NoAnswerError, match=r"the model refuses: (I cannot|content_filt|refusal)"):
        sg.ask(script, "Who?", PERSON)
    assert len(script.asked) == 1


def test_an_answer_says_that_it_was_only_checked() -> None:
    """So it is no proof of masks."""
    found = sg.ask(Script(ADA), "Who?", PERSON)
    assert found.enforced.to_json()["enforced"] == "checked"
    with pytest.raises(NotEnforcedError, match="checked"):
        sg.assert_enforced(found)


def test_what_only_a_validator_finds_is_mended_too() -> None:
    """A check in Python fails with the place of the value."""
    script = Script('{"n": 1}', '{"n": 2}')
    assert sg.ask(script, "Which?", Even).value.n == 2
    assert "odd at /n" in script.asked[1][0][2]["content"]


def test_wrong_specs_and_arguments_are_errors_before_anything_is_asked() -> None:
    """Nobody pays for them."""
    script = Script()
    with pytest.raises(SpecError):
        sg.ask(script, "Who?", {"type": "nothing"})
    with pytest.raises(UnsatisfiableSchemaError):
        sg.ask(script, "Who?", False, provider="openai")
    with pytest.raises(SpecError, match="dialect 'x'"):
        sg.ask(script, "Who?", PERSON, provider="x")
    with pytest.raises(ArgumentError, match="temperature"):
        sg.ask(script, "Who?", PERSON, temperature=0)
    with pytest.raises(ArgumentError, match="no client"):
        sg.ask("openai", "Who?", PERSON)
    with pytest.raises(ArgumentError, match="the prompt"):
        sg.ask(script, ["Who?"], PERSON)  # type: ignore[list-item]
    assert script.asked == []
    with pytest.raises(ArgumentError, match="stream"):
        sg.ask(Script(iter(())), "Who?", PERSON)


def test_asynchronous_clients_are_waited_for() -> None:
    """By `ask_async`; `ask` says so."""
    script = Script(WRONG, ADA)

    async def complete(messages: Any, response_format: Any) -> Any:
        return script(messages, response_format)

    assert asyncio.run(sg.ask_async(complete, "Who?", PERSON)).value["age"] == 36
    with pytest.raises(ArgumentError, match="ask_async"):
        sg.ask(complete, "Who?", PERSON)


# -- clients ------------------------------------------------------------------------------------

TALK: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]


def as_object(value: Any) -> Any:
    """JSON as the clients give it: objects, with names as Python has them."""
    names = {"finishReason": "finish_reason"}
    if isinstance(value, list):
        return [as_object(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {str(names.get(k, k)): as_object(v) for k, v in value.items()}
    return SimpleNamespace(**members)


class Recorded:
    """A method of a client: gives answers in turn, and keeps its arguments."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [as_object(answer) for answer in answers]
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **arguments: Any) -> Any:
        """The next answer."""
        self.calls.append(arguments)
        return self.answers[len(self.calls) - 1]


def test_a_client_like_openai_gets_response_format() -> None:
    """Beside its own options."""
    create = Recorded(chat(WRONG), chat(ADA))
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    found = sg.ask(client, TALK, PERSON, model="m", temperature=0)
    assert found.value["age"] == 36
    first, second = create.calls
    assert (first["model"], first["temperature"]) == ("m", 0)
    assert first["response_format"]["json_schema"]["schema"] == export(PERSON, "openai").schema
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "user"]
    plain = Recorded(chat("no"))
    client.chat.completions.create = plain
    sg.ask(client, TALK, sg.Choice(["no"]), model="m")
    assert plain.calls[0].keys() == {"model", "messages"}


def test_a_client_like_anthropic_gets_output_config() -> None:
    """System messages stand apart, and what else is configured stays."""
    create = Recorded(message(WRONG), message(ADA))
    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    config = {"effort": "low"}
    sg.ask(client, TALK, PERSON, model="m", max_tokens=99, output_config=config)
    first, second = create.calls
    assert (first["system"], first["max_tokens"]) == ("Be brief.", 99)
    sent = {"type": "json_schema", "schema": export(PERSON, "anthropic").schema}
    assert first["output_config"] == config | {"format": sent}
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("provider", "name"),
    [("auto", "response_json_schema"), ("gemini-openapi", "response_schema")],
)
def test_a_client_like_gemini_gets_a_config(provider: str, name: str) -> None:
    """The schema goes where its dialect is understood; thoughts are no part of the text."""
    generate = Recorded(candidates(WRONG), candidates(ADA))
    client = SimpleNamespace(models=SimpleNamespace(generate_content=generate))
    sg.ask(client, TALK, PERSON, model="m", provider=provider, temperature=0)
    first, second = generate.calls
    dialect = "gemini" if provider == "auto" else provider
    config = {"temperature": 0, "system_instruction": "Be brief."}
    config["response_mime_type"] = "application/json"
    assert first["config"] == config | {name: export(PERSON, dialect).schema}
    assert [content["role"] for content in second["contents"]] == ["user", "model", "user"]
    feedback = SimpleNamespace(block_reason=Colour.RED)
    blocked = SimpleNamespace(candidates=None, prompt_feedback=feedback)
    with pytest.raises(NoAnswerError, match="the prompt was blocked: red"):
        sg.ask(Script(blocked), TALK, PERSON)
    with pytest.raises(NoAnswerError, match="cut off"):
        sg.ask(Script(as_object(candidates(ADA[:5], "MAX_TOKENS"))), TALK, PERSON, attempts=1)


class Provider(HTTPServer):
    """A server that answers requests in turn, with a status and JSON, and keeps what was asked."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        """Answer."""
        size = int(self.headers["content-length"])
        self.server.bodies.append(json.loads(self.rfile.read(size)))
        status, answer = self.server.answers[len(self.server.bodies) - 1]
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def listening(*answers: tuple[int, Any]) -> Iterator[Provider]:
    """A provider on a free port."""
    with Provider(*answers) as provider:
        thread = threading.Thread(target=provider.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()


@pytest.mark.filterwarnings("default")
def test_the_client_of_openai() -> None:
    """Over a socket; its own errors come through."""
    openai = pytest.importorskip("openai")
    with listening((200, chat(WRONG)), (200, chat(ADA)), (400, {"error": {}})) as provider:
        client = openai.OpenAI(base_url=provider.url, api_key="k", max_retries=0)
        assert sg.ask(client, TALK, PERSON, model="m").value["age"] == 36
        with pytest.raises(openai.BadRequestError):
            sg.ask(client, TALK, PERSON, model="m")
        first, second, _ = provider.bodies
        assert first["response_format"]["json_schema"]["name"] == "answer"
        assert second["messages"][2] == {"role": "assistant", "content": WRONG}


@pytest.mark.filterwarnings("default")
def test_the_asynchronous_client_of_openai() -> None:
    """By `ask_async`."""
    openai = pytest.importorskip("openai")

    async def asked(url: str) -> Any:
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            return await sg.ask_async(client, TALK, PERSON, model="m")

    with listening((200, chat(WRONG)), (200, chat(ADA))) as provider:
        assert len(asyncio.run(asked(provider.url)).attempts) == 2


@pytest.mark.filterwarnings("default")
def test_the_clients_of_anthropic() -> None:
    """Over a socket; its own errors come through."""
    anthropic = pytest.importorskip("anthropic")
    answers = [message(WRONG), message(ADA)] * 2
    with listening(*[(200, answer) for answer in answers], (400, {})) as provider:
        place = {"base_url": provider.url, "api_key": "k", "max_retries": 0}
        waiting = anthropic.AsyncAnthropic(**place)
        found = asyncio.run(sg.ask_async(waiting, TALK, PERSON, model="m", max_tokens=99))
        assert len(found.attempts) == 2
        client = anthropic.Anthropic(**place)
        assert sg.ask(client, TALK, PERSON, model="m", max_tokens=99).value["age"] == 36
        with pytest.raises(anthropic.BadRequestError):
            sg.ask(client, TALK, PERSON, model="m", max_tokens=99)
        first, second, *_ = provider.bodies
        assert first["system"] == "Be brief."
        assert first["output_config"]["format"]["type"] == "json_schema"
        assert second["messages"][1]["content"] == WRONG


@pytest.mark.filterwarnings("default")
def test_the_clients_of_gemini() -> None:
    """Over a socket; its own errors come through."""
    genai = pytest.importorskip("google.genai")
    twice = [candidates(WRONG), candidates(ADA)] * 2
    answers = [*twice, candidates(ADA[:5], "MAX_TOKENS")]
    replies = [(200, answer) for answer in answers]
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    with listening(*replies, (200, blocked), (400, {"error": {"code": 400}})) as provider:
        client = genai.Client(api_key="k", http_options={"base_url": provider.url})
        found = asyncio.run(sg.ask_async(client.aio, TALK, PERSON, model="m"))
        assert len(found.attempts) == 2
        assert sg.ask(client, TALK, PERSON, model="m").value["age"] == 36
        with pytest.raises(NoAnswerError, match=r"cut off.*MAX_TOKENS"):
            sg.ask(client, TALK, PERSON, model="m", attempts=1)
        with pytest.raises(NoAnswerError, match="blocked: SAFETY"):
            sg.ask(client, TALK, PERSON, model="m")
        with pytest.raises(genai.errors.ClientError):
            sg.ask(client, TALK, PERSON, model="m")
        first, second, *_ = provider.bodies
        assert first["generationConfig"]["responseMimeType"] == "application/json"
        assert first["generationConfig"]["responseJsonSchema"]["required"] == ["name", "age"]
        assert second["contents"][1]["role"] == "model"


# -- laws ---------------------------------------------------------------------------------------

REFUSED = (SpecError, UnsupportedSchemaError, UnsatisfiableSchemaError, BudgetError)
SLOW = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@SLOW
@given(schema=schemas(), seed=st.integers(0, 2**32), name=st.sampled_from([None, *DIALECTS]))
def test_whatever_is_returned_is_valid(schema: Any, seed: int, name: str | None) -> None:
    """And whatever is valid is returned, however it is wrapped (by the jsonschema library)."""
    rng = Random(seed)
    value = near_value(schema, rng)
    values = [mutated(value, rng), any_value(rng), {"value": value}, value]
    texts = [json.dumps(value) for value in values]
    script = Script(*[rng.choice([text, f"So: {text}", f"```\n{text}\n```"]) for text in texts])
    try:
        found = sg.ask(script, "What?", schema, provider=name, attempts=len(texts))
    except NoAnswerError:
        found = None
    except REFUSED:
        assume(False)
    if found is not None:
        assert valid(schema, found.value)
        assert found.value == json.loads(found.text)
    elif name is None and not (script.answers[-1].startswith("So") and is_scalar(value)):
        assert not valid(schema, value)


def is_scalar(value: Any) -> bool:
    """Whether a value is not looked for in prose."""
    return not isinstance(value, dict | list)


@SLOW
@given(schema=schemas(), seed=st.integers(0, 2**32), name=st.sampled_from(sorted(DIALECTS)))
def test_what_fits_a_schema_that_loses_nothing_fits_the_original(
    schema: Any, seed: int, name: str
) -> None:
    """An answer in a dialect, read back, is valid where no loss is "looser"."""
    rng = Random(seed)
    try:
        found = export(schema, name)
    except REFUSED:
        assume(False)
    assume(all(loss.effect != "looser" for loss in found.losses))
    dialect_schema = as_json_schema(found.schema)
    for _ in range(8):
        value = near_value(dialect_schema, rng)
        if valid(dialect_schema, value):
            texts = list(readings(json.dumps(value), found))
            assert any(valid(schema, json.loads(text)) for text in texts), (value, texts)
