"""Recursive grammars and regular rules combine exactly, without dead ends.

The oracles are definitions: a text fits the grammar (`tests.grammar.reference`, a least fixed
point) and Python's `re` matches it.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.compose import filters
from structgen.compose.sequences import FreeText
from structgen.errors import UnsatisfiableSchemaError, ValidationError
from structgen.spec.base import Spec
from tests.grammar.laws import check_masks
from tests.grammar.reference import accepts
from tests.helpers import laws

PATTERNS = [
    "a*bb", "(ab)*", "a*b*", "[ab]*abb[ab]*", "[ab]{0,5}", "(aa)*b+", "([ab][ab])*", "a[ab]*a",
    "(b|ab)*a?", "[ab]{4,}", "b*", "(a|bb)*",
]  # fmt: skip
PIECES = [b"a", b"b", b"aa", b"aab", b"ab", b"abb", b"abba", b"ba", b"bb"]
TEXTS = ["".join(t) for n in range(8) for t in itertools.product("ab", repeat=n)]
SHOWN = TEXTS[: 2**6 - 1]  # beginnings looked at: up to five letters
_SYMBOL = st.sampled_from(['"a"', '"b"', '"ab"', "root", "x"])
_RULE = st.lists(st.lists(_SYMBOL, max_size=3), min_size=1, max_size=3)


def _written(rules: list[list[list[str]]]) -> str:
    names = ("root", "x")
    sides = (" | ".join(" ".join(symbols) or '""' for symbols in rule) for rule in rules)
    return "\n".join(f"{name} ::= {side}" for name, side in zip(names, sides, strict=True))


def _check(automaton: Automaton, language: set[str]) -> None:
    """The automaton accepts, among `TEXTS`, the language; its beginnings live, with short ends."""
    begun = {text[:i] for text in language for i in range(len(text) + 1)}
    completions = automaton.completions(b"ab")
    for text in TEXTS:
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == (text in language), text
        assert at >= 0 or text not in begun, text
        if at >= 0 and text in SHOWN:
            rest = completions.shortest(at).decode()
            shorter = [t for t in language if t.startswith(text)]
            assert not shorter or len(rest) == min(map(len, shorter)) - len(text), text
            end, _ = automaton.run(at, rest.encode())
            assert automaton.is_accepting(end)


@settings(max_examples=60)
@given(st.tuples(_RULE, _RULE), st.sampled_from(PATTERNS), st.integers(0, 2**32))
def test_random_grammars_and_patterns(
    rules: tuple[list[list[str]], list[list[str]]], pattern: str, seed: int
) -> None:
    """A product has the texts that both have, and each beginning that it reads can be finished."""
    grammar = sg.Gbnf(_written(list(rules)))
    try:
        grammar.automaton()
    except UnsatisfiableSchemaError:
        return
    read = grammar.rules()
    language = {t for t in TEXTS if re.fullmatch(pattern, t) and accepts(read, t)}
    try:
        automaton = sg.all_of(grammar, sg.Regex(pattern)).automaton()
    except UnsatisfiableSchemaError:
        assert not language
        return
    _check(automaton, language)
    check_masks(automaton, PIECES, seed)


LARK = """
start: item+
item: "(" start ")" | A | AB | "b" item
A: "a"
AB: "ab" "b"*
"""


@pytest.mark.parametrize("lexing", ["free", "longest", "viable"])
@pytest.mark.parametrize("pattern", [r"\(*a+b*\)*", r".*\(ab*\)b.*", r"[^a]*a[^a]*", r"(a|\(|\))*"])
def test_lark_grammars_and_patterns(lexing: Any, pattern: str) -> None:
    """With either lexer the product has what the grammar alone has, of what the pattern matches."""
    grammar = sg.Lark(LARK, lexing=lexing)
    alone, both = grammar.automaton(), sg.all_of(grammar, sg.Regex(pattern)).automaton()
    for length in range(7):
        for chosen in itertools.product("ab()", repeat=length):
            text = "".join(chosen).encode()
            at, _ = alone.run(alone.start, text)
            fits = at >= 0 and alone.is_accepting(at) and re.fullmatch(pattern, text.decode())
            at, _ = both.run(both.start, text)
            assert (at >= 0 and both.is_accepting(at)) == bool(fits), text


SAME = sg.Gbnf('root ::= "a" root "b" | ""')


def test_what_a_rule_bounds_on_one_side_only_is_bounded_on_both() -> None:
    """As many b as a, and two b: two a, which is seen when the third is read."""
    spec = sg.all_of(SAME, sg.Regex("a*bb"))
    sg.check(spec, "aabb")
    with pytest.raises(ValidationError, match="byte 2") as raised:
        sg.check(spec, "aaa")
    assert "also" in (raised.value.expected or "")
    with pytest.raises(UnsatisfiableSchemaError, match="no text fits all"):
        sg.all_of(SAME, sg.Regex("a(aa)*b(bb)*b")).automaton()


RULES: dict[str, tuple[Spec, Any]] = {
    "banned": (filters.banned("secret", "42"), lambda t: "secret" not in t and "42" not in t),
    "required": (filters.required("né"), lambda t: "né" in t),
    "short": (filters.length(at_most=12), lambda t: len(t) <= 12),
    "long": (filters.length(at_least=30), lambda t: len(t) >= 30),
    "two": (
        sg.all_of(filters.banned("[["), filters.required("[", "}")),
        lambda t: "[[" not in t and "[" in t and "}" in t,
    ),
    "free text": (sg.sequence("[", FreeText(("null",))), lambda t: "null" not in t),
}


@pytest.mark.parametrize("name", RULES)
def test_walks_are_never_stuck_and_fit_both(name: str, tmp_path: Path) -> None:
    """A shipped grammar and a rule: masks are steps, walks can be finished, files keep it all."""
    rule, keeps = RULES[name]
    spec = sg.all_of(sg.shipped("json"), rule)
    rng = Random(5)
    pieces = [b'"n', b"\xc3", b"secret", b"42", b'", "', b"]}", b"[[", b'": ', b"null", b" "]
    tokens = [bytes((byte,)) for byte in range(256)] + pieces
    c = sg.compile(spec, sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)]))
    for _ in range(4):
        visits = laws.walk(c, rng, 20)
        laws.mask_is_advance(c, visits[len(visits) // 2][1])
        laws.goes_on(c, visits[-1][1])
        laws.next_bytes_are_exact(c, visits[-1][1])
        text = visits[-1][0] + c.shortest_completion(visits[-1][1])
        sg.check(sg.shipped("json"), text)
        assert keeps(text.decode()), text
    c.save(tmp_path / "both")
    laws.same_behaviour(c, sg.load(tmp_path / "both", c.vocabulary), Random(2))


def test_rules_with_many_positions_are_read_beside_the_grammar() -> None:
    """Too many for the tables of the grammar; the texts are the same."""
    spec = sg.all_of(SAME, sg.Regex("a{0,3000}b*"))
    sg.check(spec, "aaabbb")
    with pytest.raises(ValidationError):
        sg.check(spec, "aab")
