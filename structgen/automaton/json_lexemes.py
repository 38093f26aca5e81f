"""In: what may come next in a JSON text. Out: the lexer state for it.

Labels that the machine understands: ("value", mask) for a scalar, with the bits of the alternatives
that it fits, ("item", mask) for one whose text the machine looks up, and ("once", mask) for one
that must not have come before in the same place; `{ [ , } ]` as strings of
one character; ("key", name) for a key of the table; ("other", mask) for another key, whose text the
machine looks up, ("free", mask) if nobody needs the text but to refuse it when it comes again.
END_OF_TEXT and SKIP are the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from structgen.automaton.lexer import End, Fixed, LexState, Target, Text, Vector
from structgen.automaton.lexer_joints import Either, Fork, gap
from structgen.automaton.machine import END_OF_TEXT, SKIP
from structgen.automaton.number_sets import number_intersection
from structgen.automaton.numbers import spellings
from structgen.automaton.regex import ANY, EMPTY, EPSILON, Regex
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
    kind: str = "value"  # of the label with which they end
    escapes: bool = True
    surrogates: bool = False

    @property
    def recorded(self) -> bool:
        """See `Role.recorded`."""
        return self.kind != "value"

    def end(self, vector: Vector) -> Target:
        """See `Role.end`."""
        mask = _mask([language.nullable for language in vector])
        return End((self.kind, mask)) if mask else None


@dataclass(frozen=True, slots=True)
class Key:
    """The role of keys: names of a table (the only `WordRange`), and other languages."""

    recorded: bool
    layout: Layout
    takes: bool = False  # whether what is not named may be any key that was not taken before
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
        if named:
            return End(("key", names.word))  # type: ignore[attr-defined]
        return End(("free" if self.takes else "other", mask))


@dataclass(frozen=True, slots=True)
class Word(Key):
    """The role of strings of a list that are told apart as keys are, and spelled as any value."""

    @property
    def escapes(self) -> bool:
        """See `Role.escapes`."""
        return True


def _mask(flags: Sequence[bool]) -> int:
    return sum(1 << i for i, flag in enumerate(flags) if flag)


class Wanted(NamedTuple):
    """The scalars that one of several alternatives accepts; EMPTY for no strings or numbers."""

    null: bool
    true: bool
    false: bool
    string: Regex
    number: Regex


def wanted(node: Node) -> Wanted:
    """The scalars of a node."""
    string = EMPTY if node.string.is_empty() else node.string
    return Wanted(node.null, node.true, node.false, string, node.number)


@lru_cache(maxsize=4096)
def value_start(
    vector: tuple[Wanted, ...],
    brackets: str,
    kinds: tuple[str, str] = ("value", "value"),
    surrogates: bool = False,
) -> LexState:
    """At the start of a value that any of `vector` accepts.

    brackets: of `[` and `{` those that can lead to a value, and `]` where it may come instead;
    kinds: of the labels with which strings end, and other scalars; surrogates: as in `Layout`.
    """
    texts, kind = kinds
    watched, recorded = kind != "value", kinds != ("value", "value")
    punctuation: list[tuple[int, LexState | End]] = []
    for text in ("null", "true", "false"):
        mask = _mask([getattr(node, text) for node in vector])
        if mask:
            then = Fixed(text[1:].encode(), End((kind, mask)), watched)
            punctuation.append((ord(text[0]), then))
    strings = tuple(node.string for node in vector)
    if any(s is not EMPTY for s in strings):
        role = Scalar(True, texts, surrogates=surrogates and texts == "value")
        punctuation.append((ord('"'), Text(strings, role)))
    punctuation += [(ord(char), End(char)) for char in brackets]
    fork = Fork(tuple(punctuation), recorded=recorded)
    found = [comparable(node.number) if watched else node.number for node in vector]
    numbers = tuple(EMPTY if n.is_empty() else n for n in found)
    if all(n is EMPTY for n in numbers):
        return fork
    return Either((fork, Text(numbers, Scalar(False, kind))))


@lru_cache(maxsize=4096)
def comparable(number: Regex) -> Regex:
    """The numbers of a language that can be told apart from others by their value."""
    return number_intersection(number, spellings(minimum=1))


def key_start(
    names: WordRange | None, others: Vector, layout: Layout, closing: bool, takes: bool
) -> LexState:
    """At the start of a key: one of `names`, or in one of `others`; or `}` when `closing`.

    takes: whether the machine leaves it to the engine that no other key comes twice, and `others`
    may have the names too.
    """
    if names is None:
        return _unnamed_start(others, layout, closing, takes)
    return _key_start((names, *others), layout, closing, takes)


@lru_cache(maxsize=1024)
def _unnamed_start(others: Vector, layout: Layout, closing: bool, takes: bool) -> LexState:
    return _key_start((EMPTY, *others), layout, closing, takes)


def _key_start(vector: Vector, layout: Layout, closing: bool, takes: bool) -> LexState:
    targets: list[tuple[int, LexState | End]] = []
    if vector != (EMPTY,):
        targets.append((ord('"'), Text(vector, Key(len(vector) > 1, layout, takes))))
    if closing:
        targets.append((ord("}"), End("}")))
    return Fork(tuple(targets))


@lru_cache(maxsize=256)
def free_key(layout: Layout) -> Text:
    """Within a key of which it is known that it has no name."""
    return Text((EMPTY, ANY), Key(True, layout, takes=True))


@lru_cache(maxsize=256)
def before_lexeme(space: Regex) -> LexState | None:
    """The entry of a frame: white space."""
    return None if space is EPSILON else gap(space, Fork((), SKIP))


@lru_cache(maxsize=256)
def before_member(layout: Layout) -> LexState:
    """The entry of a frame that waits for the value of a member: the colon."""
    behind = gap(layout.inner, Fork((), SKIP))
    return gap(layout.colon, Fork(((ord(":"), behind),)))


@lru_cache(maxsize=256)
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


@lru_cache(maxsize=256)
def text_end(layout: Layout) -> LexState:
    """After the whole value."""
    return gap(layout.tail, Fork((), END_OF_TEXT))
