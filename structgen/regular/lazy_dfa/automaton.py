"""In: a regular expression. Out: its deterministic states, each found once in a process.

Which states an expression has, and what characters lead from one to the other, does not depend on a
spec, so specs share it. Kernels find the states by the dozen where the expression has positions
(module `regex_positions`), is a range of numbers (`regex_numbers`), or is made of parts that have
tables (modules `regex_blocks`, `regex_leaves`, `regex_listed` and `regex_formula`). Others are
found one by one: by a format itself (`regex_foreign`), by those of each part of a union
(`regex_union`), by derivatives (`regex`). Several expressions that a text is read in have states
together (`regex_vectors`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.expressions.build import counted
from structgen.regular.expressions.nodes import Chars, Leaf, Not, Repeat, is_listed, is_span
from structgen.regular.expressions.required_characters import without_lacking
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.counters import (
    FAR,
    CappedAutomaton,
    CountedAutomaton,
    LengthAutomaton,
    apart,
    boundless,
    longest_wait,
    loose,
    may_fail,
    uncounted,
    without_far,
)
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.numbers import NumberAutomaton
from structgen.regular.lazy_dfa.product import FormulaAutomaton, is_formula
from structgen.regular.lazy_dfa.shared_leaves import LeavesAutomaton
from structgen.regular.lazy_dfa.states import RegexAutomaton, TableAutomaton, Uncounted
from structgen.regular.lazy_dfa.stepped import (
    DerivedAutomaton,
    ForeignAutomaton,
    UnionAutomaton,
    Within,
)
from structgen.regular.lazy_dfa.sub_automata import Block, BlockAutomaton, listed
from structgen.regular.lazy_dfa.vectors import Vector, VectorAutomaton
from structgen.regular.regex import ANY, INFINITE, Regex, repeat

MAX_STATES = 10_000  # of one automaton: what lies behind begins another
MAX_KEPT = 100_000  # states kept in a process
COUNTED, DROPPED = 8, 4  # automata that are looked at, and let go at most, when one becomes known


class Kept:
    """The automata used last, together of at most about MAX_KEPT states, and some in any case.

    They grow where they are used; what that makes too much is let go a few at a time, as to look at
    all of them takes milliseconds.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a forked process must: another thread may have held a lock."""
        self._found: OrderedDict[Regex | Vector, RegexAutomaton] = OrderedDict()
        self._held: dict[Regex | Vector, RegexAutomaton] = {}
        self._sizes: dict[Regex | Vector, int] = {}  # when each was looked at last
        self._states = 0  # all of these together
        self._turn: Iterator[Regex | Vector] = iter(())  # of those to be looked at
        self._lock = threading.Lock()

    def of(self, regex: Regex | Vector) -> RegexAutomaton:
        """The automaton of an expression, or of several side by side. Raises TooLargeError."""
        held = self._held.get(regex)
        if held is not None and held.size <= MAX_STATES:
            return held
        with self._lock:
            found = self._found.get(regex)
            if found is not None and found.size <= MAX_STATES:
                self._found.move_to_end(regex)
                return found
        found = VectorAutomaton(regex) if isinstance(regex, tuple) else _begun(regex)
        with self._lock:
            self._found[regex] = found
            self._found.move_to_end(regex)
            self._count(regex)
            self._drop_some()
        return found

    def _count(self, regex: Regex | Vector) -> None:
        size = self._found[regex].size
        self._states += size - self._sizes.get(regex, 0)
        self._sizes[regex] = size

    def _drop(self, regex: Regex | Vector) -> None:
        del self._found[regex]
        self._states -= self._sizes.pop(regex)

    def _drop_some(self) -> None:
        """Drop what has grown so large that others begin anew, and of the rest what is too much."""
        turn = [*islice(self._turn, COUNTED)]
        if len(turn) < COUNTED:
            self._turn = iter([*self._found])
        for regex in self._found.keys() & turn:
            self._count(regex)
            if self._sizes[regex] > MAX_STATES:
                self._drop(regex)
        for _ in range(DROPPED):
            if len(self._found) > 1 and self._states > MAX_KEPT:
                self._drop(next(iter(self._found)))

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


def vector_automaton(vector: Vector) -> VectorAutomaton | None:
    """The states of expressions side by side; None where no automaton has them."""
    with contextlib.suppress(TooLargeError):
        found: Any = _kept.of(vector)
        return found  # type: ignore[no-any-return]
    return None


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


def block_of(regex: Regex) -> Block:
    """The states of a part of an expression. Raises TooLargeError where no table has them."""
    return listed(regex) if is_listed(regex) else table_of(regex)


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
    found = None if rest is None or not reach else _waiting(rest, regex)
    return None if found is None else Uncounted(found[0], reach - found[1])


def far_from_bounds(regex: Regex) -> tuple[Regex, int]:
    """An expression without bounds that are far, and how many characters may follow as without.

    The same, and any number, where there is no such bound, or it is not known.
    """
    rest, reach = without_far(regex, FAR)
    if rest is regex:
        return regex, INFINITE
    if is_span(rest):
        return rest, reach - rest.shortest
    found = _waiting(rest, regex)
    return (regex, INFINITE) if found is None else (rest, reach - found[1])


def _waiting(rest: Regex, bounded: Regex) -> tuple[TableAutomaton, int] | None:
    """The automaton of `rest`, which is `bounded` without bounds, and its `longest_wait`.

    None where that is not known, or beginnings are lost without the bounds.
    """
    with contextlib.suppress(TooLargeError, BudgetError):
        base = automaton_of(rest)
        if isinstance(base, TableAutomaton):
            with base.lock:
                wait = longest_wait(base)
                lost = isinstance(bounded, Not) and may_fail(base)
                return None if lost else (base, wait)
    return None


def _first_that_fits(regex: Regex) -> RegexAutomaton:
    if is_span(regex):
        return LengthAutomaton(regex)
    regex = without_lacking(regex)
    ways: tuple[Callable[[Regex], RegexAutomaton], ...] = (PositionAutomaton, _repeated)
    if not regex.plain:
        regex = loose(regex)
        beside = partial(
            FormulaAutomaton if is_formula(regex) else BlockAutomaton, table_of=block_of
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
    least = 0 if rest.shortest >= low else low  # a bound that always holds is none
    capped = least == 0 and high < INFINITE
    if isinstance(rest, Leaf) and isinstance(base, ForeignAutomaton) and capped:
        return ForeignAutomaton(Within(rest.state, high))
    if not isinstance(base, TableAutomaton):
        raise TooLargeError
    bare = uncounted(regex)
    counts_more = bare is not None and bare[0] is not rest  # than what shares rows counts
    if not counts_more and (isinstance(base, PositionAutomaton) or low or not capped):
        with base.lock, contextlib.suppress(TooLargeError):
            return CountedAutomaton(base, least, high, ends=regex.nullable)
    if not capped:
        raise TooLargeError
    return CappedAutomaton(base, high, ends=regex.nullable)
