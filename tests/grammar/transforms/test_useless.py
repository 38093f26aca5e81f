"""Useless rules are found and removed, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import UnsatisfiableSchemaError
from structgen.grammar.ir import Grammar, Rule, Terminal
from structgen.grammar.specs import Gbnf, Lark
from structgen.grammar.transforms.useless import findings, trimmed
from structgen.regular.regex import EMPTY, literal
from tests.grammar.reference import accepts

NAMES = ["start", "a", "b", "c", "A", "B", "NEVER"]
ALTERNATIVES = st.lists(st.lists(st.sampled_from(NAMES), max_size=3), max_size=3)


def made(rules: dict[str, list[list[str]]]) -> Grammar:
    """The grammar of rules over the terminals A, B and one that no text fits."""
    terminals = {"A": literal("a"), "B": literal("b"), "NEVER": EMPTY}
    return Grammar(
        "start",
        {name: Rule(name, tuple(map(tuple, found))) for name, found in rules.items()},
        {name: Terminal(name, language) for name, language in terminals.items()},
    )


def test_useless_rules_are_named_with_their_places() -> None:
    """Going round in circles, needing what does, or led to by nothing."""
    spec = Lark('start: "a" | round\nround: "x" round\nneeds: round "b"\nleft: other\nother: "c"\n')
    found = [(f.kind, f.name, str(f.place)) for f in spec.findings() if f.name.isidentifier()]
    assert found == [
        ("unproductive", "round", "line 2 column 1"),
        ("unproductive", "needs", "line 3 column 1"),
        ("unreachable", "left", "line 4 column 1"),
        ("unreachable", "other", "line 5 column 1"),
    ]
    kept = trimmed(spec.rules())
    assert list(kept.rules) == ["start"]
    assert kept.rules["start"].alternatives == (("A",),)


def test_a_finding_says_where() -> None:
    """As text it is a line for people."""
    (finding,) = Gbnf('root ::= "a"\nspare ::= root').findings()
    assert str(finding) == "line 2 column 1: nothing that can be finished leads to the rule 'spare'"


def test_a_start_that_no_text_fits_is_unsatisfiable() -> None:
    """With the rules that wait for each other."""
    with pytest.raises(UnsatisfiableSchemaError, match="start, a"):
        trimmed(made({"start": [["a", "A"]], "a": [["start"], ["NEVER"]]}))


def test_what_is_ignored_is_kept() -> None:
    """An ignored terminal takes part in texts though no rule names it."""
    spec = Lark('start: "a"\n%ignore " "')
    assert spec.findings() == []
    assert accepts(trimmed(spec.rules()), " a ")


@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES[:4], ALTERNATIVES)),
    st.lists(st.text("ab", max_size=5), min_size=4, max_size=8),
)  # fmt: skip
def test_trimming_changes_no_text_and_leaves_nothing_useless(
    rules: dict[str, list[list[str]]], texts: list[str]
) -> None:
    """On any rules, by brute force."""
    grammar = made(rules)
    try:
        kept = trimmed(grammar)
    except UnsatisfiableSchemaError:
        assert not any(accepts(grammar, text) for text in ["", *texts])
        return
    assert findings(kept) == []
    assert [accepts(kept, text) for text in texts] == [accepts(grammar, text) for text in texts]
