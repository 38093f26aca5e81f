"""The normal form of schemas: one entry per JSON type, closed under conjunction and negation.

A `NormalForm` says for each JSON type which values fit: two regular languages for strings (over
decoded content) and numbers (over their text), and for arrays and objects a tuple of
*alternatives*, each a conjunction of obligations. A value fits if one alternative does. Children
are named by expressions,
tuples of atoms all of which must hold, so recursive schemas stay finite; the empty one accepts
every value. So arrays and objects are in disjunctive normal form over obligations: conjunction
multiplies alternatives out (`conjunction`), an alternative that another one subsumes is dropped,
and each obligation has a dual that negation puts in its place (`normal_form.logic`). What negation
makes of objects are clauses, disjunctions inside an alternative: multiplying these out as well
would take exponentially many alternatives (see `objects.clauses`).

Which keyword ends up where:

| keyword | in the normal form |
|---|---|
| `type`, `enum`, `const` | all entries |
| `pattern`, `format`, `minLength`, `maxLength` | `NormalForm.string`, a regular language |
| `minimum`, `maximum`, `multipleOf`, ... | `NormalForm.number`, a regular language |
| `properties`, `patternProperties`, `additionalProperties`, `propertyNames` | `PropertyGroup` |
| `unevaluatedProperties` | a `PropertyGroup` about the keys that are not in `evaluated` |
| `required`, `minProperties`, `maxProperties`, `dependentRequired` | `ObjectAlt` |
| `prefixItems`, `items`, `unevaluatedItems` | `ArrayAlt.lists` |
| `contains`, `minContains`, `maxContains` | `Contains` |
| `minItems`, `maxItems`, `uniqueItems` | `ArrayAlt.least`, `most`, `unique` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from structgen.errors import BudgetError
from structgen.regular.expressions.base import intern_in
from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.numbers.set_operations import number_intersection
from structgen.regular.regex import ANY, EMPTY, Regex, alt, intersect
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin, contradictory, implied
from structgen.util.cached import CachedHash, cached_attribute

MAX_ALTERNATIVES = 4096  # per JSON type of one normal form
MAX_COMPARED = 1000  # alternatives that are compared with each other


@dataclass(eq=False, slots=True, weakref_slot=True)
class PropertyGroup:
    """`properties`, `patternProperties`, `additionalProperties`, `propertyNames` of one schema.

    named: child by key. patterns: languages of keys with their children. additional: the child of
    keys that are in neither. names: the language that all keys must be in.
    """

    named: Mapping[str, Expr] = field(default_factory=dict)
    patterns: tuple[tuple[Regex, Expr], ...] = ()
    additional: Expr = TRUE
    names: Regex = ANY

    @property
    def is_by_name_only(self) -> bool:
        """Whether it has neither patterns nor a language of names."""
        return not self.patterns and self.names is ANY


_groups: WeakValueDictionary[tuple[str | Regex, Expr], PropertyGroup] = WeakValueDictionary()


def _made_group(parts: tuple[str | Regex, Expr]) -> PropertyGroup:
    keys, child = parts
    return (
        PropertyGroup({keys: child})
        if isinstance(keys, str)
        else PropertyGroup({}, ((keys, child),))
    )


class Exists(NamedTuple):
    """Some member has this key, or one in this language, and a value that fits `child`."""

    keys: str | Regex
    child: Expr


class ForAll(NamedTuple):
    """Every member with this key, or one in this language, has a value that fits `child`."""

    keys: str | Regex
    child: Expr
    is_universal: bool = True  # so that it never equals an `Exists`, which is a tuple as well


Literal = Exists | ForAll  # each the dual of the other


class Clause(CachedHash, tuple[Literal, ...]):  # noqa: SLOT001  has a dictionary
    """A disjunction of literals about the members of an object: at least one must hold."""

    @cached_attribute
    def by_key(self) -> dict[str, list[int]]:
        """The indices of the literals about each key."""
        found: dict[str, list[int]] = {}
        for i, literal in enumerate(self):
            if isinstance(literal.keys, str):
                found.setdefault(literal.keys, []).append(i)
        return found

    @cached_attribute
    def by_pattern(self) -> list[int]:
        """The indices of the literals about a language of keys."""
        return [i for i, literal in enumerate(self) if not isinstance(literal.keys, str)]


@dataclass(eq=False, slots=True)
class ObjectAlt:
    """One alternative of an object: a conjunction of obligations.

    groups: all hold. required: keys that must come, in order. least, most: bounds on the number of
    members. clauses: all hold. evaluated: the keys that count as evaluated where this alternative
    holds; an annotation for `unevaluatedProperties`, no obligation.
    """

    groups: tuple[PropertyGroup, ...] = ()
    required: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    clauses: tuple[Clause, ...] = ()
    evaluated: Regex = EMPTY


class Contains(NamedTuple):
    """Of the items from index `start` on, at least `least` and at most `most` fit `child`.

    The obligation of `contains`, `minContains` and `maxContains`; its duals are of this kind, too.
    """

    child: Expr
    start: int = 0
    least: int = 1
    most: int | None = None


@dataclass(eq=False, slots=True)
class ArrayAlt:
    """One alternative of an array: a conjunction of obligations.

    lists: pairs (children of the first items, child of all others), all of which hold. least, most:
    bounds on the number of items. contains: counts of items that fit something. unique: no two
    items are equal; repeated, its dual: some two are. evaluated, evaluated_where: annotations for
    `unevaluatedItems`: so many items from the front count as evaluated (None: all), and those that
    fit one of these expressions.
    """

    lists: tuple[tuple[tuple[Expr, ...], Expr], ...] = ()
    least: int = 0
    most: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    repeated: bool = False
    evaluated: int | None = 0
    evaluated_where: tuple[Expr, ...] = ()

    def child(self, index: int) -> Expr:
        """What item `index` must fit."""
        return conjoin(*[p[index] if index < len(p) else tail for p, tail in self.lists])

    @property
    def prefix(self) -> int:
        """The index from which on all items have the same child."""
        return max([len(p) for p, _ in self.lists], default=0)


@dataclass(eq=False, slots=True)
class NormalForm:
    """The values that fit, type by type.

    number: the texts of the numbers; string: the contents of the strings, escapes decoded. arrays,
    objects: a value fits if it fits one of these alternatives. Compared by identity.
    """

    null: bool = False
    true: bool = False
    false: bool = False
    number: Regex = EMPTY
    string: Regex = EMPTY
    arrays: tuple[ArrayAlt, ...] = ()
    objects: tuple[ObjectAlt, ...] = ()


ANY_ARRAY = ArrayAlt()
ANY_OBJECT = ObjectAlt()
ANYTHING = NormalForm(True, True, True, JSON_NUMBER, ANY, (ANY_ARRAY,), (ANY_OBJECT,))
NOTHING = NormalForm()


AltT = TypeVar("AltT", ArrayAlt, ObjectAlt)


def conjunction(a: NormalForm, b: NormalForm, location: str = "") -> NormalForm:
    """The normal form of the values that fit `a` and `b`.

    Raises BudgetError, with this location, when there are more than MAX_ALTERNATIVES.
    """
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    return NormalForm(
        a.null and b.null,
        a.true and b.true,
        a.false and b.false,
        _conjoin_languages(a.number, b.number, JSON_NUMBER, number_intersection),
        _conjoin_languages(a.string, b.string, ANY, intersect),
        _conjoin_alternatives(a.arrays, b.arrays, conjoin_arrays, location),
        _conjoin_alternatives(a.objects, b.objects, conjoin_objects, location),
    )


def _conjoin_languages(
    a: Regex, b: Regex, every: Regex, join: Callable[[Regex, Regex], Regex]
) -> Regex:
    """The intersection of two languages by `join`, without a call if one contains the other."""
    if a is EMPTY or b is every or a is b:
        return a
    return b if b is EMPTY or a is every else join(a, b)


def disjunction(forms: list[NormalForm], location: str = "") -> NormalForm:
    """The normal form of the values that fit at least one of `forms`."""
    if len(forms) == 1:
        return forms[0]
    arrays = tuple(dict.fromkeys(a for n in forms for a in n.arrays))
    objects = tuple(dict.fromkeys(o for n in forms for o in n.objects))
    annotated = any(map(_annotations, arrays)) or any(map(_annotations, objects))
    if not annotated and any(n is ANYTHING for n in forms):
        return ANYTHING
    check_alternative_count(max(len(arrays), len(objects)), location)
    return NormalForm(
        any(n.null for n in forms),
        any(n.true for n in forms),
        any(n.false for n in forms),
        alt(*(n.number for n in forms)),
        alt(*(n.string for n in forms)),
        arrays,
        objects,
    )


def check_alternative_count(count: int, location: str) -> None:
    """Raise BudgetError if a normal form would have too many alternatives."""
    if count > MAX_ALTERNATIVES:
        raise BudgetError(
            f"combining alternatives gives {count} cases",
            location=location,
            expected=f"at most {MAX_ALTERNATIVES}",
            hint="merge branches of anyOf, or use fewer of them together in allOf",
        )


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _conjoin_alternatives(
    left: tuple[AltT, ...],
    right: tuple[AltT, ...],
    merge: Callable[[AltT, AltT], AltT | None],
    location: str,
) -> tuple[AltT, ...]:
    if not left or not right:
        return ()
    if len(left) == len(right) == 1:
        merged = merge(left[0], right[0])
        return () if merged is None else (merged,)
    found: dict[AltT, None] = {}
    for a in left:
        found.update(dict.fromkeys(m for b in right if (m := merge(a, b)) is not None))
        check_alternative_count(len(found), location)
    return without_subsumed(tuple(found))


def conjoin_arrays(a: ArrayAlt, b: ArrayAlt) -> ArrayAlt | None:
    """The alternative of arrays that fit `a` and `b`; None if that is clearly empty."""
    if a is ANY_ARRAY or b is ANY_ARRAY or _is_unconstrained(a):
        return a if b is ANY_ARRAY else b
    if a is b or _is_unconstrained(b):
        return a
    merged = ArrayAlt(
        tuple(dict.fromkeys(a.lists + b.lists)),
        max(a.least, b.least),
        _most(a.most, b.most),
        tuple(dict.fromkeys(a.contains + b.contains)),
        a.unique or b.unique,
        a.repeated or b.repeated,
        None if None in {a.evaluated, b.evaluated} else max(a.evaluated or 0, b.evaluated or 0),
        tuple(dict.fromkeys(a.evaluated_where + b.evaluated_where)),
    )
    if merged.most is not None and merged.least > merged.most:
        return None
    if merged.unique and merged.repeated:
        return None
    heads = min(merged.least, merged.prefix + 1)
    return None if any(contradictory(merged.child(i)) for i in range(heads)) else merged


def conjoin_objects(a: ObjectAlt, b: ObjectAlt) -> ObjectAlt | None:
    """The alternative of objects that fit `a` and `b`; None if that is clearly empty."""
    if a is ANY_OBJECT or b is ANY_OBJECT or _is_unconstrained(a):
        return a if b is ANY_OBJECT else b
    if a is b or _is_unconstrained(b):
        return a
    merged = ObjectAlt(
        tuple(dict.fromkeys(a.groups + b.groups)),
        tuple(dict.fromkeys(a.required + b.required)),
        max(a.least, b.least),
        _most(a.most, b.most),
        tuple(dict.fromkeys(a.clauses + b.clauses)),
        alt(a.evaluated, b.evaluated),
    )
    return simplified(merged)


def simplified(o: ObjectAlt) -> ObjectAlt | None:
    """Unit propagation: the same objects with clauses of one literal turned into obligations.

    Literals that cannot hold are dropped from their clauses, clauses that hold anyway are dropped
    as a whole. None if a contradiction shows.
    """
    while True:
        if o.most is not None and max(o.least, len(o.required)) > o.most:
            return None
        if any(contradictory(_known_child(o, key)) for key in o.required):
            return None
        clauses = [_open_literals(o, clause) for clause in o.clauses]
        if () in clauses:
            return None
        left = tuple(dict.fromkeys(clause for clause in clauses if clause is not None))
        # an `Exists` about a language of keys is no obligation that groups can express
        single = next((c[0] for c in left if len(c) == 1 and not is_pattern_exists(c[0])), None)
        if single is None:
            return o if left == o.clauses else replace(o, clauses=left)
        key, child = single.keys, single.child
        group = intern_in(_groups, (key, child), _made_group)  # equal obligations are one object
        o = replace(
            o,
            groups=o.groups if child == TRUE or group in o.groups else (*o.groups, group),
            required=tuple(dict.fromkeys((*o.required, key)))
            if isinstance(single, Exists) and isinstance(key, str)
            else o.required,
            clauses=tuple(c for c in left if c != (single,)),
        )


def is_pattern_exists(literal: Literal) -> bool:
    """Whether a literal asks for some member with a key in a language."""
    return isinstance(literal, Exists) and not isinstance(literal.keys, str)


def _known_child(o: ObjectAlt, key: str) -> Expr:
    """What the value of a key must fit, patterns not looked at."""
    found = []
    for group in o.groups:
        if key in group.named:
            found.append(group.named[key])
        elif not group.patterns:
            found.append(group.additional)
    return conjoin(*found) if found else TRUE


def _open_literals(o: ObjectAlt, clause: Clause) -> Clause | None:
    """The literals that may still hold; None where one holds in any case."""
    left = []
    for literal in clause:
        if not isinstance(literal.keys, str):
            if isinstance(literal, ForAll) or not contradictory(literal.child):
                left.append(literal)
            continue
        known = _known_child(o, literal.keys)
        absent_holds = isinstance(literal, ForAll)
        if (absent_holds or literal.keys in o.required) and implied(known, literal.child):
            return None
        if (absent_holds and literal.keys not in o.required) or not contradictory(
            conjoin(known, literal.child)
        ):
            left.append(literal)
    return clause if len(left) == len(clause) else Clause(left)


def _is_unconstrained(a: ArrayAlt | ObjectAlt) -> bool:
    """Whether an alternative has no obligations and no annotations."""
    return a is ANY_ARRAY or a is ANY_OBJECT or not (_obligations(a) or _annotations(a))


def _obligations(a: ArrayAlt | ObjectAlt) -> frozenset[Any]:
    """The obligations of an alternative: if one set contains another, it is the stronger one."""
    bounds: list[Any] = [("least", n) for n in (a.least,) if n]
    bounds += [("most", n) for n in (a.most,) if n is not None]
    if isinstance(a, ArrayAlt):
        flags = ("unique",) * a.unique + ("repeated",) * a.repeated
        return frozenset((*a.lists, *a.contains, *flags, *bounds))
    wanted = (("required", key) for key in a.required)
    return frozenset((*a.groups, *wanted, *a.clauses, *bounds))


def _annotations(a: ArrayAlt | ObjectAlt) -> Any:
    """What `unevaluatedItems` and `unevaluatedProperties` use of an alternative; () if nothing."""
    if isinstance(a, ArrayAlt):
        return (a.evaluated, a.evaluated_where) if a.evaluated != 0 or a.evaluated_where else ()
    return () if a.evaluated is EMPTY else (a.evaluated,)


def without_subsumed(alternatives: tuple[AltT, ...]) -> tuple[AltT, ...]:
    """The same union without the alternatives that another one, with less to ask, subsumes."""
    if len(alternatives) > MAX_COMPARED:
        return alternatives
    sets = [(_obligations(a), _annotations(a), i) for i, a in enumerate(alternatives)]
    sets.sort(key=lambda entry: (len(entry[0]), entry[2]))
    kept: list[tuple[frozenset[Any], Any, int]] = []
    for wanted, notes, i in sets:  # by size: a subset comes before its supersets
        if not any(w <= wanted and (not notes or n == notes) for w, n, _ in kept):
            kept.append((wanted, notes, i))
    return tuple(alternatives[i] for i in sorted(i for _, _, i in kept))


def children_of(form: NormalForm) -> Iterator[Expr]:
    """All expressions that a normal form refers to."""
    for array in form.arrays:
        for prefix, tail in array.lists:
            yield from (*prefix, tail)
        yield from (counted.child for counted in array.contains)
    for object_ in form.objects:
        for group in object_.groups:
            yield from map(group.named.__getitem__, group.named)
            yield from (child for _, child in group.patterns)
            yield group.additional
        yield from (literal.child for clause in object_.clauses for literal in clause)
