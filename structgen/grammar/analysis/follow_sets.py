"""FOLLOW sets of terminals: which may follow which with nothing between, as bit masks."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.grammar.ir import Grammar


def members(mask: int) -> Iterable[int]:
    """The bits that are set in a mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def follow_sets(grammar: Grammar, numbers: dict[str, int]) -> tuple[list[int], int]:
    """For each terminal those that may follow it directly; and those that may come first."""
    rules = [(rule.name, a) for rule in grammar.rules.values() for a in rule.alternatives]
    empty: set[str] = set()
    first = {name: 1 << i for name, i in numbers.items()} | dict.fromkeys(grammar.rules, 0)
    last = dict(first)
    grown = True
    while grown:
        before = (len(empty), sum(map(int.bit_count, first.values())),
                  sum(map(int.bit_count, last.values())))  # fmt: skip
        for name, parts in rules:
            if empty.issuperset(parts):
                empty.add(name)
            for ends, ordered in ((first, parts), (last, parts[::-1])):
                for part in ordered:
                    ends[name] |= ends[part]
                    if part not in empty:
                        break
        grown = before != (len(empty), sum(map(int.bit_count, first.values())),
                           sum(map(int.bit_count, last.values())))  # fmt: skip
    follow = [0] * len(numbers)
    for _, parts in rules:
        for i, part in enumerate(parts):
            for after in parts[i + 1 :]:
                for terminal in members(last[part]):
                    follow[terminal] |= first[after]
                if after not in empty:
                    break
    return follow, first[grammar.start]
