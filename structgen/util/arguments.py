"""Checks that an argument is of the kind that is wanted: a typed error names it, and that kind."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from structgen.errors import ArgumentError, StructgenError


def check_kind(
    name: str,
    value: object,
    kind: type | tuple[type, ...],
    expected: str,
    *,
    error: type[StructgenError] = ArgumentError,
    hint: str = "",
) -> None:
    """`error` unless `value` is an instance of `kind`."""
    if not isinstance(value, kind):
        raise error(f"{name} is {value!r:.80}", expected=expected, hint=hint)


def check_integer(
    name: str,
    value: object,
    hint: str = "",
    *,
    error: type[StructgenError] = ArgumentError,
) -> None:
    """`error` unless `value` is an integer, numpy's included."""
    try:
        operator.index(value)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        raise error(f"{name} is {value!r:.80}", expected="an integer", hint=hint) from None


def several(
    name: str,
    values: object,
    expected: str,
    *,
    error: type[StructgenError] = ArgumentError,
) -> tuple[Any, ...]:
    """The values of whatever has several; `error` for a text, and for what has none."""
    if isinstance(values, str | bytes | type) or not isinstance(values, Iterable):
        raise error(f"{name} is {values!r:.80}", expected=expected)
    return tuple(values)
