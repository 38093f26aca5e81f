"""Find what a lexer state allows by the difference from another state that was walked before.

States of one expression mostly differ in few of their transitions. Where both lead to the same
state, what lies below in the trie is the same, and taken over.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.masks.lexeme_walk import LEXEME_ENDS, add_lexeme_end, is_full
from structgen.kernels.tables import DEAD, I32, I64, INTS, NEED_SPACE, TABLES
from structgen.kernels.trie.loops import LOOPS, all_loop, allow, allow_below, forbid
from structgen.kernels.trie.nodes import (
    BELOW,
    NODE_BYTE,
    NODE_DEPTH,
    NODE_END,
    NODES,
    SUBTREES,
    WHOLE,
)

UNKNOWN = (1 << 23) - 1  # in the place of a state, plus 1, of which it is not known what it allows
NONE = -1


@lean(types.int64(TABLES, INTS, INTS, types.int64))
def nearest(t, weights, candidates, q):  # type: ignore[no-untyped-def]
    """Which candidate leads to the same states as lexer state `q` by most trie nodes, or NONE.

    weights: int32[256], how many nodes of the trie are below each first byte. candidates: int32[n],
    lexer states, or NONE; those count whose rows are filled, and that agree by half of the nodes by
    which `q` leads on, whose row is filled. What only they lead on by takes time as well.
    """
    best, most, total = numba.int64(NONE), numba.int64(0), numba.int64(0)
    for byte in range(256):
        if t.rows[q, byte] >= 0:
            total += weights[byte]
    for k in range(candidates.shape[0]):
        other = candidates[k]
        found = numba.int64(0)
        if other >= 0 and t.filled[other] != 0 and t.recorded[other] == t.recorded[q]:
            for byte in range(256):
                if t.rows[other, byte] >= 0:
                    same = t.rows[q, byte] == t.rows[other, byte]
                    found += weights[byte] if same else -(weights[byte] >> 1)
        if found > most:
            best, most = numba.int64(other), found
    return best if 2 * most >= total else numba.int64(NONE)


@inlined
def copy_lexeme_end(source, out, k, count, used):  # type: ignore[no-untyped-def]
    """Copy lexeme end `k` of `source` to place `count`; returns the new length of the text."""
    out.node[count] = source.node[k]
    out.label[count] = source.label[k]
    out.before[count] = source.before[k]
    out.start[count] = used
    for j in range(source.start[k], source.start[k + 1]):
        out.text[used] = source.text[j]
        used += 1
    out.start[count + 1] = used
    return used


@inlined
def led_to(t, q, beside, byte):  # type: ignore[no-untyped-def]
    """What a byte leads to from the state `beside` - 1, as `walk_difference` has it beside states.

    Where bytes are captured in one of this state and `q` and not in the other, nothing can be taken
    over.
    """
    if beside == 0 or beside == UNKNOWN:
        return beside
    if t.recorded[q] != t.recorded[beside - 1]:
        return numba.int64(UNKNOWN)
    if t.filled[beside - 1] == 0 and call_fill_row(t, beside - 1) < 0:
        return numba.int64(UNKNOWN)
    return max(numba.int64(t.rows[beside - 1, byte]), DEAD) + 1


@lean(types.int64(TABLES, NODES, SUBTREES, LOOPS, LEXEME_ENDS, types.int64, LEXEME_ENDS, I32, I64))
def walk_difference(t, nodes, subtrees, loops, common, other, out, row, stack):  # type: ignore[no-untyped-def]
    """Walk from lexer state `stack[0]` where it differs from `other`.

    `row` and `common` come in as the row and the lexeme ends of `other`. Where a node leads to the
    same state from both, the subtree is not walked, and its lexeme ends are copied. Else all is as
    in `walk_lexeme`, but the stack is longer: int64[depth + 5], with the place in `common` in
    stack[-4], and beside each state the one that `other` leads to, plus 1, from bit 40 on: 0 where
    it leads to none, or leaves the lexeme; UNKNOWN where its row is not there.
    """
    place = stack.shape[0] - 3
    k, i = stack[place - 1], stack[place]
    count, used = stack[place + 1], stack[place + 2]
    status = numba.int64(0)
    if i == 0:
        stack[0] = (stack[0] & 0xFFFFFFFF) | (other + 1) << 40
    while i < nodes.at.shape[0]:
        depth, end = nodes.at[i, NODE_DEPTH], nodes.at[i, NODE_END]
        q, beside = stack[depth - 1] & 0xFFFFFFFF, stack[depth - 1] >> 40
        if t.filled[q] == 0:
            status = call_fill_row(t, q)
            if status < 0:
                break
        byte = numba.int64(nodes.at[i, NODE_BYTE])
        target = t.rows[q, byte]
        beside = led_to(t, q, beside, byte)
        while k < common.node.shape[0] and common.node[k] < i:
            k += 1
        # The same state from both: `row` is right below, copy the lexeme ends of the subtree.
        if target >= 0 and target + 1 == beside:
            while k < common.node.shape[0] and common.node[k] < end:
                if is_full(out, count, used, common.start[k + 1] - common.start[k]):
                    status = numba.int64(NEED_SPACE)
                    break
                used = copy_lexeme_end(common, out, k, count, used)
                count += 1
                k += 1
            if status != 0:
                break
        # Another state: its tokens are set one by one; those of `other` that do not fit are cleared
        # below.
        elif target >= 0:
            looping = all_loop(subtrees, loops, q, i, WHOLE)
            if not looping and not all_loop(subtrees, loops, target, i, BELOW):
                stack[depth] = beside << 40 | byte << 32 | target
                allow(nodes, row, i)
                i += 1
                continue
            allow_below(nodes, subtrees, row, i)
        # Refused, or out of the lexeme: what `other` allows here does not fit.
        else:
            if target != DEAD or t.accept[q] > 0:
                if is_full(out, count, used, depth):
                    status = numba.int64(NEED_SPACE)
                    break
                used = add_lexeme_end(t, nodes, out, stack, i, count, used)
                count += 1
            if beside != 0:
                forbid(nodes, row, i, end)
        i = numba.int64(end)
    stack[place - 1], stack[place] = k, i
    stack[place + 1], stack[place + 2] = count, used
    return status
