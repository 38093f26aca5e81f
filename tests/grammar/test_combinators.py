"""Pieces of grammar made by Python calls have the texts that they should have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structgen.errors import BudgetError, PatternError, SpecError
from structgen.grammar.combinators import (
    START,
    Grammar,
    Piece,
    alt,
    grammar_of,
    json_schema,
    literal,
    many,
    optional,
    ref,
    regex,
    rule,
    separated,
    seq,
    some,
)
from structgen.grammar.specs import Ebnf, Gbnf, Lark
from structgen.schema.coerce import coerce
from structgen.spec.registry import spec_of
from structgen.spec.regular import Choice, Regex
from tests.grammar.reference import accepts

VALUE = rule(
    "value",
    lambda value: alt(regex("[0-9]+"), seq("(", separated(value, ","), ")"), Choice(["x", "y"])),
)


@pytest.mark.parametrize(
    ("piece", "fits", "fails"),
    [
        (seq("a", regex("[b-d]*"), "e"), ["ae", "abde"], ["a", ""]),
        (alt("a", seq(), "bc"), ["", "a", "bc"], ["b"]),
        (many("a", 2, 3), ["aa", "aaa"], ["a", "aaaa"]),
        (seq(some("a"), optional("b")), ["a", "aab"], ["b"]),
        (separated("a", ","), ["", "a", "a,a"], [",", "a,"]),
        (separated("a", ",", 2, 3), ["a,a", "a,a,a"], ["a", "a,a,a,a"]),
        (separated("a", ",", high=1), ["", "a"], ["a,a"]),
        (separated("a", ",", high=0), [""], ["a"]),
        (VALUE, ["12", "()", "(1,x,(y,()))"], ["(", "(1,)", ""]),
        (seq(VALUE, "!"), ["1!", "(x)!"], ["1"]),
        (ref(Regex("a|b")), ["a"], ["c"]),
        (ref(Gbnf('root ::= "<" root ">" | "."')), ["<<.>>"], ["<."]),
        (seq(Ebnf("a = 'x', [a] ;"), "y"), ["xxy"], ["y"]),
        (seq(Grammar(many("a")), "b"), ["aab"], ["a"]),
    ],
)
def test_texts(piece: Piece, fits: list[str], fails: list[str]) -> None:
    """Each combinator, on texts that do and do not fit."""
    rules = grammar_of(piece)
    assert [text for text in fits + fails if accepts(rules, text)] == fits


def test_rules_may_need_each_other() -> None:
    """By saying later what a rule is."""
    odd = rule("odd")
    even = rule("even", optional(seq("a", odd)))
    odd.define(seq("a", even))
    assert [count for count in range(6) if accepts(grammar_of(even), "a" * count)] == [0, 2, 4]


def test_specs_with_a_syntax_of_their_own_are_nested() -> None:
    """Schemas and Lark grammars are read by their own automata."""
    piece = seq(json_schema({"type": "null"}), Lark('start: "a"'), ref({"const": 1}))
    nested = [t.nested.kind for t in grammar_of(piece).terminals.values() if t.nested is not None]
    assert nested == ["json_schema", "lark", "json_schema"]


def test_a_piece_is_a_spec() -> None:
    """Whatever takes specs takes pieces."""
    spec = coerce(VALUE)
    assert isinstance(spec, Grammar)
    assert spec.findings() == []


def test_the_start_has_a_name_of_its_own() -> None:
    """That no rule of the user's has."""
    rules = grammar_of(seq(rule(START, "a"), "b"))
    assert rules.start not in (START, "")
    assert accepts(rules, "ab")


def test_grammars_are_made_again_from_json() -> None:
    """With recursion, shared pieces and specs inside."""
    shared = seq("a", VALUE)
    spec = Grammar(alt(shared, many(shared, 1, 2), json_schema({"type": "null"})))
    stored = json.loads(json.dumps({"kind": spec.kind, **spec.to_json()}))
    again = spec_of(stored)
    assert isinstance(again, Grammar)
    assert again == spec
    assert hash(again) == hash(spec)
    assert again != Grammar(literal("a"))
    assert accepts(again.rules(), "a(1)a2")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (alt, "nothing to choose"),
        (lambda: many("a", 3, 2), "impossible"),
        (lambda: many("a", -1), "impossible"),
        (lambda: literal(3), "not a text"),  # type: ignore[arg-type]
        (lambda: seq(object()), "is not a spec"),  # type: ignore[arg-type]
        (lambda: grammar_of(rule("x")), "'x' is not defined"),
        (lambda: grammar_of(seq(rule("x", "a"), rule("x", "b"))), "two rules 'x'"),
        (lambda: rule("x", "a").define("b"), "has been defined"),
        (lambda: literal("a").define("b"), "has been defined"),
        (lambda: grammar_of(regex("(")), "without its"),
    ],
)
def test_mistakes_are_said(make: Any, problem: str) -> None:
    """As typed errors, when the piece is made or read."""
    with pytest.raises(SpecError, match=problem):
        make()


def test_a_wrong_pattern_has_its_position() -> None:
    """As everywhere."""
    with pytest.raises(PatternError):
        Grammar(regex("a(")).rules()


def test_doubling_is_bounded() -> None:
    """What is used twice within what is used twice is not written out for ever."""
    piece = literal("a")
    for _ in range(40):
        piece = seq(piece, piece)
    with pytest.raises(BudgetError, match="pieces"):
        grammar_of(piece)
