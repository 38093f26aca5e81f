"""The lexer states and frames that most schemas share, made once for each layout of JSON texts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product

from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.lexer.lexer import LexState, Text
from structgen.automata.lexer.lexicon import lexicon_of
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import END_OF_TEXT, SKIP, Prepared, Preset
from structgen.automata.pushdown.preset import preset_of
from structgen.regular.numbers.language import Spelling, number_language
from structgen.regular.numbers.set_operations import number_complement
from structgen.regular.regex import ANY, EMPTY, Regex
from structgen.schema.formats.formats import prepare_formats
from structgen.schema.machine.any_value import free_machine
from structgen.schema.machine.lexemes import (
    ScalarLanguages,
    after_member,
    before_lexeme,
    before_member,
    before_next,
    text_end,
    unnamed_key,
    value_start,
)
from structgen.schema.machine.machine import JsonMachine

DIGITS = 3  # digits of a number that one token may have


@lru_cache(maxsize=16)
def prepared_json(layout: Layout, spelling: Spelling, declared: bool, gap: int) -> Prepared:
    """What JSON texts in a layout share; spelling: of numbers; others as in `free_machine`."""
    frames = _preset(free_machine(layout, declared, gap)).frames
    starts = (*_states(layout, spelling), *(frame.lexeme for frame in frames))
    bare = Prepared(lexicon_of(starts, (END_OF_TEXT, SKIP), _is_number))
    return bare._replace(preset=_preset(free_machine(layout, declared, gap, bare)))


@cache
def prepare_common() -> None:
    """Prepare formats and states of fractional numbers, which many schemas have, once per process.

    Else the first schemas that have them do, which takes up to a tenth of a second.
    """
    prepare_formats()
    prepare_fractional(_fractional())


def prepare_fractional(numbers: Regex) -> None:
    """Prepare, once per process, the first states of all fractional numbers, if these are they.

    To tell fractional numbers from whole ones, each state takes a search.
    """
    if numbers is _fractional():
        _prepare_fractional()


@cache
def _prepare_fractional() -> None:
    near = {_fractional()}
    for _ in range(DIGITS):
        moves = [move for language in near for move in language.moves()]
        near = {after for chars, after in moves if chr(chars.first).isdigit()}


@cache
def _fractional() -> Regex:
    return number_complement(number_language(integer=True))


def _preset(machine: JsonMachine) -> Preset:
    return preset_of(Engine(lambda: machine))


def _is_number(state: LexState) -> bool:
    """Whether a lexer state reads a number: states of integers with exponents are made on demand.

    There are thousands of them, most of which are never met.
    """
    return isinstance(state, Text) and not state.role.quoted


def _integers(spelling: Spelling) -> Iterator[Regex]:
    """All integers, those from 0, and those from 1; also as draft 4 has them, if that differs."""
    for minimum in (None, 0, 1):
        for kind in dict.fromkeys((spelling, "integer" if spelling == "any" else spelling)):
            yield number_language(integer=True, minimum=minimum, spelling=kind)


def _states(layout: Layout, spelling: Spelling) -> Iterator[LexState]:
    """Lexer states of gaps, punctuation, and values of the usual types."""
    integers, *others = _integers(spelling)
    numbers = number_language(spelling=spelling)
    for space in (layout.inner, layout.head):
        entry = before_lexeme(space)
        if entry is not None:
            yield entry
    yield before_member(layout)
    yield before_next(layout)
    yield text_end(layout)
    yield unnamed_key(layout)
    for more, bracket in product((True, False), "}]"):
        yield after_member(more, bracket, layout)
    yield after_member(True, None, layout)
    nothing = ScalarLanguages(null=False, true=False, false=False, string=EMPTY, number=EMPTY)
    kinds = (
        nothing._replace(string=ANY),
        nothing._replace(number=integers),
        nothing._replace(number=numbers),
        *(nothing._replace(number=integers) for integers in others),
        nothing._replace(true=True, false=True),
        nothing._replace(string=ANY, number=integers),
        nothing._replace(string=ANY, number=numbers),
        nothing._replace(string=ANY, true=True, false=True),
    )
    for kind, null, closing in product(kinds, (False, True), ("", "]")):
        yield value_start((kind._replace(null=null),), closing, layout)
    for null, closing in product((False, True), ("", "]")):
        for brackets in ("[", "{", "[{"):
            scalars = (nothing._replace(null=null),)
            yield value_start(scalars, brackets + closing, layout)
    anything = ScalarLanguages(null=True, true=True, false=True, string=ANY, number=numbers)
    for closing in ("", "]"):
        yield value_start((anything,), "[{" + closing, layout)
