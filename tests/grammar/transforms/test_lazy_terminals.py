"""Grammars with large terminals compile at once and read the texts that they should."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lark import Lark as RealLark
from lark.exceptions import LarkError

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.embedded.automaton import NestingAutomaton
from structgen.grammar.transforms.lazy_terminals import LazyText, with_lazy_terminals
from structgen.grammar.transforms.regular import regular_language
from structgen.masks.trie_walk import TrieWalk
from structgen.regular.regex import EMPTY

NAMES = [f"name-{i * 7919 % 1000:03d}" for i in range(300)]
ANY = "|".join(NAMES)
LISTED = " | ".join(f'"{name}"' for name in NAMES)
LAST_BUT = "start: CODE DOT\nCODE: /(a|b)*a(a|b){12}/\nDOT: /[.]/"

PATTERNS = {  # a grammar, and the pattern of its texts
    "counts in counts": (
        sg.Gbnf('root ::= (([a-z]{1,9} " "){1,30} "\\n"){1,30}'), r"(([a-z]{1,9} ){1,30}\n){1,30}",
        ["a b \n", "abc \nd \n"], ["a\n", "abcdefghij \n", "a \n\n", ""],
    ),
    "pieces of one or two": (
        sg.Gbnf('root ::= "<" ([^\\\\>] | "\\\\" [a>]){1,700} ">"'), r"<([^\\>]|\\[a>]){1,700}>",
        ["<a>", "<\\>>", "<" + "a" * 700 + ">"], ["<>", "<" + "a" * 701 + ">", "<\\b>"],
    ),
    "texts that end with a sign": (
        sg.Lark(r"""start: S S
S: /"([^"\\]|\\["n]){1,600}"/"""), r'("([^"\\]|\\["n]){1,600}"){2}',
        ['"a""b"', r'"\"""\n"'], ['"a"', '"""a"', '"a"b"', '"a""' + "a" * 601 + '"'],
    ),
    "a count in ISO 14977": (
        sg.Ebnf('code = 900 * letter, ";" ;\nletter = "a" | "b" | "c" ;'), r"[abc]{900};",
        ["abc" * 300 + ";"], ["abc" * 299 + "ab;", ";"],
    ),
    "sets that multiply": (
        sg.Lark(LAST_BUT), r"[ab]*a[ab]{12}\.",
        ["a" * 13 + ".", "ba" * 9 + "."], ["b" * 30 + ".", "a" * 12 + ".", "."],
    ),
}  # fmt: skip
SPACED = (
    f"({ANY})( ({ANY}))*", [NAMES[5], f"{NAMES[0]} {NAMES[299]}"],
    ["name-", f"{NAMES[0]} ", f"{NAMES[0]}1"],
)  # fmt: skip
BRACKETED = (f"<({ANY})>", [f"<{NAMES[5]}>"], ["<name-", "<>", NAMES[0], f"<{NAMES[0]}1>"])
LISTS = {  # the same with lists of words
    "alternatives of a rule": (sg.Lark(f'start: id (" " id)*\nid: {LISTED}'), *SPACED),
    "alternatives of a terminal": (sg.Lark(f'start: ID (" " ID)*\nID: {LISTED}'), *SPACED),
    "a pattern": (sg.Lark(f'start: ID (" " ID)*\nID: /{ANY}/'), *SPACED),
    "a rule in GBNF": (sg.Gbnf(f'root ::= id (" " id)*\nid ::= {LISTED}'), *SPACED),
    "a terminal with a list in it": (sg.Lark(f'start: ID\nID: "<" ({LISTED}) ">"'), *BRACKETED),
    "a list between blanks": (
        sg.Gbnf(f'root ::= "<" [a-z ]* ({LISTED}) [ \\n]* ">" [ \\n]*'),
        f"<[a-z ]*({ANY})[ \\n]*>[ \\n]*",
        [f"<name {NAMES[5]}\n> ", f"<{NAMES[0]}>"],
        ["<name>", f"<{NAMES[0]}1>", NAMES[0]],
    ),
    "a sequence in GBNF": (sg.Gbnf(f'root ::= "<" ({LISTED}) ">"'), *BRACKETED),
}
ALL = PATTERNS | LISTS


@pytest.mark.parametrize("name", ALL)
def test_texts_are_those_of_the_pattern(name: str) -> None:
    """Lists of words are terminals; all else is a regular language. By `re` the verdicts agree."""
    spec, pattern, fits, fails = ALL[name]
    automaton = spec.automaton()
    assert isinstance(automaton, GrammarAutomaton if name in LISTS else Engine)
    for text in fits + fails:
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == (text in fits)
        assert bool(re.fullmatch(pattern, text)) == (text in fits)


@pytest.mark.parametrize("name", ALL)
def test_masks_are_what_single_tokens_do(name: str) -> None:
    """Also where a bound is too far for any token to reach."""
    spec, _, fits, _ = ALL[name]
    pieces = [b"<end>", b"a", b"ab", b"ba.", b" ", b"\n", b" b", b">", b"<", b"\\", b"\\>", b"\\a",
              b"a>", b"name-", b"00", b";", b".", b"1 n", b"aaaaaaaaaaaa", b"a\\"]  # fmt: skip
    every = [bytes((i,)) for i in range(256) if bytes((i,)) not in pieces]
    constraint = sg.compile(spec, sg.Vocabulary([*pieces, *every], eos_ids=[0]))
    row = np.zeros(constraint.vocabulary.words, np.int32)
    for text in fits[-1:]:
        state = constraint.start
        for i in range(min(len(text), 60)):
            constraint.fill_mask(state, row)
            allowed = np.unpackbits(row.view(np.uint8), bitorder="little")
            for token in range(1, len(pieces)):
                assert allowed[token] == (constraint.advance(state, token) != sg.DEAD)
            state = constraint.advance_bytes(state, text[i].encode())


RECURSIVE = f"""
start: "(" start* ")" | id | TEXT "."
id: {LISTED}
TEXT: /'[a-z]{{0,300}}'/
"""


def test_in_a_recursive_grammar_they_are_languages_inside() -> None:
    """Lark itself says which texts fit."""
    spec, real = sg.Lark(RECURSIVE), RealLark(RECURSIVE, ambiguity="explicit")
    automaton = spec.automaton()
    assert isinstance(automaton, NestingAutomaton)
    long = "'" + "a" * 300
    texts = [NAMES[3], "()", f"({NAMES[3]}{NAMES[4]}('abc'.))", "('a'.)'", "(name-)", f"{long}'."]
    for text in (*texts, "'a'", f"{long}a'."):
        try:
            real.parse(text)
            fits = True
        except LarkError:
            fits = False
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == fits


def test_a_saved_one_is_loaded(tmp_path: object) -> None:
    """Of both kinds, with the same masks."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes((i,)) for i in range(256))], eos_ids=[0])
    for i, spec in enumerate((sg.Lark(RECURSIVE), *(found[0] for found in ALL.values()))):
        constraint = sg.compile(spec, vocabulary)
        constraint.mask_view(constraint.start)
        path = f"{tmp_path}/{i}.sgc"
        constraint.save(path)
        loaded = sg.load(path, vocabulary)
        text = constraint.shortest_completion(constraint.start)
        for n in range(len(text)):
            at = loaded.advance_bytes(loaded.start, text[:n])
            state = constraint.advance_bytes(constraint.start, text[:n])
            assert (loaded.mask_view(at) == constraint.mask_view(state)).all()


@pytest.mark.parametrize(
    ("grammar", "free"),
    [
        ('start: NAME "=" NAME\nNAME: /[a-z]+/', True),
        ('start: NAME ("x" | "=")\nNAME: /[a-z]+/', False),  # the x goes on with the name
        ('start: NAME NAME? "="\nNAME: /[a-z]+/', False),
        ('start: NAME "="\nNAME: /[a-z]+/\n%ignore /a /', False),
        ('start: NAME "="\nNAME: /[a-z]+/\n%ignore " "', True),
        ('start: NAME "=" "a"?\nNAME: /[a-z]{1,300}=?/', False),
        ('start: NAME "a"* "="\nNAME: /[a-z]{1,300}|=/', False),
        ('start: NAME "a"* "="\nNAME: /=?[a-z]{1,300}!/', True),  # all end with a sign
    ],
)
def test_a_terminal_is_free_if_nothing_behind_it_can_make_it_longer(
    grammar: str, free: bool
) -> None:
    """Its condition is dropped then and only then, and the texts are Lark's either way."""
    rules = with_lazy_terminals(sg.Lark(grammar).rules())
    assert (rules.terminals["NAME"].longer is EMPTY) == free
    real = RealLark(grammar)
    automaton = sg.Lark(grammar).automaton()
    for text in "a=b ab= abx ax x ab a_= aa_= ab_c ab==a a=a a!aa= =a!=".split():
        text = text.replace("_", " ")
        try:
            real.parse(text)
            fits = True
        except LarkError:
            fits = False
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == fits


CLAUSE = "([a-z]{{1,7}} [.])? [a-z]+ ([0-9] ([0-9] [0-9]?)?)?"
CLAUSES = "\n".join(
    ["root ::= text", 'text ::= "(" text ")" | clauses']
    + ["clauses ::= " + " ".join(f"c{i}?" for i in range(12))]
    + [
        f'c{i} ::= " clause{i} {"x" * 8} " {CLAUSE}'.replace("{{", "{").replace("}}", "}")
        for i in range(12)
    ]
)


def test_a_large_piece_of_small_parts_is_a_rule() -> None:
    """It needs no language inside, and its texts are those of the pattern."""
    spec = sg.Gbnf(CLAUSES)
    grammar = with_lazy_terminals(spec.rules())
    assert not [t for t in grammar.terminals.values() if isinstance(t.nested, LazyText)]
    automaton = spec.automaton()
    assert isinstance(automaton, GrammarAutomaton)
    x = "x" * 8
    for text, fits in [
        ("", True),
        (f" clause0 {x} ab", True),
        (f"( clause0 {x} a.b12 clause11 {x} abcdefgh)", True),
        (f" clause1 {x} a clause0 {x} a", False),
        (f" clause0 {x} abcdefgh.a", False),
        (f"( clause0 {x} a", False),
    ]:
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == fits


@pytest.mark.parametrize("between", ['ws ":" ws', 'name ws ("," ws name ws)* ":" ws'])
def test_a_large_piece_that_counts_nothing_is_a_rule(between: str) -> None:
    """Although its comments can go on with what stands behind them, so that sets multiply."""
    grammar = sg.Gbnf(
        f'root ::= "(" root ")" | "x" | "{{" ws root "=" {between} root ws "}}"\n'
        'name ::= [a-z]+\nws ::= ([ \\n] | "#" [^\\n]* "\\n"? | "/*" ([^*] | "*" [^/])* "*/")*'
    )
    automaton = grammar.automaton()
    assert isinstance(automaton, GrammarAutomaton)
    blanks = r"([ \n]|#[^\n]*\n?|/\*([^*]|\*[^/])*\*/)*"
    spelled = between.replace('"', "").replace(" ", "").replace("name", "[a-z]+")
    pattern = re.compile(rf"\{{{blanks}x={spelled}x{blanks}\}}".replace("ws", blanks))
    for middle in (":", "a:", "# :#:", "a,b /* : */ :", "a,#\nb:", ": # a:", "", "a", "/* : */"):
        text = f"{{x={middle}x}}"
        at, _ = automaton.run(automaton.start, text.encode())
        fits = at >= 0 and automaton.is_accepting(at)
        assert fits == (pattern.fullmatch(text) is not None), text


def test_small_grammars_stay_as_they_are() -> None:
    """Nothing in them is lazy."""
    rules = with_lazy_terminals(sg.Lark('start: "a" | start "b"').rules())
    assert all(terminal.nested is None for terminal in rules.terminals.values())
    assert regular_language(rules) is None


@pytest.mark.parametrize(
    ("pattern", "lasts"),
    [
        ('"[^"]{0,300}"[ \\n]{0,20}', b'" \n'),
        ("[a-z]{9}(x|yz)?", bytes(range(ord("a"), ord("z") + 1))),
        ("(ab|cd){1,9}|e?", b"bde"),
        ("[ä-ü]{3}", bytes(range(0x80, 0xC0))),
    ],
)
def test_what_texts_end_with_is_known(pattern: str, lasts: bytes) -> None:
    """Whatever a token has behind other bytes is not looked at for the end of a text."""
    language = sg.Regex(pattern).language()
    assert language is not None
    assert LazyText(language, "").last_bytes() == {*lasts}


def test_candidates_are_the_nodes_between_two_bytes() -> None:
    """Those with a byte of the first set above one of the second; and the nodes above all nodes."""
    tokens = [b"<end>", b"a", b"ab", b"abc", b"b a", b"bb", b"ba", b"c" * 300, b"cb"]
    walk = TrieWalk(sg.Vocabulary(tokens, eos_ids=[0]))
    paths = walk.paths(np.arange(len(walk.trie), dtype=np.int32))
    assert {*paths} == {t[:n] for t in tokens[1:] for n in range(1, len(t) + 1)}
    found = walk.candidates(frozenset(b"ab"), frozenset(b"bc "))
    wanted = {p[:-1] for p in paths if len(p) > 1 and p[-2] in b"ab" and p[-1] in b"bc "}
    assert walk.paths(found.nodes) == sorted(wanted)
