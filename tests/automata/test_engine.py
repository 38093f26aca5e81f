"""The pushdown engine: positions, completions and tables keep their promises."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.lexer import shortest_paths
from structgen.automata.lexer.shortest_paths import ends
from structgen.automata.pushdown import tables
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.tables import ROWS, with_states
from structgen.errors import BudgetError
from structgen.kernels.build.decorators import interpreted
from structgen.regular import regex
from structgen.schema.objects.matcher import ObjectMatcher
from tests.helpers.oracle import json_decider, texts_over

SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"enum": [1, "x"]}}, "b": {"$ref": "#"}},
    "additionalProperties": {"type": "boolean"},
}
pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]


def engine_of(schema: Any) -> Engine:
    """A fresh engine for the schema's compact texts in any order."""
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    machine = spec.machine()
    return Engine(lambda: machine)


def test_a_run_stops_at_the_first_byte_that_cannot_be_right() -> None:
    """It says DEAD and how many bytes could be read; the start of a text is not an end."""
    engine = engine_of(SCHEMA)
    for text, count in [(b'{"a":[1,2]}', 8), (b"[", 0), (b'{"c":null}', 5), (b'{"c":true}}', 10)]:
        assert engine.run(engine.start, text) == (sg.DEAD, count)
    position, count = engine.run(engine.start, b'{"c":tr')
    assert (position >= 0, count) == (True, 7)
    assert not engine.is_accepting(position)


@given(st.integers(0, 10**6))
def test_reading_in_pieces_gives_the_same_position(seed: int) -> None:
    """Positions are interned: one text, one int, in whatever pieces and however often read."""
    rng = Random(seed)
    text = b'{"b":{"zz":true,"a":["x",1]},"a":[],"zz":false}'
    engine = engine_of(SCHEMA)
    at = rng.randrange(len(text))
    middle, _ = engine.run(engine.start, text[:at])
    whole, _ = engine.run(engine.start, text)
    assert engine.run(middle, text[at:]) == (whole, len(text) - at)
    assert engine.run(engine.start, text)[0] == whole
    assert engine.is_accepting(whole)


def test_small_texts_are_accepted_exactly() -> None:
    """Every text of up to five letters of an alphabet that spells keys, braces and values."""
    schema = {"anyOf": [{"type": "array", "maxItems": 1}, {"type": "object"}, {"const": 11}]}
    decide = json_decider(schema)
    engine = engine_of(schema)
    letters = ["{", "}", "[", "]", '"a"', ":", "1", ","]
    fitting = texts_over(letters, 5, decide)
    for text in texts_over(letters, 5, lambda data: True):
        position, _ = engine.run(engine.start, text)
        assert (position >= 0 and engine.is_accepting(position)) == (text in fitting), text


def test_endings_of_a_lexeme_come_shortest_first_and_can_be_read() -> None:
    """Each path is real, no shorter one was passed over, and each terminal comes once."""
    engine = engine_of({"enum": ["aé", "a", 5, 55, None, [], {}]})
    state = engine.state(engine.start >> 32)
    found = [ending for ending in ends(state, engine.row_of) if ending.terminal is not None]
    sizes = [len(ending.path) for ending in found]
    assert sizes == sorted(sizes)
    assert len({ending.terminal for ending in found}) == len(found)
    assert {ending.path for ending in found} == {b"5", b"[", b"{"}
    for ending in found:
        assert engine.run(engine.start, ending.path)[0] >= 0


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "ipv4"},
        {"type": ["string", "null"], "pattern": "^x{2,4}$|^\\u00e9$", "maxLength": 3},
        {"anyOf": [{"pattern": "^ab*c", "type": "string"}, {"minimum": 12}, {"enum": [[], "q"]}]},
        {"type": "object", "additionalProperties": {"minLength": 2, "type": "string"}},
        {"type": "string", "pattern": '^(\u00e9|\n\n|\u0001|"|\\x7f{3})[\n"x]*$', "minLength": 3},
        {"type": "string", "pattern": "^[\u0001\U0001f600]\\S[^\n -~]", "maxLength": 9},
        {"propertyNames": {"pattern": '^[^ -~]|"', "minLength": 3}, "minProperties": 1},
    ],
)
@pytest.mark.parametrize("alphabet", [range(256), b'"{}:[]nul0123459x.'])
def test_endings_are_as_short_where_languages_are_asked(
    schema: Any, alphabet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each terminal gets a path as short as if all texts were read byte by byte."""

    def lengths() -> dict[Any, int]:
        engine = engine_of(schema)
        state = engine.state(engine.start >> 32)
        sizes, given = dict[Any, int](), 0
        for ending in ends(state, engine.row_of, alphabet):
            size = len(ending.path)
            assert ending.terminal is None or size >= max(given, *sizes.values(), 0)
            given = max(given, size if ending.terminal is None else 0)
            if ending.terminal is not None:
                sizes[ending.terminal] = size
        return sizes

    found = lengths()
    monkeypatch.setattr(shortest_paths, "_only_ending", lambda *_: None)
    assert found == lengths()


@pytest.mark.skipif(interpreted(), reason="takes a minute in plain Python")
def test_words_are_asked_for_no_further_than_the_shortest_way_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each byte that a number may begin with has a language behind it, and some are hard."""
    asked: list[regex.Regex] = []

    def shortest(language: regex.Regex) -> str | None:
        asked.append(language)
        return regex.shortest(language)

    monkeypatch.setattr(shortest_paths, "shortest", shortest)
    schema = {"type": "number", "multipleOf": 1.5, "not": {"multipleOf": 2.25}}
    for changed, found in (
        ({}, b"3"),
        ({"minimum": 31}, b"33"),
        ({"exclusiveMaximum": -30}, b"-33"),
    ):
        engine = engine_of(schema | changed)
        assert engine.completions().shortest(engine.start) == found
    assert 0 < len(asked) < 9


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("least", [0, 3])
def test_completions_write_the_fewest_members(order: str, least: int) -> None:
    """Against the cheapest of all objects over five keys, from before each text that begins one."""
    sizes = {"a": 1, "bb": 3, "c\n": 1, "é": 2, "e": 5}
    schema = {
        "properties": {name: {"const": "x" * size} for name, size in sizes.items()},
        "required": ["bb", "e"],
        "minProperties": least,
        "additionalProperties": False,
        "type": "object",
    }
    spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
    machine = spec.machine()
    engine = Engine(lambda: machine)
    finish = engine.completions()
    orders = list(permutations(sizes)) if order == "any" else [tuple(sizes)]
    texts = set()
    for names in orders:
        for count in range(len(names) + 1):
            for chosen in combinations(names, count):
                if {"bb", "e"} <= set(chosen) and len(chosen) >= least:
                    value = {name: "x" * sizes[name] for name in chosen}
                    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                    texts.add(compact.encode())
    begun = {text[:at] for text in texts for at in (*range(12), len(text) - 3, len(text))}
    for begin in sorted(begun):
        at, _ = engine.run(engine.start, begin)
        fewest = min(len(text) for text in texts if text.startswith(begin)) - len(begin)
        found = finish.shortest(at)
        assert len(found) == fewest, begin
        assert begin + found in texts


def test_completing_many_members_takes_steps_in_proportion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice as many required names are twice as many texts tried, not four times."""
    tried: list[bytes] = []
    run = Engine.run

    def counting(engine: Engine, at: int, text: bytes) -> tuple[int, int]:
        tried.append(text)
        return run(engine, at, text)

    monkeypatch.setattr(Engine, "run", counting)

    def steps(count: int) -> int:
        names = [f"name {i * 7919 % 10007}" for i in range(count)]
        spec = sg.JsonSchema({"type": "object", "properties": dict.fromkeys(names, True),
                              "required": names}, whitespace="compact")  # fmt: skip
        machine = spec.machine()
        engine = Engine(lambda: machine)
        tried.clear()
        found = json.loads(engine.completions().shortest(engine.start))
        assert list(found) == names
        return len(tried)

    assert steps(200) <= 2.2 * steps(100)


def test_a_frame_that_could_not_begin_is_no_model_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was read of an item is asked again, and so are others like it, after an error."""
    item = {"type": "object", "properties": {"a": {"type": "string"}}}
    engine = engine_of({"type": "array", "items": item, "uniqueItems": True})
    at, _ = engine.run(engine.start, b'[{"a":"x')

    def fails(_: Any) -> None:
        raise BudgetError("too much")

    with monkeypatch.context() as patch:
        patch.setattr(engine.machine, "_begin", fails)
        with pytest.raises(BudgetError):
            engine.run(at, b'"')
    for text in (b'"},{"a":"y"}]', b'z"},{"a":"x"}]'):
        position, count = engine.run(at, text)
        assert count == len(text)
        assert engine.is_accepting(position)
    assert engine.run(at, b'"},{"a":"x"}]')[0] == sg.DEAD


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {"minProperties": 3},
        {"minProperties": 3, "additionalProperties": {"const": 10}, "properties": {"a": {}}},
        {"minProperties": 4, "additionalProperties": {"const": 10}, "required": ["bb"],
         "properties": {"a": {}, "bb": {}}},
        {"minProperties": 3, "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]},
        {"minProperties": 3, "maxProperties": 3, "patternProperties": {"^x": {"const": 1}},
         "additionalProperties": {"const": "y"}},
        {"minProperties": 3, "patternProperties": {"^x": {}}, "additionalProperties": False},
        {"minProperties": 3, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"minProperties": 3, "anyOf": [{"additionalProperties": {"const": 1}},
                                       {"maxProperties": 4}]},
        {"properties": {"x": {"const": 1}, "y": {"const": 2}, "zz": {}}, "minProperties": 2,
         "not": {"additionalProperties": {"const": 1}, "properties": {"x": {}, "y": {}}}},
        {"additionalProperties": {"minProperties": 2}, "minProperties": 2},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_keys_told_apart_by_their_kind_alone_change_nothing(
    schema: Any, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may come next is as if all keys were remembered; texts get as short, but for a byte."""
    keys = ["", "x", "y", "a", "bb", "xx", "zz"]
    members = [f'"{key}":{value}' for key in keys for value in ("1", '"y"', '{"":1,"a":1}')]
    times = 2 if interpreted() else 12
    texts = ["{" + ",".join(chosen) + "}" for n in (2, 4) for chosen in _drawn(members, n, times)]

    def found() -> list[tuple[list[int], int]]:
        whole = {"type": "object", **schema}
        spec = sg.JsonSchema(whole, property_order=order, whitespace="compact")
        machine = spec.machine()
        engine = Engine(lambda: machine)
        finish = engine.completions()
        seen: list[tuple[list[int], int]] = []
        for text in texts:
            at = engine.start
            for i in range(len(text)):
                seen.append((engine.next_bytes(at), len(finish.shortest(at))))
                at, _ = engine.run(at, text[i : i + 1].encode())
                if at < 0:
                    break
        return seen

    by_pattern = found()
    monkeypatch.setattr(ObjectMatcher, "depends_on_class_only", False)
    by_text = found()
    assert [following for following, _ in by_pattern] == [following for following, _ in by_text]
    for (_, size), (_, least) in zip(by_pattern, by_text, strict=True):
        assert least <= size <= least + 1


def _drawn(members: list[str], count: int, times: int) -> list[list[str]]:
    """Some of the ways to choose so many members."""
    draw = Random(count)
    return [draw.sample(members, count) for _ in range(times)]


def test_a_completion_compares_keys_with_the_colons_behind_them() -> None:
    """A longer key whose value is shorter is taken where that saves a byte in all."""
    schema = {
        "type": "object",
        "minProperties": 3,
        "patternProperties": {"^x": {"const": 1}},
        "additionalProperties": {"const": "y"},
    }
    engine = engine_of(schema)
    at, _ = engine.run(engine.start, b'{"":"y","x":1,')
    assert engine.completions().shortest(at) == b'"x!":1}'


def test_all_tables_have_room_for_as_many_states() -> None:
    """Kernels take the states for which `filled` has room without asking, so all must have that."""
    tables = engine_of({"type": "string"}).tables
    for count in (ROWS // 2 + 1, ROWS // 2 + ROWS // 4, ROWS - 5, ROWS + 9, 2 * ROWS):
        tables = with_states(tables, count)
        room = len(tables.filled)
        assert room >= count
        for name in ("rows", "accept", "recorded", "guard", "state_info"):
            assert len(getattr(tables, name)) >= room, (count, name)


def test_room_counts_as_memory_where_it_is_used() -> None:
    """A state more costs its row, however many rows there is room for."""
    engine = engine_of({"type": "array", "items": {"enum": ["aa", "bb", "cc"]}})
    row = engine.tables.rows.strides[0]
    engine.make_room(len(engine.tables.filled))  # for twice as many
    before, states = engine.nbytes, engine.states_made
    engine.run(engine.start, b'["aa","cc')
    assert engine.states_made > states
    grown = engine.nbytes - before - row * (engine.states_made - states)
    assert 0 <= grown < row  # spans and stack nodes


def test_what_was_read_is_found_again_however_many_keys_were() -> None:
    """A key has the same stack node when it is read again, and that has captured its letters."""
    engine: Any = sg.JsonSchema({"type": "object"}, whitespace="compact").automaton()
    draw = Random(5)
    keys = ["".join(draw.choices("abcdefgh", k=draw.randrange(1, 9))) for _ in range(20_000)]
    found = {key: engine.run(engine.start, f'{{"{key}'.encode())[0] for key in keys}
    assert engine.size["contexts"] > 4 * tables.CONTEXTS  # of which the tables grew several times
    assert len({at & 0xFFFFFFFF for at in found.values()}) == len(found)
    for key, at in found.items():
        assert engine.run(engine.start, f'{{"{key}'.encode())[0] == at
        assert engine.text(at & 0xFFFFFFFF) == key.encode()


KEY_PIECES = ["a", "/", r"\/", r"\u0061", "\u00e9", r"\u00E9", "\U0001f600", r"\ud83d\ude00", r"\n"]
KEYS = st.lists(st.sampled_from(KEY_PIECES), min_size=1, max_size=3).map("".join)


@given(KEYS, KEYS, st.data())
def test_a_key_matters_while_one_before_it_may_come_of_it(
    known: str, other: str, data: st.DataObject
) -> None:
    """`core` says so; a character or an escape that is incomplete may still be any of its kind."""
    schema = {"type": "object", "additionalProperties": {"type": "boolean"}}
    engine = Engine(sg.JsonSchema(schema, whitespace="compact", escapes="any").machine)
    spelled = other.encode()
    cut = data.draw(st.integers(1, len(spelled)))
    at, _ = engine.run(engine.start, b'{"' + known.encode() + b'":true,"' + spelled[:cut])
    whole = spelled[:cut]
    while True:  # the longest beginning that JSON reads, a character that is cut off included
        try:
            text = json.loads('"' + whole.decode(errors="ignore") + '"')
            if not "\ud800" <= text[-1:] <= "\udfff":  # half of an escaped pair
                break
        except json.JSONDecodeError:
            pass
        whole = whole[:-1]
    rest = whole[len(whole.decode(errors="ignore").encode()) :]
    begun = text.encode() + rest
    assert engine.core(at)[2] == json.loads(f'"{known}"').encode().startswith(begun)


def test_another_string_is_found_behind_a_backslash_too() -> None:
    """Where the shortest one was read before: a quote there is a character."""
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    machine = sg.JsonSchema(schema, property_order="any", whitespace="any").machine()
    engine = Engine(lambda: machine)
    at, _ = engine.run(engine.start, rb'["\"", "\\'[:-1])
    assert engine.completions().shortest(at) == b'/"]'


@pytest.mark.parametrize(
    ("text", "rest"),
    [(b'{"a":0,"', b'c":0}'), (b'{"a":0,', b'"c":0}'), (b'{"a":0,"c":0,"', b'!a":0}')],
)
def test_another_key_is_the_shortest_that_is_left(text: bytes, rest: bytes) -> None:
    """Not the first one that begins with another letter."""
    schema = {"patternProperties": {"a|c": True}, "additionalProperties": False}
    machine = sg.JsonSchema(schema, whitespace="compact").machine()
    engine = Engine(lambda: machine)
    at, _ = engine.run(engine.start, text)
    assert engine.completions().shortest(at) == rest
