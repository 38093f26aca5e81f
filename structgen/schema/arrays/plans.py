"""In: one alternative of an array. Out: which items may come, at what cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.nodes import ArrayAlt
from structgen.schema.normal_form.progress import CostOf, Take, closing
from structgen.schema.values import Value
from structgen.util.cached import found_once

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs


class ArrayPlan:
    """One alternative of an array. A progress is the number of items read, as far as it matters."""

    #: whether items must differ, and strings among them can always be told apart by their texts
    is_textual = False
    #: the words that may come once each, if that is all there is to say of the items
    listed: list[str] | None = None

    def __init__(self, alt_: ArrayAlt, costs: Costs) -> None:
        self.alt = alt_
        self._costs = costs
        self.child = alt_.child

    @found_once
    def most(self) -> int | None:
        """How many items there can be, children that no value fits taken into account."""
        limit = self.alt.most
        for index in range(self.alt.prefix + 1):
            if limit is not None and index >= limit:
                break
            if not self._costs.possible(self.child(index)):
                return index
        return limit

    @property
    def start(self) -> int:
        """The progress before the first item."""
        return 0

    def may_end(self, count: int) -> bool:
        """Whether the array may close after `count` items."""
        return count >= self.alt.least

    def may_go_on(self, count: int) -> bool:
        """Whether another item may follow."""
        return self.most is None or count < self.most

    def takes(self, count: int) -> list[Take]:
        """The ways to go on with another item."""
        return [Take(self.child(count), self.take(count))] if self.may_go_on(count) else []

    def settle(self, count: int, _known: tuple[bool, ...]) -> int:
        """The progress once the last item has been read (see `ObjectPlan.settle`)."""
        return count

    def after(self, _count: int) -> ArrayPlan:
        """See `ObjectPlan.after`."""
        return self

    def watches(self, count: int) -> bool:
        """Whether values that have been read decide what may follow."""
        return self.notes(count) or self.recalls(count)

    def notes(self, _count: int) -> bool:
        """Whether they decide it as soon as they have been read, so that the progress has them."""
        return False

    def noted(self, count: int, _value: Value) -> int:
        """The progress that has the value of the last item, if it `notes` values."""
        return count

    def recalls(self, _count: int) -> bool:
        """Whether they matter to the next item only, where the progress is given them."""
        return False

    def recalled(self, count: int, _values: Iterable[Value]) -> int:
        """The progress with all values, for `takes`, if it `recalls` them."""
        return count

    def take(self, count: int) -> int:
        """The progress after another item; stops growing where more makes no difference."""
        if self.most is None:
            return min(count + 1, max(self.alt.least, self.alt.prefix))
        return count + 1

    def cost(self, count: int, opened: bool) -> int:
        """Fewest bytes from after an item (or the bracket, if `opened`) past the closing one."""
        items = self._items(count, self._costs.of) or []
        return closing(len(items), sum(items), opened, self._costs.gap)

    def minimum(self, cost_of: CostOf) -> int | None:
        """Fewest bytes of an array that fits, given the costs of children; None if none does."""
        if self.alt.most is not None and self.alt.most < self.alt.least:
            return None
        items = self._items(0, cost_of)
        if items is None:
            return None
        return 1 + closing(len(items), sum(items), True, self._costs.gap)

    def _items(self, count: int, cost_of: CostOf) -> list[int] | None:
        left = max(self.alt.least - count, 0)
        head = max(min(left, self.alt.prefix - count), 0)
        sizes = [cost_of(self.child(i)) for i in range(count, count + head)]
        if left > head:
            sizes += [cost_of(self.child(self.alt.prefix))] * (left - head)
        found = [size for size in sizes if size is not None]
        return found if len(found) == len(sizes) else None

    def has_many(self, many: Callable[[Expr], bool]) -> bool:
        """Whether infinitely many arrays plainly fit, if `many` values fit a child."""
        if self.most is None and not self.alt.unique:
            return True
        last = self.alt.prefix if self.most is None else min(self.alt.prefix, self.most - 1)
        if self.alt.unique:  # others may lack values of their own before a longer array
            last = min(last, max(self.alt.least - 1, 0))
        return any(many(self.child(index)) for index in range(last + 1))
