"""In: an array of words from a list, none of them twice. Out: frames that keep no account of words.

Which words have come is ticked off in a checklist beside the frames, as the names of objects are
(`json_checklists`), so that all positions share the lexer states of one list.
"""

from __future__ import annotations

from collections.abc import Hashable

from structgen.automata.lexer.joints import Fork
from structgen.automata.lexer.lexer import LexState
from structgen.automata.pushdown.machine import Check, Checklist, Goto, Move, Pop, Tick
from structgen.regular.words import WordRange, WordTable
from structgen.schema.machine.frames import JsonFrame, Thread
from structgen.schema.machine.lexemes import Layout, after_member, before_lexeme, word_start
from structgen.schema.normal_form.nodes import Node

_READ = Fork((), ("value", 1))  # after a word: the list says what may follow


class Words(Checklist):
    """The words of an array, and its frames. node: what its items must fit, but for being new."""

    __slots__ = ("item", "node", "open", "places", "read", "thread")

    def __init__(self, thread: Thread, node: Node, words: list[str], layout: Layout) -> None:
        super().__init__(len(words), (), range(len(words)), endless=False)
        self.thread, self.node = thread, node
        self.places = {word: i for i, word in enumerate(words)}
        names = WordRange(WordTable(self.places), 0, self.size, 0)
        self.open = self._frame("open", word_start(names, layout, not thread.plan.alt.least))
        self.item = self._frame("next", word_start(names, layout, closing=False))
        for frame in (self.open, self.item):
            frame.entry, frame.high = before_lexeme(layout.inner), self.size
        self.read = self._frame("read", _READ)
        self.after = (
            None,
            self._frame("after", after_member(False, "]", layout)),
            self._frame("after", after_member(True, "]", layout)),
        )

    def _frame(self, stage: str, lexeme: LexState) -> JsonFrame:
        frame = JsonFrame("array", stage)
        frame.threads, frame.vector, frame.checklist = (self.thread,), (self.node,), self
        frame.lexeme = lexeme
        return frame

    def event(self, frame: JsonFrame, label: Hashable) -> Move | None:
        """What a label does, other than to open a value (see `Machine.event`)."""
        kind, value = label if isinstance(label, tuple) else (label, 0)
        if kind == "key":
            return Tick(self.read, self.places[value])
        if kind == "value":
            return Check(self)
        if kind == ",":
            return Goto(self.item)
        ends = frame.stage == "after" or (frame.stage == "open" and not self.thread.plan.alt.least)
        return Pop(("value", 1 << self.thread.owner)) if ends else None
