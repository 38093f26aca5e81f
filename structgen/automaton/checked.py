"""In: tables, a checklist. Out: the tables with it, and with room for what is ticked off."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.machine import Checklist
from structgen.automaton.tables import with_room
from structgen.jit import kernels


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
        kernels("checklists").place_all(t)
    return t


def with_checklist(t: Any, number: int, checklist: Checklist) -> Any:
    """Tables that have one more checklist, by the number that comes next."""
    size = -(-checklist.size // 64)
    t = with_sets(t, 3 * (size + 1), 3)
    asked = kernels("tables").POSITIONS + size
    if number >= len(t.checklists) or asked > len(t.asked):
        checklists = with_room(t.checklists, number + 1, -1)
        t = t._replace(checklists=checklists, asked=with_room(t.asked, asked))
    places = (), checklist.required, checklist.possible
    numbers = {chosen: _kept(t, size, chosen) for chosen in dict.fromkeys(places)}
    kept = [numbers[chosen] for chosen in places]
    t.checklists[number] = (*kept, checklist.endless, -1, -1, -1)
    t.sizes[12] = number + 1
    return t


def _kept(t: Any, size: int, chosen: tuple[int, ...]) -> int:
    """The number of the set of some positions."""
    bits = sum(1 << position for position in chosen).to_bytes(8 * size, "little")
    at = int(t.sizes[10])
    t.sets[at + 1 : at + 1 + size] = np.frombuffer(bits, np.int64)
    return int(kernels("checklists").kept(t, size))
