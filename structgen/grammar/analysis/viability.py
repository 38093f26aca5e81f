"""Whether a thread of a position can still be finished, where lexing may lead to dead ends.

Where terminals are cut freely that is decided (`Finishing`). Where the first in Lark's order
counts, what the lexer looks for depends on all stacks together, and the question is undecidable
(whether a terminal is *not* allowed is whether an ambiguous grammar leaves out a text). So two
bounds are tried: what can be finished even beside all that an LALR parser would look for surely
can; what cannot be even if the lexer looks for one terminal at a time cannot. For what is left a
finishing text is searched; where none is found within a limit, the thread is given up. So it is
with a layout by indentation, whose stacks hold the widths of lines as well; and where an LALR
parser stands beside them, or a terminal that commits, only the second bound is there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from structgen.automata.interface import DEAD
from structgen.errors import BudgetError
from structgen.grammar.analysis.finishing import MAX_STEPS, Finishing
from structgen.grammar.analysis.lexeme_ends import LexemeEnds
from structgen.grammar.analysis.terminal_sets import Items, StackTops
from structgen.grammar.automaton.completions import Completions, Way
from structgen.grammar.automaton.positions import GrammarPositions, Thread
from structgen.grammar.embedded.reader import EmbeddedReader
from structgen.kernels.build.loader import kernels

FEW_POSITIONS, MAX_POSITIONS = 32, 1_000  # looked at for a text that finishes a thread
SURE_STEPS = 2_000  # to see that all lexemes end well, which only spares asking for each
HASTE = 8  # in the search for it: any text will do
SOME_POSITIONS, SOME_STEPS = 300, 1_000  # first, where another automaton has to accept, too


class Viability:
    """Decides which threads can be finished; what is decided is kept in the tables."""

    def __init__(
        self, automaton: GrammarPositions, items: Items, embedded: EmbeddedReader | None
    ) -> None:
        self._automaton, self._items, self._embedded = automaton, items, embedded
        self._k = kernels("grammar.tables")
        self._ordered = bool(automaton.tables.info[self._k.ORDERED])
        self._guided = automaton.is_guided or automaton.commits
        self._alone = LexemeEnds(automaton, items, embedded)
        self._laid_out = bool(automaton.tables.info[self._k.NEWLINE] >= 0)
        self._safe = not automaton.is_checked  # all can be finished where no watch is left
        self._perhaps = Finishing(automaton, self._alone, safe=self._safe)
        self._alternatives: dict[int, list[frozenset[tuple[int, int]]]] = {}

    @cached_property
    def _surely(self) -> Finishing:
        if not self._ordered:
            return self._perhaps
        stack_tops = StackTops(self._items)
        lexemes = LexemeEnds(self._automaton, self._items, self._embedded, stack_tops)
        return Finishing(self._automaton, lexemes, safe=self._safe)

    @cached_property
    def _completions(self) -> Completions:
        return Completions(self._automaton, self._embedded)

    def decide(self, thread: Thread) -> bool:
        """Whether some text finishes a thread; it and those on the way are remembered."""
        known = self._decided(thread)
        self._remember(thread, verdict=known)
        return known

    def _decided(self, thread: Thread) -> bool:
        if self._automaton.guard is not None and thread[2]:
            return self._decided_guarded(thread, self._automaton.guard)
        known = None
        if self._ordered or self._laid_out:  # where cut freely, `prove` decides, and sooner
            most = FEW_POSITIONS if self._safe else SOME_POSITIONS
            known = self._found(thread, most, self._is_kept)
        if known is None and not self._laid_out:
            known = self.prove(thread)
        if known is None:
            known = self._found(thread, MAX_POSITIONS, self._is_known)
        return bool(known)

    def _decided_guarded(self, thread: Thread, guard: int) -> bool:
        """The same where a guard has to accept the text, too. Raises BudgetError."""
        lexer, stacks, lookaheads = thread
        own = [state for state in self._automaton.record(lookaheads) if state < guard]
        alone = lexer, stacks, self._automaton.lookaheads_of(own)
        for positions, steps in ((SOME_POSITIONS, SOME_STEPS), (MAX_POSITIONS, MAX_STEPS)):
            known = self._found(thread, positions, self._is_known)
            if known is None and not self._laid_out:
                known = self.prove(alone, steps) and None
                known = self.prove(thread, steps) if known is None else known
            if known is not None:
                return known
        raise BudgetError(
            "telling whether the text can still fit all of the specs takes too long",
            hint="combine fewer or simpler rules, or make the terminals easier to tell apart",
        )

    def prove(self, thread: Thread, most: int = MAX_STEPS) -> bool | None:
        """Whether some text finishes a thread, by analysis alone; None where that is not known.

        most: steps to take.
        """
        if not self._guided:
            known = self._finishes(self._surely, thread, most)
            if known or not self._ordered:
                return known
        return None if self._finishes(self._perhaps, thread, most) is not False else False

    def is_sure(self, lexer: int, stacks: int) -> bool:
        """Whether all lexemes that a lexer state can become can surely be finished there."""
        if self._guided:
            return False
        found = self._alternatives.get(lexer)
        if found is None:
            found = self._alternatives[lexer] = self._alone.least_from(lexer)
        return all(self._ends_well(self._surely, stacks, ends, SURE_STEPS) for ends in found)

    def _finishes(self, finishing: Finishing, thread: Thread, most: int = MAX_STEPS) -> bool | None:
        """Whether a thread can be finished as `finishing` sees it, None where it gave up."""
        lexer, stacks, lookaheads = thread
        if lexer == self._automaton.first_lexer(stacks):
            return finishing.can_end(self._automaton.bare_stacks(stacks), lookaheads, most)
        return self._ends_well(finishing, stacks, self._alone.of(lexer, lookaheads), most)

    def _ends_well(
        self,
        finishing: Finishing,
        stacks: int,
        ends: frozenset[tuple[int, int]] | list[tuple[int, int]],
        most: int = MAX_STEPS,
    ) -> bool | None:
        """Whether one of the ends of a lexeme that began at some stacks can be followed up."""
        scan_any = kernels("grammar.indentation").scan_any
        found: bool | None = False
        for terminals, lookaheads in ends:
            beyond = self._automaton.ask(scan_any, stacks, terminals)
            bare = beyond if beyond == DEAD else self._automaton.bare_stacks(beyond)
            known = beyond != DEAD and finishing.can_end(bare, lookaheads, most)
            if known:
                return True
            found = None if known is None else found
        return found

    def _found(self, thread: Thread, most: int, is_enough: Callable[[int], bool]) -> bool | None:
        """Whether a search finds a text that finishes a thread; None within `most` positions.

        is_enough: whether a position need not be looked behind. The threads read are kept.
        """
        automaton = self._automaton
        at = automaton.ask(kernels("grammar_masks.masks").place_of, *thread)
        mode = int(automaton.tables.info[self._k.CHECKED])
        automaton.tables.info[self._k.CHECKED] = kernels("grammar.viability").NEVER
        try:
            way = self._completions.search(at, is_enough, most, HASTE)
            for one in self._read_by(way or [], is_enough):
                self._remember(one, verdict=True)
        except BudgetError:
            return None
        finally:
            automaton.tables.info[self._k.CHECKED] = mode
        return way is not None

    def _read_by(self, way: Way, is_enough: Callable[[int], bool]) -> list[Thread]:
        """The threads of the positions of a way that lead to its end by themselves."""
        found, rest = [], b""
        for place, read in reversed(way):
            for thread in self._automaton.threads(place):
                alone = self._automaton.ask(kernels("grammar_masks.masks").place_of, *thread)
                end, _ = self._automaton.run(alone, rest)
                if end >= 0 and (self._automaton.is_accepting(end) or is_enough(end)):
                    found.append(thread)
            rest = read + rest
        return found

    def _is_kept(self, at: int) -> bool:
        """Whether a position has a thread that is known from the tables to be finishable."""
        find = kernels("tables").lookup
        return any(
            (self._safe and thread[2] == 0)
            or find(self._automaton.tables.memo, self._key(thread)) == 1
            for thread in self._automaton.threads(at)
        )

    def _is_known(self, at: int) -> bool:
        """Whether a position has a thread that is known to be finishable, or can be proved so."""
        return self._is_kept(at) or (
            not (self._safe or self._guided)
            and any(self._finishes(self._surely, t) for t in self._automaton.threads(at))
        )

    def _key(self, thread: Thread) -> int:
        automaton = self._automaton
        base = self._k.REACHED * int(automaton.tables.info[self._k.REGION])
        automaton.tables.work[base : base + 3] = thread
        return automaton.ask(kernels("grammar.viability").viability_key, 0)

    def _remember(self, thread: Thread, *, verdict: bool) -> None:
        self._automaton.ask(kernels("grammar.viability").decided, self._key(thread), int(verdict))
