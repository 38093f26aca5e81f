"""A naive machine's tables for kernels, filled only as far as kernels ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.pushdown.tables import addresses
from structgen.kernels.build.loader import kernels
from tests.helpers.naive import NAMES, Level, Place, TwinMachine

Array = npt.NDArray[Any]
ROOM = 4  # entries of each table at first


def hash_table(size: int) -> Array:
    """An empty hash table of the kernels."""
    table = np.zeros((size, 2), np.int64)
    table[:, 0] = -1
    return table


@cache
def opened(kernel: Any) -> Any:
    """A kernel, as Python can call it: some have no wrappers, where they are compiled just now."""
    if not hasattr(kernel, "py_func"):
        return kernel
    import numba

    @numba.njit(nogil=True, error_model="numpy")
    def call(*given):  # type: ignore[no-untyped-def]
        return kernel(*given)

    return call


def allowed_bits(names: frozenset[int] | None) -> int:
    """A byte with the bits of names, of which there are fewer than eight."""
    return sum(1 << name for name in names or ())


class Served:
    """Tables of a naive machine: nothing is filled and room is scarce until kernels ask for it."""

    def __init__(self, machine: TwinMachine) -> None:
        self.machine = machine
        self.k = kernels("tables")
        self.asked: set[int] = set()  # the codes with which kernels stopped
        states, names = len(machine.rows), [guard or () for guard in machine.guard]
        ends = np.cumsum([0, *map(len, names)])
        guard = [(a, b) if a < b else (-1, -1) for a, b in pairwise(ends)]
        needs = {
            "unused": self.k.TEXT_UNUSED,
            "looked at": self.k.TEXT_READ,
            "compared": self.k.TEXT_COMPARED,
        }
        self.tables = self.k.Tables(
            rows=np.full((states, 256), -1, np.int32),
            filled=np.zeros(states, np.uint8),
            accept=np.full(states, -1, np.int32),
            recorded=np.array(machine.recorded, np.uint8),
            needs_text=np.array([needs[text] for text in machine.needs_text], np.uint8),
            guard=np.array(guard, np.int32),
            order=np.array([*sum(names, ()), NAMES], np.int32),
            state_info=np.tile(
                np.array([0, *[-1] * (self.k.INFO_COLUMNS - 1)], np.int32), (states, 1)
            ),
            words=np.zeros((1, 3), np.int32),
            letters=np.zeros(1, np.int32),
            spans=np.zeros((1, 3), np.int32),
            span_slots=np.full(1, -1, np.int32),
            allowed=np.array([allowed_bits(f.allowed) for f in machine.frames], np.uint8),
            frames=np.full((len(machine.frames), 8), -1, np.int32),
            actions=hash_table(ROOM),
            key_sets=np.zeros((1, 7), np.int32),
            bit_sets=np.zeros(1, np.int64),
            bit_set_slots=np.full(1, -1, np.int32),
            stack_nodes=np.zeros((ROOM, 7), np.int32),
            capture_links=np.full(ROOM, -1, np.int64),
            node_slots=np.full(ROOM, -1, np.int32),
            capture_slots=np.full(ROOM, -1, np.int32),
            events=hash_table(ROOM),
            signatures=hash_table(ROOM),
            lookups=np.array([-1, 0], np.int64),
            sizes=self._sizes(states),
            need=np.zeros(8, np.int64),
            info=addresses(),
            shared_rows=np.zeros((0, 256), np.int32),
        )

    def _sizes(self, states: int) -> Array:
        """How much is in use: the lexer states and the bits of allowed keys, nothing else."""
        sizes = np.zeros(self.k.SIZES, np.int64)
        sizes[self.k.SIZE_STATES], sizes[self.k.SIZE_ALLOWED] = states, len(self.machine.frames)
        return sizes

    # -- places and pairs -----------------------------------------------------------------------

    def place(self, pair: int) -> Place | None:
        """The naive machine's name for a position; None for DEAD."""
        if pair < 0:
            assert pair == self.k.DEAD
            return None
        text, base = self.text(pair & 0xFFFFFFFF)
        stack: list[Level] = []
        at = base
        while at >= 0:
            stack_nodes = self.tables.stack_nodes
            stack.insert(0, Level(int(stack_nodes[at, self.k.FRAME]), self._taken(at)))
            at = int(stack_nodes[at, self.k.PARENT])
        return Place(pair >> 32, tuple(stack), text)

    def text(self, ctx: int) -> tuple[bytes, int]:
        """What a stack node has captured, and the node in which that began."""
        text, at = b"", ctx
        while (capture_links := int(self.tables.capture_links[at])) >= 0:
            text, at = bytes((capture_links & 0xFF,)) + text, capture_links >> 8
        assert at == self.tables.stack_nodes[ctx, self.k.CAPTURE_START]
        return text, at

    def _taken(self, ctx: int) -> tuple[tuple[int, bytes], ...]:
        other = int(self.tables.stack_nodes[ctx, self.k.SEEN_TEXTS])
        if other < 0:
            assert other == -1
            return ()
        frame = int(self.tables.stack_nodes[other, self.k.FRAME])
        return (*self._taken(other), (frame, self.text(other)[0]))

    def pair(self, place: Place) -> int:
        """The position of a place in which nothing was captured or seen."""
        ctx = -1
        for frame, _ in place.stack:
            self._describe(frame)
            ctx = self.ask(kernels("parser.step").stack_node_of, frame, ctx, -1, -1, -1)
        return (place.q << 32) | ctx

    # -- kernels --------------------------------------------------------------------------------

    def ask(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel until it has all that it needs."""
        while (code := int(opened(kernel)(self.tables, *arguments))) < self.k.DEAD:
            self.fill_on_demand(code)
        return code

    def run(self, pair: int, data: bytes) -> tuple[int, int]:
        """The kernel `run`: the position after the bytes, and how many were read."""
        array = np.frombuffer(data, np.uint8)
        self.tables.need[self.k.READ_OFFSET] = 0
        while (
            code := int(opened(kernels("parser.step").run)(self.tables, pair, array))
        ) < self.k.DEAD:
            pair = int(self.tables.need[self.k.READ_POSITION])
            self.fill_on_demand(code)
        return code, int(self.tables.need[self.k.READ_OFFSET])

    def fill_on_demand(self, code: int) -> None:
        """Provide what a kernel stopped for."""
        self.asked.add(code)
        first, label = map(int, self.tables.need[:2])
        if code == self.k.NEED_ROW:
            self._fill(first)
        elif code in {self.k.NEED_ACTION, self.k.NEED_OPENING}:
            self._enter("actions", self.k.SIZE_ACTIONS, first, label, self._move(first, label))
        elif code == self.k.NEED_EVENT:
            self._enter("events", self.k.SIZE_EVENTS, first, label, self._event(first, label))
        else:
            assert code == self.k.NEED_SPACE
            self._grow()

    def _fill(self, q: int) -> None:
        assert not self.tables.filled[q]
        self.tables.rows[q] = self.machine.rows[q]
        self.tables.accept[q] = self.machine.accept[q]
        self.tables.filled[q] = 1

    def _describe(self, frame: int) -> None:
        found = self.machine.frames[frame]
        bits = -1 if found.allowed is None else frame
        self.tables.frames[frame] = (*found[:4], bits, -1, frame, frame)

    def _move(self, frame: int, label: int) -> int:
        move = self.machine.move(frame, label)
        if move is None:
            return int(self.k.DEAD)
        for target in {move.target, move.waiting} - {-1} if move.kind != "pop" else ():
            self._describe(target)
        kinds = {
            "goto": self.k.GOTO,
            "push": self.k.PUSH,
            "pop": self.k.POP,
            "once": self.k.GOTO_IF_NEW,
        }
        return int(kinds[move.kind] << 56 | move.target << 28 | max(move.waiting, 0))

    def _event(self, ctx: int, label: int) -> int:
        frame, parent, taken, _, ticked, _, kept = map(int, self.tables.stack_nodes[ctx])
        after = self.machine.looked(frame, label, self.text(ctx)[0])
        if after is None:
            return int(self.k.DEAD)
        self._describe(after)
        context = self.ask(kernels("parser.step").stack_node_of, after, parent, taken, ticked, kept)
        return (self.machine.frames[after].entry << 32) | context

    def _enter(self, name: str, size: int, source: int, label: int, value: int) -> None:
        """Write an entry into `actions` or `events`, and count it."""
        key = (source << 32) | label
        table = getattr(self.tables, name)
        assert int(self.k.lookup(table, key)) == self.k.UNKNOWN
        self.tables.sizes[size] += 1
        if 2 * self.tables.sizes[size] > len(table):
            table = self._rehashed(table)
            self.tables = self.tables._replace(**{name: table})
        self.k.insert(table, key, value)

    # -- growth ---------------------------------------------------------------------------------

    def _rehashed(self, table: Array) -> Array:
        larger = hash_table(2 * len(table))
        self.k.rehash(table, larger)
        return larger

    def _grow(self) -> None:
        """Make room for one more entry where there is none."""
        t = self.tables
        if t.sizes[self.k.SIZE_STACK_NODES] >= len(t.stack_nodes):
            stack_nodes = np.concatenate((t.stack_nodes, np.zeros((1, 7), np.int32)))
            t = t._replace(stack_nodes=stack_nodes, capture_links=np.append(t.capture_links, -1))
        if 2 * t.sizes[self.k.SIZE_CAPTURES] >= len(t.capture_slots):
            larger = np.full(2 * len(t.capture_slots), -1, np.int32)
            self.k.rehash_captures(t.capture_links, t.capture_slots, larger)
            t = t._replace(capture_slots=larger)
        if 2 * t.sizes[self.k.SIZE_INTERNED] >= len(t.node_slots):
            larger = np.full(2 * len(t.node_slots), -1, np.int32)
            self.k.rehash_nodes(t.stack_nodes, t.node_slots, larger)
            t = t._replace(node_slots=larger)
        assert t is not self.tables
        self.tables = t
