"""The items of a grammar have the texts of its rules, whatever is recursive or empty in these."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.grammar.ir import Grammar, Rule, Terminal
from structgen.grammar.transforms import left_corner
from structgen.grammar.transforms.left_corner import FAR, Syntax, syntax_of
from structgen.grammar.transforms.useless import trimmed
from structgen.regular.regex import literal

TERMINALS, NAMES = ["a", "b"], ["r", "s", "t", "u"]
LONGEST = 4  # texts that are compared

RULE = st.lists(st.lists(st.sampled_from(TERMINALS + NAMES), max_size=3), min_size=1, max_size=4)


def grammar_of(rules: list[list[list[str]]]) -> Grammar:
    """A grammar that starts with the first rule."""
    return Grammar(
        NAMES[0],
        {n: Rule(n, tuple(map(tuple, rule))) for n, rule in zip(NAMES, rules, strict=True)},
        {t: Terminal(t, literal(t)) for t in TERMINALS},
    )


def joined(one: set[str], two: set[str]) -> set[str]:
    """All texts of one behind the other that are short enough."""
    return {x + y for x in one for y in two if len(x + y) <= LONGEST}


def texts_of_rules(grammar: Grammar) -> dict[str, set[str]]:
    """The texts of each rule and terminal."""
    found = {name: set[str]() for name in grammar.rules} | {t: {t} for t in TERMINALS}
    while True:
        before = {name: len(texts) for name, texts in found.items()}
        for name, rule in grammar.rules.items():
            for alternative in rule.alternatives:
                texts = {""}
                for part in alternative:
                    texts = joined(texts, found[part])
                found[name] |= texts
        if before == {name: len(texts) for name, texts in found.items()}:
            return found


def texts_of_items(syntax: Syntax) -> list[set[str]]:
    """The texts of each item: what it reads first, or calls, and then what is behind it."""
    n = len(TERMINALS)
    found = [set[str]() for _ in syntax.first]
    found[0] = {""}
    while True:
        before = [len(texts) for texts in found]
        for i, first in enumerate(syntax.first.tolist()):
            if first >= n:
                row = slice(*syntax.call_start[first - n : first - n + 2])
                for t, item in zip(syntax.call_terminal[row], syntax.call_item[row], strict=True):
                    called = joined({TERMINALS[t]}, found[item])
                    found[i] |= joined(called, found[syntax.after[i]])
            elif first >= 0:
                found[i] |= joined({TERMINALS[first]}, found[syntax.after[i]])
            for other in syntax.skip[slice(*syntax.skip_start[i : i + 2])]:
                found[i] |= found[other]
        if before == [len(texts) for texts in found]:
            return found


@given(st.lists(RULE, min_size=len(NAMES), max_size=len(NAMES)))
def test_items_have_the_texts_of_the_rules(rules: list[list[list[str]]]) -> None:
    """And no item costs more than its shortest text, nor does one begin with itself."""
    try:
        grammar = trimmed(grammar_of(rules))
    except UnsatisfiableSchemaError:
        return
    used = [t for t in TERMINALS if t in grammar.terminals]
    syntax = syntax_of(grammar, TERMINALS, [1, 1])
    texts = texts_of_items(syntax)
    assert texts[syntax.start] == texts_of_rules(grammar)[grammar.start]
    assert {TERMINALS[t] for t in syntax.call_terminal} <= {*used}
    for i, (cost, some) in enumerate(zip(syntax.cost.tolist(), texts, strict=True)):
        assert i == 1 or cost == min(map(len, some), default=FAR) or (cost > LONGEST and not some)
    heads = syntax.first[2:]
    assert (np.diff(heads) >= 0).all()
    assert all(0 <= rule < len(syntax.names) for rule in np.delete(syntax.rules, 1, 0)[:, 0])


def test_long_chains_of_left_recursive_rules_are_items() -> None:
    """Each rule calls the next one, and the last the first: more than there is room for at once."""
    count = 300
    rules = {
        f"r{i}": Rule(f"r{i}", ((f"r{(i + 1) % count}", "a"), ("a",), ("b",))) for i in range(count)
    }
    terminals = {t: Terminal(t, literal(t)) for t in TERMINALS}
    syntax = syntax_of(Grammar("r0", rules, terminals), TERMINALS, [1, 1])
    assert texts_of_items(syntax)[syntax.start] == {c + "a" * i for c in "ab" for i in range(4)}


def test_too_many_items_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted while they are made."""
    monkeypatch.setattr(left_corner, "MAX_ITEMS", 100)
    rules = {f"r{i}": Rule(f"r{i}", ((f"r{i + 1}", "a"), ("b",) * i)) for i in range(60)} | {
        "r60": Rule("r60", (("a",),))
    }
    terminals = {t: Terminal(t, literal(t)) for t in TERMINALS}
    with pytest.raises(BudgetError, match="more than 100 places"):
        syntax_of(Grammar("r0", rules, terminals), TERMINALS, [1, 1])
