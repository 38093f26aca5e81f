"""Which terminals the lexer may look for at the same time, as in an LALR automaton.

What has been read leads to a set of stacks, whose top items say which terminals are looked for.
Stacks have no bound, so what lies below the top is not kept: where an item ends, all that may lie
below it anywhere comes up, as in the look-ahead sets of an LALR parser (F. DeRemer and T.
Pennello, "Efficient computation of LALR(1) look-ahead sets", 1982). The sets found so are supersets
of those that can be.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammar.automaton.positions import GrammarPositions
from structgen.kernels.build.loader import kernels
from structgen.kernels.grammar.records import STACKS_TERMINALS
from structgen.util.bits import ones

SOME_SETS, MAX_SETS = 1 << 11, 1 << 15
FEW_ITEMS = 500  # of a grammar whose supersets are found before its sets
MOST_LOOKED_AT = 600  # sets of stacks
AT_ONCE = 32  # of these
MOST_INTS = 64  # in each of them
EMPTY_ITEM, END_ITEM = 0, 1
EMPTY, END = 1, 2  # the bits of the rest with nothing left, and of the end of the text
Moves = dict[int, int]  # by terminal: the items that it leads to, as a bit mask


class Items:
    """The items of a grammar (see `transforms.left_corner.Syntax`) as Python lists.

    Sets of items are bit masks, as are those of terminals. first: terminals, then names from
    `terminals` on; start: the items on top of the stacks before any text.
    """

    def __init__(self, tables: Any, start: int) -> None:
        """The items of a grammar's tables. start: those on top at first."""
        self._k, self._tables = kernels("grammar.tables"), tables
        self.first: list[int] = self._constant(self._k.FIRST).tolist()
        self.after: list[int] = self._constant(self._k.AFTER).tolist()
        self.terminals = int(tables.info[self._k.TERMINAL_COUNT])
        self.start = start

    @cached_property
    def skips(self) -> list[list[int]]:
        """By item the items that it also is without reading anything, of most bytes first."""
        k = self._k
        return self._rows(k.SKIP_START, self._constant(k.SKIP))

    @cached_property
    def entries(self) -> list[list[tuple[int, int]]]:
        """By name pairs of a terminal and the item behind it, those of most bytes first."""
        k = self._k
        return self._rows(
            k.CALL_START, self._constant(k.CALL_ITEM), self._constant(k.CALL_TERMINAL)
        )

    def all_derive(self, terminals: list[bool]) -> bool:
        """Whether every item can be read with some of the terminals alone."""
        k, first = self._k, self._constant(self._k.FIRST)
        skips, calls = self._constant(k.SKIP), self._constant(k.CALL_ITEM)
        symbols = np.array([*terminals, *[False] * len(self._constant(k.CALL_START))], np.bool_)
        entering = symbols[self._constant(k.CALL_TERMINAL)]
        skipper, called = (self._owners(start) for start in (k.SKIP_START, k.CALL_START))
        derives = np.zeros(len(first), np.bool_)
        derives[EMPTY_ITEM] = True
        after, count = self._constant(k.AFTER), -1
        while count < derives.sum():
            count = derives.sum()
            symbols[self.terminals + called[entering & derives[calls]]] = True
            derives |= (first >= 0) & symbols[first] & derives[after]
            derives[skipper[derives[skips]]] = True
        derives[END_ITEM] = True
        return bool(derives.all())

    def _owners(self, start: int) -> Any:
        """Of which item or name each entry of a CSR array is."""
        starts = self._constant(start)
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def _constant(self, name: int) -> Any:
        tables = self._tables
        return tables.fixed[tables.offsets[name] : tables.offsets[name + 1]]

    def _rows(self, start: int, items: Any, terminals: Any = None) -> list[list[Any]]:
        """A CSR array of items as lists, or of terminals with the items behind them."""
        starts, owners = self._constant(start), self._owners(start)
        order = np.lexsort((-self._constant(self._k.COST)[items], owners))
        listed: list[Any] = items[order].tolist()
        if terminals is not None:
            listed = [*zip(terminals[order].tolist(), listed, strict=True)]
        return [listed[low:high] for low, high in itertools.pairwise(starts.tolist())]

    def closure(self, item: int) -> list[int]:
        """An item and all that it also is without reading anything."""
        seen, todo = {item}, [item] if self.skips[item] else []
        while todo:
            fresh = set(self.skips[todo.pop()]) - seen
            seen |= fresh
            todo += fresh
        return [one for one in seen if one <= 1 or self.first[one] >= 0]


class StackTops:
    """Sets of items that can be on top of stacks together."""

    def __init__(self, of: Items) -> None:
        self.of = of
        closed = [of.closure(item) for item in range(len(of.first))]
        self._closures = [*map(_as_mask, closed)]
        self._under = self._solved(closed)
        self._moves = [self._moves_of(item) for item in range(len(of.first))]
        self._steps: dict[int, Moves] = {}

    def steps(self, tops: int) -> Moves:
        """For each terminal with which items can begin, those that can be on top behind it."""
        found = self._steps.get(tops)
        if found is None:
            found = self._steps[tops] = {}
            for item in ones(tops):
                for terminal, after in self._moves[item].items():
                    found[terminal] = found.get(terminal, 0) | after
        return found

    def all_terminal_sets(self) -> list[int]:
        """Sets of terminals of which each set that is looked for is a subset of one.

        Past MAX_SETS the set of all terminals.
        """
        k, listed = (
            kernels("grammar.terminals"),
            [step for moves in self._moves for step in moves.items()],
        )
        starts = np.cumsum([0, *map(len, self._moves)], dtype=np.int32)
        terminals = np.array([terminal for terminal, _ in listed], np.int32)
        targets = _words([items for _, items in listed], len(self._moves))
        after = np.zeros((self.of.terminals, targets.shape[1]), np.uint64)
        room = SOME_SETS
        while True:
            queue = np.zeros((room, targets.shape[1]), np.uint64)
            queue[:1] = _words([self.of.start], len(self._moves))
            begins = np.zeros((room, -(-self.of.terminals // 64)), np.uint64)
            slots = np.full(4 * room, -1, np.int32)
            count = k.item_sets(starts, terminals, targets, queue, begins, after, slots)
            if count >= 0:
                break
            room *= 4
            if room > 4 * MAX_SETS:
                return [(1 << self.of.terminals) - 1]
        return list({int.from_bytes(row.tobytes(), "little") for row in begins[:count]})

    def _solved(self, closed: list[list[int]]) -> list[int]:
        """For each item what can come up where it ends; for each name where a call of it does.

        closed: the closures of all items. A least fixed point by a worklist.
        """
        of, count = self.of, len(self.of.first)
        under = [0] * (count + len(of.entries))
        leads: list[set[int]] = [set() for _ in under]  # what comes up for one does for these, too
        for item in range(count):
            if of.first[item] < 0:
                continue
            behind = self._closures[of.after[item]]
            leads[item].update(closed[of.after[item]])
            if of.first[item] >= of.terminals:
                name = count + of.first[item] - of.terminals
                under[name] |= behind & ~EMPTY
                if behind & EMPTY:
                    leads[item].add(name)
        for name, entries in enumerate(of.entries, count):
            for _, item in entries:
                leads[name].update(closed[item])
        for item in ones(of.start & ~END):
            under[item] |= END
        for leading in leads:
            leading.discard(EMPTY_ITEM)
        todo = {i for i, mask in enumerate(under) if mask}
        while todo:
            one = todo.pop()
            for other in leads[one]:
                if under[one] & ~under[other]:
                    under[other] |= under[one]
                    todo.add(other)
        return under

    def _moves_of(self, item: int) -> Moves:
        """For each terminal with which one item can begin, the items on top behind it."""
        of, first = self.of, self.of.first[item]
        if first < 0:
            return {}
        behind = _come_up(self._closures[of.after[item]], self._under[item])
        if first < of.terminals:
            return {first: behind}
        found: Moves = {}
        for terminal, entered in of.entries[first - of.terminals]:
            found[terminal] = found.get(terminal, 0) | _come_up(self._closures[entered], behind)
        return found


def _as_mask(items: list[int]) -> int:
    found = 0
    for item in items:
        found |= 1 << item
    return found


def _come_up(items: int, below: int) -> int:
    """Items, and where the empty one is among them instead of it what lies below."""
    return items & ~EMPTY | below if items & EMPTY else items


def looked_for_at_once(automaton: GrammarPositions, items: Items) -> list[int]:
    """The sets of terminals that the lexer looks for: those that short texts lead to.

    All that there are in most grammars; supersets of these where stacks are too large to look at.
    Of few items the supersets are soon found, and tell when no more sets are to come.
    """
    supersets = StackTops(items).all_terminal_sets() if len(items.first) <= FEW_ITEMS else []
    return (
        _reached_soon(automaton, items, supersets)
        or supersets
        or StackTops(items).all_terminal_sets()
    )


def _reached_soon(automaton: GrammarPositions, items: Items, supersets: list[int]) -> list[int]:
    """The sets of terminals that short texts lead to; none where the stacks are too large.

    No more are looked for when all supersets are among them, if these are given.
    """
    k, terminals = kernels("grammar.tables"), kernels("grammar.terminals")
    ignored = sum(1 << i for i in range(items.terminals) if automaton.constant(k.T_IGNORED, i) == 1)
    missing = {superset | ignored for superset in supersets}
    queue, place = np.zeros(MOST_LOOKED_AT, np.int64), np.zeros(2, np.int64)
    seen = np.full((4 * (1 << MOST_LOOKED_AT.bit_length()), 2), -1, np.int64)
    queue[0] = automaton.threads(automaton.start)[0][1]
    found: dict[int, int] = {}  # by record of terminals: the set
    looked_at, answer = 0, 0
    while looked_at < max(place[1], 1) and not (supersets and not missing):
        if answer == terminals.TOO_LARGE:
            return []
        answer = automaton.ask(terminals.reached, queue, seen, place, AT_ONCE, MOST_INTS)
        done = int(place[0])
        for record in automaton.tables.rec[queue[looked_at:done], STACKS_TERMINALS].tolist():
            if record not in found:
                found[record] = _as_mask(automaton.record(record))
                missing.discard(found[record])
        looked_at = done
    return [*dict.fromkeys(found.values())]


def _words(sets: list[int], count: int) -> npt.NDArray[np.uint64]:
    """uint64[sets, words]: the bits of sets of `count` items."""
    size = 8 * -(-count // 64)
    data = b"".join(one.to_bytes(size, "little") for one in sets)
    return np.frombuffer(data, np.uint64).reshape(len(sets), size // 8).copy()
