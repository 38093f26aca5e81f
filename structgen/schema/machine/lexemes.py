"""In: what may come next in a JSON text. Out: the lexer state for it.

Labels that the machine understands: ("value", mask) for a scalar, with the bits of the alternatives
that it fits, ("item", mask) for one whose text the machine looks up, and ("once", mask) for one
that must not have come before in the same place; `{ [ , } ]` as strings of
one character; ("key", name) for a key of the table; ("other", mask) for another key, whose text the
machine looks up, ("free", mask) if nobody needs the text but to refuse it when it comes again.
END_OF_TEXT and SKIP are the engine's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from structgen.automata.lexer.json_lexemes import (
    Key,
    KeyStart,
    Layout,
    Scalar,
    bits,
    or_end,
    unnamed_start,
)
from structgen.automata.lexer.lexer import End, Fixed, LexState, Text, Vector
from structgen.automata.lexer.separators import Either, Fork, gap
from structgen.automata.pushdown.machine import END_OF_TEXT, SKIP
from structgen.regular.numbers.language import spellings
from structgen.regular.numbers.set_operations import number_intersection
from structgen.regular.regex import ANY, EMPTY, EPSILON, Regex
from structgen.regular.words import WordRange
from structgen.schema.normal_form.forms import NormalForm


class Wanted(NamedTuple):
    """The scalars that one of several alternatives accepts; EMPTY for no strings or numbers."""

    null: bool
    true: bool
    false: bool
    string: Regex
    number: Regex


def wanted(form: NormalForm) -> Wanted:
    """The scalars of a node."""
    string = EMPTY if form.string.is_empty() else form.string
    return Wanted(form.null, form.true, form.false, string, form.number)


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
        mask = bits([getattr(form, text) for form in vector])
        if mask:
            then = Fixed(text[1:].encode(), End((kind, mask)), watched)
            punctuation.append((ord(text[0]), then))
    strings = tuple(form.string for form in vector)
    if any(s is not EMPTY for s in strings):
        role = Scalar(True, texts, surrogates=surrogates and texts == "value")
        punctuation.append((ord('"'), Text(strings, role)))
    punctuation += [(ord(char), End(char)) for char in brackets]
    fork = Fork(tuple(punctuation), recorded=recorded)
    found = [comparable(form.number) if watched else form.number for form in vector]
    numbers = tuple(EMPTY if n.is_empty() else n for n in found)
    if all(n is EMPTY for n in numbers):
        return fork
    return Either((fork, Text(numbers, Scalar(False, kind))))


@lru_cache(maxsize=4096)
def comparable(number: Regex) -> Regex:
    """The numbers of a language that can be told apart from others by their value."""
    return number_intersection(number, spellings(minimum=1))


@lru_cache(maxsize=4096)
def scalar_start(form: NormalForm, surrogates: bool) -> LexState:
    """`value_start` of a node that has scalars only. Nodes are compared by identity."""
    return value_start((wanted(form),), "", surrogates=surrogates)


def key_start(
    names: WordRange | None, others: Vector, layout: Layout, closing: bool, takes: bool
) -> LexState:
    """At the start of a key: one of `names`, or in one of `others`; or `}` when `closing`.

    takes: whether the machine leaves it to the engine that no other key comes twice, and `others`
    may have the names too.
    """
    if names is None:
        return unnamed_start(others, layout, closing, takes)
    role = Key(bool(others), not layout.natural, layout, takes)
    return _start(names, others, role, "}" * closing)


def word_start(names: WordRange, layout: Layout, closing: bool) -> KeyStart:
    """At the start of one of the words of a list, or of `]` when `closing`."""
    return _start(names, (), Key(False, True, layout), "]" * closing)


def _start(names: WordRange, others: Vector, role: Key, bracket: str) -> KeyStart:
    made, way = names.table.starts, (others, role)
    found = made.get((way, bracket))
    if found is None:
        key = made.get(way)  # one object, with a bracket and without
        if key is None:
            key = made[way] = Text((names, *others), role)
        found = made[way, bracket] = KeyStart(or_end(key, bracket))
    return found


@lru_cache(maxsize=256)
def free_key(layout: Layout) -> Text:
    """Within a key of which it is known that it has no name."""
    return Text((EMPTY, ANY), Key(True, not layout.natural, layout, takes=True))


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
def before_next(layout: Layout) -> LexState:
    """After a value inside an object in which others must follow: what comes before their quote."""
    behind = before_lexeme(layout.inner) or Fork((), SKIP)
    return gap(layout.comma, Fork(((ord(","), behind),)))


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
