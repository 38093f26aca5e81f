"""In: nodes in normal form. Out: the machine that reads JSON texts whose value fits.

What is open at some place is a stack of frames; a frame holds *threads*, the alternatives that are
still alive, each with its progress. A child is opened with the distinct nodes that the threads want
of it (a vector); when it closes, the mask of the nodes that it fits says which threads live on. One
thread and one node is by far the usual case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.lexer.lexer import LexState
from structgen.automata.lexer.lexicon import Lexicon
from structgen.automata.lexer.separators import Fork
from structgen.automata.pushdown.machine import (
    COMPARED,
    KEPT,
    LOOKED_AT,
    UNUSED,
    Goto,
    Kept,
    Machine,
    Move,
    Once,
    Pop,
    Push,
    Recall,
    Stack,
    goto,
)
from structgen.schema.machine.unique_item_start import AT_ONCE, beginning
from structgen.schema.machine.frames import (
    JsonFrame,
    Thread,
    is_apart,
    least_behind,
    next_names,
    next_unnamed,
    remaining,
    settled,
    told_apart,
    unquoted,
    whole,
)
from structgen.schema.machine.key_sets import Checklists, ticked
from structgen.schema.machine.lexemes import (
    after_member,
    before_lexeme,
    before_member,
    key_start,
    scalar_start,
    text_end,
    value_start,
    wanted,
)
from structgen.schema.machine.names import NameLists
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.normal_form.progress import Transition
from structgen.schema.objects.key_classes import written_key
from structgen.schema.values import Value, scalar

# by kind of label
_TEXTS = {"later": LOOKED_AT, "other": LOOKED_AT, "item": KEPT, "free": COMPARED, "once": COMPARED}
_NOWHERE = Fork(())


class JsonMachine(Machine[JsonFrame]):
    """Reads JSON texts whose value fits the root node."""

    _frames: dict[Hashable, JsonFrame]
    _starts: dict[tuple[NormalForm, ...], tuple[LexState, bool]]  # of plain values
    _checklists: Checklists

    def __init__(
        self,
        root: NormalForm,
        normal_form_of: Callable[[Expr], NormalForm],
        costs: Costs,
        layout: Layout,
        describe: Callable[[Iterable[NormalForm]], str] | None = None,
        lexicon: Lexicon | None = None,
        free: JsonMachine | None = None,
    ) -> None:
        """free: the machine of any value in the same layout, whose frames are taken over."""
        self._lexicon = lexicon
        self._describe = describe  # says in words what some node accepts
        self._normal_form_of = normal_form_of
        self._costs = costs
        self._layout = layout
        self._frames = {} if free is None else free._frames.copy()
        self._starts = {} if free is None else free._starts.copy()
        made = None if free is None else free._checklists
        self._checklists = Checklists(layout, normal_form_of, self._begin, made)
        self._names = NameLists()
        self._start = self._frame("root", "value", (), (root,))
        self._end = self._frame("end", "after", ())

    @property
    def lexicon(self) -> Lexicon:
        """See `Machine.lexicon`."""
        return self._lexicon or super().lexicon

    @property
    def start(self) -> JsonFrame:
        """See `Machine.start`."""
        return self._start

    @staticmethod
    def needs_text(label: Hashable) -> int:
        """See `Machine.needs_text`."""
        return _TEXTS.get(label[0], UNUSED) if isinstance(label, tuple) else UNUSED

    def compares(self, frame: JsonFrame) -> bool:
        """See `Machine.compares`: within arrays whose items differ or repeat."""
        return frame.watched

    def event(self, frame: JsonFrame, label: Hashable, text: bytes) -> Move | None:
        """See `Machine.event`."""
        if label in ("{", "["):
            return self._open(self._pending(frame), "object" if label == "{" else "array")
        if frame.checklist is not None:
            return self._checklists.event(frame, label)
        if isinstance(label, tuple):
            kind, value = label[0], label[1]
            if kind in {"value", "item", "once"}:
                return self._close(self._pending(frame), value, once=kind == "once")
            if kind == "free":
                return self._any_key(frame, value)
            return goto(self._key(frame, value if kind == "key" else unquoted(text)))
        if label == ",":
            return goto(self._comma(frame))
        if label in ("}", "]"):
            owners = self._accepting(frame)
            return Pop(("value", owners)) if owners else None
        return None

    def foretold(self, frame: JsonFrame, label: Hashable) -> LexState | None:
        """See `Machine.foretold`: of an object that can have members, or any number of them."""
        if frame.checklist is not None and isinstance(label, tuple):
            return self._checklists.foretold(frame)
        vector = self._pending(frame).vector
        if label != "{" or frame.watched or len(vector) != 1:
            return None
        matchers = self._costs.objects(vector[0])
        return before_lexeme(self._layout.inner) if any(p.has_members for p in matchers) else None

    def recalled(self, frame: JsonFrame, _label: Hashable, kept: list[Kept]) -> JsonFrame | None:
        """See `Machine.recalled`."""
        if frame.stage == "next":
            return self._item(frame, [read.value for read in kept])
        value = kept[-1].value
        threads = (t._replace(progress=t.matcher.noted(t.progress, value)) for t in frame.threads)
        return self._frame("array", "after", tuple(dict.fromkeys(threads)), kept=frame.kept)

    def value(self, text: bytes) -> Value:
        """See `Machine.value`."""
        return scalar(text)

    def whole(self, frame: JsonFrame, kept: list[Kept]) -> Value:
        """See `Machine.whole`."""
        return whole(frame, kept)

    # -- transitions ----------------------------------------------------------------------------

    def _open(self, frame: JsonFrame, kind: str) -> Push:
        matchers = self._costs.objects if kind == "object" else self._costs.arrays
        threads = tuple(
            [
                Thread(owner, matcher, matcher.start)
                for owner, form in enumerate(frame.vector)
                for matcher in matchers(form)
            ]
        )
        opened = None
        if not frame.watched:
            once = self._checklists.opened if kind == "object" else self._checklists.listed
            opened = once(threads)
        if kind == "array":
            threads = told_apart(threads)
        return Push(opened or self._frame(kind, "open", threads, kept=frame.watched), frame.begun)

    def _close(self, frame: JsonFrame, mask: int, once: bool) -> Move | None:
        """What happens after a child that fits the nodes in `mask`, and comes `once`."""
        if frame.kind == "root":
            return Goto(self._end)
        threads = tuple(
            dict.fromkeys(settled(t, mask) for t in frame.threads if mask >> t.need & 1)
        )
        if not threads:
            return None
        if frame.kind == "array" and not once and any(t.matcher.notes(t.progress) for t in threads):
            return Recall(self._frame("array", "read", threads, kept=frame.kept))
        after = self._frame(frame.kind, "after", threads, kept=frame.kept)
        return Once(after, frame.watched) if once else Goto(after, frame.watched)

    def _comma(self, frame: JsonFrame) -> JsonFrame | None:
        if frame.kind == "array" and not any(t.matcher.recalls(t.progress) for t in frame.threads):
            return self._item(frame)
        threads = tuple(t for t in frame.threads if t.matcher.may_go_on(t.progress))
        stage = "next" if frame.kind == "array" else "key"
        return self._frame(frame.kind, stage, threads, kept=frame.kept) if threads else None

    def _item(self, frame: JsonFrame, values: Iterable[Value] = ()) -> JsonFrame | None:
        """The frame in which the next item of an array is pending, after these values."""
        ready = ((t, t.matcher.recalled(t.progress, values)) for t in frame.threads)
        return self._want(frame, [(t, take) for t, at in ready for take in t.matcher.takes(at)])

    def _any_key(self, frame: JsonFrame, mask: int) -> Once | None:
        """The frame after some key without a name, which is in the languages of `mask`."""
        taken = [
            (t, take)
            for t in frame.threads
            for key_class, left in t.matcher.next_key_classes(t.progress)
            if mask >> (frame.others.index(key_class.language) + 1) & 1  # the first is that of the names
            for take in t.matcher.transitions_by_class(t.progress, key_class, left)
        ]
        after = self._want(frame, taken)
        return None if after is None else Once(after)

    def _key(self, frame: JsonFrame, key: str) -> JsonFrame | None:
        taken = [(t, take) for t in frame.threads for take in t.matcher.takes(t.progress, key)]
        return self._want(frame, taken, key if frame.kept else None)

    def _want(
        self, frame: JsonFrame, taken: list[tuple[Thread, Transition]], key: str | None = None
    ) -> JsonFrame | None:
        """The frame in which each thread wants its child and will then have its new progress."""
        if not taken:
            return None
        forms: dict[NormalForm, int] = {}

        def index(child: Expr) -> int:
            return forms.setdefault(self._normal_form_of(child), len(forms))

        threads = tuple(
            dict.fromkeys(
                Thread(t.owner, t.matcher, take.after, index(take.child), (*map(index, take.observed),))
                for t, take in taken
            )
        )
        return self._frame(frame.kind, "value", threads, tuple(forms), frame.kept, key)

    def _pending(self, frame: JsonFrame) -> JsonFrame:
        """The frame that waits for a value: of a fresh array, the one for its first item."""
        return frame.item or frame

    def _accepting(self, frame: JsonFrame) -> int:
        """The bits of the owners for which the value would be complete here."""
        owners = 0
        for t in frame.threads:
            if t.matcher.may_end(t.progress):
                owners |= 1 << t.owner
        return owners

    def ticked(self, frame: JsonFrame, positions: Iterable[int]) -> JsonFrame:
        """See `Machine.ticked`."""
        return ticked(frame, positions)

    # -- frames ---------------------------------------------------------------------------------

    def _frame(
        self,
        kind: str,
        stage: str,
        threads: tuple[Thread, ...],
        vector: tuple[NormalForm, ...] = (),
        kept: bool = False,
        key: str | None = None,
    ) -> JsonFrame:
        known = (kind, stage, threads, vector, kept, key)
        frame = self._frames.get(known)
        if frame is None:
            frame = JsonFrame(kind, stage)
            frame.threads, frame.vector, frame.key = threads, vector, key
            frame.kept = frame.watched = kept
            if kind == "array":
                frame.watched = kept or any(t.matcher.watches(t.progress) for t in threads)
                frame.apart = any(map(is_apart, threads))
            self._begin(frame)
            self._frames[known] = frame
        return frame

    def _begin(self, frame: JsonFrame) -> None:
        """Say what a frame begins with."""
        layout = self._layout
        if frame.kind == "end":
            frame.lexeme = text_end(layout)
        elif frame.stage == "value":
            if frame.kind == "object":
                frame.entry = before_member(layout)
            else:
                frame.entry = before_lexeme(layout.head if frame.kind == "root" else layout.inner)
            frame.lexeme = self._value_start(frame, closing=False)
            frame.opens = None if frame.watched else frame.vector
        elif frame.stage == "next":
            frame.entry = before_lexeme(layout.inner) or AT_ONCE
            item = self._item(frame)
            frame.lexeme = beginning(item.vector if item else (), self._costs, layout)
            frame.recalls = True
        elif frame.stage == "read":
            frame.lexeme = _NOWHERE
        elif frame.stage == "after":
            more = any(t.matcher.may_go_on(t.progress) for t in frame.threads)
            bracket = "}" if frame.kind == "object" else "]"
            frame.lexeme = after_member(more, bracket if self._accepting(frame) else None, layout)
        else:
            frame.entry = before_lexeme(layout.inner)
            closing = frame.stage == "open" and self._accepting(frame) > 0
            if frame.kind == "array":
                frame.item = self._item(frame)
                frame.lexeme = self._value_start(self._pending(frame), closing)
            else:
                self._begin_key(frame, closing)

    def _begin_key(self, frame: JsonFrame, closing: bool) -> None:
        """Say which keys may come next.

        The lexeme lists all names of the plans, so that it is the same for all frames of them; each
        frame says which it allows.
        """
        threads, alone = frame.threads, len(frame.threads) == 1
        matcher, progress = threads[0].matcher, threads[0].progress
        takes = all(t.matcher.depends_on_class_only(t.progress, alone=alone) for t in threads)
        key_classes = [key_class for t in threads for key_class in t.matcher.open_key_classes(t.progress)] if takes else []
        if alone and matcher.spans and (takes or not matcher.next_unnamed(progress)):
            takes = True
            frame.low, frame.high = matcher.span(progress)
            names = matcher.named if key_classes or frame.low < frame.high else None
        else:
            if not takes:
                frame.others = next_unnamed(frame)
            names = self._names.of(frame, next_names(frame), key_classes)
        if takes:
            frame.others = tuple(dict.fromkeys(key_class.language for key_class in key_classes))
        frame.lexeme = key_start(names, frame.others, self._layout, closing, takes)

    def _value_start(self, frame: JsonFrame, closing: bool) -> LexState:
        vector = frame.vector
        plain = not (closing or frame.watched or frame.apart)
        if plain and len(vector) == 1 and not (vector[0].arrays or vector[0].objects):
            frame.is_scalar = True
            return scalar_start(vector[0], self._layout.surrogates)
        if plain and vector in self._starts:
            lexeme, frame.is_scalar = self._starts[vector]
            return lexeme
        arrays, objects = False, False
        for form in vector:
            arrays = arrays or bool(form.arrays and self._costs.arrays(form))
            objects = objects or bool(form.objects and self._costs.objects(form))
        brackets = "[" * arrays + "{" * objects + "]" * closing
        scalars = tuple([wanted(form) for form in vector])
        frame.is_scalar = not brackets
        kind = "item" if frame.watched else "value"
        kinds = "once" if frame.apart else kind, kind
        lexeme = value_start(scalars, brackets, kinds, self._layout.surrogates)
        if plain:
            self._starts[vector] = lexeme, frame.is_scalar
        return lexeme

    def expected(self, frame: JsonFrame) -> str:
        """See `Machine.expected`."""
        from structgen.schema.machine.expected import expected

        fresh = frame.kind == "array" and frame.stage in ("open", "next")
        pending = (frame.item or self._item(frame)) if fresh else None
        return expected(frame, pending, self._describe, closing=bool(self._accepting(frame)))

    def words(self, frame: JsonFrame) -> list[tuple[Hashable, bytes]] | None:
        """See `Machine.words`: where one of some names must come."""
        if frame.kind != "object" or frame.stage not in ("open", "key") or frame.kept:
            return None
        if next_unnamed(frame) or (frame.stage == "open" and self._accepting(frame)):
            return None
        return [(("key", name), written_key(name)) for name in next_names(frame)]

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
