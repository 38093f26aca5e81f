"""In: a regular expression. Out: its deterministic states, each found once in a process.

Which states an expression has, and what characters lead from one to the other, does not depend on a
spec, so specs share it. Kernels find the states by the dozen where the expression has positions
(module `regex_positions`), is a range of numbers (`regex_numbers`), or is made of parts that have
tables (modules `regex_blocks`, `regex_leaves` and `regex_formula`). Others are found one by one: by
a format itself (`regex_foreign`), by those of each part of a union (`regex_union`), by derivatives
(`regex`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.regex import ANY, INFINITE, Regex, repeat
from structgen.automaton.regex_blocks import BlockAutomaton
from structgen.automaton.regex_build import counted
from structgen.automaton.regex_capped import CappedAutomaton
from structgen.automaton.regex_far import Uncounted, boundless, longest_wait, uncounted
from structgen.automaton.regex_foreign import ForeignAutomaton, Within
from structgen.automaton.regex_formula import FormulaAutomaton, is_formula
from structgen.automaton.regex_leaves import LeavesAutomaton
from structgen.automaton.regex_lengths import LengthAutomaton, apart, loose
from structgen.automaton.regex_nodes import Chars, Concat, Leaf, Repeat, Words, is_span
from structgen.automaton.regex_numbers import NumberAutomaton
from structgen.automaton.regex_positions import Positions, TooLargeError, classes_of
from structgen.automaton.regex_states import (
    Array,
    Numbers,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
    anything,
    unread,
    within,
)
from structgen.automaton.regex_stepped import SteppedAutomaton
from structgen.automaton.regex_union import UnionAutomaton
from structgen.errors import BudgetError
from structgen.jit import kernels
from structgen.once import found_once

MAX_STATES = 10_000  # of one automaton: what lies behind begins another
MAX_KEPT = 100_000  # states kept in a process
LOOK_EVERY = 32  # automata that become known between two looks at how many states there are
FEW_POSITIONS = 1000  # of listed words: up to so many, all their states are found at once
MAX_COUNTED = 1500  # states of an expression whose texts' lengths are bounded
MAX_LENGTHS = 3_000_000  # moves looked at to find out which lengths its texts have


class PositionAutomaton(TableAutomaton):
    """States as sets of positions."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        positions = Positions(regex)
        classes = classes_of(positions.sets)
        width = len(positions.follow) // 64 + 1
        bits = [*positions.follow, positions.start, *positions.universal]
        data = b"".join(part.to_bytes(8 * width, "little") for part in bits)
        rows = np.frombuffer(data, np.uint64).reshape(-1, width).copy()
        count = len(positions.follow)
        super().__init__(rows[count], classes, ends=regex.nullable)
        self._follow, self._universal = rows[:count], rows[count + 1 :]
        self._scratch = np.zeros((len(classes.letters), width), np.uint64)
        self._open = isinstance(regex, Concat) and regex.head is ANY  # then nothing is ever fatal
        self._listed = isinstance(regex, Words)  # then nothing is read again and again
        self._few = self._listed and count <= FEW_POSITIONS

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`: all states of a few words, as each look has its cost."""
        if self._few and not self.found:
            self.explore_near(MAX_STATES)
        else:
            super().find(state, count)

    def _find(self, state: int, count: int) -> None:
        known, now, end = -1, self.found, self.found + count
        while known < now < end:
            known = now
            kernels("patterns").explore(
                self._follow,
                self.classes.reads,
                self._universal,
                self.states,
                self.search,
                self._scratch,
                state,
                end - now,
            )
            made, now, _ = self.search.sizes.tolist()
            if now == made:
                return
            state = self._next()  # walks along words turn to the next word soon

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        return (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        found = anything(end - begin)
        states = np.ascontiguousarray(self.states[begin:end])
        kernels("ahead").look_from(states, self.classes.reads, self._behind, found)
        return found

    @found_once
    def _behind(self) -> Any:
        """What texts read behind each position."""
        found = unread(len(self._follow))
        kernels("ahead").look_behind(self._follow, self.classes.reads, found)
        return found

    def _knows_loops(self, order: Numbers, loops: Array, often: Array) -> bool:  # noqa: ARG002
        if self._open:
            loops[:], often[:] = -1, 255
        return self._open or self._listed


class CountedAutomaton(TableAutomaton):
    """States as those of another expression, with the number of characters that were read."""

    def __init__(self, base: TableAutomaton, low: int, high: int, *, ends: bool) -> None:
        """Texts of `base` with `low` to `high` characters. Raises TooLargeError."""
        most = high if high < INFINITE else -1
        base.explore_all(MAX_COUNTED)
        longest = (low + base.made if most < 0 else most) + 1
        if longest * base.made * len(base.classes.letters) > MAX_LENGTHS:
            raise TooLargeError
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base = base
        self._bounds = np.array([low, most], np.int64)
        self._longer = np.zeros((longest, base.made), np.int32)
        kernels("patterns").lengths(base.search.moves, base.ends, self._longer, base.made)
        self._place = np.empty(base.made, np.int32)  # of each state of `base` in its order
        self._place[base.order[: base.made]] = np.arange(base.made)
        sizes = self._longer[: low + 1]
        wait = int((sizes - np.arange(low + 1)[:, None]).max())  # what is wanted at most to end
        self._free = -1 if most < 0 or low + wait > most else most - wait

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        at, size = self.states[state].tolist()
        low, most = self._bounds.tolist()
        if size < low or 0 <= self._free < size or (most >= 0 and self._free < 0):
            return None
        free, left = (INFINITE, INFINITE) if most < 0 else (self._free - size, most - size)
        return Unbounded(self._base, at, free, left, self._longer[0])

    def _find(self, state: int, count: int) -> None:
        kernels("patterns").explore_counted(
            self._base.search.moves,
            self._longer,
            self._bounds,
            self.states,
            self.search,
            state,
            count,
        )

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        state, size = self.states[begin:end].T
        found: npt.NDArray[np.bool_] = (self._base.ends[state] != 0) & (size >= self._bounds[0])
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: as without the bounds, and what these leave."""
        at, size = self.states[begin:end].T
        base = self._base.ahead(0, self._base.made)
        low, most = self._bounds.tolist()
        return within(base, at, low - size, most - size if most >= 0 else base.most[at])

    def _knows_loops(self, order: Numbers, loops: Array, often: Array) -> bool:
        """As without the bounds, as long as some text can end between them from anywhere."""
        if self._free < 0:
            return False
        kernels("capped").bound_loops(
            self.states, order, self._base.explored(), self._place, self._free, loops, often
        )
        return True


class DerivedAutomaton(SteppedAutomaton):
    """States as expressions, each the derivative of another."""

    def __init__(self, regex: Regex) -> None:
        super().__init__(regex, ends=regex.nullable)

    def _spans(self, state: int) -> Numbers:
        node: Any = self._nodes[state]
        return self._moved(state, node.moves())

    def _flags(self, node: Regex) -> tuple[bool, bool]:
        return node.nullable, node is ANY


class Kept:
    """The automata used last, together of at most about MAX_KEPT states, and some in any case."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a forked process must: another thread may have held a lock."""
        self._found: OrderedDict[Regex, RegexAutomaton] = OrderedDict()
        self._held: dict[Regex, RegexAutomaton] = {}
        self._look_at = 0  # how many automata there are when their states are counted next
        self._lock = threading.Lock()

    def of(self, regex: Regex) -> RegexAutomaton:
        """The automaton of an expression."""
        held = self._held.get(regex)
        if held is not None and held.size <= MAX_STATES:
            return held
        with self._lock:
            found = self._found.get(regex)
            if found is not None and found.size <= MAX_STATES:
                self._found.move_to_end(regex)
                return found
        found = _begun(regex)
        with self._lock:
            self._found[regex] = found
            if len(self._found) >= self._look_at:
                self._drop_some()
        return found

    def _drop_some(self) -> None:
        """Drop what has grown so large that others begin anew, and of the rest what is too much."""
        sizes = {regex: automaton.size for regex, automaton in self._found.items()}
        states = sum(sizes.values())
        for regex, size in sizes.items():
            if size > MAX_STATES:
                del self._found[regex]
                states -= size
        while len(self._found) > 1 and states > MAX_KEPT:
            states -= sizes[self._found.popitem(last=False)[0]]
        self._look_at = len(self._found) + LOOK_EVERY

    def holds(self, regex: Regex) -> bool:
        """Whether the automaton of an expression stays."""
        return regex in self._held

    def hold(self, regex: Regex) -> RegexAutomaton:
        """The same, which stays, whatever others come."""
        return self._held.setdefault(regex, self.of(regex))


_kept = Kept()
os.register_at_fork(after_in_child=_kept.forget)


def automaton_of(regex: Regex) -> RegexAutomaton | None:
    """The states of an expression; None where nothing may follow, or anything."""
    return None if regex.longest == 0 or regex is ANY else _kept.of(regex)


def is_held(regex: Regex) -> bool:
    """Whether the automaton of an expression was prepared."""
    return _kept.holds(regex)


def prepare(regex: Regex, count: int, *texts: str) -> None:
    """Find what leads on from the start of an expression and about `count` states, and in texts.

    It stays, whatever other expressions come.
    """
    if regex.longest == 0 or regex is ANY:
        return
    automaton = _kept.hold(regex)
    with automaton.lock:
        automaton.explore_near(count)
        found = automaton.unbounded(0)
    for each in (automaton, *([] if found is None else [found.automaton])):
        with each.lock:
            for text in texts:
                state = 0
                for letter in text:
                    state = each.after(state, letter)


def formula_has_member(regex: Regex) -> bool | None:
    """Whether a formula has a text, as its automaton has it; None of others. BudgetError."""
    found = automaton_of(regex) if is_formula(regex) else None
    if not isinstance(found, FormulaAutomaton):
        return None
    with found.lock:
        found.explore(0)
        return bool(found.ends[0] or (found.search.moves[0] >= 0).any())


def table_of(regex: Regex) -> TableAutomaton:
    """The states of an expression that a table has. Raises TooLargeError where none does."""
    if isinstance(regex, Leaf):
        return LeavesAutomaton(regex)
    found = None if is_span(regex) else automaton_of(regex)
    found = found or PositionAutomaton(regex)
    if not isinstance(found, TableAutomaton):
        raise TooLargeError
    return found


def _begun(regex: Regex) -> RegexAutomaton:
    found = _first_that_fits(regex)
    if isinstance(found, TableAutomaton):
        found.find_uncounted = partial(_without_counts, regex)
    return found


def _without_counts(regex: Regex) -> Uncounted | None:
    """The automaton of an expression without bounds that are far; None where that is no gain."""
    rest, reach = uncounted(regex) or (None, 0)
    with contextlib.suppress(TooLargeError, BudgetError):
        base = automaton_of(rest) if rest is not None and reach else None
        if isinstance(base, TableAutomaton):
            with base.lock:
                return Uncounted(base, reach - longest_wait(base))
    return None


def _first_that_fits(regex: Regex) -> RegexAutomaton:
    if is_span(regex):
        return LengthAutomaton(regex)
    ways: tuple[Callable[[Regex], RegexAutomaton], ...] = (PositionAutomaton, _repeated)
    if not regex.plain:
        regex = loose(regex)
        beside = partial(
            FormulaAutomaton if is_formula(regex) else BlockAutomaton, table_of=table_of
        )
        ways = (_bounded, NumberAutomaton, LeavesAutomaton, beside)
    for way in ways:
        with contextlib.suppress(TooLargeError):
            return way(regex)
    if isinstance(regex, Leaf):
        base = None if (rest := boundless(regex)) is None else automaton_of(rest)
        return ForeignAutomaton(regex.state, None if base is None else Uncounted(base, INFINITE))
    with contextlib.suppress(TooLargeError):
        return UnionAutomaton(regex, automaton_of)
    return DerivedAutomaton(regex)


def _repeated(regex: Regex) -> RegexAutomaton:
    """The states of characters of one kind, by how many have been read. Raises TooLargeError."""
    if not (isinstance(regex, Repeat) and isinstance(regex.body, Chars)):
        raise TooLargeError
    base = PositionAutomaton(repeat(regex.body, 0))
    return CountedAutomaton(base, regex.low, regex.high, ends=regex.nullable)


def _bounded(regex: Regex) -> RegexAutomaton:
    """The states of an expression the lengths of whose texts have bounds. Raises TooLargeError."""
    found = apart(regex)
    if found is None:
        raise TooLargeError
    rest, span = found
    _, low, high = counted(span)
    base = automaton_of(rest)
    capped = low == 0 and high < INFINITE
    if isinstance(rest, Leaf) and isinstance(base, ForeignAutomaton) and capped:
        return ForeignAutomaton(Within(rest.state, high))
    if not isinstance(base, TableAutomaton):
        raise TooLargeError
    if isinstance(base, PositionAutomaton) or not capped:
        with base.lock, contextlib.suppress(TooLargeError):
            return CountedAutomaton(base, low, high, ends=regex.nullable)
    if not capped:
        raise TooLargeError
    return CappedAutomaton(base, high, ends=regex.nullable)
