"""The columns of the drawing table, and the memory that the drawing kernels share, as constants.

`columns` has the same numbers without Triton. The table float64[n, COLUMNS] is called a sheet here;
a line of it says how to draw a token from one row of logits.
"""

import triton.language as tl

from structgen.kernels.gpu import columns

# The columns of a sheet float64[n, COLUMNS], and the tokens that are none.
TEMPERATURE = tl.constexpr(columns.TEMPERATURE)
TOP_K = tl.constexpr(columns.TOP_K)
TOP_P = tl.constexpr(columns.TOP_P)
LOG_MIN_P = tl.constexpr(columns.LOG_MIN_P)
UNIFORM = tl.constexpr(columns.UNIFORM)
ROW = tl.constexpr(columns.ROW)
TOKEN = tl.constexpr(columns.TOKEN)
LOGIT = tl.constexpr(columns.LOGIT)
LOG_RAW = tl.constexpr(columns.LOG_RAW)
LOG_MASKED = tl.constexpr(columns.LOG_MASKED)
COLUMNS = tl.constexpr(columns.COLUMNS)
NOTHING = tl.constexpr(columns.NOTHING)
UNDECIDED = tl.constexpr(columns.UNDECIDED)

# A record float64[BLOCKS * PARTS + BEHIND] of a row: what `summarize` finds of each block, part by
# part (the last of them one number per group), and behind that what `choose` notes.
RAW_TOP = tl.constexpr(0)
RAW_SUM = tl.constexpr(1)  # of exp(logit - RAW_TOP)
TOP = tl.constexpr(2)  # the largest allowed logit
BASE = tl.constexpr(3)  # RAW_TOP if near, else TOP
SUM = tl.constexpr(4)  # of exp(logit - BASE), allowed ones
SCALED_SUM = tl.constexpr(5)  # SUM, or with a temperature that of exp((logit - TOP) / temperature)
FIRST = tl.constexpr(6)  # the smallest token with the logit TOP; for greedy rows
PEAKS = tl.constexpr(7)  # of each group the largest allowed logit; for top-k, top-p, min-p
GROUP = tl.constexpr(32)  # tokens, those of a word
LEADS = tl.constexpr(128)  # groups that `choose` looks into
LIMIT = tl.constexpr(512)  # tokens of these groups that it can compare

# Where the parts begin of what `choose` notes: the leading groups, and of their tokens these.
TOKENS = tl.constexpr(LEADS.value)
LOGITS = tl.constexpr(TOKENS.value + LIMIT.value)
WEIGHTS = tl.constexpr(LOGITS.value + LIMIT.value)
BEHIND = tl.constexpr(WEIGHTS.value + LIMIT.value)  # all of it
