"""States within a lexeme: a lexer state with the lookaheads of lexemes before it.

A state is lookaheads << 31 | lexer state. A group is a way in which a lexeme can end (see `parts`).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import folded, inlined
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.indentation import COUNTS, width_in
from structgen.kernels.grammar.lexer import call_next_lexer, call_next_lookaheads
from structgen.kernels.grammar.records import REC_KIND, REC_START
from structgen.kernels.grammar.step import known_after
from structgen.kernels.grammar.tables import CHECKED, GRAMMAR, INT, NEWLINE, PAIRED
from structgen.kernels.grammar.viability import BEHIND_IT, BREAKS, NEVER, call_cached_settles
from structgen.kernels.grammar_masks.tries import GROUPS, PARTS_T, SEGMENTS, full
from structgen.kernels.tables import DEAD

LEXER_OF = (1 << 31) - 1  # the bits of a state that hold the lexer state, below those of lookaheads
BY_STACKS = -20  #: how a lexeme goes on depends on the stacks


@folded(INT(PARTS_T, INT, INT))
def group_of(p, terminals, lookaheads):  # type: ignore[no-untyped-def]
    """The number of a group in p.groups, added if it is new; or NEED_ROOM."""
    group = numba.int64(0)
    while group < p.sizes[GROUPS]:
        if p.groups[group, 0] == terminals and p.groups[group, 1] == lookaheads:
            return group
        group += 1
    if group >= p.groups.shape[0]:
        return full(p, GROUPS)
    p.groups[group, 0] = terminals
    p.groups[group, 1] = lookaheads
    p.sizes[GROUPS] += 1
    return group


@inlined
def write_segment(p, at, segment):  # type: ignore[no-untyped-def]
    """Note a segment in p.walks, and return the place after it.

    There: terminals, lookaheads, first, last + 1, depth above.
    """
    for j in range(2):
        p.walks[at + j] = p.groups[p.segments[segment, 0], j]
    for j in range(1, 4):
        p.walks[at + 1 + j] = p.segments[segment, j]
    return at + 5


@folded(INT(PARTS_T, INT, INT))
def read_segment(p, at, count):  # type: ignore[no-untyped-def]
    """Add a segment that is noted in p.walks to `count` others: their number, or NEED_ROOM."""
    group = group_of(p, numba.int64(p.walks[at]), numba.int64(p.walks[at + 1]))
    if group < 0:
        return group
    if count >= p.segments.shape[0]:
        return full(p, SEGMENTS)
    p.segments[count, 0] = group
    for j in range(1, 4):
        p.segments[count, j] = p.walks[at + 1 + j]
    return count + 1


@inlined
def lexer_after(t, state, byte_class):  # type: ignore[no-untyped-def]
    """The lexer state after a byte, DEAD, or a code."""
    after = known_after(t, state, byte_class)
    return call_next_lexer(t, state, byte_class) if after < DEAD else after


@inlined
def state_of(t, kept):  # type: ignore[no-untyped-def]
    """The state of what parts are cached under: a lexer state, or it PAIRED with lookaheads."""
    if t.rec[kept, REC_KIND] != PAIRED:
        return numba.int64(kept)
    start = numba.int64(t.rec[kept, REC_START])
    return (numba.int64(t.heap[start + 1]) << 31) | numba.int64(t.heap[start])


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def state_after(t, p, state, byte_class):  # type: ignore[no-untyped-def]
    """The state after a byte; DEAD, also where all that follows violates a lookahead; or a code.

    Or BY_STACKS. Where it depends on the stacks whether it can be finished, it becomes a group
    without tokens, of -1 - the lexer state, and the lookaheads.
    """
    after = lexer_after(t, state & LEXER_OF, byte_class)
    if after >= 0 and t.info[NEWLINE] >= 0 and width_in(t, after) == COUNTS:
        return numba.int64(BY_STACKS)
    if after < 0 or state <= LEXER_OF:
        return after
    lookaheads = call_next_lookaheads(t, state >> 31, byte_class)
    if lookaheads < 0:
        return lookaheads
    if lookaheads > 0 and t.info[CHECKED] != NEVER and (lookaheads << 31) | after != state:
        settling = call_cached_settles(t, after, lookaheads)
        if settling < 0:
            return settling
        if settling == BREAKS:
            return numba.int64(DEAD)
        if settling == BEHIND_IT:
            group = group_of(p, -1 - after, lookaheads)
            if group < 0:
                return group
    return (lookaheads << 31) | after
