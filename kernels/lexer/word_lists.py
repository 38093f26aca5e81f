"""Write down the words or spans of code points that a lexer state begins with.

Python calls this once per list. From there on the kernels of `lexer.words` and `lexer.spans` make
the states within them when they are read.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import types
from structgen.kernels.tables import (
    CHILD,
    DIGITS_LEFT,
    DONE,
    FALLBACK,
    FIRST,
    FLAGS,
    FROM_STATE,
    GRID,
    GUARD_BEGIN,
    GUARD_END,
    GUARDED,
    I32,
    IN_WORD,
    INFO_COLUMNS,
    INTS,
    KIND,
    LAST,
    NEXT_ALIKE,
    OWNER,
    SIZE_LETTERS,
    SIZE_SPANS,
    SIZE_WORDS,
    SPANS_TEXT,
    TABLES,
    WORD_BEGIN,
    WORD_END,
    WORD_TERMINAL,
)


@lean(types.void(TABLES, types.int64, I32, INTS, types.int64, types.int64))
def list_words(t, q, said, letters, fallback, flags):  # type: ignore[no-untyped-def]
    """Write down the n words by which lexer state `q` is listed, for which there is room.

    said: int32[3 * n + 1], where the letters of each begin, and the last ones end, in `t.letters`;
    the words' terminals; their keys. letters: int32, those of all words. fallback: the state in
    which other texts would be, or -1.
    """
    first, used = t.sizes[SIZE_WORDS], t.sizes[SIZE_LETTERS]
    count = (said.shape[0] - 1) // 3
    for i in range(count):
        t.words[first + i, WORD_BEGIN] = said[i]
        t.words[first + i, WORD_END] = said[i + 1]
        t.words[first + i, WORD_TERMINAL] = said[count + 1 + i]
        t.order[first + i] = said[2 * count + 1 + i]
    for i in range(letters.shape[0]):
        t.letters[used + i] = letters[i]
    t.sizes[SIZE_WORDS] += count
    t.sizes[SIZE_LETTERS] += letters.shape[0]
    for column in range(INFO_COLUMNS):
        t.state_info[q, column] = 0
    t.state_info[q, KIND] = IN_WORD
    t.state_info[q, FIRST] = first
    t.state_info[q, LAST] = first + count
    t.state_info[q, FALLBACK] = fallback
    t.state_info[q, FLAGS] = flags
    t.state_info[q, OWNER] = -1
    t.state_info[q, FROM_STATE] = -1
    # Where no other text may come, frames can rule words out while they are read.
    if fallback < 0 and flags & GUARDED != 0:
        t.guard[q, GUARD_BEGIN] = first
        t.guard[q, GUARD_END] = first + count


@lean(types.void(TABLES, types.int64, GRID, types.int64, types.int64))
def list_spans(t, q, said, terminal, flags):  # type: ignore[no-untyped-def]
    """Write down what the characters at lexer state `q` lead to, for which there is room.

    said: int32[n, 3], rows for `t.spans`, in order. terminal: with which the text may end, or -1.
    """
    first = t.sizes[SIZE_SPANS]
    for i in range(said.shape[0]):
        for column in range(3):
            t.spans[first + i, column] = said[i, column]
    t.sizes[SIZE_SPANS] += said.shape[0]
    t.state_info[q, KIND] = SPANS_TEXT
    t.state_info[q, FIRST] = first
    t.state_info[q, LAST] = first + said.shape[0]
    t.state_info[q, DIGITS_LEFT] = 0
    t.state_info[q, DONE] = 0
    t.state_info[q, FALLBACK] = -1
    t.state_info[q, NEXT_ALIKE] = -1
    t.state_info[q, CHILD] = terminal
    t.state_info[q, FLAGS] = flags
