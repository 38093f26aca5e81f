"""Memory is given back where the C library can do that, and else nothing happens."""

from __future__ import annotations

import ctypes
import platform

import pytest

from structgen.util import allocator


def test_the_c_library_is_asked() -> None:
    """Where it is glibc, there is something to ask."""
    assert (allocator._trim() is not None) == (platform.libc_ver()[0] == "glibc")
    allocator.give_back()


def test_a_c_library_without_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    allocator._trim.cache_clear()
    try:
        allocator.give_back()
        assert allocator._trim() is None
    finally:
        allocator._trim.cache_clear()
