"""Whether places lead on, by kernels over rows of bits and by sets of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.grammar.analysis.follow_sets import first_and_last
from structgen.grammar.analysis.neighbours import product
from structgen.grammar.analysis.relations import Relations, is_shut_out
from structgen.grammar.ir import Grammar, Rule
from structgen.util.bits import ones


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 64), (70, 2, 65), (4, 130, 129), (2, 0, 3)])
def test_products_say_what_is_joined_by_something(shape: tuple[int, int, int]) -> None:
    """As counting the ways does."""
    rng = np.random.default_rng(1)
    n, m, k = shape
    one, other = rng.random((n, m)) < 0.2, rng.random((m, k)) < 0.2
    assert (product(one, other) == (one.astype(int) @ other.astype(int) > 0)).all()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_shut_out_early_does_not_lead_on(seed: int) -> None:
    """Whatever can follow what; what is ignored alone says so where it is the reason."""
    grammar = sg.Lark(
        'start: item+ [C]\nitem: A B | item C A\nA: "a"\nB: "b"\nC: "c"\nW: " "\nN: "#"\n'
        "%ignore W\n%ignore N"
    ).rules()
    numbers, ignored = {name: i for i, name in enumerate("ABCWN")}, [3, 4]
    rng = np.random.default_rng(seed)
    can_follow = rng.random((6, 6)) < 0.8
    early = is_shut_out(grammar, numbers, ignored, can_follow)
    if early:
        assert not Relations(grammar, numbers, ignored, can_follow).every_place_leads_on()
    can_follow[:] = True
    assert not is_shut_out(grammar, numbers, ignored, can_follow)
    can_follow[4] = [False, True, True, False, True, True]  # no A behind N, which the rules want
    assert is_shut_out(grammar, numbers, ignored, can_follow)
    assert not Relations(grammar, numbers, ignored, can_follow).every_place_leads_on()


Pairs = set[tuple[int, int]]
FIRST = ord("A")  # terminals are called A and so on


def read(pairs: Pairs, parts: tuple[str, ...], of: dict[str, Pairs], steps: Any) -> Pairs:
    """The terminals before and at the end of a sequence. of: the same for names."""
    for part in parts:
        if part in of:
            pairs = {(first, last) for first, at in pairs for one, last in of[part] if one == at}
        else:
            number = ord(part) - FIRST
            pairs = {(first, number) for first, at in pairs if steps[at, number]}
    return pairs


def leads_on(grammar: Grammar, numbers: dict[str, int], ignored: list[int], steps: Any) -> bool:
    """See `Relations.every_place_leads_on`."""
    size = len(steps)
    same = {(i, i) for i in range(size)}
    of: dict[str, Pairs] = {name: set() for name in grammar.rules}
    while True:
        found = {
            name: set[tuple[int, int]]().union(
                *(read(same, parts, of, steps) for parts in rule.alternatives)
            )
            for name, rule in grammar.rules.items()
        }
        if found == of:
            break
        of = found
    _, last, empty = first_and_last(grammar, numbers)
    for rule in grammar.rules.values():
        for parts in rule.alternatives:
            behind: set[int] = set()
            for i, part in enumerate(parts, 1):
                behind = {*ones(last[part])} | (behind if part in empty else set())
                ways = {first for first, _ in read(same, parts[i:], of, steps)}
                if (i, part) != (1, rule.name) and not {*behind, *ignored} <= ways:
                    return False
    ends = {i for i in range(size) if steps[i, -1]}
    whole = {first for first, last in of[grammar.start] if last in ends}
    return {*ignored, size - 1} <= whole and {*ones(last[grammar.start]), *ignored} <= ends


@pytest.mark.parametrize("seed", range(60))
def test_places_lead_on_where_pairs_of_terminals_say_so(seed: int) -> None:
    """In random grammars, some of them with more terminals than a word has bits."""
    rng = np.random.default_rng(seed)
    count = 70 if seed % 3 == 0 else 4
    numbers = {chr(FIRST + i): i for i in range(count)}
    rules = {}
    for name in ("start", "one", "two"):
        names = ["one", "two", *numbers][: 6 if seed % 2 else None]
        lengths = rng.integers(0, 4, 3)
        alternatives = [tuple(map(str, rng.choice(names, length))) for length in lengths]
        rules[name] = Rule(name, (*dict.fromkeys([*alternatives, (chr(FIRST),)]),))
    grammar = Grammar("start", rules, {})
    can_follow = rng.random((count + 1, count + 1)) < (0.999 if count > 4 else 0.9)
    ignored = [1] if seed % 5 == 0 else []
    relations = Relations(grammar, numbers, ignored, can_follow)
    expected = leads_on(grammar, numbers, ignored, relations.steps)
    assert relations.every_place_leads_on() == expected
