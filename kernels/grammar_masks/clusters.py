"""In: a lexer state. Out: the states it consists of that can be looked at one by one."""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import called, inner
from structgen.kernels.grammar.tables import (
    AT_CLUSTERS,
    GRAMMAR,
    INT,
    LEX,
    LEXER,
    REACHED,
    S_TERMINAL,
    call_intern,
    fixed,
    region,
    reserve,
)
from structgen.kernels.grammar_masks.tries import PARTS_T


@inner(INT(GRAMMAR, PARTS_T, INT))
def clusters(t, p, lexer):  # type: ignore[no-untyped-def]
    """A lexer state cut into states of terminals that have nothing to do with each other.

    A place in the heap: their number and their LEXER records.
    """
    if t.rec[lexer, 5] >= 0:
        return numba.int64(t.rec[lexer, 5])
    base = region(t, LEX)
    start = numba.int64(t.rec[lexer, 0])
    size = numba.int64(t.rec[lexer, 1])
    if t.heap[start] < 0:
        start += 1
        size -= 1
    place = reserve(t, size + 1, 0)
    if place < 0:
        return place
    done = region(t, REACHED)  # 1 where a state is in a cluster already
    for i in range(size):
        t.work[done + i] = 0
    count = numba.int64(0)
    for i in range(size):
        if t.work[done + i] == 1:
            continue
        t.work[done + i] = 2
        grown = True
        while grown:
            grown = False
            for j in range(size):
                if t.work[done + j] == 2:
                    one = fixed(t, S_TERMINAL, t.heap[start + j])
                    t.work[done + j] = 3
                    for k in range(size):
                        other = fixed(t, S_TERMINAL, t.heap[start + k])
                        if t.work[done + k] == 0 and p.tied[one, other] == 1:
                            t.work[done + k] = 2
                            grown = True
        members = numba.int64(0)
        for j in range(size):
            if t.work[done + j] >= 2:
                t.work[done + j] = 1
                t.work[base + members] = t.heap[start + j]
                members += 1
        cluster = call_intern(t, LEXER, base, members)
        if cluster < 0:
            return cluster
        t.heap[place + 1 + count] = cluster
        count += 1
    t.heap[place] = count
    t.rec[lexer, 5] = place
    return place


call_clusters = called(clusters, AT_CLUSTERS)
