"""In: contexts of an engine that keep what was read. Out: the values, as its machine has them."""

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

TextOf = Callable[[int], bytes]  # of a context: what it remembers

# Characters and escapes that are over: after a high surrogate the low one is waited for.
_OVER = re.compile(
    rb"(?:[^\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*",
    re.DOTALL,
)
_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\.")


def meant(spelled: bytes) -> bytes:
    """What a key stands for, UTF-8 (lone surrogates as three bytes), from inside its quotes."""
    return _ESCAPES.sub(_character, spelled)


def surely_meant(spelled: bytes) -> bytes:
    """What the beginning of a key stands for, without an escape at its end that may go on."""
    over = _OVER.match(spelled)
    return meant(over[0]) if over else b""


class SeenKeys:
    """The keys that were read before others, by contexts of an engine."""

    def __init__(self, column: int) -> None:
        """column: that of the key taken before, in `contexts`."""
        self._column = column
        self._meant: dict[int, bytes] = {}

    def begin_with(self, contexts: npt.NDArray[np.int32], node: int, text: TextOf) -> bool:
        """Whether a key taken before begins with (or is) what `node` remembers, as `text` says."""
        other = int(contexts[node, self._column])
        begun = surely_meant(text(node)) if other >= 0 else b""
        while other >= 0:
            known = self._meant.get(other)
            if known is None:
                known = self._meant[other] = meant(text(other))
            if known.startswith(begun):
                return True
            other = int(contexts[other, self._column])
        return False


def _character(escapes: re.Match[bytes]) -> bytes:
    character: str = json.loads(b'"' + escapes[0] + b'"')
    return character.encode(errors="surrogatepass")


class Captures:
    """The values that were read before others; each is made once."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def of(self, numbers: Numbering, node: int) -> list[Capture]:
        """What is kept beside the frame of a context, in the order in which it was read."""
        k = numbers.kernel_tables
        contexts, origin = numbers.tables.contexts, numbers.tables.origin
        found: list[Capture] = []
        at = int(contexts[node, k.READ])
        while at >= 0:
            beside = at if origin[at] >= 0 else int(contexts[at, k.PARENT])
            if beside < 0:
                raise inconsistent_tables()
            taken = int(contexts[beside, k.TAKEN])
            key = numbers.text(taken) if taken >= 0 else b""
            frame = numbers.frame(int(contexts[beside, k.FRAME]))
            found.append(Capture(frame, key, self._value(numbers, at)))
            at = int(contexts[beside, k.READ])
        found.reverse()
        return found

    def _value(self, numbers: Numbering, at: int) -> Any:
        """The value whose text a context remembers, or that closed in it."""
        if at not in self._values:
            machine = numbers.machine
            if numbers.tables.origin[at] >= 0:
                try:
                    self._values[at] = machine.value(numbers.text(at))
                except ValueError as error:
                    raise inconsistent_tables() from error
            else:
                frame = numbers.frame(int(numbers.tables.contexts[at, numbers.kernel_tables.FRAME]))
                self._values[at] = machine.whole(frame, self.of(numbers, at))
        return self._values[at]
