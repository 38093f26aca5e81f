"""Number the part of a stack that its future depends on: its signature.

A stack node has more than matters: which keys have come, say, where it only matters whether the
required ones have. Nodes with one signature have equal futures, but for keys that a walk looks up
beside it and notes in `Tables.lookups`. So a mask need not be made again for a node with the same
signature and the same answers to these lookups. Signatures are interned like the nodes themselves:
the signature of a node follows from its frame and the signature of the node below.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba
from structgen.kernels.parser.key_sets import includes, size_of
from structgen.kernels.parser.seen_keys import call_seen_remainders
from structgen.kernels.tables import (
    ALL_KEYS,
    ALWAYS_MORE,
    FRAME,
    IN_SCALAR,
    KEY_SET,
    NEED_SPACE,
    PARENT,
    REQUIRED_KEYS,
    SEEN_KEYS,
    SEEN_TEXTS,
    SIGNATURE,
    SIZE_SIGNATURES,
    slot_of,
)


@inlined
def key_progress(t, key_set, seen):  # type: ignore[no-untyped-def]
    """What a key set says: 2 if more keys may follow, plus 1 if the object may end."""
    every = numba.int64(t.key_sets[key_set, ALL_KEYS])
    needed = numba.int64(t.key_sets[key_set, REQUIRED_KEYS])
    found = numba.int64(0)
    if size_of(t, every) == size_of(t, seen):
        found += 2 if t.key_sets[key_set, ALWAYS_MORE] != 0 or not includes(t, seen, every) else 0
        found += 1 if includes(t, seen, needed) else 0
    return found


@inlined
def signature_key(t, stack_node, frame):  # type: ignore[no-untyped-def]
    """Pack what decides the future of a stack node: frame, key progress, and the node below.

    Bits 32 and up: the signature below, plus 1; 3 to 31: the frame; 1 and 2: `key_progress`; 0:
    whether texts were seen. frame: that of the node, or one that will do in its place.
    """
    parent = numba.int64(t.stack_nodes[stack_node, PARENT])
    seen, key_set = numba.int64(t.stack_nodes[stack_node, SEEN_KEYS]), t.frames[frame, KEY_SET]
    found = frame << 3
    if seen >= 0 and key_set >= 0:
        found |= key_progress(t, key_set, seen) << 1
    if t.stack_nodes[stack_node, SEEN_TEXTS] != -1:
        found |= 1
    if parent >= 0:
        found |= (numba.int64(t.stack_nodes[parent, SIGNATURE]) + 1) << 32
    return found


@inlined
def intern_signature(t, key):  # type: ignore[no-untyped-def]
    """The signature for a key of `signature_key`, or NEED_SPACE."""
    i = slot_of(t.signatures, key)
    if t.signatures[i, 0] != key:
        if 2 * t.sizes[SIZE_SIGNATURES] >= t.signatures.shape[0]:
            return numba.int64(NEED_SPACE)
        t.signatures[i, 0] = key
        t.signatures[i, 1] = t.sizes[SIZE_SIGNATURES]
        t.sizes[SIZE_SIGNATURES] += 1
    return t.signatures[i, 1]


@inlined
def signature_of(t, remainders, stack_node, for_scalar):  # type: ignore[no-untyped-def]
    """Twice the signature of a stack node; plus 1 if the captured text may become one seen before.

    remainders: scratch. for_scalar: not 0 where nothing but a scalar can be read first, so that the
    frame's IN_SCALAR will do in its place. Or NEED_SPACE.
    """
    # Outermost first, without recursion: find the lowest node without a signature, number it,
    # repeat.
    while t.stack_nodes[stack_node, SIGNATURE] < 0:
        at = numba.int64(stack_node)  # outermost first
        while (
            t.stack_nodes[at, PARENT] >= 0
            and t.stack_nodes[t.stack_nodes[at, PARENT], SIGNATURE] < 0
        ):
            at = numba.int64(t.stack_nodes[at, PARENT])
        found = intern_signature(t, signature_key(t, at, numba.int64(t.stack_nodes[at, FRAME])))
        if found < 0:
            return found
        t.stack_nodes[at, SIGNATURE] = found
    found = numba.int64(t.stack_nodes[stack_node, SIGNATURE])
    # Frames that differ only in what other values may come share their IN_SCALAR.
    if for_scalar != 0:
        frame = t.stack_nodes[stack_node, FRAME]
        found = intern_signature(
            t, signature_key(t, stack_node, numba.int64(t.frames[frame, IN_SCALAR]))
        )
        if found < 0:
            return found
    found = found << 1
    # With seen keys that begin with what was read, those keys matter one by one: other bits, no
    # sharing.
    if t.stack_nodes[stack_node, SEEN_TEXTS] >= 0:
        if call_seen_remainders(t, stack_node, remainders.text, remainders.start) != 0:
            found |= 1
    return found
