"""With "longest" the lexer looks for what Lark's lexer looks for, even where that fits nowhere.

A state of its LALR parser stands for several places of a grammar, and where there are conflicts the
parser chooses. Both decide which texts it parses.
"""

from __future__ import annotations

import itertools
import random
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import PythonIndenter

import structgen as sg
from structgen.errors import UnsatisfiableSchemaError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.automaton.lalr_guided import Guide
from structgen.grammar.readers.lark.lalr import MOST_WRITTEN_OUT
from tests.grammar.laws import check_masks, reads
from tests.grammar.reference import lark_accepts

# Name: grammar, pieces of its texts, texts that the grammar has and Lark's parser does not.
GRAMMARS: dict[str, tuple[str, list[str], list[str]]] = {
    "values in several places": (
        """start: "x" value IF NAME | "[" value NAME "]"
        value: WORD
        WORD: /[A-Z]/
        IF: /if/
        NAME: /[a-z]+/
        %ignore " "
        """,
        ["x", "[", "A", "if", "b", " ", "]"],
        ["xAif b"],
    ),
    "two letters at a time": (
        """start: "(" two "if" ")" | "[" two PAIR "]"
        two: PAIR
        PAIR: /[a-z]{2}/""",
        ["(", "[", "if", "ab", "c", ")", "]"],
        ["[abif]"],
    ),
    "dangling else": (
        """start: s
        s: "if" NAME s | "if" NAME s "else" s "end" | NAME ";"
        NAME: /[a-z]/
        %ignore " "
        """,
        ["if", "a", ";", "else", "end", " "],
        [],
    ),
    "chosen too early": (
        """start: item+ "end"
        item: "a" | "a" "b"
            | "b" "c"
        """,
        ["a", "b", "c", "end"],
        ["abcend"],
    ),
    "what leads nowhere": (
        """start: "a" | gone "b"
        gone: "ab" gone""",
        ["a", "b", "ab"],
        [],
    ),
    "ignored and read": (
        """start: WS? "a" ("b" WS)? "c"
        WS: / /
        %ignore WS""",
        ["a", "b", "c", " "],
        ["ab c"],
    ),
    "members": (
        """start: member+
        member: mod* "class" NAME ";" | mod* NAME ";"
        mod: "static" | "final"
        NAME: /[a-z]+/
        %ignore " "
        """,
        ["static", "class", "a", ";", " ", "final"],
        [],
    ),
}


@cache
def both(name: str) -> tuple[lark.Lark, GrammarAutomaton]:
    """Lark's parser, and the automaton."""
    text = GRAMMARS[name][0]
    automaton = sg.Lark(text, lexing="longest").automaton()
    assert isinstance(automaton, GrammarAutomaton)
    return lark.Lark(text, parser="lalr", lexer="contextual"), automaton


@pytest.mark.parametrize("name", GRAMMARS)
def test_texts_are_those_that_lark_parses(name: str) -> None:
    """All rows of up to five pieces, also those that fit only the grammar."""
    _, pieces, wrong = GRAMMARS[name]
    parser, automaton = both(name)
    viable = sg.Lark(GRAMMARS[name][0], lexing="viable").automaton()
    for text in wrong:
        assert reads(viable, text)
        assert not lark_accepts(parser, text)
        assert not reads(automaton, text)
    fitting = 0
    for length in range(6):
        for parts in itertools.product(pieces, repeat=length):
            told = lark_accepts(parser, "".join(parts))
            assert told == reads(automaton, "".join(parts)), parts
            fitting += bool(told)
    assert fitting


@pytest.mark.parametrize("name", GRAMMARS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_masks_are_what_single_tokens_do(name: str, seed: int) -> None:
    """Also where a terminal is looked for in vain; and the saved automaton gives the same."""
    _, automaton = both(name)
    pieces = ["", *GRAMMARS[name][1]]
    tokens = sorted({(a + b).encode() for a in pieces for b in pieces} - {b""})
    check_masks(automaton, tokens, seed)
    check_masks(GrammarAutomaton.restored(automaton.stored()), tokens, seed)


TERMINALS = ["/[ab]+/", "/[ab]{2}/", "/a+/", "/a+b?/", "/[bc]/", "/ab|a/", "/a(?!b)/", "/[a-c]+c/",
             "/(ab)+/", "/b[abc]*/", "/[ab]c?/", "/a/i", "/b(?=c)/", '"a"', '"b"', '"c"', '"ab"',
             '"bc"', '"aa"', '"ca"', '"ba"i']  # fmt: skip


@st.composite
def lark_grammars(draw: st.DrawFn) -> str:
    """Small grammars whose terminals begin alike."""
    names = ["start", *(f"r{i}" for i in range(draw(st.integers(0, 2))))]
    terminals = [f"T{i}" for i in range(draw(st.integers(2, 4)))]
    symbol = st.sampled_from([*names[1:], *terminals * 2, '"a"', '"bc"'])
    piece = st.tuples(symbol, st.sampled_from(["", "", "", "?", "*", "+"])).map("".join)
    alternatives = st.lists(st.lists(piece, min_size=1, max_size=3).map(" ".join), min_size=1,
                            max_size=3)  # fmt: skip
    lines = [f"{name}: {' | '.join(draw(alternatives))}" for name in names]
    for name in terminals:
        priority = draw(st.sampled_from(["", "", ".1", ".-1"]))
        lines.append(f"{name}{priority}: {draw(st.sampled_from(TERMINALS))}")
    return "\n".join([*lines, *draw(st.sampled_from([[], ['%ignore " "']]))])


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(lark_grammars(), st.integers(0, 1 << 30))
def test_random_grammars_are_read_as_by_lark(text: str, seed: int) -> None:
    """Short texts fit iff Lark parses them, and wherever they lead, a text that it parses ends."""
    try:
        parser = lark.Lark(text, parser="lalr", lexer="contextual")
    except lark.exceptions.LarkError:
        return
    draw = random.Random(seed)
    texts = ["".join(t) for n in range(4) for t in itertools.product("abc", repeat=n)]
    texts += ["".join(draw.choices("abc ", k=draw.randrange(4, 9))) for _ in range(60)]
    try:
        automaton = sg.Lark(text, lexing="longest").automaton()
    except UnsatisfiableSchemaError:
        assert not any(lark_accepts(parser, t) for t in texts)
        return
    completions = automaton.completions()
    told: dict[int, str] = {}
    for one in texts:
        assert reads(automaton, one) == lark_accepts(parser, one), one
        at, _ = automaton.run(automaton.start, one.encode())
        if at >= 0 and len(told) < 12:
            told[at] = one
    for at, one in told.items():
        assert lark_accepts(parser, one + completions.shortest(at).decode()), one


def test_most_grammars_need_no_parser_beside_them() -> None:
    """Where whatever is in a row beside what fits cannot be mixed up with it."""
    for text, guided in (
        ('start: "a" x | "b" y\nx: NAME "!"\ny: NAME "?"\nNAME: /[a-z]+/', False),
        ('start: "[" [value ("," value)*] "]"\nvalue: "x" | start', False),
        (GRAMMARS["two letters at a time"][0], True),
        (GRAMMARS["dangling else"][0], True),
    ):
        automaton = sg.Lark(text, lexing="longest").automaton()
        assert isinstance(automaton, GrammarAutomaton)
        assert automaton.is_guided == guided


@pytest.mark.parametrize(
    ("text", "errs"),
    [
        ('start: "i" start | "i" start "e" start | "x"', False),
        ('start: "i" start | "i" start "e" start "f" | "x"', False),
        ('start: "i" start | "i" start "e" | "x"', False),
        ('start: "i" start "g" | "i" start "e" start | a\na: "i" start | "x"', True),
        (GRAMMARS["chosen too early"][0], False),
        (GRAMMARS["ignored and read"][0], True),
    ],
)
def test_conflicts_that_do_no_harm_are_known(text: str, errs: bool) -> None:
    """Where what is read instead can be reduced as well, no text is searched for at each place."""
    automaton = sg.Lark(text, lexing="longest").automaton()
    assert isinstance(automaton, GrammarAutomaton)
    assert automaton.is_checked == errs
    draw, completions, at = random.Random(text), automaton.completions(), automaton.start
    parser = lark.Lark(text, parser="lalr", lexer="contextual")
    read = b""
    for _ in range(30):
        assert lark_accepts(parser, (read + completions.shortest(at)).decode())
        following = automaton.next_bytes(at)
        if following:
            read += bytes((draw.choice(following),))
            at, _ = automaton.run(automaton.start, read)


@pytest.mark.parametrize(
    "text",
    [
        'start: a "x" | b "x"\na: "y"\nb: "y"',  # two rules to reduce
        f'start: {" ".join(["[A]"] * MOST_WRITTEN_OUT.bit_length())} "x"\nA: "a"',  # too many ways
    ],
)
def test_where_lark_makes_no_tables_the_grammar_says_what_fits(text: str) -> None:
    """As with "viable"."""
    automaton = sg.Lark(text, lexing="longest").automaton()
    assert isinstance(automaton, GrammarAutomaton)
    assert not automaton.is_guided
    assert reads(automaton, "yx" if "y" in text else "aaax")


def test_states_are_numbered_the_same_every_time() -> None:
    """Whatever order sets have: a file of a grammar is the same whenever it is made."""
    grammars = [sg.Lark(GRAMMARS["members"][0], lexing="longest").rules() for _ in range(2)]
    assert grammars[0].lalr is not None
    assert grammars[0].lalr == grammars[1].lalr
    numbers = {name: i for i, name in enumerate(grammars[0].terminals)}
    guide = Guide(grammars[0], grammars[0].lalr, numbers)
    assert len(guide.rows) == len(grammars[0].lalr.actions)


@cache
def python() -> tuple[lark.Lark, Any]:
    """Lark's own grammar of Python, with its layout."""
    text = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text()
    parser = lark.Lark(text, parser="lalr", start="file_input", postlex=PythonIndenter())
    layout = sg.Indentation(
        newline="_NEWLINE",
        indent="_INDENT",
        dedent="_DEDENT",
        opens=("LPAR", "LSQB", "LBRACE"),
        closes=("RPAR", "RSQB", "RBRACE"),
    )
    spec = sg.Lark(text, lexing="longest", start="file_input", layout=layout)
    return parser, spec.automaton()


PROGRAMS = (
    """def f(a, *b, c=1, **d):
    if a:  # first
        return [x for x in b if x]
    match = not a
    return match
""",
    """@d
class A(B, m=C):
    x: int = 1
    def y(self): pass

for i in a: print(i, end='')
""",
    """try:
\tx = (1,
2)
except E as e:
\traise
else: pass
with a as b, c: lambda x: x if y else z
""",
)


@pytest.mark.thorough
@settings(max_examples=120, deadline=None)
@given(st.sampled_from(PROGRAMS), st.randoms(use_true_random=False))
def test_python_as_lark_has_it(text: str, draw: random.Random) -> None:
    """Programs with pieces taken out, put in or doubled: with conflicts, and a layout."""
    parser, automaton = python()
    for _ in range(draw.randrange(3)):
        start = draw.randrange(len(text) + 1)
        end = start + draw.randrange(4)
        piece = draw.choice(
            ["", text[start:end] * 2, draw.choice("a1 \n\t:=()'#*"), " if ", "match "]
        )
        text = text[:start] + piece + text[end:]
    try:
        told = lark_accepts(parser, text)
    except (AssertionError, IndexError):  # its layout fails on a bracket or comment too many
        return
    except lark.indenter.DedentError:
        told = False
    assert reads(automaton, text) == told
