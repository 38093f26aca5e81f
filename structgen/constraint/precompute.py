"""Compute the masks of a constraint's states ahead of time.

Breadth-first, by single bytes, so that every way to cut a text into tokens is covered. Positions
that are known to have the same futures are followed once: an automaton that is finite up to those
is explored to its end, another one up to `max_states`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Automaton
from structgen.vocabulary.vocabulary import Vocabulary

REPORT_EVERY = 64  # states between two reports of progress


class Explorable(Protocol):
    """What exploring needs of a constraint."""

    vocabulary: Vocabulary
    start: int
    max_bytes: int

    @property
    def automaton(self) -> Automaton:
        """The automaton of its spec."""

    @property
    def full(self) -> bool:
        """Whether rows take all the memory that they may."""

    def core(self, state: int, /) -> Hashable:
        """Equal for states with the same futures."""

    def branches(self, state: int, /) -> Iterable[int]:
        """Bytes that can follow, one for each future."""

    def fill_mask(self, state: int, row: npt.NDArray[Any], /) -> None:
        """Write the mask of a state."""

    def advance_bytes(self, state: int, text: bytes, /) -> int:
        """The state after some bytes."""


class Explored(NamedTuple):
    """What an exploration came to.

    states: how many have their masks now. complete: whether these are all that there are, up to
    equal futures. longest: seconds that the slowest mask took. seconds: what all took together.
    max_states, max_bytes: where it would have ended.
    """

    states: int
    complete: bool
    longest: float
    seconds: float
    max_states: int
    max_bytes: int


def explore(
    constraint: Explorable,
    max_states: int,
    progress: Callable[[int, int], None] | None = None,
) -> Explored:
    """Make the masks of the states that bytes lead to, `max_states` of them at most.

    It ends early when they take all the memory that the constraint gives them. `progress` gets the
    numbers of states done and known, from time to time.
    """
    begin = time.perf_counter()
    row = np.zeros(constraint.vocabulary.words, np.int32)
    automaton = constraint.automaton
    queue, seen = [constraint.start], {constraint.core(constraint.start)}
    complete, longest, done = True, 0.0, 0
    for done, state in enumerate(queue, 1):
        before = time.perf_counter()
        constraint.fill_mask(state, row)
        longest = max(longest, time.perf_counter() - before)
        for byte in constraint.branches(state):
            after = constraint.advance_bytes(state, bytes((byte,)))
            core = constraint.core(after)
            if core in seen:
                continue
            if len(queue) < max_states:
                seen.add(core)
                queue.append(after)
            else:
                complete = False
        if progress is not None and done % REPORT_EVERY == 0:
            progress(done, len(queue))
        if constraint.full or constraint.automaton is not automaton:  # tables dropped, cores stale
            complete = False
            break
    seconds = time.perf_counter() - begin
    return Explored(done, complete, longest, seconds, max_states, constraint.max_bytes)
