"""Draws a token under top-k, top-p and min-p without sorting the whole row of logits.

`summarize` (in `kernels/gpu/rows.py`) has found the largest allowed logit of each group of 32
tokens. Only the LEADS groups with the largest maxima are looked into, and of these the tokens whose
logits exceed everything that is left out, LIMIT of them at most: each is compared with each, which
takes fewer steps than to sort them. Tokens that are left out although they would be kept cannot be
drawn; whether there may be any is known, and then the answer is UNDECIDED.
"""

import triton
import triton.language as tl

from structgen.kernels.gpu.layout import (
    GROUP,
    LEADS,
    LIMIT,
    LOG_MIN_P,
    LOGITS,
    PEAKS,
    TEMPERATURE,
    TOKENS,
    TOP_K,
    TOP_P,
    UNDECIDED,
    UNIFORM,
    WEIGHTS,
)


@triton.jit
def allowed_tokens(row, tokens, size):  # type: ignore[no-untyped-def]
    """Whether the mask row int32[words] at `row` allows the tokens; none from `size` on."""
    held = tokens < size
    word = tl.load(row + (tokens >> 5), mask=held, other=0)
    return held & (((word >> (tokens & 31)) & 1) != 0)


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
def order_keys(values):  # type: ignore[no-untyped-def]
    """uint32 keys in the order of float32 values, equal for equal ones; 0 is below all of them."""
    bits = tl.where(values == 0.0, 0.0, values).to(tl.uint32, bitcast=True)
    return tl.where((bits >> 31) != 0, bits ^ 0xFFFFFFFF, bits | 0x80000000)


@triton.jit
def edge_of_leads(keys, most):  # type: ignore[no-untyped-def]
    """The largest key of 16 bits from which on there are more than `most` keys; 0 where none is.

    Two bits at a time: the counts for three of them share one sum.
    """
    edge = tl.full((), 0, tl.int32)
    step = tl.full((), 1 << 14, tl.int32)
    for _ in range(8):
        trial = edge + step
        reached = tl.where(keys >= trial, 1, 0).to(tl.int64)
        reached += tl.where(keys >= trial + step, 1 << 20, 0).to(tl.int64)
        reached += tl.where(keys >= trial + 2 * step, 1, 0).to(tl.int64) << 40
        counts = tl.sum(reached, axis=0)
        for place in tl.static_range(0, 60, 20):
            edge += tl.where(((counts >> place) & 0xFFFFF) > most, step, 0)
        step = step >> 2
    return edge


@triton.jit
def floor_of(edge):  # type: ignore[no-untyped-def]
    """The largest key whose first 16 bits are `edge`; 0 for 0, which no key has."""
    return tl.where(edge > 0, (edge.to(tl.uint32) << 16) | 0xFFFF, 0)


@triton.jit
def leading_groups(peaks, GROUPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """List the groups with the largest maxima, at most LEADS, behind these maxima.

    peaks: where they are, float64[GROUPS]. Returns the number of groups that are listed,
    and the value that nothing in other groups exceeds, with a key that is no smaller than its.
    """
    groups = tl.arange(0, GROUPS)
    tops = tl.load(peaks + groups)
    keys = tl.where(tops > float("-inf"), order_keys(tops.to(tl.float32)), 0)
    floor = floor_of(edge_of_leads((keys >> 16).to(tl.int32), LEADS))
    leads = keys > floor
    position = tl.cumsum(leads.to(tl.int32), axis=0) - 1
    tl.store(peaks + GROUPS + position, groups.to(tl.float64), mask=leads)
    tl.debug_barrier()  # every thread reads what others have listed
    left_out = tl.max(tl.where(leads, float("-inf"), tops), axis=0)
    return tl.sum(leads.to(tl.int32), axis=0), left_out, floor


@triton.jit
def list_leading(values, row, leads, count, left_out, floor, size):  # type: ignore[no-untyped-def]
    """List the tokens above `floor` in the groups leads[: count], with their logits.

    Where they are more than LIMIT, the floor is raised. Returns their number, and as
    `leading_groups` what is above all others.
    """
    places = tl.arange(0, LEADS * GROUP)
    listed = places // GROUP < count
    group = tl.load(leads + places // GROUP, mask=listed, other=0.0).to(tl.int32)
    tokens = group * GROUP + places % GROUP
    allowed = allowed_tokens(row, tokens, size) & listed
    logits = tl.load(values + tokens, mask=allowed, other=float("-inf")).to(tl.float32)
    keys = tl.where(logits > float("-inf"), order_keys(logits), 0)
    above = keys > floor
    found = tl.sum(above.to(tl.int32), axis=0)
    if found > LIMIT:
        floor = floor_of(edge_of_leads((keys >> 16).to(tl.int32), LIMIT))
        above = keys > floor
        found = tl.sum(above.to(tl.int32), axis=0)
        under = tl.max(tl.where(above, float("-inf"), logits), axis=0)
        left_out = tl.maximum(left_out, under.to(tl.float64))
    position = tl.cumsum(above.to(tl.int32), axis=0) - 1
    tl.store(leads + TOKENS + position, tokens.to(tl.float64), mask=above)
    tl.store(leads + LOGITS + position, logits.to(tl.float64), mask=above)
    tl.debug_barrier()
    return found, left_out, floor


@triton.jit
def what_is_before(leads, listed, logits):  # type: ignore[no-untyped-def]
    """How many of the listed tokens come before each, and the sum of their weights."""
    slots = tl.arange(0, LIMIT)
    rank = tl.full((LIMIT,), 0, tl.int32)
    before = tl.full((LIMIT,), 0.0, tl.float64)
    for other in range(listed):
        its = tl.load(leads + LOGITS + other).to(tl.float32)
        ahead = (its > logits) | ((its == logits) & (other < slots))
        rank += ahead.to(tl.int32)
        before += tl.where(ahead, tl.load(leads + WEIGHTS + other), 0.0)
    return rank, before


@triton.jit
def draw_of_best(  # type: ignore[no-untyped-def]
    values, row, line, record, top, total, size, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """A token of those that top-k, top-p and min-p keep, in this order; or UNDECIDED.

    total: the sum of the weights exp((logit - top) / temperature) of all allowed tokens.
    """
    GROUPS: tl.constexpr = BLOCKS * (BLOCK // GROUP)
    peaks = record + PEAKS * BLOCKS
    leads = peaks + GROUPS
    count, left_out, floor = leading_groups(peaks, GROUPS)
    listed, left_out, floor = list_leading(values, row, leads, count, left_out, floor, size)
    slots = tl.arange(0, LIMIT)
    filled = slots < listed
    logits = tl.load(leads + LOGITS + slots, mask=filled, other=float("-inf"))
    scaled = (logits - top) / tl.load(line + TEMPERATURE)
    weights = tl.where(filled, tl.exp(scaled), 0.0)
    tl.store(leads + WEIGHTS + slots, weights)
    tl.debug_barrier()
    rank, before = what_is_before(leads, listed, logits.to(tl.float32))

    top_k = tl.load(line + TOP_K)
    top_p = tl.load(line + TOP_P)
    log_min_p = tl.load(line + LOG_MIN_P)
    decided = floor == 0
    kept = filled
    if top_k > 0:
        decided = decided | (listed >= top_k)
        kept = kept & (rank < top_k)
        total = tl.sum(tl.where(kept, weights, 0.0), axis=0)
    elif top_p < 1.0:
        decided = decided | (tl.sum(weights, axis=0) >= top_p * total)
    else:  # what is left out is dropped by min-p in any case
        decided = decided | ((left_out - top) / tl.load(line + TEMPERATURE) < log_min_p)
    kept = kept & (before < tl.where(top_p < 1.0, top_p * total, float("inf")))
    weights = tl.where(kept & (scaled >= log_min_p), weights, 0.0)
    wanted = tl.load(line + UNIFORM) * tl.sum(weights, axis=0)
    index = edge_index(weights, wanted, LIMIT)
    token = tl.load(leads + TOKENS + index).to(tl.int32)
    return tl.where(decided, token, UNDECIDED)
