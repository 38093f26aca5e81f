"""In every call format each call parses, names a tool, and fits its parameters."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
from collections.abc import Callable
from random import Random
from typing import Annotated, Any

import jsonschema
import pytest

import structgen as sg
from structgen.compose.sequences import sequence
from structgen.compose.tags import Tag
from structgen.compose.tools.call_formats import FORMATS, CallFormat
from structgen.compose.tools.parameters import parameters
from structgen.compose.tools.tools import ToolCall, Tools, tools
from structgen.errors import PatternError, SpecError, UnsupportedSchemaError, ValidationError
from tests.helpers import laws

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
CALLS = 10_000 if os.environ.get("STRUCTGEN_THOROUGH") else 230

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a day.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
            },
            "required": ["city", "unit"],
        },
    },
}
ADD: dict[str, Any] = {
    "name": "add",
    "input_schema": {
        "type": "object",
        "properties": {
            "terms": {"type": "array", "items": {"$ref": "#/$defs/term"}, "maxItems": 2},
            "exact": {"type": "boolean"},
        },
        "required": ["terms"],
        "additionalProperties": False,
        "$defs": {"term": {"type": "number", "minimum": 0, "multipleOf": 0.5}},
    },
}
NOW = {"name": "clock.now", "inputSchema": {"type": "object", "properties": {}}}
ALL = [WEATHER, ADD, NOW]
SCHEMAS = {"get_weather": WEATHER["function"]["parameters"], "add": ADD["input_schema"],
           "clock.now": {"type": "object", "maxProperties": 0}}  # fmt: skip


def vocabulary(style: CallFormat, rng: Random) -> sg.Vocabulary:
    """Single bytes, pieces of the format cut anywhere, and what it has in pointed brackets."""
    sample = f"{style.open}{style.call}{style.between or ''}{style.call}{style.close}"
    texts = [sample, json.dumps({"city": "x", "unit": "kelvin", "terms": [0.5, 1]}), "get_weather"]
    tokens = [bytes((byte,)) for byte in range(256)]
    for _ in range(200):
        data = rng.choice(texts).encode()
        at = rng.randrange(len(data))
        tokens.append(data[at : at + rng.randint(2, 12)])
    special = sorted(set(re.findall(r"<[|｜][^>]*>|\[[A-Z_]+\]", sample)))
    ends = len(tokens)
    return sg.Vocabulary(
        [*tokens, b"</s>", *(text.encode() for text in special)],
        eos_ids=[ends],
        special_ids=range(ends + 1, ends + 1 + len(special)),
    )


def written(c: sg.Constraint, rng: Random, steps: int) -> str:
    """Some random allowed tokens, then the shortest way to an end."""
    text, state = laws.walk(c, rng, steps)[-1]
    return (text + c.shortest_completion(state)).decode(errors="replace")


def fits(call: ToolCall) -> bool:
    """Whether a call names a tool and its arguments are valid, by jsonschema."""
    return bool(jsonschema.Draft202012Validator(SCHEMAS[call.name]).is_valid(call.arguments))


@pytest.mark.parametrize("style", FORMATS.values(), ids=lambda style: style.name)
def test_every_random_call_names_a_tool_and_fits_it(style: CallFormat) -> None:
    """A uniform model writes calls in every format; each parses, none is stuck."""
    spec = tools(ALL, style, at_least=1, text="none")
    rng = Random(style.name)
    c = sg.compile(spec, vocabulary(style, rng))
    found: list[ToolCall] = []
    while len(found) < CALLS / len(FORMATS):
        text = written(c, rng, 40)
        calls = spec.parse(text)
        assert calls
        found += calls
    assert all(map(fits, found))
    assert len({call.name for call in found}) > 1


@pytest.mark.parametrize("style", FORMATS.values(), ids=lambda style: style.name)
def test_every_mask_is_what_advancing_allows(style: CallFormat) -> None:
    """In text, at special tokens, in names, arguments and ends."""
    rng = Random(3)
    c = sg.compile(tools(ALL, style), vocabulary(style, rng))
    for seed in range(3):
        _, state = laws.walk(c, Random(seed), rng.randint(0, 30))[-1]
        laws.mask_is_advance(c, state)
        laws.goes_on(c, state)


EXAMPLES = {
    "hermes": '<tool_call>\n{"name": "add", "arguments": {"terms": [1.5]}}\n</tool_call>',
    "llama3_python_tag": '<|python_tag|>{"name": "add", "parameters": {"terms": [1.5]}}',
    "llama3_function": '<function=add>{"terms": [1.5]}</function>',
    "mistral_v3": '[TOOL_CALLS] [{"name": "add", "arguments": {"terms": [1.5]}}]',
    "mistral_v11": '[TOOL_CALLS]add[ARGS]{"terms": [1.5]}',
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
    '{"terms": [1.5]}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0"
    '<|tool_call_argument_begin|>{"terms": [1.5]}<|tool_call_end|><|tool_calls_section_end|>',
    "granite_3_1": '<tool_call>[{"name": "add", "arguments": {"terms": [1.5]}}]',
    "phi4_mini": '<|tool_call|>[{"name": "add", "arguments": {"terms": [1.5]}}]<|/tool_call|>',
    "command_r": '<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", '
    '"tool_name": "add", "parameters": {"terms": [1.5]}}\n]<|END_ACTION|>',
    "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.add <|constrain|>json<|message|>{"terms": [1.5]}',
    "functionary_v3_2": 'add\n{"terms": [1.5]}',
    "qwen3_coder": "<tool_call>\n<function=add>\n<parameter=terms>\n[1.5]\n</parameter>\n"
    "</function>\n</tool_call>",
    "glm_4_5": "<tool_call>add\n<arg_key>terms</arg_key>\n<arg_value>[1.5]</arg_value>\n"
    "</tool_call>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="add">\n<parameter name="terms">[1.5]'
    "</parameter>\n</invoke>\n</minimax:tool_call>",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_calls_are_read_as_templates_write_them(name: str) -> None:
    """One call as the chat template has it."""
    spec = tools(ALL, name)
    sg.check(spec, EXAMPLES[name])
    assert spec.parse(EXAMPLES[name]) == [ToolCall("add", {"terms": [1.5]})]


def test_text_none_one_or_many_calls() -> None:
    """Text around calls stays text; none, one and several calls are read in their order."""
    spec = tools(ALL)
    call = EXAMPLES["hermes"]
    add = ToolCall("add", {"terms": [1.5]})
    assert spec.pieces("just text < more") == ["just text < more"]
    assert spec.pieces(f"I add: {call}\n{call} done") == ["I add: ", add, "\n", add, " done"]
    assert spec.parse("no call") == []
    with pytest.raises(ValidationError):
        spec.parse('<tool_call>\n{"name": "subtract"')


@pytest.mark.parametrize(("name", "text"), [("hermes", "{0}\n{0}"), ("hermes", "{0}{0}")])
def test_how_many_calls_may_come(name: str, text: str) -> None:
    """At least and at most, wherever the text stands."""
    call = EXAMPLES[name]
    two = text.format(call)
    sg.check(tools(ALL, name, at_least=2, at_most=2), two)
    for spec in (tools(ALL, name, at_most=1), tools(ALL, name, at_least=3)):
        with pytest.raises(ValidationError):
            sg.check(spec, two)
    sg.check(tools(ALL, name, text="before"), f"So: {call}\n{call}")
    for wrong in (f"{call} so", f"{call}{call}"):
        with pytest.raises(ValidationError):
            sg.check(tools(ALL, name, text="before"), wrong)
    with pytest.raises(ValidationError):
        sg.check(tools(ALL, name, text="none"), f"So: {call}")


def test_several_calls_stand_in_one_block() -> None:
    """Parallel calls in a JSON array; counted inside it."""
    add, now = (
        '{"name": "add", "arguments": {"terms": []}}',
        '{"name": "clock.now", "arguments": {}}',
    )
    block = f"[TOOL_CALLS][{add}, {now}]"
    spec = tools(ALL, "mistral_nemo")
    assert spec.parse("Well. " + block) == [
        ToolCall("add", {"terms": []}),
        ToolCall("clock.now", {}),
    ]
    sg.check(tools(ALL, "mistral_nemo", at_least=2), block)
    with pytest.raises(ValidationError):
        sg.check(tools(ALL, "mistral_nemo", at_most=1), block)


def test_answers_that_are_set_apart() -> None:
    """Where text to the user has a frame of its own, it comes instead of calls."""
    spec = tools(ALL, "harmony")
    final = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi"
    assert spec.pieces(final) == ["Hi"]
    assert spec.parse(final) == []
    with pytest.raises(ValidationError):
        sg.check(tools(ALL, "harmony", at_least=1), final)


def test_arguments_written_one_by_one() -> None:
    """Texts stand bare, other values as JSON, optional ones may be missing, order is kept."""
    spec = tools(ALL, "qwen3_coder")
    text = (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn <b>\n</parameter>\n"
        "<parameter=unit>\nkelvin\n</parameter>\n{0}</function>\n</tool_call>"
    )
    days = "<parameter=days>\n3\n</parameter>\n"
    wanted = {"city": "Bonn <b>", "unit": "kelvin"}
    assert spec.parse(text.format("")) == [ToolCall("get_weather", wanted)]
    assert spec.parse(text.format(days)) == [ToolCall("get_weather", {**wanted, "days": 3})]
    for wrong in (text.format(days + days), text.format("").replace("kelvin", "rankine")):
        with pytest.raises(ValidationError):
            spec.parse(wrong)


def test_reasoning_comes_before_calls() -> None:
    """A section of thought in front of everything."""
    spec = sequence(Tag("<think>", None, "</think>"), tools(ALL))
    found = spec.parse(f"<think>hm <tool_call> no</think>So {EXAMPLES['hermes']}")
    assert found == ["hm <tool_call> no", [ToolCall("add", {"terms": [1.5]})]]


def test_the_mask_in_arguments_is_that_of_the_schema() -> None:
    """Inside the arguments of a tool the mask is the schema's own, ends apart."""
    rng = Random(1)
    vocab = vocabulary(FORMATS["hermes"], rng)
    schema = tools([ADD]).tools[0].schema
    alone, call = sg.compile(schema, vocab), sg.compile(tools([ADD]), vocab)
    prefix = b'<tool_call>\n{"name": "add", "arguments": '
    for text in (b"", b"{", b'{"terms": [0.5', b'{"terms": [1', b'{"terms": [1], "exact": tr'):
        inside = laws.mask_of(alone, alone.advance_bytes(alone.start, text))
        assert inside <= laws.mask_of(call, call.advance_bytes(call.start, prefix + text))
    closing = call.advance_bytes(call.start, prefix + b'{"terms": []')
    token = next(t for t in vocab.text_ids.tolist() if vocab.token_bytes(t) == b"}")
    assert call.forced_bytes(call.advance(closing, token)) == b"}\n</tool_call>"


# -- Python functions -----------------------------------------------------------------------------


class Unit(enum.Enum):
    """A unit of temperature."""

    CELSIUS = "celsius"
    KELVIN = "kelvin"


@dataclasses.dataclass
class Place:
    """Where it is."""

    city: str
    height: float = 0.0


def forecast(
    place: Place, unit: Unit = Unit.CELSIUS, *, days: Annotated[int, "in days"] = 1
) -> str:
    """The weather to come.

    Args:
        place: where to look
        days (int): how far ahead
    """
    return f"{place.city} {unit.name} {days}"


def test_functions_are_tools() -> None:
    """The signature says what may be passed, the docstring what it means; values have the types."""
    spec = tools([forecast])
    [about] = spec.definitions
    assert about["function"]["name"] == "forecast"
    assert about["function"]["description"] == "The weather to come."
    properties = about["function"]["parameters"]["properties"]
    assert properties["place"]["description"] == "where to look"
    assert properties["days"]["description"] == "how far ahead"
    passed = '{"place": {"city": "Oslo"}, "unit": "kelvin"}'
    call = f'<tool_call>\n{{"name": "forecast", "arguments": {passed}}}\n</tool_call>'
    [found] = spec.parse(call)
    assert found.arguments == {"place": Place("Oslo"), "unit": Unit.KELVIN, "days": 1}
    assert forecast(**found.arguments) == "Oslo KELVIN 1"
    with pytest.raises(ValidationError):
        spec.parse(call.replace("kelvin", "rankine"))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_there_may_be_no_calls(name: str) -> None:
    """With at_most=0 a text that no call can be in, in every format; or no text at all."""
    free, quiet = tools(ALL, name), tools(ALL, name, at_most=0)
    answer = FORMATS[name].answer or ""
    text = f"{answer}no calls" if free.text != "none" or answer else ""
    sg.check(quiet, text)
    assert quiet.parse(text) == []
    call = f"{FORMATS[name].open}{FORMATS[name].call.partition('$')[0]}"
    automaton = quiet.automaton()
    for beginning in (call, f"well {call}"):
        assert automaton.run(automaton.start, beginning.encode())[0] < 0 or not call
    with pytest.raises(SpecError, match="at_most"):
        tools(ALL, name, at_least=1, at_most=0)


def test_defaults_are_not_shared() -> None:
    """Functions may have defaults that can be changed."""

    def tag(names: list[str], seen: list[str] = []) -> None:  # noqa: B006 - the point of the test
        """Tag."""

    spec = tools([tag])
    [found] = spec.parse('<tool_call>\n{"name": "tag", "arguments": {"names": []}}\n</tool_call>')
    assert found.arguments == {"names": [], "seen": []}


# -- definitions ----------------------------------------------------------------------------------


def unknown(value: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """Annotated with a name that is nowhere."""


def gathers(*values: int) -> None:
    """Takes what a call by names cannot pass."""


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ([], ""),
        ("get_weather", ""),
        ([3], "/0"),
        ([{"type": "web_search_20250305"}], "/0"),
        ([{"name": "a b"}], "/0/name"),
        ([NOW, {"function": {"name": ""}}], "/1/function/name"),
        ([{"name": "a", "parameters": {"type": "array"}}], "/0/parameters"),
        ([{"name": "a", "parameters": {}, "input_schema": {}}], "/0"),
        ([NOW, NOW], "/1/name"),
        ([unknown], "/0"),
        ([gathers], "/0"),
        ([Unit], "/0"),
    ],
)
def test_broken_definitions_are_named(broken: Any, place: str) -> None:
    """The place in the list of tools is in the error."""
    with pytest.raises(SpecError) as refused:
        tools(broken)
    assert refused.value.location == place


def test_a_broken_schema_is_named_by_its_tool() -> None:
    """Compiling says in which call the schema stands."""
    spec = tools([{"name": "a", "parameters": {"properties": {"x": {"type": "nil"}}}}])
    with pytest.raises(SpecError) as refused:
        spec.automaton()
    assert '"a"' in refused.value.location
    assert "/properties/x/type" in refused.value.location


# A parameter, with texts that it may be written as, their values, and texts that do not fit.
WRITTEN: list[tuple[Any, dict[str, Any], list[str]]] = [
    ({"type": "string"}, {"a<b": "a<b", '"a"': '"a"', "": ""}, []),
    ({"type": "string", "minLength": 2, "maxLength": 3}, {"\u00e4bc": "\u00e4bc"}, ["a", "abcd"]),
    ({"type": "string", "pattern": "^a+$"}, {"aa": "aa"}, ["ab", "", "a\n"]),
    ({"type": "string", "pattern": "[0-9]", "maxLength": 2}, {"a1": "a1"}, ["ab", "ab1"]),
    ({"enum": ["a", "b", 1]}, {"a": "a", "1": 1}, ['"a"', "c"]),
    ({"const": "a"}, {"a": "a"}, ["b", '"a"']),
    ({"const": 2}, {"2": 2}, ["a"]),
    ({"type": ["string", "null"]}, {"null": None, "nul": "nul", "a": "a"}, []),
    (
        {"type": ["string", "integer"], "maxLength": 1, "minimum": 10},
        {"12": 12, "a": "a", "9": "9"}, ["ab"],
    ),
    (
        {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]},
        {"null": None, "a": "a"}, ["ab"],
    ),
    ({"type": "integer", "minimum": 3}, {"3": 3}, ["2", "a"]),
    (True, {'"a"': "a", "[1]": [1]}, ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), WRITTEN)
def test_texts_are_written_as_they_are_and_other_values_as_json(
    schema: Any, good: dict[str, Any], bad: list[str]
) -> None:
    """Where arguments stand one by one: with length and pattern, and beside other types."""
    found = parameters({"properties": {"x": schema}}, "<x $KEY>$VALUE</x>", "")
    for text, value in good.items():
        assert found.parse(f"<x x>{text}</x>") == {"x": value}
    for text in bad:
        with pytest.raises(ValidationError):
            found.parse(f"<x x>{text}</x>")


@pytest.mark.parametrize(
    "broken",
    [
        {"minLength": "a"},
        {"maxLength": -1},
        {"maxLength": True},
        {"pattern": 1},
        {"pattern": "a)(b"},
    ],
)
def test_broken_keywords_of_texts_are_refused(broken: dict[str, Any]) -> None:
    """Before anything is put around them."""
    with pytest.raises((SpecError, PatternError)):
        parameters({"properties": {"x": {"type": "string", **broken}}}, "<x $KEY>$VALUE</x>", "")


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"anyOf": [{}]}, "anyOf"),
        ({"properties": {"x": {"type": "string", "format": "date"}}}, "format"),
        ({"properties": {"x": {"type": ["string", "null"], "not": {"const": "a"}}}}, "not"),
        ({"properties": {"x": {"enum": ["a", "b"], "maxLength": 3}}}, "maxLength"),
    ],
)
def test_what_parameters_cannot_show_is_refused(schema: dict[str, Any], keyword: str) -> None:
    """Keywords that cannot be enforced without a JSON object are refused by name."""
    with pytest.raises(UnsupportedSchemaError) as refused:
        tools([{"name": "a", "parameters": schema}], "qwen3_coder").automaton()
    assert refused.value.keyword == keyword


@pytest.mark.parametrize(
    "make",
    [
        lambda: tools(ALL, "json_array", text="around"),
        lambda: tools(ALL, "harmony", at_least=2),
        lambda: tools(ALL, "no_such"),
        lambda: tools(ALL, text="inside"),
    ],
)
def test_options_that_do_not_go_together_are_refused(make: Callable[[], Any]) -> None:
    """Formats without a trigger, with a single call, and unknown ones."""
    with pytest.raises(SpecError):
        make()


def test_extra_arguments_are_not_written_unless_allowed() -> None:
    """A definition that does not say so takes no other arguments; one that says so does."""
    text = '<tool_call>\n{{"name": "a", "arguments": {}}}\n</tool_call>'
    extra = text.format('{"y": 1}')
    properties = {"x": {"type": "integer"}}
    with pytest.raises(ValidationError):
        sg.check(tools([{"name": "a", "parameters": {"properties": properties}}]), extra)
    opened = {"properties": properties, "additionalProperties": True}
    sg.check(tools([{"name": "a", "parameters": opened}]), extra)


def test_a_saved_spec_is_the_same(tmp_path: Any) -> None:
    """Tools, also those of functions, go to a file and come back with the same masks."""
    rng = Random(2)
    vocab = vocabulary(FORMATS["command_r"], rng)
    c = sg.compile(tools([*ALL, forecast], "command_r"), vocab)
    for seed in range(4):
        laws.walk(c, Random(seed), 30)
    c.save(tmp_path / "tools")
    loaded = sg.load(tmp_path / "tools", vocab)
    assert isinstance(loaded.spec, Tools)
    for seed in range(4):
        laws.same_behaviour(c, loaded, Random(seed), 30)
