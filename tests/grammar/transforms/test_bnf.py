"""Spelling out repetitions and inlining rules change no text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import BudgetError, SpecError, UnsupportedSchemaError
from structgen.grammar.bnf import Bnf
from structgen.grammar.expressions import (
    Choice,
    Difference,
    Expression,
    Name,
    Repeat,
    Sequence,
    Text,
    without_empty,
)
from structgen.grammar.ir import Grammar
from structgen.grammar.transforms.inlining import with_inlining
from structgen.regular.regex import literal, matches
from structgen.regular.syntax.ecma import parse
from tests.grammar.reference import accepts

TEXTS = st.text("ab", max_size=6)


def grammar(rules: dict[str, Expression]) -> Grammar:
    """The grammar of rules, as they are."""
    bnf = Bnf()
    for name, expression in rules.items():
        bnf.add(name, expression)
    return bnf.grammar("start")


def text(pattern: str) -> Text:
    """A regular piece."""
    return Text(parse(pattern, anchored=True), pattern)


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "ab?", "a*", "(ab)*", "a|bb"]).map(text)
    | st.sampled_from(["start", "x", "y"]).map(Name),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: Sequence(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Choice(tuple(parts)))
        | st.builds(Repeat, inner, st.integers(0, 2), st.integers(2, 4) | st.none())
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=100)
@given(
    st.fixed_dictionaries({"start": EXPRESSIONS, "x": EXPRESSIONS, "y": EXPRESSIONS}),
    st.lists(TEXTS, min_size=4, max_size=8),
)
def test_folding_changes_no_text(rules: dict[str, Expression], texts: list[str]) -> None:
    """Regular rules written out, with recursion left alone."""
    plain, short = grammar(rules), grammar(with_inlining(rules))
    assert [accepts(short, letters) for letters in texts] == [accepts(plain, t) for t in texts]


@pytest.mark.parametrize("low", [0, 1, 2, 3, 4, 7, 13])
@pytest.mark.parametrize("more", [0, 1, 2, 3, 5, 6, 8, 12, None])
def test_counts_are_exact(low: int, more: int | None) -> None:
    """Doubling rules give each number, and no other."""
    high = None if more is None else low + more
    counted = grammar({"start": Repeat(Name("x"), low, high), "x": Sequence((text("a"),))})
    found = [count for count in range(30) if accepts(counted, "a" * count)]
    assert found == [count for count in range(30) if low <= count <= (high or 30 * (more is None))]


def test_large_counts_make_few_rules() -> None:
    """A thousand times is ten doublings."""
    counted = grammar({"start": Repeat(Name("x"), 1000, 100_000), "x": text("a")})
    assert len(counted.rules) < 60


def test_equal_helpers_are_made_once() -> None:
    """What is repeated in several rules is repeated by the same rule."""
    rules = grammar({"start": Sequence((Repeat(Name("x"), 0, None),) * 2), "x": text("a")}).rules
    assert len(rules) == 3


def test_regular_neighbours_become_one_terminal() -> None:
    """Of `start` nothing is left but its text, and messages can still name it."""
    rules = with_inlining(
        {"start": Sequence((Name("x"), Name("y"))), "x": text("a+"), "y": text("b?")}
    )
    made = grammar(rules)
    assert made.rules["start"].alternatives == (("start/0",),)
    assert matches(made.terminals["start/0"].language, "aab")
    assert str(made.terminals["start/0"]) == "start"


@given(
    st.sampled_from(["a*", "(ab)*", "a?b?", "(a*b*)*", "a|", "(a|b*)*a?", "", "ab", "(a?){3}"]),
    TEXTS,
)
def test_without_empty_takes_nothing_but_the_empty_text(pattern: str, letters: str) -> None:
    """Whatever the form of the expression."""
    language = parse(pattern, anchored=True)
    expected = letters != "" and matches(language, letters)
    assert matches(without_empty(language), letters) == expected


def test_differences_are_taken_of_regular_rules() -> None:
    """Through names of any size; of recursive ones they are refused."""
    rules: dict[str, Expression] = {
        "start": Difference(Name("x"), Text(literal("ab"))),
        "x": text("[ab]+"),
    }
    made = grammar(with_inlining(rules))
    assert accepts(made, "aba")
    assert not accepts(made, "ab")
    rules["x"] = Choice((text("a"), Sequence((text("a"), Name("x")))))
    with pytest.raises(UnsupportedSchemaError, match="difference"):
        grammar(with_inlining(rules))


def test_wrong_rules_are_refused() -> None:
    """Two of one name, none of a name, counts out of order or beyond measure."""
    bnf = Bnf()
    bnf.add("start", Name("nobody"))
    with pytest.raises(SpecError, match="'nobody' is used in rule 'start'"):
        bnf.grammar("start")
    with pytest.raises(SpecError, match="twice"):
        bnf.add("start", text("a"))
    with pytest.raises(SpecError, match="2 to 1 times"):
        bnf.add("x", Repeat(Name("start"), 2, 1))
    with pytest.raises(BudgetError, match="counts"):
        bnf.add("y", Repeat(Name("start"), 0, 10**9))
    with pytest.raises(SpecError, match="there is no rule 'begin'"):
        Bnf().grammar("begin")
