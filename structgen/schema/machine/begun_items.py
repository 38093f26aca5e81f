"""In: what the next item of an array must fit, apart from being new. Out: how it may begin.

An item that must differ from others can begin as it likes where infinitely many values begin so:
no more than a byte or two have to be read, and nobody has to ask for the others, before it is known
what a token reads there.
"""

from __future__ import annotations

from structgen.automata.lexer.joints import Fork, gap
from structgen.automata.lexer.lexer import End, LexState, Text
from structgen.automata.pushdown.machine import SKIP
from structgen.regular.infinite import endless, is_infinite
from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.regex import EMPTY
from structgen.schema.machine.lexemes import Layout, Scalar, wanted
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.nodes import Node

LATER = ("later",)  #: the label with which reading ends where the others matter
AT_ONCE = Fork((), SKIP)  #: the entry of a frame before which nothing is read
_ON = Fork((), LATER, recorded=True)


def beginning(vector: tuple[Node, ...], costs: Costs, layout: Layout) -> LexState:
    """At the start of a value that fits one of `vector` and differs from finitely many others."""
    key = gap(layout.inner, Fork(((ord('"'), _ON), (ord("}"), End(LATER))), recorded=True))
    after: dict[str, LexState] = {}  # by first byte, where infinitely many values begin so
    strings = tuple(wanted(node).string for node in vector)
    if all(string is EMPTY or endless(string) for string in strings):
        after['"'] = Text(strings, Scalar(True, LATER[0]))
    chars = ""
    for node in vector:
        chars += "n" * node.null + "t" * node.true + "f" * node.false
        chars += "-0123456789" * (not node.number.is_empty()) + '"' * (not node.string.is_empty())
        chars += "[" * bool(costs.arrays(node)) + "{" * bool(costs.objects(node))
        if node.number is JSON_NUMBER:
            after |= dict.fromkeys("-0123456789", _ON)
        if is_infinite(node.string):
            after.setdefault('"', _ON)
        if _any_many(costs, node, "arrays"):
            after["["] = _ON
        if _any_many(costs, node, "objects"):
            after["{"] = key
    targets = tuple((ord(c), after.get(c, End(LATER))) for c in dict.fromkeys(chars))
    return Fork(targets, recorded=True)


def _any_many(costs: Costs, node: Node, kind: str) -> bool:
    """Whether infinitely many arrays, or objects, plainly fit a node."""

    def many(child: Expr) -> bool:
        return costs.has_many(costs.node_of(child))

    return any(plan.has_many(many) for plan in getattr(costs, kind)(node))
