"""Each field that constrains a text does so, and what is unknown, broken or double is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.server.conftest import PERSON, Serving, ask

AGE: dict[str, Any] = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
    "additionalProperties": False,
}
LARK = 'start: "x=" NUMBER\nNUMBER: /[0-9]+/'
GBNF = 'root ::= "y=" [0-9]+'
TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<age>", "schema": {"type": "integer"}, "end": "</age>"}],
    "triggers": ["<age"],
}
DIGIT = {"type": "regex", "pattern": "[0-9]"}
NESTED = {
    "type": "structural_tag",
    "format": {
        "type": "or",
        "elements": [
            {
                "type": "repeat",
                "min": 1,
                "max": 3,
                "content": {"type": "tag", "begin": "<", "content": DIGIT, "end": ">"},
            },
            {"type": "const_string", "value": "-"},
        ],
    },
}


def is_json(text: str) -> bool:
    """An object with an age."""
    return set(json.loads(text)) == {"age"}


def matches(pattern: str) -> Any:
    """Whether a text matches from end to end."""
    return re.compile(pattern).fullmatch


FIELDS: dict[str, tuple[dict[str, Any], Any]] = {
    "json_schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": AGE}}},
        is_json,
    ),
    "json_schema of llama.cpp": (
        {"response_format": {"type": "json_schema", "schema": AGE}},
        is_json,
    ),
    "json_object with a schema": (
        {"response_format": {"type": "json_object", "schema": AGE}},
        is_json,
    ),
    "json_object": (
        {"response_format": {"type": "json_object"}},
        lambda text: isinstance(json.loads(text), dict),
    ),
    "structured_outputs.json": ({"structured_outputs": {"json": AGE}}, is_json),
    "structured_outputs.json, text": (
        {"structured_outputs": {"json": json.dumps(AGE)}},
        is_json,
    ),
    "structured_outputs.json_object": (
        {"structured_outputs": {"json_object": True}},
        lambda text: isinstance(json.loads(text), dict),
    ),
    "structured_outputs.regex": ({"structured_outputs": {"regex": "a+b"}}, matches("a+b")),
    "structured_outputs.choice": ({"structured_outputs": {"choice": ["p", "q"]}}, matches("p|q")),
    "structured_outputs.grammar, Lark": (
        {"structured_outputs": {"grammar": LARK}},
        matches("x=[0-9]+"),
    ),
    "structured_outputs.grammar, GBNF": (
        {"structured_outputs": {"grammar": GBNF}},
        matches("y=[0-9]+"),
    ),
    "structured_outputs.whitespace": (
        {"structured_outputs": {"json": AGE, "disable_any_whitespace": True}},
        matches(r'\{"age":[0-9]+\}'),
    ),
    "guided_json": ({"guided_json": AGE}, is_json),
    "guided_json, compact": (
        {"guided_json": AGE, "guided_whitespace_pattern": ""},
        matches(r'\{"age":[0-9]+\}'),
    ),
    "guided_regex": ({"guided_regex": "c{2,4}"}, matches("c{2,4}")),
    "guided_choice": ({"guided_choice": ["r", "s"]}, matches("r|s")),
    "guided_grammar": ({"guided_grammar": GBNF}, matches("y=[0-9]+")),
    "json_schema field": ({"json_schema": AGE}, is_json),
    "grammar field": ({"grammar": GBNF}, matches("y=[0-9]+")),
    "regex field": ({"regex": "d|e"}, matches("d|e")),
    "ebnf field": ({"ebnf": GBNF}, matches("y=[0-9]+")),
    "structural_tag": ({"response_format": TAG}, lambda text: text is not None),
    "structural_tag with a format": ({"response_format": NESTED}, matches("(?:<[0-9]>)+|-")),
    "structured_outputs.structural_tag with a format": (
        {"structured_outputs": {"structural_tag": NESTED}},
        matches("(?:<[0-9]>)+|-"),
    ),
    "structured_outputs.structural_tag": (
        {"structured_outputs": {"structural_tag": json.dumps(TAG)}},
        lambda text: text is not None,
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_constrains_the_text(name: str, client: Any) -> None:
    """Whatever the model would like to write, the text fits; in both endpoints."""
    fields, fits = FIELDS[name]
    common: dict[str, Any] = {"max_tokens": 14, "extra_body": fields, "temperature": 1.5, "seed": 2}
    found = ask(client, **common)
    assert fits(found.choices[0].message.content)
    assert found.structgen["enforced"] == "full"
    plain = client.completions.create(model="demo", prompt="Here is", **common)
    assert fits(plain.choices[0].text)
    assert plain.structgen["spec"] == found.structgen["spec"]


def refused(client: Any, **fields: Any) -> Any:
    """The error with which a request is refused."""
    import openai

    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, **fields)
    return caught.value


UNKNOWN = {
    "guided_jsn": ({"guided_jsn": AGE}, "guided_jsn"),
    "structured_outputs": ({"structured_outputs": {"jsn": AGE}}, "structured_outputs.jsn"),
    "response_format": (
        {"response_format": {"type": "json_object", "strictly": True}},
        "response_format.strictly",
    ),
    "json_schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "shema": {}}}},
        "response_format.json_schema.shema",
    ),
    "grammar_lazy": ({"grammar": GBNF, "grammar_lazy": True}, "grammar_lazy"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_field_is_refused_with_its_place(name: str, client: Any) -> None:
    """It is never ignored, however deep it stands."""
    fields, place = UNKNOWN[name]
    error = refused(client, extra_body=fields)
    assert (error.param, error.code) == (place, "unknown_field")


CONFLICTS = {
    "two fields": ({"guided_regex": "a", "grammar": GBNF}, "grammar"),
    "two in one": ({"structured_outputs": {"regex": "a", "json": AGE}}, "structured_outputs.regex"),
    "format and field": (
        {"response_format": {"type": "json_object"}, "guided_choice": ["a"]},
        "guided_choice",
    ),
    "white space without JSON": (
        {"guided_regex": "a", "guided_whitespace_pattern": " "},
        "guided_whitespace_pattern",
    ),
    "white space alone": ({"guided_whitespace_pattern": " "}, "guided_whitespace_pattern"),
    "schema of a text": (
        {"response_format": {"type": "text", "schema": AGE}},
        "response_format.schema",
    ),
    "two schemas": (
        {
            "response_format": {
                "type": "json_schema",
                "schema": AGE,
                "json_schema": {"schema": AGE},
            }
        },
        "response_format.schema",
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicting_fields_are_refused(name: str, client: Any) -> None:
    """Neither overrules the other."""
    fields, place = CONFLICTS[name]
    error = refused(client, extra_body=fields)
    assert (error.param, error.code) == (place, "conflicting_constraints")


BROKEN: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a schema": (
        {"guided_json": {"properties": {"a": {"type": "strin"}}}},
        "guided_json",
        "broken_spec",
        "#/properties/a/type",
    ),
    "no value fits": (
        {"json_schema": {"type": "integer", "minimum": 2, "maximum": 1}},
        "json_schema",
        "unsatisfiable",
        "#",
    ),
    "a grammar": ({"grammar": "root ::= x"}, "grammar", "broken_grammar", "line 1 column 10"),
    "a structural tag": (
        {"response_format": {"type": "structural_tag", "format": {**DIGIT, "flags": "i"}}},
        "response_format",
        "broken_spec",
        "/format/flags",
    ),
    "a schema that is no JSON": (
        {"structured_outputs": {"json": "{"}},
        "structured_outputs.json",
        "broken_spec",
        "line 1 column 2",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_spec_that_does_not_compile_fails_its_own_request(name: str, client: Any) -> None:
    """With the JSON Pointer or the line of the culprit."""
    fields, param, code, location = BROKEN[name]
    error = refused(client, extra_body=fields)
    assert (error.param, error.code, error.body["location"]) == (param, code, location)


def test_a_pattern_is_refused_with_its_position(client: Any) -> None:
    """The offset of what is wrong in it."""
    error = refused(client, extra_body={"regex": "ab(c"})
    assert error.code == "broken_pattern"
    assert isinstance(error.body["position"], int)


OUT_OF_RANGE: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": -1},
    "top_p": {"top_p": 2.0},
    "max_tokens": {"max_tokens": 0},
    "n": {"n": 0},
    "top_k": {"extra_body": {"top_k": -7}},
    "messages": {"messages": []},
}


@pytest.mark.parametrize("param", OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused(param: str, client: Any) -> None:
    """With the name of its field."""
    assert refused(client, **OUT_OF_RANGE[param]).param == param


def test_a_spec_needs_room(client: Any) -> None:
    """A budget within which no text fits is refused before anything is written."""
    error = refused(client, extra_body={"guided_regex": "[a-z]{90}"}, max_tokens=3)
    assert (error.param, error.code) == ("max_tokens", "truncated")


def test_a_prompt_that_is_too_long_is_refused(client: Any) -> None:
    """With the context of the model."""
    error = refused(client, content="word " * 3000)
    assert (error.param, error.code) == ("messages", "model")


def test_what_no_tokenizer_reads_is_refused(serving: Serving) -> None:
    """Half a character in a prompt, or in what is to be written; a token that is not there."""
    import httpx

    bodies = {
        "prompt": b'{"model": "demo", "prompt": "\\ud800"}',
        "guided_choice": b'{"model": "demo", "prompt": "x", "guided_choice": ["\\ud800"]}',
        "logit_bias": b'{"model": "demo", "prompt": "x", "logit_bias": {"99999": 1}}',
    }
    for place, body in bodies.items():
        headers = {"content-type": "application/json"}
        found = httpx.post(f"{serving.url}/completions", content=body, headers=headers)
        assert (found.status_code, found.json()["error"]["param"]) == (400, place)


@pytest.mark.parametrize(("depth", "status"), [(200, 200), (20_000, 400)])
def test_deep_schemas_are_enforced_or_refused(depth: int, status: int, serving: Serving) -> None:
    """None brings the server down."""
    import httpx

    schema = '{"properties":{"a":' * depth + "{}" + "}}" * depth
    body = f'{{"model": "demo", "prompt": "x", "max_tokens": 20, "json_schema": {schema}}}'
    found = httpx.post(
        f"{serving.url}/completions",
        content=body,
        headers={"content-type": "application/json"},
        timeout=60,
    )
    assert found.status_code == status


def test_the_form_of_an_error_is_the_same_everywhere(serving: Serving) -> None:
    """No path, no JSON, no model."""
    import httpx

    found = httpx.get(f"{serving.url}/nothing")
    assert (found.status_code, found.json()["error"]["code"]) == (404, "not_found")
    found = httpx.post(
        f"{serving.url}/chat/completions",
        content=b"{",
        headers={"content-type": "application/json"},
    )
    assert (found.status_code, found.json()["error"]["code"]) == (400, "invalid_json")
    body = {"model": "other", "messages": [{"role": "user", "content": PERSON}]}
    found = httpx.post(f"{serving.url}/chat/completions", json=body)
    assert (found.status_code, found.json()["error"]["code"]) == (404, "model_not_found")


def test_text_completions_have_choices_for_each_prompt(client: Any) -> None:
    """Choices of the first prompt come first; log probabilities belong to the tokens."""
    found = client.completions.create(
        model="demo",
        prompt=["One", "Two"],
        n=2,
        logprobs=2,
        seed=5,
        extra_body={"guided_regex": "[a-c]{4}"},
    )
    assert [choice.index for choice in found.choices] == [0, 1, 2, 3]
    for choice in found.choices:
        assert "".join(choice.logprobs.tokens) == choice.text
        assert len(choice.logprobs.top_logprobs) == len(choice.logprobs.token_logprobs)
    chunks = client.completions.create(
        model="demo",
        prompt="One",
        seed=5,
        stream=True,
        extra_body={"guided_regex": "[a-c]{4}"},
    )
    assert "".join(chunk.choices[0].text for chunk in chunks) == found.choices[0].text
