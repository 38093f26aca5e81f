"""In: logits and mask rows on a GPU, a row number for each. Out: masked logits, or drawn tokens.

`apply_rows` masks (and divides by a temperature) in place. Drawing takes two kernels, so that the
logits never leave the GPU and their many passes become one and a bit:

    summarize   one program per row and block of logits: sums of exponentials, and maxima
    choose      one program per row: from these sums the token, or the block that holds it

With top-k, top-p or min-p, `choose` looks only into the LEADS groups with the largest maxima. What
it would keep beyond them it cannot see, but it sees whether there is any: then it writes UNDECIDED.
The law is that of `structgen.decode.sampling`, and the arithmetic float64 as there.
"""

import triton
import triton.language as tl

from structgen.device import sheet as sheets

# The columns of a sheet float64[n, COLUMNS], and the tokens that are none.
TEMPERATURE = tl.constexpr(sheets.TEMPERATURE)
TOP_K = tl.constexpr(sheets.TOP_K)
TOP_P = tl.constexpr(sheets.TOP_P)
LOG_MIN_P = tl.constexpr(sheets.LOG_MIN_P)
UNIFORM = tl.constexpr(sheets.UNIFORM)
TOKEN = tl.constexpr(sheets.TOKEN)
LOGIT = tl.constexpr(sheets.LOGIT)
LOG_RAW = tl.constexpr(sheets.LOG_RAW)
LOG_MASKED = tl.constexpr(sheets.LOG_MASKED)
COLUMNS = tl.constexpr(sheets.COLUMNS)
NOTHING = tl.constexpr(sheets.NOTHING)
UNDECIDED = tl.constexpr(sheets.UNDECIDED)

# A record float64[RECORD] of `summarize`: numbers about a block, and the maxima of its groups.
RAW_TOP = tl.constexpr(0)
RAW_SUM = tl.constexpr(1)  # of exp(logit - RAW_TOP)
TOP = tl.constexpr(2)  # the largest allowed logit
SUM = tl.constexpr(3)  # of exp(logit - TOP), allowed ones
SCALED_SUM = tl.constexpr(4)  # of exp((logit - TOP) / temperature), allowed ones
FIRST = tl.constexpr(5)  # the smallest token with the logit TOP
PEAKS = tl.constexpr(6)
GROUPS = tl.constexpr(128)  # in a block
RECORD = tl.constexpr(134)  # PEAKS + GROUPS
LEADS = tl.constexpr(128)  # groups that `choose` looks into: as many as make up a block


@triton.jit
def allowed_tokens(row, tokens, size):  # type: ignore[no-untyped-def]
    """Whether the mask row int32[words] at `row` allows the tokens; none from `size` on."""
    held = tokens < size
    word = tl.load(row + (tokens >> 5), mask=held, other=0)
    return held & (((word >> (tokens & 31)) & 1) != 0)


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
def summarize(  # type: ignore[no-untyped-def]
    logits, table, ids, sheet, records, width, stride, size, BLOCK: tl.constexpr
):
    """Write the record of one block of one row of logits. Grid (n, blocks), as many as in `choose`.

    records: float64[n, blocks * RECORD + LEADS]; the rest as in `apply_rows`.
    """
    i = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    at = tl.load(ids + i).to(tl.int64)
    temperature = tl.load(sheet + i * COLUMNS + TEMPERATURE)
    record = records + i * (tl.num_programs(1) * RECORD + LEADS) + block * RECORD
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    row = table + at * ((size + 31) // 32)
    places = logits + i * stride + tokens
    values = tl.load(places, mask=tokens < width, other=float("-inf")).to(tl.float32)
    allowed = allowed_tokens(row, tokens, tl.where(at >= 0, size, 0)) & (values > float("-inf"))
    wide = values.to(tl.float64)

    raw_top = tl.max(wide, axis=0)
    raw_base = tl.where(raw_top > float("-inf"), raw_top, 0.0)
    exponentials = tl.exp(wide - raw_base)
    kept = tl.where(allowed, wide, float("-inf"))
    top = tl.max(kept, axis=0)
    total = tl.full((), 0.0, tl.float64)
    scaled = tl.full((), 0.0, tl.float64)
    if top > float("-inf"):
        if raw_base - top < 300.0:  # far from underflow: the exponentials are good for both sums
            total = tl.sum(tl.where(allowed, exponentials, 0.0), axis=0) * tl.exp(raw_base - top)
        else:
            total = tl.sum(tl.exp(kept - top), axis=0)
        scaled = total
        if (temperature != 1.0) & (temperature > 0.0):
            scaled = tl.sum(tl.exp((kept - top) / temperature), axis=0)

    tl.store(record + RAW_TOP, raw_top)
    tl.store(record + RAW_SUM, tl.sum(exponentials, axis=0))
    tl.store(record + TOP, top)
    tl.store(record + SUM, total)
    tl.store(record + SCALED_SUM, scaled)
    first = tl.min(tl.where(allowed & (kept == top), tokens, 0x7FFFFFFF), axis=0)
    tl.store(record + FIRST, first.to(tl.float64))
    peaks = tl.max(tl.reshape(kept, (GROUPS, BLOCK // GROUPS)), axis=1)
    tl.store(record + PEAKS + tl.arange(0, GROUPS), peaks)


@triton.jit
def choose(  # type: ignore[no-untyped-def]
    logits, table, ids, sheet, records, stride, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """Fill the last columns of a row of the sheet: a token and its numbers. Grid (n,).

    After `summarize` with the same arguments and BLOCKS blocks, a power of two.
    """
    i = tl.program_id(0).to(tl.int64)
    line = sheet + i * COLUMNS
    summary = records + i * (BLOCKS * RECORD + LEADS)
    row = table + tl.load(ids + i).to(tl.int64) * ((size + 31) // 32)
    values = logits + i * stride
    each = summary + tl.arange(0, BLOCKS) * RECORD
    tops = tl.load(each + TOP)
    top = tl.max(tops, axis=0)
    temperature = tl.load(line + TEMPERATURE)
    token = tl.full((), NOTHING, tl.int32)
    if top > float("-inf"):
        if temperature == 0.0:
            first = tl.load(each + FIRST)
            token = tl.min(tl.where(tops == top, first, float("inf")), axis=0).to(tl.int32)
        else:
            sums = tl.load(each + SCALED_SUM) * tl.exp((tops - top) / temperature)
            untouched = (tl.load(line + TOP_K) <= 0.0) & (tl.load(line + TOP_P) >= 1.0)
            if untouched & (tl.load(line + LOG_MIN_P) == float("-inf")):
                token = draw_of_all(values, row, line, sums, top, size, BLOCK, BLOCKS)
            else:
                total = tl.sum(sums, axis=0)
                token = draw_of_best(values, row, line, summary, top, total, size, BLOCK, BLOCKS)
    tl.store(line + TOKEN, token.to(tl.float64))
    logit = tl.load(values + token, mask=token >= 0, other=float("-inf"))
    tl.store(line + LOGIT, logit.to(tl.float32).to(tl.float64))
    raw = log_sum(tl.load(each + RAW_TOP), tl.load(each + RAW_SUM))
    tl.store(line + LOG_RAW, raw)
    tl.store(line + LOG_MASKED, log_sum(tops, tl.load(each + SUM)))


@triton.jit
def log_sum(tops, sums):  # type: ignore[no-untyped-def]
    """Log of the sum of sums[b] * exp(tops[b]); -inf where all tops are, NaN where one sum is."""
    top = tl.max(tops, axis=0)
    base = tl.where(top > float("-inf"), top, 0.0)
    total = tl.sum(sums * tl.exp(tops - base), axis=0)
    log = tl.log(tl.where(total == 0.0, 1.0, total))
    return tl.where(total == 0.0, float("-inf"), base + log)


@triton.jit
def edge_index(weights, wanted, COUNT: tl.constexpr):  # type: ignore[no-untyped-def]
    """The index of the first edge of the cumulative sum above `wanted`, never of a weight of 0.

    A parallel sum may rise by rounding where the weight is 0, so that is asked for as well.
    """
    places = tl.arange(0, COUNT)
    last = tl.max(tl.where(weights > 0.0, places, 0), axis=0)
    above = (tl.cumsum(weights, axis=0) > wanted) & (weights > 0.0)
    return tl.min(tl.where(above, places, last), axis=0)


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


@triton.jit
def order_keys(values):  # type: ignore[no-untyped-def]
    """uint32 keys in the order of float32 values, equal for equal ones; 0 is below all of them."""
    bits = tl.where(values == 0.0, 0.0, values).to(tl.uint32, bitcast=True)
    return tl.where((bits >> 31) != 0, bits ^ 0xFFFFFFFF, bits | 0x80000000)


@triton.jit
def key_reaching(keys, weights, target):  # type: ignore[no-untyped-def]
    """The largest key from which on the weights sum up to `target`; 0 where none does."""
    edge = tl.full((), 0, tl.uint32)
    step = tl.full((), 0x80000000, tl.uint32)
    for _ in range(32):
        trial = edge | step
        reached = tl.sum(tl.where(keys >= trial, weights, 0), axis=0) >= target
        edge = tl.where(reached, trial, edge)
        step = step >> 1
    return edge


@triton.jit
def leading_groups(summary, BLOCKS: tl.constexpr):  # type: ignore[no-untyped-def]
    """List the groups with the largest maxima, at most LEADS, behind the records.

    Returns their number, and the value that nothing outside of these groups exceeds, with its key.
    """
    groups = tl.arange(0, BLOCKS * GROUPS)
    peaks = tl.load(summary + groups // GROUPS * RECORD + PEAKS + groups % GROUPS)
    keys = tl.where(peaks > float("-inf"), order_keys(peaks.to(tl.float32)), 0)
    floor = key_reaching(keys, tl.full((BLOCKS * GROUPS,), 1, tl.int32), LEADS + 1)
    leads = keys > floor
    position = tl.cumsum(leads.to(tl.int32), axis=0) - 1
    tl.store(summary + BLOCKS * RECORD + position, groups.to(tl.float64), mask=leads)
    tl.debug_barrier()  # every thread reads what others have listed
    left_out = tl.max(tl.where(leads, float("-inf"), peaks), axis=0)
    return tl.sum(leads.to(tl.int32), axis=0), left_out, floor


@triton.jit
def draw_of_best(  # type: ignore[no-untyped-def]
    values, row, line, summary, top, total, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """A token of those that top-k, top-p and min-p keep, in this order; or UNDECIDED.

    total: the sum of the weights exp((logit - top) / temperature) of all allowed tokens.
    """
    count, left_out, floor = leading_groups(summary, BLOCKS)
    places = tl.arange(0, BLOCK)
    group = places // (BLOCK // GROUPS)
    listed = group < count
    lead = tl.load(summary + BLOCKS * RECORD + group, mask=listed, other=0.0).to(tl.int32)
    tokens = lead * (BLOCK // GROUPS) + places % (BLOCK // GROUPS)
    allowed = allowed_tokens(row, tokens, size) & listed
    logits = tl.load(values + tokens, mask=allowed, other=float("-inf")).to(tl.float32)
    keys = tl.where(logits > float("-inf"), order_keys(logits), 0)
    scaled = (logits.to(tl.float64) - top) / tl.load(line + TEMPERATURE)
    kept = keys > floor
    weights = tl.where(kept, tl.exp(scaled), 0.0)

    top_k = tl.load(line + TOP_K).to(tl.int32)
    top_p = tl.load(line + TOP_P)
    log_min_p = tl.load(line + LOG_MIN_P)
    decided = floor == 0
    if top_k > 0:
        ones = kept.to(tl.int32)
        decided = decided | (tl.sum(ones, axis=0) >= top_k)
        edge = key_reaching(keys, ones, top_k)
        above = tl.sum(tl.where(keys > edge, ones, 0), axis=0)
        tied = kept & (keys == edge)
        room = tl.cumsum(tied.to(tl.int32), axis=0) <= top_k - above
        kept = kept & ((keys > edge) | (tied & room))
        weights = tl.where(kept, weights, 0.0)
        total = tl.sum(weights, axis=0)
    elif top_p < 1.0:
        decided = decided | (tl.sum(weights, axis=0) >= top_p * total)
    else:  # what is left out is dropped by min-p in any case
        decided = decided | ((left_out - top) / tl.load(line + TEMPERATURE) < log_min_p)
    if top_p < 1.0:
        target = top_p * total
        edge = key_reaching(keys, weights, target)
        above = tl.sum(tl.where(keys > edge, weights, 0.0), axis=0)
        tied = kept & (keys == edge)
        one = tl.max(tl.where(tied, weights, 0.0), axis=0)
        before = (tl.cumsum(tied.to(tl.int32), axis=0) - 1).to(tl.float64) * one
        kept = kept & ((keys > edge) | (tied & (above + before < target)))
    weights = tl.where(kept & (scaled >= log_min_p), weights, 0.0)
    wanted = tl.load(line + UNIFORM) * tl.sum(weights, axis=0)
    index = edge_index(weights, wanted, BLOCK)
    token = tl.sum(tl.where(places == index, tokens, 0), axis=0)
    return tl.where(decided, token, UNDECIDED)
