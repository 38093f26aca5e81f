"""In: a plan whose names may come in any order. Out: frames that need not know which have come.

What has been read of such an object is ticked off beside the frame, by kernels, so that an object
has a frame for each kind of value, and not for each set of names that may have come.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structgen.automaton.json_frames import JsonFrame, Thread
from structgen.automaton.json_lexemes import Layout, after_member
from structgen.automaton.machine import Check, Checklist
from structgen.spec.json_plans import ObjectPlan


class Checklists:
    """The checklists of one machine."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._made: dict[tuple[int, ObjectPlan], Checklist] = {}

    def of(self, threads: tuple[Thread, ...]) -> Checklist | None:
        """What keeps account of an object's names, None if its frames must know by themselves."""
        if len(threads) != 1 or not threads[0].plan.is_checklist:
            return None
        plan = threads[0].plan
        key = threads[0].owner, plan
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Checklist(len(plan.names), *plan.checklist)
        return found

    def check(self, frame: JsonFrame, checklist: Checklist) -> Check:
        """What happens in `frame` after a value."""
        if not checklist.after:
            fits = (
                bool(checklist.required),
                not checklist.endless,
                checklist.endless or len(checklist.possible) > len(checklist.required),
            )
            ways = (True, False), (False, True), (True, True)
            checklist.after = tuple(
                self._after(frame, *way) if ok else None for way, ok in zip(ways, fits, strict=True)
            )
        return Check(checklist)

    def _after(self, frame: JsonFrame, more: bool, ends: bool) -> JsonFrame:
        """The frame after a value in which more may follow, or the end."""
        after = JsonFrame(frame.kind, "after")
        after.threads, after.checklist = frame.threads, frame.checklist
        after.lexeme = after_member(more, "}" if ends else None, self._layout)
        return after


def ticked(frame: JsonFrame, positions: Iterable[int]) -> JsonFrame:
    """A frame whose progress says what has been ticked off beside `frame`."""
    (thread,) = frame.threads
    plan = thread.plan
    seen = frozenset(plan.names[i] for i in positions)
    found = JsonFrame(frame.kind, frame.stage)
    found.threads = (thread._replace(progress=plan.start._replace(seen=seen)),)
    found.vector, found.others = frame.vector, frame.others
    found.lexeme, found.entry = frame.lexeme, frame.entry
    return found


def allowed(checklist: Checklist) -> bytes | None:
    """The bits of the possible positions, None for all."""
    if len(checklist.possible) == checklist.size:
        return None
    chosen = np.zeros(checklist.size, np.bool_)
    chosen[list(checklist.possible)] = True
    return np.packbits(chosen, bitorder="little").tobytes()
