"""In: nodes in normal form. Out: the machine that reads JSON texts whose value fits.

What is open at some place is a stack of frames; a frame holds *threads*, the alternatives that are
still alive, each with its progress. A child is opened with the distinct nodes that the threads want
of it (a vector); when it closes, the mask of the nodes that it fits says which threads live on. One
thread and one node is by far the usual case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from structgen.automaton.json_lexemes import (
    Layout,
    after_member,
    key_start,
    text_end,
    value_start,
)
from structgen.automaton.lexer import LexState, gap
from structgen.automaton.machine import Frame, Machine
from structgen.automaton.regex import Regex
from structgen.automaton.words import word_range
from structgen.spec.json_costs import Costs, required
from structgen.spec.json_exprs import Expr
from structgen.spec.json_nodes import Node
from structgen.spec.json_plans import Take
from structgen.spec.json_values import Value, members, scalar


class Thread(NamedTuple):
    """One alternative that is still alive: whose it is, its plan, and how far it has come.

    owner: bit of the node (of the vector with which the value was opened) that it belongs to;
    need: index of the node that the pending child must fit; asked: indices of nodes of which the
    plan wants to know whether it did.
    """

    owner: int
    plan: Any  # ObjectPlan, ArrayPlan, or one of their subclasses
    progress: Any  # as the plan has it
    need: int = 0
    asked: tuple[int, ...] = ()


class JsonFrame(Frame):
    """An open value and what comes next in it.

    kind: "root", "object", "array" or "end". stage: "open" (just opened), "key" (after a comma),
    "value" (a child comes next, and fits one of `vector`), "after" (a child has just ended).
    built: items, or keys and values, in turn, as far as read; None where nobody will ask for them.
    """

    __slots__ = ("built", "costs", "kind", "parent", "stage", "threads", "vector", "watched")

    def __init__(self, kind: str, stage: str, parent: JsonFrame | None) -> None:
        self.kind = kind
        self.stage = stage
        self.parent = parent
        self.threads: tuple[Thread, ...] = ()
        self.vector: tuple[Node, ...] = ()
        self.built: tuple[Any, ...] | None = None
        self.watched = False  # whether somebody will ask for the value of the pending child
        self.costs: dict[int, int] = {}  # owner -> fewest bytes after the pending value


class JsonMachine(Machine[JsonFrame]):
    """Reads JSON texts whose value fits the root node."""

    def __init__(
        self,
        root: Node,
        node_of: Callable[[Expr], Node],
        costs: Costs,
        layout: Layout,
        describe: Callable[[Iterable[Node]], str] | None = None,
    ) -> None:
        self._describe = describe  # says in words what some node accepts
        self._node_of = node_of
        self._costs = costs
        self._layout = layout
        self._frames: dict[Hashable, JsonFrame] = {}
        self._start = self._frame("root", "value", None, (), (root,))
        self._end = self._frame("end", "after", None, ())

    @property
    def start(self) -> JsonFrame:
        """See `Machine.start`."""
        return self._start

    def needs_text(self, label: Hashable) -> bool:
        """See `Machine.needs_text`."""
        return isinstance(label, tuple) and label[0] in {"other", "item"}

    def compares(self, frame: JsonFrame) -> bool:
        """See `Machine.compares`: within arrays whose items differ or repeat."""
        return frame.watched

    def event(self, frame: JsonFrame, label: Hashable, text: bytes) -> JsonFrame | None:
        """See `Machine.event`."""
        if isinstance(label, tuple):
            kind, value = label
            if kind in {"value", "item"}:
                read = scalar(text) if kind == "item" else None
                return self._close(self._pending(frame), value, read)
            return self._key(frame, value if kind == "key" else json.loads(b'"' + text))
        if label in ("{", "["):
            return self._open(self._pending(frame), "object" if label == "{" else "array")
        if label == ",":
            return self._comma(frame)
        if label in ("}", "]"):
            owners = self._accepting(frame)
            if not owners or frame.parent is None:
                return None
            return self._close(frame.parent, owners, _container(frame))
        return None

    # -- transitions ----------------------------------------------------------------------------

    def _open(self, frame: JsonFrame, kind: str) -> JsonFrame:
        plans = self._costs.objects if kind == "object" else self._costs.arrays
        threads = tuple(
            Thread(owner, plan, plan.start)
            for owner, node in enumerate(frame.vector)
            for plan in plans(node)
        )
        return self._frame(kind, "open", frame, threads, built=() if frame.watched else None)

    def _close(self, frame: JsonFrame, mask: int, value: Value = None) -> JsonFrame | None:
        """The frame after a child that fits the nodes in `mask`, whose value may be asked for."""
        if frame.kind == "root":
            return self._end
        threads = tuple(
            dict.fromkeys(_settled(t, value, mask) for t in frame.threads if mask >> t.need & 1)
        )
        built = None if frame.built is None else (*frame.built, value)
        return (
            self._frame(frame.kind, "after", frame.parent, threads, (), built) if threads else None
        )

    def _comma(self, frame: JsonFrame) -> JsonFrame | None:
        if frame.kind == "array":
            return self._item(frame)
        threads = tuple(t for t in frame.threads if t.plan.may_go_on(t.progress))
        if not threads:
            return None
        return self._frame("object", "key", frame.parent, threads, (), frame.built)

    def _item(self, frame: JsonFrame) -> JsonFrame | None:
        """The frame in which the next item of an array is pending."""
        taken = [(t, take) for t in frame.threads for take in t.plan.takes(t.progress)]
        return self._want(frame, taken, frame.built)

    def _key(self, frame: JsonFrame, key: str) -> JsonFrame | None:
        taken = [(t, take) for t in frame.threads for take in t.plan.takes(t.progress, key)]
        return self._want(frame, taken, None if frame.built is None else (*frame.built, key))

    def _want(
        self,
        frame: JsonFrame,
        taken: list[tuple[Thread, Take]],
        built: tuple[Any, ...] | None,
    ) -> JsonFrame | None:
        """The frame in which each thread wants its child and will then have its new progress."""
        if not taken:
            return None
        nodes: dict[Node, int] = {}

        def index(child: Expr) -> int:
            return nodes.setdefault(self._node_of(child), len(nodes))

        threads = tuple(
            t._replace(
                progress=take.after, need=index(take.child), asked=tuple(map(index, take.asked))
            )
            for t, take in taken
        )
        threads = tuple(dict.fromkeys(threads))
        return self._frame(frame.kind, "value", frame.parent, threads, tuple(nodes), built)

    def _pending(self, frame: JsonFrame) -> JsonFrame:
        """The frame that waits for a value: of a fresh array, the one for its first item."""
        if frame.kind == "array" and frame.stage == "open":
            return self._item(frame) or frame
        return frame

    def _accepting(self, frame: JsonFrame) -> int:
        """The bits of the owners for which the value would be complete here."""
        owners = {t.owner for t in frame.threads if t.plan.may_end(t.progress)}
        return sum(1 << owner for owner in owners)

    # -- frames ---------------------------------------------------------------------------------

    def _frame(
        self,
        kind: str,
        stage: str,
        parent: JsonFrame | None,
        threads: tuple[Thread, ...],
        vector: tuple[Node, ...] = (),
        built: tuple[Any, ...] | None = None,
    ) -> JsonFrame:
        key = (kind, stage, parent, threads, vector, built)
        frame = self._frames.get(key)
        if frame is None:
            frame = JsonFrame(kind, stage, parent)
            frame.threads, frame.vector, frame.built = threads, vector, built
            watches = any(t.plan.watches(t.progress) for t in threads)
            frame.watched = built is not None or watches
            frame.lexeme = self._lexeme(frame)
            self._frames[key] = frame
        return frame

    def _lexeme(self, frame: JsonFrame) -> LexState:
        closing = bool(self._accepting(frame))
        if frame.kind == "end":
            return text_end(self._layout)
        if frame.stage == "value":
            space = self._layout.head if frame.kind == "root" else self._layout.inner
            return gap(space, self._value_start(frame, closing=False))
        if frame.stage == "after":
            more = any(t.plan.may_go_on(t.progress) for t in frame.threads)
            bracket = "}" if frame.kind == "object" else "]"
            return after_member(more, bracket if closing else None, self._layout)
        if frame.kind == "array":
            return gap(self._layout.inner, self._value_start(self._pending(frame), closing))
        names, others = self._next_keys(frame)
        closing = closing and frame.stage == "open"
        return key_start(word_range(names), others, self._layout, closing)

    def _value_start(self, frame: JsonFrame, closing: bool) -> LexState:
        vector = frame.vector
        return value_start(
            vector,
            arrays=any(self._costs.arrays(node) for node in vector),
            objects=any(self._costs.objects(node) for node in vector),
            closing=closing,
            watched=frame.watched,
            surrogates=self._layout.surrogates,
        )

    def expected(self, frame: JsonFrame) -> str:
        """See `Machine.expected`."""
        from structgen.spec import json_words

        closing = bool(self._accepting(frame))
        wanted: list[str] = []
        if frame.kind == "end":
            return "the end of the text"
        if frame.stage == "value":
            return self._wanted(frame)
        if frame.stage == "after":
            if any(t.plan.may_go_on(t.progress) for t in frame.threads):
                wanted.append("','")
        elif frame.kind == "array":
            pending = self._pending(frame)
            wanted += [self._wanted(pending)] * (pending is not frame)
        else:
            names, others = self._next_keys(frame)
            wanted += json_words.keys(names, others=bool(others))
        if closing and frame.stage != "key":
            wanted.append("'}'" if frame.kind == "object" else "']'")
        return " or ".join(wanted)

    def _wanted(self, frame: JsonFrame) -> str:
        """The pending value of a frame, in words."""
        from structgen.spec import json_words

        needed = dict.fromkeys(t.need for t in frame.threads) or (0,)
        return (self._describe or json_words.plain)([frame.vector[need] for need in needed])

    def missing(self, frame: JsonFrame) -> str:
        """See `Machine.missing`."""
        from structgen.spec import json_words

        if frame.kind != "object":
            return ""
        found = [t.plan.missing(t.progress) for t in frame.threads]
        return json_words.required([k for k in found[0] if all(k in names for names in found)])

    @staticmethod
    def _next_keys(frame: JsonFrame) -> tuple[list[str], tuple[Regex, ...]]:
        """The names that some thread takes next, and the languages of other keys."""
        plans = [(t.plan, t.progress) for t in frame.threads]
        names = dict.fromkeys(name for plan, at in plans for name in plan.next_names(at))
        others = dict.fromkeys(keys for plan, at in plans for keys in plan.next_others(at))
        return list(names), tuple(others)

    # -- costs ----------------------------------------------------------------------------------

    def cost(self, frame: JsonFrame) -> int:
        """See `Machine.cost`."""
        if frame.kind == "end":
            return 0
        if frame.kind == "root":
            return self._value_cost(frame.vector[0])
        if frame.stage == "value":
            pending = enumerate(map(self._costs.of_node, frame.vector))
            return self._costs.gap + min(  # no value need fit a node that is only asked about
                size + self._after(frame, need) for need, size in pending if size is not None
            )
        least = int(frame.stage == "key")
        opened = frame.stage in ("open", "key")
        outer = self._outer(frame)
        sizes: list[int] = []
        for t in frame.threads:
            inner = (t.progress, opened, least) if frame.kind == "object" else (t.progress, opened)
            sizes.append(t.plan.cost(*inner) + self._after(outer, t.owner))
        return min(sizes)

    def floor(self, frame: JsonFrame) -> int:
        """See `Machine.floor`."""
        if frame.kind in {"root", "end"}:
            return 0
        if frame.stage == "value":
            return min(self._after(frame, need) for need in range(len(frame.vector)))
        outer = self._outer(frame)
        if frame.kind == "array" or frame.stage == "after":
            return min(self._after(outer, t.owner) for t in frame.threads)
        sizes: list[int] = [
            t.plan.floor(t.progress) + self._after(outer, t.owner) for t in frame.threads
        ]
        return min(sizes)

    @staticmethod
    def _outer(frame: JsonFrame) -> JsonFrame:
        """The frame that an open object or array stands in; only the root has none."""
        return frame if frame.parent is None else frame.parent

    def _value_cost(self, node: Node) -> int:
        return required(self._costs.of_node(node))

    def _after(self, frame: JsonFrame, need: int) -> int:
        """Fewest bytes after the pending value of `frame`, when it fits node `need`."""
        chain: list[JsonFrame] = []
        at: JsonFrame | None = frame
        while at is not None and at.kind != "root" and not at.costs:
            chain.append(at)
            at = at.parent
        for pending in reversed(chain):  # outermost first, so that depth costs no recursion
            for t in pending.threads:
                outer = self._outer(pending).costs.get(t.owner, 0)
                for fits in {t.need, *t.asked}:
                    settled = _settled(t, None, 1 << fits | 1 << t.need) if t.asked else t
                    size = t.plan.cost(settled.progress, False) + outer
                    pending.costs[fits] = min(size, pending.costs.get(fits, size))
        return frame.costs.get(need, 0)


def _container(frame: JsonFrame) -> Value:
    """The array or object that has been read, None where nobody asks for it."""
    if frame.built is None or frame.kind == "array":
        return frame.built
    return members(zip(frame.built[::2], frame.built[1::2], strict=True))


def _settled(t: Thread, value: Value, mask: int) -> Thread:
    """A thread after a child that fits the nodes in `mask`."""
    known = tuple(bool(mask >> i & 1) for i in t.asked)
    return Thread(t.owner, t.plan, t.plan.settle(t.progress, value, known))
