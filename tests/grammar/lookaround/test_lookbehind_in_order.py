"""Lookbehinds under an ordered lexer ("longest", "viable") read what Lark reads.

With "longest" Lark's LALR parser and its contextual lexer decide; with "viable" the definition does
(`viable`), for which Lark's lexer is made anew at each place.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import lark.lexer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import GrammarError, Lark

import structgen as sg
from structgen.errors import BudgetError, UnsatisfiableSchemaError, UnsupportedSchemaError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Lexing
from tests.grammar.laws import check_masks, reads
from tests.grammar.lookaround import test_lookbehind as free
from tests.grammar.lookaround.test_lookbehind import check_ends, short_texts
from tests.grammar.reference import lark_accepts
from tests.grammar.viable import Viable

ORDERED: list[Lexing] = ["longest", "viable"]

# Name: grammar, and the letters of its texts; those of `free` are read in order, too.
GRAMMARS = free.GRAMMARS | {
    "a name that reads keywords": (
        'start: (IF NAME | NUM | NAME)+\nIF: "if"\nNAME: /\\b[fi]+/\nNUM: "1"\n%ignore " "',
        "if1 ",
    ),
    "a name that reads keywords of any case": (
        'start: (IF NAME | NUM | NAME)+\nIF: "if"i\nNAME: /\\b[fi]+/\nNUM: "F"\n%ignore " "',
        "ifF ",
    ),
    "the name is ignored": ('start: (B | C | "a" C)+\nB: "b"\nC: "c"\n%ignore /\\b[ab]/', "abc"),
    "a longer one in vain": ("start: A B | C\nA: /a+/\nB: /(?<!a)b/\nC: /[ab]+?b(?=a|$)a?/", "ab"),
    "what ends it looks behind": ("start: (A | B)+\nA: /a+(?!b)/\nB: /(?<=aa)a|\\bb/", "ab"),
    "over several lexemes": (
        'start: (A | B | C)+\nA: "a"\nB: "b"\nC: /(?<=ab b)c|(?<!b)c+/\n%ignore " "',
        "abc ",
    ),
    "a line begins behind what is ignored": (
        'start: (HASH | WORD)+\nHASH: /^#a?/m\nWORD: /[a#]/\n%ignore /\\n/',
        "a#\n",
    ),
    "a pattern that keeps a keyword back and begins alike": (
        """start: r T1* T0 | T3+ T0*
        r: T1*
        T0: "a"
        T1: /(?:\\ba|b)+/
        T3: /(?<=-)a+|ba/
        %ignore " "
        """,
        "ab ",
    ),
    "kept from a keyword by a sign": (
        'start: (X | "x" Y | M)+\nX: /(?<!-)[xy]+/\nY: "y"\nM: "-"',
        "xy-",
    ),
    "conflicts": ('start: a | b\na: A? B\nb: A? "b"\nA: /\\ba/\nB: /(?<=a)b/', "ab"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lark looks for terminals that match the same, if it can, and stumbles over lookbehinds."""
    monkeypatch.setattr(lark.lexer, "has_interegular", False)


def judge(grammar: str, lexing: Lexing) -> Callable[[str], bool | None] | None:
    """What says which texts fit; None where Lark's LALR parser takes no such grammar."""
    if lexing == "viable":
        return Viable(grammar).accepts
    try:
        parser = Lark(grammar, parser="lalr", lexer="contextual")
    except GrammarError:
        return None
    return lambda text: lark_accepts(parser, text)


def check(grammar: str, letters: str, most: int, lexing: Lexing, seed: int) -> int:
    """A grammar reads what is to be read; nothing leads to a dead end; how many texts fit."""
    try:
        fits = judge(grammar, lexing)
    except UnsatisfiableSchemaError:
        fits = None
    if fits is None:
        return 0
    texts = short_texts(letters, most)
    told = {text for text in texts if fits(text)}
    try:
        automaton = sg.Lark(grammar, lexing=lexing).automaton()
    except UnsatisfiableSchemaError:
        assert not told
        return 0
    assert isinstance(automaton, GrammarAutomaton)
    assert {text for text in texts if reads(automaton, text)} == told
    check_ends(automaton, texts[: sum(len(letters) ** n for n in range(4))], told, fits)
    tokens = [text.encode() for text in texts if 0 < len(text) < 4]
    check_masks(automaton, tokens, seed)
    check_masks(GrammarAutomaton.restored(automaton.stored()), tokens, seed)
    return len(told)


@pytest.mark.parametrize("lexing", ORDERED)
@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_read_what_is_to_be_read(name: str, lexing: Lexing) -> None:
    """All short texts."""
    grammar, letters = GRAMMARS[name]
    assert check(grammar, letters, {2: 7, 3: 5, 4: 4}[len(letters)], lexing, 1)


LITERALS = ['"a"', '"ab"', '"b"', '"-"', '"b-"', '"ab"i', '"B"i']


def random_grammar(draw: random.Random) -> str:
    """As for `free`, with literals that patterns may read, and priorities."""
    lines = free.random_grammar(draw).split("\n")
    for i, line in enumerate(lines):
        name, text = line.split(":", 1) if line.startswith("T") else ("", "")
        if name and draw.random() < 0.25:
            lines[i] = f"{name}: {draw.choice(LITERALS)}"
        elif name and draw.random() < 0.2:
            lines[i] = f"{name}.{draw.choice([1, -1])}:{text}"
    if draw.random() < 0.15:
        lines.append("%ignore " + draw.choice(['"a"', '" "', "/(?<=b)a/"]))
    return "\n".join(lines)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 30), lexing=st.sampled_from(ORDERED))
def test_random_grammars_read_what_is_to_be_read(seed: int, lexing: Lexing) -> None:
    """Or are refused for literals of either case that no lexer of ours can tell from a pattern."""
    grammar = random_grammar(random.Random(seed))
    letters = "ab- " if "%ignore" in grammar else "ab-\n"
    if '"i' in grammar:
        letters = f"{letters[:3]}B"
    try:
        check(grammar, letters, 4, lexing, seed)
    except UnsupportedSchemaError as error:
        if '"i' not in grammar or "the lexer cannot tell" not in str(error):
            raise


WORDS = r"""start: ("if" expr | NAME "=" expr)*
expr: term (("+" | "and") term)*
term: NAME | NUM | "(" expr ")"
NAME: /\b[a-z]+\b/
NUM: /[0-9]+/
%ignore /\s+/
"""


@pytest.mark.parametrize("lexing", ORDERED)
def test_white_space_between_terminals_spares_searching(lexing: Lexing) -> None:
    """Also where a pattern reads the keywords, and behind some texts keeps them from being read."""
    for grammar in (free.KEYWORDS, WORDS):
        automaton = sg.Lark(grammar, lexing=lexing).automaton()
        assert not automaton.is_checked  # type: ignore[attr-defined]
        assert reads(automaton, "if a + (12 and b) c = 3")
        assert not reads(automaton, "x = 3and b")


@pytest.mark.parametrize("lexing", ORDERED)
def test_a_joined_automaton_reads_what_both_do(lexing: Lexing) -> None:
    """A grammar with a rule."""
    spec = sg.Lark(free.KEYWORDS, lexing=lexing)
    alone, both = spec.automaton(), sg.all_of(spec, sg.regex("[a-z= ]*")).automaton()
    for text in ("if a", "ifa", "a=b and c", "a=band c", "a=b andc", "a = 1and 2", ""):
        assert reads(both, text) == (reads(alone, text) and "1" not in text)


def test_a_literal_that_cannot_be_told_from_a_pattern_is_refused() -> None:
    """The pattern may match where the literal ends or not; with the place of the literal."""
    for lexing in ORDERED:
        for pattern in (r"\bab\b", r"ab\b"):
            grammar = f'start: A* B*\nA: "ab"i\nB: /{pattern}/'
            with pytest.raises(UnsupportedSchemaError, match="the lexer cannot tell A from B") as e:
                sg.Lark(grammar, lexing=lexing).automaton()
            assert e.value.location == "line 2 column 1"


def test_literals_of_either_case_are_read_beside_patterns() -> None:
    """Where the pattern has come to nothing, but not where it has matched before."""
    check('start: A A+ | B "c"\nA: /[ab]{2}/\nB: "ab"i\n%ignore "a"', "abB", 5, "longest", 1)
    automaton = sg.Lark('start: A | B "c"\nA: /[ab]+/\nB: "ab"i', lexing="longest").automaton()
    assert automaton.run(automaton.start, b"aB")[0] < 0


@pytest.mark.parametrize("lexing", ORDERED)
def test_too_many_rules_are_refused(lexing: Lexing) -> None:
    """As with terminals that are cut freely."""
    parts = [f"r{i}: (s{i} | A) r{i + 1} s{i} r{i + 1}\ns{i}: B r{i + 1} | A*" for i in range(60)]
    rules = "\n".join(["start: r0", *parts, "r60: (A | B)*"])
    with pytest.raises(BudgetError, match="more than 150000 places") as caught:
        sg.Lark(f"{rules}\nA: /(?<=a...)a|b/\nB: /[ab]/", lexing=lexing).automaton()
    assert caught.value.location == "line 123 column 1"
