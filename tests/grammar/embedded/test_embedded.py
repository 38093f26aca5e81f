"""Grammars with embedded specs read what can be cut so, and no more."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.errors import (
    ArtifactError,
    SpecError,
    UnsatisfiableSchemaError,
)
from structgen.grammar.embedded.automaton import NestingAutomaton
from structgen.grammar.ir import Grammar, Lexing, Terminal
from structgen.masks.bitmask import unpack
from structgen.regular.regex import EMPTY
from structgen.spec.base import Spec
from tests.grammar.laws import check_completions, check_masks, reads
from tests.grammar.reference import accepts, fits, lark_accepts
from tests.grammar.test_automaton import PATTERNS, TEXTS, TOKENS, grammar

BRACKETS = sg.Gbnf('root ::= "a" root "b" | "c"')
INNER: list[Spec] = [
    BRACKETS,
    sg.Gbnf('root ::= "a" root | "b"?'),
    sg.Lark("start: A B | C\nA: /a+/\nB: /b|c/\nC: /cc/"),
    sg.sequence(sg.FreeText(excludes=("a", "c")), "c"),
    sg.Grammar(sg.seq("b", sg.ref(BRACKETS))),
]


def with_spec(of: Grammar, name: str, spec: Spec) -> Grammar:
    """The grammar with a spec in the place of one of its terminals."""
    terminal = Terminal(name, EMPTY, nested=spec, shown=name)
    return replace(of, terminals={**of.terminals, name: terminal})


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """A small grammar with two terminals and one or two specs."""
    terminals = {f"T{i}": p for i, p in enumerate(draw(st.permutations(PATTERNS))[:3])}
    names = [f"r{i}" for i in range(draw(st.integers(1, 2)))]
    symbols = st.sampled_from(names + list(terminals) * 2)
    rule = st.lists(st.lists(symbols, max_size=3).map(" ".join), min_size=1, max_size=3)
    of = grammar({name: "|".join(draw(rule)) for name in names}, terminals)
    if draw(st.booleans()):  # as in GBNF: terminals may end anywhere
        plain = {name: replace(t, longer=EMPTY) for name, t in of.terminals.items()}
        of = replace(of, terminals=plain)
    of = with_spec(of, "T0", draw(st.sampled_from(INNER)))
    return with_spec(of, "T1", draw(st.sampled_from(INNER))) if draw(st.booleans()) else of


def automaton_of(of: Grammar) -> Automaton | None:
    """Its automaton, None when no text fits."""
    try:
        return NestingAutomaton(of)
    except UnsatisfiableSchemaError:
        return None


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(grammars())
def test_exactly_the_texts_that_can_be_cut_so_are_read(of: Grammar) -> None:
    """Every short text is accepted iff some way to cut it fits the rules and specs."""
    automaton = automaton_of(of)
    for text in TEXTS:
        assert (automaton is not None and reads(automaton, text)) == accepts(of, text)


@pytest.mark.thorough
@settings(max_examples=20, deadline=None)
@given(grammars(), st.integers(0, 1 << 30))
def test_no_position_is_a_dead_end_and_completions_are_shortest(of: Grammar, seed: int) -> None:
    """From wherever random bytes lead, the completion ends well and nothing shorter does."""
    automaton = automaton_of(of)
    if automaton is not None:
        check_completions(automaton, partial(accepts, of), [t for t in TEXTS if len(t) < 3], seed)


@settings(max_examples=40, deadline=None)
@given(grammars(), st.integers(0, 1 << 30))
def test_masks_are_what_single_tokens_do(of: Grammar, seed: int) -> None:
    """A token is in the row of a position iff its bytes can be read from there."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    check_masks(automaton, TOKENS, seed)


CALL = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
CALLS = f"""start: call (";" call)*
call: NAME "(" %json {json.dumps(CALL)} ")"
NAME: /[a-z]+/
WS: /[ ]+/
%ignore WS
"""
GOOD = ['f({"n": 1})', 'f( {"n":1 } ) ; g ({"to": "a)", "n": 2})', ' f({"to":"","n":0}) ']
BAD = ["f()", 'f({"n": 1.5})', 'f({"n": 1}', 'f({"m": 1})', 'f({"n": 1});', '({"n": 1})', "f(1)"]


@pytest.mark.parametrize("lexing", ["free", "longest"])
def test_json_inside_a_grammar(lexing: Lexing) -> None:
    """White space that the grammar ignores may stand around the JSON text, not inside strings."""
    spec = sg.Lark(CALLS, lexing=lexing)
    assert [text for text in GOOD if not fits(spec, text)] == []
    assert [text for text in BAD if fits(spec, text)] == []


@settings(max_examples=100, deadline=None)
@given(st.text("x12, ", max_size=7))
def test_a_spec_of_few_texts_is_like_their_literals(text: str) -> None:
    """Lark's Earley parser, given the texts of the schema as literals, parses the same."""
    rules = """start: item ("," item)* | "x" item "2"
        WS: " "
        %ignore WS
        """
    embedded = sg.Lark(rules + 'item: %json {"enum": [1, 12, 2, 22]}')
    listed = Lark(rules + 'item: "1" | "12" | "2" | "22"')
    told = lark_accepts(listed, text)
    assert told is None or fits(embedded, text) == told


@settings(max_examples=100, deadline=None)
@given(st.text('an"[]= ', max_size=8))
def test_the_contextual_lexer_takes_no_notice_of_specs(text: str) -> None:
    """Behind signs that end every terminal, Lark reads the rest with a mark in the spec's place."""
    rules = """start: (NAME "=" item | WORD item)+
        NAME: /a+/
        WORD.2: /an*=/
        WS: " "
        %ignore WS
        item: """
    schema = {"type": "array", "items": {"enum": ["a", "n="]}}
    spec = sg.Lark(rules + f"%json {json.dumps(schema)}", lexing="longest")
    lark = Lark(rules + '"@"', parser="lalr", lexer="contextual")
    inner = sg.JsonSchema(schema)
    starts = [i for i, char in enumerate(text) if char == "["]
    cut = {text}
    for start in reversed(starts):  # every way to put the mark in the place of some texts
        ends = range(start + 1, len(text) + 1)
        pieces = [text[start:end] for end in ends if fits(inner, text[start:end])]
        cut |= {one.replace(piece, "@", 1) for one in cut for piece in pieces}
    assert fits(spec, text) == any(lark_accepts(lark, one) for one in cut)


def test_specs_nest_in_specs_and_schemas_recurse() -> None:
    """A grammar in a grammar in a grammar; a schema that holds itself."""
    tree = {"type": "array", "items": {"$ref": "#"}}
    inner = sg.Lark(f'start: "<" %json {json.dumps(tree)} ">" | BOX+\nBOX: /o+/')
    outer = sg.Grammar(
        sg.rule("list", lambda list_: sg.alt(sg.ref(inner), sg.seq("(", sg.some(list_), ")")))
    )
    for text in ("<[]>", "(<[[], [[]]]>)", "(oo(<[]><[]>)o)"):
        assert fits(outer, text)
    for text in ("<[1]>", "()", "(<[>)", "<[[]>"):
        assert not fits(outer, text)


def test_specs_that_no_text_fits_or_that_may_be_empty() -> None:
    """An alternative that nothing fits is left out; an empty text needs no place."""
    spec = sg.Lark('start: "a" X | "b" Y\n%declare X Y', refs={"X": False, "Y": sg.Regex("c*")})
    assert not fits(spec, "a")
    assert fits(spec, "b")
    assert fits(spec, "bcc")
    with pytest.raises(UnsatisfiableSchemaError):
        sg.check(sg.Lark("start: X\n%declare X", refs={"X": False}), "")


def test_broken_specs_say_where_they_are() -> None:
    """The place in the grammar, then the place in the schema."""
    with pytest.raises(SpecError) as raised:
        sg.check(sg.Lark('start: "a"\n  | "b" %json {"type": "strin"}'), "a")
    assert "line 2" in raised.value.location
    assert "/type" in raised.value.location


def test_a_lexeme_before_a_spec_is_as_long_as_it_can_be() -> None:
    """A text of the spec that a name would have taken in is none."""
    compact = sg.JsonSchema({"const": True}, whitespace="compact")
    wider = sg.JsonSchema({"enum": [True, 10]}, whitespace="compact")
    alone, either = (
        sg.Lark("start: NAME X\nNAME: /[a-z]+/\n%declare X", refs={"X": spec})
        for spec in (compact, wider)
    )
    automaton = either.automaton()
    at, _ = automaton.run(automaton.start, b"ab")
    assert automaton.run(at, b"10")[0] >= 0
    assert automaton.run(at, b"true") == automaton.run(at, b"name")
    with pytest.raises(UnsatisfiableSchemaError):
        alone.automaton()


def tokens_of(texts: list[str]) -> sg.Vocabulary:
    """All bytes, and all pieces of some texts."""
    pieces = {text[i:j].encode() for text in texts for i in range(len(text)) for j in
              range(i + 2, min(len(text), i + 6) + 1)}  # fmt: skip
    tokens = [bytes((byte,)) for byte in range(256)] + sorted(pieces)
    return sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)], special_ids=[len(tokens)])


def test_random_walks_end_and_fit() -> None:
    """Whatever tokens are taken, the text can be finished; cut at the brackets, it holds JSON."""
    vocabulary = tokens_of(GOOD)
    constraint = sg.compile(sg.Lark(CALLS), vocabulary)
    draw, row = random.Random(3), np.zeros(vocabulary.words, np.int32)
    for _ in range(25):
        state, text = constraint.start, b""
        for _ in range(draw.randrange(25)):
            constraint.fill_mask(state, row)
            token = draw.choice(np.flatnonzero(unpack(row, vocabulary.size)).tolist())
            if token in vocabulary.eos_ids:
                break
            text += vocabulary.token_bytes(token)
            state = constraint.advance(state, token)
            forced = constraint.forced_bytes(state)
            assert constraint.shortest_completion(state).startswith(forced)
        text += constraint.shortest_completion(state)
        decoder, rest = json.JSONDecoder(), text.decode()
        while rest:
            name, _, rest = rest.partition("(")
            assert name.strip(" ;").isalpha()
            value, end = decoder.raw_decode(rest.lstrip())
            assert {"n"} <= set(value) <= {"n", "to"}
            rest = rest.lstrip()[end:].lstrip().removeprefix(")").strip()


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    """What a file keeps gives the same states and masks, also where nothing had been made."""
    vocabulary = tokens_of(GOOD)
    constraint = sg.compile(sg.Lark(CALLS), vocabulary)
    constraint.advance_bytes(constraint.start, GOOD[0].encode())
    constraint.save(tmp_path / "calls.sgc")
    again = sg.load(tmp_path / "calls.sgc", vocabulary)
    rows = np.zeros((2, vocabulary.words), np.int32)
    for text in GOOD:
        for end in range(len(text) + 1):
            for row, c in zip(rows, (constraint, again), strict=True):
                state = c.advance_bytes(c.start, text[:end].encode())
                c.fill_mask(state, row)
                assert c.is_accepting(state) == fits(constraint.spec, text[:end])
            assert (rows[0] == rows[1]).all()


def test_special_tokens_of_a_spec_inside_count() -> None:
    """A special token stands where a spec inside writes out its text."""
    thought = sg.sequence(sg.Tag("<think>", None, "</think>"), sg.JsonSchema({"type": "integer"}))
    spec = sg.Grammar(sg.seq("(", sg.ref(thought), ")"))
    tokens = [b"<think>", b"</think>", *(bytes((byte,)) for byte in range(256))]
    vocabulary = sg.Vocabulary([*tokens, b"</s>"], eos_ids=[258], special_ids=[0, 1, 258])
    constraint = sg.compile(spec, vocabulary)
    state = constraint.advance_bytes(constraint.start, b"(")
    assert constraint.advance(constraint.start, 0) == sg.DEAD
    state = constraint.advance_bytes(constraint.advance(state, 0), b"hm")
    state = constraint.advance_bytes(constraint.advance(state, 1), b"42)")
    assert constraint.is_accepting(state)


@pytest.mark.parametrize("name", ["inlets", "counts", "outers"])
def test_damaged_positions_are_refused(name: str) -> None:
    """Positions that do not belong to the automata are told from those that do."""
    spec = sg.Lark(CALLS)
    automaton = spec.automaton()
    automaton.run(automaton.start, GOOD[0].encode())
    saved = automaton.stored()
    saved.arrays[name][:] = -5
    with pytest.raises(ArtifactError):
        spec.automaton(saved)
