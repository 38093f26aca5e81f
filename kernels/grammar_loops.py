"""In: a vocabulary's trie, a lexer state or position. Out: subtrees with which it stays the same.

A lexer state inside a name or a string goes back to itself with most characters. Where all those in
a subtree of the trie do that, all its tokens stay in the lexeme, and nothing need be walked. As in
`loops`: each subtree has the set of the groups in it, each state that of its loops.
"""

from __future__ import annotations

import numba
import numpy as np

from structgen.kernels.flags import folded, inlined, inner
from structgen.kernels.grammar_lexer import call_endings, call_next_lexer, call_next_watches
from structgen.kernels.grammar_step import SEVERAL, call_step, quick
from structgen.kernels.grammar_tables import CLASS, GRAMMAR, INT, fixed
from structgen.kernels.grammar_tries import LOOPING, LOOPS, MEMO, PARTS_T, full
from structgen.kernels.tables import DEAD, slot_of

PROBE = ord("t")

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


@inlined
def may_follow(t, p, terminals, kind):  # type: ignore[no-untyped-def]
    """Whether a byte can follow any of some terminals."""
    start = t.rec[terminals, 0]
    found = False
    for j in range(start, start + t.rec[terminals, 1]):
        if p.follow[t.heap[j], kind] == 1:
            found = True
    return found


@inlined
def stays(t, p, lexer, byte):  # type: ignore[no-untyped-def]
    """The lexer state after a byte in front of which no lexeme can end, DEAD, or a code."""
    kind = fixed(t, CLASS, byte)
    ends = call_endings(t, lexer)
    if ends < 0:
        return ends
    for j in range(t.heap[ends]):
        if may_follow(t, p, t.heap[ends + 1 + 2 * j], kind):
            after = call_next_watches(t, numba.int64(t.heap[ends + 2 + 2 * j]), kind)
            if after != DEAD:
                return after if after < 0 else numba.int64(DEAD)
    return call_next_lexer(t, lexer, kind)


@inlined
def goes(t, at, byte):  # type: ignore[no-untyped-def]
    """The position after a byte, DEAD, or a code."""
    after = quick(t, at, fixed(t, CLASS, byte))
    return call_step(t, at, numba.int64(byte)) if after == SEVERAL else after


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT))
def after_any(t, p, positions, at, low, high):  # type: ignore[no-untyped-def]
    """Where all bytes of a range lead, DEAD if that is not one place, or a code.

    positions: 1 if `at` is a position, 0 if it is a lexer state.
    """
    kind, found = numba.int64(-1), numba.int64(DEAD)
    for byte in range(low, high + 1):
        if fixed(t, CLASS, byte) != kind:
            after = goes(t, at, byte) if positions == 1 else stays(t, p, at, byte)
            if after < 0 or (kind >= 0 and after != found):
                return min(after, numba.int64(DEAD))
            kind, found = fixed(t, CLASS, byte), after
    return found


@inlined
def character_leads_back(t, p, positions, home, k, lead):  # type: ignore[no-untyped-def]
    """1 if all characters of row `k` with a lead byte lead back to `home`, 0, or a code.

    As automata of terminals are minimal, all of them lead through the same places then.
    """
    at = after_any(t, p, positions, home, lead, lead)
    low, high = CHARACTERS[k, 2], CHARACTERS[k, 3]
    for _ in range(CHARACTERS[k, 4]):
        if at >= 0:
            at = after_any(t, p, positions, at, low, high)
        low, high = numba.int64(0x80), numba.int64(0xBF)
    return at if at < DEAD else numba.int64(at == home)


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def looping(t, p, key, positions, home):  # type: ignore[no-untyped-def]
    """The groups all of whose characters lead from `home` back to it, kept under a key; or a code.

    positions: 1 if it is a position, 0 if it is a lexer state.
    """
    slot = slot_of(p.memo, key)
    if p.memo[slot, 0] == key:
        return p.memo[slot, 1]
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    some, others = numba.int64(0), numba.int64(0)  # groups with characters that do, that do not
    for k in range(CHARACTERS.shape[0]):
        kind, back = numba.int64(-1), numba.int64(0)
        for lead in range(CHARACTERS[k, 0], CHARACTERS[k, 1] + 1):
            bit = numba.int64(1) << numba.int64(p.group[lead])
            if fixed(t, CLASS, lead) != kind and others & bit == 0:
                kind = fixed(t, CLASS, lead)
                back = character_leads_back(t, p, positions, home, k, numba.int64(lead))
                if back < 0:
                    return back
            if back == 1:
                some |= bit
            else:
                others |= bit
    p.memo[slot, 0] = key
    p.memo[slot, 1] = some & ~others
    p.sizes[MEMO] += 1
    return some & ~others


@inner(INT(GRAMMAR, PARTS_T, INT))
def loops_of(t, p, lexer):  # type: ignore[no-untyped-def]
    """The groups of characters that leave a lexer state as it is, and end no lexeme; or a code."""
    return looping(t, p, (numba.int64(1) << 61) | lexer, numba.int64(0), lexer)


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def is_whole(t, p, lexer, node):  # type: ignore[no-untyped-def]
    """1 if what is below a node leaves a lexer state as it is, and ends no lexeme; 0, or a code."""
    if p.sizes[LOOPING] != lexer:
        loops = loops_of(t, p, lexer)
        if loops < 0:
            return loops
        p.sizes[LOOPING], p.sizes[LOOPS] = lexer, loops
    return numba.int64(p.beneath[node] & ~p.sizes[LOOPS] == 0)


@inner(INT(GRAMMAR, PARTS_T, INT))
def place_loops(t, p, at):  # type: ignore[no-untyped-def]
    """The groups of characters that leave a position as it is, or a code."""
    return looping(t, p, -2 - at, numba.int64(1), at)


@inlined
def letters(p):  # type: ignore[no-untyped-def]
    """The groups of the ASCII letters."""
    found = numba.int64(0)
    for capital in range(0x41, 0x5B):
        for letter in (capital, capital + 0x20):
            found |= numba.int64(1) << numba.int64(p.group[letter])
    return found


@inner(INT(GRAMMAR, PARTS_T, INT))
def flows(t, p, at):  # type: ignore[no-untyped-def]
    """1 if a letter leads to where letters leave the position as it is, but not the lexer state.

    The syntax goes round in circles there, with a lexeme for each letter. 0 if not, or a code.
    """
    after = goes(t, at, PROBE)
    if after < 0:
        return after if after < DEAD else numba.int64(0)
    found, wanted = place_loops(t, p, after), letters(p)
    if found < 0 or wanted & ~found != 0 or after >= SEVERAL:
        return found if found < 0 else numba.int64(wanted & ~found == 0)
    found = loops_of(t, p, after >> 31)
    return found if found < 0 else numba.int64(wanted & ~found != 0)
