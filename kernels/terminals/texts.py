"""Short texts of all terminals at once, and which lookaheads the first of each satisfy.

See `grammar.analysis.adjacency`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.grammar.tables import I32, I32_2, INT
from structgen.kernels.grammar.terminals import BYTES_2, SATISFIED, VIOLATED, short_texts

BITS_2 = types.uint64[:, ::1]


@lean(INT(I32_2, I32, I32, I32_2, I32, I32, INT, INT))
def texts_of_all(nexts, ends, bounds, texts, starts, seen, first, most):  # type: ignore[no-untyped-def]
    """List the short texts of terminals from `first` on, as far as there is room: the next one.

    nexts, ends: see `short_texts`, as is what stands in texts: int32[room, 4] for each of them, at
    most so many. bounds: int32[terminals + 1], the states of each, the first one its start. starts:
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
