"""The automata of terminals side by side: what analyses ask of all their states at once.

Everything here is a least fixed point over the states of DFAs, or over sets of items, in sweeps or
with a worklist. States of later bytes mostly have greater numbers, so sweeps go backwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import folded, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.grammar.indentation import call_scan_laid
from structgen.kernels.grammar.records import REC_SIZE, REC_START, STACKS_TERMINALS
from structgen.kernels.grammar.tables import GRAMMAR, I32, I32_2, I64, I64_2, INT
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.regular.bit_rows import put, slot_of_row
from structgen.kernels.tables import DEAD, slot_of

BYTES_2 = types.uint8[:, ::1]
BITS_2 = types.uint64[:, ::1]
MOST_TEXTS = 64  # of a terminal that can end, about
SATISFIED, VIOLATED = 0, 1  # lookahead states, see `grammar.terminals.automata`
TOO_LARGE = 1  # what `reached` says of stacks


@folded(INT(I64, I64_2, INT, INT))
def added(queue, seen, count, key):  # type: ignore[no-untyped-def]
    """The length of a queue of `count` keys with one more, if it is new; ENDS_FULL without room."""
    slot = slot_of(seen, key)
    if seen[slot, 0] == key:
        return count
    if count >= queue.shape[0]:
        return numba.int64(ENDS_FULL)
    seen[slot, 0] = key
    queue[count] = key
    return count + 1


@lean(INT(I32_2, I32, BYTES_2, I64, I64_2))
def paired_states(nexts, starts, beside, queue, seen):  # type: ignore[no-untyped-def]
    """The pairs of states of two terminals to which some text leads: how many, or ENDS_FULL.

    nexts: int32[states, classes]; starts: int32[terminals], ascending; beside: uint8[terminals,
    terminals], which pairs to look at. queue: int64[n], set to `state << 32 | state`, the lesser
    first; seen: int64[s, 2], a hash table, empty at first, s > 2 n.
    """
    count = numba.int64(0)
    for i in range(starts.shape[0]):
        for j in range(i + 1, starts.shape[0]):
            if beside[i, j] == 1:
                key = (numba.int64(starts[i]) << 32) | starts[j]
                count = added(queue, seen, count, key)
                if count < 0:
                    return count
    place = numba.int64(0)
    while place < count:
        one, two = queue[place] >> 32, queue[place] & 0x7FFFFFFF
        place += 1
        last = numba.int64(-1)
        for byte_class in range(nexts.shape[1]):
            after, other = nexts[one, byte_class], nexts[two, byte_class]
            if after >= 0 and other >= 0:
                key = (numba.int64(after) << 32) | other
                if key != last:  # classes next to each other mostly lead to one pair
                    last = key
                    count = added(queue, seen, count, key)
                    if count < 0:
                        return count
    return count


@lean(INT(I32_2, BYTES_2, BITS_2, BITS_2))
def led_to(nexts, barred, good, found):  # type: ignore[no-untyped-def]
    """Or into `found` what is `good` at the states that some bytes lead to: 0.

    nexts: int32[states, classes]; barred: uint8[states, classes], 1 for steps not to take, or
    without rows; good, found: uint64[states, words].
    """
    changed = True
    while changed:
        changed = False
        for state in range(nexts.shape[0] - 1, -1, -1):
            last = numba.int64(-1)
            for byte_class in range(nexts.shape[1]):
                after = numba.int64(nexts[state, byte_class])
                if after < 0 or after == last:
                    continue
                if barred.shape[0] > 0 and barred[state, byte_class] == 1:
                    continue
                last = after
                for k in range(found.shape[1]):
                    more = found[state, k] | good[after, k] | found[after, k]
                    if more != found[state, k]:
                        found[state, k] = more
                        changed = True
    return numba.int64(0)


@lean(INT(I32_2, I32))
def distances(nexts, found):  # type: ignore[no-untyped-def]
    """Set how many bytes lead from each state to one where `found` is 0 at first: 0.

    nexts: int32[states, classes], -1 dead. found: int32[states], 0, or FAR where that is open;
    stays FAR where none does.
    """
    changed = True
    while changed:
        changed = False
        for state in range(nexts.shape[0] - 1, -1, -1):
            least = found[state]
            for byte_class in range(nexts.shape[1]):
                after = nexts[state, byte_class]
                if after >= 0 and found[after] + 1 < least:
                    least = found[after] + 1
            if least < found[state]:
                found[state] = least
                changed = True
    return numba.int64(0)


@lean(INT(I32_2, I32, INT, I32_2, I32))
def short_texts(nexts, ends, first, texts, seen):  # type: ignore[no-untyped-def]
    """List short texts of a terminal, breadth first, with one byte of each class: how many.

    nexts: int32[states, classes]; ends: int32[states], > 0 where a lexeme may end. first: the first
    state of the terminal. texts: int32[room, 4], set for each text to its state, the text that is a
    byte shorter, that byte's class, and the length; text 0 is the empty one. seen: int32[states of
    the terminal], 0 at first. There are some of each length until MOST_TEXTS can end or there is no
    more room, and few that lead to one state.
    """
    texts[0, 0], texts[0, 1], texts[0, 2], texts[0, 3] = first, 0, 0, 0
    count, ended, length, shorter = numba.int64(1), numba.int64(0), numba.int64(0), numba.int64(0)
    while ended < MOST_TEXTS and shorter < count:
        behind, length = count, length + 1
        for text in range(shorter, min(behind, shorter + 4 * MOST_TEXTS)):
            for byte_class in range(nexts.shape[1]):
                after = numba.int64(nexts[texts[text, 0], byte_class])
                if after < 0 or seen[after - first] >= MOST_TEXTS // 2:
                    continue
                if count >= texts.shape[0]:
                    return count
                seen[after - first] += 1
                texts[count, 0], texts[count, 1] = after, text
                texts[count, 2], texts[count, 3] = byte_class, length
                count += 1
                if ends[after] > 0:
                    ended += 1
        shorter = behind
    return count


@lean(INT(I32_2, I32_2, INT, INT, I32_2))
def left_by_texts(watch, texts, first, last, left):  # type: ignore[no-untyped-def]
    """Set the lookahead states behind the texts from `first` to `last` - 1, from several each: 0.

    watch: int32[classes, lookahead states], the state behind a byte. texts: see `short_texts`.
    left: int32[texts, k], known of shorter texts.
    """
    for text in range(first, last):
        shorter, byte_class = texts[text, 1], texts[text, 2]
        for i in range(left.shape[1]):
            left[text, i] = watch[byte_class, left[shorter, i]]
    return numba.int64(0)


@lean(INT(I32_2, I32_2, I32, I32, I32_2, INT, INT, I32_2, BYTES_2))
def rows_of_texts(watch, texts, ends, begun, spaces, rivals, most, left, rows):  # type: ignore[no-untyped-def]
    """Set the rows that differ of which lookaheads texts of a terminal satisfy: how many there are.

    watch, texts: see `left_by_texts`. ends: int32[states], > 0 where a lexeme may end. begun:
    int32[k], the lookahead states to begin from; of the first `rivals` a text must violate none.
    spaces: int32[n, lookahead states], the states behind ignored white space, which may follow.
    most: texts to look at. left: int32[texts, k], scratch. rows: uint8[m, k - rivals], n + 1 for
    each of these texts.
    """
    columns, count, done = begun.shape[0] - rivals, numba.int64(0), numba.int64(0)
    for i in range(begun.shape[0]):
        left[0, i] = begun[i]
    for text in range(1, texts.shape[0]):
        shorter, byte_class = texts[text, 1], texts[text, 2]
        for i in range(begun.shape[0]):
            left[text, i] = watch[byte_class, left[shorter, i]]
        excluded = ends[texts[text, 0]] == 0
        for i in range(rivals):
            excluded = excluded or left[text, i] == VIOLATED
        if excluded:
            continue
        for space in range(-1, spaces.shape[0]):
            for i in range(columns):
                state = left[text, rivals + i]
                if space >= 0:
                    state = spaces[space, state]
                rows[count, i] = state == SATISFIED
            known = False
            for row in range(count):
                same = True
                for i in range(columns):
                    same = same and rows[row, i] == rows[count, i]
                known = known or same
            if not known:
                count += 1
        done += 1
        if done == most:
            break
    return count


@lean(INT(I32_2, I32, I32, I32_2, I32, I32, INT, INT))
def texts_of_all(nexts, ends, bounds, texts, starts, seen, first, most):  # type: ignore[no-untyped-def]
    """List the short texts of terminals from `first` on, while they fit `texts`: the next terminal.

    nexts, ends: see `short_texts`, as is what stands in texts: int32[k, 4]. most: of one terminal.
    bounds: int32[terminals + 1], the states of each, the first one its start. starts:
    int32[terminals + 1], starts[first] set already, the rest set to where the texts of each begin.
    seen: int32[states], 0 at first.
    """
    terminal = first
    while terminal < bounds.shape[0] - 1 and texts.shape[0] - starts[terminal] >= most:
        at, low, high = numba.int64(starts[terminal]), bounds[terminal], bounds[terminal + 1]
        count = short_texts(nexts, ends, low, texts[at : at + most], seen[low:high])
        terminal += 1
        starts[terminal] = at + count
    return terminal


class Sampled(NamedTuple):
    """The short texts of terminals, and what else decides whether they are read as these.

    watch: int32[classes, lookahead states], the state behind a byte. texts: int32[n, 4] (see
    `short_texts`); starts: int32[terminals + 1], where those of each begin. ends: int32[states], >
    0 where a lexeme may end. rivals: int32[r], the lookahead states of what could take a text of a
    terminal where it is looked for; rival_starts: int32[terminals + 1]. spaces: int32[s, lookahead
    states], the states behind white space that is ignored; behind: int32[terminals, 2], which of
    these may follow each.
    """

    watch: npt.NDArray[np.int32]
    texts: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    rivals: npt.NDArray[np.int32]
    rival_starts: npt.NDArray[np.int32]
    spaces: npt.NDArray[np.int32]
    behind: npt.NDArray[np.int32]


SAMPLED = reference(types.NamedTuple([I32_2, I32_2, I32, I32, I32, I32, I32_2, I32_2], Sampled))


@lean(INT(SAMPLED, I32, I32, I32_2, BYTES_2, I32))
def first_rows(t, terminals, lookaheads, left, rows, owners):  # type: ignore[no-untyped-def]
    """Set which lookaheads the first text of each of some terminals satisfies: how many rows.

    terminals: int32[k]; lookaheads: int32[m]. Of texts with which nothing violates a rival the
    first counts, and with each white space behind it; of a terminal only rows that differ. rows:
    uint8[n, m], n enough for each space; owners: int32[n], set to the terminal of each row. left:
    int32[texts of one terminal, m + rivals of one], scratch.
    """
    columns, count = lookaheads.shape[0], numba.int64(0)
    for i in range(terminals.shape[0]):
        terminal, begin = terminals[i], count
        first, low = t.starts[terminal], t.rival_starts[terminal]
        rivals = t.rival_starts[terminal + 1] - low
        for column in range(columns):
            left[0, column] = lookaheads[column]
        for rival in range(rivals):
            left[0, columns + rival] = t.rivals[low + rival]
        for text in range(first + 1, t.starts[terminal + 1]):
            at, shorter, byte_class = text - first, t.texts[text, 1], t.texts[text, 2]
            excluded = t.ends[t.texts[text, 0]] == 0
            for column in range(columns + rivals):
                state = t.watch[byte_class, left[shorter, column]]
                left[at, column] = state
                excluded = excluded or (column >= columns and state == VIOLATED)
            if excluded:
                continue
            for space in range(t.behind[terminal, 0] - 1, t.behind[terminal, 1]):
                for column in range(columns):
                    state = left[at, column]
                    if space >= t.behind[terminal, 0]:
                        state = t.spaces[space, state]
                    rows[count, column] = state == SATISFIED
                known = False
                for row in range(begin, count):
                    same = True
                    for column in range(columns):
                        same = same and rows[row, column] == rows[count, column]
                    known = known or same
                if not known:
                    owners[count] = terminal
                    count += 1
            break
    return count


@lean(INT(BYTES_2, I32, I32, I32, BITS_2))
def suiting(rows, owners, starts, columns, found):  # type: ignore[no-untyped-def]
    """Set the owners of rows that have all of some columns, for some sets of columns: 0.

    rows, owners: see `first_rows`. starts: int32[sets + 1], where the columns of each set begin in
    `columns`. found: uint64[sets, words], 0 at first, the owners as bits.
    """
    for one in range(starts.shape[0] - 1):
        for row in range(owners.shape[0]):
            suits = True
            for i in range(starts[one], starts[one + 1]):
                if rows[row, columns[i]] == 0:
                    suits = False
                    break
            if suits:
                bit = numba.uint64(1) << numba.uint64(owners[row] & 63)
                found[one, owners[row] >> 6] |= bit
    return numba.int64(0)


@lean(INT(I32, I32, BITS_2, BITS_2, BITS_2, BITS_2, I32))
def item_sets(starts, terminals, targets, queue, begins, after, slots):  # type: ignore[no-untyped-def]
    """All sets of items that are on top of the stacks together: how many, or ENDS_FULL.

    The steps of item i are starts[i] to starts[i + 1] - 1: by which of `terminals` (int32[steps])
    to which items (targets: uint64[steps, words]). queue: uint64[n, words], the first set at first,
    set to all of them; begins: uint64[n, words of terminals], set to the terminals that each set
    begins with. after: uint64[terminals, words], scratch. slots: int32[s], -1 at first, s a power
    of two, s > 2 n.
    """
    words, count, place = queue.shape[1], numba.int64(1), numba.int64(0)
    begins[:, :] = 0
    while place < count:
        after[:, :] = 0
        for item in range(starts.shape[0] - 1):
            if (queue[place, item >> 6] >> numba.uint64(item & 63)) & numba.uint64(1) == 0:
                continue
            for step in range(starts[item], starts[item + 1]):
                terminal = terminals[step]
                bit = numba.uint64(1) << numba.uint64(terminal & 63)
                begins[place, terminal >> 6] |= bit
                for k in range(words):
                    after[terminal, k] |= targets[step, k]
        for terminal in range(after.shape[0]):
            bit = numba.uint64(1) << numba.uint64(terminal & 63)
            if begins[place, terminal >> 6] & bit == 0:
                continue
            slot = slot_of_row(after[terminal], queue, slots)
            if slots[slot] < 0:
                if count >= queue.shape[0]:
                    return numba.int64(ENDS_FULL)
                slots[slot] = count
                put(queue[count], after[terminal])
                count += 1
        place += 1
    return count


@lean(INT(GRAMMAR, I64, I64_2, I64, INT, INT))
def reached(t, queue, seen, place, most, largest):  # type: ignore[no-untyped-def]
    """Queue the stacks to which short texts lead, closed ones: 0, TOO_LARGE or NEED_SPACE.

    queue: int64[n], the first stacks at first; no more than n are queued. seen:
    int64[s, 2], a hash table of those in the queue, -1 at first, s a power of two, s > 2 n. place:
    int64[2], how many have been looked behind, and how many are queued, 0 at first. most: to look
    behind now. largest: ints of stacks; where the next ones have more, that is said.
    """
    if place[1] == 0:
        place[1] = added(queue, seen, numba.int64(0), queue[0])
    for _ in range(most):
        if place[0] >= place[1]:
            break
        stacks = queue[place[0]]
        if t.rec[stacks, REC_SIZE] > largest:
            return numba.int64(TOO_LARGE)
        terminals = t.rec[stacks, STACKS_TERMINALS]
        start = numba.int64(t.rec[terminals, REC_START])
        for i in range(t.rec[terminals, REC_SIZE]):
            if place[1] == queue.shape[0]:
                break
            after = call_scan_laid(t, stacks, numba.int64(t.heap[start + i]))
            if after < DEAD:
                return after
            if after >= 0:
                place[1] = added(queue, seen, place[1], after)
        place[0] += 1
    return numba.int64(0)
