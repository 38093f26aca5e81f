"""Patterns with lookaheads of any regular kind match as in `re` and Lark.

Lark and `re` decide; nothing of ours is taken for granted.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

import structgen as sg
from structgen.grammar.lookaround.lookahead import lookahead_automata
from structgen.grammar.terminals.automata import VIOLATED
from structgen.grammar.terminals.patterns import matches_of
from tests.grammar.laws import check_completions, check_masks, reads
from tests.grammar.reference import lark_accepts
from tests.grammar.terminals.test_patterns import TEXTS, found_in, length

PATTERNS = [
    r"[ab]+(?=[=:])", r"1+(?!\.)", r"a+(?=b)", r"a(?=b$)|b", "a(?=\u00e9|ab)", r"(a|ab)(?=b)",
    r"a(?!b)(?=a?b?1|$)", r"\s+(?=\S)", r"(?:a(?=b)|b(?=a))+", r"(?:a|ab)+?(?=b)",
    "\u00e9+(?!\u20ac)",
]  # fmt: skip


def end_of(lookahead: int, pattern: str, rest: str, *, ordered: bool) -> bool:
    """Whether a lookahead state of a pattern is satisfied by the rest of the text."""
    automata = automata_of(pattern, ordered=ordered)
    for byte in rest.encode():
        lookahead = int(automata.lookahead[lookahead, byte])
    return not automata.violated_at_end[lookahead] and lookahead != VIOLATED


def automata_of(pattern: str, *, ordered: bool) -> Any:
    """The automata of a pattern that looks ahead."""
    ahead = matches_of(pattern).lookahead
    assert ahead is not None
    return lookahead_automata(ahead, matches_of(pattern).language, ordered)


def check(pattern: str, text: str) -> None:
    """Of all ends just that of the match of `re` is one; whether there is one is known, too."""
    for ordered in (False, True):
        automata, state, ends = automata_of(pattern, ordered=ordered), 0, []
        for count, char in enumerate([*text, ""]):
            if state >= 0 and automata.accepts[state]:
                no_longer = int(automata.no_longer[state])
                if end_of(no_longer, pattern, text[count:], ordered=ordered):
                    ends.append(count)
            for byte in char.encode():
                state = int(automata.next[state, byte]) if state >= 0 else -1
        wanted = length(pattern, text, 0)
        assert ends == ([] if wanted is None else [wanted]), (text, ordered)
    no_match = int(automata.no_match[0])
    assert end_of(no_match, pattern, text, ordered=True) == (wanted is None), text


@pytest.mark.parametrize("pattern", PATTERNS)
def test_ends_are_those_of_re(pattern: str) -> None:
    """On all texts of up to five of the characters that matter."""
    letters = [c for c in "ab=:1. \u00e9\u20ac" if c in pattern or c in "ab "][:5]
    for size in range(6):
        for chosen in itertools.product(letters, repeat=size):
            check(pattern, "".join(chosen))


BODIES = ["a+", "[ab]+", "a|ab", "ab?", "a*?b", "b{1,2}?", ".", r"(?s:.)"]
LOOKS = ["(?=a)", "(?!b)", "(?=b$)", r"(?=[ab]\n|$)", r"(?!ab|\n)", "(?=a(?!b))", r"\Z"]
PIECES = st.tuples(
    st.sampled_from(BODIES), st.sampled_from(LOOKS), st.sampled_from(["", "+", "{2}", "*?"])
).map(lambda drawn: "(?:(?:{}){}){}".format(*drawn))


@settings(max_examples=150)
@given(st.lists(PIECES, min_size=1, max_size=2), st.sampled_from(["", "|"]), TEXTS)
def test_random_patterns_end_where_re_says(
    pieces: list[str], between: str, texts: list[str]
) -> None:
    """One after the other, or one of both; those that are told without it aside."""
    pattern = between.join(["b?", *pieces][len(pieces) - 1 :])
    if found_in(pattern).lookahead is not None:
        for text in texts:
            check(pattern, text)


def test_what_is_ignored_last_leads_to_the_end() -> None:
    """An ignored terminal that looks ahead is none behind all others, where nothing follows it."""
    grammar = "start: X+\nX: /ab/\n%ignore / +(?=a)/"
    automaton = sg.Lark(grammar).automaton()
    at, _ = automaton.run(automaton.start, b"ab ")
    assert bytes(automaton.next_bytes(at)) == b" a"
    once = sg.Lark(grammar.replace("+", "", 1)).automaton()
    assert bytes(once.next_bytes(once.run(once.start, b"ab")[0])) == b""
    assert once.run(once.start, b"ab ")[0] < 0


GRAMMARS = {
    "a key": ("start: (KEY | NAME) SIGN NAME?\nKEY: /[ab]+(?=[=:])/\nNAME: /[ab]+/\nSIGN: /[=:]/",
              "ab=:"),
    "a literal": ('start: (NUM | "." | A)+\nNUM: /1+(?!\\.)/\nA: "1"', "1."),
    "the end": ("start: X Y\nX: /a(?=b$)|b/\nY: /b+/", "ab"),
    "shut out": ("start: (X | Y)+\nX: /a+(?=b)/\nY: /ab?/", "ab"),
    "ignored": ("start: (K|N)+\nK.2: /a(?=b|ab)/\nN: /[ab]/\n%ignore / +(?=[ab])/", "ab "),
    "in turns": ("start: X+\nX: /a(?=b)|b(?=a|$)/", "ab"),
    "order": ("start: (K|N)+\nK: /(a|ab)(?=b)/\nN: /[ab]/", "ab"),
}  # fmt: skip


@pytest.mark.parametrize("lexing", ["free", "longest"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_read_what_lark_reads(name: str, lexing: Any) -> None:
    """All short texts, with both lexers; masks and completions keep the laws."""
    grammar, letters = GRAMMARS[name]
    how: Any = {"free": ("earley", "dynamic"), "longest": ("lalr", "contextual")}[lexing]
    parser = Lark(grammar, parser=how[0], lexer=how[1])
    automaton = sg.Lark(grammar, lexing=lexing).automaton()
    short = ["".join(t) for n in range(6) for t in itertools.product(letters, repeat=n)]
    fits = {text for text in short if lark_accepts(parser, text)}
    assert {text for text in short if reads(automaton, text)} == fits
    tokens = [text.encode() for text in short if 0 < len(text) < 3]
    check_masks(automaton, tokens, 3)
    if set(letters) <= set("abc"):
        check_completions(automaton, lambda text: bool(lark_accepts(parser, text)), short, 4)


def test_a_lookahead_may_have_thousands_of_states() -> None:
    """Letters of any script, counted: ten thousand byte states and more in a lookahead DFA."""
    automaton = sg.Lark("start: X /\\w+y?/\nX: /x(?=\\w{30}y)/").automaton()
    assert reads(automaton, "x" + "é" * 30 + "y")
    assert not reads(automaton, "x" + "é" * 29 + "y")
