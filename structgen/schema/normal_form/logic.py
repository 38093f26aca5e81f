"""Negation of normal forms by De Morgan's laws, and a test whether two of them are disjoint.

Every obligation has a dual: not all items fit / some item does not; not `minItems` n / `maxItems`
n - 1; not unique / repeated; not required / absent. So the negation of a conjunction is the union
of the duals, and the negation of a union the conjunction of the negations. For an object that union
is mostly one clause (see `forms.Clause`), so that negating it does not multiply alternatives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product

from structgen.regular.infinite import members
from structgen.regular.numbers.set_operations import number_complement, number_intersection
from structgen.regular.regex import (
    ANY,
    EMPTY,
    Regex,
    alt,
    complement,
    intersect,
    matches,
    words,
)
from structgen.schema.normal_form.alternatives import simplified, without_subsumed
from structgen.schema.normal_form.combination import (
    ExactlyOne,
    Where,
    check_alternative_count,
    choices_of,
    conjunction,
    product_of,
)
from structgen.schema.normal_form.expressions import (
    FALSE,
    TRUE,
    Expr,
    allowed,
    conjoin,
    contradictory,
)
from structgen.schema.normal_form.forms import (
    ANYTHING,
    NOTHING,
    ArrayAlt,
    Clause,
    Contains,
    Exists,
    ForAll,
    Literal,
    NormalForm,
    ObjectAlt,
    PropertyGroup,
)
from structgen.schema.values import Value
from structgen.util.cancellation import checkpoint

Negate = Callable[[Expr], Expr]  # gives the negation of an expression
MAX_TELLING = 8  # keys looked at to tell two alternatives apart
MAX_DEPTH = 4  # levels of children that are looked at to tell alternatives apart


def negated(
    form: NormalForm, negate: Negate, location: Where = str, telling: Collection[str] = ()
) -> NormalForm:
    """The normal form of the values that do not fit `form`.

    telling: keys whose values are known not to fit `form`, so that it is enough if one is there.
    Raises BudgetError, with this location, when it has too many alternatives.
    """
    if form is ANYTHING:
        return NOTHING
    if form is NOTHING:
        return ANYTHING
    choices = choices_of(form.objects)
    exclusive = [choice for choice in choices if isinstance(choice, ExactlyOne)]
    if exclusive:
        left = tuple([choice for choice in choices if not isinstance(choice, ExactlyOne)])
        rest = replace(form, objects=product_of(left, location) if left else ANYTHING.objects)
        result = negated(rest, negate, location, telling)
        objects = [*result.objects, *(o for choice in exclusive for o in choice.others())]
        check_alternative_count(len(objects), location)
        return replace(result, objects=without_subsumed(tuple(dict.fromkeys(objects))))
    result = NormalForm(
        not form.null,
        not form.true,
        not form.false,
        number_complement(form.number),
        complement(form.string),
        ANYTHING.arrays,
        ANYTHING.objects,
    )
    for array in form.arrays:
        parts = tuple(_not_array(array, negate))
        result = conjunction(result, replace(ANYTHING, arrays=parts), location)
    for object_ in form.objects:
        cases = tuple(_not_object(object_, negate, telling))
        result = conjunction(result, replace(ANYTHING, objects=cases), location)
    return result


def _not_array(a: ArrayAlt, negate: Negate) -> Iterator[ArrayAlt]:
    """The alternatives of arrays that break an obligation of `a`: one or two per obligation."""
    if a.least:
        yield ArrayAlt(most=a.least - 1)
    if a.most is not None:
        yield ArrayAlt(least=a.most + 1)
    for prefix, tail in a.lists:
        for i, child in enumerate(prefix):
            if child != TRUE:
                yield ArrayAlt((((TRUE,) * i + (negate(child),), TRUE),), least=i + 1)
        if tail == FALSE:
            yield ArrayAlt(least=len(prefix) + 1)
        elif tail != TRUE:
            yield array_containing(Contains(negate(tail), len(prefix)), negate)
    for c in a.contains:
        if c.least:
            yield array_containing(c._replace(least=0, most=c.least - 1), negate)
        if c.most is not None:
            yield array_containing(c._replace(least=c.most + 1, most=None), negate)
    if a.unique:
        yield ArrayAlt(repeated=True, least=2)
    if a.repeated:
        yield ArrayAlt(unique=True)


def array_containing(c: Contains, negate: Negate) -> ArrayAlt:
    """The alternative of the arrays in which so many items fit."""
    if c.most == 0:
        return ArrayAlt((((TRUE,) * c.start, negate(c.child)),))
    return ArrayAlt(contains=(c,), least=c.start + c.least if c.least else 0)


def _not_object(o: ObjectAlt, negate: Negate, telling: Collection[str]) -> Iterator[ObjectAlt]:
    """The alternatives of objects that break an obligation of `o`.

    One for each bound, one for each clause, and one for all other obligations together: the clause
    that one of these is broken.
    """
    if o.least:
        yield ObjectAlt(most=o.least - 1)
    if o.most is not None:
        yield ObjectAlt(least=o.most + 1)
    # a required key that must fit something is missing or does not fit: one literal
    broken: list[Literal] = [literal for group in o.groups for literal in _not_group(group, negate)]
    broken = [x._replace(child=TRUE) if x.keys in telling else x for x in broken]
    asked = {literal.keys for literal in broken}
    broken = [ForAll(*x) if x.keys in o.required else x for x in broken]
    broken += (ForAll(key, FALSE) for key in o.required if key not in asked)
    duals: list[tuple[Clause, ...]] = [
        tuple(Clause((dual,)) for dual in _duals(clause, negate)) for clause in o.clauses
    ]
    if broken:
        duals.append((Clause(broken),))
    for clauses in duals:
        found = simplified(ObjectAlt(clauses=clauses))
        if found is not None:
            yield found


def _duals(clause: Clause, negate: Negate) -> Iterator[Literal]:
    for literal in clause:
        dual = ForAll if isinstance(literal, Exists) else Exists
        yield dual(literal.keys, negate(literal.child))


def _not_group(group: PropertyGroup, negate: Negate) -> Iterator[Literal]:
    """The literals of which one holds where `group` does not: a member that it refuses."""
    yield from (Exists(k, negate(child)) for k, child in group.named.items() if child != TRUE)
    yield from (Exists(keys, negate(child)) for keys, child in group.patterns if child != TRUE)
    if group.additional != TRUE:
        listed = alt(words(group.named), *(keys for keys, _ in group.patterns))
        yield Exists(complement(listed), negate(group.additional))
    if group.names is not ANY:
        yield Exists(complement(group.names), TRUE)


# -- disjointness -------------------------------------------------------------------------------

#: The normal form of an expression, None while it is being made.
Peek = Callable[[Expr], NormalForm | None]


def overlapping(forms: Sequence[NormalForm], peek: Peek) -> list[list[int]]:
    """For each form, the indices of the others that it may have a value in common with."""
    found: list[list[int]] = [[] for _ in forms]
    if _are_tagged(forms):
        return found
    for i, j in _pairs(forms):
        checkpoint(j % 3 == 0)  # a third of a unit each
        if forms[i] is forms[j] or not disjoint(forms[i], forms[j], peek):
            found[i].append(j)
            found[j].append(i)
    return [sorted(others) for others in found]


def _pairs(forms: Sequence[NormalForm]) -> Iterator[tuple[int, int]]:
    """All pairs of forms, but for those that list their values and have none in common."""
    holders: dict[Hashable, list[int]] = {}
    listings: list[int] = []
    others: list[int] = []
    for i, form in enumerate(forms):
        values = _listed(form)
        (others if values is None else listings).append(i)
        for value in values or ():
            holders.setdefault(value, []).append(i)
    yield from _pairs_by_key([(i, forms[i]) for i in others])
    yield from product(others, listings)
    yield from {pair for each in holders.values() for pair in combinations(each, 2)}


def _pairs_by_key(numbered: Sequence[tuple[int, NormalForm]]) -> Iterator[tuple[int, int]]:
    """All pairs of forms, but for those of which one requires a key that the other one forbids."""
    sole = {i: f.objects[0] for i, f in numbered if not f.has_more_than_objects and _is_sole(f)}
    names = {i: _only_names(o) for i, o in sole.items()}
    naming: dict[str, list[int]] = {}  # the forms that only allow keys that they name
    for i, some in names.items():
        for key in some or ():
            naming.setdefault(key, []).append(i)
    anything = [i for i, _ in numbered if names.get(i) is None]
    rarest: dict[int, str] = {}  # a required key that the fewest allow
    for i, o in sole.items():
        if o.required:
            rarest[i] = min(o.required, key=lambda key: len(naming.get(key, ())))
    everything = [i for i, _ in numbered]
    for i in everything:
        allowing = everything if i not in rarest else [*naming.get(rarest[i], ()), *anything]
        own = names.get(i)
        for j in allowing:
            if i < j and (own is None or j not in rarest or rarest[j] in own):
                yield i, j


def _is_sole(form: NormalForm) -> bool:
    """Whether a form has a single alternative of objects."""
    return isinstance(form.objects, tuple) and len(form.objects) == 1


def _only_names(o: ObjectAlt) -> Collection[str] | None:
    """The keys that may come if they are all named; None if others may."""
    closed = (g for g in o.groups if g.is_by_name_only and g.additional == FALSE)
    return next((group.named for group in closed), None)


def _listed(form: NormalForm) -> list[Hashable] | None:
    """The values of a normal form that lists scalars; None for any other."""
    texts, numbers = members(form.string), members(form.number)
    if texts is None or numbers is None or form.arrays or form.objects:
        return None
    others = {"null": form.null, "true": form.true, "false": form.false}
    return [*texts, *map(Fraction, numbers), *((name,) for name, fits in others.items() if fits)]


def telling_keys(
    form: NormalForm, other: NormalForm, context: Sequence[ObjectAlt], peek: Peek
) -> list[str]:
    """The keys that tell two forms apart where they are present: no value fits both children.

    context: alternatives that hold as well.
    """
    if len(form.objects) != 1 or len(other.objects) != 1:
        return []
    (a,), (b,) = form.objects, other.objects
    named = [key for group in a.groups for key in group.named]
    shared = [key for key in named if any(key in group.named for group in b.groups)]
    return [
        key
        for key in islice(dict.fromkeys(shared), MAX_TELLING)
        if _exclude(
            conjoin(*(object_child(o, key) for o in (*context, a))),
            object_child(b, key),
            peek,
            MAX_DEPTH,
        )
    ]


def _are_tagged(forms: Sequence[NormalForm]) -> bool:
    """Whether a required key has disjoint constants in all forms, like the tag of a union."""
    objects = [form.objects[0] for form in forms if len(form.objects) == 1]
    if len(objects) < max(2, len(forms)) or any(form.has_more_than_objects for form in forms):
        return False
    for key in _tags(objects[0]):
        tags = [_tags(o)[key] for o in objects if key in _tags(o)]
        whole = len(tags) == len(forms)
        if whole and sum(map(len, tags)) == len(frozenset().union(*tags)):
            return True
    return False


def are_tagged_apart(a: ObjectAlt, b: ObjectAlt) -> bool:
    """Whether a required key of both has constants in one that are none of those in the other."""
    tags, others = _tags(a), _tags(b)
    return any(key in others and tags[key].isdisjoint(others[key]) for key in tags)


def _tags(o: ObjectAlt) -> dict[str, frozenset[Value]]:
    """By required key whose value is one of some constants, these; found once."""
    if o.tags is None:
        listed = ((key, allowed(object_child(o, key))) for key in o.required)
        o.tags = {key: values for key, values in listed if values is not None}
    return o.tags


def disjoint(a: NormalForm, b: NormalForm, peek: Peek, depth: int = MAX_DEPTH) -> bool:
    """Whether it is certain that no value fits both, comparing required children `depth` deep."""
    if (a.null and b.null) or (a.true and b.true) or (a.false and b.false):
        return False
    if _share_numbers(a.number, b.number) or _share_strings(a.string, b.string):
        return False
    if not all(_arrays_differ(x, y, peek, depth) for x in a.arrays for y in b.arrays):
        return False
    return all(_objects_differ(x, y, peek, depth) for x in a.objects for y in b.objects)


@lru_cache(maxsize=4096)
def _share_numbers(a: Regex, b: Regex) -> bool:
    """Whether some number is in both languages. Many pairs of branches have the same two."""
    return EMPTY not in (a, b) and not number_intersection(a, b).is_empty()


@lru_cache(maxsize=4096)
def _share_strings(a: Regex, b: Regex) -> bool:
    """Whether some string is in both languages."""
    return EMPTY not in (a, b) and not intersect(a, b).is_empty()


def _exclude(a: Expr, b: Expr, peek: Peek, depth: int) -> bool:
    """Whether it is certain that no value fits both expressions."""
    if not a or not b:
        return contradictory(a or b)
    if contradictory(conjoin(a, b)):
        return True
    if depth == 0:
        return False
    left, right = peek(a), peek(b)
    return left is not None and right is not None and disjoint(left, right, peek, depth - 1)


def _arrays_differ(a: ArrayAlt, b: ArrayAlt, peek: Peek, depth: int) -> bool:
    if any(x.most is not None and x.most < y.least for x, y in ((a, b), (b, a))):
        return True
    heads = min(max(a.least, b.least), max(a.prefix, b.prefix) + 1)
    return any(_exclude(a.child(i), b.child(i), peek, depth) for i in range(heads))


def _objects_differ(a: ObjectAlt, b: ObjectAlt, peek: Peek, depth: int) -> bool:
    least = max(a.least, b.least, len({*a.required, *b.required}))
    if any(o.most is not None and o.most < least for o in (a, b)):
        return True
    if are_tagged_apart(a, b):
        return True
    keys = dict.fromkeys((*a.required, *b.required))
    return any(
        _exclude(object_child(a, key), object_child(b, key), peek, depth)
        for key in islice(keys, 64)
    )


def object_child(o: ObjectAlt, key: str) -> Expr:
    """What the value of `key` must fit."""
    if len(o.groups) == 1:
        return group_child(o.groups[0], key)
    return conjoin(*(group_child(group, key) for group in o.groups))


def matches_key(keys: str | Regex, key: str) -> bool:
    """Whether a key is this one, or in this language."""
    return keys == key if isinstance(keys, str) else _matches(keys, key)


@lru_cache(maxsize=1 << 16)
def _matches(keys: Regex, key: str) -> bool:
    return matches(keys, key)


def group_child(group: PropertyGroup, key: str) -> Expr:
    """What one group demands of the value of `key`."""
    if group.is_by_name_only:
        return group.named.get(key, group.additional)
    if group.names is not ANY and not matches_key(group.names, key):
        return FALSE
    found = [group.named[key]] if key in group.named else []
    found += [child for pattern, child in group.patterns if matches_key(pattern, key)]
    return conjoin(*found) if found else group.additional
