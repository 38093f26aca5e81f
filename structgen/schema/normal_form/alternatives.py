"""Conjunctions of alternatives: two of them joined, simplified by unit propagation, compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from structgen.regular.expressions.base import intern_in
from structgen.regular.regex import EMPTY, Regex, alt
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin, contradictory, implied
from structgen.schema.normal_form.forms import (
    ANY_ARRAY,
    ANY_OBJECT,
    ArrayAlt,
    Clause,
    Exists,
    ForAll,
    ObjectAlt,
    PropertyGroup,
    is_pattern_exists,
)
from structgen.util.cancellation import checkpoint

NO_ITEMS = ArrayAlt(most=0, evaluated=None)  # the empty array, of which all items are evaluated
MAX_COMPARED = 1000  # alternatives that are compared with each other

AltT = TypeVar("AltT", ArrayAlt, ObjectAlt)


_groups: WeakValueDictionary[tuple[str | Regex, Expr], PropertyGroup] = WeakValueDictionary()


def _made_group(parts: tuple[str | Regex, Expr]) -> PropertyGroup:
    keys, child = parts
    return (
        PropertyGroup({keys: child})
        if isinstance(keys, str)
        else PropertyGroup({}, ((keys, child),))
    )


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def conjoin_arrays(a: ArrayAlt, b: ArrayAlt) -> ArrayAlt | None:
    """The alternative of arrays that fit `a` and `b`; None if that is clearly empty."""
    if a is ANY_ARRAY or b is ANY_ARRAY or _is_unconstrained(a):
        return a if b is ANY_ARRAY else b
    if a is b or _is_unconstrained(b):
        return a
    checkpoint()
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
    if merged.unique and merged.repeated:
        return None
    return _without_impossible_items(merged)


def _without_impossible_items(a: ArrayAlt) -> ArrayAlt | None:
    """An alternative of arrays that end before the first item that clearly nothing fits."""
    impossible = next((i for i in range(a.prefix + 1) if contradictory(a.child(i))), None)
    most = _most(a.most, impossible)
    if most is not None and a.least > most:
        return None
    if most == 0:
        wanted = a.repeated or any(counted.least for counted in a.contains)
        return None if wanted else NO_ITEMS
    return a if most == a.most else replace(a, most=most)


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
    )
    checkpoint(1 + len(merged.clauses) // 4)
    settled = frozenset((*_settled(a, b), *_settled(b, a)))
    found = simplified(merged, [*_unchecked(a, b), *_unchecked(b, a)], settled)
    if found is not None and not (a.evaluated is EMPTY and b.evaluated is EMPTY):
        found.evaluated = alt(a.evaluated, b.evaluated)  # it has just been made
    return found


def _unchecked(a: ObjectAlt, b: ObjectAlt) -> Iterable[str]:
    """The required keys of `a` whose values may be contradictory beside what `b` demands."""
    if not a.is_checked:
        return a.required
    demands = [g for g in b.groups if not g.patterns and g.additional != TRUE]
    return a.required if demands else [k for k in a.required if any(k in g.named for g in b.groups)]


def _settled(a: ObjectAlt, b: ObjectAlt) -> Iterable[Clause]:
    """The clauses of `a` in which nothing that `b` demands besides decides a literal."""
    if not (a.clauses and a.is_checked):
        return ()
    groups = [group for group in b.groups if group not in a.groups]
    if any(not group.patterns and group.additional != TRUE for group in groups):
        return ()
    decided = {*b.required}.difference(a.required).union(*(group.named for group in groups))
    if not decided:
        return a.clauses
    return [clause for clause in a.clauses if decided.isdisjoint(clause.by_key)]


def simplified(
    o: ObjectAlt,
    unchecked: Iterable[str] | None = None,
    settled: Collection[Clause] = (),
) -> ObjectAlt | None:
    """Unit propagation: the same objects with clauses of one literal turned into obligations.

    `o` has just been made; it is returned where there is nothing to propagate.

    Literals that cannot hold are dropped from their clauses, clauses that hold anyway are dropped
    as a whole. None if a contradiction shows. unchecked: the required keys for which one may, by
    default all. settled: clauses that are simplified as far as `o` allows.
    """
    keys = o.required if unchecked is None else unchecked
    while True:
        if o.most is not None and max(o.least, len(o.required)) > o.most:
            return None
        known = _KnownChildren(o)
        if any(contradictory(known[key]) for key in keys):
            return None
        clauses = [c if c in settled else _open_literals(o, known, c) for c in o.clauses]
        if () in clauses:
            return None
        left = tuple(dict.fromkeys(clause for clause in clauses if clause is not None))
        # an `Exists` about a language of keys is no obligation that groups can express
        single = [c[0] for c in left if len(c) == 1 and not is_pattern_exists(c[0])]
        if not single:
            o.is_checked = True
            return o if left == o.clauses else replace(o, clauses=left)
        asked = [(x.keys, x.child) for x in single if x.child != TRUE]
        groups = (intern_in(_groups, x, _made_group) for x in asked)  # equal ones are one object
        wanted = (x.keys for x in single if isinstance(x, Exists) and isinstance(x.keys, str))
        o = replace(
            o,
            groups=tuple(dict.fromkeys((*o.groups, *groups))),
            required=tuple(dict.fromkeys((*o.required, *wanted))),
            clauses=tuple(c for c in left if len(c) > 1 or is_pattern_exists(c[0])),
        )
        keys, settled = o.required, ()


class _KnownChildren(dict[str, Expr]):
    """By key, what the value must fit in any case, patterns not looked at; found when asked for."""

    def __init__(self, o: ObjectAlt) -> None:
        self._groups = o.groups

    def __missing__(self, key: str) -> Expr:
        found = []
        for group in self._groups:
            if key in group.named:
                found.append(group.named[key])
            elif not group.patterns:
                found.append(group.additional)
        self[key] = conjoin(*found) if found else TRUE
        return self[key]


def _open_literals(o: ObjectAlt, known: _KnownChildren, clause: Clause) -> Clause | None:
    """The literals that may still hold; None where one holds in any case."""
    left = []
    for literal in clause:
        if not isinstance(literal.keys, str):
            if isinstance(literal, ForAll) or not contradictory(literal.child):
                left.append(literal)
            continue
        child = known[literal.keys]
        absent_holds = isinstance(literal, ForAll)
        if (absent_holds or literal.keys in o.required) and implied(child, literal.child):
            return None
        if (absent_holds and literal.keys not in o.required) or not contradictory(
            conjoin(child, literal.child)
        ):
            left.append(literal)
    return clause if len(left) == len(clause) else Clause(left)


def _is_unconstrained(a: ArrayAlt | ObjectAlt) -> bool:
    """Whether an alternative has no obligations and no annotations."""
    if a is ANY_ARRAY or a is ANY_OBJECT:
        return True
    if isinstance(a, ObjectAlt) and (a.groups or a.required or a.clauses):
        return False
    return not (_obligations(a) or notes_of(a))


def _obligations(a: ArrayAlt | ObjectAlt) -> frozenset[Any]:
    """The obligations of an alternative: if one set contains another, it is the stronger one."""
    bounds: list[Any] = [("least", n) for n in (a.least,) if n]
    bounds += [("most", n) for n in (a.most,) if n is not None]
    if isinstance(a, ArrayAlt):
        flags = ("unique",) * a.unique + ("repeated",) * a.repeated
        return frozenset((*a.lists, *a.contains, *flags, *bounds))
    wanted = (("required", key) for key in a.required)
    return frozenset((*a.groups, *wanted, *a.clauses, *bounds))


def notes_of(a: ArrayAlt | ObjectAlt) -> Any:
    """What `unevaluatedItems` and `unevaluatedProperties` use of an alternative; () if nothing."""
    if isinstance(a, ArrayAlt):
        return (a.evaluated, a.evaluated_where) if a.evaluated != 0 or a.evaluated_where else ()
    return () if a.evaluated is EMPTY else (a.evaluated,)


def without_subsumed(alternatives: tuple[AltT, ...]) -> tuple[AltT, ...]:
    """The same union without the alternatives that another one, with less to ask, subsumes."""
    if len(alternatives) > MAX_COMPARED:
        return alternatives
    sets = [(_obligations(a), notes_of(a), i) for i, a in enumerate(alternatives)]
    sets.sort(key=lambda entry: (len(entry[0]), entry[2]))
    kept: list[tuple[frozenset[Any], Any, int]] = []
    for wanted, notes, i in sets:  # by size: a subset comes before its supersets
        if not any(w <= wanted and (not notes or n == notes) for w, n, _ in kept):
            kept.append((wanted, notes, i))
    return tuple(alternatives[i] for i in sorted(i for _, _, i in kept))
