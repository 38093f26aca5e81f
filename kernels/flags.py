"""In: nothing. Out: the `kernel` decorator, the one place where numba's compiler flags are set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(signature: Any) -> Callable[[F], F]:
    """Compile a function for one explicit signature, cached on disk, without the GIL.

    The compilation happens when the module is imported, so kernel modules are imported only by
    `structgen.jit`, which tells the user when that takes long.
    """
    decorated: Callable[[F], F] = numba.njit(signature, cache=True, nogil=True, error_model="numpy")
    return decorated


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it."""
    decorate: Any = numba.njit(inline="always", error_model="numpy")
    compiled: F = decorate(function)
    return compiled
