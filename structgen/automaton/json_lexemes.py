"""In: what may come next in a JSON text. Out: the lexer state for it.

Labels that the machine understands: ("value", mask) for a scalar, with the bits of the alternatives
that it fits, and ("item", mask) for one whose text the machine looks up; `{ [ , } ]` as strings of
one character; ("key", name) for a key of the table; ("other", mask) for another key, whose text the
machine looks up; END_OF_TEXT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from structgen.automaton.lexer import (
    Either,
    End,
    Fixed,
    Fork,
    LexState,
    Target,
    Text,
    Vector,
    gap,
)
from structgen.automaton.machine import END_OF_TEXT
from structgen.automaton.number_sets import number_intersection
from structgen.automaton.numbers import spellings
from structgen.automaton.regex import EMPTY, EPSILON, Regex
from structgen.automaton.words import WordRange
from structgen.spec.json_nodes import Node


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


@dataclass(frozen=True, slots=True)
class Scalar:
    """The role of strings and numbers: they end with the bits of the languages they are in."""

    quoted: bool
    recorded: bool = False
    escapes: bool = True
    surrogates: bool = False

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        mask = _mask([language.nullable for language in vector])
        return End(("item" if self.recorded else "value", mask)) if mask else None


@dataclass(frozen=True, slots=True)
class Key:
    """The role of keys: names of a table (the only `WordRange`), and other languages."""

    recorded: bool
    layout: Layout
    quoted: bool = True
    surrogates: ClassVar[bool] = False

    @property
    def escapes(self) -> bool:
        """See `Role.escapes`."""
        return not self.layout.natural

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        mask = _mask([language.nullable for language in vector])
        if not mask:
            return None
        names = vector[0]
        named = isinstance(names, WordRange) and names.nullable
        label = ("key", names.word) if named else ("other", mask)  # type: ignore[attr-defined]
        return gap(self.layout.colon, Fork(((ord(":"), End(label)),)))


def _mask(flags: Sequence[bool]) -> int:
    return sum(1 << i for i, flag in enumerate(flags) if flag)


def value_start(
    vector: tuple[Node, ...],
    arrays: bool,
    objects: bool,
    closing: bool = False,
    watched: bool = False,
    surrogates: bool = False,
) -> LexState:
    """At the start of a value that any of `vector` accepts.

    arrays, objects: whether `[` or `{` can lead to a value; closing: whether `]` may come instead;
    watched: whether the machine asks for the value; surrogates: as in `Layout`.
    """
    kind = "item" if watched else "value"
    punctuation: list[tuple[int, LexState | End]] = []
    for text in ("null", "true", "false"):
        mask = _mask([getattr(node, text) for node in vector])
        if mask:
            then = Fixed(text[1:].encode(), End((kind, mask)), watched)
            punctuation.append((ord(text[0]), then))
    strings = tuple(EMPTY if n.string.is_empty() else n.string for n in vector)
    if any(s is not EMPTY for s in strings):
        role = Scalar(True, watched, surrogates=surrogates and not watched)
        punctuation.append((ord('"'), Text(strings, role)))
    for char, wanted in (("[", arrays), ("{", objects), ("]", closing)):
        if wanted:
            punctuation.append((ord(char), End(char)))
    fork = Fork(tuple(punctuation), recorded=watched)
    found = [comparable(n.number) if watched else n.number for n in vector]
    numbers = tuple(EMPTY if n.is_empty() else n for n in found)
    if all(n is EMPTY for n in numbers):
        return fork
    return Either((fork, Text(numbers, Scalar(False, watched))))


@lru_cache(maxsize=4096)
def comparable(number: Regex) -> Regex:
    """The numbers of a language that can be told apart from others by their value."""
    return number_intersection(number, spellings(minimum=1))


def key_start(
    names: WordRange | None, others: tuple[Regex, ...], layout: Layout, closing: bool
) -> LexState:
    """At the start of a key: one of `names`, or in one of `others`; or `}` when `closing`."""
    vector: Vector = (*((names,) if names else ()), *others)
    role = Key(bool(others), layout)
    targets: list[tuple[int, LexState | End]] = [(ord('"'), Text(vector, role))] if vector else []
    if closing:
        targets.append((ord("}"), End("}")))
    return gap(layout.inner, Fork(tuple(targets)))


def after_member(more: bool, closing: str | None, layout: Layout) -> LexState:
    """After a value inside an object or array: a comma if `more`, or the closing bracket."""
    comma = Fork(((ord(","), End(",")),))
    close = Fork(((ord(closing), End(closing)),)) if closing else None
    if close is None:
        return gap(layout.comma, comma)
    if not more:
        return gap(layout.inner, close)
    if layout.comma is layout.inner:
        return gap(layout.inner, Either((comma, close)))
    return Either((gap(layout.comma, comma), gap(layout.inner, close)))


def text_end(layout: Layout) -> LexState:
    """After the whole value."""
    return gap(layout.tail, Fork((), END_OF_TEXT))
