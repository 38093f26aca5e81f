"""In: rules as expressions. Out: the same with regular rules written out where they are used.

A rule that neither uses itself nor anything but regular pieces is a terminal in all but name.
Making it one saves the parser an item for every character. Only for languages whose terminals may
end anywhere, where cutting a text into terminals or rules is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structgen.automaton.regex import complement, intersect
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
)

_LARGEST = 80  # regular pieces of a rule that is written out elsewhere


def folded(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules, in their order, with regular ones inside one another written out."""
    regular: dict[str, Text] = {}
    small: dict[str, Text] = {}
    sizes: dict[str, int] = {}
    done: dict[str, Expression] = {}
    for name in _inner_first(rules):
        expression = _rebuilt(rules[name], small, regular)
        done[name] = expression
        sizes[name] = sum(sizes.get(used, 0) or 1 for used in _leaves(rules[name]))
        if isinstance(expression, Text):
            done[name] = regular[name] = Text(expression.language, name)
            if sizes[name] <= _LARGEST:
                small[name] = regular[name]
    return {name: done[name] for name in rules}


def _inner_first(rules: Mapping[str, Expression]) -> Iterator[str]:
    """All rules, those that a rule uses before it where there is no circle."""
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


def _rebuilt(
    expression: Expression, small: Mapping[str, Text], regular: Mapping[str, Text]
) -> Expression:
    """An expression with small regular rules written out; with any in differences."""
    match expression:
        case Name():
            return small.get(expression.name, expression)
        case Sequence():
            return sequence(*(_rebuilt(part, small, regular) for part in expression.parts))
        case Choice():
            return choice(*(_rebuilt(part, small, regular) for part in expression.parts))
        case Repeat():
            body = _rebuilt(expression.body, small, regular)
            return repeated(body, expression.low, expression.high)
        case Difference():
            most = _rebuilt(expression.most, regular, regular)
            less = _rebuilt(expression.less, regular, regular)
            if isinstance(most, Text) and isinstance(less, Text):
                language = intersect(most.language, complement(less.language))
                return Text(language, f"{most.words} - {less.words}")
            return Difference(most, less, expression.place)
        case Text() | Nested():
            return expression
