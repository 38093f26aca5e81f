"""Kernels that call each other by address answer as when they are called directly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from structgen.grammar.automaton.tables import tables_from
from structgen.kernels.build.loader import kernels

CALLS = """
import sys
from typing import NamedTuple
import numpy as np
from structgen.kernels.build.decorators import addresses, called, inner, lean
from structgen.kernels.build.language import reference, types

class T(NamedTuple):
    info: object
    values: object

TABLES = reference(types.NamedTuple([types.int64[::1], types.int32[::1]], T))

@inner(types.int64(TABLES, types.int64, types.int64))
def pick(t, i, by):
    return t.values[i] * by

call_pick = called(pick, 1)

@lean(types.int64(TABLES, types.int64))
def twice(t, i):
    return call_pick(t, i, 2) + call_pick(t, t.values[i], 10)  # an int32 for an int64

t = T(np.zeros(2, np.int64), np.array([1, 2, 3], np.int32))
sys.modules["structgen.kernels.here"] = sys.modules["__main__"]
found = addresses({1: "here.pick"})
for place, address in found:
    t.info[place] = address
print(twice(t, 0), [place for place, _ in found])
"""


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_a_kernel_is_called_by_its_address(
    disabled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 * 2 + 2 * 10, compiled and as plain Python, where there is no address."""
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    monkeypatch.setenv("STRUCTGEN_KERNELS", "jit")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout == ("22 [1]\n" if disabled == "0" else "22 []\n"), done.stderr


@pytest.mark.parametrize("module", ["tables", "grammar.tables"])
def test_every_place_for_an_address_has_one(module: str) -> None:
    """The places of `info` from the first address on, each once."""
    k = kernels(module)
    names = [name for name in vars(k) if name.startswith("AT_")]
    places = sorted(getattr(k, name) for name in names)
    found = kernels("build.decorators").addresses(k.CALLED)
    assert places == sorted(place for place, _ in found)
    assert places == list(range(min(places), k.INFO_SIZE))
    assert all(address > 0 for _, address in found)


@pytest.mark.parametrize("info", [np.zeros(3, np.int64), np.zeros(99, np.int32)])
def test_tables_without_room_for_addresses_are_refused(info: npt.NDArray[Any]) -> None:
    """What a file says stands there is never called."""
    with pytest.raises(ValueError, match="info"):
        tables_from({"marks": np.ones(1, np.int32), "info": info})
