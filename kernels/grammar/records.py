"""The fields of records: what the columns of `rec` hold (see `kernels.grammar.tables`).

The first three are the same for all records; the others depend on the kind, are -1 until they are
made, and may be made long after the record.
"""

from __future__ import annotations

REC_START, REC_SIZE, REC_KIND = 0, 1, 2  # where its ints begin in the heap, how many, its kind
REC_ROW = 3  # of lexer states and lookaheads: their row in `rows`

# Item sets: 1 if the empty item is in it, the set without that (-1: nothing is left), TERMINALS
# with which its items can begin, a lower bound on the bytes to finish one of them.
ITEMS_NULLABLE, ITEMS_NON_EMPTY, ITEMS_TERMINALS, ITEMS_COST = 3, 4, 5, 6

# Sets of terminals: the lexer state before any of them, 1 if an embedded spec is among them.
TERMINALS_LEXER, TERMINALS_EMBEDDED = 3, 4

# Stacks: itself if closed, 1 if the text may end here, TERMINALS that may come next, the lexer
# state before any of them, a lower bound on the bytes to the end of the text.
STACKS_CLOSED, STACKS_ACCEPTING, STACKS_TERMINALS, STACKS_LEXER, STACKS_COST = 3, 4, 5, 6, 7

# Lexer states: the ends of lexemes (`lexer.endings`), the parts that can be looked at one by one
# (`grammar_masks.clusters`), both places in the heap, and what the width of a line is to it
# (`indentation.width_in`).
LEXER_ENDINGS, LEXER_CLUSTERS, LEXER_WIDTH = 4, 5, 6

LOOKAHEADS_VIOLATED = 4  # 1 if one of them is violated if the text ends here
