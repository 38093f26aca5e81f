"""Decorators that compile kernels: the one place where numba's compiler flags are set.

Compiling takes seconds and happens once on a machine. Numba copies whatever a kernel calls into
that kernel and compiles the copy again; so small helpers are `inlined`, what is large and called in
many places is called by its address (`called`), and only what Python calls gets wrappers for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import intrinsic

from structgen.kernels.build.pointers import DATA, Reference, loaded

F = TypeVar("F", bound=Callable[..., Any])
# Some of numba's own options are missing from its type hints. Nobody uses the C wrappers.
_ALWAYS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_UNCOUNTED = _ALWAYS | {"_nrt": False}
_INNER = _UNCOUNTED | {"no_cpython_wrapper": True}

_called: list[tuple[int, Any]] = []


def kernel(signature: Any) -> Callable[[F], F]:
    """Compile a function for one explicit signature, cached on disk, without the GIL.

    The compilation happens when the module is imported, so kernel modules are imported only by
    `structgen.kernels.build.loader`, which tells the user when that takes long.
    """
    return _compiled(signature, _ALWAYS)


def lean(signature: Any) -> Callable[[F], F]:
    """`kernel` for what allocates nothing: arrays in its tuples are not reference-counted.

    Counting takes as long as the work where kernels with many arrays call each other.
    """
    return _compiled(signature, _UNCOUNTED)


def brief(signature: Any) -> Callable[[F], F]:
    """`lean` for what keeps the GIL: a thread that lets go of it may wait long to get it again."""
    return _compiled(signature, _UNCOUNTED | {"nogil": False})


def _compiled(signature: Any, options: dict[str, Any]) -> Callable[[F], F]:
    decorated: Callable[[F], F] = numba.njit(signature, cache=True, **options)
    return partial(_looked_up, signature) if interpreted() else decorated


def _looked_up(signature: Any, function: Any) -> Any:
    """A kernel in plain Python, which takes addresses of tuples where compiled ones do."""
    places = [i for i, kind in enumerate(signature.args) if isinstance(kind, Reference)]

    @wraps(function)
    def call(*given: Any) -> Any:
        found = list(given)
        for i in places:
            if isinstance(given[i], int):
                found[i] = _plain[given[i]]
        return function(*found)

    return call


def inner(signature: Any) -> Callable[[F], F]:
    """`lean` for what only kernels call: no wrapper for Python."""
    decorated: Callable[[F], F] = numba.njit(signature, cache=True, **_INNER)
    return decorated


def folded(signature: Any) -> Callable[[F], F]:
    """`inner` for a helper that LLVM copies into each kernel that calls it.

    A call passes each field of each array, which takes longer than short helpers do.
    """
    decorated: Callable[[F], F] = numba.njit(signature, cache=True, forceinline=True, **_INNER)
    return decorated


def inlined(function: F) -> F:
    """`folded` for whatever types it is called with.

    LLVM copies them and not numba (`inline="always"`), which would infer the types of every copy.
    """
    compiled: F = numba.njit(forceinline=True, **_INNER)(function)
    return compiled


def interpreted() -> bool:
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT)."""
    return bool(getattr(numba.config, "DISABLE_JIT"))  # noqa: B009  made when numba is imported


def called(function: Any, place: int) -> Any:
    """Make a function that calls a kernel by its address in `t.info[place]`.

    The kernel has tables `t` as its first argument. Python writes the address there (see
    `addresses`), so the kernel is compiled once, instead of again into each caller.
    """
    if interpreted():
        return function
    _called.append((place, function))
    (wanted,) = function.signatures
    result = function.overloads[wanted].signature.return_type

    def by_address(typing: Any, t: Any, *rest: Any) -> Any:  # noqa: ARG001  numba passes them
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            places = loaded(context, builder, t, values[0], "info", DATA)
            address = builder.load(builder.gep(places, [context.get_constant(types.intp, place)]))
            kind = context.call_conv.get_function_type(result, wanted)
            at = builder.inttoptr(address, kind.as_pointer())
            status, value = context.call_conv.call_function(builder, at, result, wanted, values)
            del status  # kernels raise nothing
            return value

        return result(*wanted), generate

    typing = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(function.py_func).parameters.values()
    by_address.__signature__ = inspect.Signature([typing, *given])  # type: ignore[attr-defined]
    return intrinsic(by_address)


@intrinsic
def _stored(typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001  numba passes it
    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        place, written = values
        builder.store(written, builder.inttoptr(place, written.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, value), generate


_plain: dict[int, Any] = {}  # by address, where nothing is compiled


def loader(kind: Any) -> Any:
    """Make a function that takes an address where a tuple is `stored` for a reference to it."""
    if interpreted():
        return _plain.__getitem__

    @intrinsic
    def load(typing: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            del context, builder
            return values[0]

        return kind(types.int64), generate

    return load


#: `stored(address, value)` writes a tuple of arrays down as kernels have it
stored: Any = _plain.__setitem__ if interpreted() else _stored
WORDS = 9  # of 8 bytes, which an array of two dimensions takes where it is `stored`; others less


def addresses(tables: type) -> list[tuple[int, int]]:
    """For each kernel of such tables that is `called`: the place in `info`, and its address."""
    found = []
    for place, function in _called:
        (compiled,) = function.overloads.values()
        if compiled.signature.args[0].kind.instance_class is not tables:
            continue
        name = compiled.fndesc.llvm_func_name
        found.append((place, compiled.library.get_pointer_to_function(name)))
    return found
