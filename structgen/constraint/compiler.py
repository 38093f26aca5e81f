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

import json
import os
from typing import Any

from structgen.constraint.constraint import MAX_BYTES, Constraint, constraint_of
from structgen.constraint.loading import load as load_artifact
from structgen.errors import ArgumentError, BudgetError, ValidationError
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema
from structgen.schema.python.types import PythonType
from structgen.schema.report.slips import look_for_slips
from structgen.spec.base import Spec
from structgen.util.arguments import check_integer
from structgen.util.cancellation import limited
from structgen.util.json_pointer import json_pointer
from structgen.vocabulary.vocabulary import Vocabulary, checked_vocabulary

MAX_WORK = 150_000  # units of work for the compilation of one spec


def compile(  # noqa: A001  the contract's name
    spec: Any, vocabulary: Vocabulary, *, max_bytes: int = MAX_BYTES, strict: bool = False
) -> Constraint:
    """The constraint that lets exactly the texts of `spec` through.

    spec: `JsonSchema`, `Regex`, `Choice`, a Python type (Pydantic model, dataclass, ...), or a
    schema as a dict. max_bytes: about how much memory the constraint may take; what was used least
    recently is dropped and made again on demand. strict: whether a name in a schema that is almost
    a keyword is a SpecError; else it gives a MisspeltKeywordWarning.

    Raises SpecError (broken), UnsupportedSchemaError (legal, not enforced yet),
    UnsatisfiableSchemaError (no text fits), BudgetError or VocabularyError, each with the place of
    the culprit.
    """
    wanted = coerce(spec)
    look_for_slips(wanted, strict=strict)
    check_integer("max_bytes", max_bytes, "a number of bytes, such as 64 << 20")
    vocabulary = checked_vocabulary(vocabulary)
    try:
        with limited(MAX_WORK, "the spec takes too long to compile", "make it simpler"):
            return constraint_of(wanted, vocabulary, max_bytes)
    except RecursionError as error:
        raise BudgetError(
            "the spec is nested too deeply", hint="nest its parts less deeply"
        ) from error


def load(
    path: str | os.PathLike[str], vocabulary: Vocabulary, *, max_bytes: int = MAX_BYTES
) -> Constraint:
    """The constraint that `Constraint.save` wrote; see `structgen.constraint.loading.load`."""
    return load_artifact(path, vocabulary, max_bytes=max_bytes)


def check(spec: Any, text: Any, *, exact_layout: bool = False) -> None:
    """Raise ValidationError unless `text` is one of the texts of `spec`.

    text: a text, or its bytes in UTF-8. For a schema or a Python type it may also be a value, such
    as a dict, which is then written as JSON (a string is always taken as a text).

    A check is about the value: the order of keys and the white space of JSON, where the spec leaves
    them at their defaults, may be any. `exact_layout` asks for a text as generation would write it.

    The error has the byte offset of the first byte that cannot be right (or the length of the text
    when it ends too soon), the JSON Pointer of the value being read there, and what was expected.
    Where the text is JSON and the spec a schema, it names the keyword that fails first.
    """
    given = coerce(spec)
    data = _written(given, text)
    wanted = given.portable()
    if isinstance(wanted, JsonSchema) and not exact_layout:
        wanted = wanted.any_layout()
    automaton = wanted.automaton()
    at, count = automaton.run(automaton.start, data)
    if at < 0:
        at, _ = automaton.run(automaton.start, data[:count])
        wrong = f"byte {data[count : count + 1]!r} does not fit"
    elif automaton.is_accepting(at):
        return
    else:
        wrong = "the text ends too soon"
    from structgen.schema.report.faults import NO_FAULT, fault_of

    path, fault = "", NO_FAULT
    if isinstance(wanted, JsonSchema):
        path = json_pointer(data[:count])
        fault = fault_of(wanted, data, count, path)
    raise ValidationError(
        f"{fault.message}; {wrong}" if fault.message else wrong,
        offset=count,
        path=path,
        location=f"byte {count}",
        expected=wanted.expected(automaton, at, data[:count]),
        keyword=fault.keyword,
        schema_path=fault.schema_path,
        value_path=fault.path,
        reason=fault.message,
    )


def _written(spec: Spec, text: Any) -> bytes:
    """The bytes of a text, or of a value as JSON. ArgumentError for what is neither."""
    if isinstance(text, str):
        return text.encode(errors="surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    problem = f"the text is {text!r:.60}"
    if not isinstance(spec, JsonSchema | PythonType):
        raise ArgumentError(problem, expected="str, or bytes in UTF-8")
    try:
        written = json.dumps(text, ensure_ascii=False, allow_nan=False)
        return written.encode(errors="surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        wrong = error
    try:
        if isinstance(spec, PythonType):  # whose values are more than those of `json`
            return spec.write(text)
    except (TypeError, ValueError) as error:
        wrong = error
    raise ArgumentError(
        f"{problem}, which cannot be written as JSON: {wrong}", expected="a text or a JSON value"
    )
