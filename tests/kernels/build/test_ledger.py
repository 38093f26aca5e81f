"""Processes share the compilation of kernel modules, each module once."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.ledger import Ledger, compile_share

# what each of some modules needs: any of those before it
NEEDS = st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=8).map(
    lambda drawn: {f"m{i}": [f"m{j % i}" for j in found if i] for i, found in enumerate(drawn)}
)
# compiles modules that take a moment, and writes down when each began and ended
WORKER = """
import sys, time; from pathlib import Path; from structgen.kernels.build.ledger import *
folder, needs = Path(sys.argv[1]), eval(sys.argv[2])
def load(name):
    began = time.time(); time.sleep(0.03)
    with (folder / "log").open("a") as log: print(name, began, time.time(), file=log)
compile_share(Ledger(folder / "ledger", [*needs]), needs, load)
"""


def spans(log: Path) -> dict[str, tuple[float, float]]:
    """When each module was compiled, from and to; each once."""
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len({name for name, *_ in lines}) == len(lines)
    return {name: (float(began), float(ended)) for name, began, ended in lines}


def test_processes_share_the_work(tmp_path: Path) -> None:
    """Each module is compiled once, by one of them, and after what it needs."""
    needs = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": [], "f": ["e"]}
    command = [sys.executable, "-c", WORKER, str(tmp_path), repr(needs)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    found = spans(tmp_path / "log")
    assert sorted(found) == sorted(needs)
    for name, others in needs.items():
        assert all(found[other][1] <= found[name][0] for other in others)


@given(NEEDS)
def test_one_process_compiles_all_in_order(needs: dict[str, list[str]]) -> None:
    """Whatever needs what; and nothing again."""
    with tempfile.TemporaryDirectory() as folder:
        path, loaded = Path(folder) / "ledger", list[str]()
        for _ in range(2):
            ledger = Ledger(path, needs)
            compile_share(ledger, needs, loaded.append)
            assert all(map(ledger.is_done, needs))
            ledger.close()
        assert sorted(loaded) == sorted(needs)
        for name, others in needs.items():
            assert all(loaded.index(other) < loaded.index(name) for other in others)


def test_who_dies_leaves_the_work_to_others(tmp_path: Path) -> None:
    """A module that somebody has claimed is waited for, until that process ends."""
    code = (
        "import sys, time; from pathlib import Path; from structgen.kernels.build.ledger import *\n"
        "ledger = Ledger(Path(sys.argv[1]), ['m'])\n"
        "with ledger.claimed('m') as mine: print(mine, flush=True); time.sleep(60)"
    )
    path = tmp_path / "ledger"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "True\n"
        ledger, loaded = Ledger(path, ["m"]), list[str]()
        with ledger.claimed("m") as mine:
            assert not mine
        holder.kill()
        compile_share(ledger, {"m": []}, loaded.append)
        ledger.close()
    assert loaded == ["m"]


def test_a_module_that_fails_is_not_done(tmp_path: Path) -> None:
    """The error comes out, and the next to come tries again."""
    ledger = Ledger(tmp_path / "ledger", ["m"])
    with pytest.raises(ZeroDivisionError):
        compile_share(ledger, {"m": []}, lambda _: 1 / 0)
    assert not ledger.is_done("m")
    compile_share(ledger, {"m": []}, lambda _: None)
    assert ledger.is_done("m")
    ledger.close()
