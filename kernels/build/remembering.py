"""Have numba remember what it would find out again and again: a fifth of the time that it takes.

Kernels are short and many, and do the same few things with arrays of the same few types. For each
of these things numba asks all of its own functions of that name which takes such types; when it
looks for an answer that it has kept, it compares all options one by one; and behind each of its
passes it finds out which variables live where, although only the last pass is asked for that. What
it compiles is the same.

This reaches into numba, so versions that nobody has tried are left as they are.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import postproc, transforms
from numba.core.targetconfig import TargetConfig
from numba.core.types import Function

from structgen.util.versions import TESTED, release


def remember() -> None:
    """Change numba in this process, if this version of it was tested."""
    if release(numba.__version__)[:2] <= release(TESTED["numba"][1]):
        _remember_types()
        _compare_options_at_once()
        _find_lifetimes_when_asked()


def _remember_types() -> None:
    """What a function of numba's own takes and gives depends on the types that it is given."""
    found: dict[Any, Any] = {}
    resolve = Function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        key = self, context, tuple(args), tuple(kws.items())
        if key not in found:
            found[key] = resolve(self, context, args, kws)
        return found[key]

    Function.get_call_type = get_call_type  # type: ignore[method-assign]


def _compare_options_at_once() -> None:
    """Options are equal if what was set is; else the defaults stand in for what was not."""
    defaults: dict[type, dict[str, Any]] = {}

    def values(self: Any) -> dict[str, Any]:
        kind = type(self)
        if kind not in defaults:
            defaults[kind] = {name: option.default for name, option in self.options.items()}
        return defaults[kind] | self._values

    def is_equal(self: Any, other: object) -> Any:
        if not isinstance(other, TargetConfig):
            return NotImplemented
        return self._values == other._values or values(self) == values(other)

    TargetConfig.values = values  # type: ignore[method-assign]
    TargetConfig.__eq__ = is_equal  # type: ignore[method-assign]
    TargetConfig.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


def _find_lifetimes_when_asked() -> None:
    """Only where variables are given up does it matter behind which statement each is dead."""
    run = postproc.PostProcessor.run

    def run_when_asked(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if emit_dels or function.is_generator:
            run(self, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)  # found when read
        function.generator_info = None

    postproc.PostProcessor.run = run_when_asked  # type: ignore[method-assign]
