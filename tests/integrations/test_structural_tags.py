"""Structural tags mean what XGrammar's documentation says, and what is not known has its place."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import re
from typing import Any

import pytest

import structgen as sg
from structgen.errors import SpecError, UnsupportedSchemaError
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

FIELDS = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"enum": ["x", "y"]},
        "d": {"type": "string", "maxLength": 3},
        "e": {"type": ["string", "null"]},
    },
    "required": ["a"],
}
DSML = "\uff5cDSML\uff5c"
# A style, how it writes a parameter, and a key that says whether a value is text.
STYLES_WRITTEN = {
    "qwen_xml": "<parameter={}>{}</parameter>",
    "minimax_xml": '<parameter name="{}">{}</parameter>',
    "glm_xml": "<arg_key>{}</arg_key><arg_value>{}</arg_value>",
    "deepseek_xml": f'<{DSML}parameter name="{{}}" string="{{}}">{{}}</{DSML}parameter>',
    "deepseek_v4_1_xml": f'<{DSML} parameter name="{{}}" string="{{}}">{{}}</{DSML} parameter>',
}
ARGUMENTS: dict[str, tuple[list[str], list[str]]] = {}
for style, one in STYLES_WRITTEN.items():

    def written(key: str, value: str, text: bool = True, one: str = one) -> str:
        """A parameter."""
        said = [key, str(text).lower(), value] if one.count("{}") == 3 else [key, value]
        return one.format(*said)

    a = written("a", "x < y")
    ARGUMENTS[style] = (
        [
            a,
            a + "\n",
            written("a", "\nx\n") + "\n" + written("b", "1", text=False),
            a + written("b", "\n1\n", text=False) + written("c", "y"),
            a + written("c", "y") + written("d", "abc"),
            a + written("e", "word"),
            a + written("e", "null", text=False),
        ],
        [
            "",
            written("b", "1", text=False),
            a + written("b", "x", text=False),
            a + written("c", "z"),
            a + written("c", '"y"'),
            a + written("d", "abcd"),
            a + written("f", "x"),
            a + "more",
        ],
    )
OPEN: dict[str, Any] = {
    style: {"type": "json_schema", "json_schema": True, "style": style} for style in STYLES_WRITTEN
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


@pytest.mark.parametrize("style", ARGUMENTS)
def test_arguments_are_written_one_by_one(style: str) -> None:
    """In order, texts as they are; a line break may stand around a value and behind each."""
    good, bad = ARGUMENTS[style]
    given = {"type": "json_schema", "json_schema": FIELDS, "style": style}
    assert [text for text in good + bad if fits(given, text)] == good


@pytest.mark.parametrize("style", ARGUMENTS)
def test_a_line_break_around_a_text(style: str) -> None:
    """Belongs to it where a parameter says that it is text."""
    given = {"type": "json_schema", "json_schema": FIELDS, "style": style}
    text = ARGUMENTS[style][0][4].replace(">y<", ">\ny\n<")
    assert fits(given, text) == ("string" not in STYLES_WRITTEN[style])


@pytest.mark.parametrize("style", ARGUMENTS)
def test_xgrammar_accepts_the_same_arguments(style: str) -> None:
    """Where it is installed; it accepts more blanks."""
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    given = {"type": "json_schema", "json_schema": FIELDS, "style": style}
    text = json.dumps({"type": "structural_tag", "format": given})
    grammar = xgrammar.Grammar.from_structural_tag(text)
    good, bad = ARGUMENTS[style]
    accepts = testing._is_grammar_accept_string
    assert [text for text in good + bad if accepts(grammar, text)] == good


@pytest.mark.parametrize("style", OPEN)
def test_arguments_without_a_schema_are_any(style: str) -> None:
    """Of any name and value, as often as one likes."""
    for text in ["", *ARGUMENTS[style][0][:4]]:
        assert fits(OPEN[style], text)
    assert not fits(OPEN[style], "more")
    assert not fits(OPEN[style], ARGUMENTS[style][0][0] + "more")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_all_calls_that_vllm_asks_for_are_read(strict: bool, choice: str) -> None:
    """The structural tag of each model that vLLM knows; its xgrammar accepts what we write."""
    registry = pytest.importorskip("vllm.tool_parsers.structural_tag_registry")
    protocol = pytest.importorskip("vllm.entrypoints.openai.chat_completion.protocol")
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    tool = protocol.ChatCompletionToolsParam(
        function={"name": "look", "parameters": FIELDS, "strict": strict}
    )
    read = 0
    for model in registry.SUPPORTED_STRUCTURAL_TAG_MODELS | {"minimax"}:
        for reasoning in (False, True):
            asked = registry.get_model_structural_tag(model, [tool], choice, reasoning)
            if asked is not None:
                content = asked.model_dump_json()
                automaton = structural_tag(json.loads(content)).automaton()
                text = automaton.completions().shortest(automaton.start)
                grammar = xgrammar.Grammar.from_structural_tag(content)
                assert testing._is_grammar_accept_string(grammar, text.decode())
                read += 1
    assert read > 20 or (choice == "auto" and not strict)


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
        ({"type": "json_schema", "json_schema": {}, "style": "gemma"}, "/format/style"),
        (
            {
                "type": "json_schema",
                "json_schema": {"properties": {"a": {"type": "string", "format": "date"}}},
                "style": "glm_xml",
            },
            "/format/json_schema/properties/a/format",
        ),
        ({"type": "json_schema", "json_schema": {}, "excludes": ["x"]}, "/format/excludes"),
        ({"type": "grammar", "grammar": "a", "syntax": "yacc"}, "/format/syntax"),
        ({**ANY, "max_tokens": 5}, "/format/max_tokens"),
        ({**ANY, "max_chars": 5, "excludes": ["a"]}, "/format/max_chars"),
        ({**ANY, "max_chars": True}, "/format/max_chars"),
        ({**ANY, "excludes": [1]}, "/format/excludes/0"),
        ({**ANY, "excluded": ["a"]}, "/format/excluded"),
        (tag({"type": "regex", "token": "a"}, DIGIT, "b"), "/format/begin/type"),
        ({**FORMATS["only the first"][0], "stop_after_first": "false"}, "/format/stop_after_first"),
        (tag("a", {**ANY, "limit": 1}, "b"), "/format/content/limit"),
        (tag({"type": "token", "token": 0.5}, DIGIT, "b"), "/format/begin/token"),
        ({"type": "any_tokens", "exclude_tokens": ["a"]}, "/format"),
        (
            {
                "type": "triggered_tags",
                "triggers": ["a"],
                "tags": [tag({"type": "token", "token": 5}, DIGIT, "b")],
            },
            "/format/tags/0",
        ),
        ({"type": "dispatch", "rules": [["a"]]}, "/format/rules/0"),
        ({"type": "dispatch", "rules": [["a", {"type": "x"}]]}, "/format/rules/0/1/type"),
    ],
)
def test_what_is_not_known_is_named(given: dict[str, Any], place: str) -> None:
    """With its place as a JSON Pointer."""
    with pytest.raises((SpecError, UnsupportedSchemaError)) as caught:
        structural_tag({"type": "structural_tag", "format": given})
    assert caught.value.location == place


TOKENS = sg.Vocabulary(
    [b"<end>", b"a", b"b", b"ab", b"<think>", b"</think>", b"", b"1"]
    + [bytes((i,)) for i in range(256) if i not in b"ab1"],
    eos_ids=[0],
    special_ids=[0, 4, 5, 6],
)
EDGES = tag({"type": "token", "token": 4}, DIGIT, {"type": "token", "token": 5})
# A format with tokens by number, and a pattern over their numbers, a letter each.
BY_NUMBER: dict[str, tuple[dict[str, Any], str]] = {
    "token": ({"type": "token", "token": 3}, "3"),
    "exclude_token": ({"type": "exclude_token", "exclude_tokens": [3, 4]}, "[12567]"),
    "any_tokens": ({"type": "any_tokens", "exclude_tokens": [3], "max_tokens": 2}, "[124567]{0,2}"),
    "a tag": (EDGES, "475"),
    "triggers": (
        {"type": "token_triggered_tags", "trigger_tokens": [4], "tags": [EDGES]},
        "([123567]|475)*",
    ),
    "at least one": (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [4],
            "exclude_tokens": [1],
            "at_least_one": True,
            "tags": [EDGES],
        },
        "475([23567]|475)*",
    ),
    "the first": (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [4],
            "stop_after_first": True,
            "tags": [EDGES],
        },
        "[123567]*(475)?",
    ),
}


@pytest.mark.parametrize("name", BY_NUMBER)
def test_tokens_by_number(name: str) -> None:
    """All sequences of up to four tokens."""
    given, pattern = BY_NUMBER[name]
    constraint = sg.compile(structural_tag({"format": given}), TOKENS)
    states = {"": constraint.start}
    for length in range(1, 5):
        for tokens in itertools.product("1234567", repeat=length):
            text = "".join(tokens)
            before = states.get(text[:-1], sg.DEAD)
            after = sg.DEAD if before == sg.DEAD else constraint.advance(before, int(text[-1]))
            if after != sg.DEAD:
                states[text] = after
    accepted = {text for text, state in states.items() if constraint.is_accepting(state)}
    every = ("".join(t) for n in range(5) for t in itertools.product("1234567", repeat=n))
    assert accepted == {text for text in every if re.fullmatch(pattern, text)}


@pytest.mark.parametrize("style", STYLES_WRITTEN)
def test_a_value_alone_is_written_as_it_is(style: str) -> None:
    """A text up to the end of its tag, of the length that its schema says; other values as JSON."""
    for schema, good, bad in (
        ({"type": "string"}, ["a<b", ""], []),
        ({"type": "string", "maxLength": 2}, ["a<"], ["abc"]),
        ({"enum": ["a", 1]}, ["a", "1"], ["2", '"a"']),
        ({"type": "integer"}, ["12"], ["a"]),
    ):
        value = {"type": "json_schema", "json_schema": schema, "style": style}
        given = tag("<x>", value, ["</x>", "</y>"])
        assert all(fits(given, f"<x>{text}</y>") for text in good)
        assert not any(fits(given, f"<x>{text}</x>") for text in bad)
        assert not fits(given, f"<x>{good[0]}</x></x>")


def test_the_older_form_counts_its_tags() -> None:
    """SGLang adds `at_least_one` to it."""
    given = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": {"const": 1}, "end": "</f>"}],
        "triggers": ["<f"],
        "at_least_one": True,
    }
    for text, wanted in (("<f>1</f> so", True), ("so <f>1</f>", False), ("", False)):
        automaton = structural_tag(given).automaton()
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == wanted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_all_calls_that_sglang_asks_for_are_read(strict: bool, choice: str) -> None:
    """The structural tag of each of its parsers."""
    parsers = pytest.importorskip("sglang.srt.function_call.function_call_parser")
    protocol = pytest.importorskip("sglang.srt.entrypoints.openai.protocol")
    function = protocol.Function(name="look", parameters=FIELDS, strict=strict)
    tool = protocol.Tool(type="function", function=function)
    read = 0
    for name in parsers.FunctionCallParser.ToolCallParserEnum:
        try:
            parser = parsers.FunctionCallParser([tool], name)
            found = parser.get_structure_constraint(choice)
        except ValueError:  # it needs a model's template, or has no strict calls of free choice
            continue
        if found is not None and found[0] == "structural_tag":
            given = found[1]
            if not isinstance(given, str | dict):
                given = given.model_dump_json(by_alias=True)
            structural_tag(json.loads(given) if isinstance(given, str) else given).automaton()
            read += 1
    assert read > 10 or not strict


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "/structures"),
        ({"structures": [], "triggers": []}, "/structures"),
        ({"type": "json_object", "format": DIGIT}, "/type"),
        ({"format": DIGIT, "triggers": []}, "/triggers"),
        (
            {"structures": [{"begin": "a", "schema": {}, "end": "", "type": "tag"}]},
            "/structures/0/type",
        ),
        ({"structures": [{"begin": "a", "schema": {}, "end": ""}], "triggers": [1]}, "/triggers/0"),
    ],
)
def test_what_is_no_structural_tag_is_refused(given: dict[str, Any], place: str) -> None:
    """One that names no tags is no free text."""
    with pytest.raises(SpecError) as caught:
        structural_tag(given)
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
