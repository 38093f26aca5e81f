"""Which characters the members of a regular expression may have, and which they must have.

An intersection is empty where one part requires a character that another cannot have. Seeing that
at once spares a search over derivatives.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.expressions.base import EMPTY, Regex
from structgen.regular.expressions.build import concat
from structgen.regular.expressions.logic import alt, alternatives_of, intersect
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Chars,
    Concat,
    Literal,
    Not,
    Repeat,
    SubAutomaton,
    Words,
    is_vast,
)


@lru_cache(maxsize=4096)
def possible_characters(node: Regex) -> CharSet:
    """A superset of the characters of all members."""
    if isinstance(node, Chars):
        return node.chars
    if isinstance(node, Literal):
        return CharSet.chars(node.text)
    if isinstance(node, Words):
        return CharSet.chars("".join({*itertools.chain.from_iterable(node.members())}))
    if isinstance(node, Repeat):
        return possible_characters(node.body)
    if isinstance(node, Concat):
        return union_all([possible_characters(part) for part in sequence(node)])
    if isinstance(node, Alt):
        return union_all([possible_characters(part) for part in node.parts])
    reads = getattr(node.state, "reads", None) if isinstance(node, SubAutomaton) else None
    return union_all(list(reads)) if reads else ALL


@lru_cache(maxsize=1024)
def unread(complement: Regex) -> CharSet:
    """Characters after which a text is in the complement of a format, or of a union with some.

    None for other expressions.
    """
    bodies = alternatives_of(complement.body) if isinstance(complement, Not) else ()
    if not any(map(is_vast, bodies)):
        return NONE
    found = ALL
    for body in bodies:
        state: Any = body.state if isinstance(body, SubAutomaton) and is_vast(body) else None
        found &= getattr(state, "unread", NONE) if state else ~possible_characters(body)
    return found


@lru_cache(maxsize=4096)
def required_characters(node: Regex) -> frozenset[CharSet]:
    """Character sets of each of which every member has a character."""
    if isinstance(node, Chars):
        return frozenset((node.chars,))
    if isinstance(node, Literal):
        return frozenset(map(CharSet.chars, node.text))
    if isinstance(node, Repeat):
        return required_characters(node.body) if node.low else frozenset()
    if isinstance(node, Concat):
        return frozenset().union(*map(required_characters, sequence(node)))
    if isinstance(node, Alt):
        return frozenset.intersection(*map(required_characters, node.parts))
    return frozenset()


def lacks_required_character(node: Regex) -> bool:
    """Whether an intersection is empty as one part requires what another cannot have."""
    wanted = [required_characters(part) for part in node.parts] if isinstance(node, And) else []
    if not isinstance(node, And) or not any(wanted):
        return False
    found = possible_characters(node.parts[0])
    for part in node.parts[1:]:
        found = found & possible_characters(part)
    return any(not found & chars for sets in wanted for chars in sets)


def is_ruled_out(node: Regex) -> bool:
    """Whether an intersection is empty as one part has only texts that another one rules out.

    Seen where these are all texts of some characters and lengths: keys that match `^[a-z]{1,9}_id$`
    beside others than those of `^[a-z_]{0,250}$`.
    """
    parts = node.parts if isinstance(node, And) else ()
    for part in parts:
        for body in alternatives_of(_optional(part.body)) if isinstance(part, Not) else ():
            if isinstance(body, Repeat) and isinstance(body.body, Chars):
                chars, low, high = body.body.chars, body.low, body.high
                fitting = (x for x in parts if low <= x.shortest and x.longest <= high)
                if any(not possible_characters(x) - chars for x in fitting):
                    return True
    return False


def _optional(node: Regex) -> Regex:
    """What a node makes optional, or the node itself."""
    if isinstance(node, Repeat) and (node.low, node.high) == (0, 1):
        return node.body
    return node


def without_impossible_alternatives(node: Regex) -> Regex:
    """An intersection without alternatives that lack what another part requires.

    For example, without offsets where a pattern asks for a time that ends in Z.
    """
    if not isinstance(node, And):
        return node
    wanted = frozenset().union(*map(required_characters, node.parts))
    parts = tuple([_with_required(part, wanted, NONE) for part in node.parts])
    return node if parts == node.parts else intersect(*parts)


def _with_required(node: Regex, wanted: frozenset[CharSet], before: CharSet) -> Regex:
    """Drop the last alternatives of a node with which some required character cannot occur.

    before: the characters that may come before it.
    """
    if isinstance(node, Concat):
        *heads, last = sequence(node)
        end = _with_required(last, wanted, union_all([before, *map(possible_characters, heads)]))
        return node if end is last else concat(*heads, end)
    if isinstance(node, Alt):
        parts = tuple([_with_required(part, wanted, before) for part in node.parts])
        return node if parts == node.parts else alt(*parts)
    have = before | possible_characters(node)
    return node if all(have & chars for chars in wanted) else EMPTY


def sequence(node: Regex) -> list[Regex]:
    """The parts of a sequence, or the node itself."""
    found: list[Regex] = []
    while isinstance(node, Concat):
        found.append(node.head)
        node = node.tail
    return [*found, node]
