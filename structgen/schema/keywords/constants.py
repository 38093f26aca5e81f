"""Normal forms of JSON values (`enum`, `const`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.lone_surrogates import with_stand_ins
from structgen.regular.numbers.language import Spelling, equal_to, number_language, to_fraction
from structgen.regular.regex import Regex, alt, matches, words
from structgen.schema.keywords.subschemas import Subschemas
from structgen.schema.normal_form.expressions import FALSE
from structgen.schema.normal_form.forms import ArrayAlt, NormalForm, ObjectAlt, PropertyGroup
from structgen.schema.values import Written, written

NUMBERS = (int, float, Decimal)
RUN = 3  # whole numbers at equal distances from which on they are one language
MOST_SPELLED = 2000  # runs up to which numbers may come in any spelling
MAX_NESTED = 10_000  # arrays and objects in one list
PLAIN_DIGITS = 21
LARGE = 10**PLAIN_DIGITS  # whole numbers from here on are in no run


def constants(
    schemas: Subschemas, values: list[Any], location: Callable[[], str], *, is_plain: bool = False
) -> NormalForm:
    """The normal form of exactly these JSON values; `location` is where they are listed.

    is_plain: whether numbers are written as the schema has them, as in a long list.
    """
    kinds = set(map(type, values))
    if kinds == {str}:  # as most are
        return NormalForm(string=_words(schemas, values))
    if kinds == {int} and len(values) == 1 and schemas.natural:  # as in lists of objects
        return NormalForm(number=_constant_number(schemas, values[0]))
    numbers = [v for v in values if isinstance(v, NUMBERS) and not isinstance(v, bool)]
    nested = sum(isinstance(v, list | dict) for v in values)
    at = location() if nested else ""
    if nested > MAX_NESTED:
        raise BudgetError(
            f"{nested} arrays and objects are listed",
            location=at,
            expected=f"at most {MAX_NESTED}",
            hint="list the values of each key or item instead",
        )
    plain = is_plain or len(values) > MOST_SPELLED
    return NormalForm(
        any(v is None for v in values),
        any(v is True for v in values),
        any(v is False for v in values),
        alt(*_constant_numbers(schemas, numbers, is_plain)),
        _words(schemas, [v for v in values if isinstance(v, str)]),
        tuple(_constant_array(schemas, v, at, plain) for v in values if isinstance(v, list)),
        tuple(_constant_object(schemas, v, at, plain) for v in values if isinstance(v, dict)),
    )


def _words(schemas: Subschemas, values: list[str]) -> Regex:
    """Some texts, without those that cannot be written."""
    if not schemas.surrogates:
        return words(values)
    return words(text for text in map(with_stand_ins, values) if text is not None)


def _constant_numbers(schemas: Subschemas, numbers: list[Any], is_plain: bool) -> Iterator[Regex]:
    """The language of each number, or one for a run of numbers at equal distances.

    Where spelling is natural, a number that is not in a run is written as the schema has it; where
    there are more than MOST_SPELLED runs, or `is_plain`, all are.
    """
    values = {_exact(number): number for number in reversed(numbers)}
    if schemas.natural:
        yield words(written(values.pop(x)) for x in [*values] if not isinstance(values[x], int))
    for value, number in values.items():  # with an exponent that no automaton reads
        if isinstance(number, Written) and not matches(equal_to(value), number.text):
            yield words([number.text])
    ordered = sorted(values)
    runs = [*_runs(ordered)]
    if is_plain or len(runs) > MOST_SPELLED:
        yield words(text for number in numbers for text in _plain_texts(number))
        return
    for begin, end, step in runs:
        if step:
            spelling: Spelling = "natural" if schemas.natural else "any"
            low, high = ordered[begin], ordered[end - 1]
            yield number_language(
                integer=True, minimum=low, maximum=high, multiple_of=[step], spelling=spelling
            )
        else:
            yield _constant_number(schemas, ordered[begin])


def _exact(number: float | Decimal) -> Fraction | int:
    """The value of a number."""
    if type(number) is Decimal and number.adjusted() < PLAIN_DIGITS and number == int(number):
        return int(number)
    return number if type(number) is int and -LARGE < number < LARGE else to_fraction(number)


def _plain_texts(number: float | Decimal) -> Iterator[str]:
    """A number as a schema has it, and a whole one in digits."""
    text = written(number)
    yield text
    if text.endswith(".0"):
        yield text[:-2]


def _runs(ordered: Sequence[Fraction | int]) -> Iterator[tuple[int, int, Fraction | int]]:
    """The runs of numbers: begin, end, and distance, which is 0 for a number by itself."""
    begin = 0
    while begin < len(ordered):
        end, step = _run(ordered, begin)
        low, high = ordered[begin], ordered[end - 1]
        whole = low.denominator == step.denominator == 1 and max(-low, high) < LARGE
        if whole and end - begin >= RUN and not low % step:
            yield begin, end, step
        else:
            end = max(begin + 1, end - 1)  # the last one may begin the next run
            yield from ((at, at + 1, 0) for at in range(begin, end))
        begin = end


def _run(ordered: Sequence[Fraction | int], begin: int) -> tuple[int, Fraction | int]:
    """The end of the run of numbers at equal distances from index `begin` on, and the distance."""
    step: Fraction | int = 0
    end = begin + 1
    if end < len(ordered):
        step = ordered[end] - ordered[begin]
    while end < len(ordered) and ordered[end] - ordered[end - 1] == step:
        end += 1
    return end, step


def _constant_number(schemas: Subschemas, value: Fraction | int) -> Regex:
    return words([str(value)]) if schemas.natural else equal_to(Fraction(value))


def _constant_array(schemas: Subschemas, value: list[Any], location: str, plain: bool) -> ArrayAlt:
    items = tuple(
        [schemas.constant(v, f"{location}/{i}", is_plain=plain) for i, v in enumerate(value)]
    )
    return ArrayAlt(((items, FALSE),), len(value), len(value))


def _constant_object(
    schemas: Subschemas, value: dict[str, Any], location: str, plain: bool
) -> ObjectAlt:
    named = {k: schemas.constant(v, f"{location}/{k}", is_plain=plain) for k, v in value.items()}
    return ObjectAlt((PropertyGroup(named, (), FALSE),), tuple(value))
