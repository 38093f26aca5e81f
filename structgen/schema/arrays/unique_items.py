"""Matchers that enforce `uniqueItems` (all items differ) and its negation (two items are equal).

An item is kept from repeating an earlier one while it is being written. There are three ways:

- The engine refuses a string that has come before, as it refuses a key that has
  (`ItemProgress.texts_compared`). That is enough for strings of which there are always others left.
- The values read are part of the progress (`collects_values`), and the next item must fit its child
  and none of them.
- The progress is given the values only where the next item begins (`compares_with_earlier`), where
  infinitely many items are always left, so that states need not differ by what was read.

Where items have only finitely many values, each item still to come needs one of its own: a
bipartite matching of items and values (Kuhn's augmenting paths, in `has_perfect_matching`). A value
without which later items cannot be matched is reserved for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.infinite import every_prefix_is_infinite, members, scarce_from
from structgen.regular.regex import INFINITE
from structgen.regular.words import is_spellable
from structgen.schema.arrays.contains import ContainsMatcher, ItemProgress
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.normal_form.finite_values import (
    MAX_VALUES,
    FiniteValues,
    has_perfect_matching,
)
from structgen.schema.normal_form.forms import ArrayAlt, NormalForm
from structgen.schema.normal_form.progress import CostOf, Transition
from structgen.schema.values import Members, Value
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_SEQUENCES = 2000  # ways to distribute the items that are left over counted children

Domain = list[Value] | None  # the values of an item; None: more than there are items


class UniqueItemsMatcher(ContainsMatcher):
    """The matcher of an alternative with `uniqueItems`. Its costs are lower bounds."""

    def __init__(self, alt_: ArrayAlt, costs: FiniteValues) -> None:
        super().__init__(alt_, costs)
        self._order_met: dict[
            Value, int
        ] = {}  # arrays and objects, in the order in which they came
        self._values_suffice_at: dict[ItemProgress, bool] = {}

    def collects_values(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.collects_values`."""
        return not self._never_used_up and not (at.texts_compared and self._only_strings)

    def compares_with_earlier(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.compares_with_earlier`; texts alone are enough until few are left."""
        if at.texts_compared and self._scarce_length < INFINITE:
            return True
        return self._never_used_up and not (at.texts_compared and self._only_strings)

    def with_earlier(self, at: ItemProgress, values: Iterable[Value]) -> ItemProgress:  # type: ignore[override]
        """See `ArrayMatcher.with_earlier`; without strings that the engine compares as texts."""
        if not self.compares_with_earlier(at):
            return at
        by_text = (v for v in values if isinstance(v, str) and len(v) < self._scarce_length)
        return at._replace(
            values=frozenset(values).difference(by_text if at.texts_compared else ())
        )

    @cached_attribute
    def may_compare_texts(self) -> bool:
        """See `ArrayMatcher`: strings are never used up, and at most one item has to come."""
        if self.alt.least > 1 or (self.alt.contains and not self._never_used_up):
            return False
        strings = (form.string for form in self._item_forms)
        return all(every_prefix_is_infinite(s) or scarce_from(s) for s in strings)

    @cached_attribute
    def _scarce_length(self) -> int:
        """The length from which on a string that was begun may have no unused continuation."""
        languages = (form.string for form in self._item_forms)
        bounded = (keys for keys in languages if not every_prefix_is_infinite(keys))
        return min(map(scarce_from, bounded), default=INFINITE)

    @cached_attribute
    def listed_words(self) -> list[str] | None:
        """See `ArrayMatcher`."""
        a, form = self.alt, self._item_forms[0]
        if a.contains or a.prefix or a.least > 1 or has_non_strings(form):
            return None
        words = members(form.string)
        if not words or not all(map(is_spellable, words)):
            return None
        return words if a.most is None or a.most >= len(words) else None

    def with_words(self, positions: Iterable[int]) -> ItemProgress:
        """The progress when the words of `listed_words` at some positions have been read."""
        values = frozenset((self.listed_words or [])[i] for i in positions)
        read = len(values)
        if self.alt.most is None:
            read = min(read, max(self.alt.least, self.stable))
        return ItemProgress(read, self.start.counts, values)

    @cached_attribute
    def _only_strings(self) -> bool:
        """Whether all items are strings."""
        return all(not has_non_strings(form) for form in self._item_forms)

    @cached_attribute
    def _item_forms(self) -> list[NormalForm]:
        """What the items must fit besides being new, by index; the last for all further ones."""
        return [self._costs.normal_form_of(self.child(i)) for i in range(self.alt.prefix + 1)]

    def may_go_on(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.may_go_on`."""
        return self._always_another or super().may_go_on(at)

    @cached_attribute
    def _always_another(self) -> bool:
        """Whether there is always another item, whatever has been read."""
        return self._never_used_up and self.alt.most is None

    @cached_attribute
    def _never_used_up(self) -> bool:
        """Whether each item has values left, whatever has been read.

        One that is counted has, where each that comes is observed: none came until one is enough.
        """
        for c in self.alt.contains:
            alone = len(self.alt.contains) == 1 and c.start == 0 and c.least < 2
            if not (alone and self._is_observed):
                return False
        return all(map(self._has_values_left, range(self.alt.prefix + 1)))

    def _has_values_left(self, index: int) -> bool:
        """Whether an item has more values than can have been read, if all others can, too."""
        form = self._item_forms[index]
        if self._costs.surely_infinite(form) or scarce_from(form.string):
            return True
        last = index == self.alt.prefix or index >= MAX_VALUES
        return not last and self._costs.domain(self.child(index), index + 1) is None

    def transitions(self, at: ItemProgress) -> list[Transition]:  # type: ignore[override]
        """See `ArrayMatcher.transitions`."""
        if self.alt.contains and self._never_used_up:
            child, after, observed = self._observing(at)
            new, *counted = (self._different_from(x, at.values) for x in (child, *observed))
            after = after._replace(texts_compared=at.texts_compared)
            return [Transition(new, after, tuple(counted))]
        found = []
        for child, counts in self.choices(at.read, at.counts):
            values = at.values if self.collects_values(at) else frozenset()
            after = ItemProgress(
                self.advance(at.read), counts, values, texts_compared=at.texts_compared
            )
            plenty = self._never_used_up or (at.texts_compared and self._only_strings)
            used = at.values if plenty else at.values | self._reserved(after)
            transition = Transition(self._different_from(child, used), after)
            leaves_one = self._never_used_up or self._leaves_a_value(child, used, transition)
            if leaves_one and (self._never_used_up or self._can_finish(after)):
                found.append(transition)
        return found

    def _leaves_a_value(self, child: Expr, used: frozenset[Value], transition: Transition) -> bool:
        """Whether some value fits the child of a transition: `child`, and none of `used`."""
        if len(used) >= MAX_VALUES:
            return self._costs.of(transition.child) is not None
        values = self._costs.domain(child, len(used) + 1)
        return values is None or not used.issuperset(values)

    def _can_finish(self, at: ItemProgress) -> bool:
        """Whether the array can be completed; does not always search the cheapest items."""
        return self._values_suffice(at) and (bool(at.values) or self.rest(at) is not None)

    def _values_suffice(self, at: ItemProgress) -> bool:
        """Whether the items still to come can have values that all differ."""
        if at not in self._values_suffice_at:
            fits = self._never_used_up
            fits = fits or (not at.values and all(len(found) < 2 for found in self._sequences(at)))
            fits = fits or any(_can_all_differ(domains, at.values) for domains in self._domains(at))
            self._values_suffice_at[at] = fits
        return self._values_suffice_at[at]

    def _different_from(self, child: Expr, values: frozenset[Value]) -> Expr:
        """What an item must fit that is `child` and none of `values`.

        Arrays and objects are excluded one by one, in the order in which they came: most of that
        conjunction is then known from the items before.
        """
        scalars = frozenset(v for v in values if not isinstance(v, tuple | Members))
        order = {v: self._order_met.setdefault(v, len(self._order_met)) for v in values - scalars}
        others = (frozenset((v,)) for v in sorted(order, key=order.__getitem__))
        groups = [scalars, *others] if scalars else others
        return conjoin(child, *map(self._costs.negation, map(self._costs.one_of, groups)))

    def steps(self, at: ItemProgress, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """See `ContainsMatcher.steps`; items still to come are only compared with those read."""
        read, counts = state
        for child, after in self.choices(read, counts):
            cost = cost_of(self._different_from(child, at.values))
            if cost is not None:
                yield cost, (self.advance(read), after)

    def rest(self, at: ItemProgress) -> int | None:
        """See `ContainsMatcher.rest`."""
        if at not in self._least_rest:
            found = self.search(at, self._costs.of) if self._values_suffice(at) else None
            self._least_rest[at] = found
        return self._least_rest[at]

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ArrayMatcher.minimum`."""
        size = super().minimum(cost_of)
        return size if size is not None and self._enough_values else None

    @cached_attribute
    def _enough_values(self) -> bool:
        """Whether enough values exist that do not themselves contain an array of this alternative.

        That is enough to know: of the arrays that fit, one of the least depth contains no other.
        """
        sequences = list(self._sequences(self.start))
        if all(len(children) < 2 for children in sequences):
            return True
        matcher = self
        if any(self._costs.reaches(child, self.alt) for found in sequences for child in found):
            matcher = UniqueItemsMatcher(self.alt, self._costs.without(self.alt))
        domains = matcher._domains(matcher.start)
        return any(_can_all_differ(found, frozenset()) for found in domains)

    def _reserved(self, after: ItemProgress) -> frozenset[Value]:
        """The values that the item before `after` must leave to later ones."""
        ways = list(self._domains(after))
        scarce = {v for domains in ways for d in domains if d is not None for v in d}
        return frozenset(
            v
            for v in scarce - after.values
            if not any(_can_all_differ(domains, after.values | {v}) for domains in ways)
        )

    def _domains(self, at: ItemProgress) -> Iterator[list[Domain]]:
        """For each way to finish the array, the values that each item to come can have."""
        for children in self._sequences(at):
            wanted = len(children) + len(at.values) + 1
            yield [self._costs.domain(child, wanted) for child in children]

    def _sequences(self, at: ItemProgress) -> Iterator[list[Expr]]:
        """The children of the items still to come, for each way to finish; the shortest first."""
        todo: list[tuple[int, tuple[int, ...], list[Expr]]] = [(at.read, at.counts, [])]
        made = 0
        while todo:
            checkpoint()
            longer = []
            for index, counts, children in todo:
                if self.finished((index, counts)):
                    yield children
                    continue
                for child, after in self.choices(index, counts):
                    # an item that brings nothing nearer is not needed
                    redundant = after == counts and index >= max(self.stable, self.alt.least)
                    if not redundant:
                        longer.append((index + 1, after, [*children, child]))
            made += len(longer)
            if made > MAX_SEQUENCES * (1 + self.alt.least):
                raise BudgetError(
                    f"items that differ can be counted in more than {MAX_SEQUENCES} ways",
                    hint="use minContains or maxContains without uniqueItems",
                )
            todo = longer


def _can_all_differ(domains: list[Domain], taken: frozenset[Value]) -> bool:
    """Whether each item can have a value of its own that is not taken."""
    return has_perfect_matching(
        [[v for v in d if v not in taken] for d in domains if d is not None]
    )


def has_non_strings(form: NormalForm) -> bool:
    """Whether something else than a string may fit."""
    scalars = form.null or form.true or form.false or not form.number.is_empty()
    return bool(scalars or form.arrays or form.objects)


class RepeatedItemsMatcher(ContainsMatcher):
    """The matcher of an alternative in which two items are equal (`not` with `uniqueItems`)."""

    def collects_values(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.collects_values`."""
        return not at.repeat_found

    def transitions(self, at: ItemProgress) -> list[Transition]:  # type: ignore[override]
        """See `ArrayMatcher.transitions`.

        An item may repeat an earlier one, or be one that can be repeated later, or neither.
        """
        found: list[Transition] = []
        for child, counts in self.choices(at.read, at.counts):
            after = ItemProgress(self.advance(at.read), counts, at.values, at.repeat_found)
            ways = [Transition(child, after)]
            if not at.repeat_found:
                if at.values:
                    done = after._replace(values=frozenset(), repeat_found=True)
                    ways.append(Transition(conjoin(child, self._costs.one_of(at.values)), done))
                for later in self._later_children(after):
                    repeat = conjoin(child, later)
                    if self._costs.of(repeat) is not None:
                        found.append(Transition(repeat, after))
            found += filter(self.is_viable, ways)
        return list(dict.fromkeys(found))

    def may_end(self, at: ItemProgress) -> bool:  # type: ignore[override]
        """See `ArrayMatcher.may_end`."""
        return at.repeat_found and super().may_end(at)

    def _later_children(self, at: ItemProgress) -> list[Expr]:
        """The children of later items, which could repeat the item before `at`."""
        found: dict[Expr, None] = {}
        todo = [(at.read, at.counts)]
        seen = set(todo)
        while todo:
            index, counts = todo.pop()
            for child, after in self.choices(index, counts):
                if self._costs.of(child) is None:
                    continue
                then = (self.advance(index), after)
                if self.rest(ItemProgress(*then, repeat_found=True)) is not None:
                    found[child] = None
                if then not in seen:
                    seen.add(then)
                    todo.append(then)
        return list(found)

    def begin(self, at: ItemProgress) -> Any:
        """See `ContainsMatcher.begin`; also the first equal item's child, and whether both came."""
        return at.read, at.counts, None, at.repeat_found

    def finished(self, state: Any) -> bool:
        """See `ContainsMatcher.finished`."""
        return state[3] and super().finished(state)

    def steps(self, at: ItemProgress, state: Any, cost_of: CostOf) -> Iterator[tuple[int, Any]]:
        """See `ContainsMatcher.steps`; the two equal items are paid for when the second comes."""
        index, counts, repeat, repeat_found = state
        then = self.advance(index)
        for child, after in self.choices(index, counts):
            cost = cost_of(child)
            if cost is None:
                continue
            yield cost, (then, after, repeat, repeat_found)
            if repeat_found:
                continue
            if at.values:
                known = cost_of(conjoin(child, self._costs.one_of(at.values)))
                if known is not None:
                    yield known, (then, after, None, True)
            if repeat is None:
                yield 0, (then, after, child, False)
                continue
            again = cost_of(conjoin(repeat, child))
            if again is not None:
                yield 2 * again, (then, after, None, True)
