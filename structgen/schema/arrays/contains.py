"""The matcher that enforces `contains`, `minContains` and `maxContains`: it counts items that fit.

Where items may be as many as they like, an item is observed: when it has been read it is known what
it counts for. Else, where an item may be one of those that are counted there are two transitions,
with the counted child and without, and the machine follows both (as an NFA does). Whether enough
items can still come, and at what cost, is a shortest path through the progresses to come (Dijkstra
1959).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import count as numbered
from typing import Any, NamedTuple

from structgen.errors import BudgetError
from structgen.schema.arrays.matcher import ArrayMatcher
from structgen.schema.normal_form.expressions import Expr, conjoin, contradictory, implied
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import ArrayAlt, Contains
from structgen.schema.normal_form.progress import CostOf, Transition, closing_cost
from structgen.schema.values import Value
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_STEPS = 20_000  # of one search for the rest of an array
FEW_COUNTED = 4  # counted children of which items are looked for that fit several

Counts = tuple[int, ...]  # for each of `ArrayAlt.contains`, how many items have fitted


class ItemProgress(NamedTuple):
    """What has been read of an array, as far as it matters for what may follow.

    read: number of items. counts: for each counted child, how many items fit. values: those read,
    where items must differ or repeat. repeat_found: whether two items were equal, where some must
    be. texts_compared: whether the engine keeps strings from coming twice. observed: the counted
    children that the item being read may fit, by index.
    """

    read: int
    counts: Counts
    values: frozenset[Value] = frozenset()
    repeat_found: bool = False
    texts_compared: bool = False
    observed: tuple[int, ...] = ()


class ContainsMatcher(ArrayMatcher):
    """The matcher of one array alternative that counts items."""

    def __init__(self, alt_: ArrayAlt, costs: FiniteValues) -> None:
        super().__init__(alt_, costs)
        self._least_rest: dict[ItemProgress, int | None] = {}

    @property
    def start(self) -> ItemProgress:  # type: ignore[override]
        """See `ArrayMatcher.start`."""
        return ItemProgress(0, (0,) * len(self.alt.contains))

    @cached_attribute
    def stable(self) -> int:
        """The index from which on all items are treated alike."""
        return max((self.alt.prefix, *(c.start for c in self.alt.contains)))

    def advance(self, count: int) -> int:
        """See `ArrayMatcher.advance`."""
        if self.alt.most is not None:
            return count + 1
        return min(count + 1, max(self.alt.least, self.stable))

    def choices(
        self, index: int, counts: Counts, wanted: int | None = None
    ) -> Iterator[tuple[Expr, Counts]]:
        """The choices for item `index`: what it must fit, and the counts after it.

        wanted: the counted child that it has to fit, if any.
        """
        if self.alt.most is not None and index >= self.alt.most:
            return
        choices: list[tuple[Expr, Counts]] = [(self.child(index), ())]
        for at, (c, have) in enumerate(zip(self.alt.contains, counts, strict=True)):
            # once there are enough, an item counts only if there can be too many
            matters = index >= c.start and (c.most is not None or have < c.least)
            room = c.most is None or have < c.most
            longer: list[tuple[Expr, Counts]] = []
            for child, found in choices:
                claimed = _counted(child, c)
                if matters and room and not self._is_plainly_empty(claimed):
                    longer.append((claimed, (*found, have + 1)))
                if not matters:
                    longer.append((child, (*found, have)))
                elif claimed != child and at != wanted:
                    # below `least` an item that fits need not be counted, but one too many must be
                    negated = self._costs.negation(c.child) if c.most is not None else ()
                    longer.append((conjoin(child, negated), (*found, have)))
            choices = longer
            checkpoint(1 + len(choices) // 16)
        yield from (choice for choice in choices if not contradictory(choice[0]))

    def _is_plainly_empty(self, expr: Expr) -> bool:
        """Whether no value fits an expression, as is seen without costs."""
        return contradictory(expr) or self._costs.normal_form_of(expr).is_plainly_empty

    def transitions(self, at: ItemProgress) -> list[Transition]:  # type: ignore[override]
        """See `ArrayMatcher.transitions`."""
        if self._is_observed:
            return [self._observing(at)]
        found = (
            Transition(child, ItemProgress(self.advance(at.read), counts))
            for child, counts in self.choices(*at[:2])
        )
        return [transition for transition in found if self.is_viable(transition)]

    @cached_attribute
    def _is_observed(self) -> bool:
        """Whether items need only be observed: whatever they are, others may always follow."""
        last, possible = self.child(self.stable), self._costs.satisfiable
        return (
            self.most is None
            and all(c.most is None for c in self.alt.contains)
            and all(possible(conjoin(last, c.child)) for c in self.alt.contains)
        )

    def _observing(self, at: ItemProgress) -> Transition:
        """The transition with any item, which is observed as far as that matters."""
        child = self.child(at.read)
        counts, observed = [*at.counts], dict[int, Expr]()
        for i, c in enumerate(self.alt.contains):
            if at.read >= c.start and counts[i] < c.least:
                counted = _counted(child, c)
                if counted == child:
                    counts[i] += 1
                elif not self._is_plainly_empty(counted):
                    observed[i] = counted
        after = ItemProgress(self.advance(at.read), tuple(counts), observed=tuple(observed))
        return Transition(child, after, tuple(observed.values()))

    def resolve(self, at: ItemProgress, known: tuple[bool, ...]) -> ItemProgress:  # type: ignore[override]
        """See `ArrayMatcher.resolve`: what was observed is counted."""
        if not at.observed:
            return at
        counts = [*at.counts]
        for i, fits in zip(at.observed, known, strict=True):
            counts[i] += fits
        return at._replace(counts=tuple(counts), observed=())

    def is_viable(self, transition: Transition) -> bool:
        """Whether some item fits, and the array can be finished then."""
        possible = self._costs.of(transition.child) is not None
        return possible and self.rest(transition.after) is not None

    def collects_values(self, _at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.collects_values`."""
        return False

    def with_collected(self, at: ItemProgress, value: Value) -> ItemProgress:  # type: ignore[override]
        """See `ArrayMatcher.with_collected`."""
        return at._replace(values=at.values | {value}) if self.collects_values(at) else at

    def covers(self, one: ItemProgress, other: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.covers`: where nothing may be too many, more is better."""
        if any(c.most is not None for c in self.alt.contains):
            return False
        more = all(x >= y for x, y in zip(one.counts, other.counts, strict=True))
        return more and one._replace(counts=()) == other._replace(counts=())

    def may_end(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.may_end`."""
        enough = all(n >= c.least for n, c in zip(at.counts, self.alt.contains, strict=True))
        return enough and at.read >= self.alt.least

    def may_go_on(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.may_go_on`."""
        return bool(self.transitions(at))

    def cost(self, at: ItemProgress, opened: bool) -> int:  # type: ignore[override]
        """See `ArrayMatcher.cost`."""
        size = self.rest(at) or 0
        return closing_cost(int(size > 0), size, opened, self._costs.gap)

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ArrayMatcher.minimum`."""
        if self.alt.most is not None and self.alt.most < self.alt.least:
            return None
        size = self.search(self.start, cost_of)
        if size is None:
            return None
        return 1 + closing_cost(int(size > 0), size, True, self._costs.gap)

    def rest(self, at: ItemProgress) -> int | None:
        """Fewest bytes of the items still to come, commas included; None if they cannot come."""
        if at not in self._least_rest:
            self._least_rest[at] = self.search(at, self._costs.of)
        return self._least_rest[at]

    def search(self, at: ItemProgress, cost_of: CostOf) -> int | None:
        """`rest` under given costs of children, by Dijkstra's algorithm."""
        order = numbered()  # so that states are never compared
        comma = 1 + self._costs.gap
        heap: list[tuple[int, int, Any]] = [(0, next(order), self.begin(at))]
        done: set[Hashable] = set()
        while heap:
            checkpoint()
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

    def begin(self, at: ItemProgress) -> Any:
        """The state in which a search starts."""
        return at.read, at.counts

    def finished(self, state: Any) -> bool:
        """Whether the array may end in a state of a search."""
        return ContainsMatcher.may_end(self, ItemProgress(state[0], state[1]))

    def steps(self, _at: ItemProgress, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """The bytes of one more item in a search, and the state after it.

        Where all items are treated alike their order makes no difference: of what must still be
        found the first is next, or a search would look at the items in every order. Of many counted
        children each gets an item of its own, as those that fit several would be too many.
        """
        index, counts = state
        wanted = zip(self.alt.contains, counts, strict=True)
        missing = (at for at, (c, have) in enumerate(wanted) if have < c.least)
        first = next(missing, None) if index >= self.stable else None
        plain = self.alt.most is None and all(c.most is None for c in self.alt.contains)
        if first is not None and plain and len(counts) > FEW_COUNTED:
            alone = conjoin(self.child(index), self.alt.contains[first].child)
            one_more = (*counts[:first], counts[first] + 1, *counts[first + 1 :])
            choices: Iterable[tuple[Expr, Counts]] = [(alone, one_more)]
        else:
            choices = self.choices(index, counts, first)
        for child, after in choices:
            cost = cost_of(child)
            if cost is not None:
                yield cost, (self.advance(index), after)

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """See `ArrayMatcher.surely_infinite`; items that differ must be infinite but for one."""
        if not self.alt.contains or self.alt.repeated:
            return not self.alt.repeated and super().surely_infinite(child_is_infinite)
        todo = [(0, self.start.counts, False, False)]
        seen = set(todo)
        while todo and len(seen) < MAX_STEPS:
            index, counts, some_infinite, some_finite = todo.pop()
            if some_infinite and self.finished((index, counts)):
                return True
            for child, after in self.choices(index, counts):
                if self._costs.of(child) is None:
                    continue
                infinite = child_is_infinite(child)
                if not infinite and some_finite and self.alt.unique:
                    continue
                flags = some_infinite or infinite, some_finite or not infinite
                then = (self.advance(index), after, *flags)
                if then not in seen:
                    seen.add(then)
                    todo.append(then)
        return False


def _counted(child: Expr, contains: Contains) -> Expr:
    """What an item must fit that is `child` and is counted; `child` where any such item is."""
    return child if implied(child, contains.child) else conjoin(child, contains.child)
