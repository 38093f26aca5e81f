"""Read YAML as JSON values: the core schema of YAML 1.2 (section 10.3), as OpenAPI asks.

PyYAML reads YAML 1.1, where the country code `NO` is false, `012` is ten and `12:30` is 750. Here
words and times are strings, numbers are as exact as those of JSON texts, and the keys 200 and
"200" are the same.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, NoReturn

from structgen.errors import SpecError, StructgenError
from structgen.schema.values import number

MOST_VALUES = 1_000_000  # in a file, where a few lines of aliases can stand for any number
_TAG = "tag:yaml.org,2002:"
_INT = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_PLAIN = [  # what a scalar without quotes is: the first pattern that matches all of it
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("float", r"[-+]?(\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN", list("-+.")),
    ("merge", r"<<", ["<"]),
]
_KEYS = {_TAG + name for name in ("int", "float", "bool")}  # as keys they are their text
_BASES = {"0o": 8, "0x": 16}


def read_yaml(text: str, path: str, what: str) -> Any:
    """The value of a YAML text, which must be one of JSON: string keys, none twice, no NaN.

    path and what name the file in messages. SpecError with the line for what is wrong,
    StructgenError where PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise StructgenError(
            "reading YAML needs PyYAML", location=path, hint="run: pip install pyyaml"
        ) from error
    try:
        value = yaml.load(text, _loader(yaml, path))  # noqa: S506  it is a safe loader
        count = _count(value, {})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SpecError(
            f"the {what} is not YAML: {problem}",
            location=path if mark is None else _place(path, mark),
            hint="correct it there",
        ) from error
    except RecursionError as error:
        raise SpecError(
            f"the {what} is nested too deeply to be read",
            location=path,
            hint="use $ref for recursion",
        ) from error
    if count == math.inf:
        expected = "texts, numbers, lists and objects"
        raise SpecError(f"the {what} has what JSON has not", location=path, expected=expected)
    if count > MOST_VALUES:
        problem = f"the {what} has too many values, aliases counted"
        raise SpecError(problem, location=path, expected=f"{MOST_VALUES:,} at most")
    return value


def _loader(yaml: Any, path: str) -> type:
    """A loader of the library `yaml` for the values of JSON; `path` names the file in messages."""

    def wrong(problem: str, node: Any, hint: str = "") -> NoReturn:
        raise SpecError(problem, location=_place(path, node.start_mark), hint=hint)

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """The safe loader, for the values of JSON."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  the library's own attribute

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            """A mapping with strings for keys, none of them twice."""
            keys = set()
            for key, _ in node.value:
                if key.tag in _KEYS:
                    key.tag = _TAG + "str"
                if key.tag not in {_TAG + "str", _TAG + "merge"}:
                    wrong("a key is no string", key, "put it in quotes")
                if key.value in keys:
                    wrong(f"the key {key.value!r} stands twice in one object", key)
                keys.add(key.value)
            found: dict[str, Any] = super().construct_mapping(node, deep=deep)
            return found

        def construct_number(self, node: Any) -> Any:
            """As exact as in a JSON text."""
            digits = str(self.construct_scalar(node))
            found = _number(digits)
            if found is None:
                wrong(f"{digits} is no number of JSON", node, "write digits, or leave it out")
            return found

    for name, pattern, first in _PLAIN:
        Loader.add_implicit_resolver(_TAG + name, re.compile(rf"^(?:{pattern})$"), first)
    for name in ("int", "float"):
        Loader.add_constructor(_TAG + name, Loader.construct_number)
    return Loader


def _number(digits: str) -> int | float | Decimal | None:
    if not re.fullmatch(f"{_INT}|{_FLOAT}", digits):
        return None
    if digits[:2] in _BASES:
        return int(digits[2:], _BASES[digits[:2]])
    sign, whole, fraction, exponent = re.findall(r"([-+]?)0*(\d*)\.?(\d*)(.*)", digits)[0]
    point = "." if fraction else ""
    return number(f"{sign.strip('+')}{whole or '0'}{point}{fraction}{exponent}")


def _place(path: str, mark: Any) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}"


def _count(value: Any, known: dict[int, float]) -> float:
    """How many values there are in one; infinity where some are not of JSON.

    A value that several places have (an alias) counts in each. known: the counts of lists and
    objects by their id. Raises RecursionError for a value within itself.
    """
    if isinstance(value, list | dict):
        if id(value) not in known:
            inner = value.values() if isinstance(value, dict) else value
            known[id(value)] = 1 + sum(_count(each, known) for each in inner)
        return known[id(value)]
    return 1 if value is None or isinstance(value, str | int | float | Decimal) else math.inf
