"""A cache of compiled constraints: the same spec, asked for again, is not compiled again."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any

from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import MAX_BYTES, STATE_BYTES
from structgen.errors import VocabularyError
from structgen.generation.closing import Closer, Speller
from structgen.generation.interfaces import Constraint
from structgen.schema.coerce import coerce, is_constraint
from structgen.schema.report.slips import look_for_slips
from structgen.util.allocator import give_back
from structgen.vocabulary.vocabulary import Vocabulary

GIVE_BACK = 64  # constraints that are dropped until their memory is given back to the system
_STATES = 0.25  # share of a constraint's memory that its states may take


class CompiledSpecs:
    """The constraints of the specs used last, for one vocabulary. Safe to share between threads.

    Each takes about `max_bytes` at most. States of a constraint never expire, so one that has too
    many of them is compiled again for the next texts. Attributes: `speller`, which writes bytes in
    the vocabulary's tokens; `kept`, how many constraints are kept.
    """

    def __init__(
        self, vocabulary: Vocabulary, speller: Speller, kept: int, max_bytes: int = MAX_BYTES
    ) -> None:
        self._vocabulary = vocabulary
        self.speller = speller
        self.kept = kept
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._dropped = 0  # since memory was given back
        self._found: OrderedDict[Any, tuple[Any, Constraint, Closer]] = OrderedDict()

    def get(self, spec: Any, *, strict: bool = False) -> tuple[Constraint, Closer]:
        """The constraint of a spec, and what ends its texts; a compiled constraint is taken as is.

        VocabularyError when it was compiled for another vocabulary; else what compiling raises,
        with `strict` for misspelt keywords as well.
        """
        compiled = is_constraint(spec)
        if strict:
            look_for_slips(spec.spec if compiled else coerce(spec), strict=True)
        key = ("id", id(spec)) if compiled else _key(spec)
        with self._lock:
            known = self._found.get(key)
            if known is not None and (compiled or not outgrown(known[1], self._max_bytes)):
                self._found.move_to_end(key)
                return known[1:]
        constraint = self._own(spec) if compiled else self._compile(spec)
        closer = Closer(constraint, self.speller)
        dropped = []
        with self._lock:
            self._found[key] = (spec, constraint, closer)  # keeping the spec keeps its id unique
            while len(self._found) > self.kept:
                dropped.append(self._found.popitem(last=False))
            self._dropped += len(dropped)
            gives_back = self._dropped >= GIVE_BACK
            self._dropped = 0 if gives_back else self._dropped
        dropped.clear()
        if gives_back:
            give_back()
        return constraint, closer

    def _compile(self, spec: Any) -> Constraint:
        return compile_spec(spec, self._vocabulary, max_bytes=self._max_bytes)

    def _own(self, constraint: Constraint) -> Constraint:
        if constraint.vocabulary.hash != self._vocabulary.hash:
            raise VocabularyError(
                "the constraint was compiled for another vocabulary",
                expected="the Generator's own",
                hint="compile it with generator.vocabulary, or give the spec itself",
            )
        return constraint


def outgrown(constraint: Constraint, max_bytes: int) -> bool:
    """Whether the states alone, which never expire, take more than their share of the memory."""
    states = getattr(constraint, "size", {}).get("states", 0)
    return bool(states * STATE_BYTES > _STATES * max_bytes)


def _key(spec: Any) -> Any:
    """Equal keys mean the same spec: its content where it has one, else the object as it is now."""
    try:
        hash(spec)
    except TypeError:
        content = spec.to_json() if hasattr(spec, "to_json") else spec
        try:
            return type(spec), json.dumps(content)  # the order of keys is part of the spec
        except (TypeError, ValueError, RecursionError):
            return "id", id(spec), repr(spec)
    return type(spec), spec, repr(spec)  # repr: 1 and True are equal, and not the same
