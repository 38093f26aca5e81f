r"""The left-corner transform: a grammar's items (dotted rules) as flat arrays for the parser.

The parser reads top-down with a stack, so left recursion is taken out first. The left-corner
transform (D. Rosenkrantz and P. Lewis, "Deterministic left corner parsing", 1970) has for each rule
name C that is called, and for each name X that can be its left corner, a new name C\X: what is
left of a C whose left corner X has been read. For a rule D -> ... X tail (only nullable names
before X) C\X goes on with `tail`, then C\D; and C\C may end. No item then starts with itself, a
call reads a terminal at once, and what ends an item needs no place to return to.

An item is what is left of a rule: symbols still to be read, then perhaps a C\X. Items are made as
far as the start leads to them, by a kernel (`kernels.grammar.left_corner`).

Where rules were split by the text before them (see `lookaround.split_rules`), that text no longer
counts behind a left corner: C\X is the same for all rules that differ in nothing else
(`representative`).
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.grammar.ir import Grammar
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import distinct
from structgen.util.cancellation import checkpoint

MAX_ITEMS = 400_000
FAR = 1 << 28  # bytes; stands for a length that no text has
WORK = 20_000  # places that a kernel looks at before it lets others speak

Ints = npt.NDArray[np.int32]


class Syntax(NamedTuple):
    r"""The items of a grammar. Symbols: terminals are 0 to n - 1, then rule names.

    Item 0 is empty and item 1 the end of the text; others are sorted by their first symbol. first:
    int32[items], their first symbol, or -1 when they start with C\X. after: int32[items], the item
    behind the first symbol.
    cost: int32[items], a lower bound on the bytes to finish it.
    rules: int32[items, 2], the rule it comes from, and the rule that was called there, of which
    that is a left corner; -1 where there is none.
    skip_start, skip: CSR, the items that an item also is without reading anything (epsilon
    closure). call_start: int32[names + 1], CSR: the entries of each name, sorted by terminal, in
    call_terminal and call_item: what is left of the name after its first terminal.
    names: the rules. start: the first item.
    """

    first: Ints
    after: Ints
    cost: Ints
    rules: Ints
    skip_start: Ints
    skip: Ints
    call_start: Ints
    call_terminal: Ints
    call_item: Ints
    names: list[str]
    start: int


def syntax_of(grammar: Grammar, terminals: list[str], widths: list[int]) -> Syntax:
    """The items of a trimmed grammar. widths: bytes of each terminal's shortest text.

    terminals: their names by number. Raises BudgetError past MAX_ITEMS.
    """
    k, n = kernels("grammar.left_corner"), len(terminals)
    numbers = {name: i for i, name in enumerate(chain(terminals, grammar.rules))}
    start = numbers[grammar.start]
    symbols, places = [k.END, start, k.END], list[int]()
    for rule in grammar.rules.values():
        places.append(len(symbols))
        for alternative in rule.alternatives:
            symbols += [numbers[part] for part in alternative]
            symbols.append(k.END)
    places.append(len(symbols))
    alike = [*range(len(numbers))]
    if grammar.variants is not None:
        for name, same in grammar.variants.representative.items():
            if name in grammar.rules:
                alike[numbers[name]] = numbers.get(same, numbers[name])
    size = 4 * len(symbols)
    while True:
        t = _tables(symbols, places, alike, widths, size)
        k.prepare(t, start - n)
        while (found := k.make_items(t, MAX_ITEMS, WORK)) == k.MORE:
            checkpoint()
            if t.sizes[k.OWNED] > MAX_ITEMS:
                raise BudgetError(
                    f"the grammar has more than {MAX_ITEMS} places where a rule can go on",
                    hint="give long rules and repetitions names of their own, or leave counts open",
                )
        if found == k.DONE:
            return _arrays(t, [*grammar.rules])
        size *= 4


def _tables(
    symbols: list[int], places: list[int], alike: list[int], widths: list[int], size: int
) -> Any:
    """The tables of the kernel with nothing made yet."""
    k, rules = kernels("grammar.left_corner"), len(places) - 1

    def table(rows: int, *columns: int) -> Ints:
        return np.zeros((rows, *columns), np.int32)

    listed = table(len(places), k.RULE_COLUMNS)
    listed[:, k.PLACE] = places
    return k.LeftCorners(
        symbols=np.array(symbols, np.int32),
        rest=table(len(symbols)),
        cost=table(len(symbols)),
        alike=np.array(alike, np.int32),
        nullable=table(len(alike)),
        width=np.array([*(min(width, FAR) for width in widths), *[FAR] * rules], np.int32),
        rules=listed,
        corners=table(size, k.CORNER_COLUMNS),
        items=table(size, k.ITEM_COLUMNS),
        entries=table(2 * size, k.ENTRY_COLUMNS),
        groups=table(len(widths), k.GROUP_COLUMNS),
        owners=table(size, k.OWNER_COLUMNS),
        listed=table(size),
        calls=table(size, 3),
        skips=table(size),
        stack=table(size, 3),
        todo=table(size),
        order=table(size),
        slots=table(1 << (4 * size).bit_length()),
        keys=np.zeros((4 * size, 2), np.int64),
        sizes=table(k.SIZES),
    )


def _arrays(t: Any, names: list[str]) -> Syntax:
    """The items that were made, sorted by their first symbols."""
    k, size = kernels("grammar.left_corner"), t.sizes
    made, met = t.items[: size[k.ITEM_COUNT]], t.order[: size[k.OWNED]]
    met = met[met != k.EMPTY_ITEM]
    heads = t.symbols[made[met, k.REST]]
    order = np.argsort(heads, kind="stable")
    listed, heads = met[order], heads[order]
    number = np.full(len(made) + 1, -1, np.int32)  # index -1 (nothing behind) stays -1
    number[k.EMPTY_ITEM] = 0
    number[listed] = np.arange(2, 2 + len(listed))
    costs = np.empty(len(made), np.int32)
    k.shortest(t, costs)
    owners = made[:, [k.RULE, k.CALLER]]
    if owners[k.EMPTY_ITEM, 0] < 0:
        owners[k.EMPTY_ITEM] = made[t.order[0], k.RULE]  # that of the start
    counts = made[listed, k.SKIPPED]
    ends = np.cumsum(counts, dtype=np.int32)
    skips = np.arange(ends[-1]) + np.repeat(made[listed, k.SKIPS] - ends + counts, counts)
    rules, terminals, items = t.calls[: size[k.CALLS]].T.astype(np.int64)
    many, width = len(made) + 2, max(len(t.groups), 1)
    entries = distinct((rules * width + terminals) * many + number[items])
    of, call_item = np.divmod(entries, many)
    rules, terminals = np.divmod(of, width)
    none = np.array([-1, -1], np.int32)
    return Syntax(
        first=np.concatenate([none, heads]),
        after=np.concatenate([none, number[made[listed, k.BEHIND]]]),
        cost=np.concatenate([[costs[k.EMPTY_ITEM], 0], costs[listed]]).astype(np.int32),
        rules=np.concatenate([owners[[k.EMPTY_ITEM]], [none], owners[listed]]),
        skip_start=np.concatenate([[0, 0, 0], ends]).astype(np.int32),
        skip=number[t.skips[skips]],
        call_start=np.searchsorted(rules, np.arange(len(names) + 1)).astype(np.int32),
        call_terminal=terminals.astype(np.int32),
        call_item=call_item.astype(np.int32),
        names=names,
        start=int(number[t.order[0]]),
    )
