r"""The left-corner transform: a grammar's items (dotted rules) as flat arrays for the parser.

The parser reads top-down with a stack, so left recursion is taken out first. The left-corner
transform (D. Rosenkrantz and P. Lewis, "Deterministic left corner parsing", 1970) has for each rule
name C that is called, and for each name X that can be its left corner, a new name C\X: what is
left of a C whose left corner X has been read. For a rule D -> ... X tail (only nullable names
before X) C\X goes on with `tail`, then C\D; and C\C may end. No item then starts with itself, a
call reads a terminal at once, and what ends an item needs no place to return to.

An item is what is left of a rule: symbols still to be read, then perhaps a C\X. Items are made as
far as the start leads to them.

Where rules were split by the text before them (see `lookaround.split_rules`), that text no longer
counts behind a left corner: C\X is the same for all rules that differ in nothing else
(`representative`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.grammar.ir import Grammar
from structgen.util.cancellation import checkpoint

MAX_ITEMS = 400_000
FAR = 1 << 28  # bytes; stands for a length that no text has

Ints = npt.NDArray[np.int32]
Corner = tuple[int, int] | None  # (called name, left corner read)
Item = tuple[tuple[int, ...], Corner]

EMPTY_ITEM: Item = ((), None)


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
    return _Builder(grammar, terminals, widths).built()


class _Builder:
    r"""Makes items from the start on, with a worklist.

    owner: item -> (its rule, the rule called there). behind, skips: item -> the item behind its
    first symbol; those that it also is. tails: owners of items behind left corners.
    calls: rule -> terminal -> items behind it. corners: rule C -> left corner X -> what C\X can
    be. short: rule C -> corners in normal form, as far as known.
    """

    def __init__(self, grammar: Grammar, terminals: list[str], widths: list[int]) -> None:
        self.n = len(terminals)
        self.names = list(grammar.rules)
        numbers = {name: i for i, name in enumerate(terminals)}
        numbers |= {name: self.n + i for i, name in enumerate(self.names)}
        self.rules: list[list[tuple[int, ...]]] = [
            [tuple(numbers[part] for part in alternative) for alternative in rule.alternatives]
            for rule in grammar.rules.values()
        ]
        self.start = numbers[grammar.start]
        self.inner_first = [numbers[name] for name in grammar.inner_first()]
        representative = {} if grammar.variants is None else grammar.variants.representative
        of_names = (
            numbers.get(representative.get(name, name), numbers[name]) for name in self.names
        )
        self.representative = [*range(self.n), *of_names]  # one for all that are alike
        self.nullable = self._nullable()
        self.width = self._widths(widths)
        self.owner: dict[Item, tuple[int, int]] = {}
        self.behind: dict[Item, Item] = {}
        self.skips: dict[Item, Sequence[Item]] = {}
        self.tails: dict[Item, tuple[int, int]] = {}
        self.calls: dict[int, dict[int, list[Item]]] = {}
        self.corners: dict[int, dict[int, list[Item]]] = {}
        self.short: dict[int, dict[Corner, Corner]] = {}
        self.todo: list[Item] = []

    def built(self) -> Syntax:
        """The arrays of all items that the start leads to."""
        top: Item = ((self.start,), None)
        self._add(top, (self.start, self.start))
        while self.todo:
            checkpoint()
            item = self.todo.pop()
            symbols, corner = item
            if symbols:
                behind = self.behind[item] = self._shortened(symbols[1:], corner)
                skips = [behind] if symbols[0] in self.nullable else []
                onward = [behind]
            else:
                onward = skips = self._ends(corner)
            self.skips[item] = skips
            for other in onward:
                if other not in self.owner:
                    self._add(other, self.owner[item])
            if len(self.owner) > MAX_ITEMS:
                raise BudgetError(
                    f"the grammar has more than {MAX_ITEMS} places where a rule can go on",
                    hint="give long rules and repetitions names of their own, or leave counts open",
                )
        return self._arrays(top)

    def _add(self, item: Item, owner: tuple[int, int]) -> None:
        """Note an item, and those of the rules that it begins with, depth first."""
        added = [(item, owner)]  # no recursion: chains of rules may be long
        while added:
            item, owner = added.pop()
            if item in self.owner:
                continue
            self.owner[item] = self.tails.get(item, owner)
            self.todo.append(item)
            symbols = item[0]
            if symbols and symbols[0] >= self.n and symbols[0] not in self.calls:
                added += reversed(self._call(symbols[0]))

    def _ends(self, corner: Corner) -> list[Item]:
        """The items that an item with nothing left to read but a corner is."""
        if corner is None:
            return []
        called, read = corner
        ends = [EMPTY_ITEM] if called == read else []
        return ends + self.corners[called].get(read, [])

    def _shortened(self, symbols: tuple[int, ...], corner: Corner) -> Item:
        r"""An item in normal form: without a C\X that can only end, or only be another one."""
        if corner is None:
            return symbols, None
        known = self.short[corner[0]]
        if corner not in known:
            self._shorten(corner, known)
        return symbols, known[corner]

    def _shorten(self, corner: tuple[int, int], known: dict[Corner, Corner]) -> None:
        """Note the corner of such an item, and of those on the way to it."""
        seen: dict[tuple[int, int], None] = {}
        first, found = corner, None
        while corner not in known:
            if corner in seen:  # they go round in circles
                known[first] = corner
                return
            seen[corner] = None
            called, read = corner
            onward = [r for r in self.corners[called].get(read, []) if r != ((), corner)]
            if called == read:
                found = corner if onward else None
                break
            if len(onward) != 1 or onward[0][0] or onward[0][1] is None:
                found = corner if len(onward) != 1 or onward[0][0] else None
                break
            corner = onward[0][1]
        else:
            found = known[corner]
        known.update(dict.fromkeys(seen, found))

    def _call(self, called: int) -> list[tuple[Item, tuple[int, int]]]:
        """Note the items behind each terminal and each left corner with which a rule can begin.

        Returns those to be added, with their owners.
        """
        owners: list[tuple[int, int, tuple[int, ...]]] = []
        reached, todo = {called}, [called]
        while todo:
            name = todo.pop()
            for rule in self.rules[name - self.n]:
                for i, symbol in enumerate(rule):
                    owners.append((symbol, name, rule[i + 1 :]))
                    if symbol >= self.n and symbol not in reached:
                        reached.add(symbol)
                        todo.append(symbol)
                    if symbol not in self.nullable:
                        break
        representative = self.representative
        mine = representative[called]
        known = self.corners.setdefault(mine, {})
        fresh = [symbol >= self.n and representative[symbol] not in known for symbol, *_ in owners]
        corners: dict[int, list[Item]] = defaultdict(list)
        for (symbol, name, tail), is_new in zip(owners, fresh, strict=True):
            if is_new:
                corners[representative[symbol]].append((tail, (mine, representative[name])))
        known |= corners
        self.short[mine] = {}
        calls: dict[int, list[Item]] = defaultdict(list)
        short: dict[int, dict[Item, None]] = {}
        for (symbol, name, tail), is_new in zip(owners, fresh, strict=True):
            behind = self._shortened(tail, (mine, representative[name]))
            if tail:
                self.tails.setdefault(behind, (name, called))
            if symbol < self.n:
                calls[symbol].append(behind)
            elif is_new:
                short.setdefault(representative[symbol], {})[behind] = None
        self.calls[called] = calls
        known |= {symbol: list(items) for symbol, items in short.items()}
        return [
            (item, (item[1][1] if item[1] is not None else called, called))
            for items in (*calls.values(), *short.values())
            for item in items
        ]

    def _nullable(self) -> set[int]:
        """The rules that derive the empty text."""
        found: set[int] = set()
        grown = True
        while grown:
            grown = False
            for i in self.inner_first:
                rules = self.rules[i - self.n]
                if i not in found and any(found.issuperset(rule) for rule in rules):
                    found.add(i)
                    grown = True
        return found

    def _widths(self, widths: list[int]) -> list[int]:
        """Bytes of the shortest text of each symbol, by a least fixed point."""
        width = widths + [FAR] * len(self.rules)
        grown = True
        while grown:
            grown = False
            for i in self.inner_first:
                best = min(sum([width[s] for s in rule]) for rule in self.rules[i - self.n])
                if best < width[i]:
                    width[i] = best
                    grown = True
        return width

    def _costs(self, items: Iterable[Item]) -> dict[Item, int]:
        """Bytes of the shortest text of each item."""
        corner_cost: dict[Corner, int] = {None: 0}
        width = self.width
        read: dict[tuple[int, ...], int] = {}  # bytes of symbols in a row

        def bytes_of(symbols: tuple[int, ...]) -> int:
            found = read.get(symbols)
            if found is None:
                found = read[symbols] = sum([width[s] for s in symbols])
            return found

        for called, corners in self.corners.items():
            local = dict.fromkeys((called, *corners), FAR)
            local[called] = 0
            steps = [
                (name, bytes_of(symbols), None if corner is None else corner[1])
                for name, onward in corners.items()
                for symbols, corner in onward
            ]
            grown = True
            while grown:
                grown = False
                for name, cost, then in steps:
                    whole = cost if then is None else cost + local[then]
                    if whole < local[name]:
                        local[name] = whole
                        grown = True
            corner_cost |= {(called, name): least for name, least in local.items()}
        return {item: bytes_of(item[0]) + corner_cost.get(item[1], FAR) for item in items}

    def _arrays(self, top: Item) -> Syntax:
        heads = {item: item[0][0] if item[0] else -1 for item in self.owner if item != EMPTY_ITEM}
        owner = self.owner
        owner.setdefault(EMPTY_ITEM, (self.start, self.start))
        listed = sorted(heads, key=heads.__getitem__)
        number = {item: i for i, item in enumerate(listed, 2)} | {EMPTY_ITEM: 0}
        owners = [owner[EMPTY_ITEM], (self.n - 1,) * 2, *map(owner.__getitem__, listed)]
        costs = self._costs(owner)
        least = [costs[EMPTY_ITEM], 0, *map(costs.__getitem__, listed)]
        after = [number[self.behind[r]] if r in self.behind else -1 for r in listed]
        skips = [[], [], *([number[o] for o in self.skips[r]] for r in listed)]
        entries: list[list[tuple[int, int]]] = [[] for _ in self.names]
        for called, calls in self.calls.items():
            found = {(t, number[item]) for t, items in calls.items() for item in items}
            entries[called - self.n] = sorted(found)
        flat = np.array([entry for row in entries for entry in row], np.int32).reshape(-1, 2)
        return Syntax(
            first=np.array([-1, -1, *map(heads.__getitem__, listed)], np.int32),
            after=np.array([-1, -1, *after], np.int32),
            cost=np.minimum(least, FAR).astype(np.int32),
            rules=np.array(owners, np.int32) - self.n,
            skip_start=_starts(skips),
            skip=np.array([other for row in skips for other in row], np.int32),
            call_start=_starts(entries),
            call_terminal=np.ascontiguousarray(flat[:, 0]),
            call_item=np.ascontiguousarray(flat[:, 1]),
            names=self.names,
            start=number[top],
        )


def _starts(rows: list[list[int]] | list[list[tuple[int, int]]]) -> Ints:
    return np.cumsum([0, *map(len, rows)]).astype(np.int32)
