"""Decorators of kernels: the one place where it is decided what becomes of them.

Where a library has the kernels, a decorator puts the compiled function in place of the source. Else
it compiles the source, which takes seconds, or leaves it as plain Python (NUMBA_DISABLE_JIT).

Numba copies whatever a kernel calls into that kernel and compiles the copy again; so small helpers
are `inlined`, and what is large and called in many places is called by its address (`called`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

from structgen.kernels.build.language import LIBRARY, numba
from structgen.kernels.build.library import building

F = TypeVar("F", bound=Callable[..., Any])
# Some of numba's own options are missing from its type hints. Nobody uses the C wrappers. No kernel
# allocates memory that is counted, so arrays are not: counting takes as long as the work where
# kernels with many arrays call each other.
_ALWAYS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False,
}  # fmt: skip
_INNER = _ALWAYS | {"no_cpython_wrapper": True}


class Kernel(NamedTuple):
    """A kernel that was compiled in this process; keeps_gil: while Python calls it."""

    function: Any
    keeps_gil: bool


compiled: list[Kernel] = []
#: where numba keeps what it compiles of a module, as long as nothing that this depends on changes:
#: numba itself looks at the module's own source alone
caches: dict[str, str] = {}


def lean(signature: Any) -> Callable[[F], F]:
    """Compile a function for one explicit signature. Python calls it without the GIL."""
    return _kernel(signature, _ALWAYS)


def brief(signature: Any) -> Callable[[F], F]:
    """`lean` for what keeps the GIL: a thread that lets go of it may wait long to get it again."""
    return _kernel(signature, _ALWAYS, keeps_gil=True)


def inner(signature: Any) -> Callable[[F], F]:
    """`lean` for what only kernels call, and tests: numba makes no wrapper for Python."""
    return _kernel(signature, _INNER, keeps_gil=True)


def _kernel(signature: Any, options: dict[str, Any], *, keeps_gil: bool = False) -> Any:
    if LIBRARY is not None:
        return LIBRARY.function
    if interpreted():
        return partial(_looked_up, signature)
    chosen = options | {"nogil": not keeps_gil}
    if building():  # the library has wrappers of its own: `kernels.build.wrappers`
        chosen |= {"no_cpython_wrapper": True}

    def compile_now(function: Any) -> Any:
        made = _kept_apart(numba.njit(signature, cache=True, **chosen))(function)
        compiled.append(Kernel(made, keeps_gil))
        return made

    return compile_now


def _looked_up(signature: Any, function: Any) -> Any:
    """A kernel in plain Python, which takes addresses of tuples where compiled ones do."""
    from structgen.kernels.build.pointers import Reference

    places = [i for i, kind in enumerate(signature.args) if isinstance(kind, Reference)]

    @wraps(function)
    def call(*given: Any) -> Any:
        found = list(given)
        for i in places:
            if isinstance(given[i], int):
                found[i] = _plain[given[i]]
        return function(*found)

    return call


def folded(signature: Any) -> Callable[[F], F]:
    """`inner` for a helper that LLVM copies into each kernel that calls it.

    A call passes each field of each array, which takes longer than short helpers do.
    """
    if LIBRARY is not None:
        return _as_it_is
    return _kept_apart(numba.njit(signature, cache=True, forceinline=True, **_INNER))


def _kept_apart(decorate: Any) -> Any:
    """A decorator of numba's, for which the function's module has a folder of its own."""

    def decorate_apart(function: Any) -> Any:
        numba.config.CACHE_DIR = caches.get(function.__module__, numba.config.CACHE_DIR)
        return decorate(function)

    return decorate_apart


def inlined(function: F) -> F:
    """`folded` for whatever types it is called with.

    LLVM copies them and not numba (`inline="always"`), which would infer the types of every copy.
    """
    if LIBRARY is not None:
        return function
    made: F = numba.njit(forceinline=True, **_INNER)(function)
    return made


def _as_it_is(function: F) -> F:
    return function


def interpreted() -> bool:
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT)."""
    return LIBRARY is None and bool(getattr(numba.config, "DISABLE_JIT"))  # noqa: B009  made late


def called(function: Any, place: int) -> Any:
    """Make a function that calls a kernel by its address in `t.info[place]`.

    The kernel has tables `t` as its first argument. Python writes the address there (see
    `addresses`), so the kernel is compiled once, instead of again into each caller.
    """
    if LIBRARY is not None or interpreted():
        return function
    from structgen.kernels.build.pointers import by_address

    return by_address(function, place)


def addresses(called: Mapping[int, str]) -> list[tuple[int, int]]:
    """For each place of `info` the address that belongs there; none in plain Python.

    called: the kernel of each place, such as "lexer.rows.fill_row".
    """
    if interpreted():
        return []
    return [(place, _address_of(f"structgen.kernels.{name}")) for place, name in called.items()]


def _address_of(name: str) -> int:
    if LIBRARY is not None:
        return LIBRARY.address(name)
    module, _, kernel = name.rpartition(".")
    (made,) = getattr(importlib.import_module(module), kernel).overloads.values()
    address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return address


_plain: dict[int, Any] = {}  # by address, where nothing is compiled


def loader(kind: Any) -> Any:
    """Make a function that takes an address where a tuple is `stored` for a reference to it."""
    if LIBRARY is not None:
        return None  # only kernels call it
    if interpreted():
        return _plain.__getitem__
    from structgen.kernels.build.pointers import loader_of

    return loader_of(kind)


def _stored() -> Any:
    if LIBRARY is not None or interpreted():
        return _plain.__setitem__
    from structgen.kernels.build.pointers import stored

    return stored


#: `stored(address, value)` writes a tuple of arrays down as kernels have it
stored: Any = _stored()
WORDS = 9  # of 8 bytes, which an array of two dimensions takes where it is `stored`; others less
