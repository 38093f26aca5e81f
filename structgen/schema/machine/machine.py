"""The pushdown machine that reads JSON texts whose value fits a normal form.

What is open is a stack of frames; a frame holds *threads*, the alternatives that are still alive,
each with its progress (see `machine.frames`). A child is opened with the distinct normal forms that
the threads want of it (a vector); when it closes, the mask of those that it fits says which threads
live on. One thread and one normal form is by far the usual case. Terminals are listed in
`machine.lexemes`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from structgen.automata.lexer.json_lexemes import Layout, bits
from structgen.automata.lexer.lexer import LexState
from structgen.automata.lexer.separators import Fork
from structgen.automata.pushdown.machine import (
    NOTHING_PREPARED,
    TEXT_CAPTURED,
    TEXT_COMPARED,
    TEXT_READ,
    TEXT_UNUSED,
    Action,
    Capture,
    Goto,
    Machine,
    NewText,
    Pop,
    Prepared,
    Push,
    Recall,
    Stack,
    goto,
)
from structgen.automata.spelling.embedded_dfa import are_many_numbers
from structgen.regular.lazy_dfa.automaton import explore_vector_ahead
from structgen.regular.regex import Regex
from structgen.regular.words import WordRange, word_range
from structgen.schema.arrays.matcher import ArrayMatcher
from structgen.schema.machine.child_forms import ChildForms, Missed, with_missed
from structgen.schema.machine.frames import (
    JsonFrame,
    Thread,
    after_child,
    cheapest,
    compares_texts,
    comparing_texts,
    least_behind,
    next_names,
    next_unnamed,
    remaining,
    unquoted,
    whole,
    without_covered,
)
from structgen.schema.machine.key_sets import KeySetFrames, with_seen_keys
from structgen.schema.machine.lexemes import (
    after_member,
    before_lexeme,
    before_member,
    each_once,
    key_start,
    listed_start,
    scalar_start,
    scalars_of,
    strings_read,
    text_end,
    value_start,
)
from structgen.schema.machine.unique_item_start import AT_ONCE, unique_item_start
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.expressions import Expr, is_one_of
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.normal_form.progress import Transition
from structgen.schema.objects.key_classes import KeyClass, written_key
from structgen.schema.values import Members, Value, scalar

# what the text of a lexeme is needed for, by kind of its terminal
_TEXT_NEEDS = {
    "later": TEXT_READ,
    "other": TEXT_READ,
    "listed": TEXT_READ,
    "item": TEXT_CAPTURED,
    "free": TEXT_COMPARED,
    "once": TEXT_COMPARED,
}
_NOTHING_READ = Fork(())
FEW_LISTED = 16  # scalars that are distinguished by what languages they are in


class JsonMachine(Machine[JsonFrame]):
    """Reads JSON texts whose value fits the root form.

    Frames are made once for each combination of kind, stage, threads and so on, and compared by
    identity: equal futures give the same frame.
    """

    _frames: dict[Hashable, JsonFrame]
    _starts: dict[
        tuple[NormalForm, ...], tuple[LexState, bool]
    ]  # of values without restrictions by context
    _key_set_frames: KeySetFrames

    def __init__(
        self,
        root: NormalForm,
        normal_form_of: Callable[[Expr], NormalForm],
        costs: Matchers,
        layout: Layout,
        describe: Callable[[Iterable[NormalForm]], str] | None = None,
        prepared: Prepared = NOTHING_PREPARED,
        free: JsonMachine | None = None,
    ) -> None:
        """free: the machine of any value in the same layout, whose frames are taken over.

        describe: puts into words what some forms accept, for error messages.
        """
        self._prepared = prepared
        self._describe = describe
        self._normal_form_of = normal_form_of
        self._costs = costs
        self._layout = layout
        self._frames = {} if free is None else free._frames.copy()
        self._starts = {} if free is None else free._starts.copy()
        made = None if free is None else free._key_set_frames
        self._key_set_frames = KeySetFrames(layout, normal_form_of, self._begin, made)
        self._name_lists: dict[frozenset[str], WordRange | None] = {}  # see `_names_of`
        self._start = self._frame("root", "value", (), (root,))
        self._end = self._frame("end", "after", ())

    def explore(self, objects: Iterable[tuple[NormalForm, str | None]]) -> None:
        """Make the frames of objects of a form just opened, ahead of the first text.

        And those behind a key that comes first, if there is one.
        """
        for form, key in objects:
            matchers = self._costs.objects(form)
            threads = tuple([Thread(0, matcher, matcher.start) for matcher in matchers])
            if not threads:  # a part of the schema that no object fits
                continue
            opened = self._key_set_frames.opened(threads) or self._frame("object", "open", threads)
            frame = None if key is None else self._key(opened, key)
            if frame is None:
                continue
            explore_vector_ahead(each_once(strings_read(frame.vector))[0])
            numbers, _ = each_once([form.number for form in frame.vector])
            if are_many_numbers(numbers):
                explore_vector_ahead(numbers)
            if any(form.objects for form in frame.vector):
                self._open(frame, "object")

    @property
    def prepared(self) -> Prepared:
        """See `Machine.prepared`."""
        return self._prepared

    @property
    def start(self) -> JsonFrame:
        """See `Machine.start`."""
        return self._start

    @staticmethod
    def needs_text(terminal: Hashable) -> int:
        """See `Machine.needs_text`."""
        return (
            _TEXT_NEEDS.get(terminal[0], TEXT_UNUSED)
            if isinstance(terminal, tuple)
            else TEXT_UNUSED
        )

    def compares(self, frame: JsonFrame) -> bool:
        """See `Machine.compares`: within arrays whose items differ or repeat."""
        return frame.captures_child

    def action(self, frame: JsonFrame, terminal: Hashable, text: bytes) -> Action | None:
        """See `Machine.action`."""
        if terminal in ("{", "["):
            return self._open(self._awaiting(frame), "object" if terminal == "{" else "array")
        if frame.key_set is not None:
            return self._key_set_frames.action(frame, terminal)
        if isinstance(terminal, tuple):
            kind, value = terminal[0], terminal[1]
            if kind in {"value", "item", "once"}:
                return self._close(self._awaiting(frame), value, once=kind == "once")
            if kind == "free":
                return self._unnamed_key(frame, value)
            if kind == "listed":
                return self._close_listed(self._awaiting(frame), scalar(text))
            return goto(self._key(frame, value if kind == "key" else unquoted(text)))
        if terminal == ",":
            return goto(self._comma(frame))
        if terminal in ("}", "]"):
            owners = self._accepting(frame)
            return Pop(("value", owners)) if owners else None
        return None

    def predicted_state(self, frame: JsonFrame, terminal: Hashable) -> LexState | None:
        """See `Machine.predicted_state`: for objects that can have members, or any number."""
        if frame.key_set is not None and isinstance(terminal, tuple):
            return self._key_set_frames.predicted_state(frame)
        vector = self._awaiting(frame).vector
        if terminal != "{" or frame.captures_child or len(vector) != 1:
            return None
        matchers = self._costs.objects(vector[0])
        return before_lexeme(self._layout.inner) if any(p.has_members for p in matchers) else None

    def with_captures(
        self, frame: JsonFrame, _terminal: Hashable, captures: list[Capture]
    ) -> JsonFrame | None:
        """See `Machine.with_captures`."""
        if frame.stage == "next":
            return self._item(frame, [read.value for read in captures])
        value = captures[-1].value
        threads = (
            t._replace(progress=t.matcher.with_collected(t.progress, value)) for t in frame.threads
        )
        return self._frame("array", "after", tuple(dict.fromkeys(threads)), captured=frame.captured)

    def value(self, text: bytes) -> Value:
        """See `Machine.value`."""
        return scalar(text)

    def whole(self, frame: JsonFrame, captures: list[Capture]) -> Value:
        """See `Machine.whole`."""
        return whole(frame, captures)

    # -- transitions ----------------------------------------------------------------------------

    def _open(self, frame: JsonFrame, kind: str) -> Push:
        """Open an object or array: a thread for each alternative of each form of the vector."""
        matchers = self._costs.objects if kind == "object" else self._costs.arrays
        threads = tuple(
            [
                Thread(owner, matcher, matcher.start)
                for owner, form in enumerate(frame.vector)
                for matcher in matchers(form)
            ]
        )
        opened = None
        if not frame.captures_child:  # or what was read has to be known
            sets = self._key_set_frames
            opened = sets.opened(threads) if kind == "object" else sets.listed(threads)
        if kind == "array":
            threads = comparing_texts(threads)
        return Push(
            opened or self._frame(kind, "open", threads, captured=frame.captures_child),
            frame.in_scalar,
        )

    def _close(self, frame: JsonFrame, mask: int, once: bool) -> Action | None:
        """The action after a child that fits the forms in `mask`; once: unless it came before."""
        if frame.kind == "root":
            return Goto(self._end)
        mask = with_missed(mask, len(frame.vector), frame.missed)
        # a thread lives on if the child fits what it needs; equal threads are one
        alive = (after_child(t, mask) for t in frame.threads if mask >> t.need & 1)
        threads = tuple(dict.fromkeys(alive))
        if not threads:
            return None
        if frame.kind == "array" and len(threads) > 1:
            threads = without_covered(threads)
        read_items = () if once or frame.kind != "array" else threads
        if any(t.matcher.collects_values(t.progress) for t in read_items):
            return Recall(self._frame("array", "read", threads, captured=frame.captured))
        after = self._frame(frame.kind, "after", threads, captured=frame.captured)
        return NewText(after, frame.captures_child) if once else Goto(after, frame.captures_child)

    def _close_listed(self, frame: JsonFrame, value: Value) -> Goto | None:
        """The action after a scalar of a long list."""
        alive = (frame.by_value or {}).get(value)
        return None if alive is None else Goto(self._frame(frame.kind, "after", alive))

    def _comma(self, frame: JsonFrame) -> JsonFrame | None:
        """The frame after a comma; None if nothing may follow."""
        if frame.kind == "array":
            compares = (t.matcher.compares_with_earlier(t.progress) for t in frame.threads)
            if not any(compares):
                return self._item(frame)
        threads = tuple(t for t in frame.threads if t.matcher.may_go_on(t.progress))
        stage = "next" if frame.kind == "array" else "key"
        return self._frame(frame.kind, stage, threads, captured=frame.captured) if threads else None

    def _item(self, frame: JsonFrame, values: Iterable[Value] = ()) -> JsonFrame | None:
        """The frame that waits for the next item of an array, after these values."""
        ready = ((t, t.matcher.with_earlier(t.progress, values)) for t in frame.threads)
        taken = [(t, transition) for t, at in ready for transition in t.matcher.transitions(at)]
        return self._await_value(frame, taken)

    def _unnamed_key(self, frame: JsonFrame, mask: int) -> NewText | None:
        """The frame after some key without a name, which is in the languages of `mask`."""

        def is_in(keys: Regex) -> bool:
            return bool(mask >> (frame.others.index(keys) + 1) & 1)  # bit 0: names

        taken = [
            (t, transition)
            for t in frame.threads
            for key_class in t.matcher.open_key_classes(t.progress)
            if not key_class.by_text and is_in(key_class.language)
            for transition in t.matcher.transitions_by_class(t.progress, key_class, is_in)
        ]
        after = self._await_value(frame, taken)
        return None if after is None else NewText(after)

    def _key(self, frame: JsonFrame, key: str) -> JsonFrame | None:
        """The frame after a key; None also where it came before, which not all threads know of."""
        if any(key in t.progress.seen for t in frame.threads):
            return None
        taken = [
            (t, transition)
            for t in frame.threads
            for transition in t.matcher.transitions(t.progress, key)
        ]
        return self._await_value(frame, taken, key if frame.captured else None)

    def _await_value(
        self, frame: JsonFrame, taken: list[tuple[Thread, Transition]], key: str | None = None
    ) -> JsonFrame | None:
        """The frame that waits for a child: the vector of what the threads want of it."""
        if not taken:
            return None
        listed = self._await_listed(frame, taken) if len(taken) > FEW_LISTED else None
        if listed is not None:
            return listed
        forms = ChildForms((x for _, x in taken), self._normal_form_of)

        def waiting(t: Thread, transition: Transition) -> Thread:
            child, after, more = transition
            observed = tuple([forms.asked(child, x) for x in more]) if more else ()
            return Thread(t.owner, t.matcher, after, forms.index(child), observed)

        threads = tuple(dict.fromkeys(waiting(t, transition) for t, transition in taken))
        vector, missed = forms.finished()
        if missed:  # their bits are behind those of the vector
            threads = tuple(
                t._replace(observed=tuple([i if i >= 0 else len(vector) + ~i for i in t.observed]))
                for t in threads
            )
        return self._frame(frame.kind, "value", threads, vector, frame.captured, key, missed)

    def _await_listed(
        self, frame: JsonFrame, taken: list[tuple[Thread, Transition]]
    ) -> JsonFrame | None:
        """The same where each thread wants one of a few scalars: the value says which goes on.

        So they are where many objects are listed. None where other values may come, or it does not
        help, or the value is needed later.
        """
        plain = frame.kind == "object" or all(type(t.matcher) is ArrayMatcher for t, _ in taken)
        if not plain or frame.captured or frame.captures_child or self._layout.surrogates:
            return None
        by_value: dict[Value, dict[Thread, None]] = {}
        for t, transition in taken:
            if not is_one_of(transition.child) or transition.observed:
                return None
            progress = t.matcher.resolve(transition.after, ())
            alive = Thread(t.owner, t.matcher.reduced(progress), progress)
            for value in transition.child[0].allowed or ():
                if isinstance(value, tuple | Members):
                    return None
                by_value.setdefault(value, {})[alive] = None
        if len(by_value) <= FEW_LISTED:
            return None
        threads = tuple(dict.fromkeys(t for alive in by_value.values() for t in alive))
        wanted = tuple(dict.fromkeys(transition.child for _, transition in taken))
        form = self._normal_form_of(self._costs.union(wanted))
        known = (frame.kind, "listed", threads, form)
        found = self._frames.get(known)
        if found is None:
            found = self._frames[known] = JsonFrame(frame.kind, "value")
            found.threads, found.vector = threads, (form,)
            found.by_value = {value: tuple(alive) for value, alive in by_value.items()}
            self._begin(found)
        return found

    def _awaiting(self, frame: JsonFrame) -> JsonFrame:
        """The frame that waits for a value: of an array just opened, that for its first item."""
        return frame.item or frame

    def _accepting(self, frame: JsonFrame) -> int:
        """The bits of the owners (see `Thread`) for which the open value would be complete here."""
        owners = 0
        for t in frame.threads:
            if t.matcher.may_end(t.progress):
                owners |= 1 << t.owner
        return owners

    def with_seen_keys(self, frame: JsonFrame, keys: Iterable[int]) -> JsonFrame:
        """See `Machine.with_seen_keys`."""
        return with_seen_keys(frame, keys)

    # -- frames ---------------------------------------------------------------------------------

    def _frame(
        self,
        kind: str,
        stage: str,
        threads: tuple[Thread, ...],
        vector: tuple[NormalForm, ...] = (),
        captured: bool = False,
        key: str | None = None,
        missed: tuple[Missed, ...] = (),
    ) -> JsonFrame:
        """The one frame with these properties."""
        known = (kind, stage, threads, vector, captured, key, missed)
        frame = self._frames.get(known)
        if frame is None:
            frame = JsonFrame(kind, stage)
            frame.threads, frame.vector, frame.key, frame.missed = threads, vector, key, missed
            frame.captured = frame.captures_child = captured
            if kind == "array":
                frame.captures_child = captured or any(
                    t.matcher.depends_on_values(t.progress) for t in threads
                )
                frame.texts_compared = any(map(compares_texts, threads))
            self._begin(frame)
            self._frames[known] = frame
        return frame

    def _begin(self, frame: JsonFrame) -> None:
        """Set what a frame begins with: its lexeme, and the entry before it."""
        layout = self._layout
        if frame.kind == "end":
            frame.lexeme = text_end(layout)
        elif frame.stage == "value":
            if frame.kind == "object":
                frame.entry = before_member(layout)
            else:
                frame.entry = before_lexeme(layout.head if frame.kind == "root" else layout.inner)
            frame.lexeme = self._value_start(frame, closing=False)
            by_text = frame.captures_child or frame.by_value is not None
            frame.opens = None if by_text else frame.vector
        elif frame.stage == "next":
            frame.entry = before_lexeme(layout.inner) or AT_ONCE
            item = self._item(frame)
            frame.lexeme = unique_item_start(item.vector if item else (), self._costs, layout)
            frame.recalls = True
        elif frame.stage == "read":
            frame.lexeme = _NOTHING_READ  # the same terminal happens once more
        elif frame.stage == "after":
            more = any(t.matcher.may_go_on(t.progress) for t in frame.threads)
            bracket = "}" if frame.kind == "object" else "]"
            frame.lexeme = after_member(more, bracket if self._accepting(frame) else None, layout)
        else:  # "open" or "key"
            frame.entry = before_lexeme(layout.inner)
            closing = frame.stage == "open" and self._accepting(frame) > 0
            if frame.kind == "array":
                frame.item = self._item(frame)
                frame.lexeme = self._value_start(self._awaiting(frame), closing)
            else:
                self._begin_key(frame, closing)

    def _begin_key(self, frame: JsonFrame, closing: bool) -> None:
        """Set which keys may come next.

        The lexeme lists all names of the matchers, so that it is the same for all their frames;
        each frame says which it allows.
        """
        threads, alone = frame.threads, len(frame.threads) == 1
        matcher, progress = threads[0].matcher, threads[0].progress
        # where only the class of an unnamed key matters, the engine refuses keys that come twice
        by_class = all(t.matcher.depends_on_class_only for t in threads)
        key_classes: list[KeyClass] = []
        languages: dict[Regex, bool] = {}  # whether keys in it are told apart by their text
        if by_class:
            for t in threads:
                for key_class in t.matcher.open_key_classes(t.progress):
                    key_classes.append(key_class)
                    for keys in t.matcher.languages_of(key_class, t.progress):
                        languages[keys] = languages.get(keys, False) or key_class.by_text
        # keys that other threads named before are refused by name: the engine has not noted them
        spans = alone and matcher.spans and not progress.seen
        if spans and (by_class or not matcher.next_unnamed(progress)):
            by_class = True
            frame.low, frame.high = matcher.span(progress)
            names = matcher.named if key_classes or frame.low < frame.high else None
        else:
            if not by_class:
                frame.others = next_unnamed(frame)
            names = self._names_of(frame, next_names(frame), key_classes)
        if by_class:
            frame.others = tuple(languages)
        by_text = bits((False, *languages.values()))  # bit 0: names
        frame.lexeme = key_start(names, frame.others, self._layout, closing, by_class, by_text)

    def _names_of(
        self, frame: JsonFrame, names: list[str], key_classes: list[KeyClass]
    ) -> WordRange | None:
        """All names of a frame's matchers and those that `key_classes` exclude; it allows `names`.

        Lists of names are shared by the frames of a machine.
        """
        if not names and not key_classes:
            return None
        known = {name for t in frame.threads for name in t.matcher.names}
        known.update(names, *(key_class.excluded for key_class in key_classes))
        if key_classes:
            known.update(*(t.progress.seen for t in frame.threads))
        listed = frozenset(known)
        found = self._name_lists.get(listed)
        if found is None:
            found = word_range({n: i for i, n in enumerate(sorted(known))})
            self._name_lists[listed] = found
        frame.high = len(known)
        if found is not None and len(names) < len(known):
            chosen = set(names)
            held = [name in chosen for name in found.table.words]
            frame.allowed = np.packbits(held, bitorder="little").tobytes()
        return found

    def _value_start(self, frame: JsonFrame, closing: bool) -> LexState:
        """The lexer state before a value of a frame, or before `]` when `closing`."""
        vector = frame.vector
        if frame.by_value is not None:
            frame.only_scalar = not closing
            return listed_start(vector[0], self._layout, closing)
        plain = not (closing or frame.captures_child or frame.texts_compared)
        if plain and len(vector) == 1 and not (vector[0].arrays or vector[0].objects):
            frame.only_scalar = True
            return scalar_start(vector[0], self._layout)
        if plain and vector in self._starts:
            lexeme, frame.only_scalar = self._starts[vector]
            return lexeme
        arrays, objects = False, False
        for form in vector:
            arrays = arrays or bool(form.arrays and self._costs.arrays(form))
            objects = objects or bool(form.objects and self._costs.objects(form))
        brackets = "[" * arrays + "{" * objects + "]" * closing
        scalars = tuple([scalars_of(form) for form in vector])
        frame.only_scalar = not brackets
        kind = "item" if frame.captures_child else "value"
        kinds = "once" if frame.texts_compared else kind, kind
        lexeme = value_start(scalars, brackets, self._layout, kinds)
        if plain:
            self._starts[vector] = lexeme, frame.only_scalar
        return lexeme

    def expected(self, frame: JsonFrame) -> str:
        """See `Machine.expected`."""
        from structgen.schema.machine.expected import expected

        fresh = frame.kind == "array" and frame.stage in ("open", "next")
        pending = (frame.item or self._item(frame)) if fresh else None
        return expected(frame, pending, self._describe, closing=bool(self._accepting(frame)))

    def words(self, frame: JsonFrame) -> tuple[list[tuple[Hashable, bytes]], bool]:
        """See `Machine.words`: where a key must come, the names that may, needed ones first."""
        if frame.kind != "object" or frame.stage not in ("open", "key") or frame.captured:
            return [], False
        if frame.stage == "open" and self._accepting(frame):
            return [], False
        needed = frozenset[str]().union(*(t.matcher.to_come(t.progress) for t in cheapest(frame)))
        written = {name: written_key(name) for name in next_names(frame)}
        names = sorted(written, key=lambda name: (name not in needed, len(written[name])))
        return [(("key", name), written[name]) for name in names], not next_unnamed(frame)

    def missing(self, frame: JsonFrame) -> str:
        """See `Machine.missing`."""
        from structgen.schema.machine.expected import missing

        return missing(frame)

    # -- costs ----------------------------------------------------------------------------------

    def cost(self, stack: Stack[JsonFrame]) -> int:
        """See `Machine.cost`."""
        return remaining(stack, self._costs)

    def floor(self, stack: Stack[JsonFrame]) -> int:
        """See `Machine.floor`."""
        return least_behind(stack)
