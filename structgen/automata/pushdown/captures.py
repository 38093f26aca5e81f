"""What was read earlier in open values: keys that must not come again, and captured values.

The tables keep captured bytes as chains of stack nodes. Here they are turned into keys and values
in Python's terms, for machines whose actions depend on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.pushdown.machine import Capture
from structgen.automata.pushdown.tables import inconsistent_tables

if TYPE_CHECKING:
    from structgen.automata.pushdown.numbering import Numbering

TextOf = Callable[[int], bytes]  # the bytes captured up to a stack node

# Complete characters and escapes; an escaped high surrogate is complete only with its low half.
_OVER = re.compile(
    rb"(?:[^\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*",
    re.DOTALL,
)
_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\.")


def unescaped(spelled: bytes) -> bytes:
    """A key with its escapes resolved, in UTF-8 (lone surrogates as three bytes)."""
    return _ESCAPES.sub(_character, spelled)


def complete_prefix(spelled: bytes) -> bytes:
    """The prefix of a key with its escapes resolved, without an incomplete escape at its end."""
    over = _OVER.match(spelled)
    return unescaped(over[0]) if over else b""


class SeenKeys:
    """The keys read before in the same object, by stack nodes of an engine."""

    def __init__(self, column: int) -> None:
        """column: of `stack_nodes`, that of the key read before."""
        self._column = column
        self._unescaped: dict[int, bytes] = {}

    def begin_with(self, stack_nodes: npt.NDArray[np.int32], node: int, text: TextOf) -> bool:
        """Whether a key read before starts with the captured text of a stack node."""
        other = int(stack_nodes[node, self._column])
        begun = complete_prefix(text(node)) if other >= 0 else b""
        while other >= 0:
            known = self._unescaped.get(other)
            if known is None:
                known = self._unescaped[other] = unescaped(text(other))
            if known.startswith(begun):
                return True
            other = int(stack_nodes[other, self._column])
        return False


def _character(escapes: re.Match[bytes]) -> bytes:
    character: str = json.loads(b'"' + escapes[0] + b'"')
    return character.encode(errors="surrogatepass")


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
