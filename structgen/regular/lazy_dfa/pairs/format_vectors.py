"""One automaton for several expressions that a text is read in, one part of which is a format.

As in conditions: is the value a host name, or is it none? The format's automaton (see `pairs`) is
read beside one of the plain parts of the expressions, and an outcome follows from where both stand.
Only for expressions one of which holds whatever the text is, so that no state is dead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.regular.expressions.base import EMPTY, Regex
from structgen.regular.expressions.logic import complement
from structgen.regular.expressions.nodes import ANY, is_vast
from structgen.regular.lazy_dfa.counters import LengthAutomaton
from structgen.regular.lazy_dfa.pairs.pair import PairAutomaton, any_characters, facts_at
from structgen.regular.lazy_dfa.product import TableOf
from structgen.regular.lazy_dfa.states import Array, RegexAutomaton
from structgen.regular.lazy_dfa.vectors import Outcomes, Vector, VectorProduct, fits, take_apart


def format_in(vector: Vector) -> tuple[Regex, list[Regex]] | None:
    """The only format that a vector is about, and its other parts, all plain; None of others."""
    parts: dict[Regex, None] = {}
    for language in vector:
        take_apart(language, parts, unions=False)
    formats = [part for part in parts if is_vast(part)]
    others = [part for part in parts if part not in (*formats, ANY, EMPTY)]
    if len(formats) != 1 or not all(part.plain for part in others):
        return None
    listed = {*vector}
    is_total = ANY in listed or any(complement(language) in listed for language in vector)
    return (formats[0], others) if is_total else None


class FormatVector(PairAutomaton):
    """A DFA that reads a format and plain expressions at once. Hold `lock` to use it.

    sprawls: see `VectorProduct`.
    """

    joint = False
    sprawls = False

    def __init__(
        self,
        vector: Vector,
        base: RegexAutomaton,
        found: tuple[Regex, list[Regex]],
        table_of: TableOf,
    ) -> None:
        """`base` reads the format; found: see `format_in`. Raises TooLargeError."""
        self._vector, (self._format, self._plain) = vector, found
        self.outcomes = Outcomes(vector)
        side: RegexAutomaton = LengthAutomaton(ANY)
        self._within: VectorProduct | None = None
        if self._plain:
            side = self._within = VectorProduct((*self._plain, ANY), table_of)
        super().__init__(base, side)
        self.ends[0] = self._facts_of(np.zeros(1, np.int64))[0][0]

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        (base, side), (at, beside) = self.both, self._pairs.halves[pairs].T
        known = {EMPTY: np.zeros(len(pairs), np.bool_), ANY: np.ones(len(pairs), np.bool_)}
        known[self._format] = facts_at(base, at)[0] != 0
        codes, endless, *_ = facts_at(side, beside)
        if self._within is not None:
            held = np.array([(False,) * (len(self._plain) + 1), *self._within.outcomes.listed])
            known |= dict(zip(self._plain, held[codes].T, strict=False))
        ends = self.outcomes.codes(np.array([fits(x, known) for x in self._vector]).T)
        free = (endless != 0) & (at < 0) & (ends == self.outcomes.open_ended)
        return [ends, free & (self.outcomes.open_ended > 0), *any_characters(len(pairs))]
