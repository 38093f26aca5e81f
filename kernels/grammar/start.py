"""The position of a grammar before any text."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.indentation import call_laid
from structgen.kernels.grammar.items import END_ITEM, call_closure
from structgen.kernels.grammar.lalr_guided import guided, pushed
from structgen.kernels.grammar.records import STACKS_LEXER
from structgen.kernels.grammar.stacks import call_closed, stacks_of
from structgen.kernels.grammar.tables import (
    END_ITEM_SET,
    FIRST_STATE,
    GRAMMAR,
    GROUPS,
    IN,
    INDENTS,
    INT,
    NEWLINE,
    PAIRS,
    WIDTHS,
    call_intern,
    region,
)


@lean(INT(GRAMMAR, INT))
def begin(t, top):  # type: ignore[no-untyped-def]
    """The position before any text whose whole is the item `top`, or NEED_SPACE."""
    t.work[region(t, IN)] = END_ITEM
    end = call_closure(t, 1)
    if end < 0:
        return end
    t.info[END_ITEM_SET] = end
    t.work[region(t, PAIRS)] = end
    t.work[region(t, PAIRS) + 1] = 0
    bottom = stacks_of(t, region(t, PAIRS), 1)
    if bottom < 0:
        return bottom
    t.work[region(t, IN)] = top
    item_set = call_closure(t, 1)
    if item_set < 0:
        return item_set
    t.work[region(t, GROUPS)] = item_set
    t.work[region(t, GROUPS) + 1] = bottom
    stacks = call_closed(t, 1)
    if stacks < 0:
        return stacks
    if t.info[FIRST_STATE] >= 0:
        lalr = pushed(t, t.info[FIRST_STATE], 0)
        stacks = lalr if lalr < 0 else guided(t, stacks, lalr)
        if stacks < 0:
            return stacks
    if t.info[NEWLINE] >= 0:
        t.work[region(t, WIDTHS)] = 0
        widths = call_intern(t, INDENTS, region(t, WIDTHS), 1)
        if widths < 0:
            return widths
        stacks = call_laid(t, stacks, widths, 0, 0)
        if stacks < 0:
            return stacks
    return (numba.int64(t.rec[stacks, STACKS_LEXER]) << 31) | stacks
