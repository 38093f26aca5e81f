"""The automaton that reads the texts of a grammar byte by byte; every position is an int.

A position is a set of *threads*. A thread is a lexer state (all terminals that are being read side
by side, `kernels.grammar.lexer`), the sets of stacks below it (a graph-structured stack,
`kernels.grammar.stacks`) and the lookaheads of lexemes that have ended (`terminals.automata`).
Everything is interned and made when first met: where a kernel misses a table entry it stops with a
code, Python adds the entry (`fill_on_demand`), and the kernel starts again.

A position is an int64: lexer state << 31 | stacks where it has one thread without lookaheads, else
SEVERAL | the number of a record that lists its threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD, Automaton, Bytes, Stored
from structgen.automata.pushdown.tables import PackedArrays
from structgen.errors import ArtifactError, UnsatisfiableSchemaError
from structgen.grammar.analysis.adjacency import Adjacency
from structgen.grammar.analysis.relations import Relations
from structgen.grammar.analysis.terminal_sets import Items, StackTops, reached_soon
from structgen.grammar.analysis.viability import Viability
from structgen.grammar.automaton.lalr_guided import Guide
from structgen.grammar.automaton.tables import (
    Arrays,
    Ints,
    arrays_of,
    grown,
    in_larks_order,
    tables_from,
    tables_of,
)
from structgen.grammar.automaton.tables_check import are_positions
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.automata import Automata
from structgen.grammar.transforms.useless import trimmed
from structgen.kernels.build.loader import kernels
from structgen.kernels.grammar.records import (
    LOOKAHEADS_VIOLATED,
    REC_KIND,
    STACKS_LEXER,
    STACKS_TERMINALS,
)
from structgen.util.cancellation import checkpoint

if TYPE_CHECKING:
    from structgen.grammar.automaton.completions import Completions
    from structgen.grammar.embedded.reader import EmbeddedReader


class GrammarAutomaton(Automaton):
    """The texts of a context-free grammar.

    follow: uint8[terminals, byte classes], whether a byte can follow a terminal. competing:
    uint8[terminals, terminals], whether the lexer may read one otherwise if it looks for the other,
    too.
    bytes_before_embedded: bytes with which terminals may end that stand in front of an embedded
    spec. guard: the first lookahead state of the condition on whole texts, if there is one (see
    `lookaround.guards`).
    """

    MASKS = "structgen.grammar.automaton.masks:GrammarMasks"

    follow: npt.NDArray[np.uint8]
    competing: npt.NDArray[np.uint8]
    bytes_before_embedded: frozenset[int]
    guard: int | None

    def __init__(
        self,
        grammar: Grammar,
        embedded: EmbeddedReader | None = None,
        guard: Automata | None = None,
    ) -> None:
        """Raises UnsatisfiableSchemaError when no text fits, BudgetError when it is too large.

        embedded: the specs inside the grammar. The automaton itself reads nothing where these stand
        (see `grammar.embedded`); it only knows that something can be read there. guard: the
        condition on whole texts (`guards.guard_automata`); the grammar has no specs inside then.
        """
        used = trimmed(grammar)
        self.embedded, self.guard = embedded, None
        samples = {} if embedded is None else embedded.samples()
        widths = {t: min(map(len, x)) for t, x in samples.items()}
        tables, syntax = tables_of(used, widths, [] if guard is None else [guard])
        terminals = in_larks_order(used)
        names = [used.source_rule(name) for name in syntax.names]
        self._begin(tables, syntax.rules, list(map(str, terminals)), names)
        self.start = self.ask(kernels("grammar.start").begin, syntax.start)
        adjacency = self._adjacency(used, terminals, samples, syntax.start)
        self.bytes_before_embedded = adjacency.last_bytes(samples)
        self.follow = adjacency.follow_classes()
        safe = used.layout is not None or self._is_safe(used, terminals, adjacency)
        viability = kernels("grammar.viability")
        self.tables.info[self._k.CHECKED] = viability.DOUBTED if safe else viability.ALWAYS
        if not safe and not self._viability.decide(self.threads(self.start)[0]):
            raise UnsatisfiableSchemaError(
                "no text can be cut into the terminals that the grammar wants",
                expected="a text in which no terminal reads on into the next",
                hint="put something between them, or give terminals priorities",
            )
        if guard is not None:
            self.guard = len(self.tables.watch) - len(guard.lookahead[2:])
            self._begin_guarded(self.lookaheads_of([self.guard]))

    def _begin_guarded(self, lookaheads: int) -> None:
        """Apply the guard from the start on; UnsatisfiableSchemaError if no text satisfies it."""
        [(lexer, stacks, _)] = self.threads(self.start)
        if not self._viability.decide((lexer, stacks, lookaheads)):
            raise UnsatisfiableSchemaError(
                "no text fits all of the specs",
                expected=self.expected(self.start),
                hint="look for rules that exclude each other",
            )
        self.start = self.ask(kernels("grammar_masks.masks").place_of, lexer, stacks, lookaheads)

    def _is_safe(self, grammar: Grammar, terminals: list[Terminal], adjacency: Adjacency) -> bool:
        """Whether it can be shown once for all that lexer and parser lead to no dead end.

        Otherwise each thread is checked when it is met (`analysis.viability`).
        """
        if self.commits and len(self.tables.watch) > 2:
            return False
        variants = grammar.variants
        if variants is not None and variants.may_get_stuck:
            return False
        if grammar.lexing == "free" and len(self.tables.watch) == 2:
            return True  # no terminal has a condition on what follows
        k, choice = kernels("grammar.lalr_guided"), self.tables.info[self._k.CHOICE]
        if choice != k.ERRS and adjacency.is_safe():
            return True
        if choice != k.READS_ALL:
            return False
        if grammar.lexing != "free" and grammar.lalr is None:
            terminal_sets = StackTops(self.items).all_terminal_sets()
            met = reached_soon(self, terminal_sets) or terminal_sets
            adjacency = Adjacency(grammar, terminals, self.tables, met, adjacency.embedded)
            if adjacency.is_safe():
                return True
        numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
        if grammar.variants is not None:
            return adjacency.keeps_apart(grammar.variants, numbers)
        ignored = [numbers[name] for name in grammar.ignore]
        relations = Relations(grammar, numbers, ignored, adjacency.can_follow())
        return relations.every_place_leads_on()

    def _adjacency(
        self,
        grammar: Grammar,
        terminals: list[Terminal],
        embedded: dict[int, list[bytes]],
        top: int,
    ) -> Adjacency:
        """Which terminals may stand beside which; adds the LALR parser if it is needed.

        embedded: sample texts of embedded specs. top: the item to begin with.
        """
        if grammar.lalr is None:
            adjacency = Adjacency(grammar, terminals, self.tables, None, embedded)
            self.competing = adjacency.competing()
            return adjacency
        numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
        guide = Guide(grammar, grammar.lalr, numbers)
        adjacency = Adjacency(grammar, terminals, self.tables, guide.terminal_sets(), embedded)
        self.competing = adjacency.competing()
        self.tables = guide.guided(self.tables, self.competing)
        adjacency.spurious = guide.spurious
        self.start = self.ask(kernels("grammar.start").begin, top)
        return adjacency

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

    @cached_property
    def _viability(self) -> Viability:
        return Viability(self)

    @classmethod
    def restored(cls, saved: Stored, embedded: EmbeddedReader | None = None) -> GrammarAutomaton:
        """The automaton that `stored` described. Raises ArtifactError."""
        automaton = cls.__new__(cls)
        automaton.embedded = embedded
        header, arrays = saved.header, dict(saved.arrays)
        try:
            owners = arrays.pop("rules")
            automaton.follow, automaton.competing = arrays.pop("follow"), arrays.pop("tied")
            names = [list(map(str, header[kind])) for kind in ("terminals", "rules")]
            automaton._begin(tables_from(arrays), owners, *names)
            automaton.start = int(header["start"])
            guard = header.get("guard")
            automaton.guard = None if guard is None else int(guard)
            automaton.bytes_before_embedded = frozenset(map(int, header["before_inside"]))
            automaton._check()
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError("the file holds no automaton of a grammar") from error
        return automaton

    def _check(self) -> None:
        """Raise ValueError unless the arrays beside the tables fit them."""
        t, terminals = self.tables, int(self.tables.info[self._k.TERMINAL_COUNT])
        items = self._k.FIRST, self._k.FIRST + 1
        shapes = (
            (self.follow, np.uint8, (max(1, terminals), t.next.shape[1])),
            (self.competing, np.uint8, (max(1, terminals), max(1, terminals))),
            (self._owners, np.int32, (int(t.offsets[items[1]] - t.offsets[items[0]]), 2)),
        )
        for array, dtype, shape in shapes:
            if array.dtype != dtype or array.shape != shape:
                raise ValueError("an array has another shape")
        if len(self._terminals) != terminals or self._owners.max() >= len(self._rules):
            raise ValueError("there are fewer names than are used")
        if not are_positions(t, np.array([self.start])):
            raise ValueError("the start is no position")

    def stored(self) -> Stored:
        """See `Automaton.stored`."""
        header = {
            "start": self.start,
            "terminals": self._terminals,
            "rules": self._rules,
            "before_inside": sorted(self.bytes_before_embedded),
            "guard": self.guard,
        }
        arrays: Arrays = {"rules": self._owners, "follow": self.follow, "tied": self.competing}
        return Stored(header, arrays | arrays_of(self.tables))

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
            sure = self._viability.is_sure(lexer, stacks)
            self.ask(kernels("grammar.viability").note_sure, lexer, stacks, int(sure))
        else:
            self._viability.decide((lexer, stacks, lookaheads))

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        data = np.frombuffer(text, np.uint8)
        place = np.zeros(2, np.int64)
        while True:
            after = self._entry_points.run(self.tables_at, at, data, place)
            if after >= DEAD:
                return int(after), int(place[0])
            at = int(place[1])
            self.fill_on_demand(int(after))

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        while (answer := int(self._entry_points.is_accepting(self.tables_at, at))) < 0:
            self.fill_on_demand(answer)
        return answer == 1

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        return [byte for byte in range(256) if self.ask(self._step.step, at, byte) >= 0]

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return are_positions(self.tables, np.array([at]))

    def core(self, at: int) -> int:
        """See `Automaton.core`: equal futures mostly have equal positions."""
        return at

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        from structgen.grammar.automaton.expected import expected

        return expected(self, at)

    # -- looking into positions -----------------------------------------------------------------

    @property
    def byte_classes(self) -> Ints:
        """int32[256]: the class of each byte; no terminal tells bytes of one class apart."""
        t, first = self.tables, self.tables.offsets[self._k.CLASS]
        found: Ints = t.fixed[first : first + 256]
        return found

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

    def threads(self, at: int) -> list[tuple[int, int, int]]:
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

    @cached_property
    def items(self) -> Items:
        """The items (dotted rules) of the grammar."""
        return Items.of(self.tables, self.tops(self.threads(self.start)[0][1]))

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

    # -- what is made of it ---------------------------------------------------------------------

    def completions(self, alphabet: Bytes = range(256)) -> Completions:
        """See `Automaton.completions`."""
        from structgen.grammar.automaton.completions import Completions

        return Completions(self, alphabet)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`: records (item sets, stacks, lexer states), bytes."""
        t = self.tables
        return {
            "records": int(t.info[self._k.RECORDS]),
            "bytes": sum(array.nbytes for array in t),
        }
