"""In: one alternative of an object. Out: which keys may come, at what cost.

A plan answers for a *progress* (what has been read of the object): which keys are still
possible, whether it may end, and how few bytes finish it. Nothing it offers is a dead end: required
keys, bounds on counts, and children that no value fits are taken into account.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING

from structgen.regular.infinite import endless, is_infinite, is_single
from structgen.regular.regex import (
    ANY,
    Regex,
    alt,
    complement,
    intersect,
    matches,
    shortest,
    words,
)
from structgen.regular.words import WordRange, is_spellable, word_range
from structgen.schema.normal_form.expressions import FALSE, Children, Expr, conjoin
from structgen.schema.normal_form.logic import object_child
from structgen.schema.normal_form.nodes import ObjectAlt
from structgen.schema.normal_form.progress import CostOf, Left, Progress, Take, closing
from structgen.schema.objects.key_classes import Cell, count, spelled
from structgen.util.cached import found_once

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs


class ObjectPlan:
    """One alternative of an object under one property order. Compared by identity."""

    def __init__(self, alt_: ObjectAlt, costs: Costs, declared: bool) -> None:
        self.alt = alt_
        self.declared = declared
        self._costs = costs
        self.required = frozenset(alt_.required)
        named = [name for group in alt_.groups for name in group.named]
        self.names = tuple(dict.fromkeys((*named, *alt_.required)))
        self._index = {name: i for i, name in enumerate(self.names)}
        self._counts = alt_.least > 0 or alt_.most is not None
        self._plain = type(self) is ObjectPlan and not self._counts
        self._children: dict[str, Expr] = {}
        self._sizes: dict[str, int] = {}

    @property
    def start(self) -> Progress:
        """The progress before the first key."""
        return Progress(wanted=self.alt.clauses)

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        if key not in self._children:
            if key in self._index:
                child = object_child(self.alt, key)
            else:
                child = next((c.child for c in self.all_cells if matches(c.keys, key)), FALSE)
            self._children[key] = child
        return self._children[key]

    @found_once
    def all_cells(self) -> tuple[Cell, ...]:
        """The keys that are not named, by child."""
        named, groups = frozenset(self.names), self.alt.groups
        if all(group.is_by_name for group in groups):
            return (Cell(ANY, conjoin(*(group.rest for group in groups)), named),)
        cells = [Cell(ANY, (), named)]
        for group in groups:
            cells = [part for cell in cells for part in cell.split_by(group)]
        return tuple(cells)

    @found_once
    def cells(self) -> tuple[Cell, ...]:
        """The keys that are not named and whose child some value fits, by child."""
        return tuple(c for c in self.all_cells if self._costs.possible(c.child))

    @found_once
    def possible_names(self) -> tuple[bool, ...]:
        """Whether each of `names` can be written, and some value fits its child."""
        children = self._plain_children
        easy = children is not None and children.easy and len(children) == len(self.names)
        return (True,) * len(self.names) if easy else tuple(self._possible(self.names))

    def _possible(self, names: Iterable[str]) -> Iterator[bool]:
        """The same of some names. What is plain of a child is found out before it is made."""
        children, possible = self._plain_children, self._costs.possible
        for name in names:
            plain = children is not None and children.is_plain(name)
            yield is_spellable(name) and (plain or possible(self.child(name)))

    @property
    def _plain_children(self) -> Children | None:
        """The children by name, if that is all there is to say of names."""
        groups = self.alt.groups
        named = groups[0].named if len(groups) == 1 and groups[0].is_by_name else None
        return named if isinstance(named, Children) else None

    @found_once
    def named(self) -> WordRange | None:
        """The names, numbered from 0."""
        return word_range({name: i for i, name in enumerate(self.names)})

    @property
    def has_members(self) -> bool:
        """Whether it is plain that some key may come first, of a plan that some object fits."""
        return bool(self.required) or (self._plain and any(self._possible(self.names)))

    @property
    def spans(self) -> bool:
        """Whether the names that may come next are always those in one range of `names`."""
        return self.declared and self._plain and all(self.possible_names)

    def span(self, at: Progress) -> tuple[int, int]:
        """The range of positions in `names`, the end not included, of those that may come next."""
        return at.position, self._stops[at.position]

    @found_once
    def _stops(self) -> list[int]:
        """Of each position, that behind the first required name from there on."""
        stops = [len(self.names)] * (len(self.names) + 1)
        for i in range(len(self.names) - 1, -1, -1):
            stops[i] = i + 1 if self.names[i] in self.required else stops[i + 1]
        return stops

    def is_by_cell(self, at: Progress, *, alone: bool = False) -> bool:
        """Whether of a key without a name only the cell matters, and that it does not come twice.

        Then what was begun can always go on to a key that has not come yet, and what keys have
        come changes nothing of what it takes to finish. It does where more members must come than
        those that are required; but where a plan is `alone`, that is as much for all ways to go on.
        """
        more = self.alt.least - at.taken
        few = more <= 1 or more - len(self.missing(at)) <= 1
        in_order = self.declared and at.position < len(self.names)
        return self._plenty and (few or (alone and not in_order and type(self) is ObjectPlan))

    @found_once
    def _plenty(self) -> bool:
        """Whether no cell runs out of keys, but for those of a single key, or not all together do.

        Where all cells are open at once, a key that was begun may end in any of them.
        """
        if all(is_single(cell.loose) or endless(cell.loose) for cell in self.cells):
            return True
        refused = (cell.loose for cell in self.all_cells if not self._costs.possible(cell.child))
        keys = (group.keys for group in self.alt.groups)
        return type(self) is ObjectPlan and endless(intersect(*keys, complement(alt(*refused))))

    @found_once
    def single(self) -> frozenset[Regex]:
        """The cells of a single key."""
        return frozenset(cell.loose for cell in self.cells if is_single(cell.loose))

    @found_once
    def is_checklist(self) -> bool:
        """Whether names may come in any order, and nothing depends on what else was read."""
        return not self.declared and self._plain and all(endless(c.loose) for c in self.cells)

    @found_once
    def checklist(self) -> tuple[list[int], list[int], bool]:
        """Positions of the names that must come and that may; whether other keys may always."""
        needed = [self._index[name] for name in self.required]
        possible = [i for i, ok in enumerate(self.possible_names) if ok]
        return sorted(needed), possible, bool(self.cells)

    def position(self, name: str) -> int:
        """The position of a name in `names`, behind all of them for another key."""
        return self._index.get(name, len(self.names))

    def takes_of(self, at: Progress, cell: Cell, left: Regex) -> list[Take]:
        """The ways to go on with any of the keys `left` of a cell, where `is_by_cell`."""
        key = shortest(left)
        found = [] if key is None else self.takes(at, key)
        if is_single(cell.loose):
            return found
        return [t._replace(after=t.after._replace(seen=at.seen)) for t in found]

    @found_once
    def _other_count(self) -> int:
        return count(alt(*(cell.keys for cell in self.cells)), self.alt.least)

    def _capacity(self, at: Progress) -> int:
        """How many more keys could follow in declared order, the minimum wanted being enough."""
        named = sum(self.possible_names[at.position :])
        if named >= self.alt.least:
            return named
        used = len(at.seen) if self.declared else sum(k not in self._index for k in at.seen)
        return named + max(self._other_count - used, 0)

    def missing(self, at: Progress) -> list[str]:
        """The required keys that are still to come."""
        if self.declared:
            return [n for n in self.names[at.position :] if n in self.required]
        return [n for n in self.alt.required if n not in at.seen]

    def is_missing(self, at: Progress) -> bool:
        """Whether a required key is still to come."""
        if self.declared:
            return at.position <= self._last_required
        return not self.required <= at.seen

    @found_once
    def _last_required(self) -> int:
        return max((self._index[name] for name in self.required), default=-1)

    def may_end(self, at: Progress) -> bool:
        """Whether the object may close here."""
        return at.taken >= self.alt.least and not self.is_missing(at)

    def next_names(self, at: Progress, among: Container[str] | None = None) -> list[str]:
        """The names that may come next, `among` some if these are given."""
        first, last = self.span(at) if self.declared else (0, len(self.names))
        possible = zip(self.names[first:last], self.possible_names[first:last], strict=True)
        found = [name for name, ok in possible if ok and name not in at.seen]
        if among is not None:
            found = [name for name in found if name in among]
        if self._counts:
            found = [n for n in found if self._viable(self.take(at, n))]
        return found

    def next_others(self, at: Progress) -> tuple[Regex, ...]:
        """The languages, one per cell, of keys without a name of their own that may come next."""
        return tuple(left for _, left in self.next_cells(at))

    def next_cells(self, at: Progress) -> list[tuple[Cell, Regex]]:
        """The cells of which keys may come next, and these keys."""
        if self.declared and self.is_missing(at):
            return []
        if self._counts and not self._viable(self._take_other(at, "")):
            return []
        return [(cell, left) for cell, left in self._fresh(at) if cell.other(at.seen) is not None]

    def open_cells(self, at: Progress) -> list[Cell]:
        """The cells of which keys may come next, where `is_by_cell`."""
        if (self.declared and self.is_missing(at)) or any(k not in self._index for k in at.seen):
            return [cell for cell, _ in self.next_cells(at)]
        return [*self.cells] if not self._counts or self._viable(self._take_other(at, "")) else []

    def _fresh(self, at: Progress) -> list[tuple[Cell, Regex]]:
        """The cells, and those of their keys that have not been read."""
        unnamed = [key for key in at.seen if key not in self._index]
        if not unnamed:
            return [(cell, cell.keys) for cell in self.cells]
        apart = complement(words(unnamed))
        return [(cell, intersect(cell.keys, apart)) for cell in self.cells]

    def allows(self, at: Progress, key: str) -> bool:
        """Whether `key` may come next."""
        index = self._index.get(key)
        if index is None:
            return any(matches(keys, key) for keys in self.next_others(at))
        if key in at.seen or index < at.position or not self.possible_names[index]:
            return False
        if self.declared and not self.required.isdisjoint(self.names[at.position : index]):
            return False
        return not self._counts or self._viable(self.take(at, key))

    def may_go_on(self, at: Progress) -> bool:
        """Whether another key may follow."""
        return bool(self.next_names(at)) or bool(self.next_others(at))

    def takes(self, at: Progress, key: str) -> list[Take]:
        """The ways to go on with `key`."""
        return [Take(self.child(key), self.take(at, key))] if self.allows(at, key) else []

    def take(self, at: Progress, key: str) -> Progress:
        """The progress after `key`."""
        if key not in self._index:
            return self._take_other(at, key)
        taken = at.taken + self._counts
        if self.declared:
            return Progress(self._index[key] + 1, at.seen, taken, at.wanted)
        return Progress(0, at.seen | {key}, taken, at.wanted)

    def _take_other(self, at: Progress, key: str) -> Progress:
        position = len(self.names) * self.declared
        return Progress(position, at.seen | {key}, at.taken + self._counts, at.wanted)

    def settle(self, at: Progress, _known: tuple[bool, ...]) -> Progress:
        """The progress once the value of the last key has been read.

        known: whether it fits each of `Take.asked`.
        """
        return at

    def after(self, _at: Progress) -> ObjectPlan:
        """A plan that says the same from a progress on."""
        return self

    def _viable(self, at: Progress) -> bool:
        most, least = self.alt.most, self.alt.least
        if most is not None and at.taken + len(self.missing(at)) > most:
            return False
        return not self.declared or at.taken + self._capacity(at) >= least

    def cost(self, at: Progress, opened: bool, least: int = 0) -> int:
        """Fewest bytes from after a value (or the brace, if `opened`) past the closing brace.

        `least` more members are written in any case.
        """
        left = self._left(at, max(self.alt.least - at.taken, least))
        if left is None:
            members = self._members(at, self._costs.of, least) or []
            left = Left(len(members), sum(members))
        return closing(left.number, left.total, opened, self._costs.gap)

    def floor(self, at: Progress) -> int:
        """A lower bound on the bytes that remain behind the next key, or the closing brace."""
        left = self._left(at, self.alt.least - at.taken)
        if left is None:
            members = self._members(at, self._costs.of) or [0]
            return sum(members) - max(members)
        return left.total - left.largest

    def _left(self, at: Progress, wanted: int) -> Left | None:
        """The members still to come, None where those that are required are fewer than `wanted`."""
        if self.declared:
            left = self._tails[at.position]
        else:
            sizes = [self._size(name) for name in self.required - at.seen]
            left = Left(len(sizes), sum(sizes), max(sizes, default=0))
        return left if left.number >= wanted else None

    @found_once
    def _tails(self) -> list[Left]:
        """What is left at each position of the declared order."""
        tails = [Left()]
        for name in reversed(self.names):
            needed = name in self.required
            tails.append(tails[-1].and_one(self._size(name)) if needed else tails[-1])
        return tails[::-1]

    def _size(self, name: str) -> int:
        """The bytes of the cheapest member of a name."""
        if name not in self._sizes:
            self._sizes[name] = self._member(name, self._costs.of(self.child(name))) or 0
        return self._sizes[name]

    def is_plainly_possible(self) -> bool:
        """Whether some object fits, and to see that takes no search."""
        return not self._counts and all(self._possible(self.alt.required))

    def is_possible(self) -> bool:
        """Whether some object fits."""
        counted = self._counts and self.minimum(self._costs.of) is not None
        return counted or self.is_plainly_possible()

    def minimum(self, cost_of: CostOf) -> int | None:
        """Fewest bytes of an object that fits, given the costs of children; None if none does."""
        if self.alt.most is not None and self.alt.most < max(len(self.required), self.alt.least):
            return None
        return self._whole(self._members(self.start, cost_of))

    def _whole(self, members: list[int] | None) -> int | None:
        """Bytes of an object, braces included."""
        if members is None:
            return None
        return 1 + closing(len(members), sum(members), True, self._costs.gap)

    def _members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """The bytes of the cheapest members still to be written, None if there are too few."""
        sizes = [self._member(name, cost_of(self.child(name))) for name in self.missing(at)]
        extra = max(self.alt.least - at.taken, least) - len(sizes)
        if extra > 0:
            sizes += self._cheapest(at, extra, cost_of)
        found = [size for size in sizes if size is not None]
        enough = len(found) + at.taken >= self.alt.least
        return found if enough and len(found) == len(sizes) else None

    def _member(self, key: str, value: int | None) -> int | None:
        if value is None or not is_spellable(key):
            return None
        return len(spelled(key)) + 1 + self._costs.gap + value

    def _cheapest(self, at: Progress, wanted: int, cost_of: CostOf) -> list[int | None]:
        """The costs of the cheapest `wanted` members that are not required."""
        left = [n for n in self.names[at.position :] if not (n in self.required or n in at.seen)]
        optional = [self._member(n, cost_of(self.child(n))) for n in left]
        taken = set(at.seen)
        for cell in self.all_cells:
            value = cost_of(cell.child)
            for _ in range(wanted if value is not None else 0):
                key = shortest(intersect(cell.keys, complement(words(taken))))
                if key is None:
                    break
                taken.add(key)
                optional.append(self._member(key, value))
        return [*sorted(size for size in optional if size is not None)[:wanted]]

    def has_many(self, many: Callable[[Expr], bool]) -> bool:
        """Whether infinitely many objects plainly fit, if `many` values fit a child."""
        room = self.alt.most is None or self.alt.most > len(self.required)
        children = [self.child(name) for name in (self.names if room else self.alt.required)]
        return any(map(many, children)) or (room and any(is_infinite(c.loose) for c in self.cells))
