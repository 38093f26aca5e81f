"""JSON values as hashable Python objects that are equal exactly where JSON Schema says so.

Numbers compare by value whatever their spelling, objects whatever the order of their keys, and
booleans are no numbers (JSON Schema core, section 4.2.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

Value = Any  # None, bool, str, Number, tuple of Values, or Members


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
    return value_of(json.loads(text, parse_int=Decimal, parse_float=_decimal))


def _decimal(text: str) -> Decimal:
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
