"""Lexer states for the strings, numbers and keys of a JSON text, and the terminals they end with.

A `Scalar` is the role of a value, a `Key` that of a member's name. A `Layout` says where white
space may stand between lexemes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from structgen.automata.lexer.lexer import End, LexState, Target, Text, Vector
from structgen.automata.lexer.separators import Fork
from structgen.regular.regex import EMPTY, EPSILON, Regex
from structgen.regular.words import WordRange


@dataclass(frozen=True, eq=False)
class Layout:
    """Where white space may stand: languages of the gaps of a JSON text. Compared by identity.

    natural: keys have no escapes but those that they need. surrogates: unpaired ones may be escaped
    in values that are strings.
    inner: after `{ [ , :` and before `} ]`; comma, colon: before those; head, tail: around all.
    """

    inner: Regex = EPSILON
    comma: Regex = EPSILON
    colon: Regex = EPSILON
    head: Regex = EPSILON
    tail: Regex = EPSILON
    natural: bool = False
    surrogates: bool = False


class Scalar(NamedTuple):
    """The role of strings and numbers: they end with the bits of the languages they are in."""

    quoted: bool
    kind: str = "value"  # of the label with which they end
    escapes: bool = True
    surrogates: bool = False

    @property
    def recorded(self) -> bool:
        """See `Role.recorded`."""
        return self.kind != "value"

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        mask = bits([language.nullable for language in vector])
        return End((self.kind, mask)) if mask else None


class Key(NamedTuple):
    """The role of keys: names of a table (the only `WordRange`), and other languages.

    So are strings of a list told apart, which have escapes as any value may.
    """

    recorded: bool
    escapes: bool
    layout: Layout
    takes: bool = False  # whether what is not named may be any key that was not taken before

    @property
    def quoted(self) -> bool:
        """See `Role.quoted`."""
        return True

    @property
    def surrogates(self) -> bool:
        """See `Role.surrogates`."""
        return False

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        mask = bits([language.nullable for language in vector])
        if not mask:
            return None
        names = vector[0]
        named = isinstance(names, WordRange) and names.nullable
        if named:
            return End(("key", names.word))  # type: ignore[attr-defined]
        return End(("free" if self.takes else "other", mask))


def bits(flags: Sequence[bool]) -> int:
    """The flags as a number, the first as its lowest bit."""
    mask = 0
    for i, flag in enumerate(flags):
        mask |= flag << i
    return mask


class KeyStart(Fork):
    """Where one of the names of a table may begin. One object for each way (see `key_start`)."""

    __slots__ = ()
    __eq__ = object.__eq__  # what it has takes long to hash
    __hash__ = object.__hash__

    @property
    def vector(self) -> Vector:
        """What is read behind the quote: the names, and other languages."""
        vector: Vector = self._key.vector
        return vector

    @property
    def rest(self) -> LexState | None:
        """What reads any other key, whatever the names are; None if there is no other."""
        others, role = self.vector[1:], self._key.role
        closing = len(self.targets) > 1
        return unnamed_start(others, role.layout, closing, role.takes) if others else None

    @property
    def _key(self) -> Any:
        return self.targets[0][1]


@lru_cache(maxsize=1024)
def unnamed_start(others: Vector, layout: Layout, closing: bool, takes: bool) -> LexState:
    """At the start of a key that is in one of `others`, or of `}` when `closing`."""
    role = Key(True, not layout.natural, layout, takes)
    key = Text((EMPTY, *others), role) if others else None
    return Fork(or_end(key, "}" * closing))


def or_end(key: Text | None, bracket: str) -> tuple[tuple[int, LexState | End], ...]:
    """The quote of a key, if there is one, and a closing bracket."""
    begin: list[tuple[int, LexState | End]] = [] if key is None else [(ord('"'), key)]
    return (*begin, *((ord(char), End(char)) for char in bracket))
