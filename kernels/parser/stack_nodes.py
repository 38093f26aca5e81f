"""Make and find stack nodes, the interned frames of a graph-structured stack.

Equal nodes have the same number (hash consing), so a position is two numbers and a mask made for
one history serves all that lead to the same stack. Nodes that capture bytes form chains instead,
one node per byte, found by their link (node before << 8 | byte).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba
from structgen.kernels.tables import (
    CAPTURE_START,
    CAPTURED,
    FRAME,
    NEED_SPACE,
    PARENT,
    SEEN_KEYS,
    SEEN_TEXTS,
    SIGNATURE,
    SIZE_CAPTURES,
    SIZE_INTERNED,
    SIZE_STACK_NODES,
    STACK_COLUMNS,
    UNSPECIFIED,
    capture_slot,
    node_slot,
)


@inlined
def capture_byte(t, stack_node, byte):  # type: ignore[no-untyped-def]
    """The stack node that has captured one more byte, or NEED_SPACE."""
    key = (numba.int64(stack_node) << 8) | byte
    i = capture_slot(t.capture_links, t.capture_slots, key)
    if t.capture_slots[i] >= 0:
        return numba.int64(t.capture_slots[i])
    new = t.sizes[SIZE_STACK_NODES]
    if new >= t.stack_nodes.shape[0] or 2 * t.sizes[SIZE_CAPTURES] >= t.capture_slots.shape[0]:
        return numba.int64(NEED_SPACE)
    t.sizes[SIZE_STACK_NODES] += 1
    t.sizes[SIZE_CAPTURES] += 1
    # A captured byte changes nothing but what is captured.
    for column in range(STACK_COLUMNS):
        t.stack_nodes[new, column] = t.stack_nodes[stack_node, column]
    t.capture_links[new] = key
    t.capture_slots[i] = new
    return new


@inlined
def stack_node_of(t, frame, parent, seen_texts, seen, captured):  # type: ignore[no-untyped-def]
    """The stack node with these columns, a new one if there is none; or NEED_SPACE.

    seen_texts, seen, captured: see SEEN_TEXTS, SEEN_KEYS and CAPTURED.
    """
    i = node_slot(t.stack_nodes, t.node_slots, frame, parent, seen_texts, seen, captured)
    if t.node_slots[i] >= 0:
        return numba.int64(t.node_slots[i])
    new = t.sizes[SIZE_STACK_NODES]
    if new >= t.stack_nodes.shape[0] or 2 * t.sizes[SIZE_INTERNED] >= t.node_slots.shape[0]:
        return numba.int64(NEED_SPACE)
    t.sizes[SIZE_STACK_NODES] += 1
    t.sizes[SIZE_INTERNED] += 1
    t.stack_nodes[new, FRAME] = frame
    t.stack_nodes[new, PARENT] = parent
    t.stack_nodes[new, SEEN_TEXTS] = seen_texts
    t.stack_nodes[new, CAPTURE_START] = new
    t.stack_nodes[new, SEEN_KEYS] = seen
    t.stack_nodes[new, SIGNATURE] = -1
    t.stack_nodes[new, CAPTURED] = captured
    t.capture_links[new] = -1
    t.node_slots[i] = new
    return new


@inlined
def is_unspecified(t, stack_node):  # type: ignore[no-untyped-def]
    """Whether a node made for masks leaves open what was read in it."""
    return (
        t.stack_nodes[stack_node, CAPTURED] == UNSPECIFIED
        or t.stack_nodes[stack_node, SEEN_TEXTS] == UNSPECIFIED
    )
