r"""Resolves the lookbehinds at the beginning of a pattern, given the text before the match.

`\bif` is /if/ behind a space and nothing at all behind a letter. Assertions at the beginning are
decided here; those that see characters of the match, too, are left to `leftmost_first`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from structgen.grammar.terminals.python_language import lookbehind_language
from structgen.grammar.terminals.python_regex import (
    EMPTY_TEXT,
    Branch,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
    width,
)
from structgen.regular.charset import CharSet
from structgen.regular.regex import INFINITE, Regex

_FAILURE = Branch(())


def resolved(node: Node, residuals: Mapping[Regex, Regex]) -> Node:
    """The pattern that is left behind a text.

    residuals: for the languages of lookbehinds (`python_language.lookbehind_language`) their
    derivatives by the text before.
    """
    match node:
        case Sequence():
            parts: list[Node] = []
            at_start = True
            for part in node.parts:
                parts.append(resolved(part, residuals) if at_start else part)
                at_start = at_start and width(part).most == 0
            return _in_a_row(parts)
        case Branch():
            ways = [resolved(part, residuals) for part in node.parts]
            kept = tuple(way for way in ways if not _fails(way))
            return kept[0] if len(kept) == 1 else Branch(kept)
        case Look(behind=True):
            rest = residuals.get(lookbehind_language(node))
            if rest is None:
                return node
            return _FAILURE if rest.nullable == node.negative else EMPTY_TEXT
        case Look():
            body = resolved(node.body, residuals)
            if _fails(body):
                return EMPTY_TEXT if node.negative else _FAILURE
            return node if body is node.body else Look(body, behind=False, negative=node.negative)
        case _:
            return node


def _fails(node: Node) -> bool:
    """Whether a pattern matches nothing."""
    return isinstance(node, Branch) and not node.parts


def _in_a_row(parts: Iterable[Node]) -> Node:
    """A concatenation, with a lookahead of one character joined with the character it is about."""
    flat: list[Node] = []
    for part in parts:
        flat += part.parts if isinstance(part, Sequence) else [part]
    if any(map(_fails, flat)):
        return _FAILURE
    for i in range(len(flat) - 2, -1, -1):
        look = flat[i]
        if isinstance(look, Look) and not look.behind and isinstance(look.body, OneChar):
            wanted = ~look.body.chars if look.negative else look.body.chars
            rest = [j for j in range(i + 1, len(flat)) if not isinstance(flat[j], Look)]
            begun = _begun(flat[rest[0]], wanted) if rest else None
            if begun is not None:
                flat[i : rest[0] + 1] = [*flat[i + 1 : rest[0]], begun]
    if any(map(_fails, flat)):
        return _FAILURE
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _begun(node: Node, wanted: CharSet) -> Node | None:
    """A pattern that has to begin with one of some characters; None where that is not simple."""
    match node:
        case OneChar():
            chars = node.chars & wanted
            return OneChar(chars) if chars else _FAILURE
        case Sequence() if node.parts:
            first = _begun(node.parts[0], wanted)
            return None if first is None else _in_a_row((first, *node.parts[1:]))
        case Branch():
            ways = [_begun(part, wanted) for part in node.parts]
            kept = tuple(way for way in ways if way is not None and not _fails(way))
            if None in ways:
                return None
            return kept[0] if len(kept) == 1 else Branch(kept)
        case Loop() if node.low > 0:
            first = _begun(node.body, wanted)
            if first is None or width(node.body).least == 0:
                return None
            if node.high == 1:
                return first
            high = node.high if node.high == INFINITE else node.high - 1
            return _in_a_row((first, Loop(node.body, node.low - 1, high, node.lazy)))
        case _:
            return None
