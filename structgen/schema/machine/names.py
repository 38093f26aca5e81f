"""In: a frame in which some names may come. Out: the list of all names that it is about."""

from __future__ import annotations

import numpy as np

from structgen.regular.words import WordRange, word_range
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.objects.key_classes import Cell


class NameLists:
    """Lists of names in use, shared by frames, which say which of the names they allow."""

    def __init__(self) -> None:
        self._made: dict[frozenset[str], WordRange | None] = {}

    def of(self, frame: JsonFrame, names: list[str], cells: list[Cell]) -> WordRange | None:
        """All names of a frame's plans, and what `cells` leave out; the frame allows `names`."""
        if not names and not cells:
            return None
        known = {name for t in frame.threads for name in t.plan.names}
        known.update(names, *(cell.without for cell in cells))
        if cells:
            known.update(*(t.progress.seen for t in frame.threads))
        key = frozenset(known)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = word_range({n: i for i, n in enumerate(sorted(known))})
        frame.high = len(known)
        if found is not None and len(names) < len(known):
            chosen = set(names)
            bits = [name in chosen for name in found.table.words]
            frame.allowed = np.packbits(bits, bitorder="little").tobytes()
        return found
