"""Tells patterns that read each text in at most one way (one-unambiguous regular expressions).

Where no two positions of a pattern that may come next share a character (A. Brueggemann-Klein and
D. Wood, "One-unambiguous regular languages", 1998), backtracking has nothing to choose but whether
to go on or to end. A pattern that always tries to go on first then matches the longest text it can,
so it prefers all of a text whenever it can match all of it. The positions are Glushkov's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from structgen.grammar.terminals.python_regex import Branch, Loop, Node, OneChar, Sequence
from structgen.regular.charset import CharSet


class _Ends(NamedTuple):
    """The first and last positions of a part; may_be_empty: whether it matches the empty text."""

    first: list[OneChar]
    last: list[OneChar]
    may_be_empty: bool


class _AmbiguousError(Exception):
    """The pattern is not one-unambiguous, or has parts that are not looked into."""


def is_one_unambiguous(node: Node) -> bool:
    """Whether a pattern is one-unambiguous, for sure; False for any with assertions."""
    behind: dict[OneChar, list[OneChar]] = {}
    try:
        _check_apart(_ends(node, behind).first)
        for following in behind.values():
            _check_apart(following)
    except _AmbiguousError:
        return False
    return True


def _ends(node: Node, behind: dict[OneChar, list[OneChar]]) -> _Ends:
    """The ends of a node; notes for each position what may come next, once for each way there."""
    match node:
        case OneChar():
            place = OneChar(node.chars)  # as a part of a loop and outside one are not the same
            behind[place] = []
            return _Ends([place], [place], may_be_empty=False)
        case Sequence():
            return _in_a_row([_ends(part, behind) for part in node.parts], behind)
        case Branch() if node.parts:
            ways = [_ends(part, behind) for part in node.parts]
            if any(way.may_be_empty for way in ways[:-1]):
                raise _AmbiguousError
            first = [place for way in ways for place in way.first]
            last = [place for way in ways for place in way.last]
            return _Ends(first, last, ways[-1].may_be_empty)
        case Loop() if not node.lazy:
            body = _ends(node.body, behind)
            if body.may_be_empty:
                raise _AmbiguousError
            if node.high > 1:
                _lead(body.last, body.first, behind)
            return body._replace(may_be_empty=node.low == 0)
        case _:
            raise _AmbiguousError


def _in_a_row(parts: Iterable[_Ends], behind: dict[OneChar, list[OneChar]]) -> _Ends:
    """The ends of a concatenation."""
    whole = _Ends([], [], may_be_empty=True)
    for part in parts:
        _lead(whole.last, part.first, behind)
        first = whole.first + part.first if whole.may_be_empty else whole.first
        last = whole.last + part.last if part.may_be_empty else part.last
        whole = _Ends(first, last, whole.may_be_empty and part.may_be_empty)
    return whole


def _lead(
    places: list[OneChar], following: list[OneChar], behind: dict[OneChar, list[OneChar]]
) -> None:
    """Note that some positions may be followed by others."""
    for place in places:
        behind[place] += following


def _check_apart(places: list[OneChar]) -> None:
    """Raise unless no two of some positions have a character in common."""
    seen: CharSet | None = None
    for place in places:
        if seen is not None and seen & place.chars:
            raise _AmbiguousError
        seen = place.chars if seen is None else seen | place.chars
