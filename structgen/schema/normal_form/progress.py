"""In: nothing. Out: what is known of an open object or array: what was read, what may come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.nodes import Clause
from structgen.util.cached import HashedOnce

if TYPE_CHECKING:
    from structgen.schema.objects.clauses import Pending

CostOf = Callable[[Expr], int | None]


class _Read(NamedTuple):
    position: int = 0
    seen: frozenset[str] = frozenset()
    taken: int = 0
    wanted: tuple[Clause, ...] = ()
    pending: tuple[Pending, ...] = ()


class Progress(HashedOnce, _Read):
    """What has been read of an object: how far down the declared order, which keys, how many.

    In any order `position` stays 0 and `seen` has all keys; in declared order `seen` has only the
    keys that are not declared. `taken` stays 0 where no bound needs it. `wanted` has the numbers of
    the clauses that are still open, and what they may still be settled by; `pending` those that the
    value being read has a say in.
    """


class Take(NamedTuple):
    """One way to go on with a key or an item.

    child: what the value must fit; after: the progress then; asked: what else is to be known of the
    value when it has been read. Each of these is a narrower case of `child`.
    """

    child: Expr
    after: Any
    asked: tuple[Expr, ...] = ()


class Left(NamedTuple):
    """Required members that are still to come: how many, their bytes, those of the largest."""

    number: int = 0
    total: int = 0
    largest: int = 0

    def and_one(self, size: int) -> Left:
        """One more."""
        return Left(self.number + 1, self.total + size, max(self.largest, size))


def closing(count: int, total: int, opened: bool, gap: int) -> int:
    """Bytes of members with their commas and gaps, and of the closing bracket."""
    return total + count * (1 + gap) - (opened and count > 0) + gap + 1
