"""Fill the mask rows of many constraints at once: what a server does for each token of a batch.

Most rows of a batch have been made before and only need to be written. Those that have not are made
by several threads, one constraint at a time each: kernels run without the GIL, so a row that takes
long to make does not hold up the rows of other requests.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.constraint.constraint import Constraint
from structgen.errors import ArgumentError, StructgenError
from structgen.kernels.build.ledger import usable_cores

FEW = 4  # constraints without their row for each thread: waking one takes as long as a few rows


class FillsMask(Protocol):
    """What `fill_masks` needs of a constraint."""

    def fill_mask(self, state: int, row: npt.NDArray[Any], /) -> None:
        """Write the allowed tokens of a state."""


def fill_masks(
    constraints: Sequence[FillsMask],
    states: Sequence[int],
    rows: npt.NDArray[Any],
    threads: int | None = None,
) -> None:
    """Write the allowed tokens of states[i] of constraints[i] to rows[i], for all i.

    rows: int32 or uint32[m, ceil(V / 32)], m >= n; further rows are left alone. threads: how many
    make the rows that were not asked for before, the caller's included; by default one for each
    core. ArgumentError where the arguments do not fit together. Where a row cannot be made
    (BudgetError, say), all others are written before that is raised.
    """
    errors = fill_each(constraints, states, rows, threads)
    if errors:
        raise errors[min(errors)]


def fill_each(
    constraints: Sequence[FillsMask],
    states: Sequence[int],
    rows: npt.NDArray[Any],
    threads: int | None = None,
) -> dict[int, Exception]:
    """`fill_masks`, but what keeps a row from being made is returned, by the number of the row."""
    try:
        same = len(constraints) == len(states)
    except TypeError:
        given = f"{constraints!r:.80} and {states!r:.80}"
        expected = "a sequence of constraints, and one of states"
        raise ArgumentError(f"constraints and states are {given}", expected=expected) from None
    if not same:
        raise ArgumentError(
            f"there are {len(constraints)} constraints for {len(states)} states",
            expected="one constraint for each state",
            hint="constraint.fill_masks(states, rows) is for one constraint",
        )
    _check_batch(len(states), rows)
    first = constraints[0] if constraints else None
    if isinstance(first, Constraint) and all(one is first for one in constraints):
        try:
            first.fill_masks(states, rows[: len(states)])  # one call of a kernel, if all are kept
            return {}
        except StructgenError:
            pass  # of one of the rows, which is found out below
    missing: dict[int, list[int]] = {}  # id of a constraint -> its rows that must be made
    for i, (constraint, state) in enumerate(zip(constraints, states, strict=True)):
        if not isinstance(constraint, Constraint) or not constraint.fill_known(state, rows[i]):
            missing.setdefault(id(constraint), []).append(i)
    errors: dict[int, Exception] = {}

    def make(part: Sequence[int]) -> None:
        for i in part:
            try:
                constraints[i].fill_mask(states[i], rows[i])
            except Exception as error:  # noqa: BLE001  # of this row: the others are written
                errors[i] = error

    if missing:
        useful = len(missing) // FEW
        if useful > 1:
            useful = min(useful, usable_cores() if threads is None else threads)
        _share_out(make, list(missing.values()), useful)
    return errors


def _check_batch(count: int, rows: Any) -> None:
    """ArgumentError unless `rows` is an array of at least so many rows."""
    if not isinstance(rows, np.ndarray):
        hint = "use tensor.numpy()" if hasattr(rows, "numpy") else "use np.zeros(shape, np.int32)"
        raise ArgumentError(
            f"rows is a {type(rows).__name__}", expected=f"int32[{count}, words]", hint=hint
        )
    if rows.ndim != 2 or len(rows) < count:
        raise ArgumentError(
            f"rows is {rows.dtype}{[*rows.shape]}", expected=f"int32[{count}, words]"
        )


class _Helpers:
    """Threads that wait for work, made when first needed; they do not come along into a fork."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the threads, if there are any."""
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def pool(self) -> ThreadPoolExecutor:
        """The threads: one for each core but the caller's."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max(1, usable_cores() - 1), "structgen-masks")
            return self._pool


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):  # not where processes do not fork
    os.register_at_fork(after_in_child=_helpers.begin_anew)


def _share_out(task: Callable[[Sequence[int]], None], parts: list[list[int]], threads: int) -> None:
    """Do the task for each part, on so many threads at most."""
    left = iter(parts)  # `next` of a list's iterator is one step for Python's threads

    def work() -> None:
        for part in left:
            task(part)

    others = [_helpers.pool().submit(work) for _ in range(threads - 1)]
    work()
    for one in others:
        if not one.cancel():  # one that never began has nothing left to do
            one.result()
