"""Turns what `compile` and `generate` accept into a spec."""

from __future__ import annotations

import os
import re
from typing import Any, Protocol, runtime_checkable

from structgen.errors import SpecError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.python.types import PythonType, is_python_type
from structgen.spec.base import Spec
from structgen.vocabulary.vocabulary import looks_like_vocabulary

MAX_SHOWN = 100  # characters of a wrong spec that a message shows
# How files of specs are read, by ending.
FILES = {
    ".json": "structgen.JsonSchema(Path(path).read_text())",
    ".lark": "structgen.Lark.from_file(path)",
    ".gbnf": "structgen.Gbnf(Path(path).read_text())",
    ".ebnf": "structgen.Ebnf(Path(path).read_text())",
}


@runtime_checkable
class HasSpec(Protocol):
    """What knows the spec that it stands for, such as a piece of a grammar."""

    def as_spec(self) -> Spec:
        """The spec."""


def is_constraint(value: object) -> bool:
    """Whether something is a compiled constraint, which anybody may write, and no spec."""
    return hasattr(value, "fill_mask") and hasattr(value, "advance")


def coerce(spec: Any) -> Spec:
    """The spec that a user's object means: a spec, a Python type, or a schema as dict or bool.

    SpecError for anything else, with what was probably meant.
    """
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, dict | bool):
        return JsonSchema(spec)
    if is_python_type(spec) and not (isinstance(spec, type) and issubclass(spec, Spec)):
        return PythonType(spec)
    if isinstance(spec, HasSpec) and not isinstance(spec, type):
        return spec.as_spec()
    raise SpecError(
        f"{_named(spec)} is not a spec",
        expected="JsonSchema, Regex, Lark, ..., a schema as a dict, or a Python type",
        hint=_meant(spec),
    )


def _named(value: object) -> str:
    text = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
    return text if len(text) <= MAX_SHOWN else f"a {type(value).__name__}"


def _meant(value: Any) -> str:
    """What somebody who gives `value` as a spec probably wants, as a hint."""
    if isinstance(value, str | bytes):
        return _meant_by_text(value.decode(errors="replace") if isinstance(value, bytes) else value)
    if isinstance(value, re.Pattern):
        return (
            "use structgen.Regex(pattern.pattern): it reads ECMA-262, matches from end to end, and "
            "takes no flags"
        )
    if isinstance(value, os.PathLike):
        return _meant_by_path(os.fspath(value))
    if isinstance(value, list | tuple | set | frozenset):
        return _meant_by_list(list(value))
    if value is None:
        return "for any JSON use {}, for any text structgen.FreeText()"
    if isinstance(value, type):
        return f"make an object of it: structgen.{value.__name__}(...)"
    if is_constraint(value):
        return "it is compiled already; its own spec is constraint.spec"
    if looks_like_vocabulary(value):
        return "the spec comes first: compile(spec, vocabulary)"
    if isinstance(value, int | float):
        return f'for this value alone use {{"const": {value!r}}}'
    if callable(value):
        return "for a call of this function use structgen.tools([function], format=...)"
    return "for a fixed JSON value use {'const': value}"


def _meant_by_text(text: str) -> str:
    start = text.lstrip()
    ending = os.path.splitext(text)[1] if len(text) <= MAX_SHOWN and "\n" not in text else ""
    if start.startswith("{") or text.strip() in {"true", "false"}:
        return "for JSON text use structgen.JsonSchema(text)"
    if ending in FILES:
        return _meant_by_path(text)
    if re.search(r"^\s*root\s*::=", text, re.MULTILINE):
        return "for a GBNF grammar use structgen.Gbnf(text)"
    if "::=" in text:
        return "for an EBNF grammar use structgen.Ebnf(text)"
    if re.search(r"^[?!]?[a-z_]\w*(\.\d+)?\s*:", text, re.MULTILINE):
        return "for a grammar use structgen.Lark(text)"
    return (
        "for a pattern use structgen.Regex(text), for this very text structgen.Choice([text]), for "
        "JSON text structgen.JsonSchema(text), for a grammar structgen.Lark(text)"
    )


def _meant_by_path(path: str | bytes) -> str:
    ending = os.path.splitext(os.fsdecode(path))[1]
    reader = FILES.get(ending, "structgen.JsonSchema(Path(path).read_text())")
    return f"for a file use {reader}"


def _meant_by_list(values: list[Any]) -> str:
    if values and all(isinstance(value, str) for value in values):
        return "for one of these texts use structgen.Choice([...])"
    if values and all(isinstance(value, dict) and "name" in str(value)[:200] for value in values):
        return "for definitions of tools use structgen.tools([...], format=...)"
    return (
        "for one of several specs use structgen.any_of(...), for one after the other "
        'structgen.sequence(...), for one of several JSON values {"enum": [...]}'
    )
