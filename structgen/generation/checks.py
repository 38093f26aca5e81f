"""Checks of the options that users give to generation, sampling and speculation.

Each raises a GenerationError that names the option, its value and what was expected.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from structgen.errors import GenerationError


def check_chat(chat: object) -> None:
    """GenerationError unless `chat` is None, "auto", True or False."""
    if chat is not None and chat != "auto" and not isinstance(chat, bool):
        refuse("chat", chat, '"auto", True or False')


def check_count(name: str, value: object) -> None:
    """GenerationError unless `value` is an integer of 1 or more."""
    if not is_integer(value, 1):
        refuse(name, value, "an integer of 1 or more")


def is_integer(value: Any, least: int) -> bool:
    """Whether `value` is an integer, numpy's included and bool not, of at least `least`."""
    try:
        return not isinstance(value, bool) and operator.index(value) >= least
    except TypeError:
        return False


def refuse(name: str, value: object, expected: str) -> NoReturn:
    """Raise a GenerationError for an option with a wrong value."""
    raise GenerationError(f"{name} is {value!r}", expected=expected)
