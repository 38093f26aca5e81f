"""Read files and texts of the command line: bytes, text, JSON or YAML, from a path, `-` or a text.

Whatever is wrong with them becomes a StructgenError that names the place and says what to do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from structgen.cli.yaml_values import read_yaml
from structgen.errors import SpecError, StructgenError
from structgen.schema.values import loads

STDIN = "-"
YAML_ENDINGS = (".yaml", ".yml")


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
        comment = text[error.pos :].lstrip().startswith(("//", "/*", "#"))
        hint = "JSON has no comments; take it out" if comment else "correct it there"
        broken(problem, f"{place}:{error.lineno}:{error.colno}", "JSON text", hint)
    except RecursionError:
        broken(f"the {what} is nested too deeply to be read", place, "", "use $ref for recursion")
    except ValueError as error:
        broken(f"the {what} is not usable JSON: {error}", place, "strict JSON", "correct it")


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
