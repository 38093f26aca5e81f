"""All texts that a Python pattern can match whole, in whatever order it tries alternatives.

Where that order decides which text is matched, see `leftmost_first`.
"""

from __future__ import annotations

from structgen.grammar.terminals.python_regex import (
    Branch,
    End,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
)
from structgen.regular.regex import ANY, INFINITE, Regex, alt, chars, concat, repeat
from structgen.regular.syntax import assertions as ecma


def language_of(node: Node) -> Regex:
    """The texts that a node can match from end to end; of a lookahead: those that it lets follow.

    Raises BudgetError for too many assertions.
    """
    translated = _translated(node)
    if isinstance(node, Look | End):
        translated = ecma.Sequence((translated, ANY))
    return ecma.translate(translated, anchored=True)


def lookbehind_language(look: Look) -> Regex:
    """All texts behind which a lookbehind finds what it looks for."""
    return concat(ANY, language_of(look.body))


def _translated(node: Node) -> ecma.Node:
    """The node as one of the regular expressions with assertions (ECMA-262's)."""
    match node:
        case OneChar():
            return chars(node.chars)
        case Sequence():
            parts = [_translated(part) for part in node.parts]
            if all(isinstance(part, Regex) for part in parts):
                return concat(*(part for part in parts if isinstance(part, Regex)))
            return ecma.Sequence(tuple(parts))
        case Branch():
            parts = [_translated(part) for part in node.parts]
            if all(isinstance(part, Regex) for part in parts):
                return alt(*(part for part in parts if isinstance(part, Regex)))
            return ecma.Choice(tuple(parts))
        case Loop():
            body = _translated(node.body)
            if isinstance(body, Regex):
                return repeat(body, node.low, None if node.high == INFINITE else node.high)
            return ecma.Loop(body, node.low, node.high)
        case Look():
            return ecma.Look(_translated(node.body), node.behind, node.negative)
        case End():
            return ecma.Edge("end")
