"""One automaton for several expressions that a text is read in, each by an automaton of its own.

As a union's alternatives are: a text goes on while it does in one of them, so no state is dead. The
outcome is told by which of them the text may end in. Masks are joined from those of the parts, so
no pairs are explored for them but where texts end in several expressions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.regular.expressions.base import EMPTY
from structgen.regular.lazy_dfa.pairs.pair import facts_at
from structgen.regular.lazy_dfa.pairs.side_by_side import SideBySideAutomaton
from structgen.regular.lazy_dfa.states import Array, RegexAutomaton
from structgen.regular.lazy_dfa.vectors import Outcomes, Vector


def each_live(vector: Vector) -> Vector:
    """The expressions of a vector that have texts, each once."""
    return tuple(dict.fromkeys(language for language in vector if language is not EMPTY))


class UnionVector(SideBySideAutomaton):
    """A DFA that reads several expressions at once. Hold `lock` to use it.

    sprawls: see `VectorProduct`.
    """

    sprawls = False

    def __init__(self, vector: Vector, automata: Sequence[RegexAutomaton]) -> None:
        """automata: one for each of `each_live(vector)`, at least two."""
        alive = each_live(vector)
        places = {language: place for place, language in enumerate((*alive, EMPTY))}
        self._columns = [places[language] for language in vector]
        self.outcomes = Outcomes(vector)
        one, *others = automata
        other = others[0] if len(others) == 1 else UnionVector(alive[1:], others)
        super().__init__(one, other, joint=False)
        self.ends[0] = self._facts_of(np.zeros(1, np.int64))[0][0]

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        (one, other), (at, beside) = self.both, self._pairs.halves[pairs].T
        _, endless, *loops = super()._facts_of(pairs)
        codes = facts_at(other, beside)[0]
        within = np.array([[False], [True]])
        if isinstance(other, UnionVector):
            listed = other.outcomes.listed
            within = np.array([(False,) * len(other._columns), *listed])
        fits = np.column_stack(
            (facts_at(one, at)[0] != 0, within[codes], np.zeros(len(pairs), np.bool_))
        )
        ends = self.outcomes.codes(fits[:, self._columns])
        alone, free = (at < 0) | (beside < 0), self.outcomes.open_ended
        return [ends, (endless != 0) & alone & (ends == free) & (free > 0), *loops]
