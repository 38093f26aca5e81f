"""Structural tags mean what XGrammar's documentation says, and what is not known has its place."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest

from structgen.errors import SpecError
from structgen.integrations.structural_tags import structural_tag

ANY = {"type": "any_text"}
DIGIT = {"type": "regex", "pattern": "[0-9]"}


def text_of(value: str) -> dict[str, Any]:
    """A format that is one text."""
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Any, end: Any) -> dict[str, Any]:
    """A tag."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


CALL = tag("<f=1>", text_of("1"), "</f>")
# A format, with texts that fit it and texts that don't.
FORMATS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "sequence": (
        {
            "type": "sequence",
            "elements": [
                text_of("a:"),
                {"type": "json_schema", "json_schema": {"type": "boolean"}},
            ],
        },
        ["a:true"],
        ["true", "a:1", "a:"],
    ),
    "or": (
        {"type": "or", "elements": [DIGIT, {"type": "grammar", "grammar": 'root ::= "c" root?'}]},
        ["3", "ccc"],
        ["3c", ""],
    ),
    "Lark": (
        {"type": "grammar", "grammar": 'start: "a" start "b" | "c"', "syntax": "lark"},
        ["c", "aacbb"],
        ["acbb", ""],
    ),
    "tag and optional": (
        {
            "type": "sequence",
            "elements": [tag("<t>", ANY, "</t>"), {"type": "optional", "content": text_of("!")}],
        },
        ["<t>any < text</t>", "<t></t>!"],
        ["<t>", "<t></t>!!"],
    ),
    "two ends": (
        tag("<t>", ANY, ["</t>", "</u>"]),
        ["<t>a</t>", "<t>a</u>"],
        ["<t>a", "<t>a</u></t>"],
    ),
    "two ends of a format": (tag("<", DIGIT, [">", "]"]), ["<1>", "<1]"], ["<1", "<12>"]),
    "tokens by text": (
        tag({"type": "token", "token": "<|a|>"}, DIGIT, {"type": "token", "token": "<|b|>"}),
        ["<|a|>1<|b|>"],
        ["<|a|>1"],
    ),
    "excludes": (
        {"type": "sequence", "elements": [{**ANY, "excludes": ["x"]}, text_of("x")]},
        ["x", "ax"],
        ["axx", "a"],
    ),
    "max_chars": ({**ANY, "max_chars": 3}, ["", "\u00e4\u00f6\u00fc"], ["abcd"]),
    "plus": ({"type": "plus", "content": DIGIT}, ["1", "12"], ["", "1a"]),
    "star": ({"type": "star", "content": tag("<", DIGIT, ">")}, ["", "<1><2>"], ["<1", "<1>2"]),
    "repeat": ({"type": "repeat", "min": 1, "max": 2, "content": DIGIT}, ["1", "12"], ["", "123"]),
    "repeat without end": (
        {"type": "repeat", "min": 2, "max": -1, "content": DIGIT},
        ["12", "12345"],
        ["1"],
    ),
    "triggered_tags": (
        {"type": "triggered_tags", "triggers": ["<f"], "tags": [CALL]},
        ["", "so: <f=1>1</f> and <f=1>1</f>"],
        ["<f", "<f=2>"],
    ),
    "at least one begins the text": (
        {"type": "triggered_tags", "triggers": ["<f"], "at_least_one": True, "tags": [CALL]},
        ["<f=1>1</f>", "<f=1>1</f> and <f=1>1</f>."],
        ["", "so: <f=1>1</f>"],
    ),
    "only the first": (
        {"type": "triggered_tags", "triggers": ["<f"], "stop_after_first": True, "tags": [CALL]},
        ["", "no", "so: <f=1>1</f>"],
        ["<f=1>1</f> more"],
    ),
    "one and no more": (
        {
            "type": "triggered_tags",
            "triggers": ["<f"],
            "at_least_one": True,
            "stop_after_first": True,
            "tags": [CALL],
        },
        ["<f=1>1</f>"],
        ["so: <f=1>1</f>", "<f=1>1</f> more", ""],
    ),
    "triggers that are tokens": (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": ["<|f|>"],
            "exclude_tokens": ["<|e|>"],
            "tags": [tag({"type": "token", "token": "<|f|>"}, DIGIT, ";")],
        },
        ["a<|f|>1;b", ""],
        ["a<|f|>b", "a<|e|>"],
    ),
    "tags in a tag": (
        tag("<t>", {"type": "triggered_tags", "triggers": ["<f"], "tags": [CALL]}, "</t>"),
        ["<t></t>", "<t>a<f=1>1</f>b</t>"],
        ["<t>a", "<t>a<f=2>1</f>b</t>"],
    ),
    "tags_with_separator": (
        {"type": "tags_with_separator", "separator": ",", "tags": [tag("[", DIGIT, "]")]},
        ["[1]", "[1],[2]", ""],
        ["[1][2]", "[1],"],
    ),
    "dispatch": (
        {
            "type": "dispatch",
            "rules": [["<f", DIGIT], ["<g", text_of("x")]],
            "excludes": ["END"],
        },
        ["", "a<f1b", "<f1<gx"],
        ["<f", "<fx", "a END", "a<f1 END"],
    ),
    "dispatch once": (
        {"type": "dispatch", "loop": False, "rules": [["<f", DIGIT]]},
        ["", "abc", "a<f1"],
        ["a<f1b"],
    ),
}


def fits(given: dict[str, Any], text: str) -> bool:
    """Whether a text fits a format."""
    automaton = structural_tag({"type": "structural_tag", "format": given}).automaton()
    at, _ = automaton.run(automaton.start, text.encode())
    return at >= 0 and automaton.is_accepting(at)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_the_texts_that_it_says(name: str) -> None:
    """And no others."""
    given, good, bad = FORMATS[name]
    assert [text for text in good + bad if fits(given, text)] == good


@pytest.mark.parametrize("name", FORMATS)
def test_xgrammar_finds_the_same_texts(name: str) -> None:
    """Where it is installed; tokens are no text for it."""
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    given, good, bad = FORMATS[name]
    if "token" in json.dumps(given):
        pytest.skip("a token needs a vocabulary there")
    if "syntax" in given and importlib.metadata.version("xgrammar") < "0.2.9":
        pytest.skip("this release of xgrammar has no Lark in structural tags")
    text = json.dumps({"type": "structural_tag", "format": given})
    grammar = xgrammar.Grammar.from_structural_tag(text)
    accepts = testing._is_grammar_accept_string
    assert [text for text in good + bad if accepts(grammar, text)] == good


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"type": "sequence", "elements": [{"type": "spell"}]}, "/format/elements/0/type"),
        ({"type": "tag", "begin": "a", "content": ANY}, "/format/end"),
        ({"type": "json_schema", "json_schema": {}, "style": "glm_xml"}, "/format/style"),
        ({"type": "json_schema", "json_schema": {}, "excludes": ["x"]}, "/format/excludes"),
        ({"type": "grammar", "grammar": "a", "syntax": "yacc"}, "/format/syntax"),
        ({**ANY, "max_tokens": 5}, "/format/max_tokens"),
        ({**ANY, "max_chars": 5, "excludes": ["a"]}, "/format/max_chars"),
        ({**ANY, "max_chars": True}, "/format/max_chars"),
        ({**ANY, "excludes": [1]}, "/format/excludes/0"),
        ({**ANY, "excluded": ["a"]}, "/format/excluded"),
        (tag("a", {**ANY, "limit": 1}, "b"), "/format/content/limit"),
        (tag({"type": "token", "token": 5}, DIGIT, "b"), "/format/begin/token"),
        ({"type": "dispatch", "rules": [["a"]]}, "/format/rules/0"),
        ({"type": "dispatch", "rules": [["a", {"type": "x"}]]}, "/format/rules/0/1/type"),
    ],
)
def test_what_is_not_known_is_named(given: dict[str, Any], place: str) -> None:
    """With its place as a JSON Pointer."""
    with pytest.raises(SpecError) as caught:
        structural_tag({"type": "structural_tag", "format": given})
    assert caught.value.location == place


def test_options_of_json() -> None:
    """The order of keys and white space, as a format has them or the host says."""
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 2}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    given = {"type": "json_schema", "json_schema": schema}
    assert not fits(given, '{"b":2,"a":1}')
    assert fits({**given, "any_order": True}, '{"b":2,"a":1}')
    assert fits({**given, "max_whitespace_cnt": 3}, '{   "a":1,"b":2}')
    assert not fits({**given, "max_whitespace_cnt": 3}, '{    "a":1,"b":2}')
    compact = structural_tag({"format": given}, whitespace="compact").automaton()
    assert compact.run(compact.start, b'{"a": ')[0] < 0
