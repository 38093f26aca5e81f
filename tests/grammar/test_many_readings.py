"""However many ways there are to read a token, masks are exact and take little work."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.grammar.automaton import masks
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Grammar
from tests.grammar.laws import check_masks
from tests.grammar.test_automaton import TOKENS, automaton_of, grammars

# The number of ways to read n equal characters grows as fast as an exponential function of n.
AMBIGUOUS = {
    "a piece and its double": sg.Lark('start: ("-" | "--")* "a"'),
    "words without blanks": sg.Gbnf('root ::= word root?\nword ::= [a-z-]+ " "*'),
    "blanks on both sides": sg.Gbnf(
        "root ::= ws | ws item root\nitem ::= ws [a-z-]+ ws\nws ::= [ -]*"
    ),
    "nested brackets": sg.Lark('start: a+\na: "x" | "-" a+ "-" | "--" a+ "--"'),
    "sums": sg.Lark('start: "a" | start "-" start | "-" start'),
    "cyclic": sg.Lark('start: start start | start | | "-" | "a"'),
    "hidden left recursion": sg.Lark('start: e start "-" | "-" start | "a"\ne: "-"?'),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_work_does_not_grow_with_the_number_of_readings(name: str) -> None:
    """Twice as many characters make at most some eight times as many records."""
    records = []
    for count in (50, 100, 200):
        vocabulary = sg.Vocabulary([b"<end>", b"-", b"a", b"x", b"-" * count], eos_ids=[0])
        constraint = sg.compile(AMBIGUOUS[name], vocabulary)
        constraint.mask_view(constraint.start)
        state = constraint.advance(constraint.start, 1)
        for _ in range(20):
            constraint.mask_view(state)
            state = constraint.advance(state, 1)
        assert state != sg.DEAD
        records.append(constraint.automaton.size["records"])
    assert records[2] <= 8 * records[1] <= 64 * records[0]
    assert records[2] < 400_000


@pytest.mark.parametrize("name", ["sums", "cyclic", "hidden left recursion"])
def test_stacks_below_an_end_do_not_pile_up(name: str) -> None:
    """Where calls leave nothing to be read behind them, a set of stacks stays small."""
    vocabulary = sg.Vocabulary([b"<end>", b"-", b"a", b"-" * 400], eos_ids=[0])
    constraint = sg.compile(AMBIGUOUS[name], vocabulary)
    state = constraint.start
    for _ in range(20):
        constraint.mask_view(state)
        state = constraint.advance(state, 1)
    assert state != sg.DEAD
    assert constraint.automaton.size["records"] < 2000


# How masks are made: by parts, by the walk over sets, by the walk over the tops of stacks first, by
# one way to read each token first. PATIENCE, MANY_RECORDS, MANY_TOPS:
WAYS = [(1 << 30, 1 << 30, 0), (0, 1 << 30, 0), (0, -(1 << 30), 1 << 30), (0, -(1 << 30), 0)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_masks_of_ambiguous_grammars_are_exact(
    name: str, way: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However they are made, a token is allowed if reading it leads on."""
    monkeypatch.setattr(masks, "PATIENCE", way[0])
    monkeypatch.setattr(masks, "MANY_RECORDS", way[1])
    monkeypatch.setattr(masks, "MANY_TOPS", way[2])
    texts = "- a x -- -a a- -x- ---a-- x-x a--a".split()
    tokens = [b"<end>", b" ", b" -", b"a ", *(text.encode() for text in texts)]
    constraint = sg.compile(AMBIGUOUS[name], sg.Vocabulary(tokens, eos_ids=[0]))
    states = [constraint.start]
    for state in states:
        row = constraint.mask_view(state)
        for token in range(1, len(tokens)):
            after = constraint.advance(state, token)
            assert (after != sg.DEAD) == bool(row[0] >> token & 1)
            if after != sg.DEAD and after not in states and len(states) < 60:
                states.append(after)


@settings(max_examples=90, deadline=None)
@given(grammars() | grammars("viable"), st.integers(0, 1 << 30), st.sampled_from(WAYS))
def test_parts_and_the_walks_make_the_same_masks(
    of: Grammar, seed: int, way: tuple[int, int, int]
) -> None:
    """Of random grammars: what reading each token says."""
    automaton = automaton_of(of)
    if automaton is not None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(masks, "PATIENCE", way[0])
            patched.setattr(masks, "MANY_RECORDS", way[1])
            patched.setattr(masks, "MANY_TOPS", way[2])
            check_masks(automaton, TOKENS, seed)


def palindromes(middle: str) -> sg.Lark:
    """Each of some letters may be the middle, and each but the last may stand around."""
    around = " | ".join(f'"{c}" p "{c}"' for c in "abcd")
    return sg.Lark(f"start: p\np: /{middle}/ | {around}")


# Rules that end with what they began with, or with something else; some terminals are long.
MIRRORED = {
    "any letter around": palindromes("[a-d]"),
    "any letter in the middle": palindromes("[a-e]"),
    "one letter in the middle": palindromes("e"),
    "nothing in the middle": palindromes("[a-c]?"),
    "many letters in the middle": sg.Gbnf(
        'root ::= p\np ::= [a-d]* | "a" p "a" | "b" p "b" | "e" p "ea" | [ab]+ "e" | "ce" p "b"'
    ),
    "words around": sg.Lark('start: p\np: "e" | "ab" p "ba" | "b" p "a" | "ca" p "da" | "c" p p'),
    "ignored letters": sg.Lark('start: p\np: "e" | "ab" p "ba" | "b" p "c"\n%ignore "d"'),
    "ignored letters that rules read": sg.Lark('start: "d" p*\np: "a" | "d" p "b"\n%ignore "d"'),
    "rules that call another": sg.Lark(
        'start: p | q\np: /[a-c]/ | "a" p "b" | "b" q "a" "d"?\nq: "d" | "c" p "c" | "a" q "e" q'
    ),
}


@pytest.mark.parametrize("tops", [0, 1 << 30])
@pytest.mark.parametrize("name", MIRRORED)
def test_stacks_are_read_where_their_tops_do_not_tell(name: str, tops: int) -> None:
    """All texts of up to four letters are tokens, at places with other letters below the top."""
    words = ["".join(w) for n in range(1, 5) for w in product("abcde", repeat=n)]
    vocabulary = sg.Vocabulary([b"<end>", *(w.encode() for w in words)], eos_ids=[0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(masks, "PATIENCE", 0)
        patched.setattr(masks, "MANY_RECORDS", -(1 << 30))
        patched.setattr(masks, "MANY_TOPS", tops)
        constraint = sg.compile(MIRRORED[name], vocabulary)
        for before in "- a ab abc abcd abcdd abe abccba bba aba d da".replace("-", "").split(" "):
            state = constraint.start
            for letter in before:
                state = constraint.advance(state, words.index(letter) + 1)
            if state != sg.DEAD:
                row = constraint.mask_view(state)
                for token in range(1, len(words) + 1):
                    allowed = bool(row[token >> 5] >> (token & 31) & 1)
                    assert allowed == (constraint.advance(state, token) != sg.DEAD)


def test_stacks_that_differ_below_their_tops_take_little_work() -> None:
    """A walk by the tops makes few records at each place of a palindrome, however many tokens."""
    words = ["".join(w) for n in range(1, 6) for w in product("abcd", repeat=n)]
    others = (bytes((byte,)) for byte in range(256))
    vocabulary = sg.Vocabulary([b"<end>", *(w.encode() for w in words), *others], eos_ids=[0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(masks, "PATIENCE", 0)
        patched.setattr(masks, "MANY_RECORDS", 100)
        constraint = sg.compile(palindromes("[a-d]"), vocabulary)
        state, records = constraint.start, []
        for letter in "abcddcbaabcddcba":
            constraint.mask_view(state)
            records.append(constraint.automaton.size["records"])
            state = constraint.advance(state, words.index(letter) + 1)
    assert len(words) > 1300
    assert records[-1] - records[5] < 20 * (len(records) - 6)


def test_what_a_lexeme_reads_by_itself_need_not_be_read_otherwise() -> None:
    """Each letter may close a palindrome, or go on in its middle, which decides by itself."""
    words = ["".join(w) for n in range(1, 6) for w in product("abcd", repeat=n)]
    others = (bytes((byte,)) for byte in range(256))
    vocabulary = sg.Vocabulary([b"<end>", *(w.encode() for w in words), *others], eos_ids=[0])
    around = " | ".join(f'"{c}" p "{c}"' for c in "abcd")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(masks, "PATIENCE", 0)
        patched.setattr(masks, "MANY_RECORDS", 100)
        constraint = sg.compile(sg.Gbnf(f"root ::= p\np ::= [a-d]* | {around}"), vocabulary)
        state = constraint.start
        for letter in "abcddcbaabcddcba":
            row = constraint.mask_view(state)
            assert all(row[token >> 5] >> (token & 31) & 1 for token in range(1, len(words) + 1))
            state = constraint.advance(state, words.index(letter) + 1)
    assert constraint.automaton.size["records"] < 1000


def cyclic(count: int) -> sg.Lark:
    """Rules that call each other in circles, and may all be empty."""
    return sg.Lark(
        "start: r0\n"
        + "\n".join(
            f"r{i}: r{i * 2 % count} | r{(i * 3 + 1) % count} | "
            f'"{"abcdefgh"[i % 8]}" r{(i + 1) % count} r{(i + 3) % count} | "x" | '
            for i in range(count)
        )
    )


OVERLAPPING = sg.Lark(
    "start: ("
    + " | ".join(f'T{i} "{i}"' for i in range(64))
    + ")+\n"
    + "\n".join(f"T{i}: /[a-h]*{'abcdefgh'[i // 8]}{'abcdefgh'[i % 8]}[a-h]*/" for i in range(64))
)


@pytest.mark.parametrize("spec", [cyclic(24), OVERLAPPING], ids=["cyclic", "overlapping terminals"])
def test_one_way_to_read_a_token_is_enough(spec: sg.Lark) -> None:
    """Where there are thousands of sets of rules or of terminals, masks soon make few records."""
    words = ["".join(w) for n in range(1, 5) for w in product("abcdefgh", repeat=n)]
    others = [bytes((byte,)) for byte in range(256)]
    tokens = [b"<end>", *(w.encode() for w in words), *others, b"ab1", b"abcd12", b"abcdab5ab"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(masks, "PATIENCE", 0)
        patched.setattr(masks, "MANY_RECORDS", 100)
        patched.setattr(masks, "MANY_TOPS", 5000)
        constraint, reader = sg.compile(spec, sg.Vocabulary(tokens, eos_ids=[0])), spec.automaton()
        state, at, records = constraint.start, reader.start, list[int]()
        for letter in "abcdefghhg":
            row = constraint.mask_view(state)
            records.append(constraint.automaton.size["records"])
            for token in [*range(1, len(words), 29), *range(len(words), len(tokens))]:
                allowed = bool(row[token >> 5] >> (token & 31) & 1)
                assert allowed == (reader.run(at, tokens[token])[0] >= 0)
            state, (at, _) = (
                constraint.advance(state, 1 + words.index(letter)),
                reader.run(at, letter.encode()),
            )
    assert records[-1] < 5000


def test_terminals_that_commit_are_read_beside_all_others() -> None:
    """They end these, so stacks are not read one by one, however many records that makes."""
    lazy = sg.Lark('start: p+\np: l | "a" p "a" | "ab"\nl[lazy]: /[ab]+b/')
    vocabulary = sg.Vocabulary([b"<end>", b"a", b"b", b"ab", b"aab", b"bab", b"aba"], eos_ids=[0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(masks, "PATIENCE", 0)
        patched.setattr(masks, "MANY_RECORDS", -(1 << 30))
        automaton = lazy.automaton()
        assert isinstance(automaton, GrammarAutomaton)
        made = masks.GrammarMasks(automaton, vocabulary)
        row = made.row(automaton.start)
        assert made._parts.sizes[made._tries_of.MANY_STACKS] == 0
    for token in range(1, vocabulary.size):
        at, _ = automaton.run(automaton.start, vocabulary.token_bytes(token))
        assert bool(row[0] >> token & 1) == (at >= 0)
