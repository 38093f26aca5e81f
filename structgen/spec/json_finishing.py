"""In: an object under clauses, read in part. Out: the ways to finish it.

The search picks one literal per open clause so that all can hold together: members that are claimed
get keys of their own or share one, and what must hold of every member holds of those, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from structgen.errors import BudgetError
from structgen.spec.json_clauses import fits
from structgen.spec.json_exprs import TRUE, Expr, conjoin
from structgen.spec.json_nodes import Clause, Every, Literal
from structgen.spec.json_plans import CostOf

MAX_TRIES = 20_000  # literals tried until the first way to finish an object is found


class Slot(NamedTuple):
    """A key that may still come, what its value must fit, and whether it has to come."""

    key: str
    child: Expr
    required: bool


class Choice(NamedTuple):
    """Literals chosen: what claimed members must fit besides, and what all members must."""

    slots: dict[str, Slot]
    claims: dict[str, Expr]
    every: tuple[Every, ...]

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        more = (x.child for x in self.every if fits(x.keys, key))
        return conjoin(self.slots[key].child, self.claims.get(key, TRUE), *more)


def choices(clauses: tuple[Clause, ...], slots: list[Slot], cost_of: CostOf) -> Iterator[Choice]:
    """The choices of one literal per clause for which every claimed member has a value."""
    ordered = sorted(clauses, key=len)
    tries = 0
    found = False
    stack = [(0, Choice({slot.key: slot for slot in slots}, {}, ()))]
    while stack:
        done, choice = stack.pop()
        if done == len(ordered):
            found = True
            yield choice
            continue
        options = [
            (done + 1, after)
            for literal in ordered[done]
            for after in _held(literal, choice)
            if all(cost_of(after.child(key)) is not None for key in after.claims)
        ]
        stack += reversed(options)  # the first literal is tried first
        tries += len(options)
        if tries > MAX_TRIES and not found:
            raise BudgetError(
                f"deciding how an object can go on takes more than {MAX_TRIES} steps",
                hint="negate fewer schemas of the same object at once",
            )


def _held(literal: Literal, choice: Choice) -> Iterator[Choice]:
    """The ways to let a literal hold as well; those without new members first."""
    slots, claims = choice.slots, choice.claims
    if isinstance(literal, Every):
        meant = {k: TRUE for k, s in slots.items() if s.required and fits(literal.keys, k)}
        yield choice._replace(claims=meant | claims, every=(*choice.every, literal))
        return
    keys = [literal.keys] if isinstance(literal.keys, str) else slots
    found = [key for key in keys if key in slots and fits(literal.keys, key)]
    for key in sorted(found, key=lambda k: (k not in claims, not slots[k].required)):
        claimed = conjoin(claims.get(key, TRUE), literal.child)
        yield choice._replace(claims=claims | {key: claimed})
