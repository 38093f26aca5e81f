"""Import the names of a package on first use (PEP 562), from where its stub says they are (SPEC 1).

`__init__.pyi` beside `__init__.py` is the one list of a package's names, for type checkers and for
this module: `from structgen.spec.regular import Regex as Regex`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def names_of_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package whose `__init__.py` is `file`.

    A name is what the stub imports under its own name, or gives another name. `__all__` has those
    that do not begin with an underscore.
    """

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        """For each name, the module that it is imported from, and what it is called there."""
        imported: dict[str, tuple[str, str]] = {}
        found: dict[str, tuple[str, str]] = {}
        for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    imported[alias.name] = node.module or package, alias.name
                    if alias.asname == alias.name:
                        found[alias.name] = imported[alias.name]
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                [target] = node.targets
                found[ast.unparse(target)] = imported[node.value.id]
        return found

    def get(name: str) -> Any:
        value: Any
        if name == "__all__":
            value = [public for public in sorted(homes()) if not public.startswith("_")]
        elif name in homes():
            home, own = homes()[name]
            module = importlib.import_module(home)
            known = own in vars(module)
            value = vars(module)[own] if known else importlib.import_module(f"{home}.{own}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes())
