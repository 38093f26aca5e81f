"""Conjunction and disjunction of normal forms; conjunctions of many unions stay factors.

Alternatives of arrays are multiplied out at once. Those of objects are kept as a `Product`, one
*choice* of alternatives for each union, until somebody looks at them. If multiplying out would give
more than MAX_MULTIPLIED alternatives, choices become clauses instead (`as_clauses`), by the law of
distribution: a union of conjunctions of literals is a conjunction of disjunctions of them. So ten
unions of two branches are ten clauses in one alternative, and not a thousand alternatives. Where
some choices cannot be clauses, and thus multiply anyway, the others do so, too, if they exclude
each other so much that few alternatives come of it (`_summed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, overload

from structgen.errors import BudgetError
from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.numbers.set_operations import number_intersection, number_union
from structgen.regular.regex import ANY, EMPTY, Regex, alt, complement, intersect, words
from structgen.schema.normal_form.alternatives import (
    AltT,
    conjoin_arrays,
    conjoin_objects,
    notes_of,
    simplified,
    without_subsumed,
)
from structgen.schema.normal_form.branches import Branches
from structgen.schema.normal_form.expressions import FALSE, TRUE, Expr, conjoin
from structgen.schema.normal_form.forms import (
    ANY_OBJECT,
    ANYTHING,
    Clause,
    Exists,
    ForAll,
    Literal,
    NormalForm,
    ObjectAlt,
    PropertyGroup,
    names_of,
)
from structgen.util.cancellation import checkpoint

MAX_ALTERNATIVES = 4096  # per JSON type of one normal form
MAX_MULTIPLIED = 16  # alternatives that a product of choices may have without clauses
MAX_SUMMED = 32  # the same where others multiply, and no more come of it than all choices have
MAX_DISTRIBUTED = 64  # clauses that one choice may become

Choice = Sequence[ObjectAlt]  # alternatives of which at least one must hold
Where = Callable[[], str]  # says a location, which only errors need; `str` says none


def conjunction(a: NormalForm, b: NormalForm, location: Where = str) -> NormalForm:
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
        _conjoin_choices(a.objects, b.objects, location),
    )


def conjunction_of_atoms(forms: Sequence[NormalForm], location: Where = str) -> NormalForm:
    """The normal form of the values that fit all of some forms.

    What these say of scalars is joined at once: one after the other would take work with the square
    of their number. Raises what `conjunction` raises.
    """
    some = [form for form in forms if form is not ANYTHING]
    if len(some) < 2:
        return some[0] if some else ANYTHING
    if len(some) == 2:
        return conjunction(some[0], some[1], location)
    arrays, objects = some[0].arrays, some[0].objects
    for form in some[1:]:
        arrays = _conjoin_alternatives(arrays, form.arrays, conjoin_arrays, location)
        objects = _conjoin_choices(objects, form.objects, location)
    return NormalForm(
        all(form.null for form in some),
        all(form.true for form in some),
        all(form.false for form in some),
        _conjoin_all([form.number for form in some], JSON_NUMBER, number_intersection),
        _conjoin_all([form.string for form in some], ANY, intersect),
        arrays,
        objects,
    )


def conjunction_of(forms: Sequence[NormalForm], location: Where = str) -> NormalForm:
    """The normal form of the values that fit all of some forms, of which most are negations.

    What these ask of members is joined at once: one after the other would take work with the cube
    of their number. Raises what `conjunction` raises.
    """
    found = forms[0]
    groups, clauses = dict[PropertyGroup, None](), dict[Clause, None]()
    apart: dict[tuple[Any, ...], None] = {}  # what negations say of other types: mostly the same
    for form in forms[1:]:
        if _is_about_members(form.objects):
            groups.update(dict.fromkeys(form.objects[0].groups))
            clauses.update(dict.fromkeys(form.objects[0].clauses))
            scalars = form.null, form.true, form.false, form.number, form.string
            apart[*scalars, form.arrays, ANYTHING.objects] = None
        else:
            found = conjunction(found, form, location)
    for other in apart:
        found = conjunction(found, NormalForm(*other), location)
    if not (groups or clauses) or found.objects == ():
        return found
    checkpoint(len(clauses) * 2 // 3)  # with what it takes to read them later
    joined = simplified(ObjectAlt(tuple(groups), clauses=tuple(clauses)))
    objects = () if joined is None else (joined,)
    return replace(found, objects=_conjoin_choices(found.objects, objects, location))


def _is_about_members(objects: Sequence[ObjectAlt]) -> bool:
    """Whether alternatives are a single one that asks for no keys, and for no number of them."""
    if not isinstance(objects, tuple) or len(objects) != 1:
        return False
    o = objects[0]
    return not (o.required or o.least or o.most is not None or notes_of(o))


def _conjoin_languages(a: Regex, b: Regex, every: Regex, join: Callable[..., Regex]) -> Regex:
    """The intersection of two languages by `join`, without a call if one contains the other."""
    if a is EMPTY or b is every or a is b:
        return a
    return b if b is EMPTY or a is every else join(a, b)


def _conjoin_all(languages: Iterable[Regex], every: Regex, join: Callable[..., Regex]) -> Regex:
    """The same of many languages, joined at once."""
    some = dict.fromkeys(language for language in languages if language is not every)
    if len(some) < 2 or EMPTY in some:
        return EMPTY if EMPTY in some else next(iter(some), every)
    return join(*some)


def disjunction(forms: list[NormalForm], location: Where = str) -> NormalForm:
    """The normal form of the values that fit at least one of `forms`."""
    if len(forms) == 1:
        return forms[0]
    arrays = tuple(dict.fromkeys(a for n in forms for a in n.arrays))
    objects = _united([n.objects for n in forms])
    if branches_of(objects) is None:
        annotated = any(map(notes_of, arrays)) or any(map(notes_of, objects))
        if not annotated and any(n is ANYTHING for n in forms):
            return ANYTHING
        check_alternative_count(max(len(arrays), len(objects)), location)
    return NormalForm(
        any(n.null for n in forms),
        any(n.true for n in forms),
        any(n.false for n in forms),
        number_union(*(n.number for n in forms)),
        alt(*(n.string for n in forms)),
        arrays,
        objects,
    )


def _united(choices: Iterable[Choice]) -> Choice:
    """All alternatives of some choices; the only choice that has any as it is."""
    some = [choice for choice in choices if choice]
    if len(some) == 1:
        return some[0]
    return tuple(dict.fromkeys(o for choice in some for o in choice))


def check_alternative_count(count: int, location: Where, most: int = MAX_ALTERNATIVES) -> None:
    """Raise BudgetError if a normal form would have too many alternatives."""
    if count > most:
        raise BudgetError(
            f"combining alternatives gives {count} cases",
            location=location(),
            expected=f"at most {most}",
            hint="merge branches of anyOf, or use fewer of them together in allOf",
        )


def _conjoin_alternatives(
    left: Sequence[AltT],
    right: Sequence[AltT],
    merge: Callable[[AltT, AltT], AltT | None],
    location: Where,
    most: int = MAX_ALTERNATIVES,
) -> tuple[AltT, ...]:
    """All conjunctions of an alternative on the left and one on the right.

    Raises BudgetError, with this location, when there are more than `most`.
    """
    if not left or not right:
        return ()
    if len(left) == len(right) == 1:
        merged = merge(left[0], right[0])
        return () if merged is None else (merged,)
    found: dict[AltT, None] = {}
    for a in left:
        found.update(dict.fromkeys(m for b in right if (m := merge(a, b)) is not None))
        check_alternative_count(len(found), location, most)
    return without_subsumed(tuple(found))


# -- products of choices ------------------------------------------------------------------------


class _FoundLater(Sequence[ObjectAlt]):
    """Alternatives that are found when they are first looked at."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Choice]) -> None:
        self._find = find
        self._found: Choice | None = None

    @property
    def alternatives(self) -> Choice:
        """All alternatives. Raises BudgetError if they are too many."""
        if self._found is None:
            self._found = self._find()
        return self._found

    def __len__(self) -> int:
        return len(self.alternatives)

    @overload
    def __getitem__(self, index: int) -> ObjectAlt: ...

    @overload
    def __getitem__(self, index: slice) -> Choice: ...

    def __getitem__(self, index: int | slice) -> ObjectAlt | Choice:
        return self.alternatives[index]

    def __iter__(self) -> Iterator[ObjectAlt]:
        return iter(self.alternatives)


class ExactlyOne(_FoundLater):
    """The choice that `oneOf` makes of objects, and how to find the choice of all other objects.

    Each of its alternatives says of many branches that they do not hold. To negate these one by one
    would multiply them; but the other objects fit no branch, or two (see `logic.negated`). Where
    its `branches` are counted nobody looks at the alternatives.
    """

    __slots__ = ("branches", "others")

    def __init__(
        self,
        find: Callable[[], Choice],
        others: Callable[[], Choice],
        branches: Branches | None = None,
    ) -> None:
        """find, others: the alternatives of these objects, and of all others."""
        super().__init__(find)
        self.others = others
        self.branches = branches

    def __bool__(self) -> bool:
        return self.branches is not None or len(self) > 0


class Product(_FoundLater):
    """The alternatives of a conjunction of choices."""

    __slots__ = ("_branches", "choices")

    def __init__(self, choices: tuple[Choice, ...], location: Where) -> None:
        super().__init__(lambda: _multiplied(choices, location))
        self.choices = choices
        self._branches: list[Branches | None] = []

    @property
    def branches(self) -> Branches | None:
        """The branches to be counted if one choice has such, and all others one alternative."""
        if not self._branches:
            self._branches.append(_counted_within(self.choices))
        return self._branches[0]

    def __bool__(self) -> bool:
        return self.branches is not None or len(self) > 0


def branches_of(objects: Sequence[ObjectAlt]) -> Branches | None:
    """The branches to be counted, in place of alternatives; None where there are none."""
    return objects.branches if isinstance(objects, ExactlyOne | Product) else None


def cases_of(objects: Sequence[ObjectAlt]) -> Sequence[ObjectAlt]:
    """The alternatives; branches that are counted without the negations of others."""
    branches = branches_of(objects)
    return objects if branches is None else tuple(branches.each())


def _counted_within(choices: Sequence[Choice]) -> Branches | None:
    """The branches of the one choice that has such, where all others must hold as well."""
    found: Branches | None = None
    base: ObjectAlt | None = ANY_OBJECT
    order: list[str] = []
    for choice in choices:
        branches = branches_of(choice)
        if branches is None and (isinstance(choice, _FoundLater) or len(choice) != 1):
            return None
        if branches is None:
            base = base and conjoin_objects(base, choice[0])
            order += names_of(choice[0])
        elif found is None:
            found = branches
            order += branches.order
        else:
            return None
    if found is None or base is None:
        return None
    return found._replace(order=tuple(dict.fromkeys(order))).within(base)


def choices_of(objects: Sequence[ObjectAlt]) -> tuple[Choice, ...]:
    """The choices of which some alternatives are the product."""
    if isinstance(objects, Product):
        return objects.choices
    return (objects if isinstance(objects, tuple | ExactlyOne) else tuple(objects),)


def _conjoin_choices(
    left: Sequence[ObjectAlt], right: Sequence[ObjectAlt], location: Where
) -> Sequence[ObjectAlt]:
    """The conjunction of two unions of objects: at once if neither has several alternatives."""
    if left == ANYTHING.objects or right == ():
        return right
    if right == ANYTHING.objects or left == ():
        return left
    return product_of((*choices_of(left), *choices_of(right)), location)


def product_of(choices: tuple[Choice, ...], location: Where) -> Sequence[ObjectAlt]:
    """The alternatives of a conjunction of choices: found at once if each has only one."""
    if all(isinstance(choice, tuple) and len(choice) < 2 for choice in choices):
        return _product(choices, location, MAX_MULTIPLIED)
    return Product(tuple(dict.fromkeys(choices)), location)


def _multiplied(choices: tuple[Choice, ...], location: Where) -> Choice:
    """The product of choices, with clauses if there are many."""
    try:
        return _product(choices, location, MAX_MULTIPLIED)
    except BudgetError:
        pass
    base: Choice = (ANY_OBJECT,)
    for choice in choices:
        if len(choice) == 1:
            base = _conjoin_alternatives(base, choice, conjoin_objects, location)
    if not base:
        return ()
    left: list[Choice] = []
    others: list[Choice] = []  # with what must hold in any case
    clauses: list[Clause] = []
    evaluated: list[Regex] = []
    for choice in choices:
        if len(choice) == 1:
            continue
        joint = {a: conjoin_objects(base[0], a) for a in choice}
        possible = tuple(a for a in choice if joint[a] is not None)
        left.append(possible)
        found = as_clauses(possible)
        if found is None:
            others.append(tuple(a for a in joint.values() if a is not None))
        else:
            clauses += found
            evaluated += (a.evaluated for a in possible[:1])  # all of them evaluate the same keys
    if others and clauses and sum(len(choice) - 1 for choice in left) < MAX_SUMMED:
        try:
            return _summed([base, *left], location)
        except BudgetError:
            pass
    joined = simplified(ObjectAlt(clauses=tuple(dict.fromkeys(clauses)), evaluated=alt(*evaluated)))
    if joined is None:
        return ()
    first, *more = others or [base]
    return _product((first, (joined,), *more), location, MAX_ALTERNATIVES)


def _product(choices: tuple[Choice, ...], location: Where, most: int) -> Choice:
    """The choices multiplied out. Raises BudgetError for more than `most` alternatives."""
    found = choices[0]
    for choice in choices[1:]:
        found = _conjoin_alternatives(found, choice, conjoin_objects, location, most)
    return found


def _summed(choices: list[Choice], location: Where) -> Choice:
    """The choices multiplied out, if that gives no more alternatives than all of them have.

    So it is with conditions on a tag: each constant leaves the branches of one. Alternatives that
    have no clauses are read much faster. Raises BudgetError otherwise.
    """
    found = choices[0]
    most = len(found)
    for choice in choices[1:]:
        most += len(choice)
        found = _conjoin_alternatives(found, choice, conjoin_objects, location, most)
    return found


def as_clauses(choice: Choice) -> list[Clause] | None:
    """A choice as a conjunction of clauses; None if clauses cannot express it, or it takes many."""
    if not choice:
        return [Clause()]
    if len({notes_of(alternative) for alternative in choice}) > 1:
        return None  # clauses do not say which of them holds
    parts = [clauses_of(alternative) for alternative in choice]
    some = [part for part in parts if part is not None]
    if len(some) < len(parts):
        return None
    common = set(some[0]).intersection(*some[1:])
    found = [clause for clause in some[0] if clause in common]
    joined = distributed([[clause for clause in part if clause not in common] for part in some])
    return None if joined is None else found + joined


def distributed(parts: list[list[Clause]]) -> list[Clause] | None:
    """The clauses that say that all clauses of some part hold; None if they would be too many."""
    if prod(map(len, parts)) > MAX_DISTRIBUTED:
        return None
    ways = ([x for clause in way for x in clause] for way in product(*parts))
    joined = (Clause(dict.fromkeys(_without_absence(way))) for way in ways)
    return _without_weaker([clause for clause in joined if not _is_tautology(clause)])


def _without_absence(literals: list[Literal]) -> Iterator[Literal]:
    """The literals, "a key is absent" joined with "it fits" to "if it is there it fits"."""
    absent = {x.keys for x in literals if x.child == FALSE and isinstance(x, ForAll)}
    fitting = {x.keys for x in literals if x.child != FALSE and isinstance(x.keys, str)}
    for x in literals:
        if x.keys not in absent & fitting:
            yield x
        elif x.child != FALSE:
            yield ForAll(x.keys, x.child)


def _without_weaker(clauses: list[Clause]) -> list[Clause]:
    """The clauses without those that contain all literals of another one."""
    sets = [frozenset(clause) for clause in dict.fromkeys(clauses)]
    return [
        clause
        for clause, own in zip(dict.fromkeys(clauses), sets, strict=True)
        if not any(other < own for other in sets)
    ]


def _is_tautology(clause: Clause) -> bool:
    """Whether a clause has a literal and its dual."""
    universal = {(x.keys, x.child) for x in clause if isinstance(x, ForAll)}
    return bool(universal) and any(
        (x.keys, (x.child[0].negation,)) in universal
        for x in clause
        if isinstance(x, Exists) and len(x.child) == 1
    )


def clauses_of(o: ObjectAlt) -> list[Clause] | None:
    """The obligations of an alternative as clauses; None if it has bounds, which are none.

    A required key is the clause of one `Exists`, a property that of one `ForAll`.
    """
    if o.least or o.most is not None:
        return None
    required: dict[str, Expr] = dict.fromkeys(o.required, TRUE)
    found: list[Literal] = []
    for group in o.groups:
        for key, child in group.named.items():
            if key in required:
                required[key] = conjoin(required[key], child)
            elif child != TRUE:
                found.append(ForAll(key, child))
        found += (ForAll(keys, child) for keys, child in group.patterns if child != TRUE)
        if group.additional != TRUE:
            listed = alt(words(group.named), *(keys for keys, _ in group.patterns))
            found.append(ForAll(complement(listed), group.additional))
        if group.names is not ANY:
            found.append(ForAll(complement(group.names), FALSE))
    wanted = (Exists(key, child) for key, child in required.items())
    return [*(Clause((literal,)) for literal in (*wanted, *found)), *o.clauses]


# -- children -----------------------------------------------------------------------------------


def children_of(form: NormalForm) -> Iterator[Expr]:
    """All expressions that a normal form refers to."""
    for array in form.arrays:
        for prefix, tail in array.lists:
            yield from (*prefix, tail)
        yield from (counted.child for counted in array.contains)
    branches = branches_of(form.objects)
    if branches is not None:
        yield from branches.expressions()
    for object_ in form.objects if branches is None else (branches.common,):
        for group in object_.groups:
            yield from map(group.named.__getitem__, group.named)
            yield from (child for _, child in group.patterns)
            yield group.additional
        yield from (literal.child for clause in object_.clauses for literal in clause)
