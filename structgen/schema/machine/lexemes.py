"""Lexer states for what may come next in a JSON text, and the terminals they end with.

| terminal | lexeme |
|---|---|
| `{`, `[`, `,`, `}`, `]` | punctuation, as strings of one character |
| ("value", mask) | a scalar; bit i of the mask is set if it fits form i of the vector |
| ("item", mask) | the same, and its value is captured: items of the array are compared |
| ("once", mask) | a string that must not have come before in the same array |
| ("listed", mask) | one of many listed scalars; the machine needs its text |
| ("key", name) | a key that is one of the names of the object |
| ("other", mask) | another key, in the languages of the mask; the machine needs its text |
| ("free", mask) | the same, whose text is only needed to refuse it when it comes again |

END_OF_TEXT and SKIP are the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from structgen.regular.numbers.lists import listed
from structgen.regular.numbers.set_operations import number_intersection
from structgen.regular.regex import ANY, EMPTY, EPSILON, Regex, readable_together
from structgen.regular.words import WordRange
from structgen.schema.normal_form.forms import NormalForm


class ScalarLanguages(NamedTuple):
    """The scalars that fit a normal form; EMPTY for no strings or numbers."""

    null: bool
    true: bool
    false: bool
    string: Regex
    number: Regex


def scalars_of(form: NormalForm) -> ScalarLanguages:
    """The scalars that fit a normal form."""
    string = EMPTY if form.string.is_empty() else form.string
    return ScalarLanguages(form.null, form.true, form.false, string, form.number)


def strings_read(vector: Sequence[ScalarLanguages | NormalForm]) -> tuple[Regex, ...]:
    """The strings of each form, as far as they are read (see `expressions.estimates`)."""
    return readable_together(tuple([form.string for form in vector]))


@lru_cache(maxsize=1024)
def value_start(
    vector: tuple[ScalarLanguages, ...],
    brackets: str,
    layout: Layout,
    kinds: tuple[str, str] = ("value", "value"),
) -> LexState:
    """The lexer state before a value that fits one of `vector`.

    brackets: of `[` and `{` those that can lead to a value, and `]` where it may come instead;
    layout: how strings are spelled; kinds: of the terminals of strings, and of other scalars.
    """
    string_kind, kind = kinds
    captured, recorded = kind != "value", kinds != ("value", "value")
    punctuation: list[tuple[int, LexState | End]] = []
    for text in ("null", "true", "false"):
        mask = bits([getattr(form, text) for form in vector])
        if mask:
            then = Fixed(text[1:].encode(), End((kind, mask)), captured)
            punctuation.append((ord(text[0]), then))
    strings = strings_read(vector)
    if any(s is not EMPTY for s in strings):
        languages, forms = each_once(strings)
        role = Scalar(True, string_kind, layout.escapes, layout.surrogates, forms)
        punctuation.append((ord('"'), Text(languages, role)))
    punctuation += [(ord(char), End(char)) for char in brackets]
    fork = Fork(tuple(punctuation), recorded=recorded)
    found = [comparable(form.number) if kind == "item" else form.number for form in vector]
    numbers = tuple(EMPTY if n.is_empty() else n for n in found)
    if all(n is EMPTY for n in numbers):
        return fork
    if len(numbers) == 1:
        numbers = (listed(numbers[0]),)
    languages, forms = each_once(numbers)
    return Either((fork, Text(languages, Scalar(False, kind, forms=forms))))


def each_once(vector: Sequence[Regex]) -> tuple[tuple[Regex, ...], tuple[int, ...]]:
    """The languages of a vector, each once, and `Scalar.forms`.

    Many branches often ask for few languages of the same value.
    """
    found: dict[Regex, int] = {}
    for i, language in enumerate(vector):
        if language is not EMPTY:
            found[language] = found.get(language, 0) | 1 << i
    alone = len(found) == sum(language is not EMPTY for language in vector)
    return (tuple(vector), ()) if alone else (tuple(found), tuple(found.values()))


@lru_cache(maxsize=1024)
def comparable(number: Regex) -> Regex:
    """The numbers of a language whose values can be compared exactly (see `spellings`)."""
    return number_intersection(number, spellings(minimum=1))


def listed_start(form: NormalForm, layout: Layout, closing: bool) -> LexState:
    """The lexer state before one of many listed scalars, or before `]` if `closing`."""
    return value_start((scalars_of(form),), "]" * closing, layout, ("listed", "listed"))


@lru_cache(maxsize=1024)
def scalar_start(form: NormalForm, layout: Layout) -> LexState:
    """`value_start` of a form that has scalars only. Forms are compared by identity."""
    return value_start((scalars_of(form),), "", layout)


def key_start(
    names: WordRange | None,
    others: Vector,
    layout: Layout,
    closing: bool,
    only_new: bool,
    by_text: int = 0,
) -> LexState:
    """The lexer state before a key: one of `names`, or in one of `others`; or `}` if `closing`.

    only_new: whether the machine leaves it to the engine that no other key comes twice; then the
    languages in `others` may contain the names, too. by_text: see `Key`.
    """
    if names is None:
        return unnamed_start(others, layout, closing, only_new, by_text)
    role = Key(bool(others), layout.escapes, layout, only_new, by_text)
    return _start(names, others, role, "}" * closing)


def word_start(names: WordRange, layout: Layout, closing: bool) -> KeyStart:
    """The lexer state before one of the words of a list, or before `]` if `closing`."""
    return _start(names, (), Key(False, layout.escapes, layout), "]" * closing)


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
def unnamed_key(layout: Layout) -> Text:
    """Inside a key that is known to be none of the names."""
    return Text((EMPTY, ANY), Key(True, layout.escapes, layout, only_new=True))


@lru_cache(maxsize=256)
def before_lexeme(space: Regex) -> LexState | None:
    """The entry of a frame: white space before its lexeme; None where there can be none."""
    return None if space is EPSILON else gap(space, Fork((), SKIP))


@lru_cache(maxsize=256)
def before_member(layout: Layout) -> LexState:
    """The entry of a frame that waits for the value of a member: the colon."""
    behind = gap(layout.inner, Fork((), SKIP))
    return gap(layout.colon, Fork(((ord(":"), behind),)))


@lru_cache(maxsize=256)
def before_next(layout: Layout) -> LexState:
    """After a value in an object where a member must follow: all up to the quote of its key."""
    behind = before_lexeme(layout.inner) or Fork((), SKIP)
    return gap(layout.comma, Fork(((ord(","), behind),)))


@lru_cache(maxsize=256)
def after_member(more: bool, closing: str | None, layout: Layout) -> LexState:
    """After a value in an object or array: a comma if `more`, or the closing bracket if given."""
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
