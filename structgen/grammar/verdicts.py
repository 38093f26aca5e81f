"""In: a thread of a position. Out: whether some text finishes it, where that needs a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.grammar.automaton import GrammarAutomaton


class Verdicts:
    """Decides about threads by looking for a completion; what is decided is kept in the tables."""

    def __init__(self, automaton: GrammarAutomaton) -> None:
        from structgen.grammar.completions import Completions

        self._automaton = automaton
        self._completions = Completions(automaton)
        self._k = kernels("grammar_tables")

    def decide(self, thread: tuple[int, int, int]) -> bool:
        """Whether some text finishes a thread; it and all on the way are remembered.

        Raises BudgetError when that cannot be told within the limits of a completion.
        """
        automaton = self._automaton
        known = self.by_prospects(thread)
        if known is not None:
            self._remember(thread, verdict=known)
            return known
        at = automaton.ask(kernels("grammar_masks").place_of, *thread)
        mode = int(automaton.tables.info[self._k.CHECKED])
        automaton.tables.info[self._k.CHECKED] = kernels("grammar_verdicts").NEVER
        try:
            way = self._completions.search(at, self._is_known)
        finally:
            automaton.tables.info[self._k.CHECKED] = mode
        for place, _ in way or [(at, b"")]:
            threads = automaton.threads(place)
            if len(threads) == 1:
                self._remember(threads[0], verdict=way is not None)
        return way is not None

    def _is_known(self, at: int) -> bool:
        """Whether a position has a thread that is known to be finishable."""
        tables = self._automaton.tables
        find = kernels("tables").lookup
        return any(
            find(tables.memo, self._key(thread)) == 1 or self.by_prospects(thread)
            for thread in self._automaton.threads(at)
        )

    def by_prospects(self, thread: tuple[int, int, int]) -> bool | None:
        """What the prospects of terminals say of a thread; None if nothing."""
        automaton = self._automaton
        lexer, stacks, watches = thread
        if watches == 0 and automaton.surely.any_leads_on(lexer, stacks):
            return True
        between = lexer == automaton.field(stacks, 6)  # the text may end, or a spec inside begin
        return None if between or automaton.perhaps.any_leads_on(lexer, stacks) else False

    def _key(self, thread: tuple[int, int, int]) -> int:
        automaton = self._automaton
        base = self._k.REACHED * int(automaton.tables.info[self._k.REGION])
        automaton.tables.work[base : base + 3] = thread
        return automaton.ask(kernels("grammar_verdicts").verdict_key, 0)

    def _remember(self, thread: tuple[int, int, int], *, verdict: bool) -> None:
        self._automaton.ask(kernels("grammar_verdicts").decided, self._key(thread), int(verdict))
