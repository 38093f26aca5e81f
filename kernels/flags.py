"""In: nothing. Out: the `kernel` decorator, the one place where numba's compiler flags are set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])
_UNCOUNTED = {"_nrt": False}  # numba's own option, missing from its type hints


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


def lean(signature: Any) -> Callable[[F], F]:
    """`kernel` for what allocates nothing: arrays in its tuples are not counted as references.

    Counting takes as long as the work where kernels with many arrays call each other.
    """
    options: dict[str, Any] = _UNCOUNTED
    decorated: Callable[[F], F] = numba.njit(
        signature, cache=True, nogil=True, error_model="numpy", **options
    )
    return decorated


def folded(signature: Any) -> Callable[[F], F]:
    """`lean` for a helper that LLVM copies into each kernel that calls it.

    A call passes each field of each array, which takes longer than short helpers do.
    """
    options: dict[str, Any] = _UNCOUNTED | {"forceinline": True}
    decorated: Callable[[F], F] = numba.njit(
        signature, cache=True, nogil=True, error_model="numpy", **options
    )
    return decorated
