"""Keeps the constraints of a server's requests: each spec is compiled once, whoever asks first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import STATE_BYTES, Constraint
from structgen.spec.base import Spec
from structgen.vocabulary.vocabulary import Vocabulary

KEPT = 128  # constraints at most
MAX_BYTES = 64 << 20  # of memory for each
_STATES = 0.25  # share of it that states may take before the spec is compiled anew


class Constraints:
    """The constraints used last, for one vocabulary. Safe to use from many threads.

    When several threads ask for a spec at once, one compiles it and the others wait.
    """

    def __init__(
        self, vocabulary: Vocabulary, kept: int = KEPT, max_bytes: int = MAX_BYTES
    ) -> None:
        self.vocabulary = vocabulary
        self._kept, self._max_bytes = kept, max_bytes
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Future[Constraint]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Spec]) -> Constraint:
        """The constraint of the spec with that key, which `make` makes. What compiling raises."""
        with self._lock:
            known = self._found.get(key)
            mine = known is None or self._outgrown(known)
            found: Future[Constraint] = Future() if known is None or mine else known
            self._found[key] = found
            self._found.move_to_end(key)
            while len(self._found) > self._kept:
                self._found.popitem(last=False)
        if mine:
            try:
                found.set_result(compile_spec(make(), self.vocabulary, max_bytes=self._max_bytes))
            except BaseException as error:  # noqa: BLE001  # whoever waits gets it, too
                with self._lock:
                    if self._found.get(key) is found:
                        del self._found[key]  # it may do next time, with more memory
                found.set_exception(error)
        return found.result()

    def _outgrown(self, known: Future[Constraint]) -> bool:
        """Whether the states alone take more than their share: states never expire."""
        if not known.done() or known.exception() is not None:
            return False
        return known.result().size["states"] * STATE_BYTES > _STATES * self._max_bytes
