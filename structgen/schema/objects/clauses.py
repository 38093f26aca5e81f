"""In: a clause and a member's key. Out: what its value may settle, and what is left of the clause.

The outcomes for one clause are ordered: at worst all that this value could hold fails, at best the
clause is settled. Each outcome above the worst asks that the value fits something more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from structgen.regular.regex import ANY, Regex, matches
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin, contradictory, implied
from structgen.schema.normal_form.nodes import Clause, Every, Literal, Member, ObjectAlt


class Pending(NamedTuple):
    """A clause about which a value decides that is being read.

    rest: what holds or may hold whatever the value is; closers: if the value fits one of these, the
    clause is settled; every: these stay if the value fits their child.
    """

    rest: Clause
    closers: tuple[Expr, ...] = ()
    every: tuple[Every, ...] = ()

    def asked(self) -> tuple[Expr, ...]:
        """What is to be known of the value, in the order in which `settled` takes it."""
        return (*self.closers, *(literal.child for literal in self.every))

    def settled(self, known: tuple[bool, ...]) -> Clause | None:
        """What is left of the clause, None if it is settled; () if it has failed."""
        if any(known[: len(self.closers)]):
            return None
        flags = known[len(self.closers) :]
        kept = [x for x, fits_ in zip(self.every, flags, strict=True) if fits_]
        return Clause((*self.rest, *kept)) if kept else self.rest

    def better(self) -> Iterator[tuple[Expr, Pending | None]]:
        """Each outcome one step above the worst, and what it asks of the value."""
        for closer in self.closers:
            yield closer, None
        for i, literal in enumerate(self.every):
            others = (*self.every[:i], *self.every[i + 1 :])
            yield literal.child, self._replace(rest=Clause((*self.rest, literal)), every=others)


def fits(keys: str | Regex, key: str) -> bool:
    """Whether `key` is the one meant, or one of those."""
    return keys == key if isinstance(keys, str) else _matches(keys, key)


@lru_cache(maxsize=1 << 16)
def _matches(keys: Regex, key: str) -> bool:
    return matches(keys, key)


def pending(clause: Clause, key: str, child: Expr) -> Pending | None:
    """The clause when `key` comes with a value that fits `child`; None if that settles it."""
    concerned = concerned_by(clause, key)
    if not concerned:
        return Pending(clause)
    for i in concerned:
        literal = clause[i]
        if isinstance(literal, Member) and implied(child, literal.child):
            return None
    rest: list[Literal] = []
    closers: dict[Expr, None] = {}
    every: list[Every] = []
    for i, literal in enumerate(clause):
        if i not in concerned:
            rest.append(literal)
            continue
        possible = not contradictory(conjoin(child, literal.child))
        if isinstance(literal, Member):
            if possible:
                closers[literal.child] = None
            if not isinstance(literal.keys, str):
                rest.append(literal)  # a later member may hold it
        elif possible and implied(child, literal.child):
            rest.append(literal)
        elif possible:
            every.append(literal)
    left = clause if len(rest) == len(clause) else Clause(rest)
    return Pending(left, tuple(closers), tuple(every))


def concerned_by(clause: Clause, key: str) -> list[int]:
    """The places of the literals that say something of a key."""
    kinds = (i for i in clause.by_kind if fits(clause[i].keys, key))
    return [*clause.by_key.get(key, ()), *kinds]


def clauses_of(o: ObjectAlt) -> list[Clause] | None:
    """Clauses that say together what an alternative says; None if it says more than they can."""
    plain = all(group.rest == TRUE and group.keys is ANY for group in o.groups)
    if not plain or o.least or o.most is not None:
        return None
    found: list[Clause] = [Clause((Member(key, TRUE),)) for key in o.required]
    for group in o.groups:
        said: list[tuple[str | Regex, Expr]] = [*group.named.items(), *group.patterns]
        found += (Clause((Every(keys, child),)) for keys, child in said if child != TRUE)
    return [*found, *o.clauses]
