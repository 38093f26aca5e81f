"""`unevaluatedProperties` and `unevaluatedItems`, applied to all that the other keywords demand.

Every alternative is annotated with the keys and items that it evaluates. A value may fit several
alternatives at once, and then all their keys count as evaluated. To demand more alternatives at
once only evaluates more, so the union over all conjunctions of alternatives is exact (JSON Schema
core 2020-12, section 11). It is built by closing the set of alternatives under conjunctions that
evaluate more than their parts. Of many alternatives of objects there would be too many
conjunctions; they become clauses: a key must fit, or an alternative that evaluates it must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_

from structgen.regular.expressions.nodes import Alt
from structgen.regular.infinite import members
from structgen.regular.regex import ANY, Regex, complement, intersect, matches, words
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.normal_form.alternatives import (
    AltT,
    conjoin_arrays,
    conjoin_objects,
    simplified,
)
from structgen.schema.normal_form.combination import (
    Choice,
    Where,
    check_alternative_count,
    choices_of,
    clauses_of,
    distributed,
    product_of,
)
from structgen.schema.normal_form.expressions import TRUE, Expr
from structgen.schema.normal_form.forms import (
    ArrayAlt,
    Clause,
    ForAll,
    ObjectAlt,
    PropertyGroup,
)
from structgen.schema.normal_form.logic import are_tagged_apart
from structgen.schema.references.vocabularies import CLOSES
from structgen.util.cancellation import checkpoint

MAX_CLOSED = 4  # alternatives of objects whose conjunctions are listed
MAX_REGIONS = 64  # languages that patterns may cut the keys into


def unevaluated_properties(s: Subschema) -> None:
    """`unevaluatedProperties`: what members must fit that no other keyword evaluates.

    Where there are few alternatives each gets a `PropertyGroup` about the keys that are not
    evaluated in it; where there are many, clauses say when a key is evaluated.
    """
    _other_members(s, "unevaluatedProperties")


def closes(s: Subschema) -> None:
    """`CLOSES`: the same in drafts before 2019-09."""
    _other_members(s, CLOSES)


def _other_members(s: Subschema, keyword: str) -> None:
    child = s.child(s.schema[keyword], keyword)
    form = s.conjunction()
    if child == TRUE:
        choices = choices_of(form.objects)
    else:
        choices = _evaluated_by_clauses(choices_of(form.objects), child) or _evaluated_by_groups(
            tuple(form.objects), child, s.where(keyword)
        )
    marked = [tuple(replace(o, evaluated=ANY) for o in choice) for choice in choices]
    objects = product_of(tuple(marked), s.where(keyword))
    s.conjuncts = [replace(form, objects=objects)]


def _evaluated_by_groups(
    alternatives: Choice, child: Expr, location: Where
) -> tuple[tuple[ObjectAlt, ...]]:
    """One choice: a group about the keys not evaluated in each conjunction of alternatives."""
    objects = []
    covers_keys = _key_coverage(alternatives)
    for o in _closed_under_conjunction(tuple(alternatives), _both, covers_keys, location):
        groups = o.groups if o.evaluated is ANY else (*o.groups, _about_unevaluated(o, child))
        objects.append(replace(o, groups=groups))
    return (tuple(objects),)


def _both(a: ObjectAlt, b: ObjectAlt) -> ObjectAlt | None:
    """`conjoin_objects`, soon where a tag tells that it is empty."""
    return None if are_tagged_apart(a, b) else conjoin_objects(a, b)


def _about_unevaluated(o: ObjectAlt, child: Expr) -> PropertyGroup:
    """A group about the keys that an alternative does not evaluate.

    As `additionalProperties` makes it where they are all but names.
    """
    listed = members(o.evaluated)
    named = {name for group in o.groups for name in group.named}
    if listed is not None and named.issuperset(listed):
        return PropertyGroup(dict.fromkeys(listed, TRUE), additional=child)
    return PropertyGroup({}, ((complement(o.evaluated), child),))


def _evaluated_by_clauses(choices: tuple[Choice, ...], child: Expr) -> tuple[Choice, ...] | None:
    """The choices, and one alternative more: clauses, one or a few for each key.

    A key fits `child`, or an alternative holds that evaluates it. None if there are few choices, or
    clauses cannot say that.
    """
    if prod(map(len, choices)) <= MAX_CLOSED:
        return None
    regions = _regions([o.evaluated for choice in choices for o in choice])
    if regions is None:
        return None
    found: list[Clause] = []
    for keys, evaluating in regions:
        parts = [[Clause((ForAll(keys, child),))]]
        for choice in choices:
            holding = [o for o in choice if o.evaluated in evaluating]
            if len(holding) == len(choice):
                break  # one of them holds in any case
            said = [clauses_of(o) for o in choice]
            if None in said:
                return None
            listed = [frozenset(clauses or ()) for clauses in said]
            common = frozenset.intersection(*listed)
            parts += [
                [clause for clause in clauses or () if clause not in common]
                for o, clauses in zip(choice, said, strict=True)
                if o in holding
            ]
        else:
            joined = distributed(parts)
            if joined is None:
                return None
            found += joined
    clauses = simplified(ObjectAlt(clauses=tuple(dict.fromkeys(found))))
    return (*choices, () if clauses is None else (clauses,))


def _regions(evaluated: list[Regex]) -> Iterable[tuple[str | Regex, frozenset[Regex]]] | None:
    """Keys, or languages of them, each with all languages that they are in; None if too many."""
    languages = [*dict.fromkeys(evaluated)]
    lists = [members(language) for language in languages]
    names = sorted({name for listed in lists for name in listed or ()})
    parts: list[tuple[Regex, frozenset[Regex]]] = [(complement(words(names)), frozenset())]
    for language, listed in zip(languages, lists, strict=True):
        if listed is not None:
            continue
        halves = []
        for keys, inside in parts:
            halves.append((intersect(keys, language), inside | {language}))
            halves.append((intersect(keys, complement(language)), inside))
        parts = [(keys, inside) for keys, inside in halves if not keys.is_empty()]
        if len(parts) > MAX_REGIONS:
            return None
    listing: dict[str, list[Regex]] = {name: [] for name in names}
    unlisted = []
    for language, listed in zip(languages, lists, strict=True):
        for name in listed or ():
            listing[name].append(language)
        if listed is None:
            unlisted.append(language)
    for name, its in listing.items():
        its += [language for language in unlisted if matches(language, name)]
    return [*((name, frozenset(its)) for name, its in listing.items()), *parts]


def unevaluated_items(s: Subschema) -> None:
    """`unevaluatedItems`: what items must fit that no other keyword evaluates."""
    child = s.child(s.schema["unevaluatedItems"], "unevaluatedItems")
    form = s.conjunction()
    alternatives = form.arrays
    if child != TRUE:
        location = s.where("unevaluatedItems")
        alternatives = _closed_under_conjunction(
            alternatives, conjoin_arrays, _items_covered_by, location
        )
    arrays = []
    for a in alternatives:
        lists = a.lists
        if child != TRUE and a.evaluated is not None:
            tail = s.schemas.union((child, *a.evaluated_where))
            lists = (*lists, ((TRUE,) * a.evaluated, tail))
        arrays.append(replace(a, lists=lists, evaluated=None))
    s.conjuncts = [replace(form, arrays=tuple(arrays))]


def _key_coverage(
    alternatives: Choice,
) -> Callable[[Collection[ObjectAlt]], Callable[[ObjectAlt], bool]]:
    """A test whether some of these alternatives together evaluate all keys that another one does.

    Keys are cut into regions that all of them treat alike. Where these would be many, languages
    are compared as they stand: then some are not known to cover each other, which only lists more.
    """
    parts = {
        a: a.evaluated.parts if isinstance(a.evaluated, Alt) else (a.evaluated,)
        for a in alternatives
    }
    languages = [*dict.fromkeys(language for listed in parts.values() for language in listed)]
    regions = _regions(languages)
    bits = {language: 1 << at for at, language in enumerate(languages)}
    if regions is not None:
        bits = dict.fromkeys(languages, 0)
        for at, (_, inside) in enumerate(regions):
            for language in inside:
                bits[language] |= 1 << at
    every = -1 if ANY in bits else 0
    keys = {
        a: every if ANY in listed else _joined(bits[x] for x in listed)
        for a, listed in parts.items()
    }

    def covered_by(some: Collection[ObjectAlt]) -> Callable[[ObjectAlt], bool]:
        others = ~_joined(keys[a] for a in some)
        return lambda other: not keys[other] & others

    return covered_by


def _joined(sets: Iterable[int]) -> int:
    """The union of sets of bits."""
    return reduce(or_, sets, 0)


def _items_covered_by(some: Collection[ArrayAlt]) -> Callable[[ArrayAlt], bool]:
    """A test whether some alternatives together evaluate all items that another one does."""
    every = any(a.evaluated is None for a in some)
    count = max(a.evaluated or 0 for a in some)
    where = {child for a in some for child in a.evaluated_where}

    def covered(other: ArrayAlt) -> bool:
        enough = other.evaluated is not None and count >= other.evaluated
        return every or (enough and where.issuperset(other.evaluated_where))

    return covered


def _closed_under_conjunction(
    alternatives: tuple[AltT, ...],
    merge: Callable[[AltT, AltT], AltT | None],
    covered_by: Callable[[Collection[AltT]], Callable[[AltT], bool]],
    location: Where,
) -> tuple[AltT, ...]:
    """All alternatives, and all conjunctions of them that evaluate more than their parts."""
    found = dict.fromkeys(alternatives)
    sets = {frozenset((a,)) for a in alternatives}
    todo = [(a, frozenset((a,))) for a in alternatives]
    while todo:
        merged, parts = todo.pop()
        checkpoint(1 + len(alternatives) // 16)
        covered = covered_by(parts)
        for other in alternatives:
            bigger = parts | {other}
            if bigger in sets or covered(other):
                continue
            sets.add(bigger)
            more = merge(merged, other)
            if more is not None and more not in found:
                found[more] = None
                todo.append((more, bigger))
                check_alternative_count(len(found), location)
    return tuple(found)
