"""Grammars in GBNF: the same texts, or a refusal with the place of a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import StructgenError, UnsatisfiableSchemaError, UnsupportedSchemaError
from structgen.grammar.shipped import NAMES
from tests.grammar.export.compare import check_export

JSON = r"""
start: value
?value: object | array | STRING | NUMBER | "true"
object: "{" [member ("," member)*] "}"
member: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"[^"]*"/
NUMBER: /-?[0-9]+/
WS: /[ \n]+/
%ignore WS
"""
GRAMMARS = {
    "left recursion": sg.Gbnf(
        'root ::= expr\nexpr ::= expr "+" term | term\nterm ::= [0-9]+ | "(" expr ")"'
    ),
    "left recursion by way of others": sg.Gbnf(
        'root ::= a\na ::= b "x" | "1"\nb ::= c a "y" | a | "2"\nc ::= "c"?'
    ),
    "a rule that is twice itself": sg.Gbnf('root ::= s\ns ::= s s | "(" s ")" | ""'),
    "empty repeats": sg.Gbnf(
        'root ::= a{3,7} (b c)? d*\na ::= "x" | "(" root ")"\n'
        'b ::= "b" root | ""\nc ::= "c"\nd ::= b b'
    ),
    "names with underscores": sg.Gbnf('root ::= _a "-" a_b\n_a ::= "x"\na_b ::= "y" _a*'),
    "ebnf": sg.Ebnf('e = t, {("+" | "-"), t} ; t = d, {d} | "(", e, ")" ; d = "0" | "1" ;'),
    "difference": sg.Ebnf("a ::= [a-z]+ - ('if' | 'in')", style="w3c"),
    "lark": sg.Lark('start: ("hello" | "hi") " " NAME\nNAME: /[A-Z][a-z]+/'),
    "free": sg.Lark(JSON),
    "longest": sg.Lark(JSON, lexing="longest"),
    "viable": sg.Lark(JSON, lexing="viable"),
    "the longer literal first": sg.Lark('start: ("*" | "**") "a"', lexing="longest"),
    "a schema inside": sg.Lark(
        'start: NAME "(" %json {"type": "integer", "minimum": 3} ")"\nNAME: /[a-z]+/'
    ),
    "calls": sg.Grammar(
        sg.rule("v", lambda v: sg.alt(sg.regex("[0-9]+"), sg.seq("(", sg.separated(v, ","), ")")))
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", GRAMMARS)
def test_a_grammar_has_the_same_texts_exported(name: str) -> None:
    """Walks through both automata find no difference."""
    check_export(GRAMMARS[name])


def test_shipped_grammars_have_the_same_texts_or_are_refused_with_a_place() -> None:
    """Those without names and keywords can be written."""
    written, places = set(), []
    for name in NAMES:
        try:
            check_export(sg.shipped(name), walks=20, length=30)
            written.add(name)
        except UnsupportedSchemaError as error:
            places.append(error.location)
    assert all(place.startswith("line ") for place in places)
    assert written >= {"arithmetic", "chess", "csv", "json"}


names = st.sampled_from(["root", "a", "b"])
pieces = st.one_of(names, names, st.sampled_from(['"x"', '"y"', '"z"', '"xy"']))
bodies = st.lists(st.lists(pieces, max_size=3), min_size=1, max_size=3).map(
    lambda alternatives: " | ".join(" ".join(a) or '""' for a in alternatives)
)


@given(bodies, bodies, bodies)
@settings(deadline=None)
def test_rules_that_begin_with_themselves_keep_their_texts(one: str, two: str, last: str) -> None:
    """Directly, by way of others, and behind what may be empty."""
    spec = sg.Gbnf(f"root ::= {one}\na ::= {two}\nb ::= {last}")
    try:
        spec.automaton()
    except UnsatisfiableSchemaError:
        with pytest.raises(UnsatisfiableSchemaError):
            sg.export_gbnf(spec)
        return
    check_export(spec, walks=6, length=8)


LEXED = {
    "the longest match": ("start: A B\nA: /a+/\nB: /a/", "free", "line 2 column 1"),
    "more of itself behind it": ('start: N "if" N\nN: /[a-z]+/', "free", "line 2 column 1"),
    "a name or a keyword": ('start: "if" | N\nN: /[a-z]+/', "viable", ""),
    "the shorter one first": (
        'start: (A | B) "c"?\nA.2: /a/\nB: /ab/',
        "viable",
        "line 2 column 1",
    ),
    "ignored text that may not be cut": (
        'start: ("a" | "b")+\nC: /#[^\\n]*/\n%ignore C',
        "free",
        "line 2 column 1",
    ),
    "a lookahead": ("start: A /./\nA: /a(?=b)/", "free", "line 2 column 1"),
    "a schema beside a terminal": ('start: %json {"type": "null"} | /n/', "viable", ""),
}


@pytest.mark.parametrize("name", LEXED)
def test_a_lexer_with_a_choice_is_refused_with_the_place_of_the_terminal(name: str) -> None:
    """With what to do."""
    text, lexing, place = LEXED[name]
    with pytest.raises(UnsupportedSchemaError) as error:
        sg.export_gbnf(sg.Lark(text, lexing=lexing))  # type: ignore[arg-type]
    assert error.value.location.startswith(place)
    assert error.value.keyword
    assert error.value.hint


@pytest.mark.parametrize(
    "spec",
    [
        sg.Gbnf("root ::= <[1-5]>"),
        sg.Lark('start: "a" _NL\n_NL: /\\n/', final="_NL"),
        sg.FreeText(),
        sg.sequence(sg.Regex("a"), {"type": "null"}),
    ],
    ids=["several tokens", "final", "free text", "a sequence"],
)
def test_what_gbnf_has_no_word_for_is_refused(spec: Any) -> None:
    """And not left out."""
    with pytest.raises(UnsupportedSchemaError):
        sg.export_gbnf(spec)


def test_a_schema_inside_is_refused_with_its_place_and_its_pointer() -> None:
    """The place in the grammar, then that in the schema."""
    spec = sg.Lark('start: "x" %json {"type": "array", "uniqueItems": true}')
    with pytest.raises(StructgenError) as error:
        sg.export_gbnf(spec)
    assert error.value.location == "line 1 column 12 #/uniqueItems"


def test_tokens_stay_tokens() -> None:
    """They stand for themselves, not for their bytes."""
    spec = sg.Gbnf('root ::= <think> (!</think> | "a")* </think> <[3]>?')
    tokens = [b"<end>", b"<think>", b"</think>", b"a", b"<think", b">"]
    vocabulary = sg.Vocabulary(tokens, eos_ids=[0], special_ids=[0, 1, 2])
    one = sg.compile(spec, vocabulary)
    other = sg.compile(sg.Gbnf(sg.export_gbnf(spec)), vocabulary)
    pairs = {(one.start, other.start)}
    for _ in range(4):
        assert all(one.is_accepting(a) == other.is_accepting(b) for a, b in pairs)
        steps = {(one.advance(a, t), other.advance(b, t)) for a, b in pairs for t in range(1, 6)}
        assert all((a == sg.DEAD) == (b == sg.DEAD) for a, b in steps)
        pairs = steps - {(sg.DEAD, sg.DEAD)}


def test_a_pattern_inside_is_part_of_the_rules() -> None:
    """A spec inside that is regular."""
    spec = sg.Lark("start: A+\n%declare A", refs={"A": sg.Regex("a|bc")})
    assert check_export(spec) == 'root ::= ("a" | "bc")+\n'


terminals = st.lists(
    st.sampled_from(["/a/", "/a+/", "/ab/", "/b/", "/[ab]c/", '"a"', '"bc"', "/c+/", "/(a|b)+c/"]),
    min_size=3,
    max_size=3,
)
lines = st.lists(st.sampled_from(["A", "B", "C", "x", "start"]), min_size=1, max_size=3)
rules = st.lists(lines, min_size=1, max_size=3).map(lambda all_: " | ".join(map(" ".join, all_)))


@given(
    rules,
    rules,
    terminals,
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from(["free", "longest", "viable"]),
)
@settings(deadline=None)
def test_what_is_not_refused_is_read_as_the_lexer_cuts_it(
    one: str, two: str, patterns: list[str], priority: int, ignores: bool, lexing: Any
) -> None:
    """What is taken to be without a choice has the texts that the lexer leaves."""
    a, b, c = patterns
    ignored = "W: / +/\n%ignore W\n" * ignores
    text = f"start: {one}\nx: {two}\nA.{priority}: {a}\nB: {b}\nC: {c}\n{ignored}"
    spec = sg.Lark(text, lexing=lexing)
    try:
        spec.automaton()
        sg.export_gbnf(spec)
    except StructgenError:
        return
    check_export(spec, walks=8, length=10)
