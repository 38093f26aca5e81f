"""Inlines regular rules: makes one terminal of a rule that is not recursive.

A rule that uses neither itself nor anything but regular parts is a terminal in all but name. Making
it one saves the parser an item for every character. Only for notations whose terminals may end
anywhere, where it makes no difference how a text is cut into terminals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structgen.grammar.expressions import (
    Choice,
    Difference,
    Expression,
    Name,
    Nested,
    Repeat,
    Sequence,
    Text,
    choice,
    repeated,
    sequence,
    without_empty,
)
from structgen.regular.regex import Regex, complement, intersect

_LARGEST = 80  # regular pieces of a rule that is inlined
_MOST_WRITTEN_OUT = 5_000  # regular pieces where all of a grammar becomes one language


def with_inlining(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules, in their order, with small regular ones inlined."""
    inliner = _Inliner(rules)
    small: dict[str, Text] = {}
    sizes: dict[str, int] = {}
    done: dict[str, Expression] = {}
    for name in _inner_first(rules):
        expression = inliner.rebuilt(rules[name], small)
        done[name] = expression
        sizes[name] = sum(sizes.get(used, 0) or 1 for used in _leaves(rules[name]))
        if isinstance(expression, Text):
            done[name] = inliner.regular[name] = Text(expression.language, name)
            if sizes[name] <= _LARGEST:
                small[name] = inliner.regular[name]
    return {name: done[name] for name in rules}


def without_inlining(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules as written, with only the two sides of differences made regular."""
    inliner = _Inliner(rules)
    done: dict[str, Expression] = {}
    for name in _inner_first(rules):
        done[name] = inliner.rebuilt(rules[name], {})
        whole = inliner.rebuilt(rules[name], inliner.regular)
        if isinstance(whole, Text):
            inliner.regular[name] = Text(whole.language, name)
    return {name: done[name] for name in rules}


def regular_language(rules: Mapping[str, Expression], start: str) -> Regex | None:
    """The texts of a rule where it and those that it uses are regular and not recursive.

    None elsewhere, and where more than some thousand pieces would be written out.
    """
    if _is_recursive(rules, start):
        return None
    inliner = _Inliner(rules)
    sizes: dict[str, int] = {}
    for name in _inner_first(rules):
        sizes[name] = sum(sizes.get(used, 0) or 1 for used in _leaves(rules[name]))
        whole = inliner.rebuilt(rules[name], inliner.regular)
        if isinstance(whole, Text) and sizes[name] <= _MOST_WRITTEN_OUT:
            inliner.regular[name] = Text(whole.language, name)
    found = inliner.regular.get(start)
    return None if found is None else found.language


def _is_recursive(rules: Mapping[str, Expression], start: str) -> bool:
    """Whether a rule, or one that it uses, uses itself."""
    begun: set[str] = set()
    inside: set[str] = set()  # rules begun whose parts are not all done
    todo = [start]
    while todo:
        name = todo[-1]
        if name in begun:
            inside.discard(todo.pop())
            continue
        begun.add(name)
        inside.add(name)
        used = {*_leaves(rules[name])} & rules.keys()
        if used & inside:
            return True
        todo += used - begun
    return False


def _inner_first(rules: Mapping[str, Expression]) -> Iterator[str]:
    """All rules in topological order: those that a rule uses before it, where there is no cycle."""
    seen: set[str] = set()
    for root in rules:
        stack = [(root, False)]
        while stack:
            name, finished = stack.pop()
            if finished:
                yield name
            elif name not in seen:
                seen.add(name)
                stack.append((name, True))
                inner = dict.fromkeys(used for used in _leaves(rules[name]) if used in rules)
                stack += [(used, False) for used in inner if used not in seen]


def _leaves(expression: Expression) -> Iterator[str]:
    """The names in an expression, "" for every other leaf."""
    stack = [expression]
    while stack:
        node = stack.pop()
        match node:
            case Name():
                yield node.name
            case Sequence() | Choice():
                stack.extend(node.parts)
            case Repeat():
                stack.append(node.body)
            case Difference():
                stack += (node.most, node.less)
            case _:
                yield ""


class _Inliner:
    """Rebuilds expressions. regular: the rules found to be regular so far, each as one `Text`."""

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._rules = rules
        self.regular: dict[str, Text] = {}

    def rebuilt(self, expression: Expression, small: Mapping[str, Text]) -> Expression:
        """An expression with the rules of `small` inlined; in differences all regular ones."""
        match expression:
            case Name():
                return small.get(expression.name, expression)
            case Sequence():
                return sequence(*(self.rebuilt(part, small) for part in expression.parts))
            case Choice():
                return choice(*(self.rebuilt(part, small) for part in expression.parts))
            case Repeat():
                body = self.rebuilt(expression.body, small)
                return repeated(body, expression.low, expression.high)
            case Difference():
                return self._difference(expression)
            case Text() | Nested():
                return expression

    def _difference(self, expression: Difference) -> Expression:
        """A difference as one regular part, if both sides are regular."""
        most = self.rebuilt(expression.most, self.regular)
        less = self.rebuilt(expression.less, self.regular)
        if isinstance(less, Sequence) and not less.parts:
            if isinstance(most, Text):
                return Text(without_empty(most.language), most.words)
            if isinstance(most, Repeat) and not self._may_be_empty(most.body):
                return repeated(most.body, max(most.low, 1), most.high)
        if isinstance(most, Text) and isinstance(less, Text):
            language = intersect(most.language, complement(less.language))
            return Text(language, f"{most.words} - {less.words}")
        return Difference(most, less, expression.place)

    def _may_be_empty(self, expression: Expression) -> bool:
        """Whether an expression is nullable, by a least fixed point over the rules."""
        empty: set[str] = set()
        while True:
            found = {
                name
                for name, body in self._rules.items()
                if name not in empty and _is_empty(body, empty)
            }
            if not found:
                return _is_empty(expression, empty)
            empty |= found


def _is_empty(expression: Expression, empty: set[str]) -> bool:
    """Whether an expression is nullable where the rules in `empty` are."""
    match expression:
        case Name():
            return expression.name in empty
        case Sequence():
            return all(_is_empty(part, empty) for part in expression.parts)
        case Choice():
            return any(_is_empty(part, empty) for part in expression.parts)
        case Repeat():
            return expression.low == 0 or _is_empty(expression.body, empty)
        case Text():
            return expression.language.nullable
        case Difference():
            return _is_empty(expression.most, empty) and not _is_empty(expression.less, empty)
        case Nested():
            return True
