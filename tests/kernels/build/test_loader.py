"""Processes share the compilation of kernel modules, each module once."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build import loader
from structgen.kernels.build.loader import GRAMMAR_NAMES, NAMES
from structgen.kernels.build.ledger import HEAD, Ledger, compile_share, helpers

DIGEST, OTHER = "a" * HEAD, "b" * HEAD
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
compile_share(Ledger(folder / "ledger", "a" * HEAD, [*needs]), needs, load)
"""


def test_warming_up_loads_all_kernels_or_those_without_grammars() -> None:
    """In a process of its own, which has loaded none."""
    code = (
        "import sys; from structgen.kernels.build import loader as jit; jit.warmup(grammars=False); "
        "known = lambda names: sum(f'structgen.kernels.{n}' in sys.modules for n in names); "
        "print(known(jit.NAMES), known(jit.GRAMMAR_NAMES)); jit.warmup(); "
        "print(known(jit.NAMES), known(jit.GRAMMAR_NAMES))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*map(str, (len(NAMES), 0, len(NAMES), len(GRAMMAR_NAMES)))]


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_afterwards_as_before(
    collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading kernels pauses the collector, and leaves it on or off as it was, failing or not."""
    seen: list[bool] = []
    monkeypatch.setattr(loader, "_module", lambda _: seen.append(gc.isenabled()))
    monkeypatch.setattr(loader, "_modules", {})
    switched = gc.enable if collects else gc.disable
    try:
        switched()
        loader._load(("flags",), "kernels", 1)
        assert (seen, gc.isenabled()) == ([False], collects)
        monkeypatch.setattr(loader, "_module", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            loader._load(("flags",), "kernels", 1)
        assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_who_has_no_ledger_is_told_as_soon_as_who_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not known then whether there is anything to compile."""
    seen: list[float] = []

    class Timer(threading.Thread):
        cancel = staticmethod(lambda: None)

        def __init__(self, seconds: float, *_: object) -> None:
            super().__init__()
            seen.append(seconds)

    for name, stands in (("_ledger", lambda: None), ("_module", lambda _: None), ("_modules", {})):
        monkeypatch.setattr(loader, name, stands)
    monkeypatch.setattr(threading, "Timer", Timer)
    loader._load(("flags",), "kernels", 1)
    assert seen == [loader.PATIENCE[0]]


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
    """Whatever needs what; and nothing again with a ledger of the same sources."""
    with tempfile.TemporaryDirectory() as folder:
        path, loaded = Path(folder) / "some" / "ledger", list[str]()
        for digest in (DIGEST, DIGEST, OTHER):
            ledger = Ledger(path, digest, needs)
            assert ledger.is_new == (digest == OTHER or not loaded)
            compile_share(ledger, needs, loaded.append)
            assert all(map(ledger.is_done, needs))
            ledger.close()
        assert loaded[: len(needs)] == loaded[len(needs) :]
        for name, others in needs.items():
            assert all(loaded.index(other) < loaded.index(name) for other in others)


def test_who_dies_leaves_the_work_to_others(tmp_path: Path) -> None:
    """A module that somebody has claimed is waited for, until that process ends."""
    code = (
        "import sys, time; from pathlib import Path; from structgen.kernels.build.ledger import *\n"
        "ledger = Ledger(Path(sys.argv[1]), 'a' * HEAD, ['m'])\n"
        "with ledger.claimed('m') as mine: print(mine, flush=True); time.sleep(60)"
    )
    path = tmp_path / "ledger"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "True\n"
        ledger, loaded = Ledger(path, DIGEST, ["m"]), list[str]()
        with ledger.claimed("m") as mine, ledger.claimed() as calls:
            assert (mine, calls) == (False, True)
        holder.kill()
        compile_share(ledger, {"m": []}, loaded.append)
        ledger.close()
    assert loaded == ["m"]


def test_a_module_that_fails_is_not_done(tmp_path: Path) -> None:
    """The error comes out, and the next to come tries again."""
    ledger = Ledger(tmp_path / "ledger", DIGEST, ["m"])
    with pytest.raises(ZeroDivisionError):
        compile_share(ledger, {"m": []}, lambda _: 1 / 0)
    assert not ledger.is_done("m")
    compile_share(ledger, {"m": []}, lambda _: None)
    assert ledger.is_done("m")
    ledger.close()


def test_helpers_run_as_long_as_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each further core, with the same modules to import."""
    monkeypatch.setattr("structgen.kernels.build.ledger.usable_cores", lambda: 2)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "only_here.py").write_text(f"folder = {str(tmp_path)!r}")
    code = (
        "import os, time, only_here; from pathlib import Path\n"
        "(Path(only_here.folder) / f'{os.getpid()}.pid').touch(); time.sleep(60)"
    )
    ledger = Ledger(tmp_path / "ledger", DIGEST, ["m"])
    with helpers(ledger, code):
        end = time.monotonic() + 60
        while not (found := [*tmp_path.glob("*.pid")]) and time.monotonic() < end:
            time.sleep(0.01)
        (pid,) = (int(path.stem) for path in found)
        os.kill(pid, 0)  # it is there
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    ledger.close()


def test_helpers_are_called_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None for who comes second, as long as the first is at it."""
    code = (
        "import sys; from pathlib import Path; from structgen.kernels.build.ledger import *\n"
        "ledger = Ledger(Path(sys.argv[1]), 'a' * HEAD, ['m'])\n"
        "with ledger.claimed() as mine: print(mine, flush=True); sys.stdin.read()"
    )
    path, pipe = tmp_path / "ledger", subprocess.PIPE
    command = [sys.executable, "-c", code, str(path)]
    monkeypatch.setattr("structgen.kernels.build.ledger.usable_cores", lambda: 2)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout
        assert first.stdout.readline() == "True\n"
        ledger = Ledger(path, DIGEST, ["m"])
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("one was started"))
        with helpers(ledger, ""):
            pass
        first.kill()
    ledger.close()


def test_nothing_is_shared_where_nothing_is_compiled() -> None:
    """Kernels as plain Python have no ledger; nor has a folder that nobody can write."""
    code = "from structgen.kernels.build import loader as jit; print(jit._ledger())"
    for change in ({"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CACHE_DIR": "/dev/null/none"}):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, env=os.environ | change,
        )  # fmt: skip
        assert done.stdout == "None\n"


def test_modules_stand_behind_what_they_need() -> None:
    """The lists of modules are in an order in which they can be compiled, and complete."""
    ledger = loader._ledger()
    if ledger is None:
        pytest.skip("kernels run as plain Python")
    names = NAMES + GRAMMAR_NAMES
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Ledger, "is_done", lambda *_: False)
        needs = loader._left(names, ledger)
    ledger.close()
    assert {*needs} == {*names}
    for name, others in needs.items():
        assert all(names.index(other) < names.index(name) for other in others)
