"""The matcher of an array alternative: the automaton that reads its items, one by one.

It enforces `prefixItems`, `items`, `minItems` and `maxItems`. Where that is all, its state is the
number of items read, which stops growing where more make no difference. `arrays.contains` and
`arrays.unique_items` have the matchers of arrays whose items are counted or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import ArrayAlt
from structgen.schema.normal_form.progress import CostOf, Transition, closing_cost
from structgen.schema.values import Value
from structgen.util.cached import cached_attribute


class ArrayMatcher:
    """The matcher of one array alternative; its progress is a number of items."""

    #: whether items must differ, and comparing texts is enough for the strings among them
    may_compare_texts = False
    #: the strings that may come once each, if the items are exactly that
    listed_words: list[str] | None = None

    def __init__(self, alt_: ArrayAlt, costs: FiniteValues) -> None:
        self.alt = alt_
        self._costs = costs
        self.child = alt_.child
        self._sizes = [0]  # see `_size_before`

    @cached_attribute
    def most(self) -> int | None:
        """How many items there can be, children that no value fits taken into account."""
        limit = self.alt.most
        for index in range(self.alt.prefix + 1):
            if limit is not None and index >= limit:
                break
            if not self._costs.satisfiable(self.child(index)):
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

    def transitions(self, count: int) -> list[Transition]:
        """The ways to go on with another item."""
        return [Transition(self.child(count), self.advance(count))] if self.may_go_on(count) else []

    def resolve(self, count: int, _known: tuple[bool, ...]) -> int:
        """The progress once the last item has been read (see `ObjectMatcher.resolve`)."""
        return count

    def reduced(self, _count: int) -> ArrayMatcher:
        """See `ObjectMatcher.reduced`."""
        return self

    def covers(self, _one: int, _other: int) -> bool:
        """Whether all that may follow the other of two progresses may follow the one, too."""
        return False

    def depends_on_values(self, count: int) -> bool:
        """Whether values that have been read decide what may follow."""
        return self.collects_values(count) or self.compares_with_earlier(count)

    def collects_values(self, _count: int) -> bool:
        """Whether the progress holds the values that have been read."""
        return False

    def with_collected(self, count: int, _value: Value) -> int:
        """The progress with the value of the last item, where it `collects_values`."""
        return count

    def compares_with_earlier(self, _count: int) -> bool:
        """Whether the progress is given the values read where the next item begins, only there."""
        return False

    def with_earlier(self, count: int, _values: Iterable[Value]) -> int:
        """The progress with the values read, for `transitions`, if it `compares_with_earlier`."""
        return count

    def advance(self, count: int) -> int:
        """The progress after another item; stops growing where more makes no difference."""
        if self.most is None:
            return min(count + 1, max(self.alt.least, self.alt.prefix))
        return count + 1

    def cost(self, count: int, opened: bool) -> int:
        """Fewest bytes from after an item (or the bracket, if `opened`) past the closing one."""
        left = max(self.alt.least - count, 0)
        head = max(min(left, self.alt.prefix - count), 0)
        size = self._size_before(count + head) - self._size_before(count) if head else 0
        if left > head:
            size += (left - head) * (self._costs.of(self.child(self.alt.prefix)) or 0)
        return closing_cost(left, size, opened, self._costs.gap)

    def _size_before(self, count: int) -> int:
        """Fewest bytes of the first items."""
        sizes = self._sizes
        while len(sizes) <= count:
            sizes.append(sizes[-1] + (self._costs.of(self.child(len(sizes) - 1)) or 0))
        return sizes[count]

    def surely_satisfiable(self) -> bool:
        """Whether some array certainly fits, as far as is seen without costs."""
        least, most = self.alt.least, self.alt.most
        if type(self) is not ArrayMatcher or (most is not None and most < least):
            return False
        heads = range(min(least, self.alt.prefix + 1))
        return all(self._costs.satisfiable(self.child(i)) for i in heads)

    def is_satisfiable(self) -> bool:
        """Whether some array fits."""
        return self.surely_satisfiable() or self.minimum(self._costs.of) is not None

    def minimum(self, cost_of: CostOf) -> int | None:
        """Fewest bytes of an array that fits, given the costs of children; None if none does."""
        if self.alt.most is not None and self.alt.most < self.alt.least:
            return None
        head = min(self.alt.least, self.alt.prefix)
        more = self.alt.least - head
        sizes = [cost_of(self.child(i)) for i in range(head + (more > 0))]
        found = [size for size in sizes if size is not None]
        if len(found) < len(sizes):
            return None
        size = sum(found[:head]) + (found[-1] * more if more else 0)
        return 1 + closing_cost(self.alt.least, size, True, self._costs.gap)

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """Whether infinitely many arrays certainly fit.

        child_is_infinite: whether infinitely many values certainly fit an expression.
        """
        if self.most is None and not self.alt.unique:
            return True
        last = self.alt.prefix if self.most is None else min(self.alt.prefix, self.most - 1)
        if self.alt.unique:  # further items may find no value of their own
            last = min(last, max(self.alt.least - 1, 0))
        return any(child_is_infinite(self.child(index)) for index in range(last + 1))
