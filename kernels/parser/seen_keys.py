r"""Compare captured texts, such as keys that the schema does not name, with those seen before.

A text is a chain of stack nodes, one per byte, as it is spelled in the JSON string. It is compared
decoded: `"\u0061"` and `"a"` are the same key. The texts seen in a frame are linked by SEEN_TEXTS.
"""

from __future__ import annotations

import numpy as np

from structgen.kernels.build.decorators import called, inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.build.memory import borrowed, give_back
from structgen.kernels.tables import (
    AT_IS_SEEN,
    AT_SEEN_REMAINDERS,
    I64,
    SEEN_TEXTS,
    TABLES,
    U8,
)

BACKSLASH = 0x5C
# b f n r t, and the bytes that they stand for
_SHORT = np.array([[0x62, 8], [0x66, 12], [0x6E, 10], [0x72, 13], [0x74, 9]], np.int64)


@lean(types.int64(I64, types.int64))
def captured_length(capture_links, stack_node):  # type: ignore[no-untyped-def]
    """How many bytes a stack node has captured."""
    count = 0
    while capture_links[stack_node] >= 0:
        count += 1
        stack_node = capture_links[stack_node] >> 8
    return numba.int64(count)


@lean(types.int64(I64, types.int64, U8))
def decode_captured(capture_links, stack_node, out):  # type: ignore[no-untyped-def]
    """Write the text that a stack node has captured, JSON escapes as UTF-8; returns its length.

    out: uint8[captured_length(stack_node)]. Unpaired surrogates become three bytes each.
    """
    n = captured_length(capture_links, stack_node)
    # The chain leads from the last byte to the first.
    for k in range(n - 1, -1, -1):
        out[k] = capture_links[stack_node] & 0xFF
        stack_node = capture_links[stack_node] >> 8
    # Decode in place: a decoded escape is never longer than its spelling.
    i, used, high = 0, 0, 0
    while i < n:
        byte = numba.int64(out[i])
        i += 1
        if byte != BACKSLASH or i >= n:
            out[used] = byte
            used += 1
            high = 0
            continue
        byte = numba.int64(out[i])
        i += 1
        if byte != 0x75:
            high = 0
            for k in range(_SHORT.shape[0]):
                if _SHORT[k, 0] == byte:
                    byte = _SHORT[k, 1]
            out[used] = byte
            used += 1
            continue
        code = 0
        for k in range(i, i + 4):
            digit = numba.int64(out[k])
            code = code * 16 + (digit & 15) + (9 if digit > 0x39 else 0)
        i += 4
        if 0xDC00 <= code < 0xE000 and high != 0:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00
            used -= 3  # the high half that was written
        high = code if 0xD800 <= code < 0xDC00 else 0
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        for k in range(size - 1, 0, -1):
            out[used + k] = 0x80 | (code & 63)
            code >>= 6
        out[used] = code if size == 1 else (0xF00 >> size) & 0xFF | code
        used += size
    return numba.int64(used)


@inlined
def begins_with(text, start, size):  # type: ignore[no-untyped-def]
    """Whether the first `size` bytes are equal; numba's own comparison takes seconds to compile."""
    same = True
    for k in range(size):
        same = same and text[k] == start[k]
    return same


@lean(types.boolean(TABLES, types.int64))
def is_seen(t, stack_node):  # type: ignore[no-untyped-def]
    """Whether the captured key is one of those seen before it in its object, however spelled."""
    other = numba.int64(t.stack_nodes[stack_node, SEEN_TEXTS])
    if other < 0:
        return False
    text = borrowed(captured_length(t.capture_links, stack_node))
    size = decode_captured(t.capture_links, stack_node, text)
    seen = False
    while other >= 0 and not seen:
        known = borrowed(captured_length(t.capture_links, other))
        seen = decode_captured(t.capture_links, other, known) == size
        seen = seen and begins_with(known, text, size)
        give_back(known)
        other = numba.int64(t.stack_nodes[other, SEEN_TEXTS])
    give_back(text)
    return seen


call_is_seen = called(is_seen, AT_IS_SEEN)


@lean(types.int64(TABLES, types.int64, U8, I64))
def seen_remainders(t, stack_node, text, start):  # type: ignore[no-untyped-def]
    """Write down what would complete the captured beginning of a key to one that was seen before.

    text: uint8[n], receives the remainders; remainder k is `text[start[k]:start[k + 1]]`. Returns
    how many there are, or -1 when there is no room, or when the beginning has an escape, so that it
    cannot be compared byte by byte.
    """
    size = captured_length(t.capture_links, stack_node)
    begun = borrowed(size)
    count, at = 0, stack_node
    for k in range(size - 1, -1, -1):
        begun[k] = t.capture_links[at] & 0xFF
        at = t.capture_links[at] >> 8
        if begun[k] == BACKSLASH:
            count = -1
    other = numba.int64(t.stack_nodes[stack_node, SEEN_TEXTS])
    # Walk the keys seen; those that begin with what was read leave their last bytes.
    while other >= 0 and count >= 0:
        known = borrowed(captured_length(t.capture_links, other))
        length = decode_captured(t.capture_links, other, known)
        if length > size and begins_with(known, begun, size):
            used = start[count]
            if count + 2 > start.shape[0] or used + length - size > text.shape[0]:
                count = -1
            else:
                for k in range(size, length):
                    text[used + k - size] = known[k]
                count += 1
                start[count] = used + length - size
        give_back(known)
        other = numba.int64(t.stack_nodes[other, SEEN_TEXTS])
    give_back(begun)
    return numba.int64(count)


call_seen_remainders = called(seen_remainders, AT_SEEN_REMAINDERS)
