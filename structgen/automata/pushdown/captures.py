"""What was read earlier in open values: keys that must not come again, and captured values.

The tables keep captured bytes as chains of stack nodes. Here they are turned into keys and values
in Python's terms, for machines whose actions depend on them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from structgen.automata.pushdown.machine import Capture
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.tables import inconsistent_tables
from structgen.kernels.build.loader import kernels

# Complete characters and escapes; an escaped high surrogate is complete only with its low half.
_OVER = re.compile(
    rb"(?:[^\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*",
    re.DOTALL,
)


class SeenKeys:
    """The keys read before in the same object, by stack nodes of an engine."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def begin_with(self, numbers: Numbering, node: int) -> bool:
        """Whether a key read before starts with the captured text of a stack node."""
        column, tables = numbers.kernel_tables.SEEN_TEXTS, numbers.tables
        other = int(tables.stack_nodes[node, column])
        if other < 0:
            return False
        text = numbers.text(node)
        over = _OVER.match(text)
        for _ in range(len(text) - (over.end() if over else 0)):  # to where an escape is incomplete
            node = int(tables.capture_links[node]) >> 8
        begun = _decoded(numbers, node)
        while other >= 0:
            known = self._known.get(other)
            if known is None:
                known = self._known[other] = _decoded(numbers, other)
            if known.startswith(begun):
                return True
            other = int(tables.stack_nodes[other, column])
        return False


def _decoded(numbers: Numbering, node: int) -> bytes:
    """The text captured up to a stack node, with its escapes resolved, in UTF-8.

    Unpaired surrogates are three bytes each.
    """
    k, links = kernels("parser.seen_keys"), numbers.tables.capture_links
    out = np.empty(k.captured_length(links, node), np.uint8)
    return out[: k.decode_captured(links, node, out)].tobytes()


class Captures:
    """Captured values by stack node, each made once."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def of(self, numbers: Numbering, node: int) -> list[Capture]:
        """The captures of the frame of a stack node, in the order in which they were read."""
        k = numbers.kernel_tables
        stack_nodes, origin = numbers.tables.stack_nodes, numbers.tables.capture_links
        found: list[Capture] = []
        at = int(stack_nodes[node, k.CAPTURED])
        while at >= 0:
            beside = at if origin[at] >= 0 else int(stack_nodes[at, k.PARENT])
            if beside < 0:
                raise inconsistent_tables()
            taken = int(stack_nodes[beside, k.SEEN_TEXTS])
            key = numbers.text(taken) if taken >= 0 else b""
            frame = numbers.frame(int(stack_nodes[beside, k.FRAME]))
            found.append(Capture(frame, key, self._value(numbers, at)))
            at = int(stack_nodes[beside, k.CAPTURED])
        found.reverse()
        return found

    def _value(self, numbers: Numbering, at: int) -> Any:
        """The value of a captured text, or of a container that closed in a stack node."""
        if at not in self._values:
            machine = numbers.machine
            if numbers.tables.capture_links[at] >= 0:
                try:
                    self._values[at] = machine.value(numbers.text(at))
                except ValueError as error:
                    raise inconsistent_tables() from error
            else:
                frame = numbers.frame(
                    int(numbers.tables.stack_nodes[at, numbers.kernel_tables.FRAME])
                )
                self._values[at] = machine.whole(frame, self.of(numbers, at))
        return self._values[at]
