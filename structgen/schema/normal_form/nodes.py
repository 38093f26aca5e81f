"""In: pieces of schemas. Out: their normal form, one entry per JSON type, closed under conjunction.

A `Node` says for each JSON type which values fit: two regular languages for strings (over decoded
content) and numbers (over their text), and for arrays and objects a tuple of *alternatives*, each a
conjunction of obligations. A value fits if one alternative does. Children are named by expressions,
lists of atoms all of which must hold, so recursive schemas stay finite; the empty list accepts
every value. Each obligation has a dual, so `json_logic` can negate a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from structgen.errors import BudgetError
from structgen.regular.expressions.base import intern_in
from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.numbers.sets import number_intersection
from structgen.regular.regex import ANY, EMPTY, Regex, alt, intersect
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin, contradictory, implied
from structgen.util.cached import HashedOnce, found_once

MAX_ALTERNATIVES = 4096  # per JSON type of one node
MAX_COMPARED = 1000  # alternatives that are compared with each other


@dataclass(eq=False, slots=True, weakref_slot=True)
class Group:
    """`properties`, `patternProperties`, `additionalProperties`, `propertyNames` of one schema."""

    named: Mapping[str, Expr] = field(default_factory=dict)
    patterns: tuple[tuple[Regex, Expr], ...] = ()
    rest: Expr = TRUE
    keys: Regex = ANY

    @property
    def is_by_name(self) -> bool:
        """Whether names are all that tells keys apart."""
        return not self.patterns and self.keys is ANY


_groups: WeakValueDictionary[tuple[str | Regex, Expr], Group] = WeakValueDictionary()


def _group_of(said: tuple[str | Regex, Expr]) -> Group:
    keys, child = said
    return Group({keys: child}) if isinstance(keys, str) else Group({}, ((keys, child),))


class Member(NamedTuple):
    """Some member has this key, or a key in this language, and a value that fits `child`."""

    keys: str | Regex
    child: Expr


class Every(NamedTuple):
    """Every member with this key, or a key in this language, has a value that fits `child`."""

    keys: str | Regex
    child: Expr
    is_every: bool = True  # so that it never equals a `Member`, which is a tuple as well


Literal = Member | Every  # each the dual of the other


class Clause(HashedOnce, tuple[Literal, ...]):  # noqa: SLOT001  has a dictionary
    """Literals of which at least one must hold.

    by_key: places of the literals that name a key; by_kind: of those of kinds of keys.
    """

    @found_once
    def by_key(self) -> dict[str, list[int]]:
        """See above."""
        found: dict[str, list[int]] = {}
        for i, literal in enumerate(self):
            if isinstance(literal.keys, str):
                found.setdefault(literal.keys, []).append(i)
        return found

    @found_once
    def by_kind(self) -> list[int]:
        """See above."""
        return [i for i, literal in enumerate(self) if not isinstance(literal.keys, str)]


@dataclass(eq=False, slots=True)
class ObjectAlt:
    """A conjunction of groups, required keys (in order), clauses, and bounds on the count.

    evaluated: the keys that `unevaluatedProperties` passes over where this alternative holds.
    """

    groups: tuple[Group, ...] = ()
    required: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    clauses: tuple[Clause, ...] = ()
    evaluated: Regex = EMPTY


class Counted(NamedTuple):
    """Of the items from index `start` on, at least `least` and at most `most` fit `child`."""

    child: Expr
    start: int = 0
    least: int = 1
    most: int | None = None


@dataclass(eq=False, slots=True)
class ArrayAlt:
    """A conjunction of (prefix, tail) lists, bounds on the number of items, and counted items.

    unique: no two items are equal; repeated: some two are. evaluated: `unevaluatedItems` passes
    over so many items from the front (None: over all), and over those that fit one of `matched`.
    """

    lists: tuple[tuple[tuple[Expr, ...], Expr], ...] = ()
    least: int = 0
    most: int | None = None
    counted: tuple[Counted, ...] = ()
    unique: bool = False
    repeated: bool = False
    evaluated: int | None = 0
    matched: tuple[Expr, ...] = ()

    def child(self, index: int) -> Expr:
        """What item `index` must fit."""
        return conjoin(*[p[index] if index < len(p) else tail for p, tail in self.lists])

    @property
    def prefix(self) -> int:
        """Items from here on all have the same child."""
        return max([len(p) for p, _ in self.lists], default=0)


@dataclass(eq=False, slots=True)
class Node:
    """The values that fit, type by type."""

    null: bool = False
    true: bool = False
    false: bool = False
    number: Regex = EMPTY
    string: Regex = EMPTY
    arrays: tuple[ArrayAlt, ...] = ()
    objects: tuple[ObjectAlt, ...] = ()


ANY_ARRAY = ArrayAlt()
ANY_OBJECT = ObjectAlt()
ANYTHING = Node(True, True, True, JSON_NUMBER, ANY, (ANY_ARRAY,), (ANY_OBJECT,))
NOTHING = Node()


AltT = TypeVar("AltT", ArrayAlt, ObjectAlt)


def both(a: Node, b: Node, location: str = "") -> Node:
    """Values that fit `a` and `b`."""
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    return Node(
        a.null and b.null,
        a.true and b.true,
        a.false and b.false,
        _joint(a.number, b.number, JSON_NUMBER, number_intersection),
        _joint(a.string, b.string, ANY, intersect),
        _both_alternatives(a.arrays, b.arrays, both_arrays, location),
        _both_alternatives(a.objects, b.objects, both_objects, location),
    )


def _joint(a: Regex, b: Regex, every: Regex, join: Callable[[Regex, Regex], Regex]) -> Regex:
    """`join` of two languages, which is plain if one is empty, `every` text, or the other."""
    if a is EMPTY or b is every or a is b:
        return a
    return b if b is EMPTY or a is every else join(a, b)


def either(nodes: list[Node], location: str = "") -> Node:
    """Values that fit at least one of `nodes`."""
    if len(nodes) == 1:
        return nodes[0]
    arrays = tuple(dict.fromkeys(a for n in nodes for a in n.arrays))
    objects = tuple(dict.fromkeys(o for n in nodes for o in n.objects))
    says_more = any(map(_said, arrays)) or any(map(_said, objects))  # than which values fit
    if not says_more and any(n is ANYTHING for n in nodes):
        return ANYTHING
    check_count(max(len(arrays), len(objects)), location)
    return Node(
        any(n.null for n in nodes),
        any(n.true for n in nodes),
        any(n.false for n in nodes),
        alt(*(n.number for n in nodes)),
        alt(*(n.string for n in nodes)),
        arrays,
        objects,
    )


def check_count(count: int, location: str) -> None:
    """Raise BudgetError if a node would have too many alternatives."""
    if count > MAX_ALTERNATIVES:
        raise BudgetError(
            f"combining alternatives gives {count} cases",
            location=location,
            expected=f"at most {MAX_ALTERNATIVES}",
            hint="merge branches of anyOf, or use fewer of them together in allOf",
        )


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _both_alternatives(
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
        check_count(len(found), location)
    return absorbed(tuple(found))


def both_arrays(a: ArrayAlt, b: ArrayAlt) -> ArrayAlt | None:
    """Arrays that fit `a` and `b`; None if they plainly exclude each other."""
    if a is ANY_ARRAY or b is ANY_ARRAY or _is_free(a):
        return a if b is ANY_ARRAY else b
    if a is b or _is_free(b):
        return a
    merged = ArrayAlt(
        tuple(dict.fromkeys(a.lists + b.lists)),
        max(a.least, b.least),
        _most(a.most, b.most),
        tuple(dict.fromkeys(a.counted + b.counted)),
        a.unique or b.unique,
        a.repeated or b.repeated,
        None if None in {a.evaluated, b.evaluated} else max(a.evaluated or 0, b.evaluated or 0),
        tuple(dict.fromkeys(a.matched + b.matched)),
    )
    if merged.most is not None and merged.least > merged.most:
        return None
    if merged.unique and merged.repeated:
        return None
    heads = min(merged.least, merged.prefix + 1)
    return None if any(contradictory(merged.child(i)) for i in range(heads)) else merged


def both_objects(a: ObjectAlt, b: ObjectAlt) -> ObjectAlt | None:
    """Objects that fit `a` and `b`; None if they plainly exclude each other."""
    if a is ANY_OBJECT or b is ANY_OBJECT or _is_free(a):
        return a if b is ANY_OBJECT else b
    if a is b or _is_free(b):
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
    """The same objects, clauses that are plainly settled aside; None if plainly none fits."""
    while True:
        if o.most is not None and max(o.least, len(o.required)) > o.most:
            return None
        if any(contradictory(_known(o, key)) for key in o.required):
            return None
        clauses = [_open(o, clause) for clause in o.clauses]
        if () in clauses:
            return None
        left = tuple(dict.fromkeys(clause for clause in clauses if clause is not None))
        single = next((c[0] for c in left if len(c) == 1 and not is_search(c[0])), None)
        if single is None:
            return o if left == o.clauses else replace(o, clauses=left)
        key, child = single.keys, single.child
        group = intern_in(_groups, (key, child), _group_of)  # so that the same is said once
        o = replace(
            o,
            groups=o.groups if child == TRUE or group in o.groups else (*o.groups, group),
            required=tuple(dict.fromkeys((*o.required, key)))
            if isinstance(single, Member) and isinstance(key, str)
            else o.required,
            clauses=tuple(c for c in left if c != (single,)),
        )


def is_search(literal: Literal) -> bool:
    """Whether a literal asks for a member of some kind, whatever its key."""
    return isinstance(literal, Member) and not isinstance(literal.keys, str)


def _known(o: ObjectAlt, key: str) -> Expr:
    """What the value of a key must plainly fit, patterns aside."""
    found = []
    for group in o.groups:
        if key in group.named:
            found.append(group.named[key])
        elif not group.patterns:
            found.append(group.rest)
    return conjoin(*found) if found else TRUE


def _open(o: ObjectAlt, clause: Clause) -> Clause | None:
    """The literals that may yet hold; None where one plainly holds."""
    left = []
    for literal in clause:
        if not isinstance(literal.keys, str):
            if isinstance(literal, Every) or not contradictory(literal.child):
                left.append(literal)
            continue
        known = _known(o, literal.keys)
        needed = isinstance(literal, Every) or literal.keys in o.required
        if needed and implied(known, literal.child):
            return None
        if (isinstance(literal, Every) and literal.keys not in o.required) or not contradictory(
            conjoin(known, literal.child)
        ):
            left.append(literal)
    return clause if len(left) == len(clause) else Clause(left)


def _is_free(a: ArrayAlt | ObjectAlt) -> bool:
    """Whether an alternative asks for nothing and says nothing."""
    return a is ANY_ARRAY or a is ANY_OBJECT or not (_asked(a) or _said(a))


def _asked(a: ArrayAlt | ObjectAlt) -> frozenset[Any]:
    """The obligations of an alternative: of two sets, the smaller one is weaker."""
    bounds: list[Any] = [("least", n) for n in (a.least,) if n]
    bounds += [("most", n) for n in (a.most,) if n is not None]
    if isinstance(a, ArrayAlt):
        flags = ("unique",) * a.unique + ("repeated",) * a.repeated
        return frozenset((*a.lists, *a.counted, *flags, *bounds))
    wanted = (("required", key) for key in a.required)
    return frozenset((*a.groups, *wanted, *a.clauses, *bounds))


def _said(a: ArrayAlt | ObjectAlt) -> Any:
    """What `unevaluated...` learns from an alternative; false if nothing."""
    if isinstance(a, ArrayAlt):
        return (a.evaluated, a.matched) if a.evaluated != 0 or a.matched else ()
    return () if a.evaluated is EMPTY else (a.evaluated,)


def absorbed(alternatives: tuple[AltT, ...]) -> tuple[AltT, ...]:
    """The same union without alternatives that ask for all that another asks for, and more."""
    if len(alternatives) > MAX_COMPARED:
        return alternatives
    sets = [(_asked(a), _said(a), i) for i, a in enumerate(alternatives)]
    sets.sort(key=lambda entry: (len(entry[0]), entry[2]))
    kept: list[tuple[frozenset[Any], Any, int]] = []
    for asked, said, i in sets:
        if not any(w <= asked and (not said or s == said) for w, s, _ in kept):
            kept.append((asked, said, i))
    return tuple(alternatives[i] for i in sorted(i for _, _, i in kept))


def children_of(node: Node) -> Iterator[Expr]:
    """The expressions that a node names."""
    for array in node.arrays:
        for prefix, tail in array.lists:
            yield from (*prefix, tail)
        yield from (counted.child for counted in array.counted)
    for object_ in node.objects:
        for group in object_.groups:
            yield from map(group.named.__getitem__, group.named)
            yield from (child for _, child in group.patterns)
            yield group.rest
        yield from (literal.child for clause in object_.clauses for literal in clause)
