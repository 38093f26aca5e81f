"""In: listed words, and what else may be read in their place. Out: the lexer states within them.

A state within listed words stands at some place of some of them; beside them other texts may be
read, which its *rest* does: the state in which these would be. So a row is that of the rest, but
for the bytes that go on within a word. Words are spelled as the inside of JSON strings, where each
character has several spellings, or plainly. States are made when the one before them is filled, and
kernels fill them by themselves: Python only says where a list begins.

Words are sorted by their UTF-16 code units, so that those which go on with the same bytes, in any
spelling, lie side by side.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.tables import (
    AT_NAME,
    BEGIN,
    BYTE,
    CAME,
    CHILD,
    DEAD,
    DEPTH,
    DONE,
    END,
    ESCAPES,
    FIRST,
    FLAGS,
    GUARDED,
    HALF,
    IN_BACKSLASH,
    IN_DIGITS,
    IN_ESCAPE,
    IN_HEX,
    IN_HIGH,
    IN_WORD,
    KIND,
    LABEL,
    LAST,
    LEFT,
    NEED_ROW,
    NEED_STATES,
    OWNER,
    QUOTED,
    REST,
    TABLES,
    has_row,
)

QUOTE, BACKSLASH, LETTER_U = 0x22, 0x5C, 0x75


@inlined
def needs_escape(letter):  # type: ignore[no-untyped-def]
    """Whether a JSON string cannot hold a letter as it is."""
    return letter < 0x20 or letter == QUOTE or letter == BACKSLASH


@inlined
def is_escapable(flags, letter):  # type: ignore[no-untyped-def]
    """Whether a letter may be written as an escape."""
    return flags & QUOTED != 0 and (flags & ESCAPES != 0 or needs_escape(letter))


@inlined
def letter_at(t, word, depth):  # type: ignore[no-untyped-def]
    """The letter of a word at some depth, or -1 where the word ends."""
    at = t.words[word, BEGIN] + depth
    return numba.int64(t.letters[at]) if at < t.words[word, END] else numba.int64(-1)


@inlined
def short_escape(letter):  # type: ignore[no-untyped-def]
    """The byte that stands for a letter behind a backslash, or 0."""
    if letter == QUOTE or letter == BACKSLASH or letter == 0x2F:
        return letter
    if letter == 8:
        return 0x62
    if letter == 12:
        return 0x66
    if letter == 10:
        return 0x6E
    if letter == 13:
        return 0x72
    if letter == 9:
        return 0x74
    return 0


@inlined
def more_bytes(letter):  # type: ignore[no-untyped-def]
    """How many bytes follow the first one of a letter in UTF-8."""
    return 0 if letter < 0x80 else 1 if letter < 0x800 else 2 if letter < 0x10000 else 3


@inlined
def first_byte(letter):  # type: ignore[no-untyped-def]
    """The first byte of a letter in UTF-8."""
    more = more_bytes(letter)
    if more == 0:
        return letter
    return ((0xF00 >> (more + 1)) & 0xFF) | (letter >> (6 * more))


@inlined
def high_half(letter):  # type: ignore[no-untyped-def]
    """The first UTF-16 code unit of a letter."""
    return letter if letter < 0x10000 else 0xD800 + ((letter - 0x10000) >> 10)


@inner(types.int64(TABLES, types.int64, types.int64, types.int64))
def rest_behind(t, rest, letter, flags):  # type: ignore[no-untyped-def]
    """The state that `rest` goes to by a letter, DEAD, or NEED_ROW."""
    escaped = flags & QUOTED != 0 and needs_escape(letter)
    more = numba.int64(more_bytes(letter))
    for k in range(6 if escaped else more + 1):
        if rest < 0:
            return numba.int64(DEAD)
        if not has_row(t, rest):
            t.need[0] = rest
            return numba.int64(NEED_ROW)
        byte = numba.int64(first_byte(letter))
        if escaped:
            digit = (letter >> (4 * (5 - k))) & 15 if k > 1 else 0
            byte = 0x30 + digit if digit < 10 else 0x57 + digit
            if k == 0:
                byte = numba.int64(BACKSLASH)
            elif k == 1:
                byte = numba.int64(LETTER_U)
        elif k > 0:
            byte = 0x80 | ((letter >> (6 * (more - k))) & 63)
        rest = numba.int64(t.rows[rest, byte])
    return rest if rest >= 0 else numba.int64(DEAD)


@inlined
def at_byte(t, rest, byte):  # type: ignore[no-untyped-def]
    """The state that `rest` goes to by a byte, or -1."""
    return max(numba.int64(t.rows[rest, byte]), -1) if rest >= 0 else numba.int64(-1)


@inner(types.int64(TABLES, *[types.int64] * 7))
def add(t, q, kind, first, last, rest, came, byte):  # type: ignore[no-untyped-def]
    """A new state within the words `first` to `last`, around the place of state q: its number."""
    new = t.sizes[6]
    t.sizes[6] += 1
    for column in range(t.within.shape[1]):
        t.within[new, column] = t.within[q, column]
    t.within[new, KIND] = kind
    t.within[new, OWNER] = q if t.within[q, KIND] == IN_WORD else t.within[q, OWNER]
    t.within[new, FIRST] = first
    t.within[new, LAST] = last
    t.within[new, REST] = rest
    t.within[new, CAME] = came
    t.within[new, BYTE] = byte
    t.within[new, DONE] = 0
    t.filled[new] = 0
    t.accept[new] = -1
    t.recorded[new] = t.recorded[q]
    guarded = rest < 0 and t.within[q, FLAGS] & GUARDED != 0
    t.guard[new, 0] = first if guarded else -1
    t.guard[new, 1] = last if guarded else -1
    return new


@inlined
def begin_row(t, q):  # type: ignore[no-untyped-def]
    """Write the row of a state as that of its rest."""
    rest = t.within[q, REST]
    if rest >= 0:
        t.accept[q] = t.accept[rest]
        for byte in range(256):
            t.rows[q, byte] = t.rows[rest, byte]
    else:
        t.accept[q] = -1
        for byte in range(256):
            t.rows[q, byte] = DEAD


@inner(types.void(TABLES, types.int64, types.int64, types.int64))
def spell(t, q, base, count):  # type: ignore[no-untyped-def]
    """Write how the next letters begin, behind which the states `base`, ... (`count`) are."""
    depth, flags = numba.int64(t.within[q, DEPTH]), numba.int64(t.within[q, FLAGS])
    rest = numba.int64(t.within[q, REST])
    escape = numba.int64(-1)
    lead = numba.int64(-1)
    for made in range(base, base + count):
        child = numba.int64(made)
        k = numba.int64(t.within[child, FIRST])
        end = numba.int64(t.within[child, LAST])
        letter = letter_at(t, k, depth)
        byte = numba.int64(first_byte(letter))
        if not (flags & QUOTED != 0 and needs_escape(letter)):
            if byte < 0x80:
                t.rows[q, byte] = child
            elif lead >= 0 and t.within[lead, BYTE] == byte:
                t.within[lead, LAST] = end
            else:
                lead = add(t, q, IN_DIGITS, k, end, at_byte(t, rest, byte), q, byte)
                t.within[lead, LEFT] = more_bytes(letter)
                t.within[lead, CHILD] = child
                t.rows[q, byte] = lead
        if is_escapable(flags, letter):
            if escape < 0:
                there = at_byte(t, rest, BACKSLASH)
                escape = add(t, q, IN_ESCAPE, k, end, there, q, BACKSLASH)
                t.within[escape, CHILD] = child
                t.rows[q, BACKSLASH] = escape
            t.within[escape, LAST] = end
    for new in range(base + count, t.sizes[6]):
        if t.guard[new, 0] >= 0:
            t.guard[new, 1] = t.within[new, LAST]


@inner(types.int64(TABLES, types.int64))
def fill_word(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state between two letters: 0, NEED_ROW, or NEED_STATES."""
    depth, flags = numba.int64(t.within[q, DEPTH]), numba.int64(t.within[q, FLAGS])
    rest = numba.int64(t.within[q, REST])
    first, last = numba.int64(t.within[q, FIRST]), numba.int64(t.within[q, LAST])
    label = numba.int64(-1)
    if letter_at(t, first, depth) < 0:
        label = numba.int64(t.words[first, LABEL])
        first += 1
    count = 0
    before = numba.int64(-1)
    for k in range(first, last):
        letter = letter_at(t, k, depth)
        if letter != before:
            before = letter
            count += 1
            if rest >= 0:
                code = rest_behind(t, rest, letter, flags)
                if code < DEAD:
                    return code
    if t.sizes[6] + 2 * count + 1 > t.filled.shape[0]:
        t.need[0] = 2 * count + 1
        t.need[1] = 0
        return numba.int64(NEED_STATES)
    begin_row(t, q)
    base = t.sizes[6]
    t.within[q, CHILD] = base
    k = first
    while k < last:
        letter = letter_at(t, k, depth)
        end = k + 1
        while end < last and letter_at(t, end, depth) == letter:
            end += 1
        after = rest_behind(t, rest, letter, flags)
        child = add(t, q, IN_WORD, k, end, after, q, 0)
        t.within[child, OWNER] = q
        t.within[child, DEPTH] = depth + 1
        k = end
    spell(t, q, base, count)
    if label >= 0:
        if flags & QUOTED != 0:
            t.rows[q, QUOTE] = -2 - label
        else:
            t.accept[q] = label
    return numba.int64(0)


@inner(types.int64(TABLES, types.int64))
def fill_escape(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state behind a backslash, of a letter or of a second half: 0."""
    begin_row(t, q)
    kind, rest = t.within[q, KIND], numba.int64(t.within[q, REST])
    first, last = numba.int64(t.within[q, FIRST]), numba.int64(t.within[q, LAST])
    if kind == IN_HIGH:
        there = at_byte(t, rest, BACKSLASH)
        t.rows[q, BACKSLASH] = add(t, q, IN_BACKSLASH, first, last, there, q, BACKSLASH)
        return numba.int64(0)
    behind = add(t, q, IN_HEX, first, last, at_byte(t, rest, LETTER_U), q, LETTER_U)
    t.within[behind, LEFT] = 4
    t.rows[q, LETTER_U] = behind
    if kind == IN_BACKSLASH:
        return numba.int64(0)
    depth, flags = numba.int64(t.within[q, DEPTH]), numba.int64(t.within[q, FLAGS])
    child = numba.int64(t.within[q, CHILD])
    before = letter_at(t, first, depth)
    for k in range(first, last):
        letter = letter_at(t, k, depth)
        if letter != before:
            before = letter
            child += 1
        byte = short_escape(letter)
        if byte != 0 and is_escapable(flags, letter):
            t.rows[q, byte] = min(child, t.sizes[6] - 1)
    return numba.int64(0)


@inlined
def digit_of(t, q, letter):  # type: ignore[no-untyped-def]
    """The next digit of a letter behind the digits read: 6 bits in UTF-8, 4 in hex; -1 if none."""
    left = t.within[q, LEFT]
    if t.within[q, KIND] == IN_DIGITS:
        return (letter >> (6 * (left - 1))) & 63
    unit = numba.int64(high_half(letter))
    if t.within[q, HALF] != 0:
        unit = 0xDC00 + ((letter - 0x10000) & 0x3FF)
    elif not is_escapable(t.within[q, FLAGS], letter):
        return numba.int64(-1)
    return (unit >> (4 * (left - 1))) & 15


@inner(types.int64(TABLES, types.int64))
def fill_digits(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state within the digits of a letter, UTF-8 or hex: 0."""
    begin_row(t, q)
    depth, rest = numba.int64(t.within[q, DEPTH]), numba.int64(t.within[q, REST])
    left, hex_digits = t.within[q, LEFT], t.within[q, KIND] == IN_HEX
    child = numba.int64(t.within[q, CHILD])
    first, before = numba.int64(t.within[q, FIRST]), numba.int64(-1)
    last_digit, target = numba.int64(-1), numba.int64(-1)
    base = t.sizes[6]
    meant = False
    for k in range(first, t.within[q, LAST]):
        letter = letter_at(t, k, depth)
        if letter != before:
            if k > first:
                child += 1
            before = letter
            digit = numba.int64(digit_of(t, q, letter))
            meant = digit >= 0
            if meant and digit != last_digit:
                byte = 0x80 | digit
                upper = byte
                if hex_digits:
                    byte = 0x30 + digit if digit < 10 else 0x57 + digit
                    upper = 0x30 + digit if digit < 10 else 0x37 + digit
                half = numba.int64(t.within[q, HALF])
                if left == 1 and hex_digits and half == 0 and letter > 0xFFFF:
                    half = numba.int64(high_half(letter))
                target = min(child, base - 1)
                if left > 1 or half != t.within[q, HALF]:
                    kind = numba.int64(t.within[q, KIND]) if left > 1 else numba.int64(IN_HIGH)
                    target = add(t, q, kind, k, k + 1, at_byte(t, rest, byte), q, byte)
                    t.within[target, CHILD] = child
                    t.within[target, LEFT] = left - 1
                    t.within[target, HALF] = half
                t.rows[q, byte] = target
                t.rows[q, upper] = target
                last_digit = digit
        if meant and target >= base:
            t.within[target, LAST] = k + 1
            if t.guard[target, 0] >= 0:
                t.guard[target, 1] = k + 1
    return numba.int64(0)


ROOM = 24  # states that a row within a letter makes at most, and more


@inner(types.int64(TABLES, types.int64))
def fill_name(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state within listed words: 0, NEED_ROW, or NEED_STATES."""
    kind, rest = t.within[q, KIND], t.within[q, REST]
    if rest >= 0 and not has_row(t, rest):
        t.need[0] = rest
        return numba.int64(NEED_ROW)
    if kind == IN_WORD:
        return fill_word(t, q)
    if t.sizes[6] + ROOM > t.filled.shape[0]:
        t.need[0] = ROOM
        t.need[1] = 0
        return numba.int64(NEED_STATES)
    if kind == IN_DIGITS or kind == IN_HEX:
        return fill_digits(t, q)
    return fill_escape(t, q)


call_fill_name = called(fill_name, AT_NAME)
