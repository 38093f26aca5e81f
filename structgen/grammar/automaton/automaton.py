"""The automaton of a grammar: its tables are built, checked for dead ends, stored and restored.

Reading itself is in `positions`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Automaton, Bytes, Stored
from structgen.errors import ArtifactError, BudgetError, UnsatisfiableSchemaError
from structgen.grammar.analysis.adjacency import Adjacency
from structgen.grammar.analysis.relations import Relations, is_shut_out
from structgen.grammar.analysis.terminal_sets import Items, looked_for_at_once
from structgen.grammar.analysis.viability import Viability
from structgen.grammar.automaton.completions import Completions
from structgen.grammar.automaton.expected import expected
from structgen.grammar.automaton.lalr_guided import Guide
from structgen.grammar.automaton.positions import GrammarPositions, Thread
from structgen.grammar.automaton.tables import (
    Arrays,
    arrays_of,
    tables_from,
    tables_of,
)
from structgen.grammar.automaton.tables_check import are_positions
from structgen.grammar.embedded.reader import EmbeddedReader
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.automata import Automata
from structgen.grammar.transforms.useless import trimmed
from structgen.kernels.build.loader import kernels
from structgen.util.cancellation import limited

MAX_PROOF = 40_000  # units of work to show that there are no dead ends


class GrammarAutomaton(GrammarPositions, Automaton):
    """The texts of a context-free grammar.

    follow: uint8[terminals, byte classes], whether a byte can follow a terminal. competing:
    uint8[terminals, terminals], whether the lexer may read one otherwise if it looks for the other,
    too.
    bytes_before_embedded: bytes with which terminals may end that stand in front of an embedded
    spec.
    """

    MASKS = "structgen.grammar.automaton.masks:GrammarMasks"

    follow: npt.NDArray[np.uint8]
    competing: npt.NDArray[np.uint8]
    bytes_before_embedded: frozenset[int]

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
        terminals = used.in_larks_order()
        names = [used.source_rule(name) for name in syntax.names]
        self._begin(tables, syntax.rules, list(map(str, terminals)), names)
        self.start = self.ask(kernels("grammar.start").begin, syntax.start)
        adjacency = self._adjacency(used, terminals, samples, syntax.start)
        self.bytes_before_embedded = adjacency.last_bytes(samples)
        self.follow = adjacency.follow_classes()
        safe = used.layout is not None or self._is_surely_safe(used, terminals, adjacency)
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

    def _is_surely_safe(
        self, grammar: Grammar, terminals: list[Terminal], adjacency: Adjacency
    ) -> bool:
        """Whether it can be shown soon, once for all, that lexer and parser lead to no dead end.

        Otherwise each thread is checked when it is met (`analysis.viability`).
        """
        try:
            with limited(MAX_PROOF):
                return self._is_safe(grammar, terminals, adjacency)
        except BudgetError:
            return False

    def _is_safe(self, grammar: Grammar, terminals: list[Terminal], adjacency: Adjacency) -> bool:
        """Whether it can be shown that lexer and parser lead to no dead end."""
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
            adjacency = adjacency.beside(looked_for_at_once(self, self.items))
            if adjacency.is_safe():
                return True
        numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
        if grammar.variants is not None:
            return adjacency.keeps_apart(grammar.variants, numbers)
        ignored = [numbers[name] for name in grammar.ignore]
        if is_shut_out(grammar, numbers, ignored, adjacency.can_follow(ignored)):
            return False
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

    @cached_property
    def items(self) -> Items:
        """The items (dotted rules) of the grammar."""
        return Items(self.tables, self.tops(self.threads(self.start)[0][1]))

    @cached_property
    def _viability(self) -> Viability:
        return Viability(self, self.items, self.embedded)

    def decide(self, thread: Thread) -> None:
        """See `GrammarPositions.decide`."""
        self._viability.decide(thread)

    def decide_lexemes(self, lexer: int, stacks: int) -> None:
        """See `GrammarPositions.decide_lexemes`."""
        sure = self._viability.is_sure(lexer, stacks)
        self.ask(kernels("grammar.viability").note_sure, lexer, stacks, int(sure))

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

    # -- the rest of the interface --------------------------------------------------------------

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return are_positions(self.tables, np.array([at]))

    def core(self, at: int) -> int:
        """See `Automaton.core`: equal futures mostly have equal positions."""
        return at

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        return expected(self, at)

    def completions(self, alphabet: Bytes = range(256)) -> Completions:
        """See `Automaton.completions`."""
        return Completions(self, self.embedded, alphabet)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`: records (item sets, stacks, lexer states), bytes."""
        t = self.tables
        return {
            "records": int(t.info[self._k.RECORDS]),
            "bytes": sum(array.nbytes for array in t),
        }
