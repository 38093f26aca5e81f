"""Steps that Lark takes over the trees of a grammar, with a pass over the whole tree for each.

Here they are taken where a tree is read anyway. What is out of the ordinary is left to Lark's own
steps, which say what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from lark import Token, Tree
from lark import load_grammar as lark_loader
from lark.grammar import Symbol
from lark.lexer import Pattern, PatternRE, PatternStr

_LARK: Any = lark_loader  # what Lark itself compiles grammars with; not typed throughout
_RANGES = _LARK.PrepareLiterals()
# A string without escapes, and a pattern without those that are not left to `re`.
_PLAIN = re.compile(
    r"""(?P<string>"[^"\\\x00-\x1f\ud800-\udfff]+")
      |/(?P<regexp>(?:[^"\\\x00-\x1f\ud800-\udfff]|(?<!\\)"|\\[^Uuxnftr"\x00-\x1f\ud800-\udfff])+)
       /(?P<flags>[imslux]*)""",
    re.VERBOSE,
)


def values_of(tree: Tree[Any]) -> Iterator[Any]:
    """The nodes around symbols, literals and uses of templates.

    And those of aliases inside groups, which Lark does not have.
    """
    todo = [tree]
    for node in todo:
        for child in node.children:
            if not isinstance(child, Tree):
                continue
            if child.data != "value":
                todo.append(child)
                if child.data == "alias" and node is not tree:
                    yield child
                continue
            yield child
            if getattr(child.children[0], "data", "") == "template_usage":
                todo.append(child.children[0])


def pattern_at(node: Any) -> Pattern:
    """The pattern of a literal or range. Raises what Lark raises, AssertionError for a range."""
    found = _pattern_of_literal(node.children[0].type, str(node.children[0]))
    if node.data == "range":
        found = _RANGES.range(*node.children).children[0]
    return found


@lru_cache(maxsize=4096)
def _pattern_of_literal(kind: str, text: str) -> Pattern:
    """The pattern of a string or pattern as written; Lark has Python's parser read its escapes."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None and plain["string"]:
        return PatternStr(text[1:-1], (), raw=text)
    if plain is not None:
        return PatternRE(plain["regexp"], plain["flags"], raw=text)
    found: Pattern = _LARK._literal_to_pattern(Token(kind, text))
    return found


def named_literals(tree: Tree[Any], to_symbols: Any) -> bool:
    """Put symbols in place of all literals, named by Lark, and of nodes around symbols.

    Names are given in the order in which Lark comes by the literals: what stands deepest first. So
    are rules to uses of templates. False, with nothing done, where a literal is wrong.
    """
    levels, name_of = [[tree]], to_symbols.pattern
    found: list[list[tuple[list[Any], int, Any]]] = []
    while levels[-1]:
        inner: list[Tree[Any]] = []
        values: list[tuple[list[Any], int, Any]] = []
        for node in levels[-1]:
            for i, child in enumerate(node.children):
                if not isinstance(child, Tree):
                    continue
                if child.data != "value":
                    inner.append(child)
                    continue
                [value] = child.children
                if getattr(value, "data", "") == "template_usage":
                    inner.append(value)
                elif not isinstance(value, Symbol):
                    try:
                        value = pattern_at(value)
                    except Exception:  # noqa: BLE001  Lark's own steps say what is wrong
                        return False
                values.append((node.children, i, value))
        found.append(values)
        levels.append(inner)
    for values in reversed(found):
        for children, i, value in values:
            if isinstance(value, Tree):
                children[i] = to_symbols.template_usage(value.children)
            else:
                children[i] = value if isinstance(value, Symbol) else name_of(value)
    return True


def with_arguments(tree: Tree[Any], arguments: Mapping[str, Symbol]) -> Tree[Any]:
    """A copy of the tree of a template, with arguments in place of its parameters."""
    parts: list[Any] = []
    for child in tree.children:
        part = child
        if isinstance(child, Tree):
            part = with_arguments(child, arguments)
            if child.data == "value" and isinstance(part.children[0], Symbol):
                part = arguments.get(part.children[0].name, part)
        elif tree.data == "template_usage" and isinstance(child, Symbol):
            part = arguments.get(child.name, child)
        parts.append(part)
    return Tree(tree.data, parts)


def pattern_of(tree: Any, to_pattern: Any, known: dict[int, Pattern]) -> Pattern:
    """The pattern of a terminal, in whose tree are those of the terminals that it names.

    to_pattern: Lark's joining of patterns. known: by the identity of trees. Raises what Lark's
    steps raise, and AssertionError or TypeError.
    """
    found = known.get(id(tree))
    if found is None:
        match tree.data:
            case "value":
                found = pattern_of(tree.children[0], to_pattern, known)
            case "literal" | "range":
                found = pattern_at(tree)
            case "pattern":
                found = tree.children[0]
            case data:
                parts = [
                    pattern_of(part, to_pattern, known) if isinstance(part, Tree) else part
                    for part in tree.children
                ]
                found = getattr(to_pattern, data)(parts)
        if not isinstance(found, Pattern):
            raise TypeError(tree.data)
        known[id(tree)] = found
    return found
