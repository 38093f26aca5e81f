"""Arrays with `uniqueItems` whose items are the strings of an `enum`: a set of seen words.

Which words have come is marked in a key set beside the frames, just as the names of objects are
(`machine.key_sets`), so that all frames share the lexer states of one list of words.
"""

from __future__ import annotations

from collections.abc import Hashable

from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.lexer.lexer import LexState
from structgen.automata.lexer.separators import Fork
from structgen.automata.pushdown.machine import Action, CheckKeys, Goto, KeySet, NewKey, Pop
from structgen.regular.words import IndexedWords, WordRange
from structgen.schema.machine.frames import JsonFrame, Thread
from structgen.schema.machine.lexemes import after_member, before_lexeme, word_start
from structgen.schema.normal_form.forms import NormalForm

_READ = Fork((), ("value", 1))  # after a word: the key set says what may follow


class WordSet(KeySet):
    """The words of an array, and its frames. normal_form: what items must fit besides being new."""

    __slots__ = ("item", "keys", "normal_form", "open", "read", "thread")

    def __init__(self, thread: Thread, form: NormalForm, words: list[str], layout: Layout) -> None:
        super().__init__(len(words), (), range(len(words)), endless=False)
        self.thread, self.normal_form = thread, form
        self.keys = {word: i for i, word in enumerate(words)}
        names = WordRange(IndexedWords(self.keys), 0, self.size, 0)
        self.open = self._frame("open", word_start(names, layout, not thread.matcher.alt.least))
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
        frame.threads, frame.vector, frame.key_set = (self.thread,), (self.normal_form,), self
        frame.lexeme = lexeme
        return frame

    def action(self, frame: JsonFrame, terminal: Hashable) -> Action | None:
        """What a terminal does, other than to open a value (see `Machine.action`)."""
        kind, value = terminal if isinstance(terminal, tuple) else (terminal, 0)
        if kind == "key":
            return NewKey(self.read, self.keys[value])
        if kind == "value":
            return CheckKeys(self)
        if kind == ",":
            return Goto(self.item)
        ends = frame.stage == "after" or (
            frame.stage == "open" and not self.thread.matcher.alt.least
        )
        return Pop(("value", 1 << self.thread.owner)) if ends else None
