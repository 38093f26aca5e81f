"""Positions of a grammar's texts, in tables that kernels fill.

A position is a set of *threads*. A thread is a lexer state (all terminals that are being read side
by side, `kernels.grammar.lexer`), the sets of stacks below it (a graph-structured stack,
`kernels.grammar.stacks`) and the lookaheads of lexemes that have ended (`terminals.automata`).
Everything is interned and made when first met: where a kernel misses a table entry it stops with a
code, Python adds the entry (`fill_on_demand`), and the kernel starts again.

A position is an int64: lexer state << 31 | stacks where it has one thread without lookaheads, else
SEVERAL | the number of a record that lists its threads.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from structgen.automata.interface import DEAD
from structgen.automata.pushdown.tables import PackedArrays
from structgen.grammar.automaton.tables import Ints, grown
from structgen.kernels.build.loader import kernels
from structgen.kernels.grammar.records import (
    LOOKAHEADS_VIOLATED,
    REC_KIND,
    STACKS_LEXER,
    STACKS_TERMINALS,
)
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

Thread = tuple[int, int, int]  # lexer state, stacks, lookaheads (0 for none)


class GrammarPositions(ABC):
    """Reads texts of a grammar, and tells what a position consists of.

    guard: the first lookahead state of the condition on whole texts, if there is one (see
    `lookaround.guards`).
    """

    start: int
    guard: int | None

    def _begin(self, tables: Any, owners: Ints, terminals: list[str], rules: list[str]) -> None:
        """Set the tables, and the names for messages. owners: see `Syntax.rules`."""
        self._k = kernels("grammar.tables")
        self._step, self._entry_points = kernels("grammar.step"), kernels("grammar.entry_points")
        self.tables = tables
        self._owners = owners
        self._terminals = terminals
        self._rules = rules

    @property
    def tables(self) -> Any:
        """The arrays that kernels read and fill (see `kernels.grammar.tables`)."""
        return self._tables

    @tables.setter
    def tables(self, tables: Any) -> None:
        self._tables = tables
        self._written: PackedArrays | None = None

    @property
    def tables_at(self) -> int:
        """The address of the tables; valid until they are replaced by larger ones."""
        if self._written is None:
            self._written = PackedArrays(len(self._tables))
            self._entry_points.keep_tables(self._tables, self._written.address)
        return self._written.address

    # -- reading --------------------------------------------------------------------------------

    def ask(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel that takes the tables first, serving it until it has an answer."""
        while True:
            answer = kernel(self.tables_at, *arguments)
            if answer >= DEAD:
                return int(answer)
            self.fill_on_demand(int(answer))

    def fill_on_demand(self, code: int) -> None:
        """Add the table entry for which a kernel stopped (on-demand table fill)."""
        checkpoint()
        if code == self._k.NEED_SPACE:
            self.tables = grown(self.tables, int(self.tables.info[self._k.NEED]))
            return
        need = self._k.NEED
        lexer, stacks, lookaheads = self.tables.info[need : need + 3].tolist()
        if code == self._k.NEED_SURE:
            self.decide_lexemes(lexer, stacks)
        else:
            self.decide((lexer, stacks, lookaheads))

    @abstractmethod
    def decide(self, thread: Thread) -> None:
        """Note in the tables whether some text finishes a thread."""

    @abstractmethod
    def decide_lexemes(self, lexer: int, stacks: int) -> None:
        """Note whether all lexemes that a lexer state can become can surely be finished there."""

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """Read a text from a position (see `Automaton.run`)."""
        data = np.frombuffer(text, np.uint8)
        place = np.zeros(2, np.int64)
        while True:
            after = self._entry_points.run(self.tables_at, at, data, place)
            if after >= DEAD:
                return int(after), int(place[0])
            at = int(place[1])
            self.fill_on_demand(int(after))

    def is_accepting(self, at: int) -> bool:
        """Whether the text may end at a position."""
        while (answer := int(self._entry_points.is_accepting(self.tables_at, at))) < 0:
            self.fill_on_demand(answer)
        return answer == 1

    def next_bytes(self, at: int) -> list[int]:
        """The bytes that may come next."""
        alike = self._bytes_alike
        found = [same for same in alike if self.ask(self._step.step, at, same[0]) >= 0]
        return sorted(itertools.chain.from_iterable(found))

    # -- looking into positions -----------------------------------------------------------------

    @property
    def byte_classes(self) -> Ints:
        """int32[256]: the class of each byte; no terminal tells bytes of one class apart."""
        t, first = self.tables, self.tables.offsets[self._k.CLASS]
        found: Ints = t.fixed[first : first + 256]
        return found

    @cached_attribute
    def _bytes_alike(self) -> list[list[int]]:
        """The bytes of each class."""
        classes = self.byte_classes.tolist()
        return [[b for b in range(256) if classes[b] == one] for one in sorted(set(classes))]

    @property
    def is_guided(self) -> bool:
        """Whether an LALR parser beside the stacks says which terminals the lexer looks for."""
        return bool(self.tables.info[self._k.FIRST_STATE] >= 0)

    @property
    def commits(self) -> bool:
        """Whether some terminals, where they match, end what is read beside them."""
        k = self._k
        first, last = self.tables.offsets[[k.S_ENDS, k.S_ENDS + 1]].tolist()
        ends = self.tables.fixed[first:last]
        return bool((ends == kernels("grammar.lexer").COMMITS).any())

    @property
    def is_checked(self) -> bool:
        """Whether lexing can lead to dead ends, so that each thread is checked by itself."""
        return bool(self.tables.info[self._k.CHECKED] == kernels("grammar.viability").ALWAYS)

    def threads(self, at: int) -> list[Thread]:
        """The threads of a position: lexer state, stacks, lookaheads (0 for none)."""
        if at < self._step.SEVERAL:
            return [(at >> 31, at & self._step.LOW, 0)]
        flat = self.record(at & self._step.LOW)
        return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))

    def lookaheads_of(self, states: list[int]) -> int:
        """The record of a set of lookahead states (ascending), 0 for the empty set."""
        if not states:
            return 0
        k, base = self._k, self._k.LOOKAHEAD * int(self.tables.info[self._k.REGION])
        self.tables.work[base : base + len(states)] = states
        lookaheads = self.ask(k.intern, k.LOOKAHEADS, base, len(states))
        fails = max(self.constant(k.L_VIOLATED, state) for state in states)
        self.tables.rec[lookaheads, LOOKAHEADS_VIOLATED] = fails
        return lookaheads

    def tops(self, stacks: int) -> int:
        """The items on top of some stacks, as a bit mask."""
        item_set = self.record(self.bare_stacks(stacks))[::2]
        return sum(1 << item for item in {r for one in item_set for r in self.record(one)})

    def bare_stacks(self, stacks: int) -> int:
        """The stacks of a thread without the indentation and the LALR parser beside them."""
        while self.field(stacks, REC_KIND) != self._k.STACKS:
            stacks = self.record(stacks)[0]
        return stacks

    def record(self, number: int) -> list[int]:
        """The ints that a record holds (see `kernels.grammar.tables`)."""
        start, size = self.tables.rec[number, :2].tolist()
        found: list[int] = self.tables.heap[start : start + size].tolist()
        return found

    def field(self, number: int, field: int) -> int:
        """A field of a record."""
        return int(self.tables.rec[number, field])

    def allowed_terminals(self, stacks: int) -> list[int]:
        """The terminals that may come next at closed stacks."""
        return self.record(self.field(stacks, STACKS_TERMINALS))

    def first_lexer(self, stacks: int) -> int:
        """The lexer state at closed stacks before any byte of the next lexeme."""
        return self.field(stacks, STACKS_LEXER)

    def endings(self, lexer: int) -> list[tuple[int, int]]:
        """How lexemes can end in a lexer state: pairs of records (terminals, lookaheads)."""
        place = self.ask(kernels("grammar.lexer").endings, lexer)
        count = int(self.tables.heap[place])
        flat = self.tables.heap[place + 1 : place + 1 + 2 * count].tolist()
        return list(zip(flat[::2], flat[1::2], strict=True))

    def constant(self, name: int, index: int) -> int:
        """An entry of one of the constant arrays in `fixed`."""
        return int(self.tables.fixed[self.tables.offsets[name] + index])

    def shown(self, terminal: int) -> str:
        """How messages name a terminal."""
        return self._terminals[terminal]

    def rules_of_item(self, item: int) -> list[str]:
        """The user's rules to which an item belongs, the inner one first."""
        return [self._rules[rule] for rule in self._owners[item].tolist() if rule >= 0]
