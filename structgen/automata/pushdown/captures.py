"""In: contexts of an engine that keep what was read. Out: the values, as its machine has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structgen.automata.pushdown.machine import Kept
from structgen.automata.pushdown.tables import foreign

if TYPE_CHECKING:
    from structgen.automata.pushdown.numbering import Numbering


class KeptValues:
    """The values that were read before others; each is made once."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def of(self, numbers: Numbering, ctx: int) -> list[Kept]:
        """What is kept beside the frame of a context, in the order in which it was read."""
        k = numbers.kernel_tables
        contexts, origin = numbers.tables.contexts, numbers.tables.origin
        found: list[Kept] = []
        at = int(contexts[ctx, k.READ])
        while at >= 0:
            beside = at if origin[at] >= 0 else int(contexts[at, k.PARENT])
            if beside < 0:
                raise foreign()
            taken = int(contexts[beside, k.TAKEN])
            key = numbers.text(taken) if taken >= 0 else b""
            frame = numbers.frame(int(contexts[beside, k.FRAME]))
            found.append(Kept(frame, key, self._value(numbers, at)))
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
                    raise foreign() from error
            else:
                frame = numbers.frame(int(numbers.tables.contexts[at, numbers.kernel_tables.FRAME]))
                self._values[at] = machine.whole(frame, self.of(numbers, at))
        return self._values[at]
