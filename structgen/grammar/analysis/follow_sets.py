"""FOLLOW sets of terminals: which may follow which with nothing between, as bit masks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from structgen.grammar.ir import Grammar


def members(mask: int) -> Iterable[int]:
    """The bits that are set in a mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def follow_sets(grammar: Grammar, numbers: dict[str, int]) -> tuple[list[int], int]:
    """For each terminal those that may follow it directly; and those that may come first."""
    rules = [(name, a) for name in inner_first(grammar) for a in grammar.rules[name].alternatives]
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
    behind = dict.fromkeys(first, 0)
    for _, parts in rules:
        for i, part in enumerate(parts):
            for after in parts[i + 1 :]:
                behind[part] |= first[after]
                if after not in empty:
                    break
    follow = [0] * len(numbers)
    for part, following in behind.items():
        for terminal in members(last[part] if following else 0):
            follow[terminal] |= following
    return follow, first[grammar.start]


def inner_first(grammar: Grammar) -> list[str]:
    """The names of all rules, those that a rule uses before it where no rule uses itself."""
    found: dict[str, None] = {}
    begun: set[str] = set()
    todo = [(name, False) for name in reversed([*grammar.rules])]
    while todo:
        name, is_done = todo.pop()
        if is_done:
            found[name] = None
        elif name not in begun:
            begun.add(name)
            todo.append((name, True))
            used = dict.fromkeys(chain.from_iterable(grammar.rules[name].alternatives))
            todo += [(part, False) for part in used if part in grammar.rules]
    return list(found)
