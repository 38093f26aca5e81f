"""JSON Pointers (RFC 6901), and that of the value at the end of a cut-off JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable


def escape_pointer(part: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901)."""
    return part.replace("~", "~0").replace("/", "~1")


def unescape_pointer(token: str) -> str:
    """The key, or the index as text, that one reference token of a JSON Pointer names."""
    return token.replace("~1", "/").replace("~0", "~")


def pointer_to(path: Iterable[str | int]) -> str:
    """The JSON Pointer of the value to which some keys and indices lead."""
    return "".join(f"/{escape_pointer(str(part))}" for part in path)


def location(pointer: str) -> str:
    """A place in a schema, for errors: "#/a" in the document itself, "URI#/a" in another one."""
    return pointer if pointer and not pointer.startswith("/") else f"#{pointer}"


def json_pointer(data: bytes) -> str:
    """JSON Pointer of the innermost value begun in `data`, a valid prefix of a JSON text.

    Behind a key and its colon the pointer is that of the key's value; at the top it is "".
    """
    path: list[str | int | None] = []  # per open container: key (None before one), or index
    key_start = -1
    i = 0
    while i < len(data):
        byte = data[i : i + 1]
        if byte == b'"':
            end = _string_end(data, i)
            if end < 0:
                break
            key_start, i = i, end
        elif byte in b"{[":
            path.append(None if byte == b"{" else 0)
        elif byte in b"}]":
            path.pop()
        elif byte == b"," and path:
            last = path[-1]
            path[-1] = last + 1 if isinstance(last, int) else None
        elif byte == b":":
            path[-1] = json.loads(data[key_start : data.rindex(b'"', key_start, i) + 1])
        i += 1
    return pointer_to(part for part in path if part is not None)


def _string_end(data: bytes, start: int) -> int:
    """Index of the quote that closes the string opened at `start`, -1 if it is still open."""
    i = start + 1
    while i < len(data):
        if data[i] == 0x5C:
            i += 1
        elif data[i] == 0x22:
            return i
        i += 1
    return -1
