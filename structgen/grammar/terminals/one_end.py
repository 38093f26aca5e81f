r"""Patterns whose match from a place has one end at most, so that what is tried first is no matter.

So are strings, which end with their only quote, words and numbers that nothing of their own kind
may follow (`(in|int)\b`, `\d+(\.\d+)?(?![\w.])`), and what ends in a sign (`\w+ *=>(?! *\{)`).
Shown by the positions of V. Glushkov's automaton: wherever a match may end, each character with
which the pattern could go on is one that must not follow the match. Of large counts only matters
that a part repeats: without its bounds it has no fewer ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from structgen.grammar.terminals.python_language import language_of
from structgen.grammar.terminals.python_regex import (
    Branch,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
    has_assertions,
    width,
)
from structgen.regular.charset import NONE, CharSet, refine, union_all
from structgen.regular.regex import EMPTY, Regex, alt, concat

_MOST = 1000  # positions, and sets of them
_FEW = 4  # turns of a loop that are written out


class _Ends(NamedTuple):
    """Of a part: the positions that may come first, and those that may come last.

    last: for each the characters that must not follow then. empty: those that must not follow the
    empty match, None if there is none.
    """

    first: list[int]
    last: dict[int, CharSet]
    empty: CharSet | None


class _OtherError(Exception):
    """The pattern is of another kind."""


def behind_its_end(node: Node) -> Regex | None:
    """The matches of a pattern with what must not follow them, mostly one character.

    None where a match may end in several places, may be empty, or that is not known.
    """
    try:
        _Positions(node).check()
    except _OtherError:
        return None
    return _forbidden(node)


def repeats_what_ends_in_one_place(node: Node) -> bool:
    """Whether a pattern is as many turns as there can be, each of which has one end at most.

    A text is such turns in one way, so all that it can match whole it prefers whole.
    """
    if not isinstance(node, Loop) or node.lazy or width(node.body).least == 0:
        return False
    return not has_assertions(node) and behind_its_end(node.body) is EMPTY


def keyword_of(node: Node) -> tuple[Regex, Regex] | None:
    r"""A word behind which some character must not stand (`if(?!\w)`), and it with that character.

    None for other patterns.
    """
    *word, last = node.parts if isinstance(node, Sequence) and len(node.parts) > 1 else (node,)
    letters = [one for one in word if isinstance(one, OneChar) and one.chars]
    if not letters or len(letters) < len(word) or not isinstance(last, Look):
        return None
    if not isinstance(last.body, OneChar) or not last.negative or last.behind:
        return None
    text = language_of(Sequence((*word,)))
    return text, concat(text, language_of(last.body))


class _Positions:
    """The positions of a pattern."""

    def __init__(self, node: Node) -> None:
        self._reads: list[CharSet] = []
        self._follow: list[dict[int, None]] = []
        self._ends = self._read(node, at_end=True)

    def check(self) -> None:
        """Raise _OtherError unless a match can end in one place at most."""
        if self._ends.empty is not None:
            raise _OtherError
        last = self._ends.last
        start = frozenset(self._ends.first)
        seen, todo = {start}, [start]
        while todo:
            for places in self._alike(sorted(todo.pop())):
                following = frozenset(after for place in places for after in self._follow[place])
                ending = {last[place] for place in places if place in last}
                if ending:
                    goes_on = union_all([self._reads[place] for place in following])
                    if len(ending) > 1 or goes_on - ending.pop():
                        raise _OtherError
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
            if len(seen) > _MOST:
                raise _OtherError

    def _alike(self, places: list[int]) -> Iterable[tuple[int, ...]]:
        """The positions that read one character, for all characters."""
        if len(places) < 2:
            return [(*places,)] if places else []
        return (some for _, some in refine((self._reads[place], place) for place in places))

    def _read(self, node: Node, *, at_end: bool) -> _Ends:
        """The ends of a part. at_end: whether nothing of the pattern comes behind it."""
        match node:
            case OneChar() if node.chars:
                return self._position(node.chars)
            case Sequence():
                return self._in_a_row(node.parts, at_end=at_end)
            case Branch() if node.parts:
                ways = [self._read(part, at_end=at_end) for part in node.parts]
                empty = {way.empty for way in ways if way.empty is not None}
                if len(empty) > 1:
                    raise _OtherError
                return _Ends(
                    [place for way in ways for place in way.first],
                    {place: after for way in ways for place, after in way.last.items()},
                    empty.pop() if empty else None,
                )
            case Loop(high=high) if 1 < high <= _FEW:
                once = Loop(node.body, 0, 1, lazy=False)
                turns = (node.body,) * node.low + (once,) * (high - node.low)
                return self._in_a_row(turns, at_end=False)
            case Loop(high=high) if high > 0:
                body = self._read(node.body, at_end=False)
                if high > 1:
                    self._lead(body.last, body.first)
                return body._replace(empty=NONE) if node.low == 0 else body
            case Look(body=OneChar(chars=of), behind=False, negative=True) if at_end:
                return _Ends([], {}, of)
            case Look(body=body, behind=False, negative=True) if at_end and not (
                has_assertions(body) or width(body).least == 0
            ):
                return _Ends([], {}, NONE)  # no character by itself rules the end out
            case _:
                raise _OtherError

    def _position(self, of: CharSet) -> _Ends:
        place = len(self._reads)
        if place >= _MOST:
            raise _OtherError
        self._reads.append(of)
        self._follow.append({})
        return _Ends([place], {place: NONE}, None)

    def _in_a_row(self, parts: tuple[Node, ...], *, at_end: bool) -> _Ends:
        whole = _Ends([], {}, NONE)
        for i, part in enumerate(parts):
            ends = self._read(part, at_end=at_end and i == len(parts) - 1)
            self._lead(whole.last, ends.first)
            first = whole.first + ends.first if whole.empty is not None else whole.first
            last, empty = ends.last, None
            if ends.empty is not None:
                last = last | dict.fromkeys(whole.last, ends.empty)
                empty = ends.empty if whole.empty is not None else None
            whole = _Ends(first, last, empty)
        return whole

    def _lead(self, places: dict[int, CharSet], following: list[int]) -> None:
        for place in places:
            self._follow[place].update(dict.fromkeys(following))


def _forbidden(node: Node) -> Regex:
    """The matches of each way through a pattern, with what must not follow there."""
    if not has_assertions(node):
        return EMPTY
    if isinstance(node, Branch):
        return alt(*map(_forbidden, node.parts))
    *parts, last = node.parts if isinstance(node, Sequence) else (node,)
    before = language_of(Sequence((*parts,)))
    if isinstance(last, Look):
        return concat(before, language_of(last.body))
    return concat(before, _forbidden(last))
