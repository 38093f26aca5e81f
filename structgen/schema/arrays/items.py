"""In: an array in which items of some kind are counted. Out: its plan.

Where an item may be one of those that are counted there are two ways to go on, and the machine
follows both. Whether enough items can still come, and at what cost, is a shortest path through the
progress that is left (Dijkstra 1959).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from itertools import count as numbered
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import BudgetError
from structgen.schema.arrays.plans import ArrayPlan
from structgen.schema.normal_form.expressions import Expr, conjoin, contradictory
from structgen.schema.normal_form.nodes import ArrayAlt
from structgen.schema.normal_form.progress import CostOf, Take, closing
from structgen.schema.values import Value
from structgen.util.cached import found_once

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs

MAX_STEPS = 20_000  # of one search for the rest of an array

Counts = tuple[int, ...]


class Items(NamedTuple):
    """What has been read of an array.

    read: items so far, as far as it matters; counts: per counted child, how many fit, as far as it
    matters; values: the distinct ones read, where items must differ or repeat; twins: whether two
    items were equal, where some must be. apart: whether strings differ by what is said elsewhere.
    """

    read: int
    counts: Counts
    values: frozenset[Value] = frozenset()
    twins: bool = False
    apart: bool = False


class ItemsPlan(ArrayPlan):
    """One alternative of an array that counts items."""

    def __init__(self, alt_: ArrayAlt, costs: Costs) -> None:
        super().__init__(alt_, costs)
        self._known: dict[Items, int | None] = {}

    @property
    def start(self) -> Items:  # type: ignore[override]
        """See `ArrayPlan.start`."""
        return Items(0, (0,) * len(self.alt.counted))

    @found_once
    def stable(self) -> int:
        """Items from this index on are all alike."""
        return max((self.alt.prefix, *(c.start for c in self.alt.counted)))

    def take(self, count: int) -> int:
        """See `ArrayPlan.take`."""
        if self.alt.most is not None:
            return count + 1
        return min(count + 1, max(self.alt.least, self.stable))

    def ways(self, index: int, counts: Counts) -> Iterator[tuple[Expr, Counts]]:
        """The ways to write item `index`: what it must fit, and the counts after it."""
        if self.alt.most is not None and index >= self.alt.most:
            return
        ways: list[tuple[Expr, Counts]] = [(self.child(index), ())]
        for c, have in zip(self.alt.counted, counts, strict=True):
            matters = index >= c.start and (c.most is not None or have < c.least)
            room = c.most is None or have < c.most
            longer: list[tuple[Expr, Counts]] = []
            for child, found in ways:
                claimed = conjoin(child, c.child)
                if matters and room:
                    longer.append((claimed, (*found, have + 1)))
                if not matters:
                    longer.append((child, (*found, have)))
                elif claimed != child:
                    denied = self._costs.negation(c.child) if c.most is not None else ()
                    longer.append((conjoin(child, denied), (*found, have)))
            ways = longer
        yield from (way for way in ways if not contradictory(way[0]))

    def takes(self, at: Items) -> list[Take]:  # type: ignore[override]
        """See `ArrayPlan.takes`."""
        found = (
            Take(child, Items(self.take(at.read), counts)) for child, counts in self.ways(*at[:2])
        )
        return [take for take in found if self.offers(take)]

    def offers(self, take: Take) -> bool:
        """Whether some item fits, and the array can be finished then."""
        return self._costs.of(take.child) is not None and self.rest(take.after) is not None

    def notes(self, _at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.notes`."""
        return False

    def noted(self, at: Items, value: Value) -> Items:  # type: ignore[override]
        """See `ArrayPlan.noted`."""
        return at._replace(values=at.values | {value}) if self.notes(at) else at

    def may_end(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.may_end`."""
        enough = all(n >= c.least for n, c in zip(at.counts, self.alt.counted, strict=True))
        return enough and at.read >= self.alt.least

    def may_go_on(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.may_go_on`."""
        return bool(self.takes(at))

    def cost(self, at: Items, opened: bool) -> int:  # type: ignore[override]
        """See `ArrayPlan.cost`."""
        size = self.rest(at) or 0
        return closing(int(size > 0), size, opened, self._costs.gap)

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ArrayPlan.minimum`."""
        if self.alt.most is not None and self.alt.most < self.alt.least:
            return None
        size = self.search(self.start, cost_of)
        return None if size is None else 1 + closing(int(size > 0), size, True, self._costs.gap)

    def rest(self, at: Items) -> int | None:
        """Fewest bytes of the items still to come, commas included; None if they cannot come."""
        if at not in self._known:
            self._known[at] = self.search(at, self._costs.of)
        return self._known[at]

    def search(self, at: Items, cost_of: CostOf) -> int | None:
        """`rest` under given costs of children."""
        order = numbered()
        comma = 1 + self._costs.gap
        heap: list[tuple[int, int, Any]] = [(0, next(order), self.begin(at))]
        done: set[Hashable] = set()
        while heap:
            size, _, state = heapq.heappop(heap)
            if state in done:
                continue
            done.add(state)
            if self.finished(state):
                return max(size - comma, 0)
            if len(done) > MAX_STEPS:
                raise BudgetError(
                    f"deciding how an array can go on takes more than {MAX_STEPS} steps",
                    hint="lower minItems, minContains or maxContains",
                )
            for cost, after in self.steps(at, state, cost_of):
                heapq.heappush(heap, (size + cost + comma, next(order), after))
        return None

    def begin(self, at: Items) -> Any:
        """The state in which a search starts."""
        return at.read, at.counts

    def finished(self, state: Any) -> bool:
        """Whether the array may end in a state of a search."""
        return ItemsPlan.may_end(self, Items(state[0], state[1]))

    def steps(self, _at: Items, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """The bytes of one more item in a search, and the state after it."""
        index, counts = state
        for child, after in self.ways(index, counts):
            cost = cost_of(child)
            if cost is not None:
                yield cost, (self.take(index), after)

    def has_many(self, many: Callable[[Expr], bool]) -> bool:
        """See `ArrayPlan.has_many`; where items must differ, all but one must have many values."""
        if not self.alt.counted or self.alt.repeated:
            return not self.alt.repeated and super().has_many(many)
        todo = [(0, self.start.counts, False, False)]
        seen = set(todo)
        while todo and len(seen) < MAX_STEPS:
            index, counts, rich, poor = todo.pop()
            if rich and self.finished((index, counts)):
                return True
            for child, after in self.ways(index, counts):
                if self._costs.of(child) is None:
                    continue
                scarce = not many(child)
                if scarce and poor and self.alt.unique:
                    continue
                then = (self.take(index), after, rich or not scarce, poor or scarce)
                if then not in seen:
                    seen.add(then)
                    todo.append(then)
        return False
