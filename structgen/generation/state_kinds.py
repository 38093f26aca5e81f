"""Sorts states of a constraint into forced, choice and free text, and numbers their classes.

In free text (inside a string, a comment, prose) almost any byte may come next; there tokens carry
the meaning. Elsewhere the grammar offers a few continuations, and what matters is not how they are
spelt but which class of states (states with the same future) they lead to.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from structgen.generation.interfaces import Constraint
from structgen.util.cached import per_object

Ids = npt.NDArray[np.int64]

TEXT_BYTES = 24  #: text is free where so many bytes may come next: letters, not digits and signs
_REMEMBERED = 4096  # answers that are kept


@per_object
def state_kinds(constraint: Constraint) -> StateKinds:
    """The state kinds of a constraint, shared by all of its texts and threads."""
    return StateKinds(weakref.proxy(constraint))


class StateKinds:
    """The kinds of one constraint's states, each computed once."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._count = lru_cache(_REMEMBERED)(partial(_ways_on, constraint))
        self._numbers: dict[Hashable, int] = {}
        self._after: dict[int, tuple[Ids, Ids]] = {}

    def is_text(self, state: int) -> bool:
        """Whether text is free here."""
        return self._count(state) >= TEXT_BYTES

    def is_choice(self, state: int) -> bool:
        """Whether there are two or more ways to go on: different bytes, or the end of the text."""
        return self._count(state) > 1

    def stays_text(self, state: int, token: int) -> bool:
        """Whether text is free here, and still is after this token."""
        return self.is_text(state) and self.is_text(self._constraint.advance(state, token))

    def class_of(self, state: int) -> int:
        """The number of the state's class: states of a class have the same futures."""
        core = self._constraint.core(state)
        return self._numbers.setdefault(core, len(self._numbers))

    def classes_after(self, state: int, ids: Ids) -> Ids:
        """int64[k]: the classes that the tokens int64[k], allowed in `state`, lead to."""
        known = self._after.get(state)
        if known is None or not np.array_equal(known[0], ids):
            advance = self._constraint.advance
            found = [self.class_of(advance(state, int(token))) for token in ids]
            if len(self._after) >= _REMEMBERED:
                self._after = {}
            known = self._after[state] = ids.copy(), np.array(found, np.int64)
        return known[1]


def _ways_on(constraint: Constraint, state: int) -> int:
    """How many bytes may come next; the end of the text counts as one."""
    return len(constraint.allowed_bytes(state)) + constraint.is_accepting(state)
