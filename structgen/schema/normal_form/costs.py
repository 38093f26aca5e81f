"""The size of the smallest value that fits a normal form, and whether there is one at all.

One least fixpoint answers both questions: costs start as None (no value is known) and are lowered
until nothing changes (Knuth 1977, "A generalization of Dijkstra's algorithm", section 2). A
recursive schema without a finite instance, a required child that cannot exist, a count that cannot
be met: all show as a normal form without a cost. A size is in bytes of JSON text with the shortest
gaps.

Whether an alternative is empty depends on the costs of its children, and these on their matchers,
which `schema.matchers` makes. Most questions are answered without the fixpoint:
`surely_satisfiable` looks at required children only, and is right when it says yes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

from structgen.automata.lexer.json_lexemes import Scalar
from structgen.automata.lexer.lexer import LexState, Row, Text
from structgen.automata.lexer.shortest_paths import ends
from structgen.errors import BudgetError
from structgen.regular.expressions.nodes import Alt, And
from structgen.regular.expressions.search import MAX_LENGTH
from structgen.regular.numbers.language import constraints_of
from structgen.regular.regex import EMPTY, Regex, matches, min_length, readable, shortest
from structgen.schema.normal_form.combination import branches_of, children_of
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import ArrayAlt, NormalForm, ObjectAlt
from structgen.schema.normal_form.progress import CostOf
from structgen.schema.values import Value
from structgen.util.cancellation import checkpoint
from structgen.util.json_pointer import location

MAX_NESTED = 20  # levels of normal forms that `surely_satisfiable` descends
MAX_REACHED = 2000  # normal forms looked at by `reaches`
SHORT_NUMBERS = [  # all of one character and of two, and some of three
    *map(str, range(10)),
    *(f"-{digit}" for digit in range(10)),
    *map(str, range(10, 100)),
    *(f"{digit}.{tenth}" for digit in range(10) for tenth in range(1, 10)),
]
SHORTEST = 2  # bytes of an empty array or object without a gap in it


class Expressions(Protocol):
    """What makes expressions, and knows their normal forms (`keywords.schemas.Schemas`)."""

    surrogates: bool  #: strings may have unpaired ones, by the characters that stand in for them

    def normal_form(self, expr: Expr) -> NormalForm:
        """The normal form of an expression."""

    def negation(self, expr: Expr) -> Expr:
        """The expression of the values that do not fit `expr`."""

    def one_of(self, values: frozenset[Value]) -> Expr:
        """The expression of exactly these values."""

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression of the values that fit at least one of `exprs`."""

    def surely_satisfiable(self, expr: Expr) -> bool:
        """Whether some value certainly fits, as far as is seen at a glance."""


class Matcher(Protocol):
    """What is asked here of the matcher of an alternative."""

    def minimum(self, cost_of: CostOf) -> int | None:
        """Fewest bytes of a value that fits, given the costs of children; None if none does."""

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """Whether infinitely many values certainly fit, given of which children they do."""

    def surely_satisfiable(self) -> bool:
        """Whether some value certainly fits, as far as is seen without a search."""


class MembersMatcher(Matcher, Protocol):
    """What is asked of the matcher of an alternative of objects besides."""

    @property
    def listed_members(self) -> dict[str, tuple[Expr, bool]] | None:
        """By name, what the value must fit and whether it must come, if nothing else matters."""


class Costs(ABC):
    """Costs of normal forms, for one length of gaps."""

    def __init__(
        self, expressions: Expressions, gap: int, missing: frozenset[ArrayAlt] = frozenset()
    ) -> None:
        """missing: alternatives taken to be empty."""
        self.gap = gap  #: fewest bytes of a gap between lexemes
        self.normal_form_of = expressions.normal_form
        self.negation = expressions.negation
        self._expressions = expressions
        self._missing = missing
        #: what objects with the same names and groups share (see `ObjectMatcher.all_key_classes`)
        self.key_classes: dict[Hashable, Any] = {}
        self._solved: dict[NormalForm, int | None] = {}
        self._scalars: dict[NormalForm, int | None] = {}
        self._being_checked: set[NormalForm] = set()  # by `_surely_satisfiable`
        self._certain: set[NormalForm] = set()  # for which it said yes

    @abstractmethod
    def object_matchers(self, form: NormalForm) -> Iterable[Matcher]:
        """The matchers of all object alternatives, or the one that counts branches."""

    @abstractmethod
    def array_matcher(self, alt: ArrayAlt) -> Matcher:
        """The matcher of an alternative of arrays."""

    @abstractmethod
    def objects(self, form: NormalForm) -> Sequence[MembersMatcher]:
        """The matchers of the object alternatives that some object fits."""

    @abstractmethod
    def arrays(self, form: NormalForm) -> Sequence[Matcher]:
        """The matchers of the array alternatives that some array fits."""

    def of(self, expr: Expr) -> int | None:
        """Fewest bytes of a value that fits an expression, None if none does."""
        try:
            return self.of_form(self.normal_form_of(expr))
        except BudgetError as error:
            _locate(error, expr)
            raise

    def surely_satisfiable(self, expr: Expr) -> bool:
        """Whether some value certainly fits an expression, as its subschema shows."""
        return self._expressions.surely_satisfiable(expr)

    def satisfiable(self, expr: Expr) -> bool:
        """Whether some value fits an expression."""
        if self.surely_satisfiable(expr):
            return True
        try:
            form = self.normal_form_of(expr)
            certain = _has_scalar(form) or self._surely_satisfiable(form)
            return certain or self.of_form(form) is not None
        except BudgetError as error:
            _locate(error, expr)
            raise

    def _surely_satisfiable(self, form: NormalForm) -> bool:
        """Whether some array or object certainly fits, as is seen without the fixpoint."""
        if form in self._certain:  # or nested pairs would take exponential time
            return True
        if form in self._solved or form in self._being_checked:
            return False
        if len(self._being_checked) >= MAX_NESTED:
            return False
        self._being_checked.add(form)
        try:
            found = self._may_be_empty(form) or any(
                matcher.surely_satisfiable() for matcher in self._matchers(form)
            )
        finally:
            self._being_checked.discard(form)
        if found:
            self._certain.add(form)
        return found

    def of_form(self, form: NormalForm) -> int | None:
        """Fewest bytes of a value that fits a normal form, None if none does."""
        if not self._is_known(form):
            self._solve(form)
        return self._solved[form]

    def _is_known(self, form: NormalForm) -> bool:
        """Whether the cost of a normal form is known, or is seen without costs of children."""
        if form in self._solved:
            return True
        best = self._simple_cost(form)
        least = best is not None and best <= SHORTEST + self.gap
        known = least or not (form.arrays or form.objects)
        if known:
            self._solved[form] = best
        return known

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression of the values that fit at least one of `exprs`."""
        return self._expressions.union(exprs)

    def one_of(self, values: frozenset[Value]) -> Expr:
        """The expression of exactly these values."""
        return self._expressions.one_of(values)

    def reaches(self, expr: Expr, alt: ArrayAlt) -> bool:
        """Whether a value that fits may contain an array of the alternative `alt`, or be one."""
        seen = {self.normal_form_of(expr)}
        todo = list(seen)
        while todo and len(seen) <= MAX_REACHED:
            form = todo.pop()
            if alt in form.arrays:
                return True
            fresh = {self.normal_form_of(child) for child in children_of(form)} - seen
            seen |= fresh
            todo += fresh
        return bool(todo)

    def _matchers(self, form: NormalForm) -> Iterator[Matcher]:
        yield from (self.array_matcher(alt) for alt in form.arrays if alt not in self._missing)
        yield from self.object_matchers(form)

    def _solve(self, first: NormalForm) -> None:
        """Find the cost of `first` and of all normal forms that it depends on, by a work list.

        A normal form is evaluated again when the cost of one that it asked for has fallen.
        """
        values: dict[NormalForm, int | None] = {first: None}
        asked_by: dict[NormalForm, dict[NormalForm, None]] = {}
        fresh, stale = [first], dict[NormalForm, None]()
        while fresh or stale:
            checkpoint()
            form = fresh.pop() if fresh else _pop_oldest(stale)

            def cost_of(expr: Expr, form: NormalForm = form) -> int | None:
                child = self.normal_form_of(expr)
                if self._is_known(child):
                    return self._solved[child]
                if child not in values:
                    values[child] = None
                    fresh.append(child)
                asked_by.setdefault(child, {})[form] = None
                return values[child]

            best = self._simple_cost(form)
            for matcher in self._matchers(form):
                if best is not None and best <= SHORTEST + self.gap:
                    break
                size = matcher.minimum(cost_of)
                best = size if best is None or (size is not None and size < best) else best
            known = values[form]
            if best is not None and (known is None or best < known):
                values[form] = best
                stale.update(asked_by.get(form, {}))
        self._solved.update(values)

    def _simple_cost(self, form: NormalForm) -> int | None:
        """Fewest bytes of a scalar that fits, or of an empty container; needs no matcher."""
        if form not in self._scalars:
            sizes = [4] * (form.null or form.true) + [5] * form.false
            quoted = _quoted(readable(form.string), self._expressions.surrogates)
            scalars = _digits(form.number), quoted
            sizes += [size for size in scalars if size]
            if self._may_be_empty(form):
                sizes.append(SHORTEST + self.gap)
            self._scalars[form] = min(sizes, default=None)
        return self._scalars[form]

    def _may_be_empty(self, form: NormalForm) -> bool:
        """Whether an empty array or object certainly fits."""
        arrays = (alt for alt in form.arrays if alt not in self._missing)
        listed = form.objects if branches_of(form.objects) is None else ()
        return any(map(_may_be_empty, listed)) or any(map(_may_hold_nothing, arrays))


def _locate(error: BudgetError, expr: Expr) -> None:
    """Add the location of an expression to an error that has none."""
    if not error.location and expr:
        error.location = location(expr[0].location)


def _has_scalar(form: NormalForm) -> bool:
    """Whether a scalar fits; does not look for the shortest."""
    if form.null or form.true or form.false:
        return True
    return not (form.string.is_empty() and form.number.is_empty())


def _pop_oldest(queue: dict[NormalForm, None]) -> NormalForm:
    """The normal form that has waited longest, taken out of the queue."""
    form = next(iter(queue))
    del queue[form]
    return form


def known_cost(size: int | None) -> int:
    """A cost that must exist, because matchers offer only what some value fits."""
    if size is None:
        raise BudgetError("a value that nothing fits was offered", hint="please report this schema")
    return size


def _may_be_empty(alt: ObjectAlt) -> bool:
    """Whether an object without members certainly fits."""
    return not (alt.required or alt.least or alt.clauses)


def _may_hold_nothing(alt: ArrayAlt) -> bool:
    """Whether an array without items certainly fits."""
    return not (alt.least or alt.contains or alt.repeated)


@lru_cache(maxsize=1024)
def _digits(language: Regex) -> int | None:
    """Characters of the shortest number of a language."""
    if language is EMPTY:
        return None
    # a search takes long where values are excluded, or several conditions are about multiples
    combined = isinstance(language, Alt | And) and constraints_of(language) is None
    few = SHORT_NUMBERS if combined else SHORT_NUMBERS[:1]
    number = next((text for text in few if matches(language, text)), None) or shortest(language)
    return None if number is None else len(number)


@lru_cache(maxsize=1024)
def _quoted(language: Regex, surrogates: bool) -> int | None:
    """Bytes of the shortest JSON string whose content is in the language.

    At least so many where it is too long to be written: any other value is shorter then.
    """
    length = min_length(language)
    if length is None:
        return None
    if length > MAX_LENGTH:
        return length + len('""')
    word = shortest(language) or ""
    size = len(json.dumps(word, ensure_ascii=False).encode())
    if size == len(word) + 2:
        return size  # one byte for each of the fewest characters
    start = Text((language,), Scalar(quoted=True, surrogates=surrogates))
    return 1 + next(len(e.path) for e in ends(start, _row) if e.terminal is not None)


def _row(state: LexState) -> Row:
    return state.row(_row)
