"""In: states of an automaton whose moves were found. Out: their spans, and what they loop on.

Spans say by which characters a state leads on, and to which other; what a state reads again and
again lets a walk over a vocabulary leave out whole subtrees (module `kernels.loops`).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.flags import inlined, lean
from structgen.kernels.patterns import KNOWN, MADE, SEARCH, U64
from structgen.kernels.tables import GRID, I32, I64, U8

FAR = 32  # characters: more are seldom in one token


class Classes(NamedTuple):
    """Classes of characters: see `automaton.regex_positions.PositionClasses`."""

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    needs: npt.NDArray[np.uint64]


class Notes(NamedTuple):
    """What is found of n states, with room for all of it, and room to work.

    loops, often: int64 and uint8, see `automaton.regex_states.RegexAutomaton`, of all known by now,
    of which more is found as what lies behind becomes known. stays:
    uint8[n], whether each class leads back. first: int32[n + 1], which begins with 0, and spans:
    int32[k, 3], as there. alive, steady: uint64[S], every: uint8[S], of all states that were made.
    """

    loops: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]
    stays: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int32]
    alive: npt.NDArray[np.uint64]
    steady: npt.NDArray[np.uint64]
    every: npt.NDArray[np.uint8]


CLASSES = types.NamedTuple([I32, I32, I32, U64], Classes)
NOTES = types.NamedTuple([I64, U8, U8, I32, GRID, U64, U64, U8], Notes)


@inlined
def bits_of(moves, s, to):  # type: ignore[no-untyped-def]
    """Bits of the classes that lead from state s to state `to`, or to any if that is -1."""
    found = numba.uint64(0)
    for k in range(moves.shape[1]):
        if moves[s, k] >= 0 and (to < 0 or moves[s, k] == to):
            found |= numba.uint64(1) << numba.uint64(k)
    return found


@inlined
def steady_bits(search, alive, s):  # type: ignore[no-untyped-def]
    """Bits of classes that lead on from state `s`, each to where all of these lead on; many if so.

    All that lead on, where there are none. alive: uint64[S], bits of the classes that lead on from
    each state, 0 where that is not known.
    """
    most = 0
    wanted = numba.uint64(0)
    for k in range(search.moves.shape[1]):
        target = search.moves[s, k]
        if target >= 0:
            left = both = alive[s] & alive[target]
            size = 0
            while left != 0:
                left &= left - numba.uint64(1)
                size += 1
            if size > most:
                most = size
                wanted = both
    found = numba.uint64(0)
    for k in range(search.moves.shape[1]):
        target = search.moves[s, k]
        if (wanted >> numba.uint64(k)) & numba.uint64(1) != 0 and wanted & ~alive[target] == 0:
            found |= numba.uint64(1) << numba.uint64(k)
    return found if found != 0 else alive[s]


@inlined
def reach(search, steady, often):  # type: ignore[no-untyped-def]
    """How many characters of its `steady` classes may follow each state, in any order.

    steady: uint64[S], bits of classes that lead on from each state; often: uint8[S], written for
    the states whose moves are known: 255 for any number. What is less is found from 255 downwards;
    where that takes too long, nothing is.
    """
    changed = True
    rounds = 0
    known = search.sizes[KNOWN]
    for i in range(known):
        often[search.order[i]] = 255
    while changed and rounds < 300:
        changed = False
        rounds += 1
        for back in range(known):
            s = search.order[known - 1 - back]
            least = 255
            for k in range(search.moves.shape[1]):
                if (steady[s] >> numba.uint64(k)) & numba.uint64(1) != 0:
                    target = search.moves[s, k]
                    after = 0
                    if search.queue[target] == 1 and steady[s] & ~steady[target] == 0:
                        after = numba.int64(often[target])
                    least = min(least, after)
            found = min(least + 1, 254) if least < 255 else 255
            if found < often[s]:
                often[s] = found
                changed = True
    if changed:
        for i in range(known):
            often[search.order[i]] = 0


@lean(types.void(SEARCH, CLASSES, NOTES))
def loop_on(search, classes, notes):  # type: ignore[no-untyped-def]
    """Find what the states whose moves are known read again and again: `loops` and `often`.

    Either what leads back to the state, or what leads on from it while that goes well.
    """
    for s in range(search.sizes[MADE]):
        notes.alive[s] = notes.steady[s] = 0
    for i in range(search.sizes[KNOWN]):
        s = search.order[i]
        notes.alive[s] = bits_of(search.moves, s, numba.int64(-1))
    for i in range(search.sizes[KNOWN]):
        s = search.order[i]
        notes.steady[s] = steady_bits(search, notes.alive, s)
    reach(search, notes.steady, notes.every)
    for i in range(search.sizes[KNOWN]):
        s = numba.int64(search.order[i])
        bits = bits_of(search.moves, s, s)
        often = numba.int64(255)
        if bits == 0 or notes.every[s] >= FAR:
            bits = notes.steady[s]
            often = numba.int64(notes.every[s])
        found = numba.int64(0)
        for group in range(classes.needs.shape[0]):
            if classes.needs[group] & ~bits == 0:
                found |= numba.int64(1) << group
        notes.loops[i] = found
        notes.often[i] = often


@lean(types.void(SEARCH, CLASSES, NOTES, types.int64))
def spell(search, classes, notes, done):  # type: ignore[no-untyped-def]
    """Write down the `spans` of the states order[done] and behind, and which stay what they are.

    Neighbours with one target are one span.
    """
    used = 0
    for i in range(done, search.sizes[KNOWN]):
        s = search.order[i]
        stays = True
        for k in range(search.moves.shape[1]):
            stays = stays and search.moves[s, k] == s
        notes.stays[i - done] = stays
        begin = used
        for j in range(classes.low.shape[0]):
            target = search.moves[s, classes.group[j]]
            if target < 0:
                continue
            last = used - 1
            low, high = classes.low[j], classes.high[j]
            if used > begin and notes.spans[last, 2] == target and notes.spans[last, 1] == low - 1:
                notes.spans[last, 1] = high
            else:
                notes.spans[used, 0] = low
                notes.spans[used, 1] = high
                notes.spans[used, 2] = target
                used += 1
        notes.first[i - done + 1] = used


@lean(types.void(*[I32] * 5, U64))
def gather(low, high, classes, first, last, found):  # type: ignore[no-untyped-def]
    """Write, behind found[0], bits of the classes that meet each span first[i] to last[i].

    low, high: int32[k], spans in order, with their classes. The spans of both kinds ascend.
    """
    begin = 0
    for i in range(first.shape[0]):
        while begin < low.shape[0] and high[begin] < first[i]:
            begin += 1
        bits = numba.uint64(0)
        k = begin
        while k < low.shape[0] and low[k] <= last[i]:
            bits |= numba.uint64(1) << numba.uint64(classes[k])
            k += 1
        found[i + 1] = bits
