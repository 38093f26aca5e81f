"""Numba's code generator as a process needs it that compiles for a library: for no code that runs.

Numba makes machine code of each function at once, and keeps that. A library has machine code of its
own (`kernels.build.wrappers`), so numba's would be made in vain. Nor are helpers optimised by
themselves that LLVM copies into whatever calls them. Together that is a fifth of the work.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import cpu_target


class _Functions(JITCodeLibrary):
    """Compiled functions, which are kept as LLVM has them."""

    def _optimize_final_module(self) -> None:
        if not self._is_copied():
            super()._optimize_final_module()

    def _is_copied(self) -> bool:
        """Whether LLVM copies the function that this is about; those that it calls are not its."""
        own = [f for f in self.get_defined_functions() if f.linkage == Linkage.external]
        return all(any(b"alwaysinline" in each for each in f.attributes) for f in own)

    def _finalize_specific(self) -> None:
        """No machine code."""

    def get_pointer_to_function(self, _name: str) -> int:
        return 0  # as numba says of what it did not compile

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()


class _Generator(JITCPUCodegen):
    _library_class = _Functions

    def _add_module(self, _module: Any) -> None:
        """Nothing is to run."""

    def set_env(self, _env_name: str, _env: Any) -> None:
        """Nothing is to run."""


def compile_ahead() -> None:
    """Have numba make no machine code in this process, which cannot run what it compiles."""
    cpu_target.target_context._internal_codegen = _Generator("structgen")
