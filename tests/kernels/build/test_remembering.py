"""Numba remembers what it would find out again, and compiles what it would have compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")
# compiles the same functions as numba does it and while it remembers, and says how often it asked
COMPILED = """
import json, re, sys
import numba
from collections import Counter
from numba.core import postproc, targetconfig
from numba.core.types import Function

asked = Counter()

def counted(kind, name):
    plain = getattr(kind, name)
    def call(*args, **kws):
        asked[name] += 1
        return plain(*args, **kws)
    setattr(kind, name, call)

counted(Function, "get_call_type")
counted(postproc.analysis, "compute_live_map")
if sys.argv[1] == "newer":
    numba.__version__ = "99.0"
if sys.argv[1] != "plain":
    from structgen.kernels.build.remembering import remember
    remember()

def total(values, bound):
    found = 0
    for i in range(len(values)):
        if values[i] < bound and values[i] != 3:
            found += values[i] * 2
        else:
            values[i] = found & 255
    return found

def least(values, bound):
    found = bound
    for i in range(len(values)):
        if values[i] < found:
            found = values[i]
    return found

signature = numba.types.int64(numba.types.int64[::1], numba.types.int64)
for function in total, least:
    made = numba.njit(signature, error_model="numpy", _nrt=False)(function)
    code = made.inspect_llvm(made.signatures[0])
    print(re.sub(r"(?<=v)\\d+|0x\\w+|[0-9a-f]{8,}|\\d{8,}", "", code))
    values = numba.np.numpy_support.np.array([5, 3, -7, 40, 2])
    print(made(values, 9), values)
print(json.dumps(asked), file=sys.stderr)
"""


def compiled(how: str) -> tuple[str, dict[str, int]]:
    """What is compiled, as LLVM has it, with what it finds; and how often numba asked for what."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, how],
        env=os.environ | {"NUMBA_DISABLE_JIT": "0", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    asked: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
    return done.stdout, asked


def test_the_same_is_compiled_and_less_is_asked() -> None:
    """Types are asked for once, and lifetimes where variables are given up."""
    plain, often = compiled("plain")
    same, once = compiled("tested")
    assert same == plain
    assert once["get_call_type"] < often["get_call_type"] / 2
    assert once["compute_live_map"] < often["compute_live_map"] / 2


def test_an_untested_version_is_left_as_it_is() -> None:
    """Numba may do things otherwise there."""
    assert compiled("newer") == compiled("plain")
