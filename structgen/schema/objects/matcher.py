"""The matcher of an object alternative: the automaton that reads its members, key by key.

Its states are `Progress`es (what has been read of the object). For each it tells which keys may
come, what their values must fit, whether the object may close, and how few bytes finish it. Nothing
it offers is a dead end: required keys, bounds on counts, and children that no value fits are taken
into account. Keys that are named (by `properties` or `required`) are told apart one by one, all
others by their `KeyClass`. Alternatives with clauses have a matcher of their own, `ClauseMatcher`.

Where keys come in declared order the progress is a position in `names`; a name may be skipped
unless it is required, and all other keys come after the names.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Container, Iterator

from structgen.regular.expressions.build import text_of
from structgen.regular.infinite import every_prefix_is_infinite, is_infinite, is_single
from structgen.regular.regex import (
    ANY,
    Regex,
    alt,
    complement,
    intersect,
    words,
)
from structgen.regular.words import WordRange, is_spellable, word_range
from structgen.schema.normal_form.expressions import TRUE, Children, Expr, conjoin
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import Clause, ObjectAlt, names_of
from structgen.schema.normal_form.logic import group_child
from structgen.schema.normal_form.progress import (
    CostOf,
    Progress,
    Remaining,
    Transition,
    closing_cost,
)
from structgen.schema.objects.key_classes import KeyClass, by_length, count, written_key
from structgen.schema.objects.key_rules import KeyRules, sample_languages
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_SPLITTING = 4  # patterns that split the keys of an object into classes for reading them
MEMBERS_PER_UNIT = 20  # whose bytes are added in a unit of work
MAX_PARTITIONED = 6  # the same for finding the members with the fewest bytes


class ObjectMatcher:
    """The matcher of one object alternative under one property order. Compared by identity."""

    def __init__(self, alt_: ObjectAlt, costs: FiniteValues, declared: bool) -> None:
        self.alt = alt_
        self.declared = declared
        self._costs = costs
        self.required = frozenset(alt_.required)
        self.names = tuple(names_of(alt_))
        self._index = {name: i for i, name in enumerate(self.names)}
        # whether the number of members matters; whether neither that nor clauses do
        self.is_bounded = alt_.least > 0 or alt_.most is not None
        self._is_simple = type(self) is ObjectMatcher and not self.is_bounded
        self._has_clauses = bool(alt_.clauses)
        self._children: dict[str, Expr] = {}
        self._sizes: dict[str, int] = {}

    @cached_attribute
    def start(self) -> Progress:
        """The progress before the first key."""
        return Progress().with_open_clauses(self.alt.clauses)

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        found = self._children.get(key)
        if found is None:
            groups = self.alt.groups
            if len(groups) > 1:
                about_key = sorted((*self._groups_about_all, *self._groups_naming.get(key, ())))
                groups = tuple([groups[i] for i in about_key])
            parts = [group_child(group, key) for group in groups]
            found = self._children[key] = conjoin(*parts) if parts else TRUE
        return found

    @cached_attribute
    def clauses(self) -> frozenset[Clause]:
        """The clauses of the alternative."""
        return frozenset(self.alt.clauses)

    @cached_attribute
    def _groups_about_all(self) -> list[int]:
        """The indices of the groups that may demand something of keys that they do not name."""
        groups = enumerate(self.alt.groups)
        return [i for i, g in groups if not g.is_by_name_only or g.additional != TRUE]

    @cached_attribute
    def _groups_naming(self) -> dict[str, list[int]]:
        """By key, the indices of the other groups that name it."""
        found: dict[str, list[int]] = {}
        for i, group in enumerate(self.alt.groups):
            if group.is_by_name_only and group.additional == TRUE:
                for key in group.named:
                    found.setdefault(key, []).append(i)
        return found

    @cached_attribute
    def all_key_classes(self) -> tuple[KeyClass, ...]:
        """The classes of the keys that are not named."""
        named, groups = frozenset(self.names), self.alt.groups
        if all(group.is_by_name_only for group in groups):
            return (KeyClass(ANY, conjoin(*(group.additional for group in groups)), named),)
        found: tuple[KeyClass, ...] | None = self._costs.key_classes.get((named, groups))
        if found is None:
            found = (KeyClass(ANY, (), named),)
            for group in groups:
                found = tuple([part for key_class in found for part in key_class.split_by(group)])
            self._costs.key_classes[named, groups] = found
        return found

    @property
    def _pattern_count(self) -> int:
        return sum(len(group.patterns) for group in self.alt.groups)

    @cached_attribute
    def key_rules(self) -> KeyRules | None:
        """The rules about keys that are not named, where patterns might overlap in many ways."""
        few = self._pattern_count <= MAX_SPLITTING or self._has_clauses
        return None if few else KeyRules(self.alt, self._costs)

    def languages_of(self, key_class: KeyClass, at: Progress) -> tuple[Regex, ...]:
        """The languages that a key of a class is read against, the class's own first."""
        if self.key_rules is not None:
            return self.key_rules.languages
        language = key_class.language
        unnamed = at.seen - key_class.excluded if key_class.by_text else ()
        read = [key for key in unnamed if key_class.has(key)]
        return (intersect(language, complement(words(read))) if read else language,)

    def child_of(self, key_class: KeyClass, is_in: Callable[[Regex], bool]) -> Expr:
        """What the value of a key of a class must fit; is_in: whether the key is in a language."""
        return key_class.child if self.key_rules is None else self.key_rules.child(is_in)

    @cached_attribute
    def key_classes(self) -> tuple[KeyClass, ...]:
        """The classes of the keys that are not named and may come: some value fits their child.

        Where there are `key_rules`, all these keys are one class.
        """
        if self.key_rules is not None:
            keys = self.key_rules.keys
            key_class = KeyClass(keys, TRUE, frozenset(self.names))
            return () if key_class.is_empty else (key_class,)
        found = (c for c in self.all_key_classes if self._costs.satisfiable(c.child))
        read = [c.as_read() for c in found]
        parts = [part for c in read for part in c.split_by_length()]
        by_class = not self._has_clauses and all(c.depends_on_class_only for c in parts)
        return tuple(parts if by_class else read)

    def is_possible(self, position: int) -> bool:
        """Whether a name may come: it can be written, and some value fits its child."""
        found = self._possible[position]
        if found is None:
            name, children = self.names[position], self._lazy_children
            plain = children is not None and children.surely_satisfiable(name)
            # the child is only made if its subschema does not tell
            found = is_spellable(name) and (plain or self._costs.satisfiable(self.child(name)))
            self._possible[position] = found
        return found

    @property
    def possible_names(self) -> list[str]:
        """The names that may come."""
        return [name for i, name in enumerate(self.names) if self.is_possible(i)]

    @cached_attribute
    def _possible(self) -> list[bool | None]:
        """What `is_possible` has found so far, None where it was not asked."""
        children = self._lazy_children
        all_satisfiable = (
            children is not None and children.all_satisfiable and len(children) == len(self.names)
        )
        return [True if all_satisfiable else None] * len(self.names)

    @property
    def _lazy_children(self) -> Children | None:
        """The children by name, if nothing else restricts the values of names."""
        groups = self.alt.groups
        named = groups[0].named if len(groups) == 1 and groups[0].is_by_name_only else None
        return named if isinstance(named, Children) else None

    @cached_attribute
    def named(self) -> WordRange | None:
        """The names as a range of words, numbered from 0."""
        return word_range({name: i for i, name in enumerate(self.names)})

    @cached_attribute
    def listed_members(self) -> dict[str, tuple[Expr, bool]] | None:
        """By name, what the value must fit and whether it must come, if nothing else matters."""
        if not self._is_simple or self.key_classes:
            return None
        return {name: (self.child(name), name in self.required) for name in self.possible_names}

    @property
    def has_members(self) -> bool:
        """Whether some key certainly may come first, of a matcher that some object fits."""
        positions = range(len(self.names))
        return bool(self.required) or (self._is_simple and any(map(self.is_possible, positions)))

    @cached_attribute
    def spans(self) -> bool:
        """Whether the names that may come next are always those in one range of `names`."""
        positions = range(len(self.names))
        return self.declared and self._is_simple and all(map(self.is_possible, positions))

    def span(self, at: Progress) -> tuple[int, int]:
        """The half-open range of positions in `names` that may come next (where `spans`)."""
        return at.position, self._span_ends[at.position]

    @cached_attribute
    def _span_ends(self) -> list[int]:
        """For each position, the one behind the first required name from there on."""
        stops = [len(self.names)] * (len(self.names) + 1)
        for i in range(len(self.names) - 1, -1, -1):
            stops[i] = i + 1 if self.names[i] in self.required else stops[i + 1]
        return stops

    @cached_attribute
    def depends_on_class_only(self) -> bool:
        """Whether of a key without a name only its class matters, and that it does not come twice.

        Then the keys read need not be part of the progress: what was begun can always go on to a
        fresh key, as every class is infinite, or has a single key, or keys of it that were begun
        have more endings than an object has members. (Where more members must come
        than are required, the keys read may have been the shortest: the cost is a lower bound.)
        Without clauses it is enough that all classes together are infinite: they are open at once,
        so that a key that was begun may end in any of them.
        """
        if self.key_rules is not None:
            return self.key_rules.every_prefix_is_infinite
        if all(key_class.depends_on_class_only for key_class in self.key_classes):
            return True
        satisfiable = self._costs.satisfiable
        refused = (c.language for c in self.all_key_classes if not satisfiable(c.child))
        keys = (group.names for group in self.alt.groups)
        together = intersect(*keys, complement(alt(*refused)))
        exact = all(c.as_read() is c for c in self.all_key_classes)
        return exact and not self._has_clauses and every_prefix_is_infinite(together)

    @cached_attribute
    def single_key_classes(self) -> frozenset[Regex]:
        """The languages of the classes that have a single key."""
        return frozenset(c.language for c in self.key_classes if is_single(c.language))

    @cached_attribute
    def only_key_set_matters(self) -> bool:
        """Whether the set of names read is all that matters: any order, no bounds, no clauses."""
        if self.declared or not self._is_simple:
            return False
        if self.key_rules is not None:
            return self.key_rules.every_prefix_is_infinite
        return all(every_prefix_is_infinite(c.language) for c in self.key_classes)

    @cached_attribute
    def key_set(self) -> tuple[list[int], list[int], bool]:
        """Positions of the names that must come and that may; whether other keys may, always."""
        needed = [self._index[name] for name in self.required]
        possible = [i for i in range(len(self.names)) if self.is_possible(i)]
        return sorted(needed), possible, bool(self.key_classes)

    def position(self, name: str) -> int:
        """The position of a name in `names`; for another key the one behind all of them."""
        return self._index.get(name, len(self.names))

    def passed(self, at: Progress, key: str) -> tuple[str, ...]:
        """The names that can't come any more once `key` has, without having come."""
        return self.names[at.position : self.position(key)] if self.declared else ()

    def transitions_by_class(
        self, at: Progress, key_class: KeyClass, is_in: Callable[[Regex], bool]
    ) -> list[Transition]:
        """`transitions` of any fresh key of a class, where `depends_on_class_only`.

        is_in: whether the key is in one of the languages that it is read against.
        """
        child = self.child_of(key_class, is_in)
        if is_single(key_class.language):
            return [Transition(child, self._advance_unnamed(at, text_of(key_class.language)))]
        return [Transition(child, self._advance_unnamed(at, "")._replace(seen=at.seen))]

    @cached_attribute
    def _other_count(self) -> int:
        return count(alt(*(key_class.keys for key_class in self.key_classes)), self.alt.least)

    def _capacity(self, at: Progress) -> int:
        """How many more keys could follow in declared order; counted up to the least number."""
        named = sum(map(self.is_possible, range(at.position, len(self.names))))
        if named >= self.alt.least:
            return named
        used = len(at.seen) if self.declared else sum(k not in self._index for k in at.seen)
        return named + max(self._other_count - used, 0)

    def missing(self, at: Progress) -> list[str]:
        """The required keys that are still to come."""
        if self.declared:
            return [n for n in self.names[at.position :] if n in self.required]
        return [n for n in self.alt.required if n not in at.seen]

    def to_come(self, at: Progress) -> list[str]:
        """The keys of members with which the object can be finished in few bytes, some of them."""
        return self.missing(at)

    def misses_required(self, at: Progress) -> bool:
        """Whether a required key is still to come."""
        if self.declared:
            return at.position <= self._last_required
        return not self.required <= at.seen

    @cached_attribute
    def _last_required(self) -> int:
        return max((self._index[name] for name in self.required), default=-1)

    def may_end(self, at: Progress) -> bool:
        """Whether the object may close here."""
        return at.members_read >= self.alt.least and not self.misses_required(at)

    def next_names(self, at: Progress, among: Container[str] | None = None) -> list[str]:
        """The names that may come next; only those `among` some if these are given."""
        first, last = self.span(at) if self.declared else (0, len(self.names))
        fresh = [i for i in range(first, last) if self.names[i] not in at.seen]
        if among is not None:
            fresh = [i for i in fresh if self.names[i] in among]
        found = [self.names[i] for i in fresh if self.is_possible(i)]
        if self.is_bounded:
            found = [n for n in found if self._can_finish(self.advance(at, n))]
        return found

    def next_unnamed(self, at: Progress) -> tuple[Regex, ...]:
        """The languages, one per class, of keys without a name that may come next.

        Where there are `key_rules`, those that tell these keys apart follow.
        """
        left = tuple([left for _, left in self.next_key_classes(at)])
        if self.key_rules is None or not left:
            return left
        # or a key that was read could begin once more, or a name that may not come
        others = intersect(complement(words(at.seen)), self._all_but_names)
        return (*left, *(intersect(keys, others) for keys in self.key_rules.rule_languages))

    @cached_attribute
    def _all_but_names(self) -> Regex:
        return complement(words(self.names))

    def next_key_classes(self, at: Progress) -> list[tuple[KeyClass, Regex]]:
        """The classes of which keys may come next, and the language of these keys."""
        if not self._may_add_unnamed(at):
            return []
        return [
            (key_class, left)
            for key_class, left in self._unread_classes(at)
            if not any(map(key_class.has, at.seen)) or key_class.other(at.seen) is not None
        ]

    def open_key_classes(self, at: Progress) -> list[KeyClass]:
        """The classes of which keys may come next, where `depends_on_class_only`."""
        if not self._may_add_unnamed(at):
            return []
        read = [c for c in self.key_classes if is_single(c.language) and c.first in at.seen]
        return [key_class for key_class in self.key_classes if key_class not in read]

    def _may_add_unnamed(self, at: Progress) -> bool:
        """Whether the order and the bounds allow a key without a name."""
        if self.declared and self.misses_required(at):
            return False
        return not self.is_bounded or self._can_finish(self._advance_unnamed(at, ""))

    def _unread_classes(self, at: Progress) -> list[tuple[KeyClass, Regex]]:
        """The classes, and those of their keys that have not been read."""
        unnamed = [key for key in at.seen if key not in self._index]
        if not unnamed:
            return [(key_class, key_class.keys) for key_class in self.key_classes]
        apart = complement(words(unnamed))
        return [(key_class, intersect(key_class.keys, apart)) for key_class in self.key_classes]

    def allows(self, at: Progress, key: str) -> bool:
        """Whether `key` may come next."""
        index = self._index.get(key)
        if index is None:
            fresh = key not in at.seen and self._may_add_unnamed(at)
            return fresh and any(key_class.has(key) for key_class in self.key_classes)
        if key in at.seen or index < at.position or not self.is_possible(index):
            return False
        if self.declared and not self.required.isdisjoint(self.names[at.position : index]):
            return False
        return not self.is_bounded or self._can_finish(self.advance(at, key))

    def may_go_on(self, at: Progress) -> bool:
        """Whether another key may follow."""
        return bool(self.next_names(at)) or bool(self.next_unnamed(at))

    def transitions(self, at: Progress, key: str) -> list[Transition]:
        """The ways to go on with `key`; several only where clauses let its value decide."""
        return [Transition(self.child(key), self.advance(at, key))] if self.allows(at, key) else []

    def advance(self, at: Progress, key: str) -> Progress:
        """The progress after `key`."""
        if key not in self._index:
            return self._advance_unnamed(at, key)
        read = at.members_read + self.is_bounded  # counted only where the number matters
        if self.declared:
            return Progress(self._index[key] + 1, at.seen, read, at.open_clauses)
        return Progress(0, at.seen | {key}, read, at.open_clauses)

    def _advance_unnamed(self, at: Progress, key: str) -> Progress:
        position = len(self.names) * self.declared
        read = at.members_read + self.is_bounded
        return Progress(position, at.seen | {key}, read, at.open_clauses)

    def resolve(self, at: Progress, _known: tuple[bool, ...]) -> Progress:
        """The progress once the value of the last key has been read.

        known: whether it fits each of `Transition.observed`, in that order.
        """
        return at

    def reduced(self, _at: Progress) -> ObjectMatcher:
        """A matcher that does the same from a progress on, shared where possible."""
        return self

    def _can_finish(self, at: Progress) -> bool:
        """Whether the bounds on the number of members can still be kept."""
        most, least = self.alt.most, self.alt.least
        if most is not None and at.members_read + len(self.missing(at)) > most:
            return False
        return not self.declared or at.members_read + self._capacity(at) >= least

    def cost(self, at: Progress, opened: bool, least: int = 0) -> int | None:
        """Fewest bytes from after a value (or the brace, if `opened`) past the closing brace.

        `least` more members are written in any case. None if what is asked of members cannot be.
        """
        left = self._remaining_members(at, max(self.alt.least - at.members_read, least))
        if left is None:
            members = self._cheapest_members(at, self._costs.of, least)
            if members is None:
                return None
            left = Remaining(len(members), sum(members))
        return closing_cost(left.number, left.total, opened, self._costs.gap)

    def floor(self, at: Progress) -> int:
        """A lower bound on the bytes that remain behind the next key, or the closing brace."""
        left = self._remaining_members(at, self.alt.least - at.members_read)
        if left is None:
            members = self._cheapest_members(at, self._costs.of) or [0]
            return sum(members) - max(members)
        return left.total - left.largest

    def _remaining_members(self, at: Progress, wanted: int) -> Remaining | None:
        """The members still to come, None where less than `wanted` are required."""
        if self.declared:
            left = self._remaining_from[at.position]
        else:
            sizes = [self._least_size(name) for name in self.required - at.seen]
            left = Remaining(len(sizes), sum(sizes), max(sizes, default=0))
        return left if left.number >= wanted else None

    @cached_attribute
    def _remaining_from(self) -> list[Remaining]:
        """The required members still to come at each position of the declared order."""
        tails = [Remaining()]
        for name in reversed(self.names):
            needed = name in self.required
            tails.append(tails[-1].plus(self._least_size(name)) if needed else tails[-1])
        return tails[::-1]

    def _least_size(self, name: str) -> int:
        """The bytes of the shortest member with a name."""
        if name not in self._sizes:
            self._sizes[name] = self._member_size(name, self._costs.of(self.child(name))) or 0
        return self._sizes[name]

    def surely_satisfiable(self) -> bool:
        """Whether some object certainly fits, as far as is seen without a search."""
        needed = (self._index[name] for name in self.required)
        return self._surely_has_room and all(map(self.is_possible, needed))

    @property
    def _surely_has_room(self) -> bool:
        """Whether the number of members certainly can be what it must be."""
        if not self.is_bounded:
            return True
        least, most = max(self.alt.least, len(self.required)), self.alt.most
        if most is not None and least > most:
            return False
        wanted = least - len(self.required)
        if wanted == 0 or wanted <= sum(not c.is_empty for c in self.key_classes):
            return True
        return any(is_infinite(c.keys) for c in self.key_classes)

    def is_satisfiable(self) -> bool:
        """Whether some object fits."""
        if self.surely_satisfiable():
            return True
        return self.is_bounded and self.minimum(self._costs.of) is not None

    def minimum(self, cost_of: CostOf) -> int | None:
        """Fewest bytes of an object that fits, given the costs of children; None if none does."""
        if self.alt.most is not None and self.alt.most < max(len(self.required), self.alt.least):
            return None
        return self._whole(self._cheapest_members(self.start, cost_of))

    def _whole(self, members: list[int] | None) -> int | None:
        """Bytes of an object, braces included."""
        if members is None:
            return None
        return 1 + closing_cost(len(members), sum(members), True, self._costs.gap)

    def _cheapest_members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """The bytes of the cheapest members still to be written, None if there are too few."""
        sizes = [self._member_size(name, cost_of(self.child(name))) for name in self.missing(at)]
        extra = max(self.alt.least - at.members_read, least) - len(sizes)
        if extra > 0:
            sizes += self._cheapest(at, extra, cost_of)
        checkpoint(len(sizes) // MEMBERS_PER_UNIT)
        found = [size for size in sizes if size is not None]
        enough = len(found) + at.members_read >= self.alt.least
        return found if enough and len(found) == len(sizes) else None

    def _member_size(self, key: str, value: int | None) -> int | None:
        """Bytes of a member whose value takes `value` bytes; None if it cannot be written."""
        if value is None or not is_spellable(key):
            return None
        return len(written_key(key)) + 1 + self._costs.gap + value

    def _cheapest(self, at: Progress, wanted: int, cost_of: CostOf) -> list[int | None]:
        """The costs of the cheapest `wanted` members that are not required."""
        left = [n for n in self.names[at.position :] if not (n in self.required or n in at.seen)]
        optional = [self._member_size(n, cost_of(self.child(n))) for n in left]
        best = sorted(size for size in optional if size is not None)[:wanted]

        def is_worth(length: int) -> bool:
            """Whether a member with a key of so many characters may be cheaper than those found."""
            least = length + 2 + 1 + self._costs.gap + 1  # quotes, colon, value
            return len(best) < wanted or least < best[-1]

        used = set(at.seen)
        for keys in self._unnamed_languages(lambda keys: is_worth(keys.shortest), cost_of):
            for number, key in enumerate(by_length(keys, used)):
                if number == wanted or not is_worth(len(key)):
                    break
                checkpoint()
                used.add(key)
                size = self._member_size(key, cost_of(self.child(key)))
                if size is not None:
                    insort(best, size)
                    del best[wanted:]
        return [*best]

    def _unnamed_languages(
        self, is_worth: Callable[[Regex], bool], cost_of: CostOf
    ) -> Iterator[Regex]:
        """Languages of the keys that are not named, as far as they are worth a search."""
        if self._pattern_count > MAX_PARTITIONED:
            yield from sample_languages(self.alt, is_worth)
            return
        for key_class in sorted(self.all_key_classes, key=lambda c: c.language.shortest):
            if is_worth(key_class.language) and cost_of(key_class.child) is not None:
                yield key_class.keys

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """Whether infinitely many objects certainly fit.

        child_is_infinite: whether infinitely many values certainly fit an expression.
        """
        more = self.alt.most is None or self.alt.most > len(self.required)
        children = [self.child(name) for name in (self.names if more else self.alt.required)]
        return any(map(child_is_infinite, children)) or (
            more and any(is_infinite(c.language) for c in self.key_classes)
        )
