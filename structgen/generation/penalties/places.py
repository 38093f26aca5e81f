"""In: states of a constraint. Out: what kind of place each is: forced, a choice, or free text.

In free text (inside a string, a comment, prose) almost any byte may come next; there tokens have
meaning of their own. Elsewhere the grammar offers a few ways to go on, and what matters is not how
they are spelt but which class of states they lead to.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from structgen.generation.interfaces import Constraint

Ids = npt.NDArray[np.int64]

TEXT_BYTES = 24  #: where so many bytes may come next, text is free: letters, not digits and signs
_REMEMBERED = 4096  # states, forgotten together when there are more

_known: weakref.WeakKeyDictionary[Constraint, Places] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def places_of(constraint: Constraint) -> Places:
    """The places of a constraint, shared by all of its texts and threads."""
    with _lock:
        found = _known.get(constraint)
        if found is None:
            found = _known[constraint] = Places(weakref.proxy(constraint))
        return found


class Places:
    """What the states of one constraint are; worked out once for each."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._bytes: dict[int, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._after: dict[int, tuple[Ids, Ids]] = {}

    def is_text(self, state: int) -> bool:
        """Whether text is free here."""
        return self._count(state) >= TEXT_BYTES

    def is_choice(self, state: int) -> bool:
        """Whether there are two ways or more to go on: other bytes, or to end."""
        return self._count(state) > 1

    def stays_text(self, state: int, token: int) -> bool:
        """Whether text is free here, and still is after this token."""
        return self.is_text(state) and self.is_text(self._constraint.advance(state, token))

    def number(self, state: int) -> int:
        """The number of the state's class: states of a class have the same futures."""
        core = self._constraint.core(state)
        return self._numbers.setdefault(core, len(self._numbers))

    def after(self, state: int, ids: Ids) -> Ids:
        """int64[k]: the classes that the tokens int64[k], allowed in `state`, lead to."""
        known = self._after.get(state)
        if known is None or not np.array_equal(known[0], ids):
            advance = self._constraint.advance
            found = [self.number(advance(state, int(token))) for token in ids]
            if len(self._after) >= _REMEMBERED:
                self._after = {}
            known = self._after[state] = ids.copy(), np.array(found, np.int64)
        return known[1]

    def _count(self, state: int) -> int:
        count = self._bytes.get(state)
        if count is None:
            count = len(self._constraint.allowed_bytes(state))
            count += self._constraint.is_accepting(state)
            if len(self._bytes) >= _REMEMBERED:
                self._bytes = {}
            self._bytes[state] = count
        return count
