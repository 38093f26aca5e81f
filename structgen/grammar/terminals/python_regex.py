r"""Parses patterns of Python's `re` into trees in which all assertions are lookarounds.

Python's own parser reads the pattern, so that what is a pattern is its to say. What is not regular
(backreferences) is refused by name. So are atomic groups that lookaheads cannot say, and what looks
at the text before the match (`^`, `\A`, `\b` or a lookbehind at the beginning) where that text is
not known.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as sre
from re import _parser as sre_parser
from typing import Any, NamedTuple, NoReturn

from structgen.errors import BudgetError, PatternError, UnsupportedSchemaError
from structgen.grammar.terminals.python_chars import (
    LINE_FEED,
    class_set,
    literal_set,
    word_characters,
)
from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.regex import INFINITE

# What `re` keeps for operations on sets, if it stands in a class.
_MAY_WARN = re.compile(r"\[.*(?:\[|--|&&|~~|\|\|)", re.DOTALL)


@dataclass(frozen=True, eq=False, slots=True)
class OneChar:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True, eq=False, slots=True)
class Sequence:
    """Concatenation: parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """Alternation: the first alternative that leads to a match wins."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """Repetition: `low` to `high` times a body; `lazy`: as few turns as possible win."""

    body: Node
    low: int
    high: int
    lazy: bool


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """A lookahead, or a lookbehind with `behind`."""

    body: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, eq=False, slots=True)
class End:
    r"""The end of the text (`\Z`)."""


Node = OneChar | Sequence | Branch | Loop | Look | End
EMPTY_TEXT = Sequence(())


class Width(NamedTuple):
    """The fewest and most characters of a match."""

    least: int
    most: int


def parse(pattern: str) -> Node:
    """The tree of a pattern.

    Raises PatternError (not a pattern), UnsupportedSchemaError (one that is not regular or that
    looks at the text before it), BudgetError (nested too deeply).
    """
    node, outside = parse_with_lookbehinds(pattern)
    if outside:
        _refuse_lookbehind("", pattern)
    return node


def parse_with_lookbehinds(pattern: str) -> tuple[Node, list[Look]]:
    """The tree of a pattern, and its lookbehinds that may see the text before the match.

    Raises what `parse` raises; lookbehinds that cannot be decided are refused.
    """
    try:
        tree = parsed(pattern)
        reader = _Reader(pattern, tree.state.flags)
        node = reader.sequence(tree)
        outside = [*_outside_lookbehinds(node, Width(0, 0))] if reader.looks_behind else []
    except re.error as error:
        raise PatternError(
            f"the pattern is not one of Python's: {error.msg}",
            pattern=pattern,
            position=error.pos or 0,
        ) from error
    except (OverflowError, RecursionError) as error:
        raise BudgetError(
            f"the pattern {pattern[:40]!r}... is nested too deeply or counts too far",
            hint="split it into rules",
        ) from error
    if not all(decidable for _, decidable in outside):
        _refuse_lookbehind(" inside a lookahead", pattern)
    return node, [look for look, _ in outside]


@lru_cache(maxsize=256)
def parsed(pattern: str) -> Any:
    """The tree that `re` makes of a pattern. Raises re.error, OverflowError, RecursionError."""
    if not _MAY_WARN.search(pattern):
        return sre_parser.parse(pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of possible nested sets and the like
        return sre_parser.parse(pattern)


class _Reader:
    """Turns the tree of `re`'s parser into nodes."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags
        self.looks_behind = False

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> Node:
        """Concatenation. Word boundaries are simplified by what the part before them ends in."""
        parts: list[Node] = []
        for kind, value in items:
            if value in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY) and kind is sre.AT:
                ends = last_characters(Sequence(tuple(parts)))
                parts.append(self.boundary(ends, inside=value is sre.AT_NON_BOUNDARY))
            else:
                parts.append(self.item(kind, value))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def item(self, kind: Any, value: Any) -> Node:
        """One part. `kind` and `value` are as in `re._parser`."""
        if kind is sre.LITERAL:
            return _literal(value, self.flags)
        if kind is sre.NOT_LITERAL:
            return OneChar(ALL - literal_set(value, self.flags))
        if kind is sre.IN:
            return OneChar(class_set((*value,), self.flags))
        if kind is sre.ANY:
            return OneChar(ALL if self.flags & sre.SRE_FLAG_DOTALL else ALL - LINE_FEED)
        read: Callable[[Any], Node] | None = getattr(self, f"_{kind.name.lower()}", None)
        if read is None:
            refuse("a backreference", self.pattern, "spell the repeated text out")
        return read(value)

    def _branch(self, value: Any) -> Node:
        return Branch(tuple(self.sequence(part) for part in value[1]))

    def _subpattern(self, value: Any) -> Node:
        _, more, less, body = value
        outer = self.flags
        if more & (sre.SRE_FLAG_ASCII | sre.SRE_FLAG_UNICODE):
            self.flags &= ~(sre.SRE_FLAG_ASCII | sre.SRE_FLAG_UNICODE)
        self.flags = (self.flags | more) & ~less
        node = self.sequence(body)
        self.flags = outer
        return node

    def _max_repeat(self, value: Any, *, lazy: bool = False) -> Node:
        low, high, body = value
        most = INFINITE if high is sre.MAXREPEAT else int(high)
        return Loop(self.sequence(body), int(low), most, lazy)

    def _min_repeat(self, value: Any) -> Node:
        return self._max_repeat(value, lazy=True)

    def _possessive_repeat(self, value: Any) -> Node:
        found = _atomic(self._max_repeat(value))
        if found is None:
            refuse("a possessive quantifier", self.pattern, "leave its '+' out")
        return found

    def _atomic_group(self, value: Any) -> Node:
        found = _atomic(self.sequence(value))
        if found is None:
            refuse("an atomic group", self.pattern, "write (?:...)")
        return found

    def _assert(self, value: Any, *, negative: bool = False) -> Node:
        direction, value = value
        body = self.sequence(value)
        self.looks_behind = self.looks_behind or direction < 0
        if direction < 0 and has_assertions(body):
            refuse("an assertion inside a lookbehind", self.pattern, "leave it out")
        return Look(body, behind=direction < 0, negative=negative)

    def _assert_not(self, value: Any) -> Node:
        return self._assert(value, negative=True)

    def _failure(self, _value: Any) -> Node:
        return Branch(())

    def _at(self, value: Any) -> Node:
        """Anchors, as lookarounds."""
        if value is sre.AT_END_STRING:
            return End()
        if value is sre.AT_END:
            if self.flags & sre.SRE_FLAG_MULTILINE:
                return Look(OneChar(ALL - LINE_FEED), behind=False, negative=True)
            last = Sequence((Loop(OneChar(LINE_FEED), 0, 1, lazy=False), End()))
            return Look(last, behind=False, negative=False)
        self.looks_behind = True
        in_line = value is sre.AT_BEGINNING and self.flags & sre.SRE_FLAG_MULTILINE
        return Look(OneChar(ALL - LINE_FEED if in_line else ALL), behind=True, negative=True)

    def boundary(self, ends: CharSet | None, *, inside: bool) -> Node:
        r"""`\b`, or `\B` with `inside`, behind a part that ends in one of the characters `ends`."""
        word = word_characters(self.flags & sre.SRE_FLAG_ASCII)
        after_word, after_other = (
            Look(OneChar(word), behind=False, negative=inside is other) for other in (False, True)
        )
        if ends is not None and not ends - word:
            return after_word
        if ends is not None and not ends & word:
            return after_other
        self.looks_behind = True
        was_word, was_other = (Look(OneChar(word), behind=True, negative=n) for n in (False, True))
        return Branch((Sequence((was_word, after_word)), Sequence((was_other, after_other))))


@lru_cache(maxsize=4096)
def _literal(code: int, flags: int) -> OneChar:
    return OneChar(literal_set(code, flags))


def _atomic(node: Node) -> Node | None:
    """What matches as a node prefers to, whatever follows; None where lookaheads cannot say it.

    An alternative counts where none before it matches, and a loop ends where no more turns do.
    """
    match node:
        case Branch():
            found, barred = list[Node](), list[Node]()
            for part in node.parts:
                own = _atomic(part)
                if own is None:
                    return None
                found.append(Sequence((*barred, own)))
                barred.append(Look(part, behind=False, negative=True))
            return Branch(tuple(found))
        case Sequence(parts=(*before, last)):
            behind = _atomic(last) if all(map(_is_rigid, before)) else None
            return None if behind is None else Sequence((*before, behind))
        case Loop():
            turn = _atomic(node.body)
            one_way = node.low <= 1 or _is_rigid(node.body)
            if turn is None or not one_way or not width(node.body).least:
                return None
            if node.lazy:
                return Loop(turn, node.low, node.low, lazy=False)
            no_more = Look(node.body, behind=False, negative=True)
            ended = Sequence((Loop(turn, node.low, node.high, lazy=False), no_more))
            if node.high == INFINITE:
                return ended
            return Branch((Loop(turn, node.high, node.high, lazy=False), ended))
    return node


def _is_rigid(node: Node) -> bool:
    """Whether a node matches in one way at most, wherever it begins."""
    match node:
        case Sequence():
            return all(map(_is_rigid, node.parts))
        case Branch():
            return False
        case Loop():
            return node.low == node.high and _is_rigid(node.body)
    return True


def width(node: Node) -> Width:
    """The width of a node's matches."""
    match node:
        case OneChar():
            return Width(1, 1)
        case Sequence():
            widths = [width(part) for part in node.parts]
            return Width(sum(w.least for w in widths), min(sum(w.most for w in widths), INFINITE))
        case Branch():
            widths = [width(part) for part in node.parts] or [Width(0, 0)]
            return Width(min(w.least for w in widths), max(w.most for w in widths))
        case Loop():
            least, most = width(node.body)
            return Width(node.low * least, min(node.high * most, INFINITE))
        case _:
            return Width(0, 0)


def last_characters(node: Node) -> CharSet | None:
    """The characters that a match can end in; None if it may be empty or that is not known."""
    match node:
        case OneChar():
            return node.chars
        case Sequence():
            behind = NONE  # what optional parts at the end can end in
            for part in reversed(node.parts):
                optional = part.body if isinstance(part, Loop) and part.low == 0 else None
                ends = last_characters(optional or part)
                if ends is None:
                    return None
                behind |= ends
                if optional is None:
                    return behind
            return None
        case Branch():
            found = [last_characters(part) for part in node.parts]
            known = [ends for ends in found if ends is not None]
            return union_all(known) if known and len(known) == len(found) else None
        case Loop():
            return last_characters(node.body) if node.low > 0 else None
        case _:
            return None


def outside_lookbehinds(node: Node) -> list[Look]:
    """The lookbehinds of a pattern that may see the text before the match."""
    return [look for look, _ in _outside_lookbehinds(node, Width(0, 0))]


def _outside_lookbehinds(
    node: Node, before: Width, *, ahead: bool = False
) -> Iterator[tuple[Look, bool]]:
    """The lookbehinds that look further back than has surely been read since the match began.

    before: how much that is. ahead: whether this is inside a lookahead, of which the beginning
    counts. Each comes with whether it can be decided: in lookaheads only where nothing has been
    read.
    """
    match node:
        case Sequence():
            for part in node.parts:
                yield from _outside_lookbehinds(part, before, ahead=ahead)
                least, most = width(part)
                before = Width(before.least + least, before.most + most)
        case Branch():
            for part in node.parts:
                yield from _outside_lookbehinds(part, before, ahead=ahead)
        case Loop():
            yield from _outside_lookbehinds(node.body, before._replace(most=INFINITE), ahead=ahead)
        case Look(behind=True):
            if width(node.body).most > before.least:
                yield node, before.most == 0 or not ahead
        case Look():
            yield from _outside_lookbehinds(node.body, before._replace(least=0), ahead=True)


def has_assertions(node: Node) -> bool:
    """Whether a node has assertions in it."""
    match node:
        case Sequence() | Branch():
            return any(has_assertions(part) for part in node.parts)
        case Loop():
            return has_assertions(node.body)
        case _:
            return not isinstance(node, OneChar)


def refuse(what: str, pattern: str, hint: str) -> NoReturn:
    """Raise UnsupportedSchemaError for something in a pattern."""
    raise UnsupportedSchemaError(
        f"{what} in the pattern /{pattern}/ is not supported", keyword="pattern", hint=hint
    )


def _refuse_lookbehind(where: str, pattern: str) -> NoReturn:
    what = "an assertion about the text before the terminal (a lookbehind, ^ or \\b)"
    refuse(what + where, pattern, "put it behind the characters that it is about")
