"""In: batches of rows. Out: proof that several threads copy them as one does, whoever is late."""

from __future__ import annotations

import os
import threading
from functools import partial

import numpy as np
import pytest

from structgen.automaton.automaton import Row
from structgen.jit import kernels
from structgen.mask import crew
from structgen.mask.crew import Copier, Crew, Find

pytestmark = pytest.mark.skipif(
    os.name != "posix" or kernels("crew").INTERPRETED, reason="threads wait in compiled kernels"
)
WORDS = 24
TABLE = np.random.default_rng(0).integers(0, 1 << 31, (500, WORDS), np.int32)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help is asked for with few rows, and pieces are one to three of them."""
    monkeypatch.setattr(crew, "helpers_for", lambda words: words // WORDS % 4)
    monkeypatch.setattr(crew, "PIECE", 3 * 4 * WORDS)


def batch(seed: int) -> tuple[Find, Row, Row]:
    """What says places, some below 0; room for the rows; what must be there at last."""
    random = np.random.default_rng(seed)
    places = random.integers(-3, len(TABLE), random.integers(1, 200)).astype(np.int32)
    expected = np.where(places[:, None] < 0, 0, TABLE[places])
    return lambda: (TABLE, places), np.full_like(expected, 7), expected


def _same(found: tuple[Row, Row]) -> tuple[Row, Row]:
    return found


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_copied_whoever_helps(seed: int) -> None:
    """Again and again: those that come late to one batch may come to the next."""
    copier = Copier()
    for again in range(50):
        find, rows, expected = batch(100 * seed + again)
        copier.copy(find, rows)
        assert (rows == expected).all()
    copier.stop()


@pytest.mark.parametrize("words", [1, WORDS - 1, WORDS])
def test_narrow_rows_get_the_first_words(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they do from who copies alone."""
    monkeypatch.setattr(crew, "helpers_for", lambda _: 2)
    copier, rows = Copier(), np.zeros((101, words), np.int32)
    places = np.arange(101, dtype=np.int32)[::-1].copy()
    copier.copy(partial(_same, (TABLE, places)), rows)
    assert (rows == TABLE[places, :words]).all()
    copier.stop()


def test_callers_need_not_wait_for_one_another() -> None:
    """Who finds the others at work copies alone."""
    copier, wrong = Copier(), []

    def copy_many(first: int) -> None:
        for seed in range(first, first + 300):
            find, rows, expected = batch(seed)
            copier.copy(find, rows)
            if not (rows == expected).all():
                wrong.append(seed)

    threads = [threading.Thread(target=copy_many, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    copier.stop()


def test_a_batch_within_a_batch_is_copied_alone() -> None:
    """As where to find rows copies others."""
    team, (find, rows, expected) = Crew(2), batch(1)
    inner = np.zeros_like(rows)

    def find_others() -> tuple[Row, np.ndarray]:
        assert not team.copy(find, inner, 2)
        return find()

    assert team.copy(find_others, rows, 2)
    assert (rows == expected).all()
    assert not inner.any()
    team.stop()


def test_an_error_on_the_way_loses_nobody() -> None:
    """The next batch is copied as if nothing had been."""
    team = Crew(2)

    def broken() -> tuple[Row, np.ndarray]:
        raise MemoryError

    for seed in range(30):
        find, rows, expected = batch(seed)
        with pytest.raises(MemoryError):
            team.copy(broken, rows, 2)
        assert team.copy(find, rows, 2)
        assert (rows == expected).all()
    team.stop()


def test_nobody_is_needed() -> None:
    """Where all that could help sleep on, who asked does it all."""
    team, (find, rows, expected) = Crew(0), batch(3)
    assert team.copy(find, rows, 1)
    assert (rows == expected).all()


def test_threads_end_when_told() -> None:
    """There are as many as were ever asked for at once; they are made anew when there are none."""
    copier, before = Copier(), threading.active_count()
    for count, helpers in ((4, 0), (5, 1), (7, 3), (6, 3)):
        rows = np.zeros((count, WORDS), np.int32)
        found = TABLE, np.arange(count, dtype=np.int32)
        copier.copy(partial(_same, found), rows)
        assert (rows == TABLE[:count]).all()
        assert threading.active_count() == before + helpers
    copier.stop()
    assert threading.active_count() == before
    find, rows, expected = batch(9)
    copier.copy(find, rows)
    assert (rows == expected).all()
    copier.stop()


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_no_threads_can_be_had_one_copies_alone(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under a limit of processes, or when the interpreter ends; those begun end again."""
    copier, begin, begun = Copier(), threading.Thread.start, list[threading.Thread]()

    def start(thread: threading.Thread) -> None:
        if len(begun) == allowed:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    for _ in range(3):
        rows = np.zeros((7, WORDS), np.int32)
        copier.copy(partial(_same, (TABLE, np.arange(7, dtype=np.int32))), rows)
        assert (rows == TABLE[:7]).all()
    assert len(begun) == allowed
    assert not any(thread.is_alive() for thread in begun)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    """Those of the process that it comes from are not there, and go on helping that one."""
    find, rows, expected = batch(13)
    crew.copy(find, rows)
    child = os.fork()
    if child == 0:
        fine = True
        for seed in range(20):
            find, rows, expected = batch(seed)
            crew.copy(find, rows)
            fine = fine and bool((rows == expected).all())
        os._exit(0 if fine else 1)
    for seed in range(20, 60):
        find, rows, expected = batch(seed)
        crew.copy(find, rows)
        assert (rows == expected).all()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
