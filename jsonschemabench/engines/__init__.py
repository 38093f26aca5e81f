"""The engines by name, each imported only when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util

from jsonschemabench.engines.engine import Engine
from jsonschemabench.errors import EngineMissingError

#: name -> (module, class); a new engine is added here.
ENGINES = {
    "structgen": ("jsonschemabench.engines.structgen", "StructgenEngine"),
    "llguidance": ("jsonschemabench.engines.llguidance", "LlguidanceEngine"),
    "xgrammar": ("jsonschemabench.engines.xgrammar", "XgrammarEngine"),
    "outlines-core": ("jsonschemabench.engines.outlines_core", "OutlinesCoreEngine"),
}


def engine_class(name: str) -> type[Engine]:
    """The class of an engine. EngineMissingError when it is unknown or not installed."""
    if name.startswith("structgen@"):
        from jsonschemabench.engines.variant import variant

        return variant(name)
    if name not in ENGINES:
        raise EngineMissingError(
            f"there is no engine {name!r}", expected="one of " + ", ".join(ENGINES)
        )
    home, class_name = ENGINES[name]
    found: type[Engine] = getattr(importlib.import_module(home), class_name)
    if importlib.util.find_spec(found.module) is None:
        raise EngineMissingError(
            f"the engine {name} is not installed", hint="run: pip install 'structgen[bench]'"
        )
    return found


def available(names: list[str]) -> tuple[dict[str, type[Engine]], list[str]]:
    """The installed ones of some engines by name, and one line for each that is left out."""
    found, left_out = {}, []
    for name in dict.fromkeys(names):
        try:
            found[name] = engine_class(name)
        except EngineMissingError as error:
            left_out.append(str(error))
    if not found:
        raise EngineMissingError("no engine can be measured: " + "; ".join(left_out))
    return found, left_out
