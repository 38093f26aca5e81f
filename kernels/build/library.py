"""A library that has all kernels, compiled ahead of time: what it is called, and what is in it.

It holds machine code that needs CPython and the C library alone, so whoever opens it imports
neither numba nor LLVM. There is one for each level of a processor's instructions.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).parents[1]
#: for each kind of machine the levels of processors that libraries are made for, the best one first
LEVELS = {
    "x86_64": ("x86-64-v3", "x86-64-v2"),
    "aarch64": ("generic",),
    "arm64": ("apple-m1",),
}
#: what Linux calls the instructions that a level has and the one below it lacks
_NEEDED = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
}
#: in the environment: JIT where this process compiles its kernels for itself, BUILD for a library
HOW, JIT, BUILD = "STRUCTGEN_KERNELS", "jit", "build"
#: names of files that decide nothing of what is compiled
_NO_MATTER = {
    "kept.py", "language.py", "ledger.py", "library.py", "loader.py", "opening.py", "worker.py",
}  # fmt: skip
ENDING = EXTENSION_SUFFIXES[0]  # names the version of Python, and the machine
OBJECTS = ".objects"  # where nothing could link: object files, each behind its length
FASTCALL = 0x80  # of CPython: a function is called with an array of arguments, and their number


def levels() -> tuple[str, ...]:
    """The levels of instructions that this processor has, the best one first.

    The last one is taken where nobody knows. An empty name stands for the processor as it is.
    """
    known = LEVELS.get(platform.machine(), ("",))
    if len(known) == 1:
        return known
    flags = _flags()
    best = 0 if _NEEDED[known[0]] | _NEEDED[known[1]] <= flags else 1
    return known[best:] if not flags or _NEEDED[known[1]] <= flags else ("",)


def _flags() -> set[str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return {*line.split()}
    except OSError:
        pass
    return set()


def digest() -> str:
    """A hash of all that decides what is compiled: the sources of kernels, except Triton's."""
    found = hashlib.blake2b(digest_size=12)
    for source in sorted(kernel_sources()):
        found.update(source.read_bytes())
    return found.hexdigest()


def kernel_sources() -> list[Path]:
    """The files that kernels are compiled from, and those that say how."""
    return [
        path
        for folder in SOURCES.iterdir()
        for path in (folder.glob("*.py") if folder.is_dir() else [folder])
        if folder.name != "gpu" and path.suffix == ".py" and path.name not in _NO_MATTER
    ]


def building() -> bool:
    """Whether this process compiles kernels for a library."""
    return os.environ.get(HOW) == BUILD


class _Method(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
_new_function.restype = ctypes.py_object


class Library:
    """All kernels, compiled. Each has two symbols, for Python and for other kernels."""

    def __init__(self, path: Path) -> None:
        """OSError where it cannot be opened."""
        self._methods: list[_Method] = []  # functions point to them
        self._address = _with_objects(path) if path.suffix == OBJECTS else _opened(path)

    def function(self, source: Any) -> Any:
        """The compiled kernel in place of its source: a built-in function of Python.

        It is given numpy's type of arrays, which it looks for in arguments, as CPython gives a
        module to functions of a module.
        """
        name = name_of(source)
        said = (source.__doc__ or "").encode()
        method = _Method(source.__name__.encode(), self._address(name), FASTCALL, said)
        self._methods.append(method)
        return _new_function(ctypes.addressof(method), np.ndarray, source.__module__)

    def address(self, name: str) -> int:
        """Where the machine code of a kernel is, as other kernels call it."""
        return self._address(f"{name}.native")


def name_of(function: Any) -> str:
    """The symbol of a kernel as Python calls it."""
    return f"{function.__module__}.{function.__name__}"


def _opened(path: Path) -> Callable[[str], int]:
    library = ctypes.PyDLL(str(path))

    def address(name: str) -> int:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0

    return address


def _with_objects(path: Path) -> Callable[[str], int]:
    """Where there was no linker: LLVM's, which comes with numba, links in memory."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    data, at = path.read_bytes(), 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "little")
        engine.add_object_file(llvm.ObjectFileRef.from_data(data[at + 8 : end]))
        at = end
    engine.finalize_object()

    def address(name: str) -> int:
        found: int = engine.get_function_address(name)
        return found

    return address
