"""A job that goes wrong in a child process costs itself, and the next job gets a new process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from jsonschemabench.errors import WorkerDiedError
from jsonschemabench.running.workers import Limits, Worker
from tests.conftest import REPOSITORY
from tests.jsonschemabench import jobs

PARENT = """
import sys
from jsonschemabench.running.workers import Worker
from tests.jsonschemabench import jobs
worker = Worker(jobs.start, ("fine",))
print(worker.call(1)["pid"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all tests, with tight limits."""
    limits = Limits(seconds=3.0, memory=150 << 20, start_seconds=60)
    with Worker(jobs.start, ("fine",), limits) as one:
        yield one


def test_jobs_are_done_one_after_another_in_one_process(worker: Worker) -> None:
    """A job's result comes back, and the process stays."""
    first, second = worker.call({"n": 1}), worker.call([2])
    assert (first["job"], second["job"]) == ({"n": 1}, [2])
    assert first["pid"] == second["pid"] != os.getpid()


@pytest.mark.parametrize(
    ("job", "reason", "words"),
    [
        ("killed", "signal SIGKILL", ""),
        pytest.param("hang", "time limit", "time limit", marks=pytest.mark.thorough),
        ("exit", "exit status 3", "out of patience"),
        ("raise", "exception", "ValueError: not like this"),
        ("eat", "memory limit", "memory limit"),
    ],
)
def test_a_mishap_costs_one_job(worker: Worker, job: str, reason: str, words: str) -> None:
    """The error says what happened, and the next job is done by a new process."""
    before = worker.call(0)["pid"]
    with pytest.raises(WorkerDiedError) as caught:
        worker.call(job)
    assert caught.value.reason == reason
    assert words in str(caught.value)
    assert worker.call(1)["pid"] != before
    assert not psutil.pid_exists(before)


def test_a_process_that_dies_between_two_jobs_costs_none(worker: Worker) -> None:
    """It is replaced before the next job."""
    pid = worker.call(0)["pid"]
    os.kill(pid, signal.SIGKILL)
    assert worker.call(1)["job"] == 1


def test_what_an_engine_prints_is_not_shown(
    worker: Worker, capfd: pytest.CaptureFixture[str]
) -> None:
    """It would spoil the progress bar."""
    worker.call("noise")
    assert capfd.readouterr() == ("", "")


def test_a_child_that_does_not_start_says_why() -> None:
    """The error of the start comes out of `begin`."""
    with (
        Worker(jobs.start, ("broken",)) as broken,
        pytest.raises(WorkerDiedError, match="no such library"),
    ):
        broken.begin()


def test_a_child_ends_with_its_parent() -> None:
    """Killing the parent leaves no process behind."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.kill()
    deadline = time.monotonic() + 30
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    """Whether a process is there and is not only waiting to be forgotten."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


BLOCK = """
from jsonschemabench.running.workers import PeakMemory
peak = PeakMemory()
block = bytearray(b"x") * (128 << 20)
high = peak.read()
del block
peak.reset()
assert peak.read() < high - (64 << 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets an old peak")
def test_the_peak_of_memory_is_that_since_the_reset() -> None:
    """A block that is given back before the reset does not count (in a process with no other)."""
    subprocess.run([sys.executable, "-c", BLOCK], cwd=REPOSITORY, check=True)
