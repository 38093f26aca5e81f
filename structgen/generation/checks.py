"""Checks of the options that users give to generation, sampling and speculation.

Each raises a GenerationError that names the option, its value and what was expected.
"""

from __future__ import annotations

import difflib
import numbers
import operator
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from structgen.errors import GenerationError


def check(name: str, value: object, fine: bool, expected: str) -> None:
    """GenerationError unless the option's value is fine."""
    if not fine:
        refuse(name, value, expected)


def check_chat(chat: object) -> None:
    """GenerationError unless `chat` is None, "auto", True or False."""
    fine = chat is None or isinstance(chat, bool) or (isinstance(chat, str) and chat == "auto")
    check("chat", chat, fine, '"auto", True or False')


def check_count(name: str, value: object) -> None:
    """GenerationError unless `value` is an integer of 1 or more."""
    check(name, value, is_integer(value, 1), "an integer of 1 or more")


def check_one_of(name: str, value: object, *known: str) -> None:
    """GenerationError unless `value` is one of some words."""
    fine = isinstance(value, str) and value in known
    check(name, value, fine, " or ".join(f'"{word}"' for word in known))


def check_number(name: str, value: object, fits: Callable[[float], bool], expected: str) -> None:
    """GenerationError unless `value` is a number, numpy's included and bool not, that fits."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    check(name, value, is_number and fits(float(value)), expected)  # type: ignore[arg-type]


def check_each(name: str, values: object, fits: Callable[[Any], bool], expected: str) -> None:
    """GenerationError unless `values` is a list or tuple whose elements all fit."""
    fine = isinstance(values, list | tuple) and all(map(fits, values))
    check(name, values, fine, expected)


def has_method(name: str) -> Callable[[Any], bool]:
    """A test whether an object, and no class, has a method."""
    return lambda x: not isinstance(x, type) and callable(getattr(x, name, None))


def check_share(name: str, value: float, *, least: float = 0.0, most: float = 1.0) -> None:
    """GenerationError unless `least` <= value <= `most`."""
    if not least <= value <= most:
        refuse(name, value, f"a number from {least:g} to {most:g}", name)


def check_some(name: str, count: int) -> None:
    """GenerationError unless there is at least one of what is counted."""
    if count < 1:
        raise GenerationError(f"there are no {name}", location=name, expected="at least one")


def is_integer(value: Any, least: int) -> bool:
    """Whether `value` is an integer, numpy's included and bool not, of at least `least`."""
    try:
        return not isinstance(value, bool) and operator.index(value) >= least
    except TypeError:
        return False


def refuse(name: str, value: object, expected: str, location: str = "") -> NoReturn:
    """Raise a GenerationError for an option with a wrong value."""
    raise GenerationError(f"{name} is {value!r:.80}", location=location, expected=expected)


def refuse_unknown(what: str, name: str, known: Collection[str], location: str = "") -> NoReturn:
    """Raise a GenerationError for a name that there is not, with the known one that is nearest."""
    close = difflib.get_close_matches(name, known, 1)
    raise GenerationError(
        f"there is no {what} {name!r}",
        location=location,
        expected="one of " + ", ".join(known),
        hint=f"did you mean {close[0]!r}?" if close else "",
    )
