"""Compares exported grammars: walks through two automata, and llama.cpp's own engine."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.schema.coerce import coerce

SOURCE = Path(__file__).parent / "llama_grammar.cpp"


def walk_both(
    one: Automaton, other: Automaton, rng: Random, length: int
) -> tuple[str | None, bytes]:
    """A difference between two automata on the way of a random text, None if there is none."""
    at, there, text = one.start, other.start, b""
    while True:
        if one.is_accepting(at) != other.is_accepting(there):
            return f"{text!r} is a text of one alone", text
        bytes_here, bytes_there = one.next_bytes(at), other.next_bytes(there)
        if bytes_here != bytes_there:
            return f"{text!r} goes on with {bytes_here} and {bytes_there}", text
        if not bytes_here or (one.is_accepting(at) and len(text) > length):
            return None, text
        if len(text) > length:  # to its end, by a shortest way
            rest = one.completions().shortest(at)
            at, there = one.run(at, rest)[0], other.run(there, rest)[0]
            text += rest
            length = 0
            if there < 0 or not other.is_accepting(there):
                return f"{text!r} is a text of the first alone", text
            return None, text
        byte = rng.choice(bytes_here[:8] if rng.random() < 0.5 else bytes_here)
        at, there = one.run(at, bytes([byte]))[0], other.run(there, bytes([byte]))[0]
        text += bytes([byte])


def check_export(spec: Any, *, walks: int = 40, length: int = 40, **options: Any) -> str:
    """Export a spec, and check that the grammar has the same texts; returns the grammar."""
    text = sg.export_gbnf(spec, **options)
    one, other = coerce(spec).automaton(), sg.Gbnf(text).automaton()
    rng, seen = Random(1), set()
    for _ in range(walks):
        difference, found = walk_both(one, other, rng, rng.randrange(length))
        assert difference is None, f"{difference}\n{text}"
        seen.add(found)
    engine = llama_grammar(text)
    if engine is None:
        return text
    for found in seen:
        whole = found.decode()
        changed = whole[: rng.randrange(len(whole) + 1)] + rng.choice(['"', "a", " ", ",", "1", ""])
        for each in (whole, changed):
            at = one.run(one.start, each.encode())[0]
            fits = at >= 0 and one.is_accepting(at)
            assert engine.fits(each) == fits, f"llama.cpp reads {each!r} otherwise\n{text}"
    return text


class Engine:
    """A grammar as llama.cpp reads it."""

    def __init__(self, library: ctypes.CDLL, text: str) -> None:
        self._library = library
        self._grammar = library.grammar_new(text.encode())
        assert self._grammar, f"llama.cpp refuses\n{text}"

    def fits(self, text: str) -> bool:
        """Whether llama.cpp takes a text from end to end."""
        codes = (ctypes.c_uint32 * len(text))(*map(ord, text))
        return bool(self._library.grammar_fits(self._grammar, codes, len(text)))

    def __del__(self) -> None:
        if self._grammar:
            self._library.grammar_free(self._grammar)


def llama_grammar(text: str) -> Engine | None:
    """The grammar in llama.cpp's engine, None where its sources are not to be had."""
    library = _library()
    return None if library is None else Engine(library, text)


def needs_llama_grammar() -> pytest.MarkDecorator:
    """A mark that skips a test without llama.cpp's engine, saying why."""
    reason = "STRUCTGEN_LLAMA_CPP names no folder with llama.cpp's sources, or there is no g++"
    return pytest.mark.skipif(_library() is None, reason=reason)


@cache
def _library() -> ctypes.CDLL | None:
    """llama.cpp's grammar engine, compiled from its sources once for all."""
    named = os.environ.get("STRUCTGEN_LLAMA_CPP")
    if named is None or shutil.which("g++") is None:
        return None
    folder = Path(named)
    include = [f"-I{folder / name}" for name in ("src", "include", "ggml/include")]
    sources = [str(SOURCE), str(folder / "src" / "llama-grammar.cpp")]
    with tempfile.TemporaryDirectory() as built:
        path = f"{built}/grammar.so"
        options = ["-std=c++17", "-O1", "-fPIC", "-shared", *include, "-o", path]
        subprocess.run(["g++", *options, *sources], check=True)
        library = ctypes.CDLL(path)
    library.grammar_new.restype = ctypes.c_void_p
    library.grammar_new.argtypes = [ctypes.c_char_p]
    library.grammar_fits.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    library.grammar_free.argtypes = [ctypes.c_void_p]
    return library
