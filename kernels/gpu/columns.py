"""Columns of float64[n, COLUMNS], the table by which a GPU draws a token for each of n rows.

The first columns say how to draw (temperature, truncation, the uniform number, which mask); the
kernels write what came of it into the last ones. Plain numbers, so that code without Triton and
torch may import them.
"""

TEMPERATURE = 0  # 0 is greedy
TOP_K = 1  # 0 is off
TOP_P = 2
LOG_MIN_P = 3
UNIFORM = 4  # in [0, 1): decides the draw
ROW = 5  # of the table of mask rows; negative for a row that allows nothing
TOKEN = 6
LOGIT = 7  # of the token
LOG_RAW = 8  # log of the sum of exponentials of all logits
LOG_MASKED = 9  # the same of the allowed ones
COLUMNS = 10

NOTHING = -2  # the token where the row allows none
UNDECIDED = -1  # the token where the kernels could not tell; callers of `draw` never see it
