"""Key rules: what values of keys without a name must fit, by the languages that the keys are in.

The patterns of an object may overlap in exponentially many ways, so that keys are not sorted into
classes beforehand (`key_classes`). Instead a key is read against all patterns side by side, and
what its value must fit follows from those that it is in at its end. To know before that end which
keys may come, only combinations that no value fits have to be found (`KeyRules.parts`).

A value has one of seven types. A key may come if some type is left to its value: if it is in no
language whose child refuses the type, and in no combination of languages whose children contradict
each other within the type. So the keys that may come are a union of few languages, one per type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from itertools import combinations
from typing import Any, NamedTuple

from structgen.errors import BudgetError
from structgen.regular.expressions.logic import alternatives_of, begin_differently
from structgen.regular.infinite import every_prefix_is_infinite
from structgen.regular.regex import Regex, alt, complement, intersect, readable_together
from structgen.schema.normal_form.combination import conjunction
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import FALSE, TRUE, Expr, conjoin
from structgen.schema.normal_form.forms import (
    ANYTHING,
    NOTHING,
    NormalForm,
    ObjectAlt,
    PropertyGroup,
)
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_COMBINATIONS = 1000  # sets of languages looked at to find those that contradict each other
TYPES = ("null", "true", "false", "number", "string", "arrays", "objects")


class Rule(NamedTuple):
    """A language of keys, what the value of a key in it must fit, and the group it belongs to."""

    keys: Regex
    child: Expr
    group: int


class KeyRules:
    """The rules about the keys of an object alternative that are not named."""

    def __init__(self, o: ObjectAlt, costs: Costs) -> None:
        self._costs = costs
        self._groups = [group for group in o.groups if group.patterns]
        plain = (group.additional for group in o.groups if not group.patterns)
        self._always = conjoin(*plain)  # what all unnamed keys must fit
        refused = [complement(group.names) for group in o.groups]
        for group in self._groups:
            refused += (keys for keys, child in group.patterns if child == FALSE)
            if group.additional == FALSE:
                refused.append(_rest(group))
        self._open = complement(alt(*refused))  # the keys that no rule refuses for itself
        self._children: dict[tuple[bool, ...], Expr] = {}

    @cached_attribute
    def _rules(self) -> list[Rule]:
        """The rules of patterns, one for each group and normal form."""
        form_of = self._costs.normal_form_of
        found: list[Rule] = []
        for at, group in enumerate(self._groups):
            by_form: dict[NormalForm, tuple[Expr, list[Regex]]] = {}
            for keys, child in group.patterns:
                if child != FALSE:
                    by_form.setdefault(form_of(child), (child, []))[1].append(keys)
            if at not in self._rests:
                by_form.pop(ANYTHING, None)
            found += (Rule(alt(*languages), child, at) for child, languages in by_form.values())
        return found

    @cached_attribute
    def _rests(self) -> dict[int, Rule]:
        """By group, the rule about the keys that none of its patterns is about."""
        return {
            at: Rule(_rest(group), group.additional, at)
            for at, group in enumerate(self._groups)
            if group.additional not in (TRUE, FALSE)
        }

    @cached_attribute
    def languages(self) -> tuple[Regex, ...]:
        """The languages that a key is read against: all that may come, and one for each rule.

        Without some texts of a format that all of them ask for (see `estimates`).
        """
        keys = alt(*self.parts)
        return readable_together((keys, *self._languages_within(keys)))

    @property
    def keys(self) -> Regex:
        """The keys that may come: those for which some value is left."""
        return self.languages[0]

    @property
    def rule_languages(self) -> tuple[Regex, ...]:
        """For each rule, the language of its keys that may come."""
        return self.languages[1:]

    def _languages_within(self, every: Regex) -> tuple[Regex, ...]:
        """For each rule, its keys among all that may come."""
        alternatives = frozenset(alternatives_of(every))

        def may_come(keys: Regex) -> bool:
            """Whether all of some keys may, plainly."""
            listed = alternatives.issuperset(alternatives_of(keys))
            return listed or alt(keys, every) is every

        return tuple(
            rule.keys
            if may_come(rule.keys)
            else alt(*(intersect(rule.keys, part) for part in self._parts_with(rule.keys)))
            for rule in self._rules
        )

    @cached_attribute
    def parts(self) -> tuple[Regex, ...]:
        """The languages of which `keys` is the union, one for each way to refuse few keys."""
        return tuple(intersect(self._open, *map(self._apart, way)) for way in self._ways)

    def _parts_with(self, keys: Regex) -> Iterator[Regex]:
        """The parts that do not refuse all of some keys, which is plain here and hard to find."""
        parts = zip(self.parts, self._ways, strict=True)
        return (part for part, refused in parts if (keys,) not in refused)

    @cached_attribute
    def _ways(self) -> list[frozenset[tuple[Regex, ...]]]:
        """The ways to refuse few keys: sets of languages of which a key may not be in all."""
        ways = dict.fromkeys(self._refused_by_type())
        return [way for way in ways if not any(other < way for other in ways)]

    @cached_attribute
    def every_prefix_is_infinite(self) -> bool:
        """Whether what has been read of a key can go on in infinitely many ways, plainly."""
        return all(map(every_prefix_is_infinite, self.parts))

    def child(self, is_in: Callable[[Regex], bool]) -> Expr:
        """What the value of a key must fit; is_in: whether the key is in one of `languages`."""
        holds = tuple(map(is_in, self.rule_languages))
        found = self._children.get(holds)
        if found is None:
            held = [rule for rule, holding in zip(self._rules, holds, strict=True) if holding]
            groups = {rule.group for rule in held}
            held += (rest for at, rest in self._rests.items() if at not in groups)
            found = conjoin(self._always, *(rule.child for rule in held))
            self._children[holds] = found
        return found

    # -- combinations that no value fits ---------------------------------------------------------

    @staticmethod
    def _apart(languages: tuple[Regex, ...]) -> Regex:
        return complement(intersect(*languages))

    def _refused_by_type(self) -> Iterator[frozenset[tuple[Regex, ...]]]:
        """For each type that values may have, the sets of languages that leave no such value."""
        always = self._costs.normal_form_of(self._always)
        forms = [
            (rule.keys, self._costs.normal_form_of(conjoin(self._always, rule.child)))
            for rule in (*self._rules, *self._rests.values())
        ]
        for kind in TYPES:
            if not self._has(always, kind):
                continue
            languages: list[Regex] = []
            children: list[NormalForm] = []
            refused: list[tuple[Regex, ...]] = []
            for keys, form in forms:
                if self._has(form, kind):
                    languages.append(keys)
                    children.append(_only(form, kind))
                else:
                    refused.append((keys,))
            conflicts = _conflicts(languages, partial(self._fits, children))
            yield frozenset((*refused, *conflicts))

    def _has(self, form: NormalForm, kind: str) -> bool:
        """Whether some value of a type fits a normal form."""
        if kind in ("arrays", "objects"):
            found = getattr(self._costs, kind)(form) if getattr(form, kind) else []
            return bool(found)
        found = getattr(form, kind)
        return found if isinstance(found, bool) else not found.is_empty()

    def _fits(self, children: list[NormalForm], some: frozenset[int]) -> bool:
        """Whether some value fits several forms."""
        if len(some) < 2:
            return True
        joined = reduce(conjunction, (children[i] for i in sorted(some)))
        return self._costs.of_form(joined) is not None


def sample_languages(o: ObjectAlt, is_worth: Callable[[Regex], bool]) -> Iterator[Regex]:
    """Languages in which keys with few bytes are looked for: in no pattern, in one, in some.

    is_worth: whether a pattern is to be looked at.
    """
    patterns = [keys for group in o.groups for keys, _ in group.patterns]
    yield complement(alt(*patterns))
    for keys in patterns:
        if is_worth(keys):
            others = (x for x in patterns if x is not keys and not begin_differently(keys, x))
            yield intersect(keys, complement(alt(*others)))
            yield keys


def _rest(group: PropertyGroup) -> Regex:
    """The keys that no pattern of a group is about."""
    return complement(alt(*(keys for keys, _ in group.patterns)))


def _only(form: NormalForm, kind: str) -> NormalForm:
    """The values of one type that fit a normal form."""
    found: Any = {kind: getattr(form, kind)}
    return replace(NOTHING, **found)


def _conflicts(
    languages: list[Regex], fits: Callable[[frozenset[int]], bool]
) -> list[tuple[Regex, ...]]:
    """The smallest sets of languages that overlap, perhaps, and whose children no value fits.

    fits: whether some value fits the children with some indices. Where not all fit together, pairs
    are compared; then the largest sets without a pair that conflicts (Bron and Kerbosch 1973).
    """
    everything = frozenset(range(len(languages)))
    if fits(everything):
        return []
    found: list[frozenset[int]] = []
    beside: list[set[int]] = [set() for _ in languages]  # by index, what it may stand beside
    for i, j in combinations(everything, 2):
        if begin_differently(languages[i], languages[j]):
            continue  # no key is in both
        if fits(frozenset((i, j))):
            beside[i].add(j)
            beside[j].add(i)
        else:
            found.append(frozenset((i, j)))
    tries = 0
    todo = [(frozenset[int](), everything, frozenset[int]())]  # chosen, may be added, tried before
    while todo:
        checkpoint()
        chosen, possible, done = todo.pop()
        tries += 1
        if tries > MAX_COMBINATIONS:
            raise BudgetError(
                "the patterns of 'patternProperties' overlap in too many ways",
                expected=f"at most {MAX_COMBINATIONS} sets of patterns that one key may have",
                hint="use fewer patterns, or patterns that exclude each other",
            )
        if not possible:
            if not done:
                found += _smallest(chosen, fits, found)
            continue
        pivot = max(possible | done, key=lambda i: len(beside[i] & possible))
        for i in sorted(possible - beside[pivot]):
            todo.append((chosen | {i}, possible & beside[i], done & beside[i]))
            possible, done = possible - {i}, done | {i}
    return [tuple(languages[i] for i in sorted(some)) for some in found]


def _smallest(
    some: frozenset[int], fits: Callable[[frozenset[int]], bool], known: list[frozenset[int]]
) -> Iterator[frozenset[int]]:
    """The smallest subsets of a set that do not fit, beside those that are known."""
    todo, seen = [some], set(known)
    while todo:
        left = todo.pop()
        if fits(left):
            continue
        smallest = left
        for i in sorted(left):
            if not fits(smallest - {i}):
                smallest -= {i}
        if smallest not in seen:
            seen.add(smallest)
            yield smallest
        todo += (left - {i} for i in smallest if left - {i} not in todo)
