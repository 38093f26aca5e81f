"""The positions of an expression (V. Glushkov, 1961), put together from its parts.

An expression comes in postfix order: a part takes the parts that it is made of off a stack. A part
is the rows of its first and last positions, and whether it is nullable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, inner, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.regular.bit_rows import add, add_one, put, put_one
from structgen.kernels.regular.glushkov import BITS, U64
from structgen.kernels.tables import I32, I64

# Instructions, with what follows each.
NOTHING = 0  #: the empty text
CHAIN = 1  #: n, and n sets: a position for each, which follow each other
LOOP = 2  #: set, n, least, endless: n positions for one set, of which so many are read at least
TRIE = 3  #: n, and n times parent, set, ends: a position for each node, parents first, 0 the root
JOIN = 4  #: the two parts before, one behind the other
EITHER = 5  #: the two parts before, one or the other
COPIES = 6  #: low, high (-1 for endless), n: the part before, n times in all

NULLABLE, BEGIN, LINKS_BEFORE, RUNS_BEFORE = range(4)  # columns of `Layout.parts`
TOP, NEXT, LINKS, RUNS = range(4)  # entries of `Layout.counts`
COPY, WHOLE, ENDS = 1, 2, 3  # rows above the top: scratch


class Layout(NamedTuple):
    """The positions of expressions, and the stack of parts of one.

    follow: uint64[positions, words], those that follow each; start: uint64[words], those that come
    first. sets: int32[positions], the set of characters of each. first, last: uint64[parts + 3,
    words], the first and last positions of each part; parts: int64[parts, 4], in columns, whether
    it is nullable, and how many positions, links and runs there were before it. runs: int32[k, 3],
    first and last positions of repeats of one set, and whether they have no upper bound. counts:
    int64[4], the part on top, the next position, links between positions, and runs.
    """

    follow: npt.NDArray[np.uint64]
    start: npt.NDArray[np.uint64]
    sets: npt.NDArray[np.int32]
    first: npt.NDArray[np.uint64]
    last: npt.NDArray[np.uint64]
    parts: npt.NDArray[np.int64]
    runs: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]


LAYOUT = reference(
    types.NamedTuple(
        [BITS, U64, I32, BITS, BITS, types.int64[:, ::1], types.int32[:, ::1], I64], Layout
    )
)


@inner(types.void(U64, U64, types.int64))
def put_moved(row, other, by):  # type: ignore[no-untyped-def]
    """Set a row to the positions of another one, moved up."""
    words, bits = by >> 6, numba.uint64(by & 63)
    for k in range(row.shape[0]):
        moved = numba.uint64(0)
        if k >= words:
            moved = other[k - words] << bits
        if bits and k > words:
            moved |= other[k - words - 1] >> (numba.uint64(64) - bits)
        row[k] = moved


@inner(types.void(LAYOUT, U64, U64))
def link(layout, last, first):  # type: ignore[no-untyped-def]
    """Let the positions in `first` follow each of those in `last`."""
    for k in range(last.shape[0]):
        bits, place = last[k], k << 6
        while bits:
            if bits & numba.uint64(1):
                add(layout.follow[place], first)
                layout.counts[LINKS] += 1
            bits >>= numba.uint64(1)
            place += 1


@inlined
def begin_part(layout, nullable):  # type: ignore[no-untyped-def]
    """Begin a part without positions; returns its place on the stack."""
    counts = layout.counts
    counts[TOP] += 1
    top = counts[TOP]
    part = layout.parts[top]
    part[NULLABLE], part[BEGIN] = nullable, counts[NEXT]
    part[LINKS_BEFORE], part[RUNS_BEFORE] = counts[LINKS], counts[RUNS]
    layout.first[top, :] = 0
    layout.last[top, :] = 0
    return top


@inlined
def add_chain(layout, code, at):  # type: ignore[no-untyped-def]
    """CHAIN at `code[at]`: returns where the next instruction is."""
    top, count, now = begin_part(layout, 0), code[at + 1], layout.counts[NEXT]
    for k in range(count):
        layout.sets[now + k] = code[at + 2 + k]
        if k + 1 < count:
            add_one(layout.follow[now + k], now + k + 1)
    add_one(layout.first[top], now)
    add_one(layout.last[top], now + count - 1)
    layout.counts[NEXT] += count
    return at + 2 + count


@inlined
def add_loop(layout, code, at):  # type: ignore[no-untyped-def]
    """LOOP at `code[at]`, with its run: of its positions one subsumes the others."""
    count, least, endless = code[at + 2], code[at + 3], code[at + 4]
    top, now, runs = begin_part(layout, least == 0), layout.counts[NEXT], layout.runs
    for k in range(count):
        layout.sets[now + k] = code[at + 1]
        if k + 1 < count:
            add_one(layout.follow[now + k], now + k + 1)
        if k + 1 >= least:
            add_one(layout.last[top], now + k)
    add_one(layout.first[top], now)
    last = now + count - 1
    if endless:
        add_one(layout.follow[last], last)
        layout.counts[LINKS] += 1
    begin = now if endless else now + max(least, 1) - 1
    if begin < last:
        met = layout.counts[RUNS]
        runs[met, 0], runs[met, 1], runs[met, 2] = begin, last, endless
        layout.counts[RUNS] += 1
    layout.counts[NEXT] += count
    return at + 5


@inlined
def add_trie(layout, code, at):  # type: ignore[no-untyped-def]
    """TRIE at `code[at]`."""
    top, count, now = begin_part(layout, 0), code[at + 1], layout.counts[NEXT]
    for k in range(count):
        node = at + 2 + 3 * k
        layout.sets[now + k] = code[node + 1]
        if code[node] > 0:
            add_one(layout.follow[now + code[node] - 1], now + k)
        else:
            add_one(layout.first[top], now + k)
        if code[node + 2]:
            add_one(layout.last[top], now + k)
    layout.counts[NEXT] += count
    return at + 2 + 3 * count


@inlined
def join(layout):  # type: ignore[no-untyped-def]
    """JOIN: one part of the two on top, the second behind the first."""
    other = layout.counts[TOP]
    one = other - 1
    first, last, parts = layout.first, layout.last, layout.parts
    link(layout, last[one], first[other])
    if parts[one, NULLABLE]:
        add(first[one], first[other])
    if parts[other, NULLABLE]:
        add(last[other], last[one])
    put(last[one], last[other])
    parts[one, NULLABLE] &= parts[other, NULLABLE]
    layout.counts[TOP] = one


@inlined
def unite(layout):  # type: ignore[no-untyped-def]
    """EITHER: one part of the two on top, one or the other."""
    other = layout.counts[TOP]
    one = other - 1
    add(layout.first[one], layout.first[other])
    add(layout.last[one], layout.last[other])
    layout.parts[one, NULLABLE] |= layout.parts[other, NULLABLE]
    layout.counts[TOP] = one


@inlined
def write_copies(layout, count):  # type: ignore[no-untyped-def]
    """Write the positions of the part on top again until they are there `count` times.

    Returns how many positions there are of each.
    """
    counts, part, runs = layout.counts, layout.parts[layout.counts[TOP]], layout.runs
    begin, met = part[BEGIN], counts[RUNS]
    size, links = counts[NEXT] - begin, counts[LINKS] - part[LINKS_BEFORE]
    for number in range(1, count):
        by, now = size * number, counts[NEXT]
        for k in range(size):
            put_moved(layout.follow[now + k], layout.follow[begin + k], by)
            layout.sets[now + k] = layout.sets[begin + k]
        for k in range(part[RUNS_BEFORE], met):
            new = counts[RUNS]
            runs[new, 0], runs[new, 1], runs[new, 2] = runs[k, 0] + by, runs[k, 1] + by, runs[k, 2]
            counts[RUNS] += 1
        counts[NEXT] += size
        counts[LINKS] += links
    return size


@inlined
def repeat(layout, low, high, count):  # type: ignore[no-untyped-def]
    """COPIES: of the part on top `count` copies in a row; the last one loops where `high` < 0."""
    size = write_copies(layout, count)
    top, first, last = layout.counts[TOP], layout.first, layout.last
    copy, whole, ends = top + COPY, top + WHOLE, top + ENDS
    nullable = layout.parts[top, NULLABLE] != 0
    last[ends, :] = 0
    for number in range(count):
        put_moved(first[copy], first[top], size * number)
        put_moved(last[copy], last[top], size * number)
        if number == 0:
            put(first[whole], first[top])
        else:
            link(layout, last[whole], first[copy])
            if nullable:
                add(first[whole], first[copy])
        if number == 0 or not nullable:
            put(last[whole], last[copy])
        else:
            add(last[whole], last[copy])
        if number + 1 >= low or nullable:
            add(last[ends], last[copy])
    if high < 0:
        link(layout, last[copy], first[copy])
    put(first[top], first[whole])
    put(last[top], last[ends])
    layout.parts[top, NULLABLE] = low == 0 or nullable


@lean(types.boolean(I32, LAYOUT, types.int64, types.int64))
def lay_out(code, layout, end, most):  # type: ignore[no-untyped-def]
    """Lay out the positions of an expression behind `end`, the one that says that it may end.

    code: int32[k], instructions. layout: rows of `follow` are zero where nothing is laid out. most:
    links between positions. Returns whether these were enough.
    """
    counts, at = layout.counts, numba.int64(0)
    counts[TOP], counts[NEXT], counts[LINKS] = -1, end + 1, 0
    while at < code.shape[0] and counts[LINKS] <= most:
        kind = code[at]
        if kind == CHAIN:
            at = add_chain(layout, code, at)
        elif kind == LOOP:
            at = add_loop(layout, code, at)
        elif kind == TRIE:
            at = add_trie(layout, code, at)
        elif kind == COPIES:
            repeat(layout, code[at + 1], code[at + 2], code[at + 3])
            at += 4
        else:
            if kind == NOTHING:
                begin_part(layout, 1)
            elif kind == JOIN:
                join(layout)
            else:
                unite(layout)
            at += 1
    first = layout.first
    put_one(first[COPY], end)
    link(layout, layout.last[0], first[COPY])
    add(layout.start, first[0])
    if layout.parts[0, NULLABLE]:
        add_one(layout.start, end)
    return counts[LINKS] <= most
