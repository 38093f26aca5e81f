"""A wheel is said to run on old systems where its libraries need no more than these have."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from structgen.kernels.build.language import LIBRARY
from structgen.kernels.build.library import ENDING
from structgen.util.cache_dir import cache_dir

MACHINE = os.uname().machine
PLAIN = f"linux_{MACHINE}"
PORTABLE = f"manylinux_2_17_{MACHINE}"
OLD = "#include <stdlib.h>\nvoid *f(size_t n) { return malloc(n); }"
NEW = "int arc4random_buf(void *, unsigned long); int f(void *p) { return arc4random_buf(p, 8); }"
OTHER = "int other(void); int f(void) { return other(); }"


def _manylinux() -> Any:
    path = Path(__file__).resolve().parents[3] / "building" / "manylinux.py"
    spec = importlib.util.spec_from_file_location("manylinux", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


platform_tag = _manylinux().platform_tag


def linked(folder: Path, source: str, *options: str, name: str = "made") -> bytes:
    """A library of C code, as the system's compiler makes it."""
    (folder / f"{name}.c").write_text(source)
    path = folder / f"lib{name}.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(path), str(folder / f"{name}.c"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cc cannot link it: {done.stderr[-200:]}")
    return path.read_bytes()


needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="no compiler for Linux"
)


@needs_linux
def test_a_library_of_old_functions_runs_anywhere(tmp_path: Path) -> None:
    """`malloc` is as old as the C library."""
    made = linked(tmp_path, OLD)
    assert platform_tag(PLAIN, MACHINE, [made, made]) == PORTABLE


@needs_linux
def test_one_that_needs_more_keeps_the_plain_tag(tmp_path: Path) -> None:
    """A newer function, another library, or no glibc at all; one such library is enough."""
    old = linked(tmp_path, OLD)
    linked(tmp_path, "int other(void) { return 1; }", name="other")
    others = linked(tmp_path, OTHER, "-L", str(tmp_path), "-lother")
    none = linked(tmp_path, "int f(void) { return 1; }", "-nostdlib")
    for wrong in (others, none):
        assert platform_tag(PLAIN, MACHINE, [old, wrong]) == PLAIN
    newer = linked(tmp_path, NEW, "-Wl,-z,defs")
    assert platform_tag(PLAIN, MACHINE, [newer]) == PLAIN


def test_the_kernels_run_anywhere() -> None:
    """They need a few functions of the C library, and CPython."""
    kept = sorted((cache_dir() / "kernels").glob(f"*{ENDING}"))
    if sys.platform != "linux" or LIBRARY is None or not kept:
        pytest.skip("no library of kernels was linked here")
    assert platform_tag(PLAIN, MACHINE, [path.read_bytes() for path in kept]) == PORTABLE


def test_other_systems_keep_their_tags() -> None:
    """A Mac's names the one kind of processor that the kernels are for."""
    assert platform_tag("macosx_11_0_universal2", "arm64", []) == "macosx_11_0_arm64"
    assert platform_tag("macosx_11_0_arm64", "arm64", []) == "macosx_11_0_arm64"
    assert platform_tag("win_amd64", "AMD64", []) == "win_amd64"
    assert platform_tag("linux_i686", "x86_64", []) == "linux_i686"
