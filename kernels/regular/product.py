"""Build the product of automata for intersections, unions and complements, without its dead states.

A state is one state of each automaton, side by side (the product construction), and a formula over
these says whether a text may end. Only states that lead to a text are kept: that is decided by a
search forwards, which ends as soon as it meets a state that is known to lead to one. A part that no
longer matters for the formula is forgotten, so that states become equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.glushkov import (
    BITS,
    KNOWN,
    SEARCH,
    U64,
    behind,
    dropped,
    goes_on,
    put_off,
    queue_from,
    queued,
    slot_of,
)
from structgen.kernels.regular.required_ahead import AHEAD, ENDLESS, Ahead
from structgen.kernels.regular.sub_automata import PLACES
from structgen.kernels.tables import GRID, I32, I64, U8

AND, OR, NOT, BESIDE = -1, -2, -3, -4  # in a formula; other numbers are automata
NOTHING, SOME, EVERYTHING = 0, 1, 2  # what may follow
# Whether a state leads to a text: not known, yes, no; during a search: it waits, it was looked at.
UNDECIDED, LIVE, EMPTY, WAITS, SEEN = range(5)
MADE, HASHED = 0, 1  # entries of `Product.sizes`: states there are, states in the hash table
ALL_KNOWN, FULL = -1, -3  # what a search says, in place of a state that must be known first


class Product(NamedTuple):
    """The S states that there is room for, of P automata side by side, over C classes.

    states: uint64[S, P], the node of each automaton, plus 1; 0 where none of its texts fits any
    more, or it does not matter. moves: int32[S, C], the states behind, -1 for none; walked:
    uint8[S], whether these are known. ends: uint8[S], whether a text may end there; live: uint8[S],
    see UNDECIDED. table: int32[H], a hash table over the states, -1 empty; sizes: int64[2] (MADE,
    HASHED). line, before, below: int32[S], scratch of a search: the states in the order in which
    they were met, from where, and which one still waits below each. row: uint64[P], key: uint64[1],
    stack: int64[D, 2], scratch; D is the length of the formula. joint: int64[J], the automata that
    every text fits. ahead: what texts read from each node on.
    """

    states: npt.NDArray[np.uint64]
    moves: npt.NDArray[np.int32]
    walked: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.uint8]
    live: npt.NDArray[np.uint8]
    table: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    line: npt.NDArray[np.int32]
    before: npt.NDArray[np.int32]
    below: npt.NDArray[np.int32]
    row: npt.NDArray[np.uint64]
    key: npt.NDArray[np.uint64]
    stack: npt.NDArray[np.int64]
    joint: npt.NDArray[np.int64]
    ahead: Ahead


GRID64 = types.int64[:, ::1]
PRODUCT = types.NamedTuple(
    [BITS, GRID, U8, U8, U8, I32, I64, I32, I32, I32, U64, U64, GRID64, I64, AHEAD], Product
)


@inlined
def follows(formula, ends, row, stack):  # type: ignore[no-untyped-def]
    """What may follow in the state `row`: NOTHING, SOME or EVERYTHING.

    Parts of the row that do not matter for that are set to 0. formula: int32[D, 2], in postfix
    order: a part, or AND, OR, NOT with how many of the results before it are joined; or, last,
    BESIDE for several formulas of which each matters. ends: see `sub_automata.Nodes`; 2 is set
    where any text may follow.
    """
    top = 0
    for i in range(formula.shape[0]):
        what, count = formula[i, 0], formula[i, 1]
        # The stack has what may follow, and the bits of the parts that say so.
        if what >= 0:
            found = NOTHING
            if row[what] != 0:
                found = EVERYTHING if ends[numba.int64(row[what]) - 1] & 2 else SOME
            stack[top, 0], stack[top, 1] = found, 1 << numba.int64(what)
            top += 1
        elif what == NOT:
            stack[top - 1, 0] = 2 - stack[top - 1, 0]
        else:
            # One such operand settles the result, and then the others do not matter. If all are the
            # opposite, so is the result.
            # Formulas side by side are joined as by OR, but keep what any of them says.
            settles = NOTHING if what == AND else EVERYTHING
            first, kept, same, bits = top - count, -1, True, numba.int64(0)
            for j in range(first, top):
                if stack[j, 0] == settles and kept < 0 and what != BESIDE:
                    kept = j
                same = same and stack[j, 0] == 2 - settles
                bits |= stack[j, 1]
            stack[first, 1] = stack[kept, 1] if kept >= 0 else bits
            stack[first, 0] = settles if kept >= 0 else 2 - settles if same else SOME
            top = first + 1
    # Forget the parts that had no say.
    for p in range(row.shape[0]):
        if (stack[0, 1] >> p) & 1 == 0:
            row[p] = 0
    return stack[0, 0]


@inlined
def ends_in(formula, ends, row, stack):  # type: ignore[no-untyped-def]
    """Whether a text may end in the state `row`: the formula over its parts."""
    top = 0
    for i in range(formula.shape[0]):
        what, count = formula[i, 0], formula[i, 1]
        if what >= 0:
            node = numba.int64(row[what]) - 1
            stack[top, 0] = ends[node] & 1 if node >= 0 else 0
            top += 1
        elif what == NOT:
            stack[top - 1, 0] = 1 - stack[top - 1, 0]
        else:
            first = top - count
            for j in range(first + 1, top):
                if what == AND:
                    stack[first, 0] &= stack[j, 0]
                else:
                    stack[first, 0] |= stack[j, 0]
            top = first + 1
    return stack[0, 0] != 0


@inlined
def fewest_missing(side, s):  # type: ignore[no-untyped-def]
    """A lower bound on how many characters follow state s: the greatest of its joint automata."""
    least = numba.int64(0)
    for j in range(side.joint.shape[0]):
        node = numba.int64(side.states[s, side.joint[j]]) - 1
        if node >= 0:
            least = max(least, side.ahead.least[node])
    return least


@inlined
def leads_nowhere(side, row):  # type: ignore[no-untyped-def]
    """Whether, in the state `row`, one automaton plainly asks for what another rules out."""
    ahead = side.ahead
    may, must = ~numba.uint64(0), numba.uint64(0)
    least, most = numba.int64(0), numba.int64(ENDLESS)
    for j in range(side.joint.shape[0]):
        node = numba.int64(row[side.joint[j]]) - 1
        if node >= 0:
            may &= ahead.may[node]
            must |= ahead.must[node]
            least = max(least, ahead.least[node])
            most = min(most, ahead.most[node])
    return must & ~may != 0 or least > most


@inlined
def entered(nodes, formula, side):  # type: ignore[no-untyped-def]
    """The number of the state `side.row`; a new one if need be, for which there is room."""
    i = slot_of(side.states, side.table, side.row)
    found = numba.int64(side.table[i])
    if found < 0:
        found = side.sizes[MADE]
        side.table[i] = found
        for p in range(side.row.shape[0]):
            side.states[found, p] = side.row[p]
        side.walked[found] = 0
        side.ends[found] = ends_in(formula, nodes.ends, side.row, side.stack)
        side.live[found] = LIVE if side.ends[found] != 0 else UNDECIDED
        if side.ends[found] == 0 and leads_nowhere(side, side.row):
            side.live[found] = EMPTY
        side.sizes[MADE] = side.sizes[HASHED] = found + 1
    return found


@inlined
def walk(nodes, formula, side, s):  # type: ignore[no-untyped-def]
    """Find what leads on from state s, whether it leads to a text or not.

    Returns ALL_KNOWN, FULL, or a node whose moves must be known first.
    """
    if side.walked[s] != 0:
        return numba.int64(ALL_KNOWN)
    for p in range(side.states.shape[1]):
        node = numba.int64(side.states[s, p]) - 1
        if node >= 0 and nodes.known[node] == 0:
            return node
    if side.sizes[MADE] + side.moves.shape[1] > side.moves.shape[0]:
        return numba.int64(FULL)
    for k in range(side.moves.shape[1]):
        for p in range(side.states.shape[1]):
            node = numba.int64(side.states[s, p]) - 1
            target = numba.int64(-1) if node < 0 else numba.int64(nodes.moves[node, k])
            side.row[p] = target + 1
        some = follows(formula, nodes.ends, side.row, side.stack) != NOTHING
        side.moves[s, k] = entered(nodes, formula, side) if some else -1
    side.walked[s] = 1
    return numba.int64(ALL_KNOWN)


@inlined
def decide(nodes, formula, side, s, depth_first):  # type: ignore[no-untyped-def]
    """Find out whether state s, of which nothing is known, leads to a text. Returns as `walk`.

    depth_first: look behind what was met last, and there first where the end seems nearest;
    otherwise in turn there and behind what was met first. Each alone may take long: where much that
    is met last is a dead end, and where many texts are alike but the end is far.
    """
    line, before, below, live = side.line, side.before, side.below, side.live
    count = side.moves.shape[1]
    line[0] = s
    live[s] = WAITS
    below[s] = -1
    head, tail, top, met = 0, 1, numba.int64(s), -1
    need = numba.int64(ALL_KNOWN)
    last = depth_first
    # All states wait in `line`, by when they were met, and on a stack linked by `below` as well.
    # What is met behind the first in line must be nearer to the end than the top for that, so that
    # the stack leads on where it began, or have no known distance to the end.
    while head < tail and met < 0 and need == ALL_KNOWN:
        from_stack = last and top >= 0
        if from_stack:
            at = top
            top = numba.int64(below[at])
        else:
            at = numba.int64(line[head])
            head += 1
        most = ENDLESS if from_stack or top < 0 else max(fewest_missing(side, top) - 1, 0)
        if live[at] != WAITS:
            continue
        live[at] = SEEN
        last = depth_first or not last
        need = walk(nodes, formula, side, at)
        nearest, fewest = numba.int64(-1), numba.int64(0)
        for i in range(count if need == ALL_KNOWN else 0):
            k = count - 1 - i if depth_first else i
            target = numba.int64(side.moves[at, k])
            # Found: the path back to s is alive.
            if target >= 0 and live[target] == LIVE:
                met = at
            elif target >= 0 and live[target] == UNDECIDED:
                live[target] = WAITS
                before[target] = at
                line[tail] = target
                tail += 1
                missing = fewest_missing(side, target)
                if nearest < 0 or missing <= fewest:
                    target, nearest = nearest, target
                    missing, fewest = fewest, missing
                if target >= 0 and missing <= most:
                    below[target] = top
                    top = target
        if nearest >= 0 and fewest <= most:
            below[nearest] = top
            top = nearest
    # Searched to the end without a text, everything met is empty; broken off, it is undecided
    # again.
    found = EMPTY if met < 0 and need == ALL_KNOWN else UNDECIDED
    for i in range(tail):
        live[line[i]] = found
    while met >= 0:
        live[met] = LIVE
        met = before[met] if met != s else -1
    return need


@inlined
def settle(nodes, formula, side, s, depth_first):  # type: ignore[no-untyped-def]
    """Find what leads on from state s, and which of it leads to a text. Returns as `walk`."""
    need = walk(nodes, formula, side, s)
    k = 0
    while need == ALL_KNOWN and k < side.moves.shape[1]:
        target = numba.int64(side.moves[s, k])
        if target >= 0 and side.live[target] == UNDECIDED:
            need = decide(nodes, formula, side, target, depth_first)
        k += 1
    return need


@lean(types.int64(PLACES, GRID, PRODUCT, BITS, SEARCH, types.boolean, *[types.int64] * 2))
def explore_product(nodes, formula, side, states, search, depth_first, start, end):  # type: ignore[no-untyped-def]
    """Find the moves of state `start` and of others behind it, until those of `end` are known.

    formula: see `follows`. states: uint64[S, 1], the number in `side` of each state of `search`.
    depth_first: see `decide`. There must be room for 2 * C states more; others are found as far as
    it lasts. Returns as `walk`; what needs nodes whose moves are not known is left for later, but
    for `start`.
    """
    for s in range(side.sizes[HASHED], side.sizes[MADE]):
        side.table[slot_of(side.states, side.table, side.states[s])] = s
    side.sizes[HASHED] = side.sizes[MADE]
    tail = queue_from(states, search, start)
    need = numba.int64(ALL_KNOWN)
    while need == ALL_KNOWN and goes_on(search, end, tail):
        s = search.order[search.sizes[KNOWN]]
        at = numba.int64(states[s, 0])
        need = settle(nodes, formula, side, at, depth_first)
        if need != ALL_KNOWN:
            if need >= 0 and s != start:
                need = numba.int64(ALL_KNOWN)
                tail = put_off(search, s, tail)
            continue
        for k in range(side.moves.shape[1]):
            target = side.moves[at, k]
            search.moves[s, k] = -1
            if target >= 0 and side.live[target] == LIVE:
                side.key[0] = target
                search.moves[s, k] = behind(states, search, side.key, s, k)
        tail = queued(search, s, tail)
    dropped(search, tail)
    return need
