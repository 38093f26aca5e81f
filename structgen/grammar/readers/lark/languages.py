"""Terminals that no Python pattern can say, as regular languages of their own.

Lark joins the pieces of a terminal into one pattern. With `&` (and), `~` (not) and `%regex` that
cannot be done, so the languages of the pieces are joined instead. `LarkText` leaves a *mark* in
place of each of these: a string that no grammar has.
"""

from __future__ import annotations

from typing import Any

from lark import Tree
from lark.lexer import Pattern, PatternStr

from structgen.errors import UnsupportedSchemaError
from structgen.grammar.readers.lark.text import AND, NOT, OPEN, LarkText
from structgen.grammar.terminals.python_language import language_of
from structgen.grammar.terminals.python_regex import has_assertions, parse
from structgen.regular.regex import (
    EPSILON,
    Regex,
    alt,
    complement,
    concat,
    intersect,
    literal,
    repeat,
)

_COUNTS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def has_marks(text: LarkText, tree: Any) -> bool:
    """Whether a tree of Lark's, with literals as patterns, has marks in it."""
    return text.has_marks and any(
        isinstance(child, PatternStr) and text.mark_of(child.value) is not None
        for pattern in tree.find_data("pattern")
        for child in pattern.children
    )


def mark_alone(text: LarkText, tree: Any) -> Any:
    """What a tree is a mark of, if it is nothing else; None if it is none."""
    while isinstance(tree, Tree) and len(tree.children) == 1 and tree.data not in ("maybe", "expr"):
        tree = tree.children[0]
    return text.mark_of(tree.value) if isinstance(tree, PatternStr) else None


def language_of_tree(text: LarkText, tree: Any) -> Regex:
    """The language of a terminal, or of a part of it.

    Raises PatternError, UnsupportedSchemaError, BudgetError.
    """
    return _Joined(text).of(tree)


class _Joined:
    """Joins the languages of the parts of one terminal."""

    def __init__(self, text: LarkText) -> None:
        self._text = text
        self._known: dict[int, Regex] = {}  # Lark's trees share subtrees

    def of(self, tree: Any) -> Regex:
        """The language of a subtree."""
        if isinstance(tree, Pattern):
            return self._of_pattern(tree)
        known = self._known.get(id(tree))
        if known is None:
            known = self._known[id(tree)] = self._of_tree(tree)
        return known

    def _of_tree(self, tree: Any) -> Regex:
        parts = tree.children
        match tree.data:
            case "expansions":
                return alt(*map(self.of, parts))
            case "expansion":
                return self._of_sequence(parts)
            case "maybe":
                return repeat(self.of(parts[0]), 0, 1)
            case "expr":
                return repeat(self.of(parts[0]), *_counts(list(map(str, parts[1:]))))
            case _:  # pattern, value
                return self.of(parts[0])

    def _of_sequence(self, parts: list[Any]) -> Regex:
        """The language of parts in a row: `&` binds less than what stands in a row, `~` more."""
        both: list[list[Regex]] = [[]]
        negations = 0
        for part in parts:
            mark = mark_alone(self._text, part)
            if mark is AND:
                both.append([])
            elif mark is NOT:
                negations += 1
            else:
                both[-1].append(self._negated(part, negations))
                negations = 0
        return intersect(*(concat(*row) for row in both))

    def _negated(self, part: Any, times: int) -> Regex:
        """A part behind so many `~`; they apply to what a count behind it counts."""
        if times and isinstance(part, Tree) and part.data == "expr":
            body = self._negated(part.children[0], times)
            return repeat(body, *_counts(list(map(str, part.children[1:]))))
        language = self.of(part)
        return complement(language) if times % 2 else language

    def _of_pattern(self, pattern: Any) -> Regex:
        if isinstance(pattern, PatternStr) and not pattern.flags:
            mark = self._text.mark_of(pattern.value)
            if isinstance(mark, Regex):
                return mark
            return literal(pattern.value) if pattern.value else EPSILON
        node = parse(pattern.to_regexp())
        if has_assertions(node):
            raise UnsupportedSchemaError(
                "an assertion beside '&', '~', '%regex' or a lexeme's own end is not supported",
                keyword="assertion",
                expected="patterns that look at nothing but their own text",
            )
        return language_of(node)


def _counts(operator: list[str]) -> tuple[int, int | None]:
    if operator[0] in _COUNTS:
        return _COUNTS[operator[0]]
    low, high = int(operator[1]), int(operator[-1])
    return low, None if high == OPEN else high
