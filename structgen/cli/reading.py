"""Read files and texts of the command line: bytes, text, JSON or YAML, from a path, `-` or a text.

Whatever is wrong with them becomes a StructgenError that names the place and says what to do.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

from structgen.errors import SpecError, StructgenError
from structgen.schema.values import loads

STDIN = "-"
YAML_ENDINGS = (".yaml", ".yml")
MOST_VALUES = 1_000_000  # of YAML, where a few lines of aliases can stand for any number
_DATES = "tag:yaml.org,2002:timestamp"  # in YAML; read as strings, as JSON has them


def read_bytes(path: str, what: str) -> bytes:
    """The bytes of a file, or of stdin for `-`. `what` names the file's part in messages."""
    if path == STDIN:
        if sys.stdin is None:
            bad(f"the {what} cannot be read: stdin is closed", STDIN, "", "name a file")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except IsADirectoryError:
        bad(f"the {what} is a directory", path, "a file", "name a file inside it")
    except FileNotFoundError:
        bad(f"there is no {what}", path, "a file", "check the path")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        bad(f"the {what} cannot be read: {reason}", path, "", "check the path and its permissions")


def read_text(path: str, what: str) -> str:
    """The text of a UTF-8 file, or of stdin for `-`; a byte-order mark at the start is dropped."""
    data = read_bytes(path, what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        bad(
            f"the {what} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            shown(path),
            "UTF-8 text",
            "it looks like UTF-16; convert it to UTF-8" if mark else "convert it to UTF-8",
        )


def argument(text: str, name: str) -> str:
    """A text given as an argument, which must have been UTF-8 when the shell passed it on."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        bad(f"character {error.start} is not text", name, "UTF-8", "put the text into a file")
    return text


def is_inline(source: str) -> bool:
    """Whether SPEC is the JSON text of a schema or of tools itself, and no path."""
    return source.lstrip()[:1] in {"{", "["} or source in {"true", "false"}


def read_json(path: str, what: str) -> Any:
    """The JSON value of a text, a file or stdin (`-`), read strictly: no NaN, no key twice.

    A file that ends in .yaml or .yml is YAML.
    """
    if is_inline(path):
        text = argument(path, "SPEC")
    else:
        text = read_text(path, what)
        if Path(path).suffix in YAML_ENDINGS:
            return read_yaml(text, path, what)
    place = shown(path)
    if not text.strip():
        broken(f"the {what} is empty", place, "JSON text", "write {} to allow every value")
    try:
        return loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = f"the {what} is not JSON: {error.msg}"
        broken(problem, f"{place}:{error.lineno}:{error.colno}", "JSON text", "correct it there")
    except RecursionError:
        broken(f"the {what} is nested too deeply to be read", place, "", "use $ref for recursion")
    except ValueError as error:
        broken(f"the {what} is not usable JSON: {error}", place, "strict JSON", "correct it")


def read_yaml(text: str, path: str, what: str) -> Any:
    """The value of a YAML text, which must be one of JSON: string keys, none twice, no NaN.

    path and what name the file in messages. StructgenError where PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise StructgenError(
            "reading YAML needs PyYAML", location=path, hint="run: pip install pyyaml"
        ) from error

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """The safe loader without dates, which refuses keys that JSON does not have."""

        yaml_implicit_resolvers = {  # noqa: RUF012  the library's own attribute
            first: [(tag, regexp) for tag, regexp in resolvers if tag != _DATES]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            """A mapping with strings for keys, none of them twice."""
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for (key_node, _), key in zip(node.value, keys, strict=True):
                place = f"{path}:{key_node.start_mark.line + 1}:{key_node.start_mark.column + 1}"
                if not isinstance(key, str):
                    broken(f"the key {key!r} is no string", place, hint="put it in quotes")
                if keys.count(key) > 1:
                    broken(f"the key {key!r} stands twice in one object", place)
            found: dict[str, Any] = super().construct_mapping(node, deep=deep)
            return found

    try:
        value = yaml.load(text, Loader)  # noqa: S506  it is a safe loader
        count = _count(value, {})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = path if mark is None else f"{path}:{mark.line + 1}:{mark.column + 1}"
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        broken(f"the {what} is not YAML: {problem}", place, hint="correct it there")
    except RecursionError:
        broken(f"the {what} is nested too deeply to be read", path, hint="use $ref for recursion")
    if count == math.inf:
        broken(f"the {what} has what JSON has not", path, "texts, numbers, lists and objects")
    if count > MOST_VALUES:
        broken(f"the {what} has too many values, aliases counted", path, f"{MOST_VALUES:,} at most")
    return value


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
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return 1 if value is None or isinstance(value, str) or is_number else math.inf


def shown(path: str) -> str:
    """How messages name a path."""
    if is_inline(path):
        return "SPEC"
    return "stdin" if path == STDIN else path


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def bad(problem: str, location: str, expected: str = "", hint: str = "") -> NoReturn:
    """Raise a StructgenError about an argument."""
    raise StructgenError(problem, location=location, expected=expected, hint=hint)


def broken(problem: str, location: str, expected: str = "", hint: str = "") -> NoReturn:
    """Raise a SpecError about a spec."""
    raise SpecError(problem, location=location, expected=expected, hint=hint)
