"""The state of an open object or array: what has been read of it, and how it may go on.

A matcher (`schema.objects.matcher`, `schema.arrays.matcher`) is the automaton of one alternative of
a normal form. Its states are *progresses*, its edges `Transition`s: one for each way to read the
next key, or item. The progress of an array is a number of items, or an `ItemProgress`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from structgen.schema.normal_form.clause_groups import Clauses
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import Clause, ForAll
from structgen.util.cached import CachedHash

#: Fewest bytes of a value that fits an expression, None if there is none.
CostOf = Callable[[Expr], int | None]


class PendingClause(NamedTuple):
    """A clause on which the value that is being read has an influence.

    rest: the literals that the value does not decide; satisfiers: the clause is satisfied if the
    value fits one of these (its literals about the name, and `Exists` about languages that it is
    in); universals: `ForAll` literals about such languages, which stay if the value fits.
    """

    rest: Clause
    satisfiers: tuple[Expr, ...] = ()
    universals: tuple[ForAll, ...] = ()

    def observed(self) -> tuple[Expr, ...]:
        """The expressions that the value is matched against, in the order that `resolved` takes."""
        return (*self.satisfiers, *(literal.child for literal in self.universals))

    def resolved(self, fits: tuple[bool, ...]) -> Clause | None:
        """What is left of the clause when it is known which of `observed` the value fits.

        None if it is satisfied, () if it has failed.
        """
        if any(fits[: len(self.satisfiers)]):
            return None
        flags = fits[len(self.satisfiers) :]
        kept = [literal for literal, ok in zip(self.universals, flags, strict=True) if ok]
        return Clause((*self.rest, *kept)) if kept else self.rest

    def better(self) -> Iterator[tuple[Expr, PendingClause | None]]:
        """The outcomes one step better than `rest` alone, each with what the value must fit."""
        for satisfier in self.satisfiers:
            yield satisfier, None
        for i, literal in enumerate(self.universals):
            others = (*self.universals[:i], *self.universals[i + 1 :])
            yield (
                literal.child,
                self._replace(rest=Clause((*self.rest, literal)), universals=others),
            )


class _ObjectProgress(NamedTuple):
    position: int = 0
    seen: frozenset[str] = frozenset()
    members_read: int = 0
    open_clauses: Clauses = Clauses()
    pending: tuple[PendingClause, ...] = ()
    failed: frozenset[int] = frozenset()


class Progress(CachedHash, _ObjectProgress):
    """What has been read of an object, as far as it matters for what may follow.

    position: index of the next name in declared order; 0 throughout where any order is allowed.
    seen: the keys read; in declared order only those without a name. members_read: how many, kept
    only where their number is bounded. open_clauses: the clauses that still have to be satisfied,
    with the literals that can still hold. pending: those that the value being read decides. failed:
    the branches that can't hold any more, of those that are counted (see `objects.counting`).
    """

    def with_open_clauses(self, clauses: Iterable[Clause]) -> Progress:
        """The same with other open clauses, none pending; faster than `_replace`."""
        known = clauses if isinstance(clauses, Clauses) else Clauses(clauses)
        return Progress(self.position, self.seen, self.members_read, known)


class Transition(NamedTuple):
    """One way to go on with a key or an item.

    child: what the value must fit. after: the progress then. observed: expressions, each a special
    case of `child`, of which the matcher has to know afterwards whether the value fits them.
    """

    child: Expr
    after: Any
    observed: tuple[Expr, ...] = ()


class Remaining(NamedTuple):
    """Required members that are still to come: how many, their bytes, those of the largest."""

    number: int = 0
    total: int = 0
    largest: int = 0

    def plus(self, size: int) -> Remaining:
        """One more."""
        return Remaining(self.number + 1, self.total + size, max(self.largest, size))


def closing_cost(count: int, total: int, opened: bool, gap: int) -> int:
    """Bytes of `count` members or items of `total` bytes, with commas, gaps and the bracket.

    opened: whether the container has just been opened, so that no comma stands before the first.
    """
    return total + count * (1 + gap) - (opened and count > 0) + gap + 1
