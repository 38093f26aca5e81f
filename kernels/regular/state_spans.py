"""Write down found states as spans of code points, and what they loop on.

Spans say by which characters a state leads on, and to which other; what a state reads again and
again lets a walk over a vocabulary leave out whole subtrees (module `kernels.trie.loops`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.glushkov import EXPLORED, KNOWN, MADE, SEARCH, U64, stays
from structgen.kernels.tables import GRID, I32, I64, SPAN_FIRST, SPAN_LAST, SPAN_STATE, U8

FAR = 32  # characters: more are seldom in one token
FEW = 2  # classes that are left out at once
ROUNDS = 8  # in which that is looked for
LETTER_A = 0x61
LAST_POINT = 0x10FFFF


class Classes(NamedTuple):
    """Classes of characters: see `regular.lazy_dfa.character_classes.PositionClasses`."""

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    letters: npt.NDArray[np.int32]
    needs: npt.NDArray[np.uint64]


class Work(NamedTuple):
    """What was found of the S states that were made, to find out more.

    alive: uint64[S], bits of the classes that lead on from each, 0 where that is not known; steady:
    uint64[S], those of `steady_bits`; every: uint8[S], how often these may follow, as `often`.
    fewer, oftener: the same for those that `drop_short_lived` leaves.
    """

    alive: npt.NDArray[np.uint64]
    steady: npt.NDArray[np.uint64]
    every: npt.NDArray[np.uint8]
    fewer: npt.NDArray[np.uint64]
    oftener: npt.NDArray[np.uint8]


CLASSES = types.NamedTuple([I32, I32, I32, I32, U64], Classes)
WORK = types.NamedTuple([U64, U64, U8, U64, U8], Work)


@inlined
def bits_of(moves, s, to):  # type: ignore[no-untyped-def]
    """Bits of the classes that lead from state s to state `to`, or to any if that is -1."""
    found = numba.uint64(0)
    for k in range(moves.shape[1]):
        if moves[s, k] >= 0 and (to < 0 or moves[s, k] == to):
            found |= numba.uint64(1) << numba.uint64(k)
    return found


@inlined
def count_bits(bits):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    count = 0
    while bits != 0:
        bits &= bits - numba.uint64(1)
        count += 1
    return count


@inlined
def steady_bits(search, alive, s):  # type: ignore[no-untyped-def]
    """Bits of classes that lead on from state `s`, each to where all of these lead on; many if so.

    All that lead on, where there are none. alive: see `Work`.
    """
    most = 0
    wanted = numba.uint64(0)
    # The largest set of classes that both this state and one behind it read ...
    for k in range(search.moves.shape[1]):
        target = search.moves[s, k]
        if target >= 0:
            both = alive[s] & alive[target]
            size = count_bits(both)
            if size > most:
                most = size
                wanted = both
    # ... less those classes that lead to where it is not read.
    found = numba.uint64(0)
    for k in range(search.moves.shape[1]):
        target = search.moves[s, k]
        if (wanted >> numba.uint64(k)) & numba.uint64(1) != 0 and wanted & ~alive[target] == 0:
            found |= numba.uint64(1) << numba.uint64(k)
    return found if found != 0 else alive[s]


@inlined
def reach(search, steady, often, begin):  # type: ignore[no-untyped-def]
    """Find how many characters of its `steady` classes may follow each state order[begin:].

    In any order; often: uint8[S], 255 for any number; it is known of those before. What is less is
    found from 255 downwards (a greatest fixed point); where that takes too long, nothing is known.
    """
    changed = True
    rounds = 0
    known = search.sizes[KNOWN]
    for i in range(begin, known):
        often[search.order[i]] = 255
    while changed and rounds < 300:
        changed = False
        rounds += 1
        for back in range(known - begin):
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
        for i in range(begin, known):
            often[search.order[i]] = 0


@inlined
def drop_short_lived(search, fewer, begin):  # type: ignore[no-untyped-def]
    """Leave out of the `steady` classes of states order[begin:], `fewer`, what ends them soon.

    That is a class, or two, that one of them leads to a state without: where `//` may not come, a
    text goes on for long without `/`.
    """
    known = search.sizes[KNOWN]
    changed = True
    rounds = 0
    while changed and rounds < ROUNDS:
        changed = False
        rounds += 1
        for back in range(known - begin):
            s = search.order[known - 1 - back]
            for k in range(search.moves.shape[1]):
                if (fewer[s] >> numba.uint64(k)) & numba.uint64(1) != 0:
                    target = search.moves[s, k]
                    lost = fewer[s] & ~fewer[target]
                    if search.queue[target] == 1 and lost != 0 and count_bits(lost) <= FEW:
                        fewer[s] &= ~lost
                        changed = True


@inlined
def loop_on(search, classes, work, out, made, known, begin):  # type: ignore[no-untyped-def]
    """Find what states order[begin:] read again and again: `loops` and `often`.

    Either what leads back to the state, or what leads on from it while that goes well. Of states
    that were known before more is found as what lies behind becomes known. States up to `made` were
    made before, and of the first `known` that are known it has been found what is alive.
    """
    for s in range(made, search.sizes[MADE]):
        work.alive[s] = work.steady[s] = work.fewer[s] = 0
    for i in range(known, search.sizes[KNOWN]):
        s = search.order[i]
        work.alive[s] = bits_of(search.moves, s, numba.int64(-1))
    for i in range(begin, search.sizes[KNOWN]):
        s = search.order[i]
        work.steady[s] = work.fewer[s] = steady_bits(search, work.alive, s)
    reach(search, work.steady, work.every, begin)
    drop_short_lived(search, work.fewer, begin)
    reach(search, work.fewer, work.oftener, begin)
    for i in range(begin, search.sizes[KNOWN]):
        s = numba.int64(search.order[i])
        bits = bits_of(search.moves, s, s)
        often = numba.int64(255)
        # A loop on itself may be read for ever; but rather many classes for many characters.
        if bits == 0 or work.every[s] >= FAR:
            bits = work.steady[s]
            often = numba.int64(work.every[s])
            if often < FAR and often < work.oftener[s] and work.fewer[s] != 0:
                bits = work.fewer[s]
                often = numba.int64(work.oftener[s])
        found = numba.int64(0)
        for group in range(classes.needs.shape[0]):
            if classes.needs[group] & ~bits == 0:
                found |= numba.int64(1) << group
        out.loops[s] = found
        out.often[s] = often


@inlined
def add_span(out, begin, used, low, high, state):  # type: ignore[no-untyped-def]
    """Write a span behind out[begin:used]; returns how many there are then.

    One that goes on from the last one with the same state is one with it.
    """
    last = used - 1
    if used > begin and out[last, SPAN_STATE] == state and out[last, SPAN_LAST] == low - 1:
        out[last, SPAN_LAST] = high
        return used
    out[used, SPAN_FIRST], out[used, SPAN_LAST], out[used, SPAN_STATE] = low, high, state
    return used + 1


@inlined
def spell(search, classes, out, i):  # type: ignore[no-untyped-def]
    """Write down the `spans` of state order[i]. Neighbours with one target are one span."""
    s = search.order[i]
    begin = numba.int64(out.first[i])
    used = begin
    for j in range(classes.low.shape[0]):
        target = search.moves[s, classes.group[j]]
        if target >= 0:
            used = add_span(out.spans, begin, used, classes.low[j], classes.high[j], target)
    out.order[i] = s
    out.first[i + 1] = used


@lean(types.void(SEARCH, CLASSES, WORK, EXPLORED, I64))
def note(search, classes, work, out, given):  # type: ignore[no-untyped-def]
    """Write down in `out` what has been found, of which there is room for all; `ends` is known.

    given: int64[4], how many states were made before, and known; whether each character is in a
    class; from which place in `order` on it is to be found out what states read again and again, or
    -1.
    """
    made, known, total, begin = given[0], given[1], given[2], given[3]
    for s in range(made, search.sizes[MADE]):
        out.came[s, 0] = search.came[s, 0]
        out.came[s, 1] = classes.letters[search.came[s, 1]]
        out.endless[s] = 0
    for i in range(known, search.sizes[KNOWN]):
        spell(search, classes, out, i)
        s = search.order[i]
        if total and out.ends[s] != 0:
            out.endless[s] = stays(search, s)
    if begin >= 0:
        loop_on(search, classes, work, out, made, known, begin)


@lean(types.void(EXPLORED, GRID, I64, *[types.int64] * 2))
def count_on(out, ranges, bounds, known, end):  # type: ignore[no-untyped-def]
    """Write down what leads on from states `known` to `end` - 1, by how many characters are read.

    ranges: int32[k, 2], all characters. bounds: int64[2], fewest and most of a text, -1 for any
    number. States up to `known` have been made.
    """
    least, most = bounds[0], bounds[1]
    last = least if most < 0 else most
    used = out.first[known]
    for s in range(known, end):
        to = s + 1 if s < last else s if most < 0 else -1
        if to > s:
            out.came[to, 0] = s
            out.came[to, 1] = LETTER_A
            out.ends[to] = to >= least
            out.endless[to] = to >= least and most < 0
        for k in range(ranges.shape[0] if to >= 0 else 0):
            out.spans[used, SPAN_FIRST] = ranges[k, 0]
            out.spans[used, SPAN_LAST] = ranges[k, 1]
            out.spans[used, SPAN_STATE] = to
            used += 1
        out.order[s] = s
        out.first[s + 1] = used
        out.often[s] = 255 if most < 0 else min(most - s, 254)
        out.loops[s] = -1 if to >= 0 else 0


@lean(types.int64(GRID, I32, GRID))
def merge(spans, to, out):  # type: ignore[no-untyped-def]
    """Write spans with to[k] in the place of k, without those below 0; returns how many."""
    used = numba.int64(0)
    for i in range(spans.shape[0]):
        state = to[spans[i, SPAN_STATE]]
        if state >= 0:
            used = add_span(out, 0, used, spans[i, SPAN_FIRST], spans[i, SPAN_LAST], state)
    return used


@lean(types.int64(GRID, GRID, I32, I32, EXPLORED, *[types.int64] * 3))
def spell_listed(spans, moves, numbers, rows, out, state, known, made):  # type: ignore[no-untyped-def]
    """Write down what leads on from a state of an automaton that lists them all.

    spans: int32[k, 3], ascending, first and last code point and a column of `moves`, int32[S, C],
    -1 for none. numbers: int32[S], the state of each row, -1 for those that have not been met; new
    ones get numbers from `made` on, for which there is room. rows: int32, the row of each state.
    known: how many states are explored. Returns how many are made.
    """
    used = begin = numba.int64(out.first[known])
    for i in range(spans.shape[0]):
        row = moves[rows[state], spans[i, SPAN_STATE]]
        if row < 0:
            continue
        low, high = spans[i, SPAN_FIRST], spans[i, SPAN_LAST]
        if numbers[row] < 0:
            numbers[row] = made
            rows[made] = row
            out.came[made, 0], out.came[made, 1] = state, low
            made += 1
        used = add_span(out.spans, begin, used, low, high, numbers[row])
    out.order[known] = state
    out.first[known + 1] = used
    return numba.int64(made)


@inlined
def put(out, used, low, high, state):  # type: ignore[no-untyped-def]
    """Write one span; returns how many there are now."""
    out[used, 0], out[used, 1], out[used, 2] = low, high, state
    return used + 1


@lean(types.int64(GRID, GRID, GRID))
def lay_over(spans, own, out):  # type: ignore[no-untyped-def]
    """Write spans, with others in the place of those of their code points; returns how many.

    spans, own: int32[k, 3], ascending, first and last code point and the state behind, -1 in `own`
    where there is none. out: has room for all `spans`, and twice as many as `own`.
    """
    used = k = 0
    after = numba.int64(0)  # the first code point that none of `own` has replaced
    for i in range(spans.shape[0] + 1):
        last = i == spans.shape[0]
        high = numba.int64(LAST_POINT if last else spans[i, 1])
        low = max(numba.int64(LAST_POINT + 1 if last else spans[i, 0]), after)
        while k < own.shape[0] and own[k, 0] <= high:
            if low < own[k, 0]:
                used = put(out, used, low, own[k, 0] - 1, spans[i, 2])
            if own[k, 2] >= 0:
                used = put(out, used, own[k, 0], own[k, 1], own[k, 2])
            after = numba.int64(own[k, 1]) + 1
            low = max(low, after)
            k += 1
        if low <= high:
            used = put(out, used, low, high, spans[i, 2])
    return numba.int64(used)


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
