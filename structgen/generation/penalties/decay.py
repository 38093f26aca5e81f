"""`GrammarDecay`: what the grammar lets repeat without end gets less likely each time.

Runaway text repeats something that the grammar allows any number of times: digits, items, members,
white space. The automaton then takes the same transition between the same classes of states again
and again, whatever the tokens are. So transitions are counted, not tokens; where only one
transition is possible, as with required keys and other structure, a penalty on it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structgen.generation.checks import check
from structgen.generation.distribution import log_sum_exp
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.penalties.state_kinds import Ids, state_kinds


@dataclass(frozen=True)
class GrammarDecay:
    """Makes a transition of the grammar less likely each time that it is repeated in a row.

    The first `free` repeats cost nothing; then the probability is multiplied by `decay` once more
    each time, before it is normalised (after RPG, Dong et al. 2025, which decays in code what
    repeats grammatically). Transitions are of two kinds, counted separately: to stay in a class
    (the next digit; in free text, the same token once more), until it is left: the more it decays,
    the more likely is leaving. And to leave it towards another (a comma after an item), until it is
    left towards a third (the bracket): what decays goes to the other ways out, and none to staying.
    GenerationError when a number is out of range.
    """

    decay: float = 0.8
    free: int = 16

    def __post_init__(self) -> None:
        check("decay", self.decay, 0 < self.decay <= 1, "a number in (0, 1]")
        check("free", self.free, self.free >= 0, "an integer of 0 or more")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> DecayPath:
        """The state for a new text."""
        return DecayPath(self, constraint)


class DecayPath:
    """The transitions that one text has repeated."""

    def __init__(self, settings: GrammarDecay, constraint: Constraint) -> None:
        self._free = settings.free
        self._rate = math.log(settings.decay)
        self._constraint = constraint
        self._kinds = state_kinds(constraint)
        # How often in a row the text stayed in a class of states, and which class; in free text:
        # how often a token was repeated, and ~token.
        self._stays = 0
        self._last: int | None = None
        # For each class, the class that it was last left for, and how often in a row.
        self._left: dict[int, tuple[int, int]] = {}

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See GrammarDecay."""
        weights = np.zeros(len(ids))
        if not self._kinds.is_choice(state):
            return weights
        if self._kinds.is_text(state):
            again = ~ids == (0 if self._last is None else self._last)
            return np.where(again, self._weight(self._stays), weights)
        here = self._kinds.class_of(state)
        stays = self._stays if here == self._last else 0
        towards, times = self._left.get(here, (-1, 0))
        if max(stays, times) <= self._free:
            return weights
        after = self._kinds.classes_after(state, ids)
        leaves = after != here
        weights[~leaves] = self._weight(stays)
        if times > self._free:
            weights[after == towards] = self._weight(times)
            out, decayed = logits[leaves], (logits + weights)[leaves]
            weights[leaves] += log_sum_exp(out) - log_sum_exp(decayed)
        return weights

    def wrote(self, state: int, token: int) -> None:
        """Count the transition that was taken."""
        if not self._kinds.is_choice(state):
            return
        if self._kinds.is_text(state):
            self._stay(~token)
            return
        here = self._kinds.class_of(state)
        after = self._kinds.class_of(self._constraint.advance(state, token))
        if after == here:
            self._stay(here)
            return
        if self._last == here:
            self._last, self._stays = None, 0
        towards, times = self._left.get(here, (-1, 0))
        self._left[here] = (after, times + 1 if after == towards else 1)

    def _stay(self, what: int) -> None:
        self._stays = self._stays + 1 if self._last == what else 1
        self._last = what

    def _weight(self, times: int) -> float:
        return self._rate * max(0, times - self._free)
