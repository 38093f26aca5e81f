"""In: an object that needs members with certain values. Out: its plan.

`ObjectAlt.some` asks for members by what they are, not by name. Where a key may be such a member
there are two ways to go on, claiming so or not, and the machine follows both. Whether enough
members can still come is a small assignment problem: every wanted member gets a key of its own, or
shares one with others that the same value satisfies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from structgen.automaton.regex import (
    Regex,
    complement,
    intersect,
    matches,
    shortest,
    words,
)
from structgen.errors import BudgetError
from structgen.spec.json_nodes import Expr, ObjectAlt, conjoin
from structgen.spec.json_plans import Cell, CostOf, ObjectPlan, Progress, is_infinite

if TYPE_CHECKING:
    from structgen.spec.json_costs import Costs

MAX_WANTED = 8  # members wanted at once


class Slot(NamedTuple):
    """A key that a member may have, and which of the wanted members it may be."""

    key: str
    child: Expr
    fits: frozenset[int]
    required: bool


class MembersPlan(ObjectPlan):
    """One alternative of an object that wants members with certain values."""

    def __init__(self, alt_: ObjectAlt, costs: Costs, declared: bool) -> None:
        super().__init__(alt_, costs, declared)
        if len(alt_.some) > MAX_WANTED:
            raise BudgetError(
                f"an object must have {len(alt_.some)} members with certain values",
                expected=f"at most {MAX_WANTED}",
                hint="negate fewer schemas of the same object at once",
            )
        self._finite: dict[Progress, bool] = {}

    @cached_property
    def all_cells(self) -> tuple[Cell, ...]:
        """As in `ObjectPlan`, and told apart by the members wanted."""
        cells = list(super().all_cells)
        for some in self.alt.some:
            halves = (
                (intersect(c.keys, keys), c.child)
                for c in cells
                for keys in (some.keys, complement(some.keys))
            )
            cells = [Cell(keys, child) for keys, child in halves if not keys.is_empty()]
        return tuple(cells)

    def takes(self, at: Progress, key: str) -> list[tuple[Expr, Progress]]:
        """See `ObjectPlan.takes`: one way for each set of wanted members that this one can be."""
        if not self._reaches(at, key):
            return []
        base, after = self.child(key), self.take(at, key)
        found = []
        for claimed in _subsets(self._fitting(at.wanted, key)):
            child = self._claimed(base, claimed)
            if self._costs.of(child) is None:
                continue
            left = after._replace(wanted=tuple(j for j in at.wanted if j not in claimed))
            if self._viable(left):
                found.append((child, left))
        return found

    def _reaches(self, at: Progress, key: str) -> bool:
        """Whether the order and the keys so far leave room for `key`."""
        index = self._index.get(key)
        if key in at.seen:
            return False
        if index is None:
            return not (self.declared and self.missing(at))
        skipped = self.names[at.position : index]
        return index >= at.position and not (
            self.declared and not self.required.isdisjoint(skipped)
        )

    def _fitting(self, wanted: tuple[int, ...], key: str) -> list[int]:
        return [j for j in wanted if matches(self.alt.some[j].keys, key)]

    def _claimed(self, base: Expr, claimed: tuple[int, ...]) -> Expr:
        return conjoin(base, *(self.alt.some[j].child for j in claimed))

    def allows(self, at: Progress, key: str) -> bool:
        """See `ObjectPlan.allows`."""
        return bool(self.takes(at, key))

    def may_end(self, at: Progress) -> bool:
        """See `ObjectPlan.may_end`."""
        return not at.wanted and super().may_end(at)

    def next_names(self, at: Progress) -> list[str]:
        """See `ObjectPlan.next_names`."""
        return [name for name in self.names if self.takes(at, name)]

    def next_others(self, at: Progress) -> tuple[Regex, ...]:
        """See `ObjectPlan.next_others`; the keys of one cell are all alike."""
        if self.declared and self.missing(at):
            return ()
        taken = words(at.seen) if at.seen else None
        found = []
        for cell in self.cells:
            keys = cell.keys if taken is None else intersect(cell.keys, complement(taken))
            key = shortest(keys)
            if key is not None and self.takes(at, key):
                found.append(keys)
        return tuple(found)

    def _viable(self, at: Progress) -> bool:
        if at not in self._finite:
            self._finite[at] = self._members(at, self._costs.of) is not None
        return self._finite[at]

    # -- the cheapest members -------------------------------------------------------------------

    def _members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """See `ObjectPlan._members`: the best of all ways to share out the members wanted."""
        best: list[int] | None = None
        for parts in _partitions(at.wanted):
            slots = self._slots(at, len(parts))
            for chosen in self._assigned(parts, slots, cost_of):
                sizes = self._filled(at, chosen, slots, cost_of, least)
                if sizes is not None and (best is None or sum(sizes) < sum(best)):
                    best = sizes
        return best

    def _slots(self, at: Progress, count: int) -> list[Slot]:
        """The keys that may still come: all names, and a few of each other kind."""
        first = at.position if self.declared else 0
        names = [n for n in self.names[first:] if n not in at.seen]
        keys = [(n, self.child(n), n in self.required) for n in names]
        taken = set(at.seen)
        for cell in self.all_cells:
            for _ in range(count + self.alt.least):
                key = shortest(intersect(cell.keys, complement(words(taken))))
                if key is None:
                    break
                taken.add(key)
                keys.append((key, cell.child, False))
        return [
            Slot(key, child, frozenset(self._fitting(at.wanted, key)), required)
            for key, child, required in keys
        ]

    def _assigned(
        self, parts: list[tuple[int, ...]], slots: list[Slot], cost_of: CostOf
    ) -> Iterator[dict[str, int]]:
        """Ways to give each part a slot of its own: the bytes of the member, by key."""
        if not parts:
            yield {}
            return
        choices = []
        for part in parts:
            priced = [
                (size, slot.key)
                for slot in slots
                if slot.fits.issuperset(part)
                and (size := self._member(slot.key, cost_of(self._claimed(slot.child, part))))
            ]
            required = {slot.key for slot in slots if slot.required}
            extra = sorted(p for p in priced if p[1] not in required)[: len(parts)]
            choices.append([p for p in priced if p[1] in required] + extra)

        def assign(i: int, used: dict[str, int]) -> Iterator[dict[str, int]]:
            if i == len(choices):
                yield used
                return
            for size, key in choices[i]:
                if key not in used:
                    yield from assign(i + 1, {**used, key: size})

        yield from assign(0, {})

    def _filled(
        self,
        at: Progress,
        chosen: dict[str, int],
        slots: list[Slot],
        cost_of: CostOf,
        least: int,
    ) -> list[int] | None:
        """The bytes of the chosen members, the other required ones, and as many as are missing."""
        sizes: list[int] = list(chosen.values())
        spare: list[int] = []
        for slot in slots:
            if slot.key in chosen:
                continue
            size = self._member(slot.key, cost_of(slot.child))
            if slot.required and size is None:
                return None
            if size is not None:
                (sizes if slot.required else spare).append(size)
        wanted = max(self.alt.least - at.taken, least) - len(sizes)
        if wanted > 0:
            sizes += sorted(spare)[:wanted]
        total = at.taken + len(sizes)
        if wanted > len(spare) or (self.alt.most is not None and total > self.alt.most):
            return None
        return sizes

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ObjectPlan.minimum`."""
        return self._whole(self._members(self.start, cost_of))

    def has_many(self, many: Callable[[Expr], bool]) -> bool:  # noqa: ARG002
        """See `ObjectPlan.has_many`; the values of members may have to be those wanted."""
        return self.alt.most is None and any(is_infinite(cell.keys) for cell in self.cells)

    def needs(self) -> list[Expr]:
        """See `ObjectPlan.needs`."""
        slots = self._slots(self.start, 1)
        return [
            self._claimed(slot.child, part)
            for slot in slots
            for part in _subsets(sorted(slot.fits))
        ]


def _subsets(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(numbers), -1, -1):
        yield from combinations(numbers, size)


def _partitions(numbers: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to split numbers into groups."""
    if not numbers:
        yield []
        return
    first, rest = numbers[0], numbers[1:]
    for parts in _partitions(rest):
        yield [(first,), *parts]
        for i, part in enumerate(parts):
            yield [*parts[:i], (first, *part), *parts[i + 1 :]]
