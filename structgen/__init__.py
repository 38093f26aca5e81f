"""In: a language model and a spec. Out: text that is certain to fit the spec.

The names below are loaded on first use: importing structgen compiles nothing and imports neither
torch nor transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "compile": "structgen.pipeline",
    "load": "structgen.pipeline",
    "check": "structgen.pipeline",
    "generate": "structgen.decode.generator",
    "Generator": "structgen.decode.generator",
    "Vocabulary": "structgen.tokens.vocabulary",
    "Constraint": "structgen.constraint",
    "DEAD": "structgen.constraint",
    "FINAL": "structgen.constraint",
    "JsonSchema": "structgen.spec.specs",
    "Regex": "structgen.spec.specs",
    "Choice": "structgen.spec.specs",
    "export_schema": "structgen.spec.dialect_export",
    "support": "structgen.spec.json_support",
    "errors": "structgen.errors",
}
__all__ = [
    "DEAD",
    "FINAL",
    "Choice",
    "Constraint",
    "Generator",
    "JsonSchema",
    "Regex",
    "Vocabulary",
    "check",
    "compile",
    "errors",
    "export_schema",
    "generate",
    "load",
    "support",
]

if TYPE_CHECKING:
    from structgen import errors as errors
    from structgen.automaton.automaton import DEAD as DEAD
    from structgen.constraint import FINAL as FINAL
    from structgen.constraint import Constraint as Constraint
    from structgen.decode.generator import Generator as Generator
    from structgen.decode.generator import generate as generate
    from structgen.pipeline import check as check
    from structgen.pipeline import compile as compile  # noqa: A004  the name of the contract
    from structgen.pipeline import load as load
    from structgen.spec.dialect_export import export_schema as export_schema
    from structgen.spec.json_support import support as support
    from structgen.spec.specs import Choice as Choice
    from structgen.spec.specs import JsonSchema as JsonSchema
    from structgen.spec.specs import Regex as Regex
    from structgen.tokens.vocabulary import Vocabulary as Vocabulary


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structgen' has no attribute {name!r}")
    module = importlib.import_module(home)
    value = module if home == f"structgen.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
