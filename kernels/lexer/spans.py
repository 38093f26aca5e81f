"""Make the lexer states that spell spans of code points, for texts such as strings with a pattern.

Python says of a text's state only which code points lead to which states. The states on the way, in
UTF-8 or in escapes inside JSON strings, are made here: a state within a character has the spans
that are left, relative to the digits read. States with equal spans are one (hash consing), as in
the construction of minimal UTF-8 automata from ranges.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.words import (
    BACKSLASH,
    LETTER_U,
    QUOTE,
    copied_state,
    is_escapable,
    needs_escape,
    short_escape,
)
from structgen.kernels.tables import (
    AT_FILL_SPANS,
    CHILD,
    DEAD,
    DIGITS_LEFT,
    ESCAPES,
    FIRST,
    FLAGS,
    GUARD_BEGIN,
    KIND,
    LAST,
    NEED_STATES,
    NEXT_ALIKE,
    QUOTED,
    SIZE_SPANS,
    SIZE_STATES,
    SPAN_FIRST,
    SPAN_LAST,
    SPAN_STATE,
    SPANS_AFTER_HIGH,
    SPANS_BACKSLASH,
    SPANS_ESCAPE,
    SPANS_HEX,
    SPANS_TEXT,
    SPANS_UTF8,
    TABLES,
    WANTED,
    WANTED_WITH,
)

ASTRAL, HIGH_UNIT, LOW_UNIT = 0x10000, 0xD800, 0xDC00
SHORT_ESCAPES = (QUOTE, BACKSLASH, 0x2F, 8, 12, 10, 13, 9)
HEX_ONLY = ((0, 7), (11, 11), (14, 0x1F))  # characters that nothing but `\u` can spell


@inlined
def add_state(t, q, kind, left, byte):  # type: ignore[no-untyped-def]
    """A new state behind `byte` of state q, with the same spans and flags."""
    new = copied_state(t, q, kind, q, -1, q, byte)
    t.state_info[new, DIGITS_LEFT] = left
    t.state_info[new, NEXT_ALIKE] = -1
    t.guard[new, GUARD_BEGIN] = -1
    return new


@inlined
def slot_of(t, kind, left, recorded, first, used):  # type: ignore[no-untyped-def]
    """The slot of `span_slots` for states with the `used` spans from `first` on."""
    h = kind * 40503 + left * 60493 + recorded * 48271
    for k in range(first, first + used):
        for column in range(3):
            h = ((h * 31) ^ t.spans[k, column]) & 0xFFFFFFFF
    return (h ^ (h >> 15)) & (t.span_slots.shape[0] - 1)


@lean(types.void(TABLES))
def rehash_states(t):  # type: ignore[no-untyped-def]
    """Enter all states that are shared in `span_slots`, which is empty."""
    for q in range(t.sizes[SIZE_STATES]):
        kind = numba.int64(t.state_info[q, KIND])
        if (
            kind == SPANS_UTF8
            or kind == SPANS_HEX
            or kind == SPANS_AFTER_HIGH
            or kind == SPANS_BACKSLASH
        ):
            left, recorded = numba.int64(t.state_info[q, DIGITS_LEFT]), numba.int64(t.recorded[q])
            first = numba.int64(t.state_info[q, FIRST])
            slot = slot_of(t, kind, left, recorded, first, t.state_info[q, LAST] - first)
            t.state_info[q, NEXT_ALIKE] = t.span_slots[slot]
            t.span_slots[slot] = q


@inner(types.int64(TABLES, *[types.int64] * 5))
def shared(t, q, kind, left, used, byte):  # type: ignore[no-untyped-def]
    """The state with the spans written behind the last of `t.spans`, a new one if need be.

    used: how many spans. q, byte: from where and by what the state is met. There is room for it.
    """
    first = t.sizes[SIZE_SPANS]
    recorded = numba.int64(t.recorded[q])
    slot = slot_of(t, kind, left, recorded, first, used)
    at = numba.int64(t.span_slots[slot])
    # States in one slot are chained by NEXT_ALIKE.
    while at >= 0:
        begin = t.state_info[at, FIRST]
        same = (
            t.state_info[at, KIND] == kind
            and t.state_info[at, DIGITS_LEFT] == left
            and t.recorded[at] == recorded
            and t.state_info[at, LAST] - begin == used
        )
        k = 0
        while same and k < used:
            for column in range(3):
                same = same and t.spans[begin + k, column] == t.spans[first + k, column]
            k += 1
        if same:
            return at
        at = numba.int64(t.state_info[at, NEXT_ALIKE])
    # Only a new state keeps the spans: SIZE_SPANS moves behind them.
    new = add_state(t, q, kind, left, byte)
    t.state_info[new, FIRST] = first
    t.state_info[new, LAST] = first + used
    t.state_info[new, NEXT_ALIKE] = t.span_slots[slot]
    t.span_slots[slot] = new
    t.sizes[SIZE_SPANS] += used
    return new


@inlined
def put(t, used, lo, hi, target):  # type: ignore[no-untyped-def]
    """Write one more span behind the last of `t.spans`; returns how many there are now."""
    at = t.sizes[SIZE_SPANS] + used
    t.spans[at, SPAN_FIRST] = lo
    t.spans[at, SPAN_LAST] = hi
    t.spans[at, SPAN_STATE] = target
    return used + 1


@inlined
def block(t, first, last, lo, hi, base, used):  # type: ignore[no-untyped-def]
    """Write the parts of spans `first` to `last` - 1 in lo..hi, less `base`; how many in all."""
    k = first
    while k < last and t.spans[k, SPAN_FIRST] <= hi:
        if t.spans[k, SPAN_LAST] >= lo:
            a = max(numba.int64(t.spans[k, SPAN_FIRST]), lo) - base
            b = min(numba.int64(t.spans[k, SPAN_LAST]), hi) - base
            used = put(t, used, a, b, t.spans[k, SPAN_STATE])
        k += 1
    return used


@inlined
def behind(t, first, last, lo):  # type: ignore[no-untyped-def]
    """The first of spans `first` to `last` - 1 that does not end before `lo` (binary search)."""
    while first < last:
        middle = (first + last) >> 1
        if t.spans[middle, SPAN_LAST] < lo:
            first = middle + 1
        else:
            last = middle
    return first


@inner(types.void(TABLES, types.int64))
def fill_text(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state between two characters.

    CHILD is the terminal that may end the text, or -1.
    """
    first, last = numba.int64(t.state_info[q, FIRST]), numba.int64(t.state_info[q, LAST])
    flags, terminal = t.state_info[q, FLAGS], numba.int64(t.state_info[q, CHILD])
    quoted = flags & QUOTED != 0
    escapable = False
    # ASCII characters are bytes.
    for k in range(first, last):
        lo, hi = numba.int64(t.spans[k, SPAN_FIRST]), numba.int64(t.spans[k, SPAN_LAST])
        for byte in range(lo, min(hi, 0x7F) + 1):
            if not (quoted and needs_escape(byte)):
                t.rows[q, byte] = t.spans[k, SPAN_STATE]
            elif quoted:
                escapable = True
        escapable = escapable or (quoted and flags & ESCAPES != 0)
    # Then the first bytes of longer characters. Most of them have one span all over, and those with
    # the same target share the state of the first one (`whole`), without looking at spans again.
    target, whole, width = numba.int64(-1), numba.int64(-1), 0  # of the last lead that is whole
    begin = first
    for lead in range(0xC2, 0xF5):
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        # Code points that begin with this byte: base to base + size - 1, from `lo` on (shorter
        # spellings and surrogates are not UTF-8).
        size = numba.int64(1) << (6 * more)
        base = size * (lead - (0xC0 if more == 1 else 0xE0 if more == 2 else 0xF0))
        lo = max(base, 0x80 if more == 1 else 0x800 if more == 2 else ASTRAL)
        begin = behind(t, begin, last, lo)
        if begin == last:
            break
        inside = (
            lo == base
            and t.spans[begin, SPAN_FIRST] <= lo
            and t.spans[begin, SPAN_LAST] >= base + size - 1
        )
        if inside and more == width and t.spans[begin, SPAN_STATE] == target:
            t.rows[q, lead] = whole
            continue
        used = block(t, begin, last, lo, base + size - 1, base, numba.int64(0))
        if used > 0:
            t.rows[q, lead] = shared(t, q, SPANS_UTF8, more, used, lead)
            if inside:
                target, whole, width = (
                    numba.int64(t.spans[begin, SPAN_STATE]),
                    t.rows[q, lead],
                    more,
                )
    if escapable:
        t.rows[q, BACKSLASH] = add_state(t, q, SPANS_ESCAPE, 0, BACKSLASH)
    if terminal >= 0:
        if quoted:
            t.rows[q, QUOTE] = -2 - terminal
        else:
            t.accept[q] = terminal


@inner(types.int64(TABLES, types.int64, types.int64, types.int64))
def high_units(t, q, first, last):  # type: ignore[no-untyped-def]
    """Make the states behind high surrogates, for the code points of spans `first` to `last` - 1.

    Their spans are left at the end of `t.spans`, the first one last; returns how many there are.
    """
    k = behind(t, first, last, ASTRAL)
    unit = numba.int64(0)
    count = numba.int64(0)
    while k < last:
        lo = max(numba.int64(t.spans[k, SPAN_FIRST]) - ASTRAL, 0)
        hi = numba.int64(t.spans[k, SPAN_LAST]) - ASTRAL
        unit = max(unit, lo >> 10)
        begin = unit << 10
        until = unit
        # All low surrogates lead to one state, for a run of high ones.
        if lo <= begin and hi >= begin + 1023:
            until = ((hi + 1) >> 10) - 1
            used = put(t, numba.int64(0), LOW_UNIT, LOW_UNIT + 1023, t.spans[k, SPAN_STATE])
        else:
            place = ASTRAL + begin
            used = block(t, k, last, place, place + 1023, place - LOW_UNIT, numba.int64(0))
        low = shared(t, q, SPANS_AFTER_HIGH, 0, used, LETTER_U)
        count += 1
        at = t.spans.shape[0] - count
        t.spans[at, SPAN_FIRST] = HIGH_UNIT + unit
        t.spans[at, SPAN_LAST] = HIGH_UNIT + until
        t.spans[at, SPAN_STATE] = low
        unit = until + 1
        while k < last and t.spans[k, SPAN_LAST] < ASTRAL + (unit << 10):
            k += 1
    return count


@inner(types.void(TABLES, types.int64))
def fill_escape_of_spans(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state behind the backslash of a text."""
    first, last = numba.int64(t.state_info[q, FIRST]), numba.int64(t.state_info[q, LAST])
    flags = t.state_info[q, FLAGS]
    # Short escapes: `\n` and the like.
    for k in range(first, last):
        for code in SHORT_ESCAPES:
            if t.spans[k, SPAN_FIRST] <= code <= t.spans[k, SPAN_LAST] and is_escapable(
                flags, code
            ):
                t.rows[q, short_escape(code)] = t.spans[k, SPAN_STATE]
    # `\u`: the spans of code units, in order; high surrogates stand between the others.
    used = numba.int64(0)
    if flags & ESCAPES != 0:
        halves = high_units(t, q, first, last)
        used = block(t, first, last, 0, HIGH_UNIT - 1, 0, used)
        for k in range(halves):
            at = t.spans.shape[0] - 1 - k
            used = put(
                t, used, t.spans[at, SPAN_FIRST], t.spans[at, SPAN_LAST], t.spans[at, SPAN_STATE]
            )
        used = block(t, first, last, HIGH_UNIT, ASTRAL - 1, 0, used)
    else:
        for lo, hi in HEX_ONLY:
            used = block(t, first, last, lo, hi, 0, used)
    if used > 0:
        t.rows[q, LETTER_U] = shared(t, q, SPANS_HEX, 4, used, LETTER_U)


@inner(types.void(TABLES, types.int64))
def fill_digits_of_spans(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state within the digits of a character, UTF-8 or hexadecimal."""
    kind, left = numba.int64(t.state_info[q, KIND]), numba.int64(t.state_info[q, DIGITS_LEFT])
    bits = 6 if kind == SPANS_UTF8 else 4
    size = numba.int64(1) << (bits * max(left - 1, 0))
    last = numba.int64(t.state_info[q, LAST])
    done = numba.int64(-1)
    for k in range(t.state_info[q, FIRST], last):
        lo, hi = numba.int64(t.spans[k, SPAN_FIRST]), numba.int64(t.spans[k, SPAN_LAST])
        whole = numba.int64(-1)  # the state behind digits all whose characters are in the span
        # A digit that two spans meet was done with the first, for all spans: `block` reads from k
        # on.
        for digit in range(max(lo // size, done + 1), min(hi // size, (1 << bits) - 1) + 1):
            byte = 0x80 | digit
            upper = byte
            if kind == SPANS_HEX:
                byte = 0x30 + digit if digit < 10 else 0x57 + digit
                if t.state_info[q, FLAGS] & ESCAPES != 0:
                    upper = 0x30 + digit if digit < 10 else 0x37 + digit
                else:
                    upper = byte
            target = numba.int64(t.spans[k, SPAN_STATE])
            begin = digit * size
            if left > 1:
                inside = lo <= begin and hi >= begin + size - 1
                target = whole
                if not inside or whole < 0:
                    end = begin + size - 1
                    used = block(t, k, last, begin, end, begin, numba.int64(0))
                    target = shared(t, q, kind, left - 1, used, byte)
                if inside:
                    whole = target
            t.rows[q, byte] = target
            t.rows[q, upper] = target
            done = numba.int64(digit)


@inner(types.int64(TABLES, types.int64))
def fill_span(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state that spells spans: 0 or NEED_STATES."""
    kind = t.state_info[q, KIND]
    count = numba.int64(t.state_info[q, LAST] - t.state_info[q, FIRST])
    # at most so many states and spans are made, whatever the row
    states, spans = 3 * count + 64, 12 * count + 128
    if (
        t.sizes[SIZE_STATES] + states > t.filled.shape[0]
        or t.sizes[SIZE_SPANS] + spans > t.spans.shape[0]
    ):
        t.need[WANTED] = states
        t.need[WANTED_WITH] = spans
        return numba.int64(NEED_STATES)
    t.accept[q] = -1
    for byte in range(256):
        t.rows[q, byte] = DEAD
    if kind == SPANS_TEXT:
        fill_text(t, q)
    elif kind == SPANS_ESCAPE:
        fill_escape_of_spans(t, q)
    elif kind == SPANS_UTF8 or kind == SPANS_HEX:
        fill_digits_of_spans(t, q)
    else:
        first = t.state_info[q, FIRST]
        for k in range(count):
            for column in range(3):
                t.spans[t.sizes[SIZE_SPANS] + k, column] = t.spans[first + k, column]
        if kind == SPANS_AFTER_HIGH:
            t.rows[q, BACKSLASH] = shared(t, q, SPANS_BACKSLASH, 0, count, BACKSLASH)
        else:
            t.rows[q, LETTER_U] = shared(t, q, SPANS_HEX, 4, count, LETTER_U)
    return numba.int64(0)


call_fill_span = called(fill_span, AT_FILL_SPANS)
