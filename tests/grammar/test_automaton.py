"""The automaton of random and chosen grammars reads exactly their texts."""

from __future__ import annotations

import itertools
import random
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import UnsatisfiableSchemaError
from structgen.grammar.analysis.viability import Viability
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Grammar, Indentation, Rule, Terminal
from structgen.kernels.build.loader import kernels
from structgen.regular.syntax.ecma import parse
from tests.grammar.laws import check_completions, check_masks, reads
from tests.grammar.reference import accepts

PATTERNS = ("a", "b", "ab", "aa", "a+", "[ab]+", "ab?", "b+c", "[abc]", "(ab)+")
TEXTS = ["".join(t) for n in range(5) for t in itertools.product("abc", repeat=n)]
TOKENS = [t.encode() for t in TEXTS if 0 < len(t) < 4]


def terminal(name: str, pattern: str) -> Terminal:
    """A terminal as Lark has it: of each match only the longest counts."""
    language = parse(pattern, anchored=True)
    text = pattern if pattern.isalpha() else None
    width = language.longest
    return Terminal(
        name, language, longer=language, text=text, max_width=width, pattern_length=len(pattern)
    )


def grammar(
    rules: dict[str, str],
    terminals: dict[str, str],
    ignore: tuple[str, ...] = (),
    **options: object,
) -> Grammar:
    """A grammar whose rules are written `a b | c`; its start is the first of them."""
    alternatives = {
        name: tuple(tuple(part.split()) for part in rule.split("|")) for name, rule in rules.items()
    }
    return Grammar(
        next(iter(rules)),
        {name: Rule(name, rule) for name, rule in alternatives.items()},
        {name: terminal(name, pattern) for name, pattern in terminals.items()},
        ignore,
        **options,  # type: ignore[arg-type]
    )


@st.composite
def grammars(draw: st.DrawFn, lexing: str = "free") -> Grammar:
    """A small grammar: recursion of all kinds, empty rules, overlapping terminals."""
    terminals = {f"T{i}": p for i, p in enumerate(draw(st.permutations(PATTERNS))[:3])}
    names = [f"r{i}" for i in range(draw(st.integers(1, 3)))]
    symbols = st.sampled_from(names + list(terminals) * 2)
    rule = st.lists(st.lists(symbols, max_size=3).map(" ".join), min_size=1, max_size=3)
    return grammar({name: "|".join(draw(rule)) for name in names}, terminals, lexing=lexing)


def automaton_of(of: Grammar) -> GrammarAutomaton | None:
    """Its automaton, None when no text fits."""
    try:
        return GrammarAutomaton(of)
    except UnsatisfiableSchemaError:
        return None


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_exactly_the_texts_of_a_grammar_are_read(of: Grammar) -> None:
    """Every short text is accepted iff the definition of the grammar's language says so."""
    automaton = automaton_of(of)
    for text in TEXTS:
        assert (automaton is not None and reads(automaton, text)) == accepts(of, text)


@settings(max_examples=40, deadline=None)
@given(grammars(), st.integers(0, 1 << 30))
def test_no_position_is_a_dead_end_and_completions_are_shortest(of: Grammar, seed: int) -> None:
    """From wherever random bytes lead, the completion ends well and nothing shorter does."""
    automaton = automaton_of(of)
    if automaton is not None:
        check_completions(automaton, partial(accepts, of), TEXTS, seed)


@settings(max_examples=60, deadline=None)
@given(grammars("viable"), st.integers(0, 1 << 30))
def test_nor_is_one_where_the_first_terminal_counts(of: Grammar, seed: int) -> None:
    """As in Lark's contextual lexer: wherever random bytes lead, some text ends well."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    completions, draw, at = automaton.completions(), random.Random(seed), automaton.start
    for _ in range(6):
        end, _ = automaton.run(at, completions.shortest(at))
        assert automaton.is_accepting(end)
        following = automaton.next_bytes(at)
        if not following:
            return
        at, _ = automaton.run(at, bytes((draw.choice(following),)))


@settings(max_examples=60, deadline=None)
@given(grammars() | grammars("viable"), st.integers(0, 1 << 30))
def test_what_is_told_of_threads_is_what_a_search_finds(of: Grammar, seed: int) -> None:
    """Where it is told without a search that a thread can be finished or not, that is so."""
    automaton = automaton_of(of)
    if automaton is None or not automaton.is_checked:
        return
    k, draw, at = kernels("grammar.tables"), random.Random(seed), automaton.start
    viability = Viability(automaton, automaton.items, None)
    automaton.tables.info[k.CHECKED] = kernels("grammar.viability").NEVER
    for _ in range(5):
        live = [p for p in (automaton.run(at, bytes((byte,)))[0] for byte in b"abc") if p >= 0]
        if not live:
            return
        at = draw.choice(live)
        for thread in automaton.threads(at):
            told = viability.prove(thread)
            alone = automaton.ask(kernels("grammar_masks.masks").place_of, *thread)
            found = automaton.completions(b"abc").search(alone)
            assert told is None or told == (found is not None)


@settings(max_examples=40, deadline=None)
@given(grammars() | grammars("viable"), st.integers(0, 1 << 30))
def test_masks_are_what_single_tokens_do(of: Grammar, seed: int) -> None:
    """A token is in the row of a position iff its bytes can be read from there."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    check_masks(automaton, TOKENS, seed)


@pytest.mark.parametrize(
    ("rules", "good", "bad"),
    [
        ({"s": "s A | A"}, ["a", "aaa"], [""]),
        ({"s": "A s | A"}, ["a", "aaa"], [""]),
        ({"s": "e s B | A", "e": "| C"}, ["a", "ab", "cab", "abb"], ["b", "ca"]),
        ({"s": "s s | A |"}, ["", "a", "aaaa"], ["b"]),
        ({"s": "t | A", "t": "s"}, ["a"], ["", "aa"]),
    ],
    ids=["left", "right", "hidden left", "ambiguous", "cycle"],
)
def test_recursion_of_every_kind_ends(
    rules: dict[str, str], good: list[str], bad: list[str]
) -> None:
    """Left, right and hidden left recursion, cycles and ambiguity."""
    automaton = GrammarAutomaton(grammar(rules, {"A": "a", "B": "b", "C": "c"}))
    assert all(reads(automaton, text) for text in good)
    assert not any(reads(automaton, text) for text in bad)


@pytest.mark.parametrize("lexing", ["free", "viable"])
def test_a_longer_lexeme_that_comes_to_nothing_is_forgotten(lexing: str) -> None:
    """`1..2` is INT DOTDOT INT although FLOAT goes on after `1.`."""
    of = grammar(
        {"s": "FLOAT | INT DOTS INT"},
        {"INT": "[0-9]+", "FLOAT": r"[0-9]+\.[0-9]+", "DOTS": r"\.\."},
        lexing=lexing,
    )
    automaton = GrammarAutomaton(of)
    assert all(reads(automaton, text) for text in ("1..2", "1.2", "12..34"))
    assert not any(reads(automaton, text) for text in ("1.", "1", "1.2.3"))


def test_a_terminal_that_leads_nowhere_is_not_offered() -> None:
    """No text is cut into A A where A is read as far as it goes."""
    of = grammar({"s": "A A | B"}, {"A": "a+", "B": "b"}, lexing="viable")
    automaton = GrammarAutomaton(of)
    assert automaton.next_bytes(automaton.start) == [ord("b")]
    with pytest.raises(UnsatisfiableSchemaError):
        GrammarAutomaton(grammar({"s": "A A"}, {"A": "a+"}))


def test_cost_does_not_grow_with_the_text() -> None:
    """A long list takes no more records than a short one, however it recurses."""
    for rule in ("s C A | A", "A C s | A"):
        automaton = GrammarAutomaton(grammar({"s": rule}, {"A": "a+", "C": "c"}))
        automaton.run(automaton.start, b"a" + b"ca" * 10)
        before = automaton.size["records"]
        at, count = automaton.run(automaton.start, b"a" + b"ca" * 10_000)
        assert count == 20_001
        assert automaton.is_accepting(at)
        assert automaton.size["records"] == before


def test_indentation_makes_terminals() -> None:
    """Blocks nest by their widths; a width between two open lines fits nowhere."""
    terminals = {
        "X": "x",
        "C": ":",
        "NL": r"(\n *)+",
        "L": r"\(",
        "R": r"\)",
        "IN": "i",
        "OUT": "o",
    }
    of = grammar(
        {"s": "line s |", "line": "X NL | X C NL IN line s OUT | L X R NL"},
        terminals,
        lexing="viable",
        layout=Indentation("NL", "IN", "OUT", opens=("L",), closes=("R",)),
    )
    automaton = GrammarAutomaton(of)
    good = ["x\n", "x:\n x\n", "x:\n  x\n  x:\n     x\nx\n", "(\n    x\n)\n", "x\n\n\nx\n"]
    bad = ["x", " x\n", "x:\nx\n", "x:\n  x\n x\n", "x:\n x\n  x\n"]
    assert [text for text in good if not reads(automaton, text)] == []
    assert [text for text in bad if reads(automaton, text)] == []


def test_a_stored_automaton_is_the_same() -> None:
    """What is kept of an automaton gives the same positions, also where it had not been yet."""
    of = grammar({"s": "s C A | A"}, {"A": "a+", "C": "c"})
    automaton = GrammarAutomaton(of)
    automaton.run(automaton.start, b"aca")
    again = GrammarAutomaton.restored(automaton.stored())
    for text in (b"a", b"ac", b"acaca", b"b"):
        assert again.run(again.start, text) == automaton.run(automaton.start, text)


def test_words_name_terminals_and_open_rules() -> None:
    """A message says what may come next, and inside which rules."""
    automaton = GrammarAutomaton(
        grammar({"list": "item C list | item", "item": "A"}, {"A": "a", "C": "c"})
    )
    at, _ = automaton.run(automaton.start, b"a")
    assert automaton.expected(automaton.start) == "A (in list)"
    assert "C" in automaton.expected(at)
    assert "the end" in automaton.expected(at)


def test_words_leave_out_a_terminal_that_is_finished() -> None:
    """Behind a literal it is no longer expected; a name may always go on."""
    automaton = GrammarAutomaton(grammar({"call": "L N R"}, {"L": "ab", "N": "c+", "R": "b"}))
    expected = [automaton.expected(automaton.run(automaton.start, b"abc"[:i])[0]) for i in range(4)]
    assert expected == [
        "L (in call)",
        "more of L (in call)",
        "N (in call)",
        "more of N, or R (in call)",
    ]
