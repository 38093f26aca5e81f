"""structgen with a constant set otherwise, beside structgen as it is: what is a mechanism worth?

A variant is named `structgen@MODULE.CONSTANT=VALUE`, as in `structgen@masks.lexeme_masks.RECENT=0`.
Several constants stand with `+` between. The module is one of structgen's, the value a number.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from typing import Any

from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.errors import EngineMissingError


def variant(name: str) -> type[StructgenEngine]:
    """The engine of a variant's name. EngineMissingError if there is no such constant."""
    settings = [setting(part) for part in name.partition("@")[2].split("+")]

    class Variant(StructgenEngine):
        def prepare(self, vocabulary: Any) -> None:
            for module, constant, value in settings:
                set_constant(module, constant, value)
            super().prepare(vocabulary)

    Variant.name = name
    return Variant


def setting(text: str) -> tuple[str, str, Any]:
    """Module, constant and value of `MODULE.CONSTANT=VALUE`. Raises EngineMissingError."""
    place, _, value = text.partition("=")
    module, _, constant = place.rpartition(".")
    try:
        found = ast.literal_eval(value)
        getattr(importlib.import_module(f"structgen.{module}"), constant)
    except (ValueError, SyntaxError, ImportError, AttributeError) as error:
        raise EngineMissingError(
            f"there is no variant {text!r} ({error})", expected="MODULE.CONSTANT=VALUE"
        ) from error
    return f"structgen.{module}", constant, found


def set_constant(module: str, constant: str, value: Any) -> None:
    """Set a constant of a module, and in the modules that have imported it by name."""
    setattr(importlib.import_module(module), constant, value)
    for name, loaded in list(sys.modules.items()):
        if name.startswith("structgen.") and hasattr(loaded, constant) and name != module:
            tree = ast.parse(inspect.getsource(loaded))
            if any(
                isinstance(node, ast.ImportFrom)
                and node.module == module
                and constant in [imported.name for imported in node.names]
                for node in ast.walk(tree)
            ):
                setattr(loaded, constant, value)
