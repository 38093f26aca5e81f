"""Give up a compilation that nobody waits for any more, from another thread.

    work = Cancellation()
    with cancellable(work):  # on the thread that compiles
        compile(spec, vocabulary)
    work.cancel()  # on any other

A thread cannot be ended from outside, so the compiler asks: `checkpoint` stands in its loops, where
units of work are counted against a budget. There a BudgetError may be raised as well, so whatever
specs share is whole, and a spec that was given up can be compiled again.

    with limited(20_000):  # units, after which it ends with BudgetError
        compile(spec, vocabulary)

bounds the work of a piece of code that has no budget of its own, so that no spec takes minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from structgen.errors import BudgetError


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


class _Limit:
    """How many units are left until a piece of work is given up, and what is said then."""

    def __init__(self, units: int, what: str, hint: str, grows: bool) -> None:
        self.left = units
        self.what, self.hint, self.grows = what, hint, grows


class _Current(threading.local):
    work: Cancellation | None = None
    limit: _Limit | None = None


_current = _Current()


@contextmanager
def _current_with(name: str, value: Any) -> Iterator[None]:
    """Set an attribute of `_current` in the block."""
    before = getattr(_current, name)
    setattr(_current, name, value)
    try:
        yield
    finally:
        setattr(_current, name, before)


def cancellable(work: Cancellation) -> AbstractContextManager[None]:
    """What this thread does in the block ends with CancelledError once `work` is cancelled."""
    return _current_with("work", work)


def limited(
    units: int,
    what: str = "what must hold at once takes too long to combine",
    hint: str = "put fewer unions, conditions, counts or key patterns beside each other",
    *,
    grows: bool = False,
) -> AbstractContextManager[None]:
    """What this thread does in the block ends with BudgetError after so many units of work.

    what, hint: of the error. grows: whether `allow` adds to it.
    """
    return _current_with("limit", _Limit(units, what, hint, grows))


def allow(units: int) -> None:
    """Let a limited piece of work take so many units more, as where it turns out to be larger."""
    if _current.limit is not None and _current.limit.grows:
        _current.limit.left += units


def checkpoint(units: int = 1) -> None:
    """Count units of work, each of some 50 us.

    Raises CancelledError if nobody waits for it any more, BudgetError where it is too much.
    """
    work = _current.work
    if work is not None:
        work.units += units
        if work.cancelled:
            raise CancelledError
    limit = _current.limit
    if limit is not None:
        limit.left -= units
        if limit.left < 0:
            raise BudgetError(limit.what, hint=limit.hint)
