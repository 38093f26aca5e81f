"""JSON values as hashable Python objects that are equal exactly where JSON Schema says so.

Numbers compare by value whatever their spelling, objects whatever the order of their keys, and
booleans are no numbers (JSON Schema core, section 4.2.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Self

from structgen.errors import BudgetError

MAX_INT = 2000  # characters of whole numbers that become an int; Python refuses some longer ones
MIN_PLAIN, MAX_PLAIN = -7, 21  # powers of ten between which numbers are written without exponent

Value = Any  # None, bool, str, Number, tuple of Values, or Members


class Written(Decimal):
    """A number of a JSON text that no int or float writes as the text does; shown as it stands."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Raises BudgetError for an exponent that `Decimal` cannot hold."""
        try:
            made = super().__new__(cls, decimal(text))
        except InvalidOperation as error:
            raise BudgetError(
                f"the exponent of {text[:40]} is too large", hint="write a number that can be met"
            ) from error
        made.text = text
        return made

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Written], tuple[str]]:
        return Written, (self.text,)


def number(text: str) -> int | float | Written:
    """The number of a JSON text: an int or float that is written so, else exactly what is there.

    Made for `parse_int` and `parse_float` of `json.loads`.
    """
    if text.isdecimal() or (text[0] == "-" and text[1:].isdecimal()):
        return int(text) if len(text) <= MAX_INT and text != "-0" else Written(text)
    near = float(text)
    return near if repr(near) == text else Written(text)


_decode = json.JSONDecoder(parse_int=number, parse_float=number).decode


def loads(text: str | bytes, **hooks: Any) -> Any:
    """`json.loads` with exact numbers. Raises what it raises, and BudgetError."""
    if isinstance(text, str) and not hooks and text[:1] != "\ufeff":
        return _decode(text)  # `json.loads` would make a decoder for each text
    return json.loads(text, parse_int=number, parse_float=number, **hooks)


def dumps(value: Any, *, ensure_ascii: bool = True, sort_keys: bool = False) -> str:
    """`json.dumps` with exact numbers, as written where that is known. Raises what that raises."""
    write = partial(dumps, ensure_ascii=ensure_ascii, sort_keys=sort_keys)
    try:
        return json.dumps(value, ensure_ascii=ensure_ascii, sort_keys=sort_keys)
    except TypeError:
        if isinstance(value, Decimal):
            return written(value)
        if not isinstance(value, dict | list | tuple):
            raise
    if isinstance(value, dict):
        members = sorted(value.items()) if sort_keys else value.items()
        return f"{{{', '.join(f'{write(str(key))}: {write(inner)}' for key, inner in members)}}}"
    return f"[{', '.join(map(write, value))}]"


def holds_written(value: Any) -> bool:
    """Whether there is a number in a JSON value that only a text has."""
    if isinstance(value, dict):
        return any(map(holds_written, value.values()))
    return any(map(holds_written, value)) if isinstance(value, list) else type(value) is Written


def rounded(value: Any) -> Any:
    """The same with the nearest float for each exact number, for readers who have nothing else."""
    if isinstance(value, Written):
        return float(value)
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [*map(rounded, value)] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Number:
    """A sign and digits (the last one not 0) times ten to the `exponent`."""

    digits: str
    exponent: int


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false, which equal no number."""

    value: bool


@dataclass(frozen=True, slots=True)
class Members:
    """The members of an object, in no order."""

    pairs: frozenset[tuple[str, Value]]


def scalar(text: bytes) -> Value:
    """The value of the text of a scalar."""
    return value_of(json.loads(text, parse_int=Decimal, parse_float=decimal))


def decimal(text: str) -> Decimal:
    """The value of a number. Zeros may have exponents that `Decimal` takes for none."""
    try:
        return Decimal(text)
    except InvalidOperation:
        if text.lower().partition("e")[0].strip("-0."):
            raise
        return Decimal(0)


def value_of(data: Any) -> Value:
    """The hashable value of data as `json.loads` returns it."""
    if isinstance(data, bool):
        return Boolean(data)
    if isinstance(data, float):
        data = Decimal(repr(data))
    if isinstance(data, int | Decimal):
        return _number(Decimal(data))
    if isinstance(data, list):
        return tuple(map(value_of, data))
    if isinstance(data, dict):
        return members((key, value_of(value)) for key, value in data.items())
    return data


def written(number: float | Decimal) -> str:
    """A number as a schema has it; a decimal that was computed has an exponent if it is long."""
    plain = isinstance(number, Decimal) and not isinstance(number, Written)
    if plain and MIN_PLAIN < number.adjusted() < MAX_PLAIN:  # type: ignore[union-attr]
        return format(number, "f")
    return str(number)


def members(pairs: Iterable[tuple[str, Value]]) -> Members:
    """The hashable value of an object with these members."""
    return Members(frozenset(pairs))


def _number(number: Decimal) -> Number:
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).strip("0")
    if not text or not isinstance(exponent, int):
        return Number("0", 0)
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return Number("-" * sign + text, exponent + zeros)


def data_of(value: Value) -> Any:
    """The value as `json.loads` would return it, numbers as `Decimal`."""
    if isinstance(value, Boolean):
        return value.value
    if isinstance(value, Number):
        return Decimal(f"{value.digits}E{value.exponent}")
    if isinstance(value, tuple):
        return [data_of(item) for item in value]
    if isinstance(value, Members):
        return {key: data_of(item) for key, item in sorted(value.pairs, key=_first)}
    return value


def _first(pair: tuple[str, Value]) -> str:
    return pair[0]
