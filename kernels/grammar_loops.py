"""In: a vocabulary's trie, a lexer state or position. Out: subtrees with which it stays the same.

A lexer state inside a name or a string goes back to itself with most characters. Where all bytes of
a subtree of the trie do that, all its tokens stay in the lexeme, and nothing need be walked. Bytes
are put into groups: each subtree has the set of the groups in it, each state that of its loops.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from structgen.kernels.flags import folded, inlined, inner, kernel, lean
from structgen.kernels.grammar_lexer import call_endings, call_next_lexer, call_next_watches
from structgen.kernels.grammar_step import SEVERAL, call_step, quick
from structgen.kernels.grammar_tables import CLASS, GRAMMAR, INT, fixed
from structgen.kernels.grammar_tries import LOOPING, LOOPS, MEMO, PARTS_T, full
from structgen.kernels.tables import DEAD, I32, I64, slot_of
from structgen.kernels.walk import NODES


def _groups() -> np.ndarray:
    """uint8[128]: the group of each ASCII byte; each punctuation mark has one of its own."""
    classes = [b"09", b"19", b"AZ", b"AF", b"az", b"af", b"\x00\x1f", b"\x7f\x7f"]
    found = np.zeros(128, np.uint8)
    for group, (low, high) in enumerate(classes):
        found[low : high + 1] = group
    own = [byte for byte in range(128) if not chr(byte).isalnum() and chr(byte) >= " "]
    own = [*map(ord, "\t\n\r"), *own[:-1]]
    found[own] = np.arange(len(own)) + len(classes)
    return found


GROUPS_OF = _groups()
WIDE = int(GROUPS_OF.max()) + 1  # a byte of a character beyond ASCII
BROKEN = WIDE + 1  # a byte that is no UTF-8 where it stands
PROBE = ord("t")
LETTERS = sum(1 << int(GROUPS_OF[ord(letter)]) for letter in "AZaz")
WITHIN = 62  # while subtrees are filled: a node ends within a character

# Characters beyond ASCII (The Unicode Standard, table 3-7): first and last lead byte, first and
# last of the second bytes, how many more there are.
CHARACTERS = np.array(
    [
        (0xC2, 0xDF, 0x80, 0xBF, 0), (0xE0, 0xE0, 0xA0, 0xBF, 1), (0xE1, 0xEC, 0x80, 0xBF, 1),
        (0xED, 0xED, 0x80, 0x9F, 1), (0xEE, 0xEF, 0x80, 0xBF, 1), (0xF0, 0xF0, 0x90, 0xBF, 2),
        (0xF1, 0xF3, 0x80, 0xBF, 2), (0xF4, 0xF4, 0x80, 0x8F, 2),
    ],
    np.int64,
)  # fmt: skip


@inlined
def behind(place, byte):  # type: ignore[no-untyped-def]
    """Where in a character a byte leads: bytes left << 16 | first << 8 | last; 0 none, -1 wrong."""
    if place > 0:
        if byte < ((place >> 8) & 0xFF) or byte > (place & 0xFF):
            return numba.int64(-1)
        left = (place >> 16) - 1
        return numba.int64(0) if left == 0 else (left << 16) | 0x80BF
    if place < 0 or byte < 0x80:
        return numba.int64(place)
    for k in range(CHARACTERS.shape[0]):
        if CHARACTERS[k, 0] <= byte <= CHARACTERS[k, 1]:
            left = CHARACTERS[k, 4] + 1
            return (left << 16) | (CHARACTERS[k, 2] << 8) | CHARACTERS[k, 3]
    return numba.int64(-1)


@kernel(types.void(NODES, I64, I32, I32))
def fill_subtrees(nodes, beneath, before, order):  # type: ignore[no-untyped-def]
    """Write the groups below each node, how many tokens come before it, and the tokens in order.

    beneath: int64[n]; before: int32[n + 1]; order: int32[tokens].
    """
    n = nodes.byte.shape[0]
    deepest = numba.int64(0)
    for i in range(n):
        deepest = max(deepest, numba.int64(nodes.depth[i]))
    place = np.zeros(deepest + 2, np.int64)
    count = numba.int64(0)
    for i in range(n):
        depth, byte = nodes.depth[i], numba.int64(nodes.byte[i])
        place[depth] = behind(place[depth - 1], byte)
        group = numba.int64(WIDE)
        if place[depth] < 0:
            group = numba.int64(BROKEN)
        elif byte < 0x80:
            group = numba.int64(GROUPS_OF[byte])
        beneath[i] = numba.int64(1) << group
        if place[depth] > 0:
            beneath[i] |= numba.int64(1) << WITHIN
        before[i] = count
        if nodes.token[i] >= 0:
            order[count] = nodes.token[i]
            count += 1
    before[n] = count
    place[:] = 0  # from here on: the groups of the nodes of each depth that belong together
    for i in range(n - 1, -1, -1):
        depth = nodes.depth[i]
        own, below = beneath[i], place[depth + 1]
        place[depth + 1] = 0
        if (own >> WITHIN) & 1 == 1:
            own ^= numba.int64(1) << WITHIN
            beneath[i] = below | (numba.int64(1) << BROKEN)
        else:
            beneath[i] = below
        place[depth] |= own | below


@inlined
def may_follow(t, p, terminals, kind):  # type: ignore[no-untyped-def]
    """Whether a byte can follow any of some terminals."""
    start = t.rec[terminals, 0]
    found = False
    for j in range(start, start + t.rec[terminals, 1]):
        if p.follow[t.heap[j], kind] == 1:
            found = True
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
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


@lean(INT(GRAMMAR, PARTS_T, INT, INT))
def goes(t, p, at, byte):  # type: ignore[no-untyped-def]  # noqa: ARG001  as `stays`
    """The position after a byte, DEAD, or a code."""
    after = quick(t, at, fixed(t, CLASS, byte))
    return call_step(t, at, numba.int64(byte)) if after == SEVERAL else after


@inlined
def bytes_lead_back(t, p, home, at, left, onward):  # type: ignore[no-untyped-def]
    """1 if all ways of ending a character that lacks `left` bytes lead to `home`, 0, or a code."""
    kind = numba.int64(-1)
    for byte in range(0x80, 0xC0):
        if fixed(t, CLASS, byte) == kind:
            continue
        kind = fixed(t, CLASS, byte)
        after = onward(t, p, at, byte)
        if after < 0 or (left == 1 and after != home):
            return after if after < DEAD else numba.int64(0)
        if left == 2:
            last = numba.int64(-1)
            for end in range(0x80, 0xC0):
                if fixed(t, CLASS, end) == last:
                    continue
                last = fixed(t, CLASS, end)
                reached = onward(t, p, after, end)
                if reached != home:
                    return reached if reached < DEAD else numba.int64(0)
    return numba.int64(1)


@inlined
def characters_lead_back(t, p, home, onward):  # type: ignore[no-untyped-def]
    """1 if all characters beyond ASCII lead back to `home`, 0, or a code."""
    for k in range(CHARACTERS.shape[0]):
        kind = numba.int64(-1)
        for lead in range(CHARACTERS[k, 0], CHARACTERS[k, 1] + 1):
            if fixed(t, CLASS, lead) == kind:
                continue
            kind = fixed(t, CLASS, lead)
            one = onward(t, p, home, lead)
            if one < 0:
                return one if one < DEAD else numba.int64(0)
            second = numba.int64(-1)
            for byte in range(CHARACTERS[k, 2], CHARACTERS[k, 3] + 1):
                if fixed(t, CLASS, byte) == second:
                    continue
                second = fixed(t, CLASS, byte)
                two = onward(t, p, one, byte)
                left = CHARACTERS[k, 4]
                if two < 0 or (left == 0 and two != home):
                    return two if two < DEAD else numba.int64(0)
                if left > 0:
                    code = bytes_lead_back(t, p, home, two, left, onward)
                    if code != 1:
                        return code
    return numba.int64(1)


@inlined
def looping(t, p, key, home, onward):  # type: ignore[no-untyped-def]
    """The groups of bytes that lead from `home` back to it, kept under a key; or a code."""
    slot = slot_of(p.memo, key)
    if p.memo[slot, 0] == key:
        return p.memo[slot, 1]
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    found = (numba.int64(1) << WIDE) - 1
    for byte in range(0x80):
        if (found >> GROUPS_OF[byte]) & 1 == 1:
            after = onward(t, p, home, byte)
            if after < DEAD:
                return after
            if after != home:
                found ^= numba.int64(1) << GROUPS_OF[byte]
    code = characters_lead_back(t, p, home, onward)
    if code < 0:
        return code
    found |= code << WIDE
    p.memo[slot, 0] = key
    p.memo[slot, 1] = found
    p.sizes[MEMO] += 1
    return found


@inner(INT(GRAMMAR, PARTS_T, INT))
def loops_of(t, p, lexer):  # type: ignore[no-untyped-def]
    """The groups of bytes that leave a lexer state as it is, and end no lexeme; or a code."""
    return looping(t, p, (numba.int64(1) << 61) | lexer, lexer, stays)


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def is_whole(t, p, lexer, node):  # type: ignore[no-untyped-def]
    """1 if the bytes below a node leave a lexer state as it is, and end no lexeme; 0, or a code."""
    if p.sizes[LOOPING] != lexer:
        loops = loops_of(t, p, lexer)
        if loops < 0:
            return loops
        p.sizes[LOOPING], p.sizes[LOOPS] = lexer, loops
    return numba.int64(p.beneath[node] & ~p.sizes[LOOPS] == 0)


@inner(INT(GRAMMAR, PARTS_T, INT))
def place_loops(t, p, at):  # type: ignore[no-untyped-def]
    """The groups of bytes that leave a position as it is, or a code."""
    return looping(t, p, -2 - at, at, goes)


@inner(INT(GRAMMAR, PARTS_T, INT))
def flows(t, p, at):  # type: ignore[no-untyped-def]
    """1 if a letter leads to where letters leave the position as it is, but not the lexer state.

    The syntax goes round in circles there, with a lexeme for each letter. 0 if not, or a code.
    """
    after = goes(t, p, at, numba.int64(PROBE))
    if after < 0:
        return after if after < DEAD else numba.int64(0)
    found = place_loops(t, p, after)
    if found < 0 or found & LETTERS != LETTERS or after >= SEVERAL:
        return found if found < 0 else numba.int64(found & LETTERS == LETTERS)
    found = loops_of(t, p, after >> 31)
    return found if found < 0 else numba.int64(found & LETTERS != LETTERS)
