"""In: tables, a checklist. Out: the tables with it, and with room for what is ticked off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.pushdown.machine import Checklist
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import with_room


def positions(sets: npt.NDArray[np.int64], at: int) -> list[int]:
    """The positions in the set that begins at `at`."""
    size = int(sets[at]) & 0xFFFFFFFF
    bits = np.unpackbits(sets[at + 1 : at + 1 + size].view(np.uint8), bitorder="little")
    found: list[int] = np.flatnonzero(bits).tolist()
    return found


def with_sets(t: Any, words: int = 0, count: int = 0) -> Any:
    """Tables with room for `count` more sets of `words` in all, or more than they have now."""
    used, sets = int(t.sizes[10]), int(t.sizes[11])
    if not words:  # for one more of any size
        words = int((t.sets[t.checklists[: t.sizes[12], 0]] & 0xFFFFFFFF).max(initial=0)) + 1
        count = 1
    if used + words > len(t.sets):
        t = t._replace(sets=with_room(t.sets, used + words))
    if 2 * (sets + count) > len(t.same):
        size = len(t.same)
        while 2 * (sets + count) > size:
            size *= 2
        t = t._replace(same=np.full(size, -1, np.int32))
        kernels("parser.key_sets").place_all(t)
    return t


def with_checklist(t: Any, number: int, checklist: Checklist) -> Any:
    """Tables with room for one more checklist, by the number that comes next."""
    size = _words(checklist)
    t = with_sets(t, 3 * (size + 1), 3)
    asked = kernels("tables").POSITIONS + size
    if number >= len(t.checklists) or asked > len(t.asked):
        checklists = with_room(t.checklists, number + 1, -1)
        t = t._replace(checklists=checklists, asked=with_room(t.asked, asked))
    return t


def keep_checklist(address: int, number: int, checklist: Checklist) -> None:
    """Write a checklist into tables that are written down at an address."""
    size, full = _words(checklist), len(checklist.possible) == checklist.size
    possible = (1 << checklist.size) - 1 if full else _bits(checklist.possible)
    both = (_bits(checklist.required) | possible << 64 * size).to_bytes(16 * size, "little")
    bits = np.frombuffer(both, np.int64)
    kernels("parser.key_sets").keep_checklist(address, number, size, bits, checklist.endless)


def _bits(chosen: Iterable[int]) -> int:
    """The bits of some positions."""
    return sum([1 << position for position in chosen])


def _words(checklist: Checklist) -> int:
    """How many words the positions of a checklist take."""
    return -(-checklist.size // 64)
