"""Models: reuses the walk of a similar lexer state, except where the two differ.

Within a name, a comment, a string most states do what others do: they only still may become a
keyword, or may not end yet. The row of such a state is its model's, but for the nodes that begin
tokens below which the two differ; so are the segments.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import CLASS, GRAMMAR, INT, fixed
from structgen.kernels.grammar_masks.lexeme_states import (
    LEXER_OF,
    read_segment,
    state_after,
    write_segment,
)
from structgen.kernels.grammar_masks.loops import is_whole
from structgen.kernels.grammar_masks.tries import (
    GROUPS,
    KEPT,
    MODEL,
    MODELS,
    PARTS_T,
    SPARSE,
    UNLIKE,
    UNLIKE_NEXT,
    WALKS,
    full,
)
from structgen.kernels.tables import DEAD

MOST_UNLIKE = 1 << 14  # tokens; states that differ in more are no models


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def reached(t, p, state, node):  # type: ignore[no-untyped-def]
    """`state_after` the byte of a node of the vocabulary's trie."""
    return state_after(t, p, state, fixed(t, CLASS, p.byte[node]))


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def is_alike(t, p, one, other, node):  # type: ignore[no-untyped-def]
    """Whether it is known that two states do the same below a node that begins tokens."""
    after, beyond = reached(t, p, one, node), reached(t, p, other, node)
    if after < 0 or beyond < 0:
        return numba.int64(after == DEAD and beyond == DEAD)
    alike = numba.int64(after == beyond)
    if alike == 0 and is_whole(t, p, after, node) == 1:
        alike = max(is_whole(t, p, beyond, node), 0)
    return alike


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def unlike(t, p, state, model, most):  # type: ignore[no-untyped-def]
    """List in p.cuts the nodes that begin tokens where two states differ: the number of tokens.

    It is given up, and larger than `most`, when there are more.
    """
    tokens, count, i = numba.int64(0), numba.int64(0), numba.int64(0)
    while i < p.tries[0, 2] and tokens <= most and count < p.cuts.shape[0]:
        end = numba.int64(p.end[i])
        if is_alike(t, p, state, model, i) == 0:
            p.cuts[count, 0], p.cuts[count, 1] = i, end
            count += 1
            tokens += p.before[end] - p.before[i]
        i = end
    p.sizes[UNLIKE] = count
    return tokens


@inner(INT(GRAMMAR, PARTS_T, INT))
def model_of(t, p, state):  # type: ignore[no-untyped-def]
    """The most similar model of a state, -1 without one; p.cuts has where they differ."""
    best, least = numba.int64(-1), numba.int64(MOST_UNLIKE)
    for k in range(p.sizes[MODELS]):
        model = (numba.int64(p.models[k, 1]) << 31) | p.models[k, 0]
        tokens = unlike(t, p, state, model, least - 1)
        if tokens < least:
            best, least = numba.int64(k), tokens
    if best >= 0:
        unlike(t, p, state, (numba.int64(p.models[best, 1]) << 31) | p.models[best, 0], least)
    return best


@inlined
def is_unlike(p, node):  # type: ignore[no-untyped-def]
    """Whether a node lies below one of those in p.cuts."""
    found = False
    for k in range(p.sizes[UNLIKE]):
        found = found or p.cuts[k, 0] <= node < p.cuts[k, 1]
    return found


@inner(INT(GRAMMAR, PARTS_T, INT))
def modelled(t, p, state):  # type: ignore[no-untyped-def]
    """Begin a walk over the vocabulary with what a model has found: the number of segments.

    Without a model there are none. Or NEED_ROOM.
    """
    model = model_of(t, p, state)
    p.sizes[MODEL], p.sizes[UNLIKE_NEXT], p.sizes[GROUPS] = model, 0, 0
    if model < 0:
        return numba.int64(0)
    row, place = p.models[model, 2], numba.int64(p.models[model, 3])
    for j in range(p.scratch.shape[0]):
        p.scratch[j] = p.dense[row, j]
    for k in range(p.sizes[UNLIKE]):
        for j in range(p.before[p.cuts[k, 0]], p.before[p.cuts[k, 1]]):
            token = p.order[j]
            p.scratch[token >> 5] &= ~numba.int32(numba.uint32(1) << numba.uint32(token & 31))
    p.sizes[KEPT] = p.sizes[SPARSE] + 1
    count = numba.int64(0)
    for j in range(place + 1, place + 1 + 5 * p.walks[place], 5):
        if not is_unlike(p, p.walks[j + 2]):
            count = read_segment(p, j, count)
            if count < 0:
                return count
    return count


@inlined
def is_as_modelled(p, node):  # type: ignore[no-untyped-def]
    """Whether what is below a node that begins tokens is the model's; asked in their order."""
    k = p.sizes[UNLIKE_NEXT]
    while k < p.sizes[UNLIKE] and p.cuts[k, 0] < node:
        k += 1
    p.sizes[UNLIKE_NEXT] = k
    return p.sizes[MODEL] >= 0 and (k == p.sizes[UNLIKE] or p.cuts[k, 0] != node)


@inner(INT(PARTS_T, INT, INT, INT))
def note_model(p, state, row, count):  # type: ignore[no-untyped-def]
    """Make a state a model, with its row in p.dense and `count` segments; 0, or NEED_ROOM.

    Segments of nodes that begin tokens are left out. A state without such a row, or with a model of
    its own, is none; nor is one of whose lexemes it is for the stacks to say how they go on.
    """
    if row < 0 or p.sizes[MODEL] >= 0 or p.sizes[MODELS] == p.models.shape[0]:
        return numba.int64(0)
    for group in range(p.sizes[GROUPS]):
        if p.groups[group, 0] < 0:
            return numba.int64(0)
    place = p.sizes[WALKS]
    at = place + 1
    if at + 5 * count > p.walks.shape[0]:
        return full(p, WALKS)
    for k in range(count):
        if p.segments[k, 3] > 0:
            at = write_segment(p, at, k)
    p.walks[place] = (at - place - 1) // 5
    p.sizes[WALKS] = at
    model = p.sizes[MODELS]
    p.models[model, 0], p.models[model, 1] = state & LEXER_OF, state >> 31
    p.models[model, 2], p.models[model, 3] = row, place
    p.sizes[MODELS] += 1
    return numba.int64(0)
