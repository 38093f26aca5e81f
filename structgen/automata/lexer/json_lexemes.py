"""Lexer states for the strings, numbers and keys of a JSON text, and the terminals they end with.

A `Scalar` is the role of a value, a `Key` that of a member's name. A `Layout` says where white
space may stand between lexemes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from structgen.automata.lexer.lexer import End, LexState, Target, Text, Vector
from structgen.automata.lexer.separators import Fork
from structgen.regular.regex import EMPTY, EPSILON, Regex
from structgen.regular.words import WordRange

MANY_FLAGS = 64  # that are made a number all at once


@dataclass(frozen=True, eq=False)
class Layout:
    """Where white space may stand, as languages of the gaps in a JSON text.

    inner: after `{ [ , :` and before `} ]`; comma, colon: before those; head, tail: around all.
    escapes: strings may have any escapes, not only those that they need. surrogates: strings that
    are values may have escapes of unpaired surrogates. Compared by identity.
    """

    inner: Regex = EPSILON
    comma: Regex = EPSILON
    colon: Regex = EPSILON
    head: Regex = EPSILON
    tail: Regex = EPSILON
    escapes: bool = True
    surrogates: bool = False


class Scalar(NamedTuple):
    """The role of strings and numbers; the terminal says, in bits, which forms they fit.

    forms: for each language that they are read in, the forms that have it; () where that is one
    each, in order.
    """

    quoted: bool
    kind: str = "value"  # of the terminal with which they end
    escapes: bool = True
    surrogates: bool = False
    forms: tuple[int, ...] = ()

    @property
    def recorded(self) -> bool:
        """See `Role.recorded`."""
        return self.kind != "value"

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        return self.end_of([language.nullable for language in vector])

    def end_of(self, fits: Sequence[bool]) -> End | None:
        """The end of a text, given in which of the languages it is; None if it is in none."""
        mask = bits(fits)
        return End(self.terminal(mask)) if mask else None

    def terminal(self, mask: int) -> Hashable:
        """The terminal of a text that is in the languages of a mask."""
        if self.forms:
            mask = reduce(or_, (x for i, x in enumerate(self.forms) if mask >> i & 1), 0)
        return self.kind, mask


class Key(NamedTuple):
    """The role of keys: names of a word list (the only `WordRange`), beside other languages.

    Strings of a word list have this role as well.
    """

    recorded: bool
    escapes: bool
    layout: Layout
    only_new: bool = False  # whether any other key may come that was not read before
    by_text: int = 0  # bits of the languages beside the names of which that is not so

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
        free = self.only_new and not mask & self.by_text
        return End(("free" if free else "other", mask))


def bits(flags: Sequence[bool]) -> int:
    """The flags as a number, the first as its lowest bit."""
    if len(flags) > MANY_FLAGS:  # else time would grow with the square of their number
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
    mask = 0
    for i, flag in enumerate(flags):
        if flag:
            mask |= 1 << i
    return mask


class KeyStart(Fork):
    """Where one of the keys of a word list may begin; made by `key_start`, compared by identity."""

    __slots__ = ()
    __eq__ = object.__eq__  # hashing the contents would be slow
    __hash__ = object.__hash__

    @property
    def vector(self) -> Vector:
        """The languages read after the quote: the names, and others."""
        vector: Vector = self._key.vector
        return vector

    @property
    def rest(self) -> LexState | None:
        """The state that reads any other key, whatever the names are; None if there is none."""
        others, role = self.vector[1:], self._key.role
        closing = len(self.targets) > 1
        way = role.layout, closing, role.only_new, role.by_text
        return unnamed_start(others, *way) if others else None

    @property
    def _key(self) -> Any:
        return self.targets[0][1]


@lru_cache(maxsize=1024)
def unnamed_start(
    others: Vector, layout: Layout, closing: bool, only_new: bool, by_text: int = 0
) -> LexState:
    """At the start of a key that is in one of `others`, or of `}` when `closing`. See `Key`."""
    role = Key(True, layout.escapes, layout, only_new, by_text)
    key = Text((EMPTY, *others), role) if others else None
    return Fork(or_end(key, "}" * closing))


def or_end(key: Text | None, bracket: str) -> tuple[tuple[int, LexState | End], ...]:
    """The quote of a key, if there is one, and a closing bracket."""
    begin: list[tuple[int, LexState | End]] = [] if key is None else [(ord('"'), key)]
    return (*begin, *((ord(char), End(char)) for char in bracket))
