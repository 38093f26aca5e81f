"""Grammars of every kind in Lark's language read what Lark parses.

Texts are made of the letters of the terminals, or by changing texts that fit, so that fitting and
almost fitting ones come up.
"""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.errors import UnsupportedSchemaError
from tests.grammar.reference import lark_accepts

# Name: grammar, the letters of its texts, and some texts that fit.
GRAMMARS = {
    "palindromes": (
        'start: "a" start "a" | "b" start "b" | "a" | "b" |',
        "ab",
        ["abba", "bab", ""],
    ),
    "ambiguous sums": (
        'start: start "+" start | start "*" start | "(" start ")" | N\nN: /[0-9]+/',
        "1+*()",
        ["1+1*1", "(1+11)*1"],
    ),
    "dangling else": (
        's: "i" s | "i" s "e" s | "x"\nstart: s (";" s)*',
        "iex;",
        ["iixex", "ix;iixexex", "ixex"],
    ),
    "cycles": ('start: a\na: b | "x" a\nb: a | c\nc: b | "y"', "xy", ["y", "xxy"]),
    "hidden left recursion": (
        'start: e start "b" | e "c"\ne: "a" | o\no: \n',
        "abc",
        ["c", "acb", "aacbb", "cbb"],
    ),
    "empty in a row": (
        'start: a b c\na: "x"?\nb: a a\nc: "y"* b\n',
        "xy",
        ["", "xxx", "xxxyyxx", "yxx"],
    ),
    "priorities": (
        'start: (KEY | NAME | NUM)+\nKEY.2: "let"\nNAME: /[a-z]+/\nNUM.3: /[0-9]+x?/\n%ignore " "',
        "let 1x",
        ["let x", "letx 1x", "x1"],
    ),
    "templates": (
        """start: list{pair{KEY, list{NUM}}}
        list{x}: "[" [x ("," x)*] "]"
        pair{a, b}: a ":" b
        KEY: /[a-z]/
        NUM: /[0-9]/""",
        "[]a1,:",
        ["[]", "[a:[1]]", "[a:[1,1],a:[]]"],
    ),
    "imports": (
        """%import common (INT, WS_INLINE, LETTER)
        %ignore WS_INLINE
        %extend INT: "n"
        start: (item ";")+
        item: LETTER INT | LETTER item""",
        "an1; ",
        ["a1;", "a a n ; b12;", "aa1;n1;"],
    ),
    "counts and ranges": (
        'start: "a".."c"~2..3 ("-" X~2)? | Y~3\nX: "0".."4"\nY: /x{1,2}/i',
        "abcx0-X",
        ["abc-00", "ab", "xXxXx", "xxxxxx", "ca-04"],
    ),
    "overlapping terminals": (
        'start: (A | B | C)* D?\nA: /a+b?/\nB: "ab"\nC: /b(?!b)/\nD: /[ab]{3}/',
        "ab",
        ["aab", "abab", "aba", "bab"],
    ),
    "settings": (
        r"""start: _NL* (pair | "[" KEY ("." KEY)* "]" _NL+)*
        pair: KEY ("." KEY)* "=" value _NL+
        value: INT | FLOAT | DATE | "[" [value ("," value)*] [","] "]"
        KEY: /[a-z_-]+/
        INT: /[+-]?(0|[1-9][0-9]*)/
        FLOAT.2: /[+-]?[0-9]+\.[0-9]+/
        DATE.3: /[0-9]{4}-[0-9]{2}-[0-9]{2}/
        _NL: /\n+/
        %ignore /[ \t]+/
        %ignore /#[^\n]*/""",
        "a1=\n.-[]#, 0",
        ["a=1\n", "[a.b]\nc = -1.5 # d\n", "d=2020-01-02\n", "a=[1,[],]\n"],
    ),
    "clauses": (
        r"""start: (term [":-" terms] ".")*
        terms: term ("," term)*
        term: ATOM ["(" terms ")"] | VAR | NUM | "[" [terms ["|" term]] "]"
        ATOM: /[a-z]\w*/
        VAR: /[A-Z_]\w*/
        NUM: /\d+(\.\d+)?/
        %ignore /\s+/
        %ignore /%[^\n]*/""",
        "a.1X(),[]|:-% \n",
        ["a.", "f(X,b) :- g([1|T]).", "p(1.5). % c\nq."],
    ),
    "keywords in any case": (
        '''start: "GO"i NAME [BIG] ["AS"i] [NAME] "OF"i NAME
        NAME: /[a-z]+|[A-Z]+/
        BIG: /[0-9A-Z]+/
        %ignore " "''',
        "goOfasAS 1\u017f",
        ["go g OF a", "Go G1 aS go oF OF", "GO as AS of of OF", "go A B a\u017f of a"],
    ),
    "right recursion": (
        'start: "x" start | "x" t\nt: "y" t "z" | "y" "z"',
        "xyz",
        ["xyz", "xxyyzz"],
    ),
}
LEXERS = {"free": {"parser": "earley"}, "longest": {"parser": "lalr", "lexer": "contextual"}}
DETERMINISTIC = ["right recursion", "templates", "imports", "counts and ranges",
                 "settings", "clauses", "keywords in any case"]  # for LALR  # fmt: skip


@cache
def both(name: str, lexing: str) -> tuple[Lark, Automaton]:
    """Lark's parser, and the automaton."""
    text = GRAMMARS[name][0]
    return Lark(text, **LEXERS[lexing]), sg.Lark(text, lexing=lexing).automaton()  # type: ignore[arg-type]


def agree(name: str, lexing: str, text: str) -> None:
    """Both take a text, or none does."""
    parser, automaton = both(name, lexing)
    told = lark_accepts(parser, text)
    at, _ = automaton.run(automaton.start, text.encode())
    assert told is None or told == (at >= 0 and automaton.is_accepting(at)), text


@pytest.mark.parametrize("name", GRAMMARS)
def test_chosen_and_short_texts(name: str) -> None:
    """Texts that fit do, and all others up to four letters as Lark has it."""
    _, letters, fitting = GRAMMARS[name]
    _, automaton = both(name, "free")
    for text in fitting:
        at, _ = automaton.run(automaton.start, text.encode())
        assert at >= 0
        assert automaton.is_accepting(at), text
    short = ("".join(t) for n in range(5) for t in itertools.product(letters[:4], repeat=n))
    for text in short:
        agree(name, "free", text)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(GRAMMARS)), st.data())
def test_changed_and_random_texts(name: str, data: st.DataObject) -> None:
    """A text that fits with a piece taken out, put in or doubled; or letters at random."""
    _, letters, fitting = GRAMMARS[name]
    text = data.draw(st.sampled_from(fitting) | st.text(letters, max_size=9))
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 3)))
        piece = data.draw(st.sampled_from(["", text[start:end] * 2]) | st.text(letters, max_size=2))
        text = text[:start] + piece + text[end:]
    agree(name, "free", text)
    if name in DETERMINISTIC:
        agree(name, "longest", text)


def test_palindromes_cost_no_more_than_their_length() -> None:
    """An ambiguous middle at every place: the records grow with the text, not with its square."""
    _, automaton = both("palindromes", "free")
    sizes = []
    for length in (50, 100, 200):
        text = b"ab" * length
        at, count = automaton.run(automaton.start, text + text[::-1])
        assert count == 4 * length
        assert automaton.is_accepting(at)
        assert not automaton.is_accepting(automaton.run(at, b"b")[0])
        sizes.append(automaton.size["records"])
    assert sizes[2] - sizes[1] < 4 * (sizes[1] - sizes[0])


@pytest.mark.parametrize(
    "name", ["[A-Z]+", "[A-Za-z]+", "[a-zA-Z]\\w*", "[A-Z][a-z]*", "[A-Z]{4}|x"]
)
def test_keywords_in_any_case_beside_names(name: str) -> None:
    """A name that is a keyword in any spelling is the keyword, and what is no name may be one."""
    grammar = f'start: "S"i N [N] ["AS"i] "FROM"i N\nN: /{name}/\n%ignore " "'
    parser = Lark(grammar, **LEXERS["longest"])
    automaton = sg.Lark(grammar, lexing="longest").automaton()
    fitting = 0
    texts = itertools.product(
        ["S", "s", "\u017f"],
        ["X", "x", "As"],
        ["", "As", "a\u017f"],
        ["FROM", "from", "From", "FROm", "froM"],
        ["X", "FROM"],
    )
    for words in texts:
        text = " ".join(words)
        told = lark_accepts(parser, text)
        at, _ = automaton.run(automaton.start, text.encode())
        assert told == (at >= 0 and automaton.is_accepting(at)), text
        fitting += bool(told)
    assert fitting


def test_a_pattern_that_reads_on_behind_some_spellings_is_refused() -> None:
    """Lark would give the keyword back where the pattern comes to nothing."""
    with pytest.raises(UnsupportedSchemaError, match="spellings"):
        sg.Lark('start: "AB"i | N "."\nN: /AB|abc/', lexing="longest").automaton()
