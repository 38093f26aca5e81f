"""Parts of masks: what tokens do within a lexeme, cached for all stacks.

A *part* belongs to a trie and a lexer state, perhaps with lookaheads: the tokens that stay within
the lexeme, and for every way in which the lexeme can end within a token (a *group*) the trie of
what is left of the tokens then. Parts do not depend on the stacks. The trie of the vocabulary is
trie 0; others are stretches of it, or merged from many short stretches (`tries`).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import AT_BUILD, GRAMMAR, INT
from structgen.kernels.grammar_masks.lexeme_states import state_of
from structgen.kernels.grammar_masks.models import note_model
from structgen.kernels.grammar_masks.segments import call_segments_of
from structgen.kernels.grammar_masks.tries import (
    DENSE,
    GROUPS,
    KEPT,
    LARGE,
    LISTS,
    MEMO,
    MODELS,
    PARTS,
    PARTS_T,
    SEGMENTS,
    SPARSE,
    full,
    merged_trie,
    new_trie,
)
from structgen.kernels.tables import slot_of


@inner(INT(PARTS_T, INT, INT, INT))
def write_groups(p, trie, count, place):  # type: ignore[no-untyped-def]
    """Write the groups of p.segments, with their tries, to p.lists: their number, or NEED_ROOM."""
    merged = numba.int64(p.tries[trie, 0])
    made = numba.int64(0)
    for k in range(count):
        if p.segments[k, 2] - p.segments[k, 1] >= p.sizes[LARGE]:
            group = p.segments[k, 0]
            other = new_trie(p, merged, p.segments[k, 1], p.segments[k, 2], p.segments[k, 3])
            if other < 0:
                return other
            p.lists[place + 3 * made] = p.groups[group, 0]
            p.lists[place + 3 * made + 1] = p.groups[group, 1]
            p.lists[place + 3 * made + 2] = other
            p.segments[k, 0] = -1
            made += 1
    for group in range(p.sizes[GROUPS]):
        other = merged_trie(p, group, merged)
        if other < 0:
            return other
        if other > 0 or p.groups[group, 0] < 0:
            p.lists[place + 3 * made] = p.groups[group, 0]
            p.lists[place + 3 * made + 1] = p.groups[group, 1]
            p.lists[place + 3 * made + 2] = other
            made += 1
    return made


@inner(INT(PARTS_T, INT, INT))
def kept_row(p, new, most):  # type: ignore[no-untyped-def]
    """Keep the tokens of p.scratch for part `new`: where in p.lists they end, or NEED_ROOM.

    most: groups that will be written behind them at most.
    """
    kept = p.sizes[KEPT]
    dense = kept > p.sizes[SPARSE]
    if dense and p.sizes[DENSE] >= p.dense.shape[0]:
        return full(p, DENSE)
    sparse = numba.int64(0) if dense else kept
    start = p.sizes[LISTS]
    space = p.lists.shape[0] - p.sizes[SPARSE]
    if start + sparse + 3 * most > space:
        return full(p, LISTS)
    p.parts[new, 0] = -1
    if dense:
        p.parts[new, 0] = p.sizes[DENSE]
        for j in range(p.scratch.shape[0]):
            p.dense[p.sizes[DENSE], j] = p.scratch[j]
        p.sizes[DENSE] += 1
    for k in range(sparse):
        p.lists[start + k] = p.lists[space + k]
    p.parts[new, 1] = start
    p.parts[new, 2] = sparse
    return start + sparse


@lean(INT(GRAMMAR, PARTS_T, INT, INT))
def build(t, p, trie, kept):  # type: ignore[no-untyped-def]
    """Make the part of a trie and a lexer state: its number, or a code; then call again.

    kept: the lexer state, or the record of it with lookaheads.
    """
    count = call_segments_of(t, p, trie, kept)
    if count < 0:
        p.scratch[:] = 0
        return count
    p.sizes[SEGMENTS] = count
    new = p.sizes[PARTS]
    place = numba.int64(0)
    if new >= p.parts.shape[0]:
        place = full(p, PARTS)
    elif 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        place = full(p, MEMO)
    else:
        most = p.sizes[GROUPS]
        for k in range(count):
            if p.segments[k, 2] - p.segments[k, 1] >= p.sizes[LARGE]:
                most += 1
        place = kept_row(p, new, most)
    p.scratch[:] = 0
    if place < 0:
        return place
    models, made = p.sizes[MODELS], numba.int64(0)
    if trie == 0:
        made = note_model(p, state_of(t, kept), numba.int64(p.parts[new, 0]), count)
    if made == 0:
        made = write_groups(p, trie, count, place)
    if made < 0:
        p.sizes[MODELS] = models
        if p.parts[new, 0] >= 0:
            p.sizes[DENSE] -= 1
        return made
    p.parts[new, 3] = place
    p.parts[new, 4] = made
    p.sizes[LISTS] = place + 3 * made
    p.sizes[PARTS] += 1
    slot = slot_of(p.memo, (trie << 31) | kept)
    p.memo[slot, 0] = (trie << 31) | kept
    p.memo[slot, 1] = new
    p.sizes[MEMO] += 1
    return new


call_build = called(build, AT_BUILD)
