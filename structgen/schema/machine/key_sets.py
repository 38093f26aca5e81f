"""In: an object whose names may come in any order. Out: frames that keep no account of names.

Which names have come is ticked off in a checklist beside the frames (`kernels.parser.key_sets`),
so that
an object has a frame for each kind of value, and not for each set of names that may have come. All
of these frames have the one thread with which the object was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from structgen.automata.lexer.lexer import LexState
from structgen.automata.pushdown.machine import Check, Checklist, Goto, Move, Once, Pop, Tick
from structgen.schema.machine.frames import JsonFrame, Thread
from structgen.schema.machine.lexemes import (
    Layout,
    after_member,
    before_lexeme,
    before_next,
    key_start,
)
from structgen.schema.machine.word_arrays import Words
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.nodes import Node
from structgen.schema.objects.plans import ObjectPlan


class Names(Checklist):
    """The names of an object, and its frames as far as they have been needed.

    open: the frame before the first key; it has the moves of those before other keys and after
    values, and stands before all keys where some must come. values: those in which a value comes,
    by what that must fit; begun: the first of these.
    """

    __slots__ = ("begun", "key", "open", "threads", "values")

    def __init__(self, thread: Thread) -> None:
        plan: ObjectPlan = thread.plan
        super().__init__(len(plan.names), *plan.checklist)
        self.threads = (thread,)
        self.open: JsonFrame = self.frame("open")
        self.key: JsonFrame | None = None
        self.values: dict[Node, JsonFrame] = {}
        self.begun: JsonFrame | None = None

    @property
    def thread(self) -> Thread:
        """That with which the object was opened."""
        return self.threads[0]

    def frame(self, stage: str) -> JsonFrame:
        """A fresh frame of the object."""
        frame = JsonFrame("object", stage)
        frame.threads, frame.checklist = self.threads, self
        return frame


class Checklists:
    """The objects of one machine that are opened with checklists, and what happens in them."""

    def __init__(
        self,
        layout: Layout,
        node_of: Callable[[Expr], Node],
        begin: Callable[[JsonFrame], None],
        free: Checklists | None = None,
    ) -> None:
        """begin: says what a frame begins with in which a value comes. free: those of any value."""
        self._layout = layout
        self._node_of = node_of
        self._begin = begin
        self._made: dict[tuple[int, ObjectPlan], Names] = {} if free is None else free._made.copy()
        self._words: dict[Thread, Words] = {}

    def opened(self, threads: tuple[Thread, ...]) -> JsonFrame | None:
        """The frame of an object just opened; None if its frames must know by themselves."""
        if len(threads) != 1 or not threads[0].plan.is_checklist:
            return None
        key = threads[0].owner, threads[0].plan
        names = self._made.get(key)
        if names is None:
            names = self._made[key] = Names(threads[0])
            self._begin_open(names)
        return names.open

    def listed(self, threads: tuple[Thread, ...]) -> JsonFrame | None:
        """The same of an array just opened."""
        words = threads[0].plan.listed if len(threads) == 1 else None
        if words is None:
            return None
        (thread,) = threads
        if thread not in self._words:
            node = self._node_of(thread.plan.child(0))
            self._words[thread] = Words(thread, node, words, self._layout)
        return self._words[thread].open

    def event(self, frame: JsonFrame, label: Hashable) -> Move | None:
        """What a label does, other than to open a value (see `Machine.event`)."""
        names = frame.checklist
        if isinstance(names, Words):
            return names.event(frame, label)
        if not isinstance(names, Names):
            return None
        kind, value = label if isinstance(label, tuple) else (label, 0)
        if isinstance(value, str):
            return self._tick(names, value)
        if kind == "free":
            return self._free(names, value)
        if kind == ",":
            return Goto(self._next(names))
        if kind == "}":
            return Pop(("value", 1 << names.thread.owner))
        return self._check(names) if value & 1 else None

    def foretold(self, frame: JsonFrame) -> LexState | None:
        """See `Machine.foretold`: behind the value of a member where others can always follow.

        Not where white space before the brace is other than that before the comma.
        """
        names, layout = frame.checklist, self._layout
        if not isinstance(names, Names) or not names.endless or frame.stage != "value":
            return None
        return before_next(layout) if layout.comma is layout.inner else None

    def _tick(self, names: Names, name: str) -> Tick | None:
        """The frame after a name. What has been read is not in it, but ticked off beside it."""
        plan: ObjectPlan = names.thread.plan
        position = plan.position(name)
        if not plan.possible_names[position]:
            return None
        return Tick(self._value(names, plan.child(name)), position)

    def _free(self, names: Names, mask: int) -> Once | None:
        """The frame after a key without a name, which is in the languages of `mask`."""
        for cell in names.thread.plan.cells:
            if mask >> (names.open.others.index(cell.loose) + 1) & 1:  # the first: that of names
                return Once(self._value(names, cell.child))
        return None

    def _value(self, names: Names, child: Expr) -> JsonFrame:
        """The frame in which a value comes that must fit `child`."""
        node = self._node_of(child)
        frame = names.values.get(node)
        if frame is None:
            frame = names.values[node] = names.frame("value")
            frame.vector = (node,)
            names.begun = frame.begun = names.begun or frame
            self._begin(frame)
        return frame

    def _check(self, names: Names) -> Check:
        """What happens after a value."""
        if not names.after:
            more = names.endless or len(names.possible) > len(names.required)
            fits = bool(names.required), not names.endless, more
            ways = (True, False), (False, True), (True, True)
            names.after = tuple(
                self._after(names, *way) if ok else None for way, ok in zip(ways, fits, strict=True)
            )
        return Check(names)

    def _after(self, names: Names, more: bool, ends: bool) -> JsonFrame:
        """The frame after a value in which more may follow, or the end."""
        frame = names.frame("after")
        frame.alike = names.open
        frame.lexeme = after_member(more, "}" if ends else None, self._layout)
        return frame

    def _next(self, names: Names) -> JsonFrame:
        """The frame after a comma: as that of the object just opened, but a key must come."""
        if names.required:
            return names.open
        if names.key is None:
            names.key, opened = names.frame("key"), names.open
            names.key.alike, names.key.entry = opened, opened.entry
            names.key.high, names.key.allowed = opened.high, opened.allowed
            names.key.others = opened.others
            names.key.lexeme = self._keys(names, closing=False)
        return names.key

    def _begin_open(self, names: Names) -> None:
        """Say what the frame of an object just opened begins with."""
        cells = names.thread.plan.cells
        names.open.high, names.open.allowed = names.size, allowed(names)
        names.open.others = tuple(dict.fromkeys(cell.loose for cell in cells))
        names.open.entry = before_lexeme(self._layout.inner)
        names.open.lexeme = self._keys(names, closing=not names.required)

    def _keys(self, names: Names, closing: bool) -> LexState:
        """At the start of a key, or of `}` when `closing`."""
        others = names.open.others
        listed = names.thread.plan.named if others or names.possible else None
        return key_start(listed, others, self._layout, closing, takes=True)


def ticked(frame: JsonFrame, positions: Iterable[int]) -> JsonFrame:
    """A frame whose progress says what has been ticked off beside `frame`."""
    (thread,) = frame.threads
    plan = thread.plan
    found = JsonFrame(frame.kind, frame.stage)
    if frame.kind == "array":
        progress = plan.with_words(positions)
    else:
        seen = frozenset(plan.names[i] for i in positions)
        progress = plan.start._replace(seen=seen)
        if seen and frame.stage == "open":  # it is before later keys, too
            found.stage = "key"
    found.threads = (thread._replace(progress=progress),)
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
