"""Glushkov's construction with automata in the place of characters.

Intersections, complements and formats inside an expression are sub-automata whose states a table
has (`StateTables`). Which sub-automata may come first and follow each other is read off the
expression as in `glushkov`; a DFA state is the set of states that the sub-automata may be in. All
their states get one common numbering, and their character classes are refined into common ones
(`SubAutomatonStates`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import (
    Alt,
    Concat,
    Lazy,
    Repeat,
    StateTable,
    SubAutomaton,
    is_listed,
)
from structgen.regular.lazy_dfa.character_classes import (
    CharacterClasses,
    TooLargeError,
    classes_in,
    classes_of,
    sets_of,
)
from structgen.regular.lazy_dfa.positions import Bits, Positions, Program
from structgen.regular.lazy_dfa.states import (
    ANY_NUMBER,
    AT_ONCE,
    TableAutomaton,
    nothing_ahead,
    unknown_ahead,
)
from structgen.util.arrays import bytes_of, with_room
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_LETTERS = 64  # characters that a sub-automaton reads whose states are few
COPIED_PER_UNIT = 10_000  # numbers of states that are copied in a unit of work
NARROW = 4  # the width of a state set at first
TOO_NARROW = -2  # the kernel's answer when a set is wider than the table

Ints = npt.NDArray[np.int32]

# `after` of `explore_sets` where no sub-automaton follows another
NO_BLOCKS = np.full((1, 1), -1, np.int32)


class StateTables(Protocol):
    """An automaton with a table of states, as `TableAutomaton` is one; 0 is the start."""

    lock: Any
    classes: CharacterClasses
    search: Any
    ends: npt.NDArray[np.uint16]
    is_kernel_only: bool

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`."""

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""

    def lasting(self, _states: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        """See `TableAutomaton.lasting`."""


class SubAutomatonProgram(Program):
    """An expression whose positions are sub-automata.

    is_vast: whether one is a sub-automaton without a table of all its states.
    """

    has_plain_parts = True

    def __init__(self, regex: Regex, block_of: Callable[[Regex], StateTables]) -> None:
        """Read off the sub-automata. block_of: makes the table of one. Raises TooLargeError."""
        super().__init__()
        self._block_of = block_of
        self._blocks: dict[Regex, StateTables] = {}
        self.is_vast = False
        self.add(regex)

    def blocks(self, positions: Positions) -> list[StateTables]:
        """The table of each position from 1 on."""
        return [self._blocks[self.read[number]] for number in positions.sets[1:].tolist()]

    def _part(self, node: Regex, depth: int) -> None:
        if not node.plain and isinstance(node, Alt | Concat | Repeat):
            super()._part(node, depth)
            return
        if isinstance(node, Lazy):
            raise TooLargeError
        if node.longest > 0:
            self.is_vast = self.is_vast or _reads_many(node)
            if node not in self._blocks:
                self._blocks[node] = self._block_of(node)
            self._chain([self._number(node)])
            if node.nullable:
                self._or_nothing()
        elif node.nullable:
            self._nothing()
        else:
            raise TooLargeError


def _reads_many(node: Regex) -> bool:
    """Whether a part is a sub-automaton that reads many characters and does not list its states."""
    if not isinstance(node, SubAutomaton) or is_listed(node):
        return False
    reads: tuple[CharSet, ...] = getattr(node.state, "reads", ())
    return sum(map(len, reads)) > MAX_LETTERS


class SubAutomatonStates:
    """One numbering ("nodes") of the states of several sub-automata; their starts come first.

    classes: the common refinement of their character classes. nodes:
    `kernels.regular.sub_automata.Nodes`, the moves of nodes by these classes, copied from the
    sub-automata as they are explored; `ends` has bit 2 set where any text may follow.
    """

    def __init__(self, blocks: Sequence[StateTables], others: Sequence[CharSet] = ()) -> None:
        """Raises TooLargeError. others: sets of characters that classes must tell apart as well."""
        self._blocks = blocks
        self.classes = classes_of([None, *others, *(x for b in blocks for x in sets_of(b.classes))])
        count = self._made = len(blocks)
        self._classes = [classes_in(b.classes, self.classes.letters) for b in blocks]
        self._numbers = [np.array([number], np.int32) for number in range(count)]
        self._states = np.zeros(count, np.int32)  # of each node, its number in its own automaton
        self._copied = [0] * count  # of each automaton, how many explored states have been copied
        self._ahead_copied = [
            0
        ] * count  # of each automaton, of how many states `ahead` has been copied
        self._ahead = unknown_ahead(count)
        self.nodes = kernels("regular.sub_automata").Nodes(
            moves=np.full((count, len(self.classes.letters)), -1, np.int32),
            known=np.zeros(count, np.uint8),
            ends=np.array([b.ends[0] for b in blocks], np.uint8),
            block=np.arange(count, dtype=np.int32),
        )

    def explore(self, node: int, count: int) -> None:
        """Explore a node and about `count` states of its automaton, and copy what is new."""
        place, state = int(self.nodes.block[node]), int(self._states[node])
        block, classes = self._blocks[place], self._classes[place]
        with block.lock:
            block.find(state, count)
            made, known, _ = block.search.sizes.tolist()
            new = len(self._numbers[place])
            numbers = self._number(place, made)
            kernels("regular.sub_automata").take_over(
                self.nodes,
                block.search,
                block.ends,
                numbers,
                classes,
                block.classes.total,
                new,
                self._copied[place],
            )
            self._copied[place] = known

    def own(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The number of each of some nodes in its own automaton."""
        return self._states[nodes].astype(np.int64)

    def lasting(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[n]: byte groups that a node in each row reads for ever (-1: none), where known."""
        found = np.zeros(len(nodes), np.int64)
        for place, block in enumerate(self._blocks):
            rows, columns = np.nonzero((nodes >= 0) & (self.nodes.block[nodes] == place))
            groups = block.lasting(self.own(nodes[rows, columns]))
            if groups is not None:
                found[rows] = np.where(groups, groups, found[rows])
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of its tables."""
        return bytes_of(*vars(self).values(), *self._classes, *self._numbers)

    def ahead(self) -> Any:
        """`Ahead` of each node within its own automaton, in the common classes.

        The arrays may be longer than the number of nodes.
        """
        if self._made > len(self._ahead.may):
            self._ahead = type(self._ahead)(*(with_room(part, self._made) for part in self._ahead))
        for place, block in enumerate(self._blocks):
            begin, numbers = self._ahead_copied[place], self._numbers[place]
            if begin < len(numbers):
                with block.lock:
                    found = block.ahead(begin, len(numbers))
                kernels("regular.required_ahead").spread(
                    found, self._bits[place], numbers[begin:], self._ahead
                )
                self._ahead_copied[place] = len(numbers)
        return self._ahead

    @cached_attribute
    def _bits(self) -> list[npt.NDArray[np.uint64]]:
        """uint64[C] for each automaton: bits of the common classes that make up its own."""
        sets = []
        for block, own in zip(self._blocks, self._classes, strict=True):
            sets.append(np.zeros(len(block.classes.letters), np.uint64))
            bits = np.uint64(1) << np.arange(len(own), dtype=np.uint64)
            np.bitwise_or.at(sets[-1], own[own >= 0], bits[own >= 0])
        return sets

    def _number(self, place: int, count: int) -> Ints:
        """The nodes of the first `count` states of an automaton; new ones are appended."""
        numbers = self._numbers[place]
        more = count - len(numbers)
        if more:
            checkpoint(count // COPIED_PER_UNIT)
            begin, end = self._made, self._made + more
            nodes = self.nodes
            if end > len(nodes.known):
                nodes = self.nodes = type(nodes)(*(with_room(part, end) for part in nodes))
                self._states = with_room(self._states, end)
            nodes.block[begin:end] = place
            self._states[begin:end] = np.arange(len(numbers), count)
            self._made = end
            numbers = np.concatenate((numbers, np.arange(begin, end, dtype=np.int32)))
            self._numbers[place] = numbers
        return numbers


class ComposedAutomaton(TableAutomaton):
    """A DFA whose states are sets of nodes of sub-automata (node + 1 each, 0 for none).

    is_vast: whether a sub-automaton has no table of all its states, so that each new combination
    costs a step in Python.
    """

    def __init__(self, regex: Regex, table_of: Callable[[Regex], StateTables]) -> None:
        """Raises TooLargeError. table_of: makes the table of a subexpression."""
        for part in regex.parts if isinstance(regex, Alt) else ():
            if isinstance(part, SubAutomaton):
                table_of(part)  # fails early, before tables of other parts are made in vain
        program = SubAutomatonProgram(regex, table_of)
        positions = program.positions()
        blocks = program.blocks(positions)
        count = len(blocks)
        if not count:
            raise TooLargeError
        self._parts = SubAutomatonStates(blocks)
        self._lasting: dict[int, int] = {}  # by state, byte groups that it reads for ever
        self.is_vast = program.is_vast
        self.max_eager_states = 0 if self.is_vast else self.max_eager_states
        self.is_kernel_only = all(block.is_kernel_only for block in blocks)
        self._last = (positions.follow[1:, 0] & np.uint64(1)).astype(np.uint8)
        (first,) = _members(positions.start[None])
        if regex.nullable and not any(blocks[n].ends[0] and self._last[n] for n in first):
            first = first[:1] + first  # in no other state twice: behind the start no text may end
        start = np.zeros(max(NARROW, len(first)), np.uint64)
        start[: len(first)] = np.array(first, np.uint64) + np.uint64(1)
        super().__init__(start, self._parts.classes, ends=regex.nullable)
        following = _members(positions.follow[1:])
        self._after = np.full((count, max(1, *map(len, following))), -1, np.int32)
        for after, members in zip(self._after, following, strict=True):
            after[: len(members)] = members

    @property
    def nbytes(self) -> int:
        """See `RegexAutomaton.nbytes`."""
        return super().nbytes + self._parts.nbytes

    def write_spans(self) -> None:
        """See `TableAutomaton.write_spans`; what one of its nodes reads for ever, a state does."""
        known = self.known
        super().write_spans()  # what it finds of loops replaces what was found before
        order = self.order[known : self.known].astype(np.int64)
        groups = self._parts.lasting(self.states[order].astype(np.int64) - 1)
        lasting = zip(order.tolist(), groups.tolist(), strict=True)
        self._lasting.update((state, group) for state, group in lasting if group)
        if self._lasting:
            states = [*self._lasting]
            self.loops[states], self.often[states] = [*self._lasting.values()], ANY_NUMBER

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`: few at a time, as the kernel takes similar states first."""
        super().find(state, min(count, AT_ONCE) if self.is_kernel_only else count)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        while (need := explore_sets(self, self._parts.nodes, self._after, state, end)) >= 0:
            self._parts.explore(need, count)

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        nodes, at = self._parts.nodes, self.states[begin:end].astype(np.int64) - 1
        ends = (nodes.ends[at] & self._last[nodes.block[at]]) != 0
        found: npt.NDArray[np.bool_] = (ends & (at >= 0)).any(axis=1)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        nodes, found = self.states[begin:end].astype(np.int64) - 1, unknown_ahead(end - begin)
        block = self._parts.nodes.block
        here = self._parts.ahead()
        kernels("regular.required_ahead").look_from_nodes(nodes, block, here, self._behind, found)
        return found

    @cached_attribute
    def _behind(self) -> Any:
        """`Ahead` behind each sub-automaton, as a fixpoint over what follows it."""
        found = nothing_ahead(len(self._after))
        given = self._after, self._last, self._parts.nodes.block, self._parts.ahead(), found
        kernels("regular.required_ahead").look_behind_sub_automata(*given)
        return found


def explore_sets(automaton: TableAutomaton, nodes: Any, after: Ints, state: int, end: int) -> int:
    """Find the moves of a state, and of others until `end` states are explored.

    A state is a set of `nodes` (see `regular.sub_automata.explore_sub_automata`). Returns a node
    that must be explored first, or -1 when done.
    """
    near = AT_ONCE if automaton.is_kernel_only else 0
    while automaton.search.queue[state] != 1:
        row = np.zeros(automaton.states.shape[1], np.uint64)
        given = nodes, after, automaton.states, automaton.search, row
        need: int = kernels("regular.sub_automata").explore_sub_automata(*given, state, near, end)
        if need != TOO_NARROW:
            return need
        automaton.widen()
    return -1


def _members(rows: Bits) -> list[list[int]]:
    """The sub-automata whose positions are in each row, from 0."""
    found = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    return [np.flatnonzero(row).tolist() for row in found[:, 1:]]


class CompleteTable:
    """A sub-automaton that gives the table of all its states at once."""

    is_kernel_only = True

    def __init__(self, table: StateTable, classes: CharacterClasses) -> None:
        """`table` by class of characters."""
        moves, ends, self._least = table
        self.ends = ends.astype(np.uint16)
        count = len(moves)
        self.lock = threading.Lock()
        self.classes = classes
        self.search = kernels("regular.glushkov").Search(
            moves=moves,
            came=np.zeros((count, 2), np.int32),
            table=np.zeros(0, np.int32),
            order=np.arange(count, dtype=np.int32),
            queue=np.ones(count, np.uint8),
            sizes=np.full(3, count, np.int64),
        )

    def find(self, state: int, count: int) -> None:
        """See `StateTables`: all states are explored."""

    def lasting(self, _states: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        """See `StateTables`."""
        return None

    def ahead(self, begin: int, end: int) -> Any:
        """See `StateTables`: only how soon texts end is known."""
        return unknown_ahead(end - begin)._replace(least=self._least[begin:end])


@lru_cache(maxsize=16)
def listed(sub_automaton: Regex) -> CompleteTable:
    """The table of a sub-automaton for which `is_listed` holds, from its state on."""
    state = cast(Any, sub_automaton).state
    table: StateTable = state.table()
    start, order = int(state.number), np.arange(len(table.ends), dtype=np.int32)
    order[[0, start]] = start, 0  # the given state becomes state 0
    classes = classes_of([None, *state.reads])
    moves = np.full((len(order), len(classes.letters)), -1, np.int32)
    for place, letter in enumerate(classes.letters.tolist()):
        for column, chars in enumerate(state.reads):
            if letter in chars:
                to = table.moves[order, column]
                moves[:, place] = np.where(to < 0, to, order[to])
    return CompleteTable(StateTable(moves, table.ends[order], table.least[order]), classes)
