"""Objects whose names may come in any order: frames that do not hold the set of names read.

Which names have come is marked in a key set beside the frames, a bit per name
(`kernels.parser.key_sets`), so that an object has one frame for each normal form of a value instead
of one for each set of names. All of these frames have the one thread with which the object was
opened. Used where nothing else depends on what was read (`ObjectMatcher.only_key_set_matters`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.lexer.lexer import LexState
from structgen.automata.pushdown.machine import (
    Action,
    CheckKeys,
    Goto,
    KeySet,
    NewKey,
    NewText,
    Pop,
)
from structgen.regular.lone_surrogates import has_stand_in
from structgen.regular.regex import Regex
from structgen.schema.machine.frames import JsonFrame, Thread
from structgen.schema.machine.lexemes import after_member, before_lexeme, before_next, key_start
from structgen.schema.machine.unique_words import WordSet
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.objects.matcher import ObjectMatcher


class NameSet(KeySet):
    """The names of an object, and its frames as far as they have been needed.

    open: the frame before the first key, and before all keys if some are required; frames before
    other keys and after values have the same actions. key: the frame before later keys otherwise.
    values: the frames in which a value comes, by what it must fit; begun: the first of these.
    """

    __slots__ = ("in_scalar", "key", "open", "threads", "values")

    def __init__(self, thread: Thread) -> None:
        matcher: ObjectMatcher = thread.matcher
        super().__init__(len(matcher.names), *matcher.key_set)
        self.threads = (thread,)
        self.open: JsonFrame = self.frame("open")
        self.key: JsonFrame | None = None
        self.values: dict[NormalForm, JsonFrame] = {}
        self.in_scalar: JsonFrame | None = None

    @property
    def thread(self) -> Thread:
        """The thread with which the object was opened."""
        return self.threads[0]

    def frame(self, stage: str) -> JsonFrame:
        """A fresh frame of the object."""
        frame = JsonFrame("object", stage)
        frame.threads, frame.key_set = self.threads, self
        return frame


class KeySetFrames:
    """The objects and arrays of one machine that have key sets, and what terminals do in them."""

    def __init__(
        self,
        layout: Layout,
        normal_form_of: Callable[[Expr], NormalForm],
        begin: Callable[[JsonFrame], None],
        free: KeySetFrames | None = None,
    ) -> None:
        """begin: sets the lexeme of a frame in which a value comes. free: those of any value."""
        self._layout = layout
        self._normal_form_of = normal_form_of
        self._begin = begin
        self._made: dict[tuple[int, ObjectMatcher], NameSet] = (
            {} if free is None else free._made.copy()
        )
        self._words: dict[Thread, WordSet] = {}

    def opened(self, threads: tuple[Thread, ...]) -> JsonFrame | None:
        """The frame of an object just opened; None if it needs frames that hold their progress."""
        if len(threads) != 1 or not threads[0].matcher.only_key_set_matters:
            return None
        key = threads[0].owner, threads[0].matcher
        names = self._made.get(key)
        if names is None:
            names = self._made[key] = NameSet(threads[0])
            self._begin_open(names)
        return names.open

    def listed(self, threads: tuple[Thread, ...]) -> JsonFrame | None:
        """The same for an array just opened, whose items are the words of an `enum`."""
        words = threads[0].matcher.listed_words if len(threads) == 1 else None
        if words is None or (self._layout.surrogates and any(map(has_stand_in, words))):
            return None
        (thread,) = threads
        if thread not in self._words:
            form = self._normal_form_of(thread.matcher.child(0))
            self._words[thread] = WordSet(thread, form, words, self._layout)
        return self._words[thread].open

    def action(self, frame: JsonFrame, terminal: Hashable) -> Action | None:
        """What a terminal does, other than to open a value (see `Machine.action`)."""
        names = frame.key_set
        if isinstance(names, WordSet):
            return names.action(frame, terminal)
        if not isinstance(names, NameSet):
            return None
        kind, value = terminal if isinstance(terminal, tuple) else (terminal, 0)
        if isinstance(value, str):
            return self._named_key(names, value)
        if kind == "free":
            return self._unnamed_key(names, value)
        if kind == ",":
            return Goto(self._after_comma(names))
        if kind == "}":
            return Pop(("value", 1 << names.thread.owner))
        return self._after_value(names) if value & 1 else None

    def predicted_state(self, frame: JsonFrame) -> LexState | None:
        """See `Machine.predicted_state`: after the value of a member if others may always follow.

        Not where the white space before a brace differs from that before a comma.
        """
        names, layout = frame.key_set, self._layout
        if not isinstance(names, NameSet) or not names.endless or frame.stage != "value":
            return None
        return before_next(layout) if layout.comma is layout.inner else None

    def _named_key(self, names: NameSet, name: str) -> NewKey | None:
        """The frame after a name, which is marked as seen in the key set beside it."""
        matcher: ObjectMatcher = names.thread.matcher
        position = matcher.position(name)
        if not matcher.is_possible(position):
            return None
        return NewKey(self._value(names, matcher.child(name)), position)

    def _unnamed_key(self, names: NameSet, mask: int) -> NewText | None:
        """The frame after a key without a name, which is in the languages of `mask`."""
        matcher: ObjectMatcher = names.thread.matcher

        def is_in(keys: Regex) -> bool:
            return bool(mask >> (names.open.others.index(keys) + 1) & 1)  # bit 0: names

        for key_class in matcher.key_classes:
            if is_in(key_class.language):
                return NewText(self._value(names, matcher.child_of(key_class, is_in)))
        return None

    def _value(self, names: NameSet, child: Expr) -> JsonFrame:
        """The frame in which a value comes that must fit `child`."""
        form = self._normal_form_of(child)
        frame = names.values.get(form)
        if frame is None:
            frame = names.values[form] = names.frame("value")
            frame.vector = (form,)
            names.in_scalar = frame.in_scalar = names.in_scalar or frame
            self._begin(frame)
        return frame

    def _after_value(self, names: NameSet) -> CheckKeys:
        """The action after a value: what may follow depends on the names seen."""
        if not names.after:
            more = names.endless or len(names.possible) > len(names.required)
            fits = bool(names.required), not names.endless, more
            ways = (True, False), (False, True), (True, True)  # as `KeySet.after` has them
            names.after = tuple(
                self._after(names, *way) if ok else None for way, ok in zip(ways, fits, strict=True)
            )
        return CheckKeys(names)

    def _after(self, names: NameSet, more: bool, ends: bool) -> JsonFrame:
        """The frame after a value: may `more` follow, and may the object end?"""
        frame = names.frame("after")
        frame.actions_of = names.open
        frame.lexeme = after_member(more, "}" if ends else None, self._layout)
        return frame

    def _after_comma(self, names: NameSet) -> JsonFrame:
        """The frame after a comma: like that of the object just opened, but a key must come."""
        if names.required:
            return names.open
        if names.key is None:
            names.key, opened = names.frame("key"), names.open
            names.key.actions_of, names.key.entry = opened, opened.entry
            names.key.high, names.key.allowed = opened.high, opened.allowed
            names.key.others = opened.others
            names.key.lexeme = self._key_start(names, closing=False)
        return names.key

    def _begin_open(self, names: NameSet) -> None:
        """Set what the frame of an object just opened begins with."""
        matcher: ObjectMatcher = names.thread.matcher
        languages = (
            keys for c in matcher.key_classes for keys in matcher.languages_of(c, matcher.start)
        )
        names.open.high, names.open.allowed = names.size, allowed(names)
        names.open.others = tuple(dict.fromkeys(languages))
        names.open.entry = before_lexeme(self._layout.inner)
        names.open.lexeme = self._key_start(names, closing=not names.required)

    def _key_start(self, names: NameSet, closing: bool) -> LexState:
        """The lexer state before a key, or before `}` when `closing`."""
        others = names.open.others
        listed = names.thread.matcher.named if others or names.possible else None
        return key_start(listed, others, self._layout, closing, only_new=True)


def with_seen_keys(frame: JsonFrame, keys: Iterable[int]) -> JsonFrame:
    """A frame whose progress holds the names (or words) marked as seen beside `frame`."""
    (thread,) = frame.threads
    matcher = thread.matcher
    found = JsonFrame(frame.kind, frame.stage)
    if frame.kind == "array":
        progress = matcher.with_words(keys)
    else:
        seen = frozenset(matcher.names[i] for i in keys)
        progress = matcher.start._replace(seen=seen)
        if seen and frame.stage == "open":  # that frame also stands before later keys
            found.stage = "key"
    found.threads = (thread._replace(progress=progress),)
    found.vector, found.others = frame.vector, frame.others
    found.lexeme, found.entry = frame.lexeme, frame.entry
    return found


def allowed(key_set: KeySet) -> bytes | None:
    """A bit for each position, set if it is possible; None if all are."""
    if len(key_set.possible) == key_set.size:
        return None
    chosen = np.zeros(key_set.size, np.bool_)
    chosen[list(key_set.possible)] = True
    return np.packbits(chosen, bitorder="little").tobytes()
