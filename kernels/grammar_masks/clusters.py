"""Splits a lexer state into clusters of terminals that do not compete with each other.

Each cluster is a lexer state of its own whose parts are shared by all states that contain it.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.records import LEXER_CLUSTERS, REC_SIZE, REC_START
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
    """The clusters of a lexer state: a place in the heap with their number and LEXER records.

    Connected components of the relation "competes with", by flooding.
    """
    if t.rec[lexer, LEXER_CLUSTERS] >= 0:
        return numba.int64(t.rec[lexer, LEXER_CLUSTERS])
    base = region(t, LEX)
    start = numba.int64(t.rec[lexer, REC_START])
    size = numba.int64(t.rec[lexer, REC_SIZE])
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
                        if t.work[done + k] == 0 and p.competing[one, other] == 1:
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
    t.rec[lexer, LEXER_CLUSTERS] = place
    return place


call_clusters = called(clusters, AT_CLUSTERS)
