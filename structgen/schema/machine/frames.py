"""Frames: the open values of a JSON text, each with the alternatives that are still alive in it.

A frame of an open object or array holds *threads* as Pike's simulation of an NFA does (Thompson
1968, Pike): one for each alternative that what has been read does not exclude. The children that
they want are the *vector* of the frame; the child is read against all of it at once, and when it
closes, the mask of the normal forms that it fits says which threads live on. Frames are immutable
once made and shared; a stack of them is what is open. `remaining` and `least_behind` find the
fewest bytes that complete such a stack.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

from structgen.automata.pushdown.machine import Capture, Frame, Stack
from structgen.regular.regex import Regex
from structgen.schema.arrays.contains import ItemProgress
from structgen.schema.machine.child_forms import Missed
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.combination import conjunction
from structgen.schema.normal_form.costs import known_cost
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.values import Value, data_of, members

EVERYTHING = -1  # the mask of a child that fits all forms


class Thread(NamedTuple):
    """One alternative that is still alive, with its matcher and how far that has come.

    owner: index of the normal form that it is an alternative of, in the vector with which the value
    was opened. need: index in the vector of the frame of what the child being read must fit.
    observed: indices of what the matcher has to know about the child when it has been read: forms
    there, and behind them those that it may miss.
    """

    owner: int
    matcher: Any  # ObjectMatcher, ArrayMatcher, or a subclass
    progress: Any  # a state of the matcher
    need: int = 0
    observed: tuple[int, ...] = ()


class JsonFrame(Frame):
    """An open value and what comes next in it. Compared by identity.

    kind: "root", "object", "array" or "end".
    stage: "open" (just opened), "key" (after a comma in an object), "value" (a child comes next,
        which fits some form of `vector`), "after" (a child has just ended), "read" (the same, and
        the matchers are to be given its value), "next" (after a comma in an array, and the matchers
        are to be given all values read).
    captured: whether the open value will be needed as a whole, by an array around it whose items
        are compared; `key` is then the name of the member being read.
    captures_child: whether the child being read will be needed.
    texts_compared: whether a string must not have come before (see `ItemProgress`).
    item: for an array just opened, the frame for its first item; None if there can be none.
    others: the languages of keys without a name that may come next, one per key class.
    by_value: where a scalar of a long list comes next, the threads that each leaves alive.
    missed: forms of the vector that a child may miss, which threads observe.
    """

    __slots__ = (
        "by_value", "captured", "captures_child", "item", "key", "kind", "missed", "others",
        "stage", "texts_compared", "threads", "vector",
    )  # fmt: skip

    def __init__(self, kind: str, stage: str) -> None:
        self.entry, self.low, self.high, self.allowed = None, 0, 0, None
        self.key_set, self.actions_of, self.in_scalar = None, self, self
        self.only_scalar = self.recalls = False
        self.opens = None
        self.kind = kind
        self.stage = stage
        self.threads: tuple[Thread, ...] = ()
        self.vector: tuple[NormalForm, ...] = ()
        self.missed: tuple[Missed, ...] = ()
        self.key: str | None = None
        self.item: JsonFrame | None = None
        self.captured = self.captures_child = self.texts_compared = False
        self.others: tuple[Regex, ...] = ()
        self.by_value: dict[Value, tuple[Thread, ...]] | None = None


def after_child(t: Thread, mask: int) -> Thread:
    """A thread after a child; mask: bit i is set if the child fits form i of the vector."""
    known = tuple(bool(mask >> i & 1) for i in t.observed)
    progress = t.matcher.resolve(t.progress, known)
    return Thread(t.owner, t.matcher.reduced(progress), progress)


def without_covered(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The threads of an array without those that may do no more than another one."""
    return tuple(
        t
        for t in threads
        if not any(
            t.owner == other.owner
            and t.matcher is other.matcher
            and t is not other
            and t.matcher.covers(other.progress, t.progress)
            for other in threads
        )
    )


def comparing_texts(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The threads of an open array, with texts compared by the engine where that is enough."""
    if len(threads) != 1 or not threads[0].matcher.may_compare_texts:
        return threads
    (thread,) = threads
    return (thread._replace(progress=thread.progress._replace(texts_compared=True)),)


def compares_texts(thread: Thread) -> bool:
    """Whether the engine keeps strings from coming twice in the array of a thread."""
    return isinstance(thread.progress, ItemProgress) and thread.progress.texts_compared


def next_names(frame: JsonFrame) -> list[str]:
    """The names that some thread takes next."""
    threads = frame.threads
    if len(threads) == 1:
        names: list[str] = threads[0].matcher.next_names(threads[0].progress)
        return names
    found: set[str] = set()
    for t in threads:  # one thread that takes a name is enough: those that require it come first
        found.update(t.matcher.next_names(t.progress, t.matcher.required - found))
    for t in threads:
        optional = {*t.matcher.names} - t.matcher.required
        found.update(t.matcher.next_names(t.progress, optional - found))
    return list(dict.fromkeys(n for t in threads for n in t.matcher.names if n in found))


def next_unnamed(frame: JsonFrame) -> tuple[Regex, ...]:
    """The languages of keys without a name that some thread takes next."""
    languages = (keys for t in frame.threads for keys in t.matcher.next_unnamed(t.progress))
    return tuple(dict.fromkeys(languages))


def cheapest(frame: JsonFrame) -> tuple[Thread, ...]:
    """The threads of an object before a key that can end it in the fewest bytes."""
    if len(frame.threads) == 1:
        return frame.threads
    opened = frame.stage in ("open", "key")
    costs = [t.matcher.cost(t.progress, opened, 1) for t in frame.threads]
    least = _least(costs)
    return tuple([t for t, cost in zip(frame.threads, costs, strict=True) if cost == least])


def unquoted(text: bytes) -> str:
    """A key, from its text behind the first quote, the last quote included."""
    key: str = json.loads(b'"' + text)
    return key


def whole(frame: JsonFrame, captures: list[Capture]) -> Value:
    """The array or object that closed in `frame`, from what was captured inside of it."""
    if frame.kind == "array":
        return tuple(read.value for read in captures)
    return members((_key_of(read), read.value) for read in captures)


def _key_of(read: Capture) -> str:
    frame: Any = read.frame
    return unquoted(read.key) if frame.key is None else frame.key


Below = Stack[JsonFrame]


def remaining(stack: Below, costs: Matchers) -> int:
    """Fewest bytes from where the innermost frame begins to the end of the text."""
    frame = stack.frame
    if frame.kind == "end":
        return 0
    if frame.kind == "root":
        return known_cost(costs.of_form(frame.vector[0]))
    if frame.by_value is not None:
        listed = frame.by_value.items()
        ways_on = (_written(value) + _behind(stack, threads) for value, threads in listed)
        return costs.gap + int(frame.kind == "object") + min(ways_on)
    if frame.stage == "value":
        ways = [(form, _after(stack, need)) for need, form in enumerate(frame.vector)]
        for forms, after in _fitting_more(stack, costs):
            ways.append((reduce(conjunction, forms), after))
        colon = int(frame.kind == "object")
        # there need not be a value that fits a form that is only observed
        sizes = [_sum(costs.of_form(form), after) for form, after in ways]
        if not any(size is not None for size in sizes):
            needs = {t.need for t in frame.threads}
            least = _least(costs.of_form(frame.vector[i]) for i in needs) + _at_least(stack)
        else:
            least = _least(sizes)
        return colon + costs.gap + least
    least = int(frame.stage == "key")
    opened = frame.stage in ("open", "key", "next")
    inside: list[int | None] = []
    for t in frame.threads:
        inner = (t.progress, opened, least) if frame.kind == "object" else (t.progress, opened)
        inside.append(t.matcher.cost(*inner))
    behind = [_after(stack.below, t.owner) for t in frame.threads]
    return _least_together(inside, behind, stack.below) + (frame.stage == "next")


def _least_together(
    inside: Sequence[int | None], behind: Sequence[int | None], below: Below | None
) -> int:
    """The least of costs within a frame with those behind it, by thread."""
    both = [_sum(one, other) for one, other in zip(inside, behind, strict=True)]
    known = any(cost is not None for cost in both)
    return _least(both) if known else _least(inside) + _at_least(below)


def _at_least(stack: Below | None) -> int:
    """A lower bound on the bytes after the value being read: as if it fitted all that is observed.

    For where a value has to fit several forms at once for the rest to be possible.
    """
    found = 0
    while stack is not None and stack.frame.kind != "root":
        after = (after_child(t, EVERYTHING) for t in stack.frame.threads)
        found += _least(t.matcher.cost(t.progress, False) for t in after)
        stack = stack.below
    return found


def _sum(one: int | None, other: int | None) -> int | None:
    """The sum of two costs; None where one of them is unknown, or what it is for cannot be."""
    return None if one is None or other is None else one + other


def _least(costs: Iterable[int | None]) -> int:
    """The least of costs."""
    return min([cost for cost in costs if cost is not None], default=0)


def _written(value: Value) -> int:
    """Bytes of the shortest text of a scalar, about."""
    data = data_of(value)
    return len(json.dumps(data, ensure_ascii=False, default=str).encode())


def _behind(stack: Below, threads: tuple[Thread, ...]) -> int:
    """Fewest bytes after a scalar that leaves some threads alive."""
    sizes = ((t.matcher.cost(t.progress, False), _after(stack.below, t.owner)) for t in threads)
    return _least(_sum(size, outer) for size, outer in sizes)


def least_behind(stack: Below) -> int:
    """A lower bound on what remains after any action in the innermost frame."""
    frame = stack.frame
    if frame.kind in {"root", "end"}:
        return 0
    if frame.by_value is not None:
        return min(_behind(stack, threads) for threads in frame.by_value.values())
    if frame.stage == "value":
        ways = [_after(stack, need) for need in range(len(frame.vector))]
        ways += (after for _, after in _fitting_more(stack))
        return _least_together([0] * len(ways), ways, stack)
    inside = [0] * len(frame.threads)
    if frame.kind == "object" and frame.stage != "after":
        inside = [t.matcher.floor(t.progress) for t in frame.threads]
    behind = [_after(stack.below, t.owner) for t in frame.threads]
    return _least_together(inside, behind, stack.below)


def _after(stack: Below | None, need: int) -> int | None:
    """Fewest bytes after the value being read on a stack, if it fits form `need` of the vector.

    None where no such value is seen to do: it has to fit more than that.
    """
    chain: list[Below] = []
    at = stack
    while at is not None and at.frame.kind != "root" and not at.costs:
        chain.append(at)
        at = at.below
    for pending in reversed(chain):  # outermost first, so that depth costs no recursion
        for t in pending.frame.threads:
            outer = 0 if pending.below is None else pending.below.costs.get(t.owner, 0)
            for fits in {t.need, *(i for i in t.observed if i < len(pending.frame.vector))}:
                known = after_child(t, 1 << fits | 1 << t.need) if t.observed else t
                size = _sum(known.matcher.cost(known.progress, False), outer)
                before = pending.costs.get(fits)
                if before is None or (size is not None and size < before):
                    pending.costs[fits] = size
    return 0 if stack is None else stack.costs.get(need, 0)


def _fitting_more(
    stack: Below, costs: Matchers | None = None
) -> Iterator[tuple[list[NormalForm], int | None]]:
    """The forms that a value fits for which a thread observes all, or which misses one form.

    Each with the bytes after it. All of them together may take fewer bytes, with what is left to
    write, than only some. costs: None if the forms are not asked for.
    """
    vector, missed = stack.frame.vector, stack.frame.missed

    def form(i: int, costs: Matchers) -> NormalForm:
        at = i - len(vector)
        return vector[i] if at < 0 else costs.normal_form_of(missed[at].negation)

    for t in stack.frame.threads:
        apart = [(i,) for i in t.observed if i >= len(vector)]
        for some in (*apart, t.observed) if len(t.observed) > 1 else apart:
            known = after_child(t, sum(1 << i for i in some))
            after = _sum(known.matcher.cost(known.progress, False), _after(stack.below, t.owner))
            asked = [] if costs is None else [vector[t.need], *(form(i, costs) for i in some)]
            yield asked, after
