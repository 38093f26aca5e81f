"""Masks rows of logits on a GPU, and draws tokens from them, with mask rows in a table there.

`apply_rows` masks (and divides by a temperature) in place. Drawing takes two kernels, so that the
logits never leave the GPU and are read little more than once:

    summarize   one program per row and block of logits: sums of exponentials, and maxima
    choose      one program per row: from these sums the token, or the block that holds it

The distribution is that of `structgen.generation.distribution`, and so is the arithmetic that
decides what is drawn, in float64. Sums that are only reported (all of a greedy row, and those
without the temperature where there is one) are of float32 exponentials, with relative errors about
1e-7.
"""

import triton
import triton.language as tl

from structgen.kernels.gpu.best import allowed_tokens, draw_of_best, edge_index
from structgen.kernels.gpu.layout import (
    BASE,
    BEHIND,
    COLUMNS,
    FIRST,
    GROUP,
    LOG_MASKED,
    LOG_MIN_P,
    LOG_RAW,
    LOGIT,
    NOTHING,
    PEAKS,
    RAW_SUM,
    RAW_TOP,
    ROW,
    SCALED_SUM,
    SUM,
    TEMPERATURE,
    TOKEN,
    TOP,
    TOP_K,
    TOP_P,
    UNIFORM,
)

LOG2_E = tl.constexpr(1.4426950408889634)


def record_size(blocks: int, block: int) -> int:
    """How many float64 a record takes."""
    return int(blocks * (PEAKS.value + block // GROUP.value) + BEHIND.value)


@triton.jit
def apply_rows(  # type: ignore[no-untyped-def]
    logits, table, ids, temperatures, width, stride, size, SCALED: tl.constexpr, BLOCK: tl.constexpr
):
    """-inf in place for what row ids[i] of the table does not allow, the rest over temperatures[i].

    Grid (n, blocks). logits [n, width] with rows `stride` apart; table int32[rows, words of
    `size`]; ids int32[n], negative for a row of zeros; temperatures float32[n], if SCALED.
    """
    i = tl.program_id(0).to(tl.int64)
    at = tl.load(ids + i).to(tl.int64)
    tokens = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = table + at * ((size + 31) // 32)
    allowed = allowed_tokens(row, tokens, tl.where(at >= 0, size, 0))
    places = logits + i * stride + tokens
    inside = tokens < width
    if SCALED:
        values = tl.load(places, mask=inside & allowed, other=0.0).to(tl.float32)
        values = tl.div_rn(values, tl.load(temperatures + i))
        tl.store(places, tl.where(allowed, values, float("-inf")), mask=inside)
    else:
        tl.store(places, float("-inf"), mask=inside & (allowed == 0))


@triton.jit
def exponentials(values, base, temperature):  # type: ignore[no-untyped-def]
    """exp((values - base) / temperature) in float64, for float32 values up to `base`.

    0 below exp(-690). `exp` of the math library takes twice as long, being good for all numbers.
    The polynomial is the Chebyshev approximation of 2 ** x between -1/2 and 1/2, with a relative
    error of 2.2e-16.
    """
    base = base.to(tl.float64)
    rate = tl.full((), LOG2_E, tl.float64) / temperature
    least = (base - 690.0 * temperature).to(tl.float32)
    tiny = values < least
    wide = tl.fma(tl.where(tiny, least, values).to(tl.float64), rate, -base * rate)
    # The last bits of a number of this size are the nearest integer, plus the bias of exponents.
    shift = tl.full((), 6755399441055744.0 + 1023.0, tl.float64)
    moved = wide + shift
    x = wide - (moved - shift)
    power = (moved.to(tl.int64, bitcast=True) << 52).to(tl.float64, bitcast=True)
    found = tl.full((), 7.072585949269223e-09, tl.float64)
    found = tl.fma(found, x, tl.full((), 1.0208690299958306e-07, tl.float64))
    found = tl.fma(found, x, tl.full((), 1.321544258792169e-06, tl.float64))
    found = tl.fma(found, x, tl.full((), 1.5252657260200837e-05, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.0001540353044173605, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.0013333558230164974, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.009618129107606888, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.05550410866444772, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.24022650695910097, tl.float64))
    found = tl.fma(found, x, tl.full((), 0.69314718055995, tl.float64))
    found = tl.fma(found, x, tl.full((), 1.0, tl.float64))
    return tl.where(tiny, 0.0, found * power)


@triton.jit
def allowed_block(row, block, size, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """The tokens int32[BLOCK / 32, 32] of a block, a word of the mask row each, and if allowed."""
    words = block * (BLOCK // 32) + tl.arange(0, BLOCK // 32)
    bits = tl.arange(0, 32)[None, :]
    tokens = words[:, None] * 32 + bits
    word = tl.load(row + words, mask=words * 32 < size, other=0)
    return tokens, (((word[:, None] >> bits) & 1) != 0) & (tokens < size)


@triton.jit
def summarize(  # type: ignore[no-untyped-def]
    logits, table, sheet, records, width, stride, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """Write into a row's record what it says of one block. Grid (n, BLOCKS).

    sheet: float64[n, COLUMNS]; records: float64[n, record_size]; the rest as in `apply_rows`.
    """
    i = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    line = sheet + i * COLUMNS
    at = tl.load(line + ROW).to(tl.int64)
    temperature = tl.load(line + TEMPERATURE)
    row = table + at * ((size + 31) // 32)
    tokens, allowed = allowed_block(row, block, tl.where(at >= 0, size, 0), BLOCK)
    places = logits + i * stride + tokens
    values = tl.load(places, mask=tokens < width, other=float("-inf")).to(tl.float32)
    allowed = allowed & (values > float("-inf"))
    kept = tl.where(allowed, values, float("-inf"))
    peaks = tl.max(kept, axis=1)

    raw_top = tl.max(values)
    top = tl.max(peaks, axis=0)
    raw_base = tl.where(raw_top > float("-inf"), raw_top, 0.0)
    top_base = tl.where(top > float("-inf"), top, 0.0)
    near = raw_base - top < 60.0  # far from underflow: the exponentials are good for both sums
    base = tl.where(near, raw_base, top_base)
    if temperature == 1.0:  # then the token is drawn by these sums
        weights = exponentials(values, raw_base, 1.0)
        raw_sum = tl.sum(weights)
        if near:
            total = tl.sum(tl.where(allowed, weights, 0.0))
        else:
            total = tl.sum(exponentials(kept, top_base, 1.0))
        scaled = total
    else:
        rounded = tl.exp(values - raw_base)
        raw_sum = tl.sum(rounded).to(tl.float64)
        if near:
            total = tl.sum(tl.where(allowed, rounded, 0.0)).to(tl.float64)
        else:
            total = tl.sum(tl.exp(kept - top_base)).to(tl.float64)
        scaled = total
        if (temperature > 0.0) & (top > float("-inf")):
            scaled = tl.sum(exponentials(kept, top_base, temperature))

    summary = records + i * (BLOCKS * (PEAKS + BLOCK // GROUP) + BEHIND)
    record = summary + block
    tl.store(record + RAW_TOP * BLOCKS, raw_top.to(tl.float64))
    tl.store(record + RAW_SUM * BLOCKS, raw_sum)
    tl.store(record + TOP * BLOCKS, top.to(tl.float64))
    base = tl.where(top > float("-inf"), base, float("-inf"))
    tl.store(record + BASE * BLOCKS, base.to(tl.float64))
    tl.store(record + SUM * BLOCKS, total)
    tl.store(record + SCALED_SUM * BLOCKS, scaled)
    if temperature == 0.0:
        first = tl.min(tl.where(allowed & (kept == top), tokens, 0x7FFFFFFF))
        tl.store(record + FIRST * BLOCKS, first.to(tl.float64))
    elif is_limited(line):
        groups = block * (BLOCK // GROUP) + tl.arange(0, BLOCK // GROUP)
        tl.store(summary + PEAKS * BLOCKS + groups, peaks.to(tl.float64))


@triton.jit
def is_limited(line):  # type: ignore[no-untyped-def]
    """Whether the line of a sheet asks for top-k, top-p or min-p."""
    limited = (tl.load(line + TOP_K) > 0.0) | (tl.load(line + TOP_P) < 1.0)
    return limited | (tl.load(line + LOG_MIN_P) > float("-inf"))


@triton.jit
def choose(  # type: ignore[no-untyped-def]
    logits, table, sheet, records, found, stride, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """Fill the last columns of a row of `found`: a token and its numbers. Grid (n,).

    After `summarize` with the same arguments and BLOCKS, a power of two. found: float64[n, COLUMNS]
    like the sheet, and it may be in pinned memory of the host.
    """
    i = tl.program_id(0).to(tl.int64)
    line = sheet + i * COLUMNS
    record = records + i * (BLOCKS * (PEAKS + BLOCK // GROUP) + BEHIND)
    row = table + tl.load(line + ROW).to(tl.int64) * ((size + 31) // 32)
    values = logits + i * stride
    each = record + tl.arange(0, BLOCKS)
    tops = tl.load(each + TOP * BLOCKS)
    bases = tl.load(each + BASE * BLOCKS)
    top = tl.max(tops, axis=0)
    temperature = tl.load(line + TEMPERATURE)
    token = tl.full((), NOTHING, tl.int32)
    if top > float("-inf"):
        if temperature == 0.0:
            first = tl.load(each + FIRST * BLOCKS)
            token = tl.min(tl.where(tops == top, first, float("inf")), axis=0).to(tl.int32)
        else:
            lift = tl.exp((tl.where(temperature == 1.0, bases, tops) - top) / temperature)
            sums = tl.load(each + SCALED_SUM * BLOCKS) * lift
            if is_limited(line):
                total = tl.sum(sums, axis=0)
                token = draw_of_best(values, row, line, record, top, total, size, BLOCK, BLOCKS)
            else:
                token = draw_of_all(values, row, line, sums, top, size, BLOCK, BLOCKS)
    out = found + i * COLUMNS
    tl.store(out + TOKEN, token.to(tl.float64))
    logit = tl.load(values + token, mask=token >= 0, other=float("-inf"))
    tl.store(out + LOGIT, logit.to(tl.float32).to(tl.float64))
    raw = log_sum(tl.load(each + RAW_TOP * BLOCKS), tl.load(each + RAW_SUM * BLOCKS))
    tl.store(out + LOG_RAW, raw)
    tl.store(out + LOG_MASKED, log_sum(bases, tl.load(each + SUM * BLOCKS)))


@triton.jit
def log_sum(tops, sums):  # type: ignore[no-untyped-def]
    """Log of the sum of sums[b] * exp(tops[b]); -inf where all tops are, NaN where one sum is."""
    top = tl.max(tops, axis=0)
    base = tl.where(top > float("-inf"), top, 0.0)
    total = tl.sum(sums * tl.exp(tops - base), axis=0)
    log = tl.log(tl.where(total == 0.0, 1.0, total))
    return tl.where(total == 0.0, float("-inf"), base + log)


@triton.jit
def draw_of_all(  # type: ignore[no-untyped-def]
    values, row, line, sums, top, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """A token of all that the row allows, given the sums of their weights float64[BLOCKS]."""
    wanted = tl.load(line + UNIFORM) * tl.sum(sums, axis=0)
    block = edge_index(sums, wanted, BLOCKS)
    before = tl.sum(tl.where(tl.arange(0, BLOCKS) < block, sums, 0.0), axis=0)
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    allowed = allowed_tokens(row, tokens, size)
    logits = tl.load(values + tokens, mask=allowed, other=float("-inf")).to(tl.float32)
    scaled = (logits.to(tl.float64) - top) / tl.load(line + TEMPERATURE)
    return block * BLOCK + edge_index(tl.exp(scaled), wanted - before, BLOCK)
