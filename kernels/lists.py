"""In: words that may come next. Out: the tables with their list, from which `names` goes on."""

from __future__ import annotations

from numba import types

from structgen.kernels.flags import lean
from structgen.kernels.tables import (
    BEGIN,
    CAME,
    COLUMNS,
    END,
    FIRST,
    FLAGS,
    GUARDED,
    I32,
    IN_WORD,
    INTS,
    KIND,
    LABEL,
    LAST,
    OWNER,
    REST,
    TABLES,
)


@lean(types.void(TABLES, types.int64, I32, INTS, types.int64, types.int64))
def list_words(t, q, said, letters, rest, flags):  # type: ignore[no-untyped-def]
    """Write down the n words by which lexer state `q` is listed, for which there is room.

    said: int32[3 * n + 1], where the letters of each begin, and the last ones end, in `t.letters`;
    the words' labels; their positions. letters: int32, those of all words.
    """
    first, used = t.sizes[5], t.sizes[7]
    count = (said.shape[0] - 1) // 3
    for i in range(count):
        t.words[first + i, BEGIN] = said[i]
        t.words[first + i, END] = said[i + 1]
        t.words[first + i, LABEL] = said[count + 1 + i]
        t.order[first + i] = said[2 * count + 1 + i]
    for i in range(letters.shape[0]):
        t.letters[used + i] = letters[i]
    t.sizes[5] += count
    t.sizes[7] += letters.shape[0]
    for column in range(COLUMNS):
        t.within[q, column] = 0
    t.within[q, KIND] = IN_WORD
    t.within[q, FIRST] = first
    t.within[q, LAST] = first + count
    t.within[q, REST] = rest
    t.within[q, FLAGS] = flags
    t.within[q, OWNER] = -1
    t.within[q, CAME] = -1
    if rest < 0 and flags & GUARDED != 0:
        t.guard[q, 0] = first
        t.guard[q, 1] = first + count
