"""In: a lexer state. Out: its row, where kernels can make it by themselves."""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inner
from structgen.kernels.lexer.spans import call_fill_span
from structgen.kernels.lexer.words import call_fill_name
from structgen.kernels.tables import (
    AT_PROVIDE,
    DONE,
    KIND,
    NEED_ROW,
    SPANS_LATER,
    SPANS_TEXT,
    TABLES,
    has_row,
)


@inner(types.int64(TABLES, types.int64))
def provide(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of lexer state q: 0, NEED_ROW when Python must, or NEED_STATES.

    `t.need[0]` is then the state to be filled, or how many states room is needed for, and
    `t.need[1]` for how many spans.
    """
    if has_row(t, q):
        return numba.int64(0)
    kind = t.within[q, KIND]
    if kind == 0 or kind == SPANS_LATER or t.within[q, DONE] != 0:
        t.need[0] = q
        return numba.int64(NEED_ROW)
    code = call_fill_span(t, q) if kind >= SPANS_TEXT else call_fill_name(t, q)
    if code == 0:
        t.within[q, DONE] = 1
        t.filled[q] = 1
    return code


call_provide = called(provide, AT_PROVIDE)
