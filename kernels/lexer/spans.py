"""In: spans of code points and where they lead. Out: the rows of the lexer states that spell them.

Python says of a text's state only which code points lead to which states. The states on the way, in
UTF-8 or in escapes inside JSON strings, are made here, and shared wherever their spans are equal.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.lexer.words import (
    BACKSLASH,
    LETTER_U,
    QUOTE,
    is_escapable,
    needs_escape,
    short_escape,
)
from structgen.kernels.tables import (
    AT_SPAN,
    BYTE,
    CAME,
    CHILD,
    DEAD,
    DONE,
    ESCAPES,
    FIRST,
    FLAGS,
    KIND,
    LAST,
    LEFT,
    NEED_STATES,
    NEXT,
    OWNER,
    QUOTED,
    REST,
    SPANS_DIGITS,
    SPANS_ESCAPE,
    SPANS_HEX,
    SPANS_HIGH,
    SPANS_TEXT,
    SPANS_U,
    TABLES,
)

ASTRAL, HIGH_UNIT, LOW_UNIT = 0x10000, 0xD800, 0xDC00
SHORT_ESCAPES = (QUOTE, BACKSLASH, 0x2F, 8, 12, 10, 13, 9)


@inlined
def added(t, q, kind, left, byte):  # type: ignore[no-untyped-def]
    """A new state behind `byte` of state q, with the same spans and flags."""
    new = t.sizes[6]
    t.sizes[6] += 1
    for column in range(t.within.shape[1]):
        t.within[new, column] = t.within[q, column]
    t.within[new, KIND] = kind
    t.within[new, OWNER] = q
    t.within[new, REST] = -1
    t.within[new, LEFT] = left
    t.within[new, CAME] = q
    t.within[new, BYTE] = byte
    t.within[new, DONE] = 0
    t.within[new, NEXT] = -1
    t.filled[new] = 0
    t.accept[new] = -1
    t.guard[new, 0] = -1
    t.recorded[new] = t.recorded[q]
    return new


@inlined
def slot_of(t, kind, left, recorded, first, used):  # type: ignore[no-untyped-def]
    """The slot of `alike` for states with the `used` spans from `first` on."""
    h = kind * 40503 + left * 60493 + recorded * 48271
    for k in range(first, first + used):
        for column in range(3):
            h = ((h * 31) ^ t.spans[k, column]) & 0xFFFFFFFF
    return (h ^ (h >> 15)) & (t.alike.shape[0] - 1)


@lean(types.void(TABLES))
def find_again(t):  # type: ignore[no-untyped-def]
    """Write all states that are shared into `alike`, which is empty."""
    for q in range(t.sizes[6]):
        kind = numba.int64(t.within[q, KIND])
        if kind == SPANS_DIGITS or kind == SPANS_HEX or kind == SPANS_HIGH or kind == SPANS_U:
            left, recorded = numba.int64(t.within[q, LEFT]), numba.int64(t.recorded[q])
            first = numba.int64(t.within[q, FIRST])
            slot = slot_of(t, kind, left, recorded, first, t.within[q, LAST] - first)
            t.within[q, NEXT] = t.alike[slot]
            t.alike[slot] = q


@inner(types.int64(TABLES, *[types.int64] * 5))
def shared(t, q, kind, left, used, byte):  # type: ignore[no-untyped-def]
    """The state with the spans written behind the last of `t.spans`, `used` of them.

    q, byte: from where and by what it is met. There is room for it.
    """
    first = t.sizes[9]
    recorded = numba.int64(t.recorded[q])
    slot = slot_of(t, kind, left, recorded, first, used)
    at = numba.int64(t.alike[slot])
    while at >= 0:
        begin = t.within[at, FIRST]
        same = (
            t.within[at, KIND] == kind
            and t.within[at, LEFT] == left
            and t.recorded[at] == recorded
            and t.within[at, LAST] - begin == used
        )
        k = 0
        while same and k < used:
            for column in range(3):
                same = same and t.spans[begin + k, column] == t.spans[first + k, column]
            k += 1
        if same:
            return at
        at = numba.int64(t.within[at, NEXT])
    new = added(t, q, kind, left, byte)
    t.within[new, FIRST] = first
    t.within[new, LAST] = first + used
    t.within[new, NEXT] = t.alike[slot]
    t.alike[slot] = new
    t.sizes[9] += used
    return new


@inlined
def put(t, used, lo, hi, target):  # type: ignore[no-untyped-def]
    """Write one more span behind the last of `t.spans`; returns how many there are now."""
    at = t.sizes[9] + used
    t.spans[at, 0] = lo
    t.spans[at, 1] = hi
    t.spans[at, 2] = target
    return used + 1


@inlined
def block(t, first, last, lo, hi, base, used):  # type: ignore[no-untyped-def]
    """Write the parts of spans `first` to `last` in lo..hi, relative to `base`; how many in all."""
    k = first
    while k < last and t.spans[k, 0] <= hi:
        if t.spans[k, 1] >= lo:
            a = max(numba.int64(t.spans[k, 0]), lo) - base
            b = min(numba.int64(t.spans[k, 1]), hi) - base
            used = put(t, used, a, b, t.spans[k, 2])
        k += 1
    return used


@inlined
def behind(t, first, last, lo):  # type: ignore[no-untyped-def]
    """The first of spans `first` to `last` that does not end before `lo`."""
    while first < last:
        middle = (first + last) >> 1
        if t.spans[middle, 1] < lo:
            first = middle + 1
        else:
            last = middle
    return first


@inner(types.void(TABLES, types.int64))
def fill_text(t, q):  # type: ignore[no-untyped-def]
    """The row of a state between two characters. Its end's label is in column CHILD, or -1."""
    first, last = numba.int64(t.within[q, FIRST]), numba.int64(t.within[q, LAST])
    flags, label = t.within[q, FLAGS], numba.int64(t.within[q, CHILD])
    quoted = flags & QUOTED != 0
    escapable = False
    for k in range(first, last):
        lo, hi = numba.int64(t.spans[k, 0]), numba.int64(t.spans[k, 1])
        for byte in range(lo, min(hi, 0x7F) + 1):
            if not (quoted and needs_escape(byte)):
                t.rows[q, byte] = t.spans[k, 2]
            elif quoted:
                escapable = True
        escapable = escapable or (quoted and flags & ESCAPES != 0)
    target, whole, width = numba.int64(-1), numba.int64(-1), 0  # of the last lead that is whole
    begin = first
    for lead in range(0xC2, 0xF5):
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        size = numba.int64(1) << (6 * more)
        base = size * (lead - (0xC0 if more == 1 else 0xE0 if more == 2 else 0xF0))
        lo = max(base, 0x80 if more == 1 else 0x800 if more == 2 else ASTRAL)
        begin = behind(t, begin, last, lo)
        if begin == last:
            break
        inside = lo == base and t.spans[begin, 0] <= lo and t.spans[begin, 1] >= base + size - 1
        if inside and more == width and t.spans[begin, 2] == target:
            t.rows[q, lead] = whole
            continue
        used = block(t, begin, last, lo, base + size - 1, base, numba.int64(0))
        if used > 0:
            t.rows[q, lead] = shared(t, q, SPANS_DIGITS, more, used, lead)
            if inside:
                target, whole, width = numba.int64(t.spans[begin, 2]), t.rows[q, lead], more
    if escapable:
        t.rows[q, BACKSLASH] = added(t, q, SPANS_ESCAPE, 0, BACKSLASH)
    if label >= 0:
        if quoted:
            t.rows[q, QUOTE] = -2 - label
        else:
            t.accept[q] = label


@inner(types.int64(TABLES, types.int64, types.int64, types.int64))
def high_units(t, q, first, last):  # type: ignore[no-untyped-def]
    """Make the states behind first halves, for the code points of spans `first` to `last`.

    Their spans are left at the end of `t.spans`, the first one last; returns how many there are.
    """
    k = behind(t, first, last, ASTRAL)
    unit = numba.int64(0)
    count = numba.int64(0)
    while k < last:
        lo = max(numba.int64(t.spans[k, 0]) - ASTRAL, 0)
        hi = numba.int64(t.spans[k, 1]) - ASTRAL
        unit = max(unit, lo >> 10)
        begin = unit << 10
        until = unit
        if lo <= begin and hi >= begin + 1023:
            until = ((hi + 1) >> 10) - 1
            used = put(t, numba.int64(0), LOW_UNIT, LOW_UNIT + 1023, t.spans[k, 2])
        else:
            place = ASTRAL + begin
            used = block(t, k, last, place, place + 1023, place - LOW_UNIT, numba.int64(0))
        low = shared(t, q, SPANS_HIGH, 0, used, LETTER_U)
        count += 1
        at = t.spans.shape[0] - count
        t.spans[at, 0] = HIGH_UNIT + unit
        t.spans[at, 1] = HIGH_UNIT + until
        t.spans[at, 2] = low
        unit = until + 1
        while k < last and t.spans[k, 1] < ASTRAL + (unit << 10):
            k += 1
    return count


@inner(types.void(TABLES, types.int64))
def fill_escape_of_spans(t, q):  # type: ignore[no-untyped-def]
    """The row of a state behind the backslash of a text."""
    first, last = numba.int64(t.within[q, FIRST]), numba.int64(t.within[q, LAST])
    flags = t.within[q, FLAGS]
    for k in range(first, last):
        for code in SHORT_ESCAPES:
            if t.spans[k, 0] <= code <= t.spans[k, 1] and is_escapable(flags, code):
                t.rows[q, short_escape(code)] = t.spans[k, 2]
    used = numba.int64(0)
    if flags & ESCAPES != 0:
        halves = high_units(t, q, first, last)
        used = block(t, first, last, 0, HIGH_UNIT - 1, 0, used)
        for k in range(halves):
            at = t.spans.shape[0] - 1 - k
            used = put(t, used, t.spans[at, 0], t.spans[at, 1], t.spans[at, 2])
        used = block(t, first, last, HIGH_UNIT, ASTRAL - 1, 0, used)
    else:
        used = block(t, first, last, 0, 0x1F, 0, used)
        used = block(t, first, last, QUOTE, QUOTE, 0, used)
        used = block(t, first, last, BACKSLASH, BACKSLASH, 0, used)
    if used > 0:
        t.rows[q, LETTER_U] = shared(t, q, SPANS_HEX, 4, used, LETTER_U)


@inner(types.void(TABLES, types.int64))
def fill_digits_of_spans(t, q):  # type: ignore[no-untyped-def]
    """The row of a state within the digits of a character, UTF-8 or hexadecimal."""
    kind, left = numba.int64(t.within[q, KIND]), numba.int64(t.within[q, LEFT])
    bits = 6 if kind == SPANS_DIGITS else 4
    size = numba.int64(1) << (bits * max(left - 1, 0))
    last = numba.int64(t.within[q, LAST])
    done = numba.int64(-1)
    for k in range(t.within[q, FIRST], last):
        lo, hi = numba.int64(t.spans[k, 0]), numba.int64(t.spans[k, 1])
        whole = numba.int64(-1)  # the state behind digits all whose characters are in the span
        for digit in range(max(lo // size, done + 1), min(hi // size, (1 << bits) - 1) + 1):
            byte = 0x80 | digit
            upper = byte
            if kind == SPANS_HEX:
                byte = 0x30 + digit if digit < 10 else 0x57 + digit
                upper = 0x30 + digit if digit < 10 else 0x37 + digit
            target = numba.int64(t.spans[k, 2])
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
    kind = t.within[q, KIND]
    count = numba.int64(t.within[q, LAST] - t.within[q, FIRST])
    # at most so many states and spans are made, whatever the row
    states, spans = 3 * count + 64, 12 * count + 128
    if t.sizes[6] + states > t.filled.shape[0] or t.sizes[9] + spans > t.spans.shape[0]:
        t.need[0] = states
        t.need[1] = spans
        return numba.int64(NEED_STATES)
    t.accept[q] = -1
    for byte in range(256):
        t.rows[q, byte] = DEAD
    if kind == SPANS_TEXT:
        fill_text(t, q)
    elif kind == SPANS_ESCAPE:
        fill_escape_of_spans(t, q)
    elif kind == SPANS_DIGITS or kind == SPANS_HEX:
        fill_digits_of_spans(t, q)
    else:
        first = t.within[q, FIRST]
        for k in range(count):
            for column in range(3):
                t.spans[t.sizes[9] + k, column] = t.spans[first + k, column]
        if kind == SPANS_HIGH:
            t.rows[q, BACKSLASH] = shared(t, q, SPANS_U, 0, count, BACKSLASH)
        else:
            t.rows[q, LETTER_U] = shared(t, q, SPANS_HEX, 4, count, LETTER_U)
    return numba.int64(0)


call_fill_span = called(fill_span, AT_SPAN)
