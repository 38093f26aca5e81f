"""The matcher of an object alternative that has clauses (see `objects.clauses` for the algorithm).

To a key there is one transition. What its value turns out to fit is observed when it ends; where
not all clauses could be satisfied whatever it is, it must fit enough of what they ask. Only where
constants decide there is one transition for each outcome that leaves clauses to be satisfied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.infinite import is_infinite, is_single, members
from structgen.regular.regex import EMPTY, Regex, complement, intersect, words
from structgen.regular.words import is_spellable
from structgen.schema.normal_form.clause_groups import Clauses
from structgen.schema.normal_form.expressions import FALSE, Expr, conjoin, contradictory
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import Clause, ForAll, Literal, ObjectAlt, is_pattern_exists
from structgen.schema.normal_form.logic import matches_key, object_child
from structgen.schema.normal_form.progress import (
    CostOf,
    PendingClause,
    Progress,
    Transition,
)
from structgen.schema.objects.clauses import (
    LATER_TRIES,
    MAX_TRIES,
    Assignment,
    Sizes,
    Slot,
    completions,
    greedily_completes,
)
from structgen.schema.objects.deciding_values import parted
from structgen.schema.objects.enough import enough
from structgen.schema.objects.key_classes import KeyClass
from structgen.schema.objects.matcher import ObjectMatcher
from structgen.schema.objects.quick_check import QuickCheck
from structgen.util.cached import cached_attribute

MAX_BETTER = 8  # ways to finish an object that are compared
FEW_CONDITIONS = 4  # of which all sets are looked at


class ClauseMatcher(ObjectMatcher):
    """The matcher of one alternative of an object that has clauses."""

    def __init__(
        self,
        alt_: ObjectAlt,
        costs: FiniteValues,
        declared: bool,
        siblings: Sequence[ObjectMatcher],
    ) -> None:
        """siblings: matchers of alternatives that differ in clauses only; there may come more."""
        super().__init__(alt_, costs, declared)
        self._siblings = siblings
        if not declared:  # what clauses name is told apart as names are
            self.names = tuple(dict.fromkeys((*self.names, *sorted(self._clause_keys))))
            self._index = {name: i for i, name in enumerate(self.names)}
        self._finishable: dict[Progress, bool] = {}  # see `_can_finish`
        self._omitting: dict[Clauses, bool] = {}  # see `_omits_enough`
        self._least_known: dict[tuple[Progress, int | None], Sizes | None] = {}
        #: literals by which an object could be finished, by progress and by what has been read
        self._ways: dict[Progress, frozenset[Literal]] = {}
        self._likely: dict[tuple[int, frozenset[str]], frozenset[Literal]] = {}
        self._transitions: dict[tuple[Progress, str], list[Transition]] = {}
        self._next_key_classes: dict[Progress, list[tuple[KeyClass, Regex]]] = {}
        self._quick_check = QuickCheck(self, self._surely_infinite, costs)

    @cached_attribute
    def all_key_classes(self) -> tuple[KeyClass, ...]:
        """As in `ObjectMatcher`, split further by the languages of keys in literals."""
        splitters, exceptions = self._key_languages
        unnamed = sorted(self._clause_keys.difference(self.names))
        single = self._clause_keys.union(exceptions)
        key_classes = [
            KeyClass(c.language, c.child, c.excluded | single) for c in super().all_key_classes
        ]
        for language in splitters:
            key_classes = [part for key_class in key_classes for part in key_class.split(language)]
        key_classes = [key_class for key_class in key_classes if not key_class.is_empty]
        alike: dict[tuple[Any, ...], list[str]] = {}
        for key in sorted(exceptions.keys() - self._clause_keys.union(self.names)):
            matched = (matches_key(language, key) for language in splitters)
            signature = *exceptions[key], *matched, object_child(self.alt, key)
            alike.setdefault(signature, []).append(key)
        key_classes += [KeyClass(words(keys), signature[-1]) for signature, keys in alike.items()]
        return (
            *key_classes,
            *(KeyClass(words((key,)), object_child(self.alt, key)) for key in unnamed),
        )

    @cached_attribute
    def _key_languages(self) -> tuple[list[Regex], dict[str, list[int]]]:
        """The languages of literals, as those to split key classes by and lists of exceptions.

        A language with a finite complement (all keys but a few, from negated `properties`) does not
        split classes: by each key that is in such a complement, the indices of these languages.
        """
        literals = (x.keys for clause in self.alt.clauses for x in clause)
        languages = dict.fromkeys(keys for keys in literals if not isinstance(keys, str))
        splitters: list[Regex] = []
        exceptions: dict[str, list[int]] = {}
        for i, language in enumerate(languages):
            listed = members(complement(language))
            if listed is None:
                splitters.append(language)
            for key in listed or ():
                exceptions.setdefault(key, []).append(i)
        return splitters, exceptions

    # -- transitions ----------------------------------------------------------------------------

    def explore(self, many: int) -> list[str]:
        """Find ahead which keys may come first, of many clauses, and what tags decide.

        What their values decide is found for keys that `many` clauses, or more, are about, and only
        where it takes no search; these are returned.
        """
        check = self._quick_check
        if len(self.alt.clauses) >= many and not self.is_bounded:
            for name in self.names:
                check.surely_allows(self.start, name)
        found = []
        for key, count in Counter(k for c in self.alt.clauses for k in c.by_key).items():
            if count >= many and self._fits_order(self.start, key):
                after, near, pending = self._after_key(self.start, key)
                left = (*near, *dict.fromkeys(p.rest for p in pending))
                decided = (
                    check.values_that_decide(pending, key) is not None
                    or check.ways_by_tag(near, pending) is not None
                    or check.surely_satisfiable(after.with_open_clauses(left))
                    or self._parts(self.child(key), pending) is not None
                )
                if decided and self.transitions(self.start, key):
                    found.append(key)
        return found

    def transitions(self, at: Progress, key: str) -> list[Transition]:
        """See `ObjectMatcher.transitions`."""
        found = self._transitions.get((at, key))
        if found is None:
            if not self._may_come(at, key):
                found = []
            else:
                near = self._near(at, key)
                if near == at:
                    found = self._searched(at, key)
                else:
                    found = [_beside(at, near, t) for t in self.transitions(near, key)]
            self._transitions[at, key] = found
        return found

    def _near(self, at: Progress, key: str) -> Progress:
        """The progress without clauses and keys read that make no difference to `key`."""
        clauses = self._quick_check.near(at, key)
        if self.is_bounded or not clauses.are_about_names_only:
            return at
        return at._replace(seen=at.seen & clauses.names).with_open_clauses(clauses)

    def _related(self, at: Progress) -> Progress:
        """The progress without the keys read that make no difference to the clauses."""
        if self.is_bounded or not at.open_clauses.are_about_names_only:
            return at
        seen = at.seen & at.open_clauses.names
        return at if len(seen) == len(at.seen) else at._replace(seen=seen)

    def _searched(self, at: Progress, key: str) -> list[Transition]:
        """The transitions; a value must fit as little as lets the object be finished."""
        child = self.child(key)
        if not self._costs.satisfiable(child):
            return []
        after, near, pending = self._after_key(at, key)

        def fresh(rests: Iterable[Clause]) -> list[Clause]:
            """The clauses among those that the value leaves that are not open in any case."""
            return [rest for rest in dict.fromkeys(rests) if rest not in near]

        def can_finish(left: list[Clause]) -> bool:
            """Whether the object can be finished if the value leaves these clauses open besides."""
            return self._can_finish(after.with_open_clauses((*near, *left)), at)

        decisive = self._quick_check.values_that_decide(pending, key)
        if decisive is not None:
            outcomes = (
                (value, fresh([pending[i].rest for i in failed]))
                for failed, value in decisive.outcomes(child, self._costs)
            )
            return [
                Transition(value, after.with_open_clauses((*after.open_clauses, *left)))
                for value, left in outcomes
                if self._costs.satisfiable(value) and can_finish(left)
            ]
        asked = {x: conjoin(child, x) for p in pending for x in p.observed()}
        ways = self._quick_check.ways_by_tag(near, pending)
        demands: list[tuple[Expr, ...]] | None = None
        # else it is asked what is left at worst
        if ways is None and not can_finish(fresh(p.rest for p in pending)):
            parts = self._parts(child, pending)
            if parts is not None:
                by_rests: dict[tuple[Clause, ...], list[Expr]] = {}
                for values, held in parts:
                    by_rests.setdefault(tuple(fresh(_rests(pending, held))), []).append(values)
                return [
                    Transition(
                        self._costs.union(tuple(values)),
                        after.with_open_clauses((*after.open_clauses, *left)),
                    )
                    for left, values in by_rests.items()
                    if can_finish([*left])
                ]
            possible = [x for x, value in asked.items() if self._costs.satisfiable(value)]
            ways = self._ways_for_tags(at, after, near, pending, frozenset(possible))
            if ways is None:
                found = enough(
                    possible,
                    _needed(pending),
                    lambda some: can_finish(fresh(_rests(pending, some))),
                )
                ways, demands = found.ways, found.shorter_demands()
        if ways is not None:
            fitting = [conjoin(child, *fits) for fits in ways]
            if demands is None:
                child = self._costs.union(tuple(filter(self._costs.satisfiable, fitting)))
            else:
                child = conjoin(child, *map(self._costs.union, demands))
            if child == FALSE or not self._costs.satisfiable(child):
                return []
            asked = {x: y if y in fitting else conjoin(child, x) for x, y in asked.items()}
        observed = tuple([asked[x] for p in pending for x in p.observed()])
        return [Transition(child, after._replace(pending=tuple(pending)), observed)]

    def _ways_for_tags(
        self,
        at: Progress,
        after: Progress,
        near: Iterable[Clause],
        pending: Sequence[PendingClause],
        possible: Collection[Expr],
    ) -> list[tuple[Expr, ...]] | None:
        """The smallest sets of conditions on a value that are enough, found for each tag to come.

        A tag decides about most clauses, so few conditions are left for each. None where there is
        no tag, or the conditions are few anyway. possible: the conditions that some value fits.
        """
        few = self.is_bounded or len(possible) <= FEW_CONDITIONS
        tag = (
            None
            if few
            else self._quick_check.common_tag([*near, *(p.rest for p in pending)], after)
        )
        if tag is None:
            return None
        found: dict[tuple[Expr, ...], None] = {}
        for only, satisfied in tag.cases():
            left = [rest for clause in near if (rest := satisfied(clause)) is not None]
            undecided = [
                p._replace(rest=rest) for p in pending if (rest := satisfied(p.rest)) is not None
            ]

            def is_enough(fits: Collection[Expr]) -> bool:
                rests = (*left, *_rests(undecided, fits), only)  # noqa: B023
                return self._can_finish(after.with_open_clauses(rests), at)

            conditions = [x for p in undecided for x in p.observed() if x in possible]
            ways = enough(conditions, _needed(undecided), is_enough).ways
            found.update(dict.fromkeys(ways))
        return [*found]

    def _parts(
        self, child: Expr, pending: Sequence[PendingClause]
    ) -> list[tuple[Expr, frozenset[Expr]]] | None:
        """See `parted`: of the values that fit `child`, by what many clauses ask of them."""
        asked = dict.fromkeys(x for p in pending for x in p.satisfiers)
        if any(p.universals for p in pending):
            return None
        possible = [x for x in asked if self._costs.satisfiable(conjoin(child, x))]
        few = len(possible) <= FEW_CONDITIONS
        return None if few else parted(child, possible, self._costs)

    def _after_key(
        self, at: Progress, key: str
    ) -> tuple[Progress, dict[Clause, None], list[PendingClause]]:
        """What becomes of the clauses when `key` has been read, and its value not yet.

        The progress, with the clauses that the value decides nothing of; those of them that the key
        can make harder to satisfy; and the clauses that the value decides.
        """
        check = self._quick_check
        near = check.near(at, key)
        undecided: dict[Clause, None] = {}
        pending: list[PendingClause] = []
        for clause in near:
            if check.is_satisfied_by_order(clause, key):
                continue
            about_key = key in clause.by_key or clause.by_pattern
            found = check.pending(clause, key) if about_key else PendingClause(clause)
            if found == PendingClause(clause):
                undecided[clause] = None
            elif found is not None:
                pending.append(found)
        gone = frozenset(near).difference(undecided)
        kept = [clause for clause in at.open_clauses if clause not in gone]
        return self.advance(at, key).with_open_clauses(kept), undecided, pending

    def resolve(self, at: Progress, known: tuple[bool, ...]) -> Progress:
        """See `ObjectMatcher.resolve`."""
        if not at.pending:
            return at
        left: list[Clause] = []
        start = 0  # of what was observed for this clause
        for p in at.pending:
            end = start + len(p.satisfiers) + len(p.universals)
            clause = p.resolved(known[start:end])
            start = end
            if clause is not None:
                left.append(clause)
        return at.with_open_clauses(at.open_clauses.changed((), left))

    def reduced(self, at: Progress) -> ObjectMatcher:
        """See `ObjectMatcher.reduced`: one made for just the clauses that are still open."""
        if at.pending or len(at.open_clauses) == len(self.alt.clauses):
            return self
        wanted = frozenset(at.open_clauses)
        found = next((m for m in self._siblings if wanted <= m.clauses), None)
        return self if found is None or not self._knows_enough_for(found) else found

    def _knows_enough_for(self, other: ObjectMatcher) -> bool:
        """Whether a progress of this matcher has all that another one needs of the keys read."""
        by_class = other.depends_on_class_only or not self.depends_on_class_only
        named = self._index.keys() >= other._index.keys()
        return by_class and named and other.single_key_classes <= self.single_key_classes

    def _may_come(self, at: Progress, key: str) -> bool:
        """Whether `key` may come, as far as is seen at a glance."""
        return self._fits_order(at, key) and not self._quick_check.surely_refuses(at, key)

    def _fits_order(self, at: Progress, key: str) -> bool:
        """Whether `key` may come by the order and the keys so far."""
        index = self._index.get(key)
        if key in at.seen:
            return False
        if index is None:
            return not (self.declared and self.misses_required(at))
        skipped = self.names[at.position : index]
        passes = not self.declared or self.required.isdisjoint(skipped)
        return index >= at.position and passes

    def allows(self, at: Progress, key: str) -> bool:
        """See `ObjectMatcher.allows`."""
        return bool(self.transitions(at, key))

    def may_end(self, at: Progress) -> bool:
        """See `ObjectMatcher.may_end`."""
        # no member comes any more, so that every `ForAll` still in a clause holds
        satisfied = all(any(isinstance(x, ForAll) for x in clause) for clause in at.open_clauses)
        return satisfied and super().may_end(at)

    def next_names(self, at: Progress, among: Container[str] | None = None) -> list[str]:
        """See `ObjectMatcher.next_names`."""
        names = self.names[at.position :]
        return [n for n in names if (among is None or n in among) and self._allows(at, n)]

    def may_go_on(self, at: Progress) -> bool:
        """See `ObjectMatcher.may_go_on`."""
        left = self.names[at.position :]
        return any(self._allows(at, name) for name in left) or bool(self.next_unnamed(at))

    def _allows(self, at: Progress, key: str) -> bool:
        """Whether `key` may come next; transitions are searched only if no quick check says so."""
        if not self._fits_order(at, key):
            return False
        near = self._quick_check.beside(at, key)
        if self._quick_check.surely_refuses(near, key):
            return False
        surely = not self.is_bounded and self._quick_check.surely_allows(near, key)
        return surely or bool(self.transitions(at, key))

    def next_key_classes(self, at: Progress) -> list[tuple[KeyClass, Regex]]:
        """See `ObjectMatcher.next_key_classes`; the keys of one class are all alike."""
        if self.declared and self.misses_required(at):
            return []
        found = self._next_key_classes.get(at)
        if found is None:
            found = self._next_key_classes[at] = []
            for key_class in self.key_classes:
                read = at.seen - key_class.excluded
                if key_class.language in self.single_key_classes:
                    left = EMPTY if key_class.first in read else key_class.keys
                else:
                    left = (
                        intersect(key_class.keys, complement(words(read)))
                        if read
                        else key_class.keys
                    )
                key = key_class.other(read)
                if key is not None and self._allows(at, key):
                    found.append((key_class, left))
        return found

    def open_key_classes(self, at: Progress) -> list[KeyClass]:
        """See `ObjectMatcher.open_key_classes`."""
        return [key_class for key_class, _ in self.next_key_classes(at)]

    def transitions_by_class(
        self, at: Progress, key_class: KeyClass, is_in: Callable[[Regex], bool]
    ) -> list[Transition]:
        """See `ObjectMatcher.transitions_by_class`; clauses may decide between several."""
        del is_in  # a key is read against its class alone
        key = key_class.other(at.seen - key_class.excluded)
        found = [] if key is None else self.transitions(at, key)
        if is_single(key_class.language):
            return found
        return [t._replace(after=t.after._replace(seen=at.seen)) for t in found]

    def _can_finish(self, at: Progress, before: Progress | None = None) -> bool:
        """Whether the object can be completed from a progress without pending clauses.

        before: the progress that it follows on. By the way in which the object could be finished
        from there it is tried first, so that some member can always come. What else would take too
        long to decide is not offered.
        """
        if () in at.open_clauses:
            return False
        if self.alt.most is not None and at.members_read + len(self.missing(at)) > self.alt.most:
            return False
        if self._quick_check.surely_satisfiable(at):
            return True
        at = self._related(at)  # other keys read change nothing
        found = self._finishable.get(at)
        if found is None:
            parts = self._apart(at)
            if len(parts) > 1:
                found = all(self._can_finish(part, before) for part in parts)
            else:
                found = self._is_found_finishable(at, before)
            self._finishable[at] = found
            ways = [self._ways[part] for part in parts if part in self._ways]
            if ways:
                self._likely[self._read_so_far(at)] = frozenset().union(*ways)
        return found

    def _is_found_finishable(self, at: Progress, before: Progress | None) -> bool:
        """`_can_finish` for one group of clauses, by a search."""
        names_only = not self.is_bounded and at.open_clauses.are_about_names_only
        try:
            return self._is_finishable(at, self._keys_of(at) if names_only else None, before)
        except BudgetError:
            if before is None:
                raise
            return False

    def _apart(self, at: Progress) -> list[Progress]:
        """The progress for each group of open clauses, without what is of no matter to it.

        The object can be finished if it can be for each group.
        """
        groups = self._quick_check.groups(at)
        return [at] if len(groups) < 2 else [self._part(at, group) for group in groups]

    def _part(self, at: Progress, group: Clauses) -> Progress:
        """The progress for one group of open clauses."""
        position = at.position
        if self.declared:  # that of the first of the keys to come
            ahead = (i for i in map(self.position, group.names) if i >= position)
            position = min(ahead, default=len(self.names))
        return Progress(position, at.seen & group.names, 0, group)

    def _keys_of(self, at: Progress) -> frozenset[str]:
        """The keys that open clauses are about: named, or required and in a language of theirs."""
        languages = {c[i].keys for c in at.open_clauses for i in c.by_pattern}
        among = self.required if languages else ()
        required = (key for key in among if any(matches_key(x, key) for x in languages))
        return at.open_clauses.names.union(required)

    def _surely_infinite(self, key: str) -> bool:
        return self._costs.surely_infinite(self._costs.normal_form_of(self.child(key)))

    @cached_attribute
    def _clause_keys(self) -> frozenset[str]:
        """The keys that are required or that clauses name."""
        return self.required | self._named_by_clauses

    @cached_attribute
    def _named_by_clauses(self) -> frozenset[str]:
        """The keys that clauses name."""
        named = (x.keys for clause in self.alt.clauses for x in clause)
        return frozenset(key for key in named if isinstance(key, str))

    # -- members still to come ------------------------------------------------------------------

    def _remaining_members(self, at: Progress, wanted: int) -> None:  # noqa: ARG002
        """See `ObjectMatcher._remaining_members`; here clauses decide which members must come."""
        return

    def _cheapest_members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """See `ObjectMatcher._cheapest_members`: the best of the first completions."""
        found = self._cheapest_sizes(at, cost_of, least)
        return None if found is None else [*found.values()]

    def to_come(self, at: Progress) -> list[str]:
        """See `ObjectMatcher.to_come`: the members of the best of the first completions."""
        return [*(self._cheapest_sizes(at, self._costs.of) or ())]

    def _cheapest_sizes(self, at: Progress, cost_of: CostOf, least: int = 0) -> Sizes | None:
        """`_cheapest_members` with their keys."""
        if at.pending:
            at = at.with_open_clauses(at.open_clauses.changed((), (p.rest for p in at.pending)))
        groups = self._quick_check.groups(at)
        wanting = [group for group in groups if not self._omits_enough(group)]
        if len(groups) > 1 or not (self.is_bounded or wanting):
            found = self._cheapest_by_group(at, wanting, cost_of)
            if found is None or len(found) >= least:
                return found
        return self._least_members(at, cost_of, least)

    def _omits_enough(self, clauses: Clauses) -> bool:
        """Whether leaving optional members out satisfies all clauses."""
        found = self._omitting.get(clauses)
        if found is None:
            found = all(map(self._quick_check.omissions.__getitem__, clauses))
            self._omitting[clauses] = found
        return found

    def _cheapest_by_group(
        self, at: Progress, groups: list[Clauses], cost_of: CostOf
    ) -> Sizes | None:
        """The same by groups of clauses: the members of each, and all others required."""
        found: Sizes = {}
        about: set[str] = set()
        for group in groups:
            sizes = self._least_members(self._part(at, group), cost_of)
            if sizes is None:
                return None
            found.update(sizes)
            about |= group.names
        for name in self.missing(at):
            if name not in about:
                size = self._member_size(name, cost_of(self.child(name)))
                if size is None:
                    return None
                found[name] = size
        return found

    def _least_members(
        self, at: Progress, cost_of: CostOf, least: int | None = None
    ) -> Sizes | None:
        """The bytes of the members still to come, in the best of the first completions.

        `least` more are written in any case; None: `at` is about one group of clauses, and only
        members that these name are looked at.
        """
        final = cost_of == self._costs.of  # else a cost may still fall
        if final and (at, least) in self._least_known:
            return self._least_known[at, least]
        if least is None:
            keys = self._keys_of(at)
            slots = [slot for slot in self._named_slots(at) if slot.key in keys]
        else:
            slots = self._slots(at, least)
        fill = self._fill(at, cost_of, least or 0)
        likely, most = self._likely_after(at), self._most_left(at)
        ways = completions(
            at.open_clauses, slots, cost_of, fill, most, likely, size_of=self._member_size
        )
        found = min(islice(ways, MAX_BETTER), key=_bytes, default=None)
        if final:
            self._least_known[at, least] = found
        return found

    def surely_satisfiable(self) -> bool:
        """See `ObjectMatcher.surely_satisfiable`."""
        fits_ = (is_spellable(n) and self._costs.satisfiable(self.child(n)) for n in self.required)
        if self._quick_check.surely_satisfiable(self.start) and all(fits_):
            return True
        return self._is_greedily_finishable(self.start, [*self._named_slots(self.start)])

    def is_satisfiable(self) -> bool:
        """See `ObjectMatcher.is_satisfiable`: one completion is enough."""
        return self.surely_satisfiable() or self._is_finishable(self.start)

    def _is_finishable(
        self, at: Progress, keys: frozenset[str] | None = None, before: Progress | None = None
    ) -> bool:
        """Whether all clauses can be satisfied by what is still to come.

        keys: those of the members that need a look, if not all do. before: see `_can_finish`.
        """
        named = [slot for slot in self._named_slots(at) if keys is None or slot.key in keys]
        if self._is_greedily_finishable(at, named):
            return True
        slots = named + (self._other_slots(at, 0) if keys is None else [])
        if self._is_greedily_finishable(at, slots):
            return True
        fill = self._fill(at, self._unit_cost)

        def noted(assignment: Assignment) -> Sizes | None:
            sizes = fill(assignment)
            if sizes is not None:
                self._ways[at] = frozenset(assignment.chosen)
            return sizes

        likely = self._likely_after(at if before is None else before)
        tries = MAX_TRIES if before is None else LATER_TRIES
        cost_of, most = self._unit_cost, self._most_left(at)
        ways = completions(at.open_clauses, slots, cost_of, noted, most, likely, tries)
        return any(True for _ in ways)

    def _likely_after(self, at: Progress) -> frozenset[Literal]:
        return self._likely.get(self._read_so_far(at), frozenset())

    def _read_so_far(self, at: Progress) -> tuple[int, frozenset[str]]:
        """What has been read that clauses are about."""
        return at.position, at.seen & self._clause_keys

    def _is_greedily_finishable(self, at: Progress, slots: list[Slot]) -> bool:
        """Whether the first literals that members at `slots` can satisfy are a completion."""
        return greedily_completes(
            at.open_clauses, slots, self._unit_cost, self._fill(at, self._unit_cost)
        )

    def _unit_cost(self, expr: Expr) -> int | None:
        """A cost for what is satisfiable: it is known earlier than a true cost."""
        return 1 if self._costs.satisfiable(expr) else None

    def _fill(
        self, at: Progress, cost_of: CostOf, least: int = 0
    ) -> Callable[[Assignment], Sizes | None]:
        return lambda assignment: self._member_sizes(at, assignment, cost_of, least)

    def _most_left(self, at: Progress) -> int | None:
        """How many members may still come."""
        return None if self.alt.most is None else self.alt.most - at.members_read

    def _slots(self, at: Progress, least: int) -> list[Slot]:
        """The keys that may still come: all names, and as many of each key class as may matter."""
        return [*self._named_slots(at), *self._other_slots(at, least)]

    def _named_slots(self, at: Progress) -> Iterator[Slot]:
        first = at.position if self.declared else 0
        for name in self.names[first:]:
            if name not in at.seen:
                yield Slot(name, self.child(name), name in self.required)
        for key in sorted(self._clause_keys.difference(self.names, at.seen)):
            yield Slot(key, self.child(key), False)

    def _other_slots(self, at: Progress, least: int) -> list[Slot]:
        # one key of a class for each clause that may ask for a member of it, and for each missing
        count = sum(any(map(is_pattern_exists, clause)) for clause in at.open_clauses)
        count += max(self.alt.least - at.members_read, least, 0)
        found: list[Slot] = []
        for key_class in self.all_key_classes if count else ():
            if not contradictory(key_class.child):
                fresh = (key for key in key_class.in_order() if key not in at.seen)
                found += [Slot(key, key_class.child, False) for key in islice(fresh, count)]
        return found

    def _member_sizes(
        self, at: Progress, assignment: Assignment, cost_of: CostOf, least: int
    ) -> Sizes | None:
        """The bytes of the claimed and required members, and of as many as are missing."""
        sizes: Sizes = {}
        spare: Sizes = {}
        for slot in assignment.slots.values():
            needed = slot.required or slot.key in assignment.claims
            size = self._member_size(slot.key, cost_of(assignment.child(slot.key)))
            if size is None and needed:
                return None
            if size is not None:
                (sizes if needed else spare)[slot.key] = size
        wanted = max(self.alt.least - at.members_read, least) - len(sizes)
        if wanted > len(spare):
            return None
        if wanted > 0:
            sizes.update(sorted(spare.items(), key=itemgetter(1))[:wanted])
        most = self.alt.most
        return None if most is not None and at.members_read + len(sizes) > most else sizes

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ObjectMatcher.minimum`."""
        return self._whole(self._cheapest_members(self.start, cost_of))

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """See `ObjectMatcher.surely_infinite`, as the first completions show."""
        plain = self.alt.most is None and not any(
            isinstance(x, ForAll) for clause in self.alt.clauses for x in clause
        )
        if plain and any(is_infinite(key_class.language) for key_class in self.key_classes):
            return True
        found = [False]

        def fill(assignment: Assignment) -> Sizes | None:
            sizes = self._member_sizes(self.start, assignment, self._costs.of, 0)
            more = sizes is not None and (self.alt.most is None or len(sizes) < self.alt.most)
            found[0] = sizes is not None and any(
                child_is_infinite(assignment.child(slot.key))
                for slot in assignment.slots.values()
                if more or slot.required or slot.key in assignment.claims
            )
            return sizes

        slots = self._slots(self.start, 0)
        ways = completions(
            self.start.open_clauses, slots, self._costs.of, fill, self._most_left(self.start)
        )
        return any(found[0] for _ in islice(ways, MAX_BETTER))


def _beside(at: Progress, near: Progress, t: Transition) -> Transition:
    """A transition from the part `near` of a progress, beside all else of that."""
    clauses = at.open_clauses.changed(near.open_clauses, t.after.open_clauses)
    return t._replace(after=t.after._replace(seen=t.after.seen | at.seen, open_clauses=clauses))


def _bytes(sizes: Sizes) -> int:
    return sum(sizes.values())


def _rests(pending: Iterable[PendingClause], fits: Collection[Expr]) -> Iterator[Clause]:
    """What a value leaves of clauses at worst, if it fits some of what they observe."""
    for p in pending:
        rest = p.resolved(tuple([x in fits for x in p.observed()]))
        if rest is not None:
            yield rest


def _needed(pending: Iterable[PendingClause]) -> tuple[Expr, ...]:
    """The conditions on a value that are all that can satisfy some clause."""
    sole = (p for p in pending if not (p.rest or p.universals) and len(p.satisfiers) == 1)
    return tuple(dict.fromkeys(p.satisfiers[0] for p in sole))
