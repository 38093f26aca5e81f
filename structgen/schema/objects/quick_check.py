"""Whether clauses can still be satisfied, where that is seen without the search of `clauses`.

It never says yes where the search says no.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, product
from math import prod

from structgen.regular.words import is_spellable
from structgen.schema.normal_form.clause_groups import Clauses
from structgen.schema.normal_form.expressions import TRUE, Expr, Values, conjoin, contradictory
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import Clause, Exists, ForAll
from structgen.schema.normal_form.logic import matches_key
from structgen.schema.normal_form.progress import PendingClause, Progress
from structgen.schema.objects.clause_index import Allowed, ClauseIndex, Omissions
from structgen.schema.objects.clauses import pending_clause
from structgen.schema.objects.deciding_values import (
    DecidingValues,
    Fitting,
    few_numbers,
    fitting_values,
)
from structgen.schema.objects.matcher import ObjectMatcher
from structgen.schema.objects.tags import ABSENT, Tag
from structgen.schema.values import Value

MAX_BY_TAG = 1000  # sets of conditions on a value that the tags to come leave
NONE = Clauses()
MAX_NAMES = 32  # names tried as the member that a literal about a language of keys asks for


class Exclusions(list[Expr]):
    """Expressions of values but for some, which leave infinitely many of those that a key has."""


#: by key: what its value must fit, or be one of
Claims = dict[str, Expr | frozenset[Value] | Exclusions]


class QuickCheck:
    """Sufficient conditions, found without search, for the clauses of an object to be satisfiable.

    Each clause is satisfied on its own: by an optional key left out, or by a member still to come
    (one value for several clauses if it can fit all).
    """

    def __init__(
        self,
        matcher: ObjectMatcher,
        surely_infinite: Callable[[str], bool],
        costs: FiniteValues,
    ) -> None:
        """surely_infinite: whether infinitely many values fit what the value of a key must fit."""
        self._matcher = matcher
        self._surely_infinite = surely_infinite
        self._costs = costs
        self._satisfiable = costs.satisfiable
        self.omissions = Omissions(matcher.required)
        self._pending: dict[str, dict[Clause, PendingClause | None]] = {}
        self._by_value: dict[str, dict[Clause | None, bool]] = {}  # see `_value_may_satisfy`
        self._first_name: dict[Clause, int] = {}  # see `is_satisfied_by_order`
        self._indices: dict[Clauses, ClauseIndex] = {}
        self._required_literals: dict[Clause, list[tuple[str, Expr]]] = {}
        self._listed: dict[str, Values] = {}  # by key, the constants that its value is of
        self._fittings: dict[Expr, Fitting | None] = {}
        self._numbers: dict[Expr, frozenset[Value] | None] = {}  # see `_few_numbers`
        self._are_infinite: dict[str, bool] = {}  # by key
        self._by_value_asked: dict[tuple[str, Expr], bool] = {}  # see `_claim_value`
        self._last: tuple[Progress | None, ClauseIndex, Allowed]  # see `_index_at`
        self._none = ClauseIndex(NONE, self.omissions)
        self._last = None, self._none, {}

    def pending(self, clause: Clause, key: str) -> PendingClause | None:
        """See `pending_clause`; found once for each clause and key."""
        known = self._pending.setdefault(key, {})
        if clause not in known:
            known[clause] = pending_clause(clause, key, self._matcher.child(key))
        return known[clause]

    def is_satisfied_by_order(self, clause: Clause, key: str) -> bool:
        """Whether a clause holds when `key` comes, since names before it cannot come any more.

        A `ForAll` that is still in the clause when its name has been passed holds, whether that
        came or not.
        """
        matcher = self._matcher
        if not matcher.declared:
            return False
        if clause not in self._first_name:
            names = (x.keys for x in clause if isinstance(x, ForAll) and isinstance(x.keys, str))
            self._first_name[clause] = min(map(matcher.position, names), default=len(matcher.names))
        return self._first_name[clause] < matcher.position(key)

    def surely_satisfiable(self, at: Progress) -> bool:
        """Whether all open clauses can be satisfied by what may still come, or is left out.

        And the bounds on the number of members kept by just these and those that must come.
        """
        left, members = self._satisfied(at)
        if left or not self._matcher.is_bounded:
            return not left
        o = self._matcher.alt
        count = at.members_read + len(members.union(self._matcher.missing(at)))
        return count >= o.least and (o.most is None or count <= o.most)

    def _satisfied(self, at: Progress) -> tuple[list[Clause], set[str]]:
        """See `_unsatisfied`, of all open clauses."""
        need_member = [clause for clause in at.open_clauses if not self.omissions[clause]]
        return self._unsatisfied(need_member, at, at.open_clauses)

    def surely_allows(self, at: Progress, key: str) -> bool:
        """Whether a member may come next such that the clauses can be satisfied afterwards.

        True only where its value has to satisfy one clause at most; false means "not known".
        """
        at = self.beside(at, key)
        if not at.open_clauses:
            return self._value_may_satisfy(None, key)
        index, allowed = self._index_at(at)
        if key not in allowed:
            allowed[key] = self._allows(at, key, index, allowed)
        return allowed[key]

    def beside(self, at: Progress, key: str) -> Progress:
        """A progress with those open clauses alone that are `near` a key."""
        clauses = self.near(at, key)
        return at if clauses is at.open_clauses else at.with_open_clauses(clauses)

    def surely_refuses(self, at: Progress, key: str) -> bool:
        """Whether a member cannot come next: whatever its value is, some clause plainly fails."""
        at = self.beside(at, key)
        index = self._index_at(at)[0] if at.open_clauses else self._none
        for clause in index.by_key.get(key, ()):
            others = len(clause) - len(clause.by_key[key])  # literals that its value leaves
            if others > 1 or (others and index.asked.keys().isdisjoint(clause.by_key)):
                continue
            p = None if self.is_satisfied_by_order(clause, key) else self.pending(clause, key)
            if p is not None and not (p.satisfiers or p.universals) and self._fails(p.rest, index):
                return True
        return False

    def _fails(self, clause: Clause, index: ClauseIndex) -> bool:
        """Whether no literal is left, or one that no value fits beside other clauses of one."""
        if not clause:
            return True
        literal = clause[0]
        if len(clause) > 1 or not isinstance(literal.keys, str) or self.omissions[clause]:
            return False
        asked = index.asked.get(literal.keys, ())
        return contradictory(conjoin(self._matcher.child(literal.keys), literal.child, *asked))

    def near(self, at: Progress, key: str) -> Clauses:
        """The open clauses that `key` can make harder to satisfy, directly or by other keys.

        All others can be satisfied after it as they could before, by other members.
        """
        clauses = at.open_clauses
        if self._matcher.is_bounded or not clauses.have_names_only:
            return clauses
        if not self._matcher.declared:
            return clauses.group_of.get(key, NONE)
        keys = [k for k in (key, *self._matcher.passed(at, key)) if k in clauses.group_of]
        groups = dict.fromkeys([clauses.group_of[k] for k in keys])
        return clauses if len(groups) == len(clauses.groups) else Clauses(chain(*groups))

    def groups(self, at: Progress) -> tuple[Clauses, ...]:
        """The open clauses in groups that can be satisfied each by itself."""
        return (at.open_clauses,) if self._matcher.is_bounded else at.open_clauses.groups

    def _allows(self, at: Progress, key: str, index: ClauseIndex, allowed: Allowed) -> bool:
        omissions = self.omissions
        touched = [*index.by_key.get(key, ()), *index.by_pattern]
        if not self._matcher.declared:
            if None not in allowed:
                left, members = self._unsatisfied(index.need_member, at, at.open_clauses)
                allowed[None] = not left
                if not left:  # any of these members may come first
                    allowed.update(dict.fromkeys(members, True))
            if key in allowed:
                return allowed[key]
            harmless = not index.by_pattern and key not in index.universal
            if not touched or (allowed[None] and harmless):
                return allowed[None] and self._value_may_satisfy(None, key)
        touched = [clause for clause in touched if not self.is_satisfied_by_order(clause, key)]
        decided = self._allows_by_value(at, key, touched, allowed)
        if decided is not None:
            return decided
        need_member = [clause for clause in index.need_member if clause not in touched]
        # a touched clause with other keys to leave out is satisfied by these
        hit = [clause for clause in touched if omissions[clause] <= {key}]
        need_member += [rest for rest in self._rests(hit, key) if not omissions[rest]]
        left = []
        if need_member:
            rests = self._rests(touched, key)
            others = (clause for clause in (*at.open_clauses, *rests) if clause not in touched)
            left, _ = self._unsatisfied(need_member, self._matcher.advance(at, key), others)
        if not left:
            return self._value_may_satisfy(None, key)
        asking = rests.get(left[0], ()) if len(left) == 1 else ()
        return len(asking) == 1 and self._value_may_satisfy(asking[0], key)

    def _allows_by_value(
        self, at: Progress, key: str, touched: list[Clause], allowed: Allowed
    ) -> bool | None:
        """The same where constants decide about all `touched` clauses; None where they do not.

        Other keys are noted in `allowed` that may come as well as this one does: together they
        satisfy all clauses.
        """
        pending = [p for p in (self.pending(clause, key) for clause in touched) if p is not None]
        values = self.values_that_decide(pending, key)
        if values is None:
            return None
        child = self._matcher.child(key)
        others = [clause for clause in at.open_clauses if clause not in touched]
        after = self._matcher.advance(at, key)
        for outcome, asked in values.outcomes(child, self._costs):
            clauses = (*others, *(pending[i].rest for i in outcome))
            if () not in clauses and self._satisfiable(asked):
                at_worst = after.with_open_clauses(clauses)
                left, members = self._satisfied(at_worst)
                if not left:
                    if not self._matcher.declared:
                        allowed.update(dict.fromkeys(members, True))
                    return True
        return False

    def values_that_decide(
        self, pending: Iterable[PendingClause], key: str
    ) -> DecidingValues | None:
        """The values of a key that decide about some clauses; None if anything else does, too."""
        numbers = self._few_numbers(self._matcher.child(key))
        found: list[list[Fitting]] = []
        for clause in pending:
            if clause.universals:
                return None
            found.append([])
            for expr in clause.satisfiers:
                fitting = self._fitting(expr)
                if numbers is not None:
                    some = self._among(key, expr, numbers)
                    fitting = None if some is None else Fitting(some, frozenset())
                if fitting is not None:
                    found[-1].append(fitting)
                elif self._may_fit(key, expr):
                    return None
        return DecidingValues(found, numbers) if found else None

    def ways_by_tag(
        self, near: Iterable[Clause], pending: Sequence[PendingClause]
    ) -> list[tuple[Expr, ...]] | None:
        """The smallest sets of conditions on a value that leave a later key, the tag, a constant.

        They are found by the tag: for each constant the value has to satisfy the clauses that it
        fails. near: the clauses that the value decides nothing of. None where more decides than the
        constants of one key, where any value will do, and for more than MAX_BY_TAG sets.
        """
        key = self._tag_of([*near, *(p.rest for p in pending)])
        values = None if key is None or self._matcher.is_bounded else self._listed_of(key)
        if key is None or values is None or any(p.universals for p in pending):
            return None
        fails: dict[Value | None, list[PendingClause]] = {value: [] for value in values}
        if key not in self._matcher.required:
            fails[ABSENT] = []
        for p in (*(PendingClause(clause) for clause in near), *pending):
            left = self._satisfying(p.rest, key, values)
            if left is None:
                return None
            for value in fails.keys() - left:
                fails[value].append(p)
        ways: dict[tuple[Expr, ...], None] = {}
        for failed in fails.values():
            satisfiers = [p.satisfiers for p in failed]
            if not failed or prod(map(len, satisfiers)) > MAX_BY_TAG - len(ways):
                return None
            ways.update((tuple(dict.fromkeys(way)), None) for way in product(*satisfiers))
        return _smallest(ways)

    def _tag_of(self, clauses: Iterable[Clause]) -> str | None:
        """The one key that clauses are about which leaving keys out does not satisfy."""
        found: set[str | None] = set()
        for clause in clauses:
            if not self.omissions[clause]:
                found.update((None,) if clause.by_pattern else clause.by_key)
            if len(found) > 1:
                return None
        return next(iter(found), None)

    def _satisfying(
        self, clause: Clause, key: str, values: frozenset[Value]
    ) -> frozenset[Value | None] | None:
        """The values of a key that satisfy a clause, or leave it to others; None if it is unknown.

        ABSENT among them: whether the key may be left out.
        """
        omissions = self.omissions[clause]
        if not omissions <= {key}:
            return values | {ABSENT}
        if clause.by_pattern or clause.by_key.keys() - {key}:
            return None
        fitting = [self._among(key, literal.child, values) for literal in clause]
        if None in fitting:
            return None
        absent = (ABSENT,) if omissions else ()
        return frozenset(absent).union(*(some for some in fitting if some is not None))

    def common_tag(self, clauses: Collection[Clause], after: Progress) -> Tag | None:
        """The key with listed values, still to come, that most of some clauses are about."""
        matcher = self._matcher
        counts = Counter(key for clause in clauses for key in clause.by_key)
        for key, count in counts.most_common(1):
            read = matcher.position(key) < after.position if matcher.declared else key in after.seen
            values = self._listed_of(key)
            if not read and isinstance(values, frozenset) and values and 2 * count > len(clauses):
                fitting = partial(self._among, key, values=values)
                required = key in matcher.required
                return Tag(key, values, self._costs, fitting, required=required)
        return None

    def _rests(self, clauses: Iterable[Clause], key: str) -> dict[Clause, list[Clause]]:
        """What is at worst left of clauses that `key` does not satisfy, and of which of them."""
        found: dict[Clause, list[Clause]] = {}
        for clause in clauses:
            pending = self.pending(clause, key)
            if pending is not None:
                found.setdefault(pending.rest, []).append(clause)
        return found

    def _index_at(self, at: Progress) -> tuple[ClauseIndex, Allowed]:
        """The index of the open clauses, and the answers for what has been read."""
        if at is not self._last[0]:  # often many keys in turn are asked about one progress
            clauses = at.open_clauses
            index = self._indices.get(clauses)
            if index is None:
                index = self._indices[clauses] = ClauseIndex(clauses, self.omissions)
            read = at.position if self._matcher.declared else at.seen & clauses.names
            self._last = at, index, index.allowed.setdefault(read, {})
        return self._last[1:]

    def _unsatisfied(
        self, need_member: list[Clause], at: Progress, clauses: Iterable[Clause]
    ) -> tuple[list[Clause], set[str]]:
        """The clauses among `need_member` for which no member is found, and the members found.

        clauses: all that are open. Where members that are to come are all the omissions of one of
        these, it needs a member as well; if none is found, no optional member counts.
        """
        claimed: Claims = {}
        # those with least choice come first
        asked, left = self._asked_of_required(sorted(need_member, key=len), at)
        still = [clause for clause in left if not self._claim_member(clause, at, claimed)]
        if not claimed:
            return still, {*asked}
        omitting: dict[str, list[Clause]] = {}
        for clause in clauses:
            for key in self.omissions[clause]:
                omitting.setdefault(key, []).append(clause)
        todo = [*claimed]
        while todo:
            count = len(claimed)
            for clause in omitting.get(todo.pop(), ()):
                if self.omissions[clause] <= claimed.keys() and not (
                    self._satisfied_by_claimed(clause, claimed)
                    or self._satisfied_by_required(clause, at, asked)
                    or self._claim_member(clause, at, claimed)
                ):
                    return left, {*asked}
            todo += islice(reversed(claimed), len(claimed) - count)
        return still, asked.keys() | claimed.keys()

    def _asked_of_required(
        self, clauses: list[Clause], at: Progress
    ) -> tuple[Claims, list[Clause]]:
        """What clauses ask of values of required keys to come, and those that these do not satisfy.

        Mostly a value may fit all that is asked of it: that is looked at once, at the end.
        """
        asked, hoped = Claims(), set[str]()
        left = [c for c in clauses if not self._satisfied_by_required(c, at, asked, hoped)]
        if all(self._may_fit(key, asked[key]) for key in hoped):
            return asked, left
        asked = Claims()
        return asked, [c for c in clauses if not self._satisfied_by_required(c, at, asked)]

    def _satisfied_by_claimed(self, clause: Clause, claimed: Claims) -> bool:
        """Whether the value of a claimed member may be one that a `ForAll` about it asks for."""
        return any(
            self._claim_value(key, x.child, claimed)
            for key in self.omissions[clause]
            for x in (clause[i] for i in clause.by_key[key])
        )

    def _claim_member(self, clause: Clause, at: Progress, claimed: Claims) -> bool:
        """Whether an optional member still to come may satisfy a clause; notes it in `claimed`.

        claimed: by key, what the values of such members must fit for other clauses.
        """
        matcher = self._matcher
        for key, asked in self._candidates(clause):
            read = matcher.position(key) < at.position if matcher.declared else key in at.seen
            optional = key not in matcher.required and is_spellable(key)
            if not read and optional and self._claim_value(key, asked, claimed):
                return True
        return False

    def _candidates(self, clause: Clause) -> Iterator[tuple[str, Expr]]:
        """The members that would satisfy a clause, and what their values must fit for that.

        A name in a language of keys comes first: where it may not stand in another schema, it often
        satisfies the negation of that, and few have to be looked at.
        """
        names = self._matcher.names[:MAX_NAMES] if clause.by_pattern else ()
        for literal in (clause[i] for i in clause.by_pattern):
            if isinstance(literal, Exists):
                found = (name for name in names if matches_key(literal.keys, name))
                yield from ((name, literal.child) for name in found)
        for literal in clause:
            if isinstance(literal, Exists) and isinstance(literal.keys, str):
                yield literal.keys, literal.child

    def _value_may_satisfy(self, clause: Clause | None, key: str) -> bool:
        """Whether some value may come that satisfies a clause, or leaves omissions that do."""
        known = self._by_value.setdefault(key, {})
        if clause not in known:
            child = self._matcher.child(key)
            pending = None if clause is None else self.pending(clause, key)
            better = iter([(TRUE, None)]) if pending is None else pending.better()
            asked = [x for x, left in better if left is None or self.omissions[left.rest]]
            known[clause] = any(self._satisfiable(conjoin(child, x)) for x in asked)
        return known[clause]

    def _satisfied_by_required(
        self, clause: Clause, at: Progress, asked: Claims, hoped: set[str] | None = None
    ) -> bool:
        """Whether the value of some required key that is still to come may satisfy a clause.

        asked: by key, what such values must fit for other clauses; this one is added. hoped: see
        `_claim_value`.
        """
        matcher = self._matcher
        if clause not in self._required_literals:
            found = [(x.keys, x.child) for x in clause if isinstance(x.keys, str)]
            required = [(key, child) for key, child in found if key in matcher.required]
            # a value that must be none of some constants mostly has others left: these come first
            required.sort(key=lambda x: not all(atom.excluded_values for atom in x[1]))
            self._required_literals[clause] = required
        for key, child in self._required_literals[clause]:
            read = matcher.position(key) < at.position if matcher.declared else key in at.seen
            if not read and self._claim_value(key, child, asked, hoped):
                return True
        return False

    def _claim_value(
        self, key: str, child: Expr, asked: Claims, hoped: set[str] | None = None
    ) -> bool:
        """Whether the value of a key to come may fit `child` besides what is `asked` of it.

        If it is one of some constants these are narrowed down; else it is enough that it has only
        to be none of some values, and infinitely many others are possible. hoped: keys for which
        anything else is taken to be possible, and to be looked at later.
        """
        before = asked.get(key)
        values = self._listed_of(key) if before is None else before
        left = self._among(key, child, values) if isinstance(values, frozenset) else None
        if left is not None:
            if left:
                asked[key] = left
            return bool(left)
        if isinstance(before, frozenset):
            return False
        if all(atom.excluded_values for atom in child):
            if before is None and self._infinite(key):
                before = asked[key] = Exclusions()
            if isinstance(before, Exclusions):
                before.append(child)
                return True
        earlier = before if isinstance(before, Exclusions) else [before or TRUE]
        joined = conjoin(*earlier, child)
        if hoped is None and not self._may_fit(key, joined):
            return False
        if hoped is not None:
            hoped.add(key)
        asked[key] = joined
        return True

    def _may_fit(self, key: str, asked: Expr | frozenset[Value] | Exclusions) -> bool:
        """Whether some value of a key fits what is asked of it, if that is an expression."""
        if not isinstance(asked, tuple):
            return True
        claim = key, asked
        if claim not in self._by_value_asked:
            whole = conjoin(self._matcher.child(key), asked)
            self._by_value_asked[claim] = self._satisfiable(whole)
        return self._by_value_asked[claim]

    def _listed_of(self, key: str) -> Values:
        """The values that a key may have if they are constants, or few numbers; else None."""
        if key not in self._listed:
            child = self._matcher.child(key)
            own = self._fitting(child)
            constants = None if own is None or own.listed is None else own.among(own.listed)
            self._listed[key] = self._few_numbers(child) if own is None else constants
        return self._listed[key]

    def _among(self, key: str, expr: Expr, values: frozenset[Value]) -> frozenset[Value] | None:
        """Those of some values of a key that fit an expression; None if it is not seen easily."""
        fitting = self._fitting(expr)
        if fitting is not None:
            return fitting.among(values)
        if self._few_numbers(self._matcher.child(key)) is None:
            return None
        found = self._few_numbers(conjoin(self._matcher.child(key), expr))
        return None if found is None else values & found

    def _few_numbers(self, expr: Expr) -> frozenset[Value] | None:
        """The values that fit, if they are a few numbers between two ends."""
        if expr not in self._numbers:
            self._numbers[expr] = few_numbers(self._costs.normal_form_of(expr))
        return self._numbers[expr]

    def _fitting(self, expr: Expr) -> Fitting | None:
        """See `fitting_values`; found once for each expression."""
        if expr not in self._fittings:
            self._fittings[expr] = fitting_values(expr)
        return self._fittings[expr]

    def _infinite(self, key: str) -> bool:
        if key not in self._are_infinite:
            self._are_infinite[key] = self._surely_infinite(key)
        return self._are_infinite[key]


def _smallest(ways: Collection[tuple[Expr, ...]]) -> list[tuple[Expr, ...]]:
    """The sets of conditions that contain no other one."""
    alone = dict.fromkeys(way[0] for way in ways if len(way) == 1)
    several: list[tuple[Expr, ...]] = []
    for way in sorted((way for way in ways if alone.keys().isdisjoint(way)), key=len):
        if not any(frozenset(way).issuperset(other) for other in several):
            several.append(way)
    return [*((x,) for x in alone), *several]
