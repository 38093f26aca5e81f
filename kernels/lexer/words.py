r"""Make the lexer states within listed words: enum values, and keys that have a name.

The words are a trie that is not stored: a state is a range of the sorted words and how many letters
of them have been read (DEPTH). Beside the words other texts may be read; the FALLBACK of a state is
the one in which these would be. So a row is that of the fallback, but for the bytes that go on
within a word. Words are spelled plainly or as the inside of JSON strings, where each character has
several spellings (UTF-8, short escapes, `\u` with hex digits of either case, surrogate pairs), so
between two letters there are states for UTF-8 bytes and escapes.

Without the flag ESCAPES each character has one spelling: itself where a JSON string can hold it,
else a short escape, else `\u` with small hex digits.

Words are sorted by their UTF-16 code units, so that those which go on with the same bytes, in any
spelling, lie side by side. States are made when the one before them is filled, and kernels fill
them by themselves: Python only says where a list begins.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import (
    AFTER_HIGH_SURROGATE,
    AT_FILL_WORDS,
    CHILD,
    DEAD,
    DEPTH,
    DIGITS_LEFT,
    DONE,
    ESCAPES,
    FALLBACK,
    FIRST,
    FLAGS,
    FROM_BYTE,
    FROM_STATE,
    GUARD_BEGIN,
    GUARD_END,
    GUARDED,
    HIGH_SURROGATE,
    IN_ESCAPE,
    IN_HEX,
    IN_UTF8,
    IN_WORD,
    KIND,
    LAST,
    LOW_SURROGATE_BACKSLASH,
    NEED_ROW,
    NEED_STATES,
    OWNER,
    QUOTED,
    SIZE_STATES,
    TABLES,
    WANTED,
    WANTED_WITH,
    WORD_BEGIN,
    WORD_END,
    WORD_TERMINAL,
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
def is_hexable(flags, letter):  # type: ignore[no-untyped-def]
    r"""Whether a letter may be written as `\uXXXX`: without ESCAPES where nothing else does."""
    return flags & QUOTED != 0 and (
        flags & ESCAPES != 0 or (needs_escape(letter) and short_escape(letter) == 0)
    )


@inlined
def letter_at(t, word, depth):  # type: ignore[no-untyped-def]
    """The letter of a word at some depth, or -1 where the word ends."""
    at = t.words[word, WORD_BEGIN] + depth
    return numba.int64(t.letters[at]) if at < t.words[word, WORD_END] else numba.int64(-1)


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
    # 0xC0, 0xE0 or 0xF0, and the upper bits of the letter.
    return ((0xF00 >> (more + 1)) & 0xFF) | (letter >> (6 * more))


@inlined
def high_half(letter):  # type: ignore[no-untyped-def]
    """The first UTF-16 code unit of a letter: itself, or its high surrogate."""
    return letter if letter < 0x10000 else 0xD800 + ((letter - 0x10000) >> 10)


@inner(types.int64(TABLES, types.int64, types.int64, types.int64))
def fallback_behind(t, fallback, letter, flags):  # type: ignore[no-untyped-def]
    r"""The state that `fallback` goes to by a letter, DEAD, or NEED_ROW.

    By the letter's plain spelling; where a JSON string must escape it, by its short escape, or by
    `\uXXXX`, six bytes. All spellings lead to one state, so one of them will do.
    """
    escaped = flags & QUOTED != 0 and needs_escape(letter)
    short = numba.int64(short_escape(letter))
    more = numba.int64(more_bytes(letter))
    for k in range((2 if short else 6) if escaped else more + 1):
        if fallback < 0:
            return numba.int64(DEAD)
        if not has_row(t, fallback):
            t.need[WANTED] = fallback
            return numba.int64(NEED_ROW)
        byte = numba.int64(first_byte(letter))
        if escaped:
            digit = (letter >> (4 * (5 - k))) & 15 if k > 1 else 0
            byte = 0x30 + digit if digit < 10 else 0x57 + digit
            if k == 0:
                byte = numba.int64(BACKSLASH)
            elif k == 1:
                byte = short or numba.int64(LETTER_U)
        elif k > 0:
            byte = 0x80 | ((letter >> (6 * (more - k))) & 63)
        fallback = numba.int64(t.rows[fallback, byte])
    return fallback if fallback >= 0 else numba.int64(DEAD)


@inlined
def fallback_at(t, fallback, byte):  # type: ignore[no-untyped-def]
    """The state that `fallback` goes to by a byte, or -1."""
    return max(numba.int64(t.rows[fallback, byte]), -1) if fallback >= 0 else numba.int64(-1)


@inlined
def copied_state(t, q, kind, owner, fallback, came, byte):  # type: ignore[no-untyped-def]
    """A new state behind a byte of state `came`, with all other columns of state q: its number."""
    new = t.sizes[SIZE_STATES]
    t.sizes[SIZE_STATES] += 1
    for column in range(t.state_info.shape[1]):
        t.state_info[new, column] = t.state_info[q, column]
    t.state_info[new, KIND] = kind
    t.state_info[new, OWNER] = owner
    t.state_info[new, FALLBACK] = fallback
    t.state_info[new, FROM_STATE] = came
    t.state_info[new, FROM_BYTE] = byte
    t.state_info[new, DONE] = 0
    t.filled[new] = 0
    t.accept[new] = -1
    t.recorded[new] = t.recorded[q]
    return new


@inner(types.int64(TABLES, *[types.int64] * 7))
def add_state(t, q, kind, first, last, fallback, came, byte):  # type: ignore[no-untyped-def]
    """A new state within words `first` to `last` - 1, behind a byte of state `came`: its number.

    q: the state that has the other columns.
    """
    # OWNER is the state before the letter, however far the letter has been read.
    owner = q if t.state_info[q, KIND] == IN_WORD else numba.int64(t.state_info[q, OWNER])
    new = copied_state(t, q, kind, owner, fallback, came, byte)
    t.state_info[new, FIRST] = first
    t.state_info[new, LAST] = last
    # Words can be ruled out by the frame while they are read if nothing else goes on with these
    # bytes.
    guarded = fallback < 0 and t.state_info[q, FLAGS] & GUARDED != 0
    t.guard[new, GUARD_BEGIN] = first if guarded else -1
    t.guard[new, GUARD_END] = last if guarded else -1
    return new


@inlined
def begin_row(t, q):  # type: ignore[no-untyped-def]
    """Write the row of a state as that of its fallback."""
    fallback = t.state_info[q, FALLBACK]
    if fallback >= 0:
        t.accept[q] = t.accept[fallback]
        for byte in range(256):
            t.rows[q, byte] = t.rows[fallback, byte]
    else:
        t.accept[q] = -1
        for byte in range(256):
            t.rows[q, byte] = DEAD


@inner(types.void(TABLES, types.int64, types.int64, types.int64))
def spell(t, q, base, count):  # type: ignore[no-untyped-def]
    """Write how the next letters begin; behind them are states `base` to `base` + `count` - 1."""
    depth, flags = numba.int64(t.state_info[q, DEPTH]), numba.int64(t.state_info[q, FLAGS])
    fallback = numba.int64(t.state_info[q, FALLBACK])
    escape = numba.int64(-1)
    lead = numba.int64(-1)
    # Letters ascend, so those with the same first UTF-8 byte follow each other, and one state
    # (`lead`) stands for them all until the byte changes. All escapes begin with one backslash.
    for made in range(base, base + count):
        child = numba.int64(made)
        k = numba.int64(t.state_info[child, FIRST])
        end = numba.int64(t.state_info[child, LAST])
        letter = letter_at(t, k, depth)
        byte = numba.int64(first_byte(letter))
        if not (flags & QUOTED != 0 and needs_escape(letter)):
            if byte < 0x80:
                t.rows[q, byte] = child
            elif lead >= 0 and t.state_info[lead, FROM_BYTE] == byte:
                t.state_info[lead, LAST] = end
            else:
                lead = add_state(t, q, IN_UTF8, k, end, fallback_at(t, fallback, byte), q, byte)
                t.state_info[lead, DIGITS_LEFT] = more_bytes(letter)
                t.state_info[lead, CHILD] = child
                t.rows[q, byte] = lead
        if is_escapable(flags, letter):
            if escape < 0:
                there = fallback_at(t, fallback, BACKSLASH)
                escape = add_state(t, q, IN_ESCAPE, k, end, there, q, BACKSLASH)
                t.state_info[escape, CHILD] = child
                t.rows[q, BACKSLASH] = escape
            t.state_info[escape, LAST] = end
    # The ranges of `lead` and `escape` have grown since their guards were written.
    for new in range(base + count, t.sizes[SIZE_STATES]):
        if t.guard[new, GUARD_BEGIN] >= 0:
            t.guard[new, GUARD_END] = t.state_info[new, LAST]


@inner(types.int64(TABLES, types.int64))
def fill_word(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state between two letters: 0, NEED_ROW, or NEED_STATES."""
    depth, flags = numba.int64(t.state_info[q, DEPTH]), numba.int64(t.state_info[q, FLAGS])
    fallback = numba.int64(t.state_info[q, FALLBACK])
    first, last = numba.int64(t.state_info[q, FIRST]), numba.int64(t.state_info[q, LAST])
    terminal = numba.int64(-1)
    # Sorted first, a word that ends here is the range's first.
    if letter_at(t, first, depth) < 0:
        terminal = numba.int64(t.words[first, WORD_TERMINAL])
        first += 1
    # First pass: how many different letters come next, and whether all fallback rows are there.
    # Nothing has been written yet when this stops for a row or for room.
    count = 0
    before = numba.int64(-1)
    for k in range(first, last):
        letter = letter_at(t, k, depth)
        if letter != before:
            before = letter
            count += 1
            if fallback >= 0:
                code = fallback_behind(t, fallback, letter, flags)
                if code < DEAD:
                    return code
    # A state behind each letter, perhaps one for its first byte, and one behind a backslash.
    if t.sizes[SIZE_STATES] + 2 * count + 1 > t.filled.shape[0]:
        t.need[WANTED] = 2 * count + 1
        t.need[WANTED_WITH] = 0
        return numba.int64(NEED_STATES)
    begin_row(t, q)
    base = t.sizes[SIZE_STATES]
    t.state_info[q, CHILD] = base
    # Second pass: a state behind each letter, for the words that have it.
    k = first
    while k < last:
        letter = letter_at(t, k, depth)
        end = k + 1
        while end < last and letter_at(t, end, depth) == letter:
            end += 1
        after = fallback_behind(t, fallback, letter, flags)
        child = add_state(t, q, IN_WORD, k, end, after, q, 0)
        t.state_info[child, OWNER] = q
        t.state_info[child, DEPTH] = depth + 1
        k = end
    spell(t, q, base, count)
    # A quoted word ends by its quote, any other before whatever comes.
    if terminal >= 0:
        if flags & QUOTED != 0:
            t.rows[q, QUOTE] = -2 - terminal
        else:
            t.accept[q] = terminal
    return numba.int64(0)


@inner(types.int64(TABLES, types.int64))
def fill_escape(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state behind a backslash, of a letter or of a second half: 0."""
    begin_row(t, q)
    kind, fallback = t.state_info[q, KIND], numba.int64(t.state_info[q, FALLBACK])
    first, last = numba.int64(t.state_info[q, FIRST]), numba.int64(t.state_info[q, LAST])
    # Behind `\uD83D`, only the backslash of a low surrogate goes on in the word.
    if kind == AFTER_HIGH_SURROGATE:
        there = fallback_at(t, fallback, BACKSLASH)
        t.rows[q, BACKSLASH] = add_state(
            t, q, LOW_SURROGATE_BACKSLASH, first, last, there, q, BACKSLASH
        )
        return numba.int64(0)
    depth, flags = numba.int64(t.state_info[q, DEPTH]), numba.int64(t.state_info[q, FLAGS])
    hexable = kind == LOW_SURROGATE_BACKSLASH
    for k in range(first, last):
        hexable = hexable or is_hexable(flags, letter_at(t, k, depth))
    if hexable:
        there = fallback_at(t, fallback, LETTER_U)
        behind = add_state(t, q, IN_HEX, first, last, there, q, LETTER_U)
        t.state_info[behind, DIGITS_LEFT] = 4
        t.rows[q, LETTER_U] = behind
    if kind == LOW_SURROGATE_BACKSLASH:
        return numba.int64(0)
    # Children are numbered in the order of the letters.
    child = numba.int64(t.state_info[q, CHILD])
    before = letter_at(t, first, depth)
    for k in range(first, last):
        letter = letter_at(t, k, depth)
        if letter != before:
            before = letter
            child += 1
        byte = short_escape(letter)
        if byte != 0 and is_escapable(flags, letter):
            t.rows[q, byte] = min(child, t.sizes[SIZE_STATES] - 1)
    return numba.int64(0)


@inlined
def digit_of(t, q, letter):  # type: ignore[no-untyped-def]
    """The next digit of a letter behind the digits read: 6 bits in UTF-8, 4 in hex; -1 if none."""
    left = t.state_info[q, DIGITS_LEFT]
    if t.state_info[q, KIND] == IN_UTF8:
        return (letter >> (6 * (left - 1))) & 63
    unit = numba.int64(high_half(letter))
    if t.state_info[q, HIGH_SURROGATE] != 0:
        unit = 0xDC00 + ((letter - 0x10000) & 0x3FF)
    elif not is_hexable(t.state_info[q, FLAGS], letter):
        return numba.int64(-1)
    return (unit >> (4 * (left - 1))) & 15


@inner(types.int64(TABLES, types.int64))
def fill_digits(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state within the digits of a letter, UTF-8 or hex: 0."""
    begin_row(t, q)
    depth, fallback = numba.int64(t.state_info[q, DEPTH]), numba.int64(t.state_info[q, FALLBACK])
    left, hex_digits = t.state_info[q, DIGITS_LEFT], t.state_info[q, KIND] == IN_HEX
    child = numba.int64(t.state_info[q, CHILD])
    first, before = numba.int64(t.state_info[q, FIRST]), numba.int64(-1)
    last_digit, target = numba.int64(-1), numba.int64(-1)
    base = t.sizes[SIZE_STATES]
    meant = False
    # Letters with the same next digit follow each other and share a state; `base` is the first
    # state made here, so a target from `base` on is not yet behind the letter.
    for k in range(first, t.state_info[q, LAST]):
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
                    if t.state_info[q, FLAGS] & ESCAPES != 0:
                        upper = 0x30 + digit if digit < 10 else 0x37 + digit
                    else:
                        upper = byte
                half = numba.int64(t.state_info[q, HIGH_SURROGATE])
                # The four digits were a high surrogate: the low one is still to come.
                if left == 1 and hex_digits and half == 0 and letter > 0xFFFF:
                    half = numba.int64(high_half(letter))
                target = min(child, base - 1)
                if left > 1 or half != t.state_info[q, HIGH_SURROGATE]:
                    kind = (
                        numba.int64(t.state_info[q, KIND])
                        if left > 1
                        else numba.int64(AFTER_HIGH_SURROGATE)
                    )
                    target = add_state(
                        t, q, kind, k, k + 1, fallback_at(t, fallback, byte), q, byte
                    )
                    t.state_info[target, CHILD] = child
                    t.state_info[target, DIGITS_LEFT] = left - 1
                    t.state_info[target, HIGH_SURROGATE] = half
                t.rows[q, byte] = target
                t.rows[q, upper] = target
                last_digit = digit
        if meant and target >= base:
            t.state_info[target, LAST] = k + 1
            if t.guard[target, GUARD_BEGIN] >= 0:
                t.guard[target, GUARD_END] = k + 1
    return numba.int64(0)


ROOM = 24  # states that a row within a letter makes at most, and more


@inner(types.int64(TABLES, types.int64))
def fill_listed(t, q):  # type: ignore[no-untyped-def]
    """Fill the row of a state within listed words: 0, NEED_ROW, or NEED_STATES."""
    kind, fallback = t.state_info[q, KIND], t.state_info[q, FALLBACK]
    if fallback >= 0 and not has_row(t, fallback):
        t.need[WANTED] = fallback
        return numba.int64(NEED_ROW)
    if kind == IN_WORD:
        return fill_word(t, q)
    if t.sizes[SIZE_STATES] + ROOM > t.filled.shape[0]:
        t.need[WANTED] = ROOM
        t.need[WANTED_WITH] = 0
        return numba.int64(NEED_STATES)
    if kind == IN_UTF8 or kind == IN_HEX:
        return fill_digits(t, q)
    return fill_escape(t, q)


call_fill_listed = called(fill_listed, AT_FILL_WORDS)
