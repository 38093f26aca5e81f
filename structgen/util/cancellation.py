"""Give up a compilation that nobody waits for any more, from another thread.

    work = Cancellation()
    with cancellable(work):  # on the thread that compiles
        compile(spec, vocabulary)
    work.cancel()  # on any other

A thread cannot be ended from outside, so the compiler asks: `checkpoint` stands in its loops, where
units of work are counted against a budget. There a BudgetError may be raised as well, so whatever
specs share is whole, and a spec that was given up can be compiled again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class CancelledError(Exception):
    """The work was cancelled. Whoever cancelled it catches it; it says nothing about the spec."""


class Cancellation:
    """Whether a piece of work has been cancelled, and how many units of it have been done."""

    def __init__(self) -> None:
        self.cancelled = False
        self.units = 0

    def cancel(self) -> None:
        """Let the work end at its next checkpoint."""
        self.cancelled = True


class _Current(threading.local):
    work: Cancellation | None = None


_current = _Current()


@contextmanager
def cancellable(work: Cancellation) -> Iterator[None]:
    """What this thread does in the block ends with CancelledError once `work` is cancelled."""
    before, _current.work = _current.work, work
    try:
        yield
    finally:
        _current.work = before


def checkpoint() -> None:
    """Count a unit of work. CancelledError if nobody waits for it any more."""
    work = _current.work
    if work is not None:
        work.units += 1
        if work.cancelled:
            raise CancelledError
