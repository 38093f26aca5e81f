"""The command `batches`: how long it takes to hand out finished masks, one by one and many at once.

    python -m jsonschemabench batches --tokenizer llama3.tiktoken

The masks are computed beforehand; what is timed is how they get into the caller's rows, by
`fill_mask` for one state and by `fill_masks` for a batch, which works without the GIL and on as
many threads as the process may use where that pays. Each state has a row of its own, which differs
from a common one in a few words, as most rows of a server do.

Figures are the best of many runs, since whatever else the machine does makes them longer, never
shorter. Those of calls with pauses between them, as in a server, are medians, because they show how
long other threads take to wake up. Threads that each fill rows of their own wait for nobody, so for
them the batches per second are counted. The time to clear the memory of such rows is the lower
bound of all these figures.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import structgen as sg
from jsonschemabench.data import vocab
from jsonschemabench.errors import BenchError
from structgen.util.tables import markdown, markdown_line

RUNS = 200
SECONDS = 1.0  # for each figure, at least
SINGLE = 1000  # calls in one run of what takes less than a microsecond
PAUSE = 2e-3  # seconds between calls that are timed with pauses


def add_parser(commands: Any) -> None:
    """Add the command `batches`."""
    parser = commands.add_parser(
        "batches",
        help="measure how masks that are made are handed out, by batch size and threads",
        description="Time fill_mask, mask_view, mask_id and fill_masks on rows that are there.",
    )
    parser.add_argument("--batches", default="1,4,32,256", metavar="N,...", help="states at once")
    vocab.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, then print two tables, the rates of threads, and the time to clear the memory."""
    try:
        sizes = [int(part) for part in args.batches.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise BenchError("a batch size is not a positive number", expected="such as 1,4,32,256")
    constraint, states = many_rows(vocab.load(args), max(sizes))
    words = constraint.vocabulary.words
    print(f"{constraint.vocabulary.size:,} tokens, rows of {4 * words:,} bytes, µs\n")
    alone_rows = [[n, f"{took:.2f}"] for n, took in one_by_one(constraint, states).items()]
    print(markdown(["one state", "µs"], alone_rows))
    pair = ["one thread", f"{usable_cores()} threads", "ratio"]
    apart = [f"{PAUSE * 1e3:.0f} ms apart: {pair[0]}", *pair[1:]]
    print("\n" + markdown(["states", *pair, "two threads that call", "ratio", *apart]))
    for size in sizes:
        one, every, two, one_apart, every_apart = batch(constraint, states[:size])
        cells = [f"{size}", f"{one:.1f}", f"{every:.1f}", f"{one / every:.2f}"]
        cells += [f"{two:.1f}", f"{one / two:.2f}"]
        cells += [f"{one_apart:.1f}", f"{every_apart:.1f}", f"{one_apart / every_apart:.2f}"]
        print(markdown_line(cells))
    alone = rate(constraint, states, 1)
    print(f"\none thread fills {len(states)} rows {alone:,.0f} times a second, and", end="")
    many = rate(constraint, states, usable_cores())
    print(f" {usable_cores()} threads, each rows of its own, {many:,.0f} times: {many / alone:.2f}")
    rows = np.zeros((max(sizes), words), np.int32)
    one, every = clearing(rows, 1), clearing(rows, usable_cores())
    print(f"\nto clear {len(rows)} rows, over and over, takes {one:.1f} µs with one thread", end="")
    print(f" and {every:.1f} with {usable_cores()}, that each have a part: {one / every:.2f}")
    return 0


def many_rows(vocabulary: sg.Vocabulary, count: int) -> tuple[sg.Constraint, list[int]]:
    """A constraint, and `count` of its states, each with a mask of its own."""
    begins = [f"{n:05d}" for n in range(count)]
    bits = range(count.bit_length())
    words = [  # after a begin, those letters may come whose bits are set in its number
        begin + chr(ord("a") + bit)
        for n, begin in enumerate(begins, 1)
        for bit in bits
        if n >> bit & 1
    ]
    constraint = sg.compile({"enum": words}, vocabulary)
    return constraint, [
        constraint.advance_bytes(constraint.start, f'"{begin}'.encode()) for begin in begins
    ]


def one_by_one(constraint: sg.Constraint, states: list[int]) -> dict[str, float]:
    """Microseconds of a call for one state, the loop that calls included."""
    row = np.zeros((1, constraint.vocabulary.words), np.int32)
    single, state = row[0], states[0]
    calls: dict[str, Callable[[], object]] = {
        "fill_mask": lambda: constraint.fill_mask(state, single),
        "fill_masks": lambda: constraint.fill_masks([state], row),
        "mask_view": lambda: constraint.mask_view(state),
        "mask_id": lambda: constraint.mask_id(state),
    }

    def repeated(call: Callable[[], object]) -> Callable[[], None]:
        def many() -> None:
            for _ in range(SINGLE):
                call()

        return many

    return {name: best(repeated(call)) / SINGLE for name, call in calls.items()}


def batch(constraint: sg.Constraint, states: list[int]) -> tuple[float, ...]:
    """Microseconds of a batch: on one thread, on all cores, and halves by two threads at once.

    Then the first two again, for calls with pauses between them.
    """
    rows = np.zeros((len(states), constraint.vocabulary.words), np.int32)

    def whole() -> None:
        constraint.fill_masks(states, rows)

    with one_core():
        one, one_apart = best(whole), typical(whole)
    all_cores, all_apart = best(whole), typical(whole)
    middle = max(1, len(states) // 2)
    other = Helper(lambda: constraint.fill_masks(states[middle:], rows[middle:]))

    def halves() -> None:
        other.begin()
        constraint.fill_masks(states[:middle], rows[:middle])
        other.end()

    two = best(halves)
    other.stop()
    return one, all_cores, two, one_apart, all_apart


def rate(constraint: sg.Constraint, states: list[int], count: int) -> float:
    """Batches per second of `count` threads, each with rows of its own, none waiting for another.

    A thread alone gets one core.
    """
    shape = len(states), constraint.vocabulary.words
    done = [0] * count
    begin = time.perf_counter()

    def fill(number: int) -> None:
        rows = np.zeros(shape, np.int32)
        while not done[number] or time.perf_counter() < begin + SECONDS:
            constraint.fill_masks(states, rows)
            done[number] += 1

    with one_core() if count == 1 else contextlib.nullcontext():
        at_once(fill, range(count))
    return sum(done) / (time.perf_counter() - begin)


def clearing(rows: npt.NDArray[np.int32], count: int) -> float:
    """Microseconds to clear rows by `count` threads, each a part: the lower bound of filling."""
    times = max(1, int(SECONDS * 1e6) // max(1, rows.nbytes >> 16))  # 64 kB take about 1 µs

    def clear(part: npt.NDArray[np.int32]) -> None:
        for _ in range(times):
            ctypes.memset(part.ctypes.data, 0, part.nbytes)

    parts = np.array_split(rows, count)
    begin = time.perf_counter()
    at_once(clear, parts)
    return 1e6 * (time.perf_counter() - begin) / times


def at_once(task: Callable[[Any], None], given: Iterable[Any]) -> None:
    """Call `task` with each of `given`, each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=task, args=(one,)) for one in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Helper:
    """A thread that runs one task each time that `begin` is called."""

    def __init__(self, task: Callable[[], None]) -> None:
        self._task = task
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._running = True
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while self._go.acquire() and self._running:
            self._task()
            self._done.release()

    def begin(self) -> None:
        """Start the task in the thread."""
        self._go.release()

    def end(self) -> None:
        """Wait until the task is done."""
        self._done.acquire()

    def stop(self) -> None:
        """End the thread."""
        self._running = False
        self._go.release()


def best(call: Callable[[], object]) -> float:
    """Microseconds of the fastest of many calls."""
    end = time.perf_counter() + SECONDS
    least, done = float("inf"), 0
    while done < RUNS or time.perf_counter() < end:
        before = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - before)
        done += 1
    return 1e6 * least


def typical(call: Callable[[], object]) -> float:
    """Microseconds of the median of many calls with pauses between them."""
    took = []
    for _ in range(RUNS):
        time.sleep(PAUSE)
        before = time.perf_counter()
        call()
        took.append(time.perf_counter() - before)
    return 1e6 * statistics.median(took)


def usable_cores() -> int:
    """How many cores this thread may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Let this thread use one core only, where the system offers that."""
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
