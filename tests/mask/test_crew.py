"""In: batches of rows. Out: proof that several threads write them as one does, whoever is late."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from structgen.automaton.automaton import Row
from structgen.jit import kernels
from structgen.mask import crew
from structgen.mask.crew import Crew, Find, Writer
from structgen.mask.rows import RowStore

pytestmark = pytest.mark.skipif(
    os.name != "posix" or kernels("crew").INTERPRETED, reason="threads wait in compiled kernels"
)
WORDS = 24
TABLE = np.random.default_rng(0).integers(0, 1 << 31, (500, WORDS), np.int32)
TABLE[::3] &= 0xFF << np.arange(WORDS) % 24
TABLE[1::3, 5:] = TABLE[1, 5:]
STORE = RowStore(WORDS, 1 << 20)
PLACES = np.array([STORE.keep(i, row) for i, row in enumerate(TABLE)], np.int32)
POOL = STORE.pool


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help is asked for with few rows, and pieces are one to three of them."""
    monkeypatch.setattr(crew, "helpers_for", lambda words, *_, **__: words // WORDS % 4)
    monkeypatch.setattr(crew, "PIECE", 3 * 4 * WORDS)


def finding(known: Row) -> Find:
    """What writes these places, as they are asked for."""

    def find(places: Row, begin: int, end: int) -> None:
        places[begin:end] = known[begin:end]

    return find


def batch(seed: int) -> tuple[Find, Row, Row]:
    """What says places; room for the rows; what must be there at last."""
    random = np.random.default_rng(seed)
    chosen = random.integers(0, len(TABLE), random.integers(1, 200))
    return finding(PLACES[chosen]), np.full_like(TABLE[chosen], 7), TABLE[chosen]


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_written_whoever_helps(seed: int) -> None:
    """Again and again: those that come late to one batch may come to the next."""
    writer = Writer()
    for again in range(50):
        find, rows, expected = batch(100 * seed + again)
        writer.write(POOL, find, rows)
        assert (rows == expected).all()
    writer.stop()


def test_callers_need_not_wait_for_one_another() -> None:
    """Who finds the others at work does without them."""
    writer, wrong = Writer(), []

    def write_many(first: int) -> None:
        for seed in range(first, first + 300):
            find, rows, expected = batch(seed)
            writer.write(POOL, find, rows)
            if not (rows == expected).all():
                wrong.append(seed)

    threads = [threading.Thread(target=write_many, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    writer.stop()


def test_a_batch_within_a_batch_is_written_alone() -> None:
    """As where to find rows asks for others."""
    team, (find, rows, expected) = Crew(2), batch(1)
    inner = np.zeros_like(rows)

    def find_others(places: Row, begin: int, end: int) -> None:
        assert not team.write(POOL, find, inner, 2)
        find(places, begin, end)

    assert team.write(POOL, find_others, rows, 2)
    assert (rows == expected).all()
    assert not inner.any()
    team.stop()


@pytest.mark.parametrize("after", [0, 1], ids=["at once", "while others write"])
def test_an_error_on_the_way_loses_nobody(after: int) -> None:
    """The next batch is written as if nothing had been; nobody waits for places that never come."""
    team = Crew(2)
    for seed in range(30):
        find, rows, expected = batch(seed)
        asked: list[int] = []

        def broken(places: Row, begin: int, end: int, asked: list[int] = asked) -> None:
            asked.append(begin)
            if len(asked) > after:
                time.sleep(0.001)
                raise MemoryError
            places[begin:end] = PLACES[0]

        with pytest.raises(MemoryError):
            team.write(POOL, broken, rows, 2)
        assert len(asked) == after + 1
        assert team.write(POOL, find, rows, 2)
        assert (rows == expected).all()
    team.stop()


def test_those_that_help_wait_for_places() -> None:
    """Rows are written behind those of which it is known which they are, never before."""
    team = Crew(3)
    for seed in range(40):
        find, rows, expected = batch(seed)

        def slow(places: Row, begin: int, end: int, find: Find = find) -> None:
            places[begin:end] = PLACES[250]  # wrong as yet
            time.sleep(0.0005)
            find(places, begin, end)

        assert team.write(POOL, slow, rows, 3)
        assert (rows == expected).all()
    team.stop()


def test_nobody_is_needed() -> None:
    """Where all that could help sleep on, who asked does it all."""
    team, (find, rows, expected) = Crew(0), batch(3)
    assert team.write(POOL, find, rows, 1)
    assert (rows == expected).all()


def test_those_that_call_at_once_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that writes has a core already, and so there are less that could help."""
    monkeypatch.undo()
    monkeypatch.setattr(crew, "usable_cores", lambda: 4)
    many = 100 * crew.FROM
    for in_a_row in (False, True):
        found = [crew.helpers_for(many, callers, in_a_row=in_a_row) for callers in range(1, 7)]
        assert found == [3, 2, 1, 0, 0, 0]
    assert crew.helpers_for(crew.FROM - 1, 1, in_a_row=True) == 0
    assert crew.helpers_for(2 * crew.EACH, 1, in_a_row=True) == 1
    assert crew.helpers_for(2 * crew.EACH, 1, in_a_row=False) == 0


def test_calls_in_a_row_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first of them find who helps awake, or pay for waking them together."""
    asked: list[bool] = []

    def nobody(*_: int, in_a_row: bool) -> int:
        asked.append(in_a_row)
        return 0

    monkeypatch.setattr(crew, "helpers_for", nobody)
    monkeypatch.setattr(crew, "IN_A_ROW", 1000.0)
    writer, (find, rows, _) = Writer(), batch(3)
    for _ in range(3):
        writer.write(POOL, find, rows)
    assert asked == [False, True, True]


def test_who_was_woken_in_vain_sleeps_again() -> None:
    """It takes no time of the cores while the work that was told of does not begin."""
    team, k = Crew(2), kernels("crew")
    k.rouse(team._shared, team._pipe[1], 2)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1
    team._shared[k.SOON] = 0
    team.stop()


def test_threads_end_when_told() -> None:
    """There are as many as were ever asked for at once; they are made anew when there are none."""
    writer, before = Writer(), threading.active_count()
    for count, helpers in ((4, 0), (5, 1), (7, 3), (6, 3)):
        rows = np.zeros((count, WORDS), np.int32)
        writer.write(POOL, finding(PLACES[:count]), rows)
        assert (rows == TABLE[:count]).all()
        assert threading.active_count() == before + helpers
    writer.stop()
    assert threading.active_count() == before
    find, rows, expected = batch(9)
    writer.write(POOL, find, rows)
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
        writer.write(POOL, finding(PLACES[:7]), rows)
        assert (rows == TABLE[:7]).all()
    assert len(begun) == allowed
    assert not any(thread.is_alive() for thread in begun)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    """Those of the process that it comes from are not there, and go on helping that one."""
    find, rows, expected = batch(13)
    crew.write(POOL, find, rows)
    child = os.fork()
    if child == 0:
        fine = True
        for seed in range(20):
            find, rows, expected = batch(seed)
            crew.write(POOL, find, rows)
            fine = fine and bool((rows == expected).all())
        os._exit(0 if fine else 1)
    for seed in range(20, 60):
        find, rows, expected = batch(seed)
        crew.write(POOL, find, rows)
        assert (rows == expected).all()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
