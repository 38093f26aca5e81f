"""Several threads write the rows that one would write, whoever is late."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from structgen.automata.interface import Row
from structgen.kernels.build.loader import kernels
from structgen.masks import thread_pool
from structgen.masks.row_store import RowStore
from structgen.masks.thread_pool import ThreadPool, Writer

pytestmark = pytest.mark.skipif(
    os.name != "posix" or kernels("masks.thread_pool").INTERPRETED,
    reason="threads wait in compiled kernels",
)
WORDS = 160
TABLE = np.random.default_rng(0).integers(0, 1 << 31, (500, WORDS), np.int32)
TABLE[::3, 9:] = 0
TABLE[1::3, 5:] = TABLE[1, 5:]  # told by that row; all others are whole
STORE = RowStore(WORDS, 1 << 20)
for state, made in enumerate(TABLE):
    STORE.keep(state, made)
RECORDS = STORE.records()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help is asked for with few rows, and pieces are one to three of them."""
    monkeypatch.setattr(thread_pool, "helpers_for", lambda words, *_, **__: words // WORDS % 4)
    monkeypatch.setattr(thread_pool, "PIECE", 3 * 4 * WORDS)


def batch(seed: int) -> tuple[Row, Row, Row]:
    """States; room for their rows; what must be there at last."""
    random = np.random.default_rng(seed)
    states = random.integers(0, len(TABLE), random.integers(1, 200)).astype(np.int32)
    return states, np.full_like(TABLE[states], 7), TABLE[states]


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_written_whoever_helps(seed: int) -> None:
    """Again and again: those that come late to one batch may come to the next."""
    writer = Writer()
    for again in range(50):
        states, rows, expected = batch(100 * seed + again)
        writer.write(RECORDS, states, rows)
        assert (rows == expected).all()
    writer.stop()


def test_callers_need_not_wait_for_one_another() -> None:
    """Who finds the others at work does without them."""
    writer, wrong = Writer(), []

    def write_many(first: int) -> None:
        for seed in range(first, first + 300):
            states, rows, expected = batch(seed)
            writer.write(RECORDS, states, rows)
            if not (rows == expected).all():
                wrong.append(seed)

    threads = [threading.Thread(target=write_many, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    writer.stop()


def test_a_state_without_a_row_is_noticed_whoever_comes_to_it() -> None:
    """Be it one that is not known yet, or one whose record is beyond what counts."""
    writer = Writer()
    for seed in range(50):
        states, rows, expected = batch(seed)
        one = int(np.random.default_rng(seed).integers(len(states)))
        lost = states.copy()
        lost[one] = len(TABLE) + seed * 100
        assert not writer.write(RECORDS, lost, rows)
        short = RECORDS._replace(used=int(RECORDS.places[states[one] + 1]))
        assert not writer.write(short, states, rows)
        assert writer.write(RECORDS, states, rows)
        assert (rows == expected).all()
    writer.stop()


def test_nobody_is_needed() -> None:
    """Where all that could help sleep on, who asked does it all."""
    team, (states, rows, expected) = ThreadPool(0), batch(3)
    assert team.write(RECORDS, states, rows, 1)
    assert (rows == expected).all()


def test_those_that_call_at_once_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that writes has a core already, and so there are less that could help."""
    monkeypatch.undo()
    monkeypatch.setattr(thread_pool, "usable_cores", lambda: 4)
    many = 100 * thread_pool.FROM
    for in_a_row in (False, True):
        found = [
            thread_pool.helpers_for(many, callers, in_a_row=in_a_row) for callers in range(1, 7)
        ]
        assert found == [3, 2, 1, 0, 0, 0]
    assert thread_pool.helpers_for(thread_pool.FROM - 1, 1, in_a_row=True) == 0
    assert thread_pool.helpers_for(2 * thread_pool.EACH, 1, in_a_row=True) == 1
    assert thread_pool.helpers_for(2 * thread_pool.EACH, 1, in_a_row=False) == 0


def test_calls_in_a_row_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first of them find who helps awake, or pay for waking them together."""
    asked: list[bool] = []

    def nobody(*_: int, in_a_row: bool) -> int:
        asked.append(in_a_row)
        return 0

    monkeypatch.setattr(thread_pool, "helpers_for", nobody)
    monkeypatch.setattr(thread_pool, "IN_A_ROW", 1000.0)
    writer, (states, rows, _) = Writer(), batch(3)
    for _ in range(3):
        writer.write(RECORDS, states, rows)
    assert asked == [False, True, True]


def test_who_has_helped_sleeps_again() -> None:
    """It takes no time of the cores when there has been no work for a while."""
    team, (states, rows, _) = ThreadPool(2), batch(4)
    for _ in range(20):
        assert team.write(RECORDS, states, rows, 2)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1
    team.stop()


def test_threads_end_when_told() -> None:
    """There are as many as were ever asked for at once; they are made anew when there are none."""
    writer, before = Writer(), threading.active_count()
    for count, helpers in ((4, 0), (5, 1), (7, 3), (6, 3)):
        rows = np.zeros((count, WORDS), np.int32)
        writer.write(RECORDS, np.arange(count, dtype=np.int32), rows)
        assert (rows == TABLE[:count]).all()
        assert threading.active_count() == before + helpers
    writer.stop()
    assert threading.active_count() == before
    states, rows, expected = batch(9)
    writer.write(RECORDS, states, rows)
    assert (rows == expected).all()
    writer.stop()


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_no_threads_can_be_had_one_writes_alone(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under a limit of processes, or when the interpreter ends; those begun end again."""
    writer, begin, begun = Writer(), threading.Thread.start, list[threading.Thread]()

    def start(thread: threading.Thread) -> None:
        if len(begun) == allowed:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    for _ in range(3):
        rows = np.zeros((7, WORDS), np.int32)
        writer.write(RECORDS, np.arange(7, dtype=np.int32), rows)
        assert (rows == TABLE[:7]).all()
    assert len(begun) == allowed
    assert not any(thread.is_alive() for thread in begun)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    """Those of the process that it comes from are not there, and go on helping that one."""
    states, rows, expected = batch(13)
    thread_pool.write(RECORDS, states, rows)
    child = os.fork()
    if child == 0:
        fine = True
        for seed in range(20):
            states, rows, expected = batch(seed)
            thread_pool.write(RECORDS, states, rows)
            fine = fine and bool((rows == expected).all())
        os._exit(0 if fine else 1)
    for seed in range(20, 60):
        states, rows, expected = batch(seed)
        thread_pool.write(RECORDS, states, rows)
        assert (rows == expected).all()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
