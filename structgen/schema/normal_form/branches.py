"""Branches of `oneOf` of which exactly one is to hold, where keys of their own tell them apart.

As alternatives, each branch says of all others that they do not hold: work and memory grow with the
square of their number. Here they stay as they are, and while an object is read it is noted which of
them have failed (`objects.counting`). Whether exactly one can hold in the end is easy to see where

- all branches ask the same of a key (it is *common*), or
- one branch asks something of it, or some ask the same of its value (it is their *own*), or
- all require it, and its value says which branches may hold, like a tag (it *decides*): one key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import NamedTuple

from structgen.regular.numbers.set_operations import told_apart_alike
from structgen.regular.regex import EMPTY, Regex
from structgen.schema.normal_form.alternatives import conjoin_objects
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin
from structgen.schema.normal_form.forms import NormalForm, ObjectAlt, PropertyGroup, names_of

MAX_KINDS = 8  # of numbers that the key that decides may have
Peek = Callable[[Expr], NormalForm | None]  # the normal form, None while it is being made


class Branch(NamedTuple):
    """What one branch asks of its own keys, which must come, what of the key that decides."""

    own: Mapping[str, Expr]
    required: frozenset[str]
    decided_by: Expr = TRUE


class Branches(NamedTuple):
    """Some branches: what holds in any case, and the key that decides, if there is one.

    order: all names in declared order; none where any order is allowed.
    """

    common: ObjectAlt
    branches: tuple[Branch, ...]
    deciding: str | None = None
    order: tuple[str, ...] = ()

    def in_declared_order(self, forms: Sequence[NormalForm]) -> Branches | None:
        """The same with an order in which the names of each branch have theirs; None if none is.

        Branches that only require keys declare none, and leave the order free.
        """
        if not any(group.named for form in forms for group in form.objects[0].groups):
            return self
        order: TopologicalSorter[str] = TopologicalSorter()
        for form in forms:
            names = names_of(form.objects[0])
            for name in names:
                order.add(name)
            for before, name in pairwise(names):
                order.add(name, before)
        try:
            return self._replace(order=tuple(order.static_order()))
        except CycleError:
            return None

    def within(self, o: ObjectAlt) -> Branches | None:
        """The same where an alternative must hold as well; None if they can't be counted then."""
        common = conjoin_objects(o, self.common)
        if common is None or common.clauses or common.least or common.most is not None:
            return None
        if common.evaluated is not EMPTY:
            return None
        own = chain.from_iterable(branch.own for branch in self.branches)
        return None if not set(common.required).isdisjoint(own) else self._replace(common=common)

    def each(self) -> Iterator[ObjectAlt]:
        """Each branch with what must hold in any case, but not that the others fail."""
        for branch in self.branches:
            named = dict(branch.own)
            if self.deciding is not None:
                named[self.deciding] = branch.decided_by
            groups = (*self.common.groups, PropertyGroup(named))
            required = (*self.common.required, *sorted(branch.required))
            yield replace(self.common, groups=groups, required=required)

    def expressions(self) -> Iterator[Expr]:
        """What branches ask of values of their own keys, and of the key that decides."""
        for branch in self.branches:
            yield from branch.own.values()
            yield branch.decided_by


class _Asked(NamedTuple):
    """What a branch asks of a key."""

    branch: int
    child: Expr
    required: bool


def told_apart(forms: Sequence[NormalForm], peek: Peek) -> Branches | None:
    """The branches as keys of their own tell them apart; None where they don't."""
    if any(form.has_more_than_objects for form in forms):
        return None
    by_key: dict[str, list[_Asked]] = {}
    for i, form in enumerate(forms):
        if not isinstance(form.objects, tuple) or len(form.objects) != 1:
            return None
        (o,) = form.objects
        if not _names_keys_only(o):
            return None
        for key, child in _named(o):
            by_key.setdefault(key, []).append(_Asked(i, child, key in o.required))
    own: list[dict[str, Expr]] = [{} for _ in forms]
    required: list[set[str]] = [set() for _ in forms]
    common: dict[str, Expr] = {}
    wanted: list[str] = []
    decided_by: list[Expr] = [TRUE] * len(forms)
    deciding: str | None = None
    for key, asked in by_key.items():
        first = asked[0]
        in_all = len(asked) == len(forms) and len({x.required for x in asked}) == 1
        if in_all and first.required:
            wanted.append(key)
        if not _are_same([x.child for x in asked], peek):
            if deciding is not None or not (in_all and first.required):
                return None
            if not _are_scalars(asked, peek):
                return None
            deciding, decided_by = key, _first_alike([x.child for x in asked], peek)
        elif in_all:
            common[key] = first.child
        else:
            for branch, _, is_required in asked:
                own[branch][key] = first.child
                if is_required:
                    required[branch].add(key)
    o = ObjectAlt((PropertyGroup(common),) * bool(common), tuple(wanted))
    parts = zip(own, map(frozenset, required), decided_by, strict=True)
    return Branches(o, tuple([Branch(*part) for part in parts]), deciding)


def _names_keys_only(o: ObjectAlt) -> bool:
    """Whether an alternative only says what some named members must fit, and which must come."""
    if o.clauses or o.least or o.most is not None or o.evaluated is not EMPTY:
        return False
    return all(group.is_by_name_only and group.additional == TRUE for group in o.groups)


def _named(o: ObjectAlt) -> Iterable[tuple[str, Expr]]:
    """The keys that an alternative asks something of, and what their values must fit."""
    found: dict[str, Expr] = dict.fromkeys(o.required, TRUE)
    for group in o.groups:
        for key, child in group.named.items():
            found[key] = conjoin(found.get(key, TRUE), child)
    return ((key, child) for key, child in found.items() if child != TRUE or key in o.required)


def _are_same(children: Sequence[Expr], peek: Peek) -> bool:
    """Whether expressions are equal, or have the same normal form."""
    distinct = [*dict.fromkeys(children)]
    if len(distinct) == 1:
        return True
    first = peek(distinct[0])
    return first is not None and all(peek(child) is first for child in distinct[1:])


def _first_alike(children: Sequence[Expr], peek: Peek) -> list[Expr]:
    """For each expression the first one with the same normal form."""
    firsts: dict[NormalForm | None, Expr] = {}
    return [firsts.setdefault(peek(child), child) for child in children]


def _are_scalars(asked: Sequence[_Asked], peek: Peek) -> bool:
    """Whether a value must be a scalar, with numbers of few kinds (see `numbers_apart`)."""
    forms = {child: peek(child) for child in dict.fromkeys(x.child for x in asked)}
    found = {child: form for child, form in forms.items() if form is not None}
    if len(found) < len(forms) or any(form.arrays or form.objects for form in found.values()):
        return False
    return len(numbers_apart(found)) <= MAX_KINDS


def numbers_apart(forms: Mapping[Expr, NormalForm]) -> dict[Expr, Regex]:
    """Some of the expressions, with the numbers that fit: one of all that are told apart alike.

    A text that is not among these numbers says little where it may be another spelling of one.
    """
    kinds: dict[Hashable, tuple[Expr, Regex]] = {}
    for expr, form in forms.items():
        kinds.setdefault(told_apart_alike(form.number), (expr, form.number))
    return dict(kinds.values())
