"""In: an object under clauses, read in part. Out: the ways to finish it.

The search picks one literal per open clause so that all can hold together: members that are claimed
get keys of their own or share one, and what must hold of every member holds of those, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from structgen.errors import BudgetError
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin
from structgen.schema.normal_form.nodes import Clause, Every, Literal
from structgen.schema.normal_form.progress import CostOf
from structgen.schema.objects.clauses import fits

MAX_TRIES = 5000  # choices continued until the first way to finish an object is found


class Slot(NamedTuple):
    """A key that may still come, what its value must fit, and whether it has to come."""

    key: str
    child: Expr
    required: bool


class Choice(NamedTuple):
    """Literals chosen: what claimed members must fit besides, and what members must fit at all."""

    slots: dict[str, Slot]
    claims: dict[str, Expr]
    named: dict[str, Expr]
    every: tuple[Every, ...]  # of kinds of keys

    def child(self, key: str) -> Expr:
        """What the value of `key` must fit."""
        more = (x.child for x in self.every if fits(x.keys, key))
        named = self.named.get(key, TRUE)
        return conjoin(self.slots[key].child, self.claims.get(key, TRUE), named, *more)


def finished(
    clauses: tuple[Clause, ...],
    slots: list[Slot],
    cost_of: CostOf,
    fill: Callable[[Choice], list[int] | None],
    room: int | None = None,
) -> Iterator[list[int]]:
    """What `fill` makes of each choice of one literal per clause, where it makes anything of it.

    room: so many members may come at most; None for any number.
    """
    if any(cost_of(slot.child) is None for slot in slots if slot.required):
        return
    required = {slot.key for slot in slots if slot.required}
    none = Choice({slot.key: slot for slot in slots}, {}, {}, ())
    ways = [(len(list(_options(clause, none, cost_of))), clause) for clause in clauses]
    if any(count == 0 for count, _ in ways):
        return
    ordered = [clause for _, clause in sorted(ways, key=_first)]
    tries = 0
    found = False
    stack = [(0, none)]
    while stack:
        done, choice = stack.pop()
        if done == len(ordered):
            sizes = fill(choice)
            if sizes is not None:
                found = True
                yield sizes
            continue
        options = list(_options(ordered[done], choice, cost_of))
        if room is not None:
            options = [o for o in options if len(required.union(o.claims)) <= room]
        stack += ((done + 1, option) for option in reversed(options))  # the first comes first
        tries += 1
        if tries > MAX_TRIES:
            if found:
                return
            raise BudgetError(
                f"deciding how an object can go on takes more than {MAX_TRIES} steps",
                hint="negate fewer schemas of the same object at once",
            )


def finishes_plainly(
    clauses: tuple[Clause, ...],
    slots: list[Slot],
    cost_of: CostOf,
    fill: Callable[[Choice], list[int] | None],
) -> bool:
    """Whether the first literals that can hold are a way of `finished`, as they mostly are."""
    choice: Choice | None = Choice({slot.key: slot for slot in slots}, {}, {}, ())
    for clause in clauses:
        choice = choice and next(_options(clause, choice, cost_of), None)
    return choice is not None and fill(choice) is not None


def _first(pair: tuple[int, Clause]) -> int:
    return pair[0]


def _options(clause: Clause, choice: Choice, cost_of: CostOf) -> Iterator[Choice]:
    """The ways to let one literal of a clause hold as well."""
    for literal in clause:
        for after, keys in _held(literal, choice):
            if all(cost_of(after.child(key)) is not None for key in keys):
                yield after


def _held(literal: Literal, choice: Choice) -> Iterator[tuple[Choice, list[str]]]:
    """The ways to let a literal hold as well, and the keys that it says something new of."""
    slots, claims = choice.slots, choice.claims
    if isinstance(literal, Every):
        if isinstance(literal.keys, str):
            key = literal.keys
            child = conjoin(choice.named.get(key, TRUE), literal.child)
            after = choice._replace(named=choice.named | {key: child})
            needed = [key] if key in claims or (key in slots and slots[key].required) else []
        else:
            after = choice._replace(every=(*choice.every, literal))
            needed = [k for k, s in slots.items() if s.required or k in claims]
            needed = [key for key in needed if fits(literal.keys, key)]
        yield after, needed
        return
    keys = [literal.keys] if isinstance(literal.keys, str) else slots
    found = [key for key in keys if key in slots and fits(literal.keys, key)]
    for key in sorted(found, key=lambda k: (k not in claims, not slots[k].required)):
        claimed = conjoin(claims.get(key, TRUE), literal.child)
        yield choice._replace(claims=claims | {key: claimed}), [key]
