"""Decides whether, and how, the clauses of an object can still be satisfied.

An alternative of an object (`ObjectAlt`) is a conjunction, and part of it are *clauses* as in
conjunctive normal form: disjunctions of *literals*. A literal is a quantifier over members:
`Exists(keys, child)` - some member whose key is `keys`, or in that language, has a value that fits
`child` - and its dual `ForAll(keys, child)`. Clauses come from negation: `not` a conjunction of
properties is "one of them fails".

An object is read key by key, and the clauses that are still open are part of what is known of it
(`Progress.open_clauses`). What happens to a clause when a member comes:

1. Literals about other keys stay. Those about this key are decided by its value: one about the
   name satisfies the clause if the value fits and is dropped otherwise; of those about a language,
   an `Exists` that holds satisfies it, a `ForAll` that fails is dropped (`pending_clause`). While
   the value is being read its clauses are *pending*; the machine reads it against all expressions
   that decide (`PendingClause.observed`) at once, and afterwards drops what failed
   (`PendingClause.resolved`).
2. At the closing brace a clause holds if a `ForAll` is left in it: no further member comes.

A key may be offered only if all clauses can still be satisfied. That is a satisfiability problem,
solved by backtracking (`completions`): choose one literal of each clause, the clause with fewest
choices first, so that all hold together in an `Assignment` of expressions to the keys that may
still come. Different `Exists` may share a member or take a key each; keys without a name of their
own are represented by a few fresh keys of each key class. Clauses that share no keys are searched
apart, unless members are counted. `QuickCheck` answers "yes" for nearly all objects
without that search; it never says yes where the search says no.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from structgen.errors import BudgetError
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin, contradictory, implied
from structgen.schema.normal_form.forms import Clause, Exists, ForAll, Literal
from structgen.schema.normal_form.logic import matches_key
from structgen.schema.normal_form.progress import CostOf, PendingClause
from structgen.util.cancellation import checkpoint

MAX_TRIES = 5000  # assignments extended until the first way to finish an object is found
LATER_TRIES = 500  # the same where a way to finish it without the next member is known


# -- what a member does to a clause -------------------------------------------------------------


def literals_about(clause: Clause, key: str) -> list[int]:
    """The indices of the literals of a clause that are about a key."""
    by_pattern = (i for i in clause.by_pattern if matches_key(clause[i].keys, key))
    return [*clause.by_key.get(key, ()), *by_pattern]


def pending_clause(clause: Clause, key: str, child: Expr) -> PendingClause | None:
    """The clause while the value of `key`, which fits `child`, is read; None if that satisfies it.

    Literals that `child` already implies or contradicts are decided here; the others wait for the
    value.
    """
    about_key = literals_about(clause, key)
    if not about_key:
        return PendingClause(clause)
    for literal in (clause[i] for i in about_key):
        if _is_decided(literal) and implied(child, literal.child):
            return None
    rest: list[Literal] = []
    satisfiers: dict[Expr, None] = {}
    universals: list[ForAll] = []
    for i, literal in enumerate(clause):
        if i not in about_key:
            rest.append(literal)
            continue
        possible = not contradictory(conjoin(child, literal.child))
        if _is_decided(literal):
            if possible:
                satisfiers[literal.child] = None
            if not isinstance(literal.keys, str):
                rest.append(literal)  # a later member may hold it
        elif possible and implied(child, literal.child):
            rest.append(literal)
        elif possible and isinstance(literal, ForAll):
            universals.append(literal)
    left = clause if len(rest) == len(clause) else Clause(rest)
    return PendingClause(left, tuple(satisfiers), tuple(universals))


def _is_decided(literal: Literal) -> bool:
    """Whether one member that fits makes a literal hold: no other member has the same name."""
    return isinstance(literal, Exists) or isinstance(literal.keys, str)


# -- the search for a way to finish -------------------------------------------------------------


class Slot(NamedTuple):
    """A key that may still come, what its value must fit, and whether it has to come."""

    key: str
    child: Expr
    required: bool


#: by the key of members that may complete an object, their bytes
Sizes = dict[str, int]
#: the bytes of a member, from its key and the cost of its value
SizeOf = Callable[[str, int | None], int | None]


class Assignment(NamedTuple):
    """One literal chosen for each of some clauses, as what it asks of the members to come.

    claims: by key of the members that `Exists` literals ask for, what these must fit besides;
    by_name, by_pattern: what `ForAll` literals ask of members if they come. chosen: the literals.
    asks: all that is asked, as a set that is equal however it has come to that.
    """

    slots: dict[str, Slot]
    claims: dict[str, Expr]
    by_name: dict[str, Expr]
    by_pattern: tuple[ForAll, ...]
    chosen: tuple[Literal, ...] = ()
    asks: frozenset[Hashable] = frozenset()

    @classmethod
    def empty(cls, slots: Iterable[Slot]) -> Assignment:
        """The assignment before any literal has been chosen."""
        return cls({slot.key: slot for slot in slots}, {}, {}, ())

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        more = (x.child for x in self.by_pattern if matches_key(x.keys, key))
        by_name = self.by_name.get(key, TRUE)
        return conjoin(self.slots[key].child, self.claims.get(key, TRUE), by_name, *more)

    def claiming(self, key: str, child: Expr) -> Assignment:
        """The same with a member that must come, and fit `child` besides."""
        claims = self.claims | {key: conjoin(self.claims.get(key, TRUE), child)}
        asks = self.asks.union((key, atom) for atom in (None, *child))
        return self._replace(claims=claims, asks=asks)

    def with_universal(self, literal: ForAll) -> Assignment:
        """The same with a `ForAll` that holds."""
        asks = self.asks | {literal}
        if not isinstance(literal.keys, str):
            return self._replace(by_pattern=(*self.by_pattern, literal), asks=asks)
        child = conjoin(self.by_name.get(literal.keys, TRUE), literal.child)
        return self._replace(by_name=self.by_name | {literal.keys: child}, asks=asks)

    def implies(self, literal: Literal) -> bool:
        """Whether a literal about a name holds because of what the assignment asks."""
        key = literal.keys
        if not isinstance(key, str) or key not in self.slots:
            return False
        comes = key in self.claims or self.slots[key].required
        return (comes or isinstance(literal, ForAll)) and implied(self.child(key), literal.child)


def completions(
    clauses: tuple[Clause, ...],
    slots: list[Slot],
    cost_of: CostOf,
    fill: Callable[[Assignment], Sizes | None],
    most: int | None = None,
    likely: Container[Literal] = (),
    tries: int = MAX_TRIES,
    size_of: SizeOf | None = None,
) -> Iterator[Sizes]:
    """Search for the ways to satisfy all clauses: what `fill` makes of each full assignment.

    fill: sizes of the members still to come, in bytes; None if the assignment cannot be used after
    all. most: how many members may still come, None for any number. likely: literals that
    are tried first. Raises BudgetError after so many `tries`, extensions that have led to nothing.
    size_of: of the choices for a clause those that add least are tried first then.
    """
    if any(cost_of(slot.child) is None for slot in slots if slot.required):
        return
    required = {slot.key for slot in slots if slot.required}
    none = Assignment.empty(slots)
    choices = [(len(list(_extensions(clause, none, cost_of))), clause) for clause in clauses]
    if any(count == 0 for count, _ in choices):
        return
    ordered = [clause for _, clause in sorted(choices, key=_first)]  # most constrained first
    found = False
    stack = [(0, none)]  # depth-first, without recursion
    seen: set[tuple[int, Hashable]] = set()
    while stack:
        checkpoint()
        done, assignment = stack.pop()
        if done == len(ordered):
            sizes = fill(assignment)
            if sizes is not None:
                found = True
                yield sizes
            continue
        if (done, assignment.asks) in seen:
            continue
        seen.add((done, assignment.asks))
        if any(assignment.implies(literal) for literal in ordered[done]):
            stack.append((done + 1, assignment))
            continue
        literals = sorted(ordered[done], key=lambda x: x not in likely)
        options = list(_extensions(literals, assignment, cost_of))
        if most is not None:
            options = [o for o in options if len(required.union(o.claims)) <= most]
        if size_of is not None:
            options.sort(key=partial(_added, assignment, cost_of, size_of))
        stack += ((done + 1, option) for option in reversed(options))  # the first comes first
        tries -= 1
        if tries < 0:
            if found:
                return
            raise BudgetError(
                f"deciding how an object can go on takes more than {MAX_TRIES} steps",
                hint="negate fewer schemas of the same object at once",
            )


def greedily_completes(
    clauses: tuple[Clause, ...],
    slots: list[Slot],
    cost_of: CostOf,
    fill: Callable[[Assignment], Sizes | None],
) -> bool:
    """Whether the first possible literal of each clause makes a completion, as it mostly does."""
    assignment: Assignment | None = Assignment.empty(slots)
    for clause in clauses:
        assignment = assignment and next(_extensions(clause, assignment, cost_of), None)
    return assignment is not None and fill(assignment) is not None


def _first(pair: tuple[int, Clause]) -> int:
    return pair[0]


def _added(
    before: Assignment,
    cost_of: CostOf,
    size_of: SizeOf,
    after: Assignment,
) -> int:
    """The bytes that the members claimed for one more literal add."""
    added = 0
    for key, claim in after.claims.items():
        if before.claims.get(key) is not claim:
            comes = key in before.claims or before.slots[key].required
            known = cost_of(before.child(key)) if comes else None
            cost = cost_of(after.child(key)) or 0
            added += cost - known if known is not None else size_of(key, cost) or 0
    return added


def _extensions(
    literals: Iterable[Literal], assignment: Assignment, cost_of: CostOf
) -> Iterator[Assignment]:
    """The assignments in which one literal of a clause holds as well."""
    for literal in literals:
        for after, keys in _with_literal(literal, assignment):
            if all(cost_of(after.child(key)) is not None for key in keys):
                yield after._replace(chosen=(*assignment.chosen, literal))


def _with_literal(
    literal: Literal, assignment: Assignment
) -> Iterator[tuple[Assignment, list[str]]]:
    """The ways to let a literal hold as well, and the keys whose children have to be looked at."""
    slots, claims = assignment.slots, assignment.claims
    if isinstance(literal, ForAll):
        if isinstance(literal.keys, str):
            key = literal.keys
            # an optional key that cannot fit any more is left out
            touched = [key] if key in claims or (key in slots and slots[key].required) else []
        else:
            touched = [k for k, s in slots.items() if s.required or k in claims]
            touched = [key for key in touched if matches_key(literal.keys, key)]
        yield assignment.with_universal(literal), touched
        return
    keys = [literal.keys] if isinstance(literal.keys, str) else slots
    found = [key for key in keys if key in slots and matches_key(literal.keys, key)]
    # members that come in any case are tried first: they cost least
    for key in sorted(found, key=lambda k: (k not in claims, not slots[k].required)):
        yield assignment.claiming(key, literal.child), [key]
