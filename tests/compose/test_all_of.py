"""The product of a schema or tags with rules is exact and has no dead ends."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.compose import filters
from structgen.compose.all_of import all_of
from structgen.compose.product import viability
from structgen.compose.sequences import FreeText, any_of, sequence
from structgen.compose.tags import Tag, Tags
from structgen.errors import (
    BudgetError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    ValidationError,
)
from tests.helpers import laws, oracle

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
THOROUGH = bool(os.environ.get("STRUCTGEN_THOROUGH"))

SCHEMAS: list[Any] = [
    {"enum": ["ab", "ba", "aab", "", "bbb", ["a"], ["b", "a"], None]},
    {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    {
        "type": "object",
        "properties": {"a": {"enum": ["a", "b", ["ab"]]}, "b": {"type": "boolean"}},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"const": "b"}, "maxItems": 2}},
        "required": ["a"],
        "additionalProperties": {"enum": ["ab", "a"]},
        "maxProperties": 2,
        "propertyNames": {"enum": ["a", "ab", "b"]},
    },
]
RULES: list[tuple[Any, Any]] = [
    (filters.banned("ab"), lambda t: "ab" not in t),
    (filters.banned('a"', "true"), lambda t: 'a"' not in t and "true" not in t),
    (filters.required("b"), lambda t: "b" in t),
    (filters.required("aab"), lambda t: "aab" in t),
    (filters.required("ab", "false"), lambda t: "ab" in t and "false" in t),
    (filters.length(at_most=9), lambda t: len(t) <= 9),
    (filters.length(at_least=6, at_most=14), lambda t: 6 <= len(t) <= 14),
    (filters.letters(forbidden="["), lambda t: "[" not in t),
]
SPELT = {number: [] for number in range(len(SCHEMAS))}  # type: dict[int, list[bytes]]


def values(schema: Any) -> list[Any]:
    """The values of one of the schemas that are small enough to be listed."""
    parts: list[Any] = ["a", "b", "ab", "ba", "aab", "", "bbb", None, True, False, ["a"], ["ab"]]
    lists: list[Any] = [[]] + [[x] for x in "ab"] + [[x, y] for x in "ab" for y in "ab"]
    lists += [[x, y, z] for x in "ab" for y in "ab" for z in "ab"]
    keys = ["a", "ab", "b"]
    some = ["a", "b", ["ab"], True, False, "ab", [], ["b"], ["b", "b"]]
    objects: list[Any] = [{}] + [{k: v} for k in keys for v in some]
    objects += [{k: v, j: w} for k in keys for v in some for j in keys if j != k for w in some]
    fits = oracle.validator_for(schema).is_valid
    return [value for value in [*parts, *lists, *objects] if fits(value)]


def spelt(number: int) -> list[bytes]:
    """All compact texts of a schema, with all escapes, keys in every order."""
    if not SPELT[number]:
        found = values(SCHEMAS[number])
        SPELT[number] = sorted({text for value in found for text in oracle.spellings(value)})
    return SPELT[number]


@settings(max_examples=200 if THOROUGH else 12)
@given(
    st.integers(0, len(SCHEMAS) - 1),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=2, unique_by=id),
    st.integers(0, 2**32),
)
def test_the_product_is_exactly_what_fits_both(number: int, drawn: list[Any], seed: int) -> None:
    """Masks, ends and completions are those of the written-out language."""
    texts = [t for t in spelt(number) if all(rule(t.decode()) for _, rule in drawn)]
    schema = sg.JsonSchema(
        SCHEMAS[number], whitespace="compact", property_order="any", escapes="any"
    )
    spec = all_of(schema, *(rule for rule, _ in drawn))
    rng = Random(seed)
    tokens = oracle.random_tokens(spelt(number), rng) + [bytes((b,)) for b in range(256)]
    vocab = sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)])
    if not texts:
        with pytest.raises(UnsatisfiableSchemaError):
            sg.compile(spec, vocab)
        return
    c = sg.compile(spec, vocab)
    language = oracle.Finite(frozenset(texts))
    for visit in laws.walk(c, rng, 8):
        laws.agrees_with(c, visit, language)


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("rule", "keeps"),
    [
        (filters.banned("secret", "42"), lambda t: "secret" not in t and "42" not in t),
        (filters.required("Ada", "36"), lambda t: "Ada" in t and "36" in t),
        (filters.length(at_most=25), lambda t: len(t) <= 25),
        (filters.length(at_least=28), lambda t: len(t) >= 28),
        (filters.each_word(filters.length(at_most=4)), None),
    ],
)
def test_schemas_with_free_strings_keep_rules(rule: Any, keeps: Any) -> None:
    """Random walks over unbounded values are never stuck; what they write fits both."""
    rng = Random(8)
    pieces = [b'"na', b"Ada", b"secret", b"36", b'", "', b'"}', b'": ', b"42", "é".encode()[:1]]
    tokens = [bytes((b,)) for b in range(256)] + pieces
    vocab = sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)])
    spec = all_of(PERSON, rule)
    c = sg.compile(spec, vocab)
    decide = oracle.json_decider(PERSON)
    for _ in range(6):
        visits = laws.walk(c, rng, 25)
        laws.goes_on(c, visits[-1][1])
        laws.mask_is_advance(c, visits[len(visits) // 2][1])
        text_out = visits[-1][0] + c.shortest_completion(visits[-1][1])
        assert decide(text_out)
        sg.check(spec, text_out)
        if keeps is not None:
            assert keeps(text_out.decode())


def test_rules_that_exclude_a_schema_are_refused() -> None:
    """A key that must come and may not."""
    with pytest.raises(UnsatisfiableSchemaError):
        all_of(PERSON, filters.banned("secret", "ag")).automaton()


def test_a_word_that_no_value_can_hold_is_a_dead_end_at_once() -> None:
    """Once only a number is left, the required word can no longer come: the name must hold it."""
    spec = all_of(PERSON, filters.required("xy"))
    c = sg.compile(spec, sg.Vocabulary([bytes((b,)) for b in range(256)]))
    state = c.advance_bytes(c.start, b'{"name": "x')
    assert ord('"') not in c.allowed_bytes(state)
    assert ord('"') in c.allowed_bytes(c.advance_bytes(state, b"y"))
    assert c.shortest_completion(state).startswith(b'y"')


def test_recursive_schemas_keep_rules() -> None:
    """Nesting without bound beside a bound on the length."""
    tree = {"type": "array", "items": {"$ref": "#"}}
    spec = all_of(sg.JsonSchema(tree, whitespace="compact"), filters.length(at_most=8))
    automaton = spec.automaton()
    for text, kept in [("[[[[]]]]", True), ("[[[[", True), ("[[[[[", False), ("[[],[],", False)]:
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0) == kept, text


def test_what_takes_too_long_to_tell_is_a_budget_error(monkeypatch: Any) -> None:
    """A search that does not end is given up; nothing is guessed."""
    monkeypatch.setattr(viability, "MAX_PAIRS", 500)
    tree = {"type": "array", "items": {"$ref": "#"}}
    with pytest.raises(BudgetError):
        all_of(sg.JsonSchema(tree, whitespace="compact"), sg.Regex(r"\[*")).automaton()


def test_positions_with_many_ways_to_read_the_text_are_not_looked_at_for_hours() -> None:
    """Each further letter can begin the last part: the work counts, not the positions alone."""
    letters = sg.Regex("[ab ]+")
    nested = sg.Lark('start: "a" start? "b"')
    spec = all_of(Tag("<a", sg.sequence(letters, letters, nested), "b"), filters.ends_with("1"))
    with pytest.raises(BudgetError):
        spec.automaton()


def test_two_pushdown_specs_are_refused() -> None:
    """All of two schemas has no automaton in general; any of them has."""
    with pytest.raises(UnsupportedSchemaError):
        all_of(PERSON, {"type": "array"}).automaton()
    any_of(PERSON, {"type": "array"}).automaton()


def test_tags_keep_rules() -> None:
    """Free text and tags beside a banned phrase and a required one."""
    spec = all_of(
        Tags((Tag("<a>", sg.Regex("[0-9]+"), "</a>"),)),
        filters.banned("bad"),
        filters.required("good"),
    )
    sg.check(spec, "all good <a>17</a>")
    for wrong, offset in [("good ba", None), ("good bad", 7), ("fine <a>1</a>", 13)]:
        if offset is None:
            sg.check(spec, wrong)
            continue
        with pytest.raises(ValidationError) as refused:
            sg.check(spec, wrong)
        assert refused.value.offset == offset
    assert spec.parse("good<a>1</a>")[0] == "good"
    two = all_of(Tags((Tag("<a>", None, ">"),)), sequence(FreeText(), ">>"))
    sg.check(two, "<a>x>>")


def test_special_tokens_pass_through_a_product() -> None:
    """A special token that tags name is read by the rules as its text."""
    tokens = [bytes((b,)) for b in range(256)]
    vocab = sg.Vocabulary([*tokens, b"<|a|>"], special_ids=[256])
    tagged = Tags((Tag("<|a|>", sg.Regex("[0-9]+"), ";"),))
    c = sg.compile(all_of(tagged, filters.length(at_most=8)), vocab)
    assert c.advance(c.start, 256) == c.advance_bytes(c.start, b"<|a|>") != sg.DEAD
    assert c.advance(c.advance_bytes(c.start, b"ab"), 256) == sg.DEAD  # too long with its end
    barred = sg.compile(all_of(tagged, filters.banned("|")), vocab)
    assert barred.advance(barred.start, 256) == sg.DEAD


def test_a_saved_product_is_the_same(tmp_path: Any) -> None:
    """Pairs are found again in the same order."""
    vocab = sg.Vocabulary([bytes((b,)) for b in range(256)] + [b'{"name', b"xy"])
    spec = all_of(PERSON, filters.required("xy"), filters.length(at_most=40))
    c = sg.compile(spec, vocab)
    laws.walk(c, Random(3), 12)
    c.save(tmp_path / "both")
    loaded = sg.load(tmp_path / "both", vocab)
    for seed in range(3):
        laws.same_behaviour(c, loaded, Random(seed), 15)


def test_a_product_in_a_sequence() -> None:
    """Products are parts like any other."""
    spec = sequence(all_of(PERSON, filters.banned("x")), "\n", FreeText())
    found = spec.parse('{"name": "Ada", "age": 1}\nfree')
    assert found == [{"name": "Ada", "age": 1}, "\n", "free"]
    with pytest.raises(ValidationError):
        spec.parse('{"name": "x", "age": 1}\n')
