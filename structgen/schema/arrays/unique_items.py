"""In: an array whose items must all differ, or of which two must be equal. Out: its plan.

The values read are part of the progress, so an item is kept from repeating one while it is being
written. Where few values are possible, items and values are matched: an item must not take what a
later one cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from structgen.errors import BudgetError
from structgen.regular.expressions.nodes import is_span
from structgen.regular.infinite import endless, members
from structgen.regular.regex import INFINITE, Regex
from structgen.regular.words import is_spellable
from structgen.schema.arrays.items import Items, ItemsPlan
from structgen.schema.normal_form.domains import MAX_VALUES, matched
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.normal_form.nodes import ArrayAlt, Node
from structgen.schema.normal_form.progress import CostOf, Take
from structgen.schema.values import Members, Value
from structgen.util.cached import found_once

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs

MAX_SEQUENCES = 2000  # ways to count the items that are left

Domain = list[Value] | None  # None: more values than anybody needs


class UniquePlan(ItemsPlan):
    """One alternative of an array whose items all differ. Its costs are lower bounds."""

    def __init__(self, alt_: ArrayAlt, costs: Costs) -> None:
        super().__init__(alt_, costs)
        self._met: dict[Value, int] = {}  # arrays and objects, numbered as they were met
        self._possible: dict[Items, bool] = {}

    def notes(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.notes`."""
        return not self._plenty and not (at.apart and self._only_texts)

    def recalls(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.recalls`: where another item may follow whatever has been read."""
        if at.apart and self._full < INFINITE:
            return True
        return self._plenty and not (at.apart and self._only_texts)

    def recalled(self, at: Items, values: Iterable[Value]) -> Items:  # type: ignore[override]
        """See `ArrayPlan.recalled`: what texts tell apart is left out."""
        if not self.recalls(at):
            return at
        apart = (v for v in values if at.apart and isinstance(v, str) and len(v) < self._full)
        return at._replace(values=frozenset(values).difference(apart))

    @found_once
    def is_textual(self) -> bool:
        """See `ArrayPlan`: there are always more of them, and one item is wanted at most."""
        if self.alt.counted or self.alt.least > 1:
            return False
        return all(endless(node.string) or is_roomy(node.string) for node in self._nodes)

    @found_once
    def _full(self) -> int:
        """Characters from which on a text may have no others behind it that are left."""
        bounded = (node.string for node in self._nodes if not endless(node.string))
        return min((language.longest for language in bounded), default=INFINITE)

    @found_once
    def listed(self) -> list[str] | None:
        """See `ArrayPlan`."""
        a, node = self.alt, self._nodes[0]
        if a.counted or a.prefix or a.least > 1 or has_others(node):
            return None
        words = members(node.string)
        if not words or not all(map(is_spellable, words)):
            return None
        return words if a.most is None or a.most >= len(words) else None

    def with_words(self, places: Iterable[int]) -> Items:
        """The progress when the words of `listed` at some places have been read."""
        values = frozenset((self.listed or [])[i] for i in places)
        read = len(values)
        if self.alt.most is None:
            read = min(read, max(self.alt.least, self.stable))
        return Items(read, self.start.counts, values)

    @found_once
    def _only_texts(self) -> bool:
        """Whether all items are strings."""
        return all(not has_others(node) for node in self._nodes)

    @found_once
    def _nodes(self) -> list[Node]:
        """Those that the items must fit, apart from being new."""
        return [self._costs.node_of(self.child(i)) for i in range(self.alt.prefix + 1)]

    def may_go_on(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.may_go_on`."""
        return self._plenty or super().may_go_on(at)

    @found_once
    def _plenty(self) -> bool:
        """Whether there is always another item, whatever has been read."""
        if self.alt.counted or self.alt.most is not None:
            return False
        return all(self._costs.has_many(n) or is_roomy(n.string) for n in self._nodes)

    def takes(self, at: Items) -> list[Take]:  # type: ignore[override]
        """See `ArrayPlan.takes`."""
        found = []
        for child, counts in self.ways(at.read, at.counts):
            values = at.values if self.notes(at) else frozenset()
            after = Items(self.take(at.read), counts, values, apart=at.apart)
            easy = self._plenty or (at.apart and self._only_texts)
            kept = at.values if easy else at.values | self._reserved(after)
            take = Take(self._without(child, kept), after)
            if self._plenty or (self._leaves(child, kept, take) and self._may_finish(after)):
                found.append(take)
        return found

    def _leaves(self, child: Expr, kept: frozenset[Value], take: Take) -> bool:
        """Whether some value fits `child` that is none of those `kept`; `take` says the same."""
        if len(kept) >= MAX_VALUES:
            return self._costs.of(take.child) is not None
        values = self._costs.domain(child, len(kept) + 1)
        return values is None or not kept.issuperset(values)

    def _may_finish(self, at: Items) -> bool:
        """Whether `rest` is one, without finding the cheapest values."""
        return self._is_possible(at) and (bool(at.values) or self.rest(at) is not None)

    def _is_possible(self, at: Items) -> bool:
        """Whether there are enough values for the items still to come."""
        if at not in self._possible:
            simple = not at.values and all(len(found) < 2 for found in self._sequences(at))
            fits = simple or any(_fit(domains, at.values) for domains in self._domains(at))
            self._possible[at] = fits
        return self._possible[at]

    def _without(self, child: Expr, values: frozenset[Value]) -> Expr:
        """What an item must fit that is none of `values`.

        Containers are excluded one by one, in the order in which they were first met, so that most
        of that is known from the items before.
        """
        scalars = frozenset(v for v in values if not isinstance(v, tuple | Members))
        numbers = {v: self._met.setdefault(v, len(self._met)) for v in values - scalars}
        others = (frozenset((v,)) for v in sorted(numbers, key=numbers.__getitem__))
        groups = [scalars, *others] if scalars else others
        return conjoin(child, *map(self._costs.negation, map(self._costs.one_of, groups)))

    def steps(self, at: Items, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """See `ItemsPlan.steps`; items still to come are compared with those read only."""
        read, counts = state
        for child, after in self.ways(read, counts):
            cost = cost_of(self._without(child, at.values))
            if cost is not None:
                yield cost, (self.take(read), after)

    def rest(self, at: Items) -> int | None:
        """See `ItemsPlan.rest`."""
        if at not in self._known:
            self._known[at] = self.search(at, self._costs.of) if self._is_possible(at) else None
        return self._known[at]

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ArrayPlan.minimum`."""
        size = super().minimum(cost_of)
        return size if size is not None and self._enough else None

    @found_once
    def _enough(self) -> bool:
        """Whether enough values exist that do not hold an array of this very plan.

        That decides: of the arrays that fit, one of the least depth has no other inside.
        """
        sequences = list(self._sequences(self.start))
        if all(len(children) < 2 for children in sequences):
            return True
        plan = self
        if any(self._costs.reaches(child, self.alt) for found in sequences for child in found):
            plan = UniquePlan(self.alt, self._costs.without(self.alt))
        return any(_fit(domains, frozenset()) for domains in plan._domains(plan.start))

    def _reserved(self, after: Items) -> frozenset[Value]:
        """The values that the item before `after` must leave to later ones."""
        ways = list(self._domains(after))
        scarce = {v for domains in ways for d in domains if d is not None for v in d}
        return frozenset(
            v
            for v in scarce - after.values
            if not any(_fit(domains, after.values | {v}) for domains in ways)
        )

    def _domains(self, at: Items) -> Iterator[list[Domain]]:
        """For each way to finish the array, the values that each item can have."""
        for children in self._sequences(at):
            wanted = len(children) + len(at.values) + 1
            yield [self._costs.domain(child, wanted) for child in children]

    def _sequences(self, at: Items) -> Iterator[list[Expr]]:
        """What the items still to come must fit, for each way to count them, short ones first."""
        todo: list[tuple[int, tuple[int, ...], list[Expr]]] = [(at.read, at.counts, [])]
        made = 0
        while todo:
            longer = []
            for index, counts, children in todo:
                if self.finished((index, counts)):
                    yield children
                    continue
                for child, after in self.ways(index, counts):
                    idle = after == counts and index >= max(self.stable, self.alt.least)
                    if not idle:
                        longer.append((index + 1, after, [*children, child]))
            made += len(longer)
            if made > MAX_SEQUENCES * (1 + self.alt.least):
                raise BudgetError(
                    f"items that differ can be counted in more than {MAX_SEQUENCES} ways",
                    hint="use minContains or maxContains without uniqueItems",
                )
            todo = longer


def _fit(domains: list[Domain], taken: frozenset[Value]) -> bool:
    """Whether each domain can give a value of its own that is not taken."""
    return matched([[v for v in d if v not in taken] for d in domains if d is not None])


def is_roomy(language: Regex) -> bool:
    """Whether it is that of all texts up to a length: more than anybody writes, but at the end."""
    return is_span(language) and 2 <= language.longest < INFINITE


def has_others(node: Node) -> bool:
    """Whether something else than a string may fit a node."""
    scalars = node.null or node.true or node.false or not node.number.is_empty()
    return bool(scalars or node.arrays or node.objects)


class RepeatedPlan(ItemsPlan):
    """One alternative of an array in which two items are equal."""

    def notes(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.notes`."""
        return not at.twins

    def takes(self, at: Items) -> list[Take]:  # type: ignore[override]
        """See `ArrayPlan.takes`: an item may be a twin, or wait for one, or neither."""
        found: list[Take] = []
        for child, counts in self.ways(at.read, at.counts):
            after = Items(self.take(at.read), counts, at.values, at.twins)
            ways = [Take(child, after)]
            if not at.twins:
                if at.values:
                    done = after._replace(values=frozenset(), twins=True)
                    ways.append(Take(conjoin(child, self._costs.one_of(at.values)), done))
                for later in self._later(after):
                    twin = conjoin(child, later)
                    if self._costs.of(twin) is not None:
                        found.append(Take(twin, after))
            found += filter(self.offers, ways)
        return list(dict.fromkeys(found))

    def may_end(self, at: Items) -> bool:  # type: ignore[override]
        """See `ArrayPlan.may_end`."""
        return at.twins and super().may_end(at)

    def _later(self, at: Items) -> list[Expr]:
        """What a later item may fit that could be the twin of the item before `at`."""
        found: dict[Expr, None] = {}
        todo = [(at.read, at.counts)]
        seen = set(todo)
        while todo:
            index, counts = todo.pop()
            for child, after in self.ways(index, counts):
                if self._costs.of(child) is None:
                    continue
                then = (self.take(index), after)
                if self.rest(Items(*then, twins=True)) is not None:
                    found[child] = None
                if then not in seen:
                    seen.add(then)
                    todo.append(then)
        return list(found)

    def begin(self, at: Items) -> Any:
        """See `ItemsPlan.begin`; a state also has the earlier twin's child, and if both came."""
        return at.read, at.counts, None, at.twins

    def finished(self, state: Any) -> bool:
        """See `ItemsPlan.finished`."""
        return state[3] and super().finished(state)

    def steps(self, at: Items, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """See `ItemsPlan.steps`; twins are paid for when the later one comes."""
        index, counts, twin, twins = state
        then = self.take(index)
        for child, after in self.ways(index, counts):
            cost = cost_of(child)
            if cost is None:
                continue
            yield cost, (then, after, twin, twins)
            if twins:
                continue
            if at.values:
                known = cost_of(conjoin(child, self._costs.one_of(at.values)))
                if known is not None:
                    yield known, (then, after, None, True)
            if twin is None:
                yield 0, (then, after, child, False)
                continue
            again = cost_of(conjoin(twin, child))
            if again is not None:
                yield 2 * again, (then, after, None, True)
