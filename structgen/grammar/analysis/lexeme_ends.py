"""How lexemes can end: the lookaheads that reading a terminal can leave.

Of two sets of lookaheads one that is a subset leaves more ways to go on, so only minimal sets are
kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structgen.grammar.analysis.terminal_sets import Items, StackTops
from structgen.grammar.automaton.positions import GrammarPositions
from structgen.grammar.embedded.reader import EmbeddedReader
from structgen.grammar.terminals.position_sets import rows_of
from structgen.kernels.build.loader import kernels
from structgen.kernels.grammar.records import LEXER_ENDINGS, LOOKAHEADS_VIOLATED, REC_ROW
from structgen.util.bits import ones
from structgen.util.cancellation import checkpoint

STATES_PER_UNIT = 100  # lexer states that are looked at in a unit of work
MANY_SETS = 500  # of ends of lexemes, which are no longer compared


class Between(NamedTuple):
    """What matters between two lexemes.

    tops: the items that may be on top, which say what the lexer looks for; 0 where each terminal is
    read as if the lexer looked for nothing else. lookaheads: a record of them, 0 for none.
    """

    tops: int
    lookaheads: int


class LexemeEnds:
    """How lexemes can end.

    Without `stack_tops` each terminal is read by itself: exact where terminals are cut freely, and
    an upper bound where the first in Lark's order counts. With them the lexer looks for all that
    may be allowed there: a lower bound.
    """

    def __init__(
        self,
        automaton: GrammarPositions,
        items: Items,
        embedded: EmbeddedReader | None,
        stack_tops: StackTops | None = None,
    ) -> None:
        k = kernels("grammar.tables")
        self._automaton, self._stack_tops, self._k = automaton, stack_tops, k
        self.items, self._reader = items, embedded
        self._ignored, self._embedded = (
            {i for i in range(self.items.terminals) if automaton.constant(name, i) == 1}
            for name in (k.T_IGNORED, k.T_EMBEDDED)
        )
        self._ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._behind: dict[tuple[Between, int], list[Between]] = {}
        self._around: dict[Between, list[Between]] = {}
        self._lexers: dict[tuple[int, ...], int] = {}
        self._queue, self._out = np.zeros((64, 2), np.int64), np.zeros((16, 2), np.int64)

    def between(self, stacks: int, lookaheads: int) -> Between:
        """What matters at closed stacks."""
        return Between(self._automaton.tops(stacks) if self._stack_tops else 0, lookaheads)

    def may_end(self, between: Between) -> bool:
        """Whether the text may end here, perhaps behind ignored terminals."""
        return any(
            found.lookaheads == 0
            or self._automaton.field(found.lookaheads, LOOKAHEADS_VIOLATED) == 0
            for found in self._skipped(between)
        )

    def behind(self, between: Between, terminal: int) -> list[Between]:
        """What can be between lexemes behind a terminal, perhaps with ignored ones before it."""
        key = (between, terminal)
        if key not in self._behind:
            found = [b for place in self._skipped(between) for b in self._read(place, terminal)]
            self._behind[key] = self._least(found)
        return self._behind[key]

    def is_plain(self, between: Between) -> bool:
        """Whether ignored text, or none, satisfies all lookaheads."""
        return between.lookaheads == 0 or self._skipped(between)[0].lookaheads == 0

    def are_plain(self) -> bool:
        """Whether every item can be read so that what is left behind each terminal is plain.

        Never so with `stack_tops`: what the lexer looks for differs from stack to stack then.
        """
        if self._stack_tops is not None:
            return False
        nothing = Between(0, 0)
        return self.items.all_derive(
            [
                any(map(self.is_plain, self.behind(nothing, terminal)))
                for terminal in range(self.items.terminals)
            ]
        )

    def of(self, lexer: int, lookaheads: int) -> list[tuple[int, int]]:
        """The pairs (record of terminals, lookaheads left) with which a lexeme can end."""
        key = (lexer, lookaheads)
        if key not in self._ends:
            self._run(lexer, lookaheads)
        return self._ends[key]

    def least_from(self, lexer: int) -> list[frozenset[tuple[int, int]]]:
        """In which ways the lexemes that a lexer state can become can end, those of fewest ways.

        Each as pairs like those of `of`. What can be followed up if a lexeme has few ways to end
        can be if it has more.
        """
        states = np.array(self._run(lexer, 0))
        t = self._automaton.tables
        numbers = np.full(int(states.max()) + 2, -1, np.int32)
        numbers[states] = np.arange(len(states))
        after = t.rows[t.rec[states, REC_ROW]]
        after = np.where((after >= 0) & (after < len(numbers)), numbers[after], np.int32(-1))
        pairs: dict[tuple[int, int], int] = {}
        own = [0] * len(states)
        for i, place in enumerate(t.rec[states, LEXER_ENDINGS].tolist()):
            flat = t.heap[place + 1 : place + 1 + 2 * int(t.heap[place])].tolist()
            for pair in zip(flat[::2], flat[1::2], strict=True):
                own[i] |= 1 << pairs.setdefault(pair, len(pairs))
        ends = rows_of(own, len(pairs))
        kernels("grammar.viability").spread_ends(after, ends)
        begun = ends if self._automaton.record(lexer)[0] >= 0 else ends[1:]
        named = list(pairs)
        sets = {int.from_bytes(row.tobytes(), "little") for row in begun}
        return [frozenset(named[i] for i in ones(one)) for one in _least(sets)]

    def _run(self, lexer: int, lookaheads: int) -> list[int]:
        """Find how a lexeme can end; returns the lexer states on the way, the given one first."""
        kernel = kernels("grammar.viability").lexeme_ends
        full: int = kernels("masks.byte_walk").ENDS_FULL
        while True:
            size = 1 << (4 * (len(self._queue) + len(self._out))).bit_length()
            seen = np.zeros((size, 2), np.int64)
            tables = self._automaton.tables
            count = int(kernel(tables, lexer, lookaheads, self._queue, seen, self._out))
            if count >= 0:
                break
            if count == full:
                self._queue = np.zeros((2 * len(self._queue), 2), np.int64)
                self._out = np.zeros((2 * len(self._out), 2), np.int64)
            else:
                self._automaton.fill_on_demand(count)
        left: dict[int, list[int]] = {}
        for terminals, lookahead in self._out[:count].tolist():
            left.setdefault(terminals, []).append(lookahead)
        self._ends[lexer, lookaheads] = [
            (t, w) for t, all_ in left.items() for w in self._fewest(all_)
        ]
        found: list[int] = self._queue[1 : 1 + int(self._queue[0, 0]), 0].tolist()
        checkpoint(2 + len(found) // STATES_PER_UNIT)
        return found

    def _skipped(self, between: Between) -> list[Between]:
        """What can be there behind any number of ignored terminals."""
        found = self._around.get(between)
        if found is None:
            found = [between]
            for place in found:
                checkpoint()
                for terminal in self._ignored:
                    for fresh in self._read(place, terminal, skip=True):
                        if not any(self._leaves_more(one, fresh) for one in found):
                            found.append(fresh)
            found = self._around[between] = self._least(found)
        return found

    def _read(self, between: Between, terminal: int, *, skip: bool = False) -> list[Between]:
        """What can be there behind one terminal, which the grammar reads or is to `skip`."""
        tops, lookaheads = between
        if terminal in self._embedded:
            after = self._stack_tops.steps(tops).get(terminal, 0) if self._stack_tops else 0
            return [Between(after, left) for left in self._left_by_embedded(terminal, lookaheads)]
        if self._stack_tops is None:
            lexer = self._lexer_of([terminal])
            return [Between(0, left) for _, left in self.of(lexer, lookaheads)]
        steps = self._stack_tops.steps(tops)
        if not skip and terminal not in steps:
            return []
        allowed = sorted({*steps, *self._ignored})
        found = []
        for record, left in self.of(self._lexer_of(allowed), lookaheads):
            read = self._automaton.record(record)
            if terminal in read and not self._is_doubtful(terminal, allowed):
                after = 0
                for one in read:
                    after |= steps.get(one, 0) | (tops if one in self._ignored else 0)
                found.append(Between(after, left))
        return found

    def _lexer_of(self, terminals: list[int]) -> int:
        """The lexer state that looks for some terminals."""
        key = tuple(terminals)
        if key not in self._lexers:
            automaton, k = self._automaton, self._k
            starts = sorted(automaton.constant(k.T_START, t) for t in terminals)
            base = k.LEX * int(automaton.tables.info[k.REGION])
            automaton.tables.work[base : base + len(starts)] = starts
            self._lexers[key] = automaton.ask(k.intern, k.LEXER, base, len(starts))
        return self._lexers[key]

    def _is_doubtful(self, literal: int, allowed: list[int]) -> bool:
        """Whether a literal might be read as another terminal if the lexer looked for less.

        Namely without the pattern that reads the literal in its place in the order.
        """
        k, automaton = self._k, self._automaton
        low, high = (automaton.constant(k.WITHIN_START, literal + i) for i in (0, 1))
        patterns = {automaton.constant(k.WITHIN, i) for i in range(low, high)} & set(allowed)
        if not patterns:
            return False
        between = [t for t in allowed if min(patterns) < t < literal and t not in patterns]
        return any(self._begins_alike(literal, other) for other in between)

    def _begins_alike(self, literal: int, other: int) -> bool:
        """Whether a terminal goes on at least as long as some text of a literal."""
        k, automaton = self._k, self._automaton
        nexts: Any = automaton.tables.next
        start = (automaton.constant(k.T_START, literal), automaton.constant(k.T_START, other))
        seen, todo = {start}, [start]
        while todo:
            one, two = todo.pop()
            if automaton.constant(k.S_ENDS, one):
                return True
            both = (nexts[one] >= 0) & (nexts[two] >= 0)
            pairs = zip(nexts[one][both].tolist(), nexts[two][both].tolist(), strict=True)
            fresh = set(pairs) - seen
            seen |= fresh
            todo += fresh
        return False

    def _left_by_embedded(self, terminal: int, lookaheads: int) -> list[int]:
        """The lookaheads that texts of an embedded spec can leave."""
        if self._reader is None:
            return []
        return self._reader.lookaheads_left_by(self._automaton, terminal, lookaheads)

    def _least(self, found: list[Between]) -> list[Between]:
        """Those that leave most ways to go on."""
        if len(found) < 2:
            return found
        by_tops: dict[int, list[int]] = {}
        for tops, lookaheads in found:
            by_tops.setdefault(tops, []).append(lookaheads)
        return [Between(tops, w) for tops, all_ in by_tops.items() for w in self._fewest(all_)]

    def _leaves_more(self, one: Between, other: Between) -> bool:
        """Whether one leaves all the ways to go on that another one does."""
        if one.tops != other.tops or one.lookaheads in (0, other.lookaheads):
            return one.tops == other.tops
        record = self._automaton.record
        return other.lookaheads != 0 and {*record(one.lookaheads)} <= {*record(other.lookaheads)}

    def _fewest(self, found: list[int]) -> list[int]:
        """Records of lookaheads that are minimal as sets."""
        if len(found) < 2:
            return found
        if 0 in found:
            return [0]
        sets = {lookaheads: frozenset(self._automaton.record(lookaheads)) for lookaheads in found}
        return [w for w in sets if not any(sets[o] < sets[w] for o in sets)]


def _least(sets: set[int]) -> list[int]:
    """Of sets, as bits, those of which no other is a part; others, too, where there are many."""
    alone = [one for one in sets if one.bit_count() == 1]
    single = sum(alone)
    found: list[int] = []
    for one in sorted((one for one in sets if not one & single), key=int.bit_count):
        if len(found) > MANY_SETS or not any(one & other == other for other in found):
            found.append(one)
    return alone + found
