"""Classes of states in which the text is likely to go on alike.

Two notions: equal futures (`Constraint.core`), which distinguishes the positions in one schema, and
equal masks, which are compared across constraints of one vocabulary: the inside of a string is the
same class in all schemas.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Literal
from weakref import WeakKeyDictionary

from structgen.generation.interfaces import Constraint
from structgen.masks import bitmask

Kind = Literal["core", "mask"]
ClassOf = Callable[[Constraint, int], int]

_REMEMBERED = 1 << 12  # states of one constraint


class StateClasses:
    """The classes of states, remembered. Safe to share by threads."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._known: WeakKeyDictionary[Constraint, tuple[int, dict[int, int]]] = WeakKeyDictionary()

    def of(self, constraint: Constraint) -> ClassOf:
        """A function from the constraint and a state to its class, an int."""
        with self._lock:
            if constraint not in self._known:
                self._known[constraint] = (next(self._numbers), {})
            number, known = self._known[constraint]

        def class_of(constraint: Constraint, state: int) -> int:
            found = known.get(state)
            if found is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                found = known[state] = self._made(constraint, state, number)
            return found

        return class_of

    def _made(self, constraint: Constraint, state: int, number: int) -> int:
        core = getattr(constraint, "core", None)
        if self.kind == "core" and core is not None:
            return hash((number, core(state)))
        mask_id = getattr(constraint, "mask_id", None)
        if mask_id is not None:
            return int(mask_id(state))
        return bitmask.row_id(bitmask.row_of(constraint, state, constraint.vocabulary.size))
