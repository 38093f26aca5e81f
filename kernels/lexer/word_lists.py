"""In: words or characters that may come next. Out: the tables with their list.

From there on `names` and `spans` go on.
"""

from __future__ import annotations

from numba import types

from structgen.kernels.build.decorators import lean
from structgen.kernels.tables import (
    BEGIN,
    CAME,
    CHILD,
    COLUMNS,
    DONE,
    END,
    FIRST,
    FLAGS,
    GRID,
    GUARDED,
    I32,
    IN_WORD,
    INTS,
    KIND,
    LABEL,
    LAST,
    LEFT,
    NEXT,
    OWNER,
    REST,
    SPANS_TEXT,
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


@lean(types.void(TABLES, types.int64, GRID, types.int64, types.int64))
def list_spans(t, q, said, label, flags):  # type: ignore[no-untyped-def]
    """Write down what the characters at lexer state `q` lead to, for which there is room.

    said: int32[n, 3], rows for `t.spans`, in order. label: with which the text may end, or -1.
    """
    first = t.sizes[9]
    for i in range(said.shape[0]):
        for column in range(3):
            t.spans[first + i, column] = said[i, column]
    t.sizes[9] += said.shape[0]
    t.within[q, KIND] = SPANS_TEXT
    t.within[q, FIRST] = first
    t.within[q, LAST] = first + said.shape[0]
    t.within[q, LEFT] = 0
    t.within[q, DONE] = 0
    t.within[q, REST] = -1
    t.within[q, NEXT] = -1
    t.within[q, CHILD] = label
    t.within[q, FLAGS] = flags
