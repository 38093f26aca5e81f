"""Fill the row of a lexer state where kernels can do it without Python.

Those of listed words (`lexer.words`) and of spans of code points (`lexer.spans`) are made here when
first read; any other row is Python's to fill (NEED_ROW).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.spans import call_fill_span
from structgen.kernels.lexer.words import call_fill_listed
from structgen.kernels.tables import (
    AT_FILL_ROW,
    DONE,
    KIND,
    NEED_ROW,
    SPANS_TEXT,
    SPANS_UNKNOWN,
    TABLES,
    WANTED,
    has_row,
)


@inner(types.int64(TABLES, types.int64))
def fill_row(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of lexer state q: 0, NEED_ROW when Python must, or NEED_STATES.

    `t.need[WANTED]` is then the state to be filled, or how many states room is needed for, and
    `t.need[WANTED_WITH]` for how many spans.
    """
    if has_row(t, q):
        return numba.int64(0)
    kind = t.state_info[q, KIND]
    # DONE without a row is a state of a damaged file: do not make its states again and again.
    if kind == 0 or kind == SPANS_UNKNOWN or t.state_info[q, DONE] != 0:
        t.need[WANTED] = q
        return numba.int64(NEED_ROW)
    code = call_fill_span(t, q) if kind >= SPANS_TEXT else call_fill_listed(t, q)
    if code == 0:
        t.state_info[q, DONE] = 1
        t.filled[q] = 1
    return code


call_fill_row = called(fill_row, AT_FILL_ROW)
