"""All texts that a Python pattern can match whole, in whatever order it tries alternatives.

Where that order decides which text is matched, see `leftmost_first`.
"""

from __future__ import annotations

from functools import lru_cache
from re import _constants as sre

from structgen.grammar.terminals.python_chars import literal_set
from structgen.grammar.terminals.python_regex import (
    Branch,
    End,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
)
from structgen.regular.charset import CharSet
from structgen.regular.regex import ANY, INFINITE, Regex, alt, chars, concat, literal, repeat
from structgen.regular.syntax import assertions as ecma

_MOST_LISTED = 50_000  # texts


def language_of(node: Node) -> Regex:
    """The texts that a node can match from end to end; of a lookahead: those that it lets follow.

    Raises BudgetError for too many assertions.
    """
    translated = _translated(node)
    if isinstance(node, Look | End):
        translated = ecma.Sequence((translated, ANY))
    return ecma.translate(translated, anchored=True)


@lru_cache(maxsize=4096)
def in_any_case(text: str) -> Regex:
    """The texts that a literal matches where case does not matter."""
    return concat(*(chars(literal_set(ord(char), sre.SRE_FLAG_IGNORECASE)) for char in text))


def lookbehind_language(look: Look) -> Regex:
    """All texts behind which a lookbehind finds what it looks for."""
    return concat(ANY, language_of(look.body))


def _character(node: Node) -> str:
    """The only character that a node reads, "" where it is not one that a text can hold."""
    ranges = node.chars.ranges if isinstance(node, OneChar) else ()
    if len(ranges) != 1 or ranges[0][0] != ranges[0][1] or 0xD800 <= ranges[0][0] < 0xE000:
        return ""
    return chr(ranges[0][0])


def texts_in_order(node: Node, sets: dict[str, CharSet]) -> list[str] | None:
    """All texts that a node can match, in the order in which they are tried.

    A set of characters is written as its first one. sets: set to the sets that are read. None where
    texts are more than some ten thousands, or not listed character by character.
    """
    match node:
        case OneChar():
            first = chr(node.chars.first) if node.chars else ""
            is_new = sets.setdefault(first, node.chars) is node.chars
            return [first] if first and is_new and not "\ud800" <= first < "\ue000" else None
        case Sequence():
            found = [""]
            for part in node.parts:
                more = texts_in_order(part, sets)
                if more is None or len(found) * len(more) > _MOST_LISTED:
                    return None
                found = [text + behind for text in found for behind in more]
            return found
        case Branch():
            listed: list[str] = []
            for part in node.parts:
                more = texts_in_order(part, sets)
                if more is None or len(listed) + len(more) > _MOST_LISTED:
                    return None
                listed += more
            return listed
    return None


def _translated(node: Node) -> ecma.Node:
    """The node as one of the regular expressions with assertions (ECMA-262's)."""
    match node:
        case OneChar():
            return chars(node.chars)
        case Sequence():
            parts: list[ecma.Node] = []
            text = ""
            for part in node.parts:
                letter = _character(part)
                text += letter
                if not letter:
                    parts += (literal(text), _translated(part)) if text else (_translated(part),)
                    text = ""
            if text:
                parts.append(literal(text))
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
