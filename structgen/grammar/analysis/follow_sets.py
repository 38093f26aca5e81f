"""FOLLOW sets of terminals: which may follow which with nothing between, as bit masks."""

from __future__ import annotations

from collections.abc import Mapping

from structgen.grammar.ir import Grammar
from structgen.util.bits import ones


def first_and_last(
    grammar: Grammar, numbers: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int], set[str]]:
    """The terminals with which each name may begin, and end; and the names that may be empty."""
    rules = [(name, a) for name in grammar.inner_first() for a in grammar.rules[name].alternatives]
    empty: set[str] = set()
    first = {name: 1 << i for name, i in numbers.items()} | dict.fromkeys(grammar.rules, 0)
    last = dict(first)
    grown = True
    while grown:
        grown = False
        for name, parts in rules:
            if name not in empty and empty.issuperset(parts):
                empty.add(name)
                grown = True
            for ends, ordered in ((first, parts), (last, parts[::-1])):
                found = ends[name]
                for part in ordered:
                    found |= ends[part]
                    if part not in empty:
                        break
                if found != ends[name]:
                    ends[name] = found
                    grown = True
    return first, last, empty


def follow_sets(grammar: Grammar, numbers: Mapping[str, int]) -> tuple[list[int], int]:
    """For each terminal those that may follow it directly; and those that may come first."""
    first, last, empty = first_and_last(grammar, numbers)
    rules = [a for rule in grammar.rules.values() for a in rule.alternatives]
    behind = dict.fromkeys(first, 0)
    for parts in rules:
        for i, part in enumerate(parts):
            for after in parts[i + 1 :]:
                behind[part] |= first[after]
                if after not in empty:
                    break
    follow = [0] * len(numbers)
    for part, following in behind.items():
        for terminal in ones(last[part] if following else 0):
            follow[terminal] |= following
    return follow, first[grammar.start]
