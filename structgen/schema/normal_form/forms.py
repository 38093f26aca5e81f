"""The normal form of schemas: one entry per JSON type, closed under conjunction and negation.

A `NormalForm` says for each JSON type which values fit: two regular languages for strings (over
decoded content) and numbers (over their text), and for arrays and objects a tuple of
*alternatives*, each a conjunction of obligations. A value fits if one alternative does. Children
are named by expressions, tuples of atoms all of which must hold, so recursive schemas stay finite;
the empty one accepts every value. So arrays and objects are in disjunctive normal form over
obligations: conjunction multiplies alternatives out (`normal_form.combination`), an alternative
that another one subsumes is dropped, and each obligation has a dual that negation puts in its place
(`normal_form.logic`). What negation makes of objects are clauses, disjunctions inside an
alternative, as many unions become that must hold at once: multiplying these out as well would take
exponentially many alternatives (see `objects.clauses`).

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.regex import ANY, EMPTY, Regex
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin
from structgen.schema.values import Value
from structgen.util.cached import CachedHash, cached_attribute


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
    holds; an annotation for `unevaluatedProperties`, no obligation. is_checked: whether it has been
    seen that no required key is clearly without a value. tags: what `logic` has found of these.
    """

    groups: tuple[PropertyGroup, ...] = ()
    required: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    clauses: tuple[Clause, ...] = ()
    evaluated: Regex = EMPTY
    is_checked: bool = False
    tags: dict[str, frozenset[Value]] | None = field(default=None, init=False)


def names_of(o: ObjectAlt) -> list[str]:
    """The names of an alternative in declared order."""
    return [*dict.fromkeys((*(name for group in o.groups for name in group.named), *o.required))]


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
    objects: Sequence[ObjectAlt] = ()

    @property
    def has_more_than_objects(self) -> bool:
        """Whether anything but an object may fit, as far as is seen at a glance."""
        scalars = self.number is not EMPTY or self.string is not EMPTY
        return bool(self.null or self.true or self.false or scalars or self.arrays)

    @property
    def has_all_but_objects(self) -> bool:
        """Whether all values fit that are no objects."""
        free = self.number is ANYTHING.number and self.string is ANY
        return bool(
            self.null and self.true and self.false and free and self.arrays == ANYTHING.arrays
        )

    @property
    def is_about_scalars(self) -> bool:
        """Whether it says of arrays and objects only whether they fit."""
        arrays, objects = self.arrays, self.objects
        return arrays in ((), ANYTHING.arrays) and objects in ((), ANYTHING.objects)

    @property
    def is_plainly_empty(self) -> bool:
        """Whether nothing fits, as is seen at a glance."""
        return self.objects == () and not self.has_more_than_objects


ANY_ARRAY = ArrayAlt()
ANY_OBJECT = ObjectAlt()
ANYTHING = NormalForm(True, True, True, JSON_NUMBER, ANY, (ANY_ARRAY,), (ANY_OBJECT,))
NOTHING = NormalForm()


def is_pattern_exists(literal: Literal) -> bool:
    """Whether a literal asks for some member with a key in a language."""
    return isinstance(literal, Exists) and not isinstance(literal.keys, str)
