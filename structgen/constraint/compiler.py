"""Compile a spec for a vocabulary: this is where to start reading.

`compile` takes each of these steps; `load` and `check` are short cuts through the same ones.

1. What the user gave (a schema, a Python type, a pattern, a grammar) becomes a `Spec`, an immutable
   value (`structgen.spec.base`, `structgen.schema.coerce`).
2. The spec makes an `Automaton` over bytes, whose tables are filled as texts are read
   (`structgen.automata.interface`; `structgen.automata.pushdown.engine` for schemas and patterns).
3. The automaton and the vocabulary's trie give token masks (`structgen.masks.pushdown_masks`).
4. A `Constraint` numbers the positions of the automaton as states, and keeps their masks
   (`structgen.constraint.constraint`).

Nothing is computed before somebody asks for it: a compiled constraint knows its start state.
"""

from __future__ import annotations

import os
from typing import Any

from structgen.constraint.constraint import MAX_BYTES, Constraint, check_integer, constraint_of
from structgen.constraint.loading import load as load_artifact
from structgen.errors import ValidationError
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema
from structgen.util.json_pointer import json_pointer
from structgen.vocabulary.vocabulary import Vocabulary, checked_vocabulary


def compile(  # noqa: A001  the contract's name
    spec: Any, vocabulary: Vocabulary, *, max_bytes: int = MAX_BYTES
) -> Constraint:
    """The constraint that lets exactly the texts of `spec` through.

    spec: `JsonSchema`, `Regex`, `Choice`, a Python type (Pydantic model, dataclass, ...), or a
    schema as a dict. max_bytes: about how much memory the constraint may take; what was used least
    recently is dropped and made again on demand. Raises SpecError (broken), UnsupportedSchemaError
    (legal, not enforced yet), UnsatisfiableSchemaError (no text fits) or BudgetError, each with the
    place of the culprit.
    """
    wanted = coerce(spec)
    check_integer("max_bytes", max_bytes, "a number of bytes, such as 64 << 20")
    return constraint_of(wanted, checked_vocabulary(vocabulary), max_bytes)


def load(
    path: str | os.PathLike[str], vocabulary: Vocabulary, *, max_bytes: int = MAX_BYTES
) -> Constraint:
    """The constraint that `Constraint.save` wrote; see `structgen.constraint.loading.load`."""
    return load_artifact(path, vocabulary, max_bytes=max_bytes)


def check(spec: Any, text: str | bytes) -> None:
    """Raise ValidationError unless `text` is one of the texts of `spec`.

    The error has the byte offset of the first byte that cannot be right (or the length of the text
    when it ends too soon), the JSON Pointer of the value being read there, and what was expected.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    wanted = coerce(spec).portable()
    automaton = wanted.automaton()
    at, count = automaton.run(automaton.start, data)
    if at < 0:
        at, _ = automaton.run(automaton.start, data[:count])
        wrong = f"byte {data[count : count + 1]!r} does not fit"
    elif automaton.is_accepting(at):
        return
    else:
        wrong = "the text ends too soon"
    raise ValidationError(
        wrong,
        offset=count,
        path=json_pointer(data[:count]) if isinstance(wanted, JsonSchema) else "",
        location=f"byte {count}",
        expected=wanted.expected(automaton, at, data[:count]),
    )
