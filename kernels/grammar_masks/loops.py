"""Subtrees of the vocabulary's trie that leave a lexer state or position as it is.

A lexer state inside a name or a string goes back to itself with most characters. Where all those in
a subtree of the trie do that, all its tokens stay in the lexeme, and nothing need be walked. As in
`trie.loops`: each subtree has the set of byte groups in it, each state that of its loops.
"""

from __future__ import annotations

import string

import numpy as np

from structgen.kernels.build.decorators import called, folded, inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.lexer import (
    call_endings,
    call_next_lexer,
    call_next_lookaheads,
    call_union_lookaheads,
)
from structgen.kernels.grammar.records import REC_SIZE, REC_START
from structgen.kernels.grammar.step import LOW, SEVERAL, call_step, quick, unpack
from structgen.kernels.grammar.tables import (
    AT_FLOWS,
    AT_LOOPING,
    CLASS,
    GRAMMAR,
    INT,
    PAIRED,
    REACHED,
    READ,
    call_intern,
    fixed,
    region,
)
from structgen.kernels.grammar_masks.tries import LOOPING, LOOPS, MEMO, PARTS_T, full
from structgen.kernels.tables import DEAD, slot_of

# What may be left as it is: a state within a lexeme in front of which none can end (see `stays`), a
# position, a lexer state wherever lexemes end.
STATE, POSITION, LEXEME = 0, 1, 2
SOME_LETTERS = 5
LETTERS = np.frombuffer(string.ascii_letters.encode(), np.uint8)

# Characters (The Unicode Standard, table 3-7): first and last lead byte, first and last of the
# second bytes, how many bytes there are behind the lead byte.
CHARACTERS = np.array(
    [
        (0x00, 0x7F, 0x00, 0x00, 0), (0xC2, 0xDF, 0x80, 0xBF, 1), (0xE0, 0xE0, 0xA0, 0xBF, 2),
        (0xE1, 0xEC, 0x80, 0xBF, 2), (0xED, 0xED, 0x80, 0x9F, 2), (0xEE, 0xEF, 0x80, 0xBF, 2),
        (0xF0, 0xF0, 0x90, 0xBF, 3), (0xF1, 0xF3, 0x80, 0xBF, 3), (0xF4, 0xF4, 0x80, 0x8F, 3),
    ],
    np.int64,
)  # fmt: skip


@folded(INT(GRAMMAR, INT, INT))
def kept_as(t, lexer, lookaheads):  # type: ignore[no-untyped-def]
    """The record under which things of a lexer state with lookaheads are cached; or NEED_SPACE."""
    if lookaheads == 0:
        return lexer
    base = region(t, REACHED)
    t.work[base] = lexer
    t.work[base + 1] = lookaheads
    return call_intern(t, PAIRED, base, 2)


@inlined
def may_follow(t, p, terminals, byte_class):  # type: ignore[no-untyped-def]
    """Whether a byte can follow any of some terminals."""
    start = t.rec[terminals, REC_START]
    found = False
    for j in range(start, start + t.rec[terminals, REC_SIZE]):
        if p.follow[t.heap[j], byte_class] == 1:
            found = True
    return found


@inlined
def stays(t, p, state, byte):  # type: ignore[no-untyped-def]
    """The state after a byte in front of which no lexeme can end, DEAD, or a code.

    state: lookaheads << 31 | lexer state, as that which is returned.
    """
    byte_class, lexer, before = fixed(t, CLASS, byte), state & LOW, state >> 31
    ends = call_endings(t, lexer)
    if ends < 0:
        return ends
    for j in range(t.heap[ends]):
        if may_follow(t, p, t.heap[ends + 1 + 2 * j], byte_class):
            both = call_union_lookaheads(t, before, numba.int64(t.heap[ends + 2 + 2 * j]))
            after = both if both < 0 else call_next_lookaheads(t, both, byte_class)
            if after != DEAD:
                return after if after < 0 else numba.int64(DEAD)
    after = call_next_lexer(t, lexer, byte_class)
    left = after if after < 0 else call_next_lookaheads(t, before, byte_class)
    return left if left < 0 else (left << 31) | after


@inlined
def goes(t, at, byte):  # type: ignore[no-untyped-def]
    """The position after a byte, DEAD, or a code."""
    after = quick(t, at, fixed(t, CLASS, byte))
    return call_step(t, at, numba.int64(byte)) if after == SEVERAL else after


@inlined
def onward(t, p, what, at, byte):  # type: ignore[no-untyped-def]
    """Where a byte leads from something that is `what`: STATE, POSITION or LEXEME."""
    if what == LEXEME:
        return call_next_lexer(t, at, fixed(t, CLASS, byte))
    return goes(t, at, byte) if what == POSITION else stays(t, p, at, byte)


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def end_of_character(t, p, what, at, k):  # type: ignore[no-untyped-def]
    """Where all bytes behind a lead byte of row `k` lead, DEAD if that is not one place, or a code.

    As automata of terminals are minimal, it is one place wherever all characters lead to one.
    """
    low, high = CHARACTERS[k, 2], CHARACTERS[k, 3]
    for _ in range(CHARACTERS[k, 4]):
        byte_class, found = numba.int64(-1), numba.int64(DEAD)
        for byte in range(low, high + 1):
            if fixed(t, CLASS, byte) != byte_class:
                after = onward(t, p, what, at, byte)
                if after < 0 or (byte_class >= 0 and after != found):
                    return min(after, numba.int64(DEAD))
                byte_class, found = fixed(t, CLASS, byte), after
        at = found
        low, high = numba.int64(0x80), numba.int64(0xBF)
    return at


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def looping(t, p, key, what, home):  # type: ignore[no-untyped-def]
    """The groups all of whose characters lead from `home` back to it, kept under a key; or a code.

    what: STATE, POSITION or LEXEME.
    """
    slot = slot_of(p.memo, key)
    if p.memo[slot, 0] == key:
        return p.memo[slot, 1]
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    some, others = numba.int64(0), numba.int64(0)  # groups with characters that do, that do not
    for k in range(CHARACTERS.shape[0]):
        byte_class, back = numba.int64(-1), False
        for lead in range(CHARACTERS[k, 0], CHARACTERS[k, 1] + 1):
            bit = numba.int64(1) << numba.int64(p.group[lead])
            if fixed(t, CLASS, lead) != byte_class and others & bit == 0:
                byte_class = fixed(t, CLASS, lead)
                after = onward(t, p, what, home, lead)
                if after >= 0 and CHARACTERS[k, 4] > 0:
                    after = end_of_character(t, p, what, after, k)
                if after < DEAD:
                    return after
                back = after == home
            if back:
                some |= bit
            else:
                others |= bit
    p.memo[slot, 0] = key
    p.memo[slot, 1] = some & ~others
    p.sizes[MEMO] += 1
    return some & ~others


call_looping = called(looping, AT_LOOPING)


@inner(INT(GRAMMAR, PARTS_T, INT))
def loops_of(t, p, state):  # type: ignore[no-untyped-def]
    """The groups of characters that leave a state as it is (see `stays`), and end no lexeme.

    Or a code.
    """
    kept = kept_as(t, state & LOW, state >> 31)
    if kept < 0:
        return kept
    return call_looping(t, p, (numba.int64(1) << 61) | kept, numba.int64(STATE), state)


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def is_whole(t, p, state, node):  # type: ignore[no-untyped-def]
    """1 if what is below a node leaves a state as it is, and ends no lexeme; 0, or a code."""
    if p.sizes[LOOPING] != state:
        loops = loops_of(t, p, state)
        if loops < 0:
            return loops
        p.sizes[LOOPING], p.sizes[LOOPS] = state, loops
    return numba.int64(p.beneath[node] & ~p.sizes[LOOPS] == 0)


@inner(INT(GRAMMAR, PARTS_T, INT))
def place_loops(t, p, at):  # type: ignore[no-untyped-def]
    """The groups of characters that leave a position as it is, or a code."""
    return call_looping(t, p, -2 - at, numba.int64(POSITION), at)


@inner(INT(GRAMMAR, PARTS_T, INT))
def lexeme_loops(t, p, lexer):  # type: ignore[no-untyped-def]
    """The groups of characters with which lexemes go on that leave a lexer state as it is.

    Lexemes may end before these, too. Or a code.
    """
    return call_looping(t, p, (numba.int64(3) << 60) | lexer, numba.int64(LEXEME), lexer)


@inlined
def letters(p):  # type: ignore[no-untyped-def]
    """The groups of the ASCII letters."""
    found = numba.int64(0)
    for letter in LETTERS:
        found |= numba.int64(1) << numba.int64(p.group[letter])
    return found


@inner(INT(GRAMMAR, PARTS_T, INT))
def flows(t, p, at):  # type: ignore[no-untyped-def]
    """1 if a letter leads to where letters leave the position as it is, but not the lexer state.

    The syntax goes round in circles there, with a lexeme for each letter. 0 if not, or a code.
    """
    after, beyond = numba.int64(DEAD), goes(t, at, LETTERS[0])
    for k in range(1, SOME_LETTERS):  # so many may begin lists and other rules
        if beyond >= 0 and beyond != after and (k == 1 or beyond >> 31 == after >> 31):
            after, beyond = beyond, goes(t, beyond, LETTERS[k])
    if beyond < 0 or beyond != after:  # as it mostly is
        return beyond if beyond < DEAD else numba.int64(0)
    if unpack(t, after) == 1:
        base = region(t, READ)
        found = loops_of(t, p, (numba.int64(t.work[base + 2]) << 31) | t.work[base])
        if found < 0 or letters(p) & ~found == 0:
            return min(found, numba.int64(0))
    found = place_loops(t, p, after)
    return found if found < 0 else numba.int64(letters(p) & ~found == 0)


call_flows = called(flows, AT_FLOWS)
