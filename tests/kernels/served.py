"""In: a twin machine. Out: the kernels' tables for it, filled only as far as kernels have asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.jit import kernels
from tests.naive import Place, TwinMachine

Array = npt.NDArray[Any]


def hash_table(size: int) -> Array:
    """An empty hash table of the kernels."""
    table = np.zeros((size, 2), np.int64)
    table[:, 0] = -1
    return table


class Served:
    """Tables of a twin machine: nothing is filled and room is scarce until kernels ask for it.

    The contexts 0, 1, ... are the machine's own; later ones remember bytes.
    """

    def __init__(self, machine: TwinMachine) -> None:
        self.machine = machine
        self.k = kernels("tables")
        states = len(machine.rows)
        self.asked: list[int] = []  # the codes with which kernels stopped
        self.tables = self.k.Tables(
            rows=np.full((states, 256), -1, np.int32),
            filled=np.zeros(states, np.uint8),
            accept=np.full(states, -1, np.int32),
            recorded=np.array(machine.recorded, np.uint8),
            needs_text=np.array(machine.needs_text, np.uint8),
            ctx_base=np.arange(machine.contexts + 1, dtype=np.int32),
            ctx_origin=np.full(machine.contexts + 1, -1, np.int64),
            ctx_next=hash_table(4),
            events=hash_table(4),
            sizes=np.array([machine.contexts, 0, 0, 0], np.int64),
            need=np.zeros(8, np.int64),
        )

    def place(self, pair: int) -> Place | None:
        """The twin's name for a pair; None for DEAD."""
        if pair < 0:
            assert pair == self.k.DEAD
            return None
        text, at = b"", pair & 0xFFFFFFFF
        while (origin := int(self.tables.ctx_origin[at])) >= 0:
            text, at = bytes((origin & 0xFF,)) + text, origin >> 8
        assert at == self.tables.ctx_base[pair & 0xFFFFFFFF]
        return pair >> 32, at, text

    def ask(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel until it has all that it needs."""
        while (code := int(kernel(self.tables, *arguments))) < self.k.DEAD:
            self.serve(code)
        return code

    def run(self, pair: int, data: bytes) -> tuple[int, int]:
        """The kernel `run`: the pair after the bytes, and how many were read."""
        array = np.frombuffer(data, np.uint8)
        self.tables.need[4] = 0
        while (code := int(kernels("step").run(self.tables, pair, array))) < self.k.DEAD:
            pair = int(self.tables.need[5])
            self.serve(code)
        return code, int(self.tables.need[4])

    def serve(self, code: int) -> None:
        """Provide what a kernel stopped for."""
        self.asked.append(code)
        need = self.tables.need
        if code == self.k.NEED_ROW:
            q = int(need[0])
            assert not self.tables.filled[q]
            self.tables.rows[q] = self.machine.rows[q]
            self.tables.accept[q] = self.machine.accept[q]
            self.tables.filled[q] = 1
        elif code == self.k.NEED_EVENT:
            self._event(int(need[0]), int(need[1]))
        else:
            assert code == self.k.NEED_SPACE
            self._grow()

    def _event(self, ctx: int, label: int) -> None:
        place = self.place(ctx)
        assert place is not None
        _, base, text = place
        assert self.machine.needs_text[label] or text == b""
        after = self.machine.event(base, text, label)
        pair = self.k.DEAD if after is None else (after[0] << 32) | after[1]
        key = (ctx << 32) | label
        assert int(self.k.lookup(self.tables.events, key)) == self.k.UNKNOWN
        self.tables.sizes[2] += 1
        if 2 * self.tables.sizes[2] > len(self.tables.events):
            self.tables = self.tables._replace(events=self._rehashed(self.tables.events))
        self.k.insert(self.tables.events, key, pair)

    def _rehashed(self, table: Array) -> Array:
        larger = hash_table(2 * len(table))
        self.k.rehash(table, larger)
        return larger

    def _grow(self) -> None:
        t = self.tables
        if t.sizes[0] >= len(t.ctx_base):
            t = t._replace(ctx_base=grown(t.ctx_base), ctx_origin=grown(t.ctx_origin))
        if 2 * t.sizes[1] >= len(t.ctx_next):
            t = t._replace(ctx_next=self._rehashed(t.ctx_next))
        assert t is not self.tables
        self.tables = t


def grown(array: Array) -> Array:
    """The array with room for one more entry."""
    return np.append(array, np.array([-1], array.dtype))
