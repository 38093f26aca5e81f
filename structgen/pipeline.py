"""In: a spec and a vocabulary. Out: a constraint. START HERE: every stage, in order.

    spec      what the user wrote: a schema, a Python type, a pattern      structgen.spec
    machine   its syntax, as a pushdown automaton over lexemes            structgen.automaton
    engine    the machine's run-time tables, filled on demand             structgen.automaton.engine
    masks     lexer states times the vocabulary's trie                    structgen.mask
    states    interned positions with their masks                         structgen.constraint
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structgen.automaton.engine import Engine
from structgen.constraint import Constraint
from structgen.spec.specs import coerce

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary


def compile(spec: Any, vocabulary: Vocabulary) -> Constraint:
    """The constraint that lets exactly the texts of `spec` through.

    spec: `JsonSchema`, `Regex`, `Choice`, a Python type (Pydantic model, dataclass, ...), or a
    schema as a dict. Raises SpecError (broken), UnsupportedSchemaError (legal, not enforced yet),
    UnsatisfiableSchemaError (no text fits) or BudgetError, each with the place of the culprit.
    """
    wanted = coerce(spec)
    return Constraint(wanted, vocabulary, Engine(wanted.machine()))
