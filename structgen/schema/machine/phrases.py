"""Phrases of error messages: JSON types, keys and values in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from structgen.regular.regex import EMPTY
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.values import dumps

MAX_SHOWN = 12  # keys, values or phrases listed in a message
MAX_LENGTH = 60  # characters of a pattern or a value

NAMES = {
    "null": "null",
    "boolean": "true or false",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def named(form: NormalForm) -> dict[str, str]:
    """The JSON types of the values that fit a normal form, by name and in words."""
    truths = " or ".join(["true"] * form.true + ["false"] * form.false)
    found = {
        "null": form.null,
        "boolean": bool(truths),
        "number": form.number is not EMPTY,
        "string": form.string is not EMPTY,
        "array": bool(form.arrays),
        "object": bool(form.objects),
    }
    names = NAMES | {"boolean": truths}
    return {name: names[name] for name, possible in found.items() if possible}


def bare(form: NormalForm) -> list[str]:
    """The types that fit a normal form, without details."""
    names = list(named(form).values())
    return ["any value"] if names == list(NAMES.values()) else names


def plain(forms: Iterable[NormalForm]) -> str:
    """The types of the values that fit some of these normal forms."""
    return " or ".join(dict.fromkeys(phrase for form in forms for phrase in bare(form)))


def keys(names: list[str], *, others: bool) -> list[str]:
    """The keys that may come next."""
    if not names:
        return ["another key"] * others
    said = "the key" if len(names) == 1 else "one of the keys"
    return [f"{said} {some(map(quoted, names))}"] + ["another key"] * others


def required(names: list[str]) -> str:
    """The keys that must still come, "" for none."""
    return f"keys still required: {some(names)}" if names else ""


def listed(values: list[Any]) -> str:
    """Given values: "the value 3", "one of 1, 2, 3"."""
    if len(values) == 1:
        return f"the value {quoted(values[0])}"
    return f"one of {some(map(quoted, values))}"


def some(texts: Iterable[str]) -> str:
    """A few of the texts, and dots for the others."""
    shown = list(texts)
    return ", ".join(shown[:MAX_SHOWN]) + (", ..." if len(shown) > MAX_SHOWN else "")


def quoted(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    return cut(dumps(value, ensure_ascii=False))


def cut(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 3] + "..."
