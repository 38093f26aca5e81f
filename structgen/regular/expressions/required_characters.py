"""In: a regular expression. Out: the characters its texts may have, and those they must have.

An intersection is empty where one part must have a character that another cannot have. That is seen
at once, and spares a search that would come to the same end.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.expressions.base import EMPTY, Regex
from structgen.regular.expressions.build import concat
from structgen.regular.expressions.logic import alt, intersect
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Chars,
    Concat,
    Leaf,
    Literal,
    Repeat,
    Words,
)


@lru_cache(maxsize=4096)
def letters(node: Regex) -> CharSet:
    """A set that has all characters of all members."""
    if isinstance(node, Chars):
        return node.chars
    if isinstance(node, Literal):
        return CharSet.chars(node.text)
    if isinstance(node, Words):
        return CharSet.chars("".join({*itertools.chain.from_iterable(node.members())}))
    if isinstance(node, Repeat):
        return letters(node.body)
    if isinstance(node, Concat):
        return union_all([letters(part) for part in sequence(node)])
    if isinstance(node, Alt):
        return union_all([letters(part) for part in node.parts])
    reads = getattr(node.state, "reads", None) if isinstance(node, Leaf) else None
    return union_all(list(reads)) if reads else ALL


@lru_cache(maxsize=4096)
def needed(node: Regex) -> frozenset[CharSet]:
    """Sets of each of which every member has a character."""
    if isinstance(node, Chars):
        return frozenset((node.chars,))
    if isinstance(node, Literal):
        return frozenset(map(CharSet.chars, node.text))
    if isinstance(node, Repeat):
        return needed(node.body) if node.low else frozenset()
    if isinstance(node, Concat):
        return frozenset().union(*map(needed, sequence(node)))
    if isinstance(node, Alt):
        return frozenset.intersection(*map(needed, node.parts))
    return frozenset()


def lacks(node: Regex) -> bool:
    """Whether an intersection is empty since a part must have what another cannot have."""
    wanted = [needed(part) for part in node.parts] if isinstance(node, And) else []
    if not isinstance(node, And) or not any(wanted):
        return False
    found = letters(node.parts[0])
    for part in node.parts[1:]:
        found = found & letters(part)
    return any(not found & chars for sets in wanted for chars in sets)


def without_lacking(node: Regex) -> Regex:
    """The same, less the ends of parts that lack what another part of an intersection must have.

    As offsets, where a pattern asks for a time in UTC.
    """
    if not isinstance(node, And):
        return node
    wanted = frozenset().union(*map(needed, node.parts))
    parts = tuple([_that_have(part, wanted, NONE) for part in node.parts])
    return node if parts == node.parts else intersect(*parts)


def _that_have(node: Regex, wanted: frozenset[CharSet], before: CharSet) -> Regex:
    """Less the alternatives at the end without which each of some characters can be there."""
    if isinstance(node, Concat):
        *heads, last = sequence(node)
        end = _that_have(last, wanted, union_all([before, *map(letters, heads)]))
        return node if end is last else concat(*heads, end)
    if isinstance(node, Alt):
        parts = tuple([_that_have(part, wanted, before) for part in node.parts])
        return node if parts == node.parts else alt(*parts)
    have = before | letters(node)
    return node if all(have & chars for chars in wanted) else EMPTY


def sequence(node: Regex) -> list[Regex]:
    """The parts of a sequence."""
    found: list[Regex] = []
    while isinstance(node, Concat):
        found.append(node.head)
        node = node.tail
    return [*found, node]
