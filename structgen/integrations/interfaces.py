"""Compares a host's classes with the interface that an adapter was written for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from structgen.errors import HostError


def check_methods(
    host: str, module: Any, name: str, methods: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise HostError unless a class of a module has these methods, with these parameters."""
    for method, expected in methods.items():
        function = getattr(getattr(module, name, None), method, None)
        parameters = tuple(inspect.signature(function).parameters) if function else None
        if parameters != expected:
            shown = "is not there" if parameters is None else f"takes {', '.join(parameters)}"
            raise HostError(f"{name}.{method} {shown}", host=host)
