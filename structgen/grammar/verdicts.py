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
        self._step = kernels("grammar_step")

    def decide(self, thread: tuple[int, int, int]) -> bool:
        """Whether some text finishes a thread; it and all on the way are remembered.

        Raises BudgetError when that cannot be told within the limits of a completion.
        """
        automaton = self._automaton
        base = self._k.REACHED * int(automaton.tables.info[self._k.REGION])
        automaton.tables.work[base : base + 3] = thread
        at = automaton.ask(self._step.packed, 1)
        automaton.tables.info[self._k.CHECKED] = 0
        try:
            text = self._completions.search(at)
            on_the_way = [at]
            for byte in text or b"":
                on_the_way.append(automaton.ask(self._step.step, on_the_way[-1], byte))
        finally:
            automaton.tables.info[self._k.CHECKED] = 1
        for place in on_the_way:
            threads = automaton.threads(place)
            if len(threads) == 1:
                self._remember(threads[0], verdict=text is not None)
        return text is not None

    def _remember(self, thread: tuple[int, int, int], *, verdict: bool) -> None:
        automaton = self._automaton
        base = self._k.REACHED * int(automaton.tables.info[self._k.REGION])
        automaton.tables.work[base : base + 3] = thread
        key = automaton.ask(self._step.verdict_key, 0)
        automaton.ask(self._k.remember, key, int(verdict))
