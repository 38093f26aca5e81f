"""In: a spec and a vocabulary. Out: a constraint. START HERE: every stage, in order.

spec      what the user wrote: a schema, a Python type, a pattern      structgen.schema
automaton what reads its texts byte by byte, built on demand          structgen.automata
masks     positions times the vocabulary's trie                       structgen.masks
states    interned positions with their masks                         structgen.constraint
"""

from __future__ import annotations

import os
from typing import Any

from structgen.constraint.constraint import MAX_BYTES, Constraint, constraint_of
from structgen.constraint.loading import load as load_artifact
from structgen.errors import ValidationError
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema
from structgen.util.json_pointer import json_pointer
from structgen.vocabulary.vocabulary import Vocabulary


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
    return constraint_of(coerce(spec), vocabulary, max_bytes)


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
