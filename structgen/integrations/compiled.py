"""Keeps the constraints of a server's requests: each spec is compiled once, whoever asks first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import Constraint
from structgen.generation.compiled import outgrown
from structgen.integrations.huggingface import vocabulary_for
from structgen.integrations.requests import spec_of

KEPT = 128  # constraints at most
MAX_BYTES = 64 << 20  # of memory for each


class Constraints:
    """The constraints that a host's requests used last. Safe to use from many threads.

    When several threads ask for one at once, one compiles it and the others wait.

    tokenizer: of the model, as `vocabulary_for` takes it. logits: how many the model has; where the
    tokenizer has more tokens, these are never allowed. whitespace: of JSON, as `JsonSchema` takes
    it. VocabularyError for a tokenizer that does not say which bytes its tokens are.
    """

    def __init__(
        self,
        tokenizer: Any,
        logits: int,
        eos_ids: Iterable[int] | None = None,
        *,
        whitespace: str | None = None,
    ) -> None:
        ends = None if eos_ids is None else tuple(sorted(eos_ids))
        self.vocabulary = vocabulary_for(tokenizer, max(logits, len(tokenizer)), ends)
        self._whitespace = whitespace
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str], Future[Constraint]] = OrderedDict()

    def get(self, kind: str, content: str) -> Constraint:
        """The constraint of a request, named as `spec_of` takes it. What compiling raises."""
        key = kind, content
        with self._lock:
            known = self._found.get(key)
            mine = known is None or _is_outgrown(known)
            found: Future[Constraint] = Future() if known is None or mine else known
            self._found[key] = found
            self._found.move_to_end(key)
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
        if mine:
            try:
                spec = spec_of(kind, content, whitespace=self._whitespace)
                found.set_result(compile_spec(spec, self.vocabulary, max_bytes=MAX_BYTES))
            except BaseException as error:  # noqa: BLE001  # whoever waits gets it, too
                with self._lock:
                    if self._found.get(key) is found:
                        del self._found[key]  # it may do next time, with more memory
                found.set_exception(error)
        return found.result()

    def clear(self) -> None:
        """Let go of all constraints."""
        with self._lock:
            self._found.clear()


def _is_outgrown(known: Future[Constraint]) -> bool:
    return known.done() and known.exception() is None and outgrown(known.result(), MAX_BYTES)
