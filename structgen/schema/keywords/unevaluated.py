"""`unevaluatedProperties` and `unevaluatedItems`, applied to all that the other keywords demand.

Every alternative is annotated with the keys and items that it evaluates. A value may fit several
alternatives at once, and then all their keys count as evaluated. To demand more alternatives at
once only evaluates more, so the union over all conjunctions of alternatives is exact (JSON Schema
core 2020-12, section 11). It is built by closing the set of alternatives under conjunctions that
evaluate more than their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from structgen.regular.regex import ANY, complement
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.normal_form.alternatives import conjoin_arrays, conjoin_objects
from structgen.schema.normal_form.combination import check_alternative_count
from structgen.schema.normal_form.expressions import TRUE
from structgen.schema.normal_form.forms import (
    ArrayAlt,
    ObjectAlt,
    PropertyGroup,
)
from structgen.schema.normal_form.logic import covers


def unevaluated_properties(s: Subschema) -> None:
    """`unevaluatedProperties`: what members must fit that no other keyword evaluates.

    Adds to each alternative a `PropertyGroup` about the keys that are not evaluated in it.
    """
    child = s.child(s.schema["unevaluatedProperties"], "unevaluatedProperties")
    form = s.conjunction()
    alternatives = tuple(form.objects)
    if child != TRUE:
        location = s.at("unevaluatedProperties")
        alternatives = _closed_under_conjunction(
            alternatives, conjoin_objects, _evaluates_keys, location
        )
    objects = []
    for o in alternatives:
        groups = o.groups
        if child != TRUE and o.evaluated is not ANY:
            groups = (*groups, PropertyGroup({}, ((complement(o.evaluated), child),)))
        objects.append(replace(o, groups=groups, evaluated=ANY))
    s.conjuncts = [replace(form, objects=tuple(objects))]


def unevaluated_items(s: Subschema) -> None:
    """`unevaluatedItems`: what items must fit that no other keyword evaluates."""
    child = s.child(s.schema["unevaluatedItems"], "unevaluatedItems")
    form = s.conjunction()
    alternatives = form.arrays
    if child != TRUE:
        location = s.at("unevaluatedItems")
        alternatives = _closed_under_conjunction(
            alternatives, conjoin_arrays, _evaluates_items, location
        )
    arrays = []
    for a in alternatives:
        lists = a.lists
        if child != TRUE and a.evaluated is not None:
            tail = s.schemas.union((child, *a.evaluated_where))
            lists = (*lists, ((TRUE,) * a.evaluated, tail))
        arrays.append(replace(a, lists=lists, evaluated=None))
    s.conjuncts = [replace(form, arrays=tuple(arrays))]


AltT = TypeVar("AltT", ArrayAlt, ObjectAlt)


def _evaluates_keys(a: ObjectAlt, b: ObjectAlt) -> bool:
    """Whether `a` evaluates all keys that `b` evaluates."""
    return covers(a.evaluated, b.evaluated)


def _evaluates_items(a: ArrayAlt, b: ArrayAlt) -> bool:
    """Whether `a` evaluates all items that `b` evaluates."""
    if a.evaluated is None:
        return True
    enough = b.evaluated is not None and a.evaluated >= b.evaluated
    return enough and set(b.evaluated_where) <= set(a.evaluated_where)


def _closed_under_conjunction(
    alternatives: tuple[AltT, ...],
    merge: Callable[[AltT, AltT], AltT | None],
    covers_all: Callable[[AltT, AltT], bool],
    location: str,
) -> tuple[AltT, ...]:
    """All alternatives, and all conjunctions of them that evaluate more than their parts."""
    found = list(alternatives)
    sets = {frozenset((a,)) for a in alternatives}
    todo = [(a, frozenset((a,))) for a in alternatives]
    while todo:
        merged, parts = todo.pop()
        for other in alternatives:
            bigger = parts | {other}
            if bigger in sets or covers_all(merged, other):
                continue
            sets.add(bigger)
            more = merge(merged, other)
            if more is not None:
                found.append(more)
                todo.append((more, bigger))
                check_alternative_count(len(found), location)
    return tuple(found)
