"""In: a stack of what is open in a JSON text. Out: the fewest bytes that complete it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

from structgen.automata.pushdown.machine import Frame, Kept, Stack
from structgen.regular.regex import Regex
from structgen.schema.arrays.items import Items
from structgen.schema.normal_form.costs import Costs, required
from structgen.schema.normal_form.nodes import Node, both
from structgen.schema.values import Value, members


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
    "value" (a child comes next, and fits one of `vector`), "after" (a child has just ended), "read"
    (the same, and the plans are to note its value), "next" (after the comma of an array, before the
    plans have recalled what was read).
    kept: whether somebody will ask for the open value as a whole; key: the name of the pending
    member then, None if it has none. watched: whether somebody will ask for the pending child;
    apart: whether it must not have come before in the same array, which its text says. item: of a
    fresh array, the frame for its first item; None if there can be none.
    """

    __slots__ = (
        "apart", "item", "kept", "key", "kind", "others", "stage", "threads", "vector", "watched",
    )  # fmt: skip

    def __init__(self, kind: str, stage: str) -> None:
        self.entry, self.low, self.high, self.allowed = None, 0, 0, None
        self.checklist, self.alike, self.begun = None, self, self
        self.is_scalar = self.recalls = False
        self.opens = None
        self.kind = kind
        self.stage = stage
        self.threads: tuple[Thread, ...] = ()
        self.vector: tuple[Node, ...] = ()
        self.key: str | None = None
        self.item: JsonFrame | None = None
        self.kept = self.watched = self.apart = False
        self.others: tuple[Regex, ...] = ()  # languages of keys without a name that may come next


def settled(t: Thread, mask: int) -> Thread:
    """A thread after a child that fits the nodes in `mask`."""
    known = tuple(bool(mask >> i & 1) for i in t.asked)
    progress = t.plan.settle(t.progress, known)
    return Thread(t.owner, t.plan.after(progress), progress)


def told_apart(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The threads of an open array; none need know items that their texts tell apart."""
    if len(threads) != 1 or not threads[0].plan.is_textual:
        return threads
    (thread,) = threads
    return (thread._replace(progress=thread.progress._replace(apart=True)),)


def is_apart(thread: Thread) -> bool:
    """Whether the items of an array are told apart by their texts."""
    return isinstance(thread.progress, Items) and thread.progress.apart


def next_names(frame: JsonFrame) -> list[str]:
    """The names that some thread takes next."""
    threads = frame.threads
    if len(threads) == 1:
        names: list[str] = threads[0].plan.next_names(threads[0].progress)
        return names
    found: set[str] = set()
    for t in threads:  # one that takes a name is enough: first those that need it are asked
        found.update(t.plan.next_names(t.progress, t.plan.required - found))
    for t in threads:
        found.update(t.plan.next_names(t.progress, {*t.plan.names} - t.plan.required - found))
    return list(dict.fromkeys(n for t in threads for n in t.plan.names if n in found))


def next_others(frame: JsonFrame) -> tuple[Regex, ...]:
    """The languages of other keys that some thread takes next."""
    languages = (keys for t in frame.threads for keys in t.plan.next_others(t.progress))
    return tuple(dict.fromkeys(languages))


def unquoted(text: bytes) -> str:
    """A key, from what is spelled between its quotes, the last one included."""
    key: str = json.loads(b'"' + text)
    return key


def whole(frame: JsonFrame, kept: list[Kept]) -> Value:
    """The array or object that closed in `frame`, from what was kept inside of it."""
    if frame.kind == "array":
        return tuple(read.value for read in kept)
    return members((_key_of(read), read.value) for read in kept)


def _key_of(read: Kept) -> str:
    frame: Any = read.frame
    return unquoted(read.key) if frame.key is None else frame.key


Below = Stack[JsonFrame]


def remaining(stack: Below, costs: Costs) -> int:
    """Fewest bytes from where the innermost frame begins to the end of the text."""
    frame = stack.frame
    if frame.kind == "end":
        return 0
    if frame.kind == "root":
        return required(costs.of_node(frame.vector[0]))
    if frame.stage == "value":
        ways = [(node, _after(stack, need)) for need, node in enumerate(frame.vector)]
        for asked, after in _all_asked(stack):
            ways.append((reduce(both, (frame.vector[i] for i in asked)), after))
        known = ((costs.of_node(node), after) for node, after in ways)
        colon = int(frame.kind == "object")
        # no value need fit a node that is only asked about
        return colon + costs.gap + min(size + after for size, after in known if size is not None)
    least = int(frame.stage == "key")
    opened = frame.stage in ("open", "key", "next")
    sizes: list[int] = []
    for t in frame.threads:
        inner = (t.progress, opened, least) if frame.kind == "object" else (t.progress, opened)
        sizes.append(t.plan.cost(*inner) + _after(stack.below, t.owner))
    return min(sizes) + (frame.stage == "next")


def least_behind(stack: Below) -> int:
    """A lower bound on what remains after any event in the innermost frame."""
    frame = stack.frame
    if frame.kind in {"root", "end"}:
        return 0
    if frame.stage == "value":
        ways = [_after(stack, need) for need in range(len(frame.vector))]
        return min((*ways, *(after for _, after in _all_asked(stack))))
    if frame.kind == "array" or frame.stage == "after":
        return min(_after(stack.below, t.owner) for t in frame.threads)
    sizes: list[int] = [
        t.plan.floor(t.progress) + _after(stack.below, t.owner) for t in frame.threads
    ]
    return min(sizes)


def _after(stack: Below | None, need: int) -> int:
    """Fewest bytes after the pending value of a stack, when it fits node `need`."""
    chain: list[Below] = []
    at = stack
    while at is not None and at.frame.kind != "root" and not at.costs:
        chain.append(at)
        at = at.below
    for pending in reversed(chain):  # outermost first, so that depth costs no recursion
        for t in pending.frame.threads:
            outer = 0 if pending.below is None else pending.below.costs.get(t.owner, 0)
            for fits in {t.need, *t.asked}:
                known = settled(t, 1 << fits | 1 << t.need) if t.asked else t
                size = known.plan.cost(known.progress, False) + outer
                pending.costs[fits] = min(size, pending.costs.get(fits, size))
    return 0 if stack is None else stack.costs.get(need, 0)


def _all_asked(stack: Below) -> Iterator[tuple[tuple[int, ...], int]]:
    """What a thread wants to know of the pending value, and the bytes after one that fits it all.

    That may take fewer bytes than to fit some of it, and what is left later.
    """
    for t in stack.frame.threads:
        if len(t.asked) > 1:
            known = settled(t, -1)
            after = known.plan.cost(known.progress, False) + _after(stack.below, t.owner)
            yield t.asked, after
