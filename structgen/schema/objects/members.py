"""In: an object under clauses. Out: its plan.

A clause asks for one of several things: a member of some kind, or that every member of some kind
fits (a key's absence is one of these). A member may go on in the least demanding ways that leave
the object possible to finish; what else its value turns out to fit is observed when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import BudgetError
from structgen.regular.infinite import is_infinite, members
from structgen.regular.regex import EMPTY, Regex, complement, intersect, words
from structgen.regular.words import is_spellable
from structgen.schema.normal_form.expressions import Expr, conjoin, contradictory
from structgen.schema.normal_form.logic import object_child
from structgen.schema.normal_form.nodes import Clause, Every, ObjectAlt, is_search
from structgen.schema.normal_form.progress import CostOf, Progress, Take
from structgen.schema.objects.clauses import Pending, fits
from structgen.schema.objects.finishing import Choice, Slot, finished, finishes_plainly
from structgen.schema.objects.key_classes import Cell
from structgen.schema.objects.plans import ObjectPlan
from structgen.schema.objects.settling import Settling
from structgen.util.cached import found_once

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs

MAX_BETTER = 8  # ways to finish an object that are compared
MAX_WAYS = 2000  # combinations of outcomes tried for one member


class Way(NamedTuple):
    """What a value must fit, and what it decides: clauses left, and those it has a say in."""

    child: Expr
    left: tuple[Clause, ...]
    pending: tuple[Pending, ...]

    @property
    def worst(self) -> tuple[Clause, ...]:
        """The clauses left if the value fits no more than it must."""
        return (*self.left, *(p.rest for p in self.pending))

    def better(self) -> Iterator[Way]:
        """The ways that ask for one outcome more: for a clause that fails else, if there is one."""
        failing = [i for i, p in enumerate(self.pending) if not p.rest]
        for i in failing[:1] or range(len(self.pending)):
            others = (*self.pending[:i], *self.pending[i + 1 :])
            for asked, after in self.pending[i].better():
                child = conjoin(self.child, asked)
                if not contradictory(child):
                    kept = others if after is None else (*others, after)
                    yield Way(child, self.left, kept)


class MembersPlan(ObjectPlan):
    """One alternative of an object that has clauses to settle."""

    def __init__(self, alt_: ObjectAlt, costs: Costs, declared: bool) -> None:
        super().__init__(alt_, costs, declared)
        self._known: dict[Progress, bool] = {}
        self._taken: dict[tuple[Progress, str], list[Take]] = {}
        self._next_cells: dict[Progress, list[tuple[Cell, Regex]]] = {}
        self._settling = Settling(self, self._has_many, costs.possible)

    @found_once
    def all_cells(self) -> tuple[Cell, ...]:
        """As in `ObjectPlan`, and told apart by the literals of clauses."""
        kinds, told = self._kinds
        meant = sorted(self._meant.difference(self.names))
        named = self._meant.union(told)
        cells = [Cell(c.loose, c.child, c.without | named) for c in super().all_cells]
        for language in kinds:
            cells = [part for cell in cells for part in cell.split(language)]
        cells = [cell for cell in cells if not cell.is_empty]
        groups: dict[tuple[Any, ...], list[str]] = {}
        for key in sorted(told.keys() - self._meant.union(self.names)):
            alike = *told[key], *(fits(kind, key) for kind in kinds), object_child(self.alt, key)
            groups.setdefault(alike, []).append(key)
        cells += [Cell(words(group), alike[-1]) for alike, group in groups.items()]
        return (*cells, *(Cell(words((key,)), object_child(self.alt, key)) for key in meant))

    @found_once
    def _kinds(self) -> tuple[list[Regex], dict[str, list[int]]]:
        """The languages of literals that tell keys apart; of others, the few keys not in them.

        With each such key stand the places of the languages that it is not in.
        """
        literals = (x.keys for clause in self.alt.clauses for x in clause)
        languages = dict.fromkeys(keys for keys in literals if not isinstance(keys, str))
        kinds: list[Regex] = []
        told: dict[str, list[int]] = {}
        for place, language in enumerate(languages):
            listed = members(complement(language))
            if listed is None:
                kinds.append(language)
            for key in listed or ():
                told.setdefault(key, []).append(place)
        return kinds, told

    # -- going on -------------------------------------------------------------------------------

    def takes(self, at: Progress, key: str) -> list[Take]:
        """See `ObjectPlan.takes`: the least demanding ways."""
        found = self._taken.get((at, key))
        if found is None:
            found = self._ways(at, key) if self._reaches(at, key) else []
            self._taken[at, key] = found
        return found

    def _ways(self, at: Progress, key: str) -> list[Take]:
        after, child = self.take(at, key), self.child(key)
        left: list[Clause] = []
        decided: list[Pending] = []
        for clause in at.wanted:
            if self._settling.is_over(clause, key):
                continue
            if key not in clause.by_key and not clause.by_kind:
                left.append(clause)
                continue
            case = self._settling.case(clause, key)
            if case == Pending(clause):
                left.append(clause)
            elif case is not None:
                decided.append(case)
        first = Way(child, tuple(left), tuple(decided))
        if not self._costs.possible(child):
            return []
        if self._viable(after._replace(wanted=first.worst)):
            return [self._observing(first, after)]
        found: list[Way] = []
        ways = list(dict.fromkeys(first.better()))
        tried = {first, *ways}
        while ways:
            longer: dict[Way, None] = {}
            for way in ways:
                if not self._costs.possible(way.child) or any(_asks(way, w) for w in found):
                    continue
                if self._viable(after._replace(wanted=way.worst)):
                    found.append(way)
                else:
                    longer.update(dict.fromkeys(w for w in way.better() if w not in tried))
            ways = list(longer)
            tried.update(ways)
            if len(tried) > MAX_WAYS:
                raise BudgetError(
                    f"the value of {key!r} decides in more than {MAX_WAYS} ways",
                    hint="negate fewer schemas of the same object at once",
                )
        return [self._observing(way, after) for way in found]

    def _observing(self, way: Way, after: Progress) -> Take:
        left = after._replace(wanted=way.left, pending=way.pending)
        asked = tuple(conjoin(way.child, x) for p in way.pending for x in p.asked())
        return Take(way.child, left, asked)

    def settle(self, at: Progress, known: tuple[bool, ...]) -> Progress:
        """See `ObjectPlan.settle`."""
        if not at.pending:
            return at
        left = list(at.wanted)
        start = 0
        for p in at.pending:
            end = start + len(p.closers) + len(p.every)
            clause = p.settled(known[start:end])
            start = end
            if clause is not None:
                left.append(clause)
        return at._replace(wanted=tuple(dict.fromkeys(left)), pending=())

    def after(self, at: Progress) -> ObjectPlan:
        """See `ObjectPlan.after`: one with fewer clauses, where these are all that are left."""
        if at.pending or len(at.wanted) == len(self.alt.clauses):
            return self
        found = self._costs.lesser(self.alt, frozenset(at.wanted))
        return self if found is None or not self._knows(found, at) else found

    def _knows(self, other: ObjectPlan, at: Progress) -> bool:
        """Whether a progress of this plan says of the keys read what another plan has to know."""
        by_cell = other.is_by_cell(at) or not self.is_by_cell(at)
        return by_cell and other.single <= self.single

    def _reaches(self, at: Progress, key: str) -> bool:
        """Whether the order and the keys so far leave room for `key`."""
        index = self._index.get(key)
        if key in at.seen:
            return False
        if index is None:
            return not (self.declared and self.is_missing(at))
        skipped = self.names[at.position : index]
        passes = not self.declared or self.required.isdisjoint(skipped)
        return index >= at.position and passes

    def allows(self, at: Progress, key: str) -> bool:
        """See `ObjectPlan.allows`."""
        return bool(self.takes(at, key))

    def may_end(self, at: Progress) -> bool:
        """See `ObjectPlan.may_end`."""
        settled = all(any(isinstance(x, Every) for x in clause) for clause in at.wanted)
        return settled and super().may_end(at)

    def next_names(self, at: Progress, among: Container[str] | None = None) -> list[str]:
        """See `ObjectPlan.next_names`."""
        names = self.names if among is None else [name for name in self.names if name in among]
        return [name for name in names if self._goes_on(at, name)]

    def may_go_on(self, at: Progress) -> bool:
        """See `ObjectPlan.may_go_on`."""
        return any(self._goes_on(at, name) for name in self.names) or bool(self.next_others(at))

    def _goes_on(self, at: Progress, key: str) -> bool:
        """Whether `key` may come next; its ways are looked for only where that is not plain."""
        plain = not self._counts and self._reaches(at, key) and self._settling.goes_on(at, key)
        return plain or bool(self.takes(at, key))

    def next_cells(self, at: Progress) -> list[tuple[Cell, Regex]]:
        """See `ObjectPlan.next_cells`; the keys of one cell are all alike."""
        if self.declared and self.is_missing(at):
            return []
        found = self._next_cells.get(at)
        if found is None:
            found = self._next_cells[at] = []
            for cell in self.cells:
                read = at.seen - cell.without
                if cell.loose in self.single:
                    left = EMPTY if cell.first in read else cell.keys
                else:
                    left = intersect(cell.keys, complement(words(read))) if read else cell.keys
                key = cell.other(read)
                if key is not None and self._goes_on(at, key):
                    found.append((cell, left))
        return found

    def open_cells(self, at: Progress) -> list[Cell]:
        """See `ObjectPlan.open_cells`."""
        return [cell for cell, _ in self.next_cells(at)]

    def _viable(self, at: Progress) -> bool:
        if () in at.wanted:
            return False
        if not self._counts:
            if self._settling.settles(at):
                return True
            if _by_name(at.wanted):
                at = at._replace(seen=at.seen & self._meant)
        if at not in self._known:
            self._known[at] = self._finishes(at)
        return self._known[at]

    def _has_many(self, key: str) -> bool:
        return self._costs.has_many(self._costs.node_of(self.child(key)))

    @found_once
    def _meant(self) -> frozenset[str]:
        """The keys that are required or that clauses name."""
        named = (x.keys for clause in self.alt.clauses for x in clause if isinstance(x.keys, str))
        return self.required.union(named)

    # -- what is left ---------------------------------------------------------------------------

    def _left(self, at: Progress, wanted: int) -> None:  # noqa: ARG002
        """See `ObjectPlan._left`: which members must come depends on what settles the clauses."""
        return

    def _members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """See `ObjectPlan._members`: the best of the first ways to finish."""
        at = at._replace(wanted=(*at.wanted, *(p.rest for p in at.pending)), pending=())
        ways = islice(self._finished(at, cost_of, least), MAX_BETTER)
        return min(ways, key=sum, default=None)

    def is_plainly_possible(self) -> bool:
        """See `ObjectPlan.is_plainly_possible`."""
        if self._counts:
            return False
        fits_ = (is_spellable(n) and self._costs.possible(self.child(n)) for n in self.required)
        if self._settling.settles(self.start) and all(fits_):
            return True
        return self._finishes_with(self.start, [*self._named_slots(self.start)])

    def is_possible(self) -> bool:
        """See `ObjectPlan.is_possible`: one way to finish is enough."""
        return self.is_plainly_possible() or self._finishes(self.start)

    def _finishes(self, at: Progress) -> bool:
        """Whether all clauses can be settled by what is still to come."""
        named = [*self._named_slots(at)]  # of others there may be many kinds
        if self._finishes_with(at, named):
            return True
        slots = named + self._other_slots(at, 0)
        if self._finishes_with(at, slots):
            return True
        some, fill = self._some, self._filling(at)
        return any(True for _ in finished(at.wanted, slots, some, fill, self._room(at)))

    def _finishes_with(self, at: Progress, slots: list[Slot]) -> bool:
        """Whether the first literals that members at `slots` can settle are a way to finish."""
        return finishes_plainly(at.wanted, slots, self._some, self._filling(at))

    def _some(self, expr: Expr) -> int | None:
        """A cost for what is possible."""
        return 1 if self._costs.possible(expr) else None

    def _filling(self, at: Progress) -> Callable[[Choice], list[int] | None]:
        return lambda choice: self._filled(at, choice, self._some, 0)

    def _finished(self, at: Progress, cost_of: CostOf, least: int) -> Iterator[list[int]]:
        """The bytes of the members still to come, for each way to settle all clauses."""

        def fill(choice: Choice) -> list[int] | None:
            return self._filled(at, choice, cost_of, least)

        return finished(at.wanted, self._slots(at, least), cost_of, fill, self._room(at))

    def _room(self, at: Progress) -> int | None:
        """How many members may still come."""
        return None if self.alt.most is None else self.alt.most - at.taken

    def _slots(self, at: Progress, least: int) -> list[Slot]:
        """The keys that may still come: all names, and of each other kind as many as matter."""
        return [*self._named_slots(at), *self._other_slots(at, least)]

    def _named_slots(self, at: Progress) -> Iterator[Slot]:
        first = at.position if self.declared else 0
        for name in self.names[first:]:
            if name not in at.seen:
                yield Slot(name, self.child(name), name in self.required)
        for key in sorted(self._meant.difference(self.names, at.seen)):
            yield Slot(key, self.child(key), False)

    def _other_slots(self, at: Progress, least: int) -> list[Slot]:
        count = sum(any(map(is_search, clause)) for clause in at.wanted)
        count += max(self.alt.least - at.taken, least, 0)
        found: list[Slot] = []
        for cell in self.all_cells if count else ():
            if not contradictory(cell.child):
                fresh = (key for key in cell.in_order() if key not in at.seen)
                found += [Slot(key, cell.child, False) for key in islice(fresh, count)]
        return found

    def _filled(
        self, at: Progress, choice: Choice, cost_of: CostOf, least: int
    ) -> list[int] | None:
        """The bytes of the claimed and required members, and of as many as are missing."""
        sizes: list[int] = []
        spare: list[int] = []
        for slot in choice.slots.values():
            needed = slot.required or slot.key in choice.claims
            size = self._member(slot.key, cost_of(choice.child(slot.key)))
            if size is None and needed:
                return None
            if size is not None:
                (sizes if needed else spare).append(size)
        wanted = max(self.alt.least - at.taken, least) - len(sizes)
        if wanted > len(spare):
            return None
        sizes += sorted(spare)[: max(wanted, 0)]
        most = self.alt.most
        return None if most is not None and at.taken + len(sizes) > most else sizes

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ObjectPlan.minimum`."""
        return self._whole(self._members(self.start, cost_of))

    def has_many(self, many: Callable[[Expr], bool]) -> bool:
        """See `ObjectPlan.has_many`: some member has many in one of the first ways to finish."""
        plain = self.alt.most is None and not any(
            isinstance(x, Every) for clause in self.alt.clauses for x in clause
        )
        if plain and any(is_infinite(cell.loose) for cell in self.cells):
            return True
        found = [False]

        def fill(choice: Choice) -> list[int] | None:
            sizes = self._filled(self.start, choice, self._costs.of, 0)
            room = sizes is not None and (self.alt.most is None or len(sizes) < self.alt.most)
            found[0] = sizes is not None and any(
                many(choice.child(slot.key))
                for slot in choice.slots.values()
                if room or slot.required or slot.key in choice.claims
            )
            return sizes

        slots = self._slots(self.start, 0)
        ways = finished(self.start.wanted, slots, self._costs.of, fill, self._room(self.start))
        return any(found[0] for _ in islice(ways, MAX_BETTER))


def _by_name(clauses: tuple[Clause, ...]) -> bool:
    """Whether no clause asks for a member of some kind, whatever its key."""
    return not any(is_search(literal) for clause in clauses for literal in clause)


def _asks(way: Way, less: Way) -> bool:
    """Whether `way` asks for all that `less` asks for."""
    return set(less.child) <= set(way.child)
