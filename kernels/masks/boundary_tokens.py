"""In: where tokens leave a lexeme. Out: the same by the byte behind its end; the tokens that fit.

Many tokens leave a lexeme, and few of them go on with a byte that may follow it. So what lies
behind the ends is sorted by that byte, once, and only what begins as the syntax wants is walked.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.pointers import reference
from structgen.kernels.lexer.rows import call_provide
from structgen.kernels.masks.lexeme_walk import CROSSINGS, RESTS, walk_behind
from structgen.kernels.masks.row_edits import CHANGES, admit
from structgen.kernels.parser.seen_keys import call_rests_of_taken
from structgen.kernels.parser.step import call_step, move
from structgen.kernels.tables import (
    AT_BEYOND,
    COMPARED,
    DEAD,
    END_LABEL,
    I32,
    I64,
    KEPT,
    LOOKED_AT,
    NEED_EXACT,
    TABLES,
    TAKEN,
)
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN, NODES

EACH = 1  #: how a lexeme ends matters: its crossings must be looked at one by one


class Beyond(NamedTuple):
    """What tokens read behind the end of a lexeme, by how it ended and by the byte read first.

    label: int32[g], the ways in which it ends. first: int32[256 * g + 1]: with byte b behind an end
    of the kind g begin the entries first[256 * g + b] up to the next of `first`. node: int32[n],
    the node of such a byte; end: int32[n], one past its subtree; token: int32[n], the id of the
    token that ends there, or -1. ended: int32[k], tokens that end with the lexeme itself, those of
    kind g from ends[g] up to ends[g + 1]; ends: int32[g + 1].
    """

    label: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    token: npt.NDArray[np.int32]
    ended: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]


BEYOND = reference(types.NamedUniTuple(I32, 7, Beyond))


@inlined
def add_up(counts):  # type: ignore[no-untyped-def]
    """Make sums of what came up to each place."""
    for i in range(1, counts.shape[0]):
        counts[i] += counts[i - 1]


@inlined
def move_up(counts):  # type: ignore[no-untyped-def]
    """Move all one place on; the first is 0 then."""
    for i in range(counts.shape[0] - 1, 0, -1):
        counts[i] = counts[i - 1]
    counts[0] = 0


@lean(types.void(NODES, CROSSINGS, BEYOND))
def arrange(nodes, crossings, out):  # type: ignore[no-untyped-def]
    """Sort what lies behind crossings. out: zeros, with room for all, but for the labels.

    Where a lexeme ends before the byte of its node, that byte lies behind it, else those of the
    nodes below. What was used of `out` is what `first` and `ends` say.
    """
    for turn in range(2):  # count, then write
        for k in range(crossings.node.shape[0]):
            group = 0
            while out.label[group] != crossings.label[k]:
                group += 1
            top = crossings.node[k]
            i = top
            if crossings.before[k] == 0:
                i = top + 1
                if nodes.at[top, NODE_TOKEN] >= 0:
                    if turn == 0:
                        out.ends[group + 1] += 1
                    else:
                        out.ended[out.ends[group]] = nodes.at[top, NODE_TOKEN]
                        out.ends[group] += 1
            while i < nodes.at[top, NODE_END]:
                spot = 256 * group + numba.int64(nodes.at[i, NODE_BYTE])
                if turn == 0:
                    out.first[spot + 1] += 1
                else:
                    at = out.first[spot]
                    out.first[spot] += 1
                    out.node[at] = i
                    out.end[at] = nodes.at[i, NODE_END]
                    out.token[at] = nodes.at[i, NODE_TOKEN]
                i = nodes.at[i, NODE_END]
        if turn == 0:
            add_up(out.first)
            add_up(out.ends)
    move_up(out.first)
    move_up(out.ends)


@inlined
def walk_from(t, nodes, beyond, group, pair, deeper, changes, stack):  # type: ignore[no-untyped-def]
    """Set bits of the tokens that go on behind an end that led to `pair`. Returns 0 or a NEED_*."""
    place = stack.shape[0] - 2
    q = pair >> 32
    if t.filled[q] == 0:
        code = call_provide(t, q)
        if code < 0:
            return code
    for byte in range(stack[place], 256):
        k = beyond.first[256 * group + byte]
        last = beyond.first[256 * group + byte + 1]
        if k == last or (t.rows[q, byte] == DEAD and t.accept[q] <= END_LABEL):
            continue
        stack[place] = byte
        after = call_step(t, pair, numba.int64(byte))
        if after < DEAD:
            return after
        while after >= 0 and k < last:
            i = beyond.node[k]
            if deeper == 0 or i != nodes.root_child[byte]:
                admit(changes, beyond.token[k])
                if i + 1 < beyond.end[k]:
                    stack[nodes.at[i, NODE_DEPTH]] = after
                    code = walk_behind(t, nodes, changes, stack, i + 1, beyond.end[k])
                    if code < 0:
                        return code
            k += 1
    return numba.int64(0)


@inner(types.int64(TABLES, NODES, BEYOND, RESTS, types.int64, types.int64, CHANGES, I64))
def walk_beyond(t, nodes, beyond, rests, ctx, deeper, changes, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens that end the lexeme in context `ctx` and go on beyond it.

    As `walk_crossing`, for crossings of which nothing but the label matters. deeper: 1 to leave out
    the tokens that end the lexeme before their first byte. rests: scratch. stack: int64[depth + 4],
    one pair per depth; the last three entries but one are the kind of end and the byte to go on
    from (0 at first). Returns 0 when done, EACH if `walk_crossing` must be asked instead, or a
    NEED_* code; call again with the same arguments.
    """
    place = stack.shape[0] - 3
    for group in range(stack[place], beyond.label.shape[0]):
        label = numba.int64(beyond.label[group])
        compared = t.needs_text[label] == COMPARED
        if t.needs_text[label] == LOOKED_AT:
            return numba.int64(EACH)
        if compared and t.contexts[ctx, TAKEN] >= 0:
            if call_rests_of_taken(t, ctx, rests.text, rests.start) != 0:
                return numba.int64(EACH)
        pair = move(t, ctx, label, compared or t.needs_text[label] == KEPT)
        code = pair
        if pair >= 0:
            for k in range(beyond.ends[group], beyond.ends[group + 1]):
                admit(changes, beyond.ended[k])
            code = walk_from(t, nodes, beyond, group, pair, deeper, changes, stack)
        if code < DEAD:
            return numba.int64(EACH) if code == NEED_EXACT else code
        stack[place] = group + 1
        stack[place + 1] = 0
    return numba.int64(0)


call_beyond = called(walk_beyond, AT_BEYOND)
