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
    """Tables with room for one more checklist, by the number that comes next."""
    size = _words(checklist)
    t = with_sets(t, 3 * (size + 1), 3)
    asked = kernels("tables").POSITIONS + size
    if number >= len(t.checklists) or asked > len(t.asked):
        checklists = with_room(t.checklists, number + 1, -1)
        t = t._replace(checklists=checklists, asked=with_room(t.asked, asked))
    return t


def keep_checklist(t: Any, address: Any, number: int, checklist: Checklist) -> None:
    """Write a checklist into tables; address: where these are written down, or they themselves."""
    size, kept, places = _words(checklist), kernels("checklists").kept, dict[tuple[int, ...], int]()
    for chosen in ((), checklist.required, checklist.possible):
        if chosen not in places:
            bits = sum(1 << position for position in chosen).to_bytes(8 * size, "little")
            at = int(t.sizes[10])
            t.sets[at + 1 : at + 1 + size] = np.frombuffer(bits, np.int64)
            places[chosen] = kept(address, size)
    sets = places[()], places[checklist.required], places[checklist.possible]
    t.checklists[number] = (*sets, checklist.endless, -1, -1, -1)
    t.sizes[12] = number + 1


def _words(checklist: Checklist) -> int:
    """How many words the positions of a checklist take."""
    return -(-checklist.size // 64)
