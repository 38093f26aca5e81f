"""Rules about words, letters and lengths as specs, to combine with others by `all_of`.

    structgen.all_of(schema, filters.banned("secret"), filters.length(at_most=200))

A text is read as characters; a word is a run of letters, digits and underscores as long as it can
be (`\\w+` of Python). What a token is, only the vocabulary says, so rules about tokens stand alone
or in `all_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NoReturn

from structgen.automata.pushdown.machine import Machine, TextMachine
from structgen.compose.base import as_spec, from_json, to_json
from structgen.compose.token_rules import TokenRule
from structgen.errors import SpecError, UnsatisfiableSchemaError
from structgen.regular.charset import ALL, CharSet, union_all
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    repeat,
    words,
)
from structgen.regular.syntax.unicode import property_set
from structgen.spec.base import MachineSpec, Spec

UNITS = ("characters", "words", "tokens")


@dataclass(frozen=True)
class Filter(MachineSpec):
    """The texts that keep one rule. Made by the functions of this module.

    rule: the name of the function; options, spec: what it was given.
    """

    rule: str
    options: tuple[tuple[str, Any], ...]
    spec: Spec | None = None
    kind: ClassVar[str] = "filter"

    def language(self) -> Regex:
        """The texts as a regular language."""
        if self.spec is not None:
            return _OF_SPECS[self.rule](self.spec.regular_language())
        return _RULES[self.rule](**dict(self.options))

    def machine(self) -> Machine[Any]:
        """See `Spec.machine`."""
        language = self.language()
        if language.is_empty():
            raise UnsatisfiableSchemaError(
                f"no text keeps the rule {self}", expected="at least one text"
            )
        return TextMachine(language, f"text that keeps {self}")

    def __str__(self) -> str:
        options_text = ", ".join(f"{name}={value!r}" for name, value in self.options if value)
        options_text = options_text if self.spec is None else repr(self.spec)
        return f"{self.rule}({options_text})"

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        spec = None if self.spec is None else to_json(self.spec)
        return {"rule": self.rule, "options": dict(self.options), "spec": spec}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Filter:
        """The spec that `to_json` described."""
        spec = None if data["spec"] is None else from_json(data["spec"])
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in data["options"].items()}
        return cls(data["rule"], tuple(options.items()), spec)


def banned(*phrases: str, ignore_case: bool = False) -> Spec:
    """Texts in which none of the phrases occurs, not even inside a word."""
    return _filter("banned", phrases=_phrases(phrases), ignore_case=ignore_case)


def required(*phrases: str, ignore_case: bool = False) -> Spec:
    """Texts in which each of the phrases occurs, in any order; they may overlap."""
    return _filter("required", phrases=_phrases(phrases), ignore_case=ignore_case)


def starts_with(*texts: str) -> Spec:
    """Texts that start with one of some texts."""
    return _filter("starts_with", texts=_phrases(texts))


def ends_with(*texts: str) -> Spec:
    """Texts that end with one of some texts."""
    return _filter("ends_with", texts=_phrases(texts))


def letters(
    *,
    allowed: str | None = None,
    forbidden: str = "",
    required: str = "",
    ignore_case: bool = False,
) -> Spec:
    """Texts made of `allowed` characters (None: all), without any of `forbidden`, with each of
    `required` at least once.
    """
    return _filter(
        "letters", allowed=allowed, forbidden=forbidden, required=required, ignore_case=ignore_case
    )


def letter_at(position: int, letter: str) -> Spec:
    """Texts whose character number `position` (from 0, or from the end: -1 is the last) is one of
    the characters in `letter`.
    """
    if not isinstance(position, int) or not letter:
        _broken("letter_at", (position, letter), "a whole number and at least one character")
    return _filter("letter_at", position=position, letter=letter)


def length(*, at_least: int = 0, at_most: int | None = None, unit: str = "characters") -> Spec:
    """Texts of `at_least` to `at_most` characters, words or tokens.

    What a token is, the vocabulary says: such a rule stands alone, or in `all_of`.
    """
    if unit not in UNITS:
        _broken("unit", unit, " or ".join(UNITS))
    most = at_least if at_most is None else at_most
    if not 0 <= at_least <= most:
        _broken("length", (at_least, at_most), "0 <= at_least <= at_most")
    if unit == "tokens":
        return TokenRule(None, at_least, at_most)
    return _filter("length", at_least=at_least, at_most=at_most, unit=unit)


def case(style: str) -> Spec:
    """Texts without capital ("lower") or without small letters ("upper")."""
    if style not in ("lower", "upper"):
        _broken("case", style, "lower or upper")
    return _filter("case", style=style)


def without(spec: Any) -> Spec:
    """Texts that do not fit a regular spec (a pattern, a choice, a filter)."""
    return _filter("without", _regular(spec))


def each_word(spec: Any) -> Spec:
    """Texts of which every word fits a regular spec; what stands between words is free."""
    return _filter("each_word", _regular(spec))


def each_token(spec: Any) -> Spec:
    """Texts of which every token, as a text by itself, fits a regular spec.

    With a vocabulary of pieces of words this is another rule than `each_word`. Tokens that are not
    whole characters are left out.
    """
    return TokenRule(_regular(spec))


# -- the languages ------------------------------------------------------------------------------


def _banned(phrases: tuple[str, ...], ignore_case: bool) -> Regex:
    return complement(concat(ANY, alt(*(_spelt(p, ignore_case) for p in phrases)), ANY))


def _required(phrases: tuple[str, ...], ignore_case: bool) -> Regex:
    return intersect(*(concat(ANY, _spelt(p, ignore_case), ANY) for p in phrases))


def _starts_with(texts: tuple[str, ...]) -> Regex:
    return concat(words(texts), ANY)


def _ends_with(texts: tuple[str, ...]) -> Regex:
    return concat(ANY, words(texts))


def _letters(allowed: str | None, forbidden: str, required: str, ignore_case: bool) -> Regex:
    of = ALL if allowed is None else _cased(allowed, ignore_case)
    of = of - _cased(forbidden, ignore_case)
    needed = [concat(ANY, chars(_cased(letter, ignore_case)), ANY) for letter in required]
    return intersect(repeat(chars(of), 0, None), *needed)


def _letter_at(position: int, letter: str) -> Regex:
    of = chars(CharSet.chars(letter))
    if position >= 0:
        return concat(repeat(ANY_CHAR, position, position), of, ANY)
    return concat(ANY, of, repeat(ANY_CHAR, -1 - position, -1 - position))


def _length(at_least: int, at_most: int | None, unit: str) -> Regex:
    if unit == "characters":
        return repeat(ANY_CHAR, at_least, at_most)
    return _of_words(repeat(chars(word_characters()), 1, None), at_least, at_most)


def _case(style: str) -> Regex:
    return repeat(chars(ALL - _other_case(style)), 0, None)


def _each_word(fitting: Regex) -> Regex:
    word = intersect(fitting, repeat(chars(word_characters()), 1, None))
    return _of_words(word, 0, None)


def _of_words(word: Regex, at_least: int, at_most: int | None) -> Regex:
    """Between `at_least` and `at_most` words with anything else between and around them."""
    gap = repeat(chars(ALL - word_characters()), 0, None)
    space = repeat(chars(ALL - word_characters()), 1, None)
    if at_most == 0:
        return gap
    most = None if at_most is None else at_most - 1
    some = concat(gap, word, repeat(concat(space, word), max(at_least - 1, 0), most), gap)
    return some if at_least else alt(gap, some)


def _spelt(phrase: str, ignore_case: bool) -> Regex:
    """A phrase, or all its spellings in small and capital letters."""
    if not ignore_case:
        return literal(phrase)
    return concat(*(chars(_cased(letter, True)) for letter in phrase))


def _cased(text: str, ignore_case: bool) -> CharSet:
    """The characters of a text, and what they become in other cases where that is one letter."""
    if ignore_case:
        others = [
            form for c in text for form in (c.lower(), c.upper(), c.title()) if len(form) == 1
        ]
        text += "".join(others)
    return CharSet.chars(text)


@cache
def word_characters() -> CharSet:
    """What words consist of: letters, numbers and the underscore."""
    found = [property_set(name) for name in ("L", "N")]
    return union_all([of for of in found if of is not None]) | CharSet.chars("_")


@cache
def _other_case(style: str) -> CharSet:
    """The characters that `lower` or `upper` would change."""
    change = str.lower if style == "lower" else str.upper
    spans = ((0, 0xD800), (0xE000, 0x20000), (0xE0000, 0xE1000))
    found = [c for lo, hi in spans for c in range(lo, hi) if change(chr(c)) != chr(c)]
    return CharSet.of((c, c) for c in found)


_RULES: dict[str, Callable[..., Regex]] = {
    "banned": _banned,
    "required": _required,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "letters": _letters,
    "letter_at": _letter_at,
    "length": _length,
    "case": _case,
}
_OF_SPECS: dict[str, Callable[..., Regex]] = {"without": complement, "each_word": _each_word}


# -- reading options ----------------------------------------------------------------------------


def _filter(rule: str, spec: Spec | None = None, **options: Any) -> Filter:
    return Filter(rule, tuple(options.items()), spec)


def _phrases(values: tuple[Any, ...]) -> tuple[str, ...]:
    if not values or not all(isinstance(v, str) and v for v in values):
        _broken("phrases", values, "texts that are not empty")
    return values


def _regular(spec: Any) -> Spec:
    found = as_spec(spec)
    if found.regular_language() is None:
        _broken("spec", spec, "a pattern, a choice, a filter or a grammar without recursion")
    return found


def _broken(name: str, value: Any, expected: str) -> NoReturn:
    raise SpecError(f"{name} is {value!r:.80}", expected=expected)
