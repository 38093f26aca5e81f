"""In: an object under clauses. Out: its plan.

A clause asks for one of several things: a member of some kind, or that every member of some kind
fits (a key's absence is one of these). Where a member may settle a clause there are several ways to
go on, claiming so or not, and the machine follows all. Whether an object can still be finished is a
search for one literal per clause that can hold together with all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from structgen.automaton.regex import Regex, complement, intersect, matches, shortest, words
from structgen.errors import BudgetError
from structgen.spec.json_exprs import TRUE, Expr, conjoin, contradictory, implied
from structgen.spec.json_nodes import Clause, Every, Literal, Member, ObjectAlt
from structgen.spec.json_plans import Cell, CostOf, ObjectPlan, Progress, is_infinite

if TYPE_CHECKING:
    from structgen.spec.json_costs import Costs

MAX_TRIES = 20_000  # literals tried until the first way to finish an object is found
MAX_BETTER = 200  # ways to finish an object that are compared after that
MAX_WAYS = 256  # ways in which one member can settle clauses

Way = tuple[Expr, tuple[Clause, ...]]


class Slot(NamedTuple):
    """A key that may still come, what its value must fit, and whether it has to come."""

    key: str
    child: Expr
    required: bool


class MembersPlan(ObjectPlan):
    """One alternative of an object that has clauses to settle."""

    def __init__(self, alt_: ObjectAlt, costs: Costs, declared: bool) -> None:
        super().__init__(alt_, costs, declared)
        self._known: dict[Progress, bool] = {}

    @cached_property
    def all_cells(self) -> tuple[Cell, ...]:
        """As in `ObjectPlan`, and told apart by the literals of clauses."""
        cells = list(super().all_cells)
        for keys in dict.fromkeys(x.keys for clause in self.alt.clauses for x in clause):
            language = words((keys,)) if isinstance(keys, str) else keys
            halves = (
                (intersect(cell.keys, part), cell.child)
                for cell in cells
                for part in (language, complement(language))
            )
            cells = [Cell(part, child) for part, child in halves if not part.is_empty()]
        return tuple(cells)

    # -- going on -------------------------------------------------------------------------------

    def takes(self, at: Progress, key: str) -> list[tuple[Expr, Progress]]:
        """See `ObjectPlan.takes`: one way for each set of clauses that this member can settle."""
        if not self._reaches(at, key):
            return []
        after = self.take(at, key)
        ways: dict[Way, None] = {(self.child(key), ()): None}
        for clause in at.wanted:
            ways = dict.fromkeys(w for way in ways for w in _settled(way, clause, key, self))
            if len(ways) > MAX_WAYS:
                raise BudgetError(
                    f"the value of {key!r} decides about more than {MAX_WAYS} cases",
                    hint="negate fewer schemas of the same object at once",
                )
        found = []
        for child, wanted in _leading(list(ways)):
            left = after._replace(wanted=wanted)
            if self._costs.of(child) is not None and self._viable(left):
                found.append((child, left))
        return found

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression that the values fit that fit one of `exprs`."""
        return exprs[0] if len(exprs) == 1 else self._costs.union(exprs)

    def _reaches(self, at: Progress, key: str) -> bool:
        """Whether the order and the keys so far leave room for `key`."""
        index = self._index.get(key)
        if key in at.seen:
            return False
        if index is None:
            return not (self.declared and self.missing(at))
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
        if at not in self._known:
            self._known[at] = next(self._finished(at, self._costs.of, 0), None) is not None
        return self._known[at]

    # -- what is left ---------------------------------------------------------------------------

    def _members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """See `ObjectPlan._members`: the best of the first ways to finish."""
        best: list[int] | None = None
        for number, sizes in enumerate(self._finished(at, cost_of, least)):
            if best is None or sum(sizes) < sum(best):
                best = sizes
            if number >= MAX_BETTER:
                break
        return best

    def _finished(self, at: Progress, cost_of: CostOf, least: int) -> Iterator[list[int]]:
        """The bytes of the members still to come, for each way to settle all clauses."""
        slots = {slot.key: slot for slot in self._slots(at)}
        clauses = sorted(at.wanted, key=len)
        tries = 0
        found = False
        stack: list[tuple[int, dict[str, Expr], tuple[Every, ...]]] = [(0, {}, ())]
        while stack:
            done, claims, every = stack.pop()
            if done == len(clauses):
                sizes = self._filled(at, _Choice(slots, claims, every), cost_of, least)
                if sizes is not None:
                    found = True
                    yield sizes
                continue
            options = []
            for literal in clauses[done]:
                for more, all_ in _held(literal, slots, claims, every):
                    choice = _Choice(slots, more, all_)
                    if all(cost_of(choice.child(key)) is not None for key in more):
                        options.append((done + 1, more, all_))
            stack += reversed(options)  # the first literal is tried first
            tries += len(options)
            if tries > MAX_TRIES and not found:
                raise BudgetError(
                    f"deciding how an object can go on takes more than {MAX_TRIES} steps",
                    hint="negate fewer schemas of the same object at once",
                )

    def _slots(self, at: Progress) -> Iterator[Slot]:
        """The keys that may still come: all names, and a few of each other kind."""
        first = at.position if self.declared else 0
        for name in self.names[first:]:
            if name not in at.seen:
                yield Slot(name, self.child(name), name in self.required)
        count = sum(any(not isinstance(x.keys, str) for x in clause) for clause in at.wanted)
        taken = set(at.seen)
        for cell in self.all_cells:
            for _ in range(max(count + max(self.alt.least - at.taken, 0), 1)):
                key = shortest(intersect(cell.keys, complement(words(taken))))
                if key is None:
                    break
                taken.add(key)
                yield Slot(key, cell.child, False)

    def _filled(
        self, at: Progress, choice: _Choice, cost_of: CostOf, least: int
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

    def has_many(self, many: Callable[[Expr], bool]) -> bool:  # noqa: ARG002
        """See `ObjectPlan.has_many`; the values of members may have to be those wanted."""
        plain = self.alt.most is None and not any(
            isinstance(x, Every) for clause in self.alt.clauses for x in clause
        )
        return plain and any(is_infinite(cell.keys) for cell in self.cells)

    def needs(self) -> list[Expr]:
        """See `ObjectPlan.needs`; conjunctions with literals are found while searching."""
        return [slot.child for slot in self._slots(self.start)]


class _Choice(NamedTuple):
    """Literals chosen: what claimed members must fit besides, and what all members must."""

    slots: dict[str, Slot]
    claims: dict[str, Expr]
    every: tuple[Every, ...]

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        more = (x.child for x in self.every if fits(x.keys, key))
        return conjoin(self.slots[key].child, self.claims.get(key, TRUE), *more)


def _held(
    literal: Literal, slots: dict[str, Slot], claims: dict[str, Expr], every: tuple[Every, ...]
) -> Iterator[tuple[dict[str, Expr], tuple[Every, ...]]]:
    """The ways to let a literal hold, given the choices so far; those without new members first."""
    if isinstance(literal, Every):
        required = {k: TRUE for k, s in slots.items() if s.required and fits(literal.keys, k)}
        yield required | claims, (*every, literal)
        return
    keys = [literal.keys] if isinstance(literal.keys, str) else slots
    found = [key for key in keys if key in slots and fits(literal.keys, key)]
    for key in sorted(found, key=lambda k: (k not in claims, not slots[k].required)):
        yield claims | {key: conjoin(claims.get(key, TRUE), literal.child)}, every


def _settled(way: Way, clause: Clause, key: str, plan: MembersPlan) -> Iterator[Way]:
    """The ways to go on with `key` that differ in what becomes of `clause`."""
    child, wanted = way
    touched = [x for x in clause if fits(x.keys, key)]
    if not touched:
        yield child, (*wanted, clause)
        return
    claims = tuple(x.child for x in touched if isinstance(x, Member))
    if claims:
        claimed = conjoin(child, plan.union(claims))
        if claimed == child or any(implied(child, claim) for claim in claims):
            yield way
            return
        if not contradictory(claimed):
            yield claimed, wanted
    kept = [x for x in clause if x not in touched]
    kept += [x for x in touched if isinstance(x, Member) and not isinstance(x.keys, str)]
    cases: list[tuple[Expr, Clause]] = [(child, tuple(kept))]
    for literal in touched:
        if isinstance(literal, Every):
            longer = [(conjoin(c, literal.child), (*left, literal)) for c, left in cases]
            cases = longer + [case for case in cases if not implied(case[0], literal.child)]
    for case, left in cases:
        if left and not contradictory(case):
            yield case, (*wanted, left)


def _leading(ways: list[Way]) -> list[Way]:
    """The ways without those that ask for more of the value and leave no less to be settled."""
    sets = [(set(child), {frozenset(clause) for clause in wanted}) for child, wanted in ways]

    def behind(i: int) -> bool:
        return any(
            sets[j] != sets[i] and sets[j][0] <= sets[i][0] and sets[j][1] <= sets[i][1]
            for j in range(len(ways))
        )

    return [way for i, way in enumerate(ways) if not behind(i)]


def fits(keys: str | Regex, key: str) -> bool:
    """Whether `key` is the one meant, or one of those."""
    return keys == key if isinstance(keys, str) else matches(keys, key)
