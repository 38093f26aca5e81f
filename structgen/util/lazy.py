"""Import the names of a module on first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any


def importing(
    module: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> Callable[[str], Any]:
    """A `__getattr__` (PEP 562) for `module`.

    homes: for each name the module that defines it. modules: the names that are such a module
    themselves.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = importlib.import_module(home)
        value = found if name in modules else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    return get
