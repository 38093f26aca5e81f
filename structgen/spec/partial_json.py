"""Read JSON text that is cut off anywhere: its value so far, and which parts are final.

Final is what no continuation can change, given that keys do not repeat: a closed string, object or
array, a number that something follows, a literal as soon as it has begun. Only the value being
written now and the objects and arrays around it are open, so a path says it all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from structgen.errors import ValidationError
from structgen.util.json_pointer import pointer_to

Path = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\n\r]*")
_INSIDE = r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*'
_STRING = re.compile(f'"{_INSIDE}"')
_OPEN_STRING = re.compile(rf'"(?P<whole>{_INSIDE})(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z')
_HIGH_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_OPEN_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][+-]?\d*)?)?\Z")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_CLOSE = {"{": "}", "[": "]"}
_VALUE, _VALUE_OR_END = "a value", "a value or ]"
_KEY, _KEY_OR_END, _COLON = "a key", "a key or }", "a colon"
_COMMA_OR_END = "a comma or the end"


@dataclass(frozen=True, slots=True, eq=False)
class PartialValue:
    """A JSON value while it is being written.

    begun: whether anything of the value is there; if not, `value` is None and means nothing.
    value: as far as it is written: open strings with their characters so far, open numbers as far
        as they are numbers ("1." is 1); members without a value yet are left out. It only grows.
    open: the path, keys and indices, to the innermost value that is being written; () is the whole;
        None when the whole value is final.
    """

    begun: bool
    value: Any
    open: Path | None

    def is_final(self, *path: str | int) -> bool:
        """Whether the value at a path, such as `is_final("items", 0)`, is there and final."""
        at = self.value
        for part in path:
            held = at if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
            if part not in held:
                return False
            at = at[part]
        return self.begun and (self.open is None or self.open[: len(path)] != path)

    def finals(self) -> Iterator[tuple[str, Any]]:
        """(JSON Pointer, value) of each final value: the outer before the inner, in text order."""
        waiting: list[tuple[Path, Any]] = [((), self.value)] if self.begun else []
        while waiting:
            path, value = waiting.pop()
            if self.open is None or self.open[: len(path)] != path:
                yield pointer_to(path), value
            if isinstance(value, dict | list):
                inner = value.items() if isinstance(value, dict) else enumerate(value)
                waiting += reversed([((*path, key), child) for key, child in inner])


def read_partial(text: str) -> PartialValue:
    """Read JSON text that may be cut off anywhere. ValidationError when no JSON begins so.

    O(len(text)), nested as deeply as one likes.
    """
    return _Reader(text).read()


class _Reader:
    """Reads one text from left to right; `_stack` holds the open objects and arrays."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._root: list[Any] = []  # the whole value, once it has begun
        self._stack: list[dict[str, Any] | list[Any]] = []
        self._path: list[str | int] = []  # to the last of the stack
        self._key = ""  # of the member whose value comes next

    def read(self) -> PartialValue:
        """See `read_partial`."""
        expected = _VALUE
        while self._skip_space():
            character = self._text[self._at]
            if character in "}]" and expected in {_KEY_OR_END, _VALUE_OR_END, _COMMA_OR_END}:
                expected = self._close(character, expected)
            elif expected in {_VALUE, _VALUE_OR_END}:
                opened = self._value(character)
                if opened is not None:
                    value = self._root[0] if self._root else None
                    return PartialValue(begun=bool(self._root), value=value, open=opened)
                expected = self._after(character)
            elif character == '"' and expected in {_KEY, _KEY_OR_END}:
                key, whole = self._string()
                if not whole:
                    break
                self._key, expected = key, _COLON
            elif character == ":" and expected == _COLON:
                self._at += 1
                expected = _VALUE
            elif character == "," and expected == _COMMA_OR_END:
                self._at += 1
                expected = _KEY if isinstance(self._stack[-1], dict) else _VALUE
            else:
                self._fail(expected)
        if not self._root:
            return PartialValue(begun=False, value=None, open=())
        opened = tuple(self._path) if self._stack else None
        return PartialValue(begun=True, value=self._root[0], open=opened)

    def _skip_space(self) -> bool:
        """Go to the next character that is not white space; False when there is none."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at < len(self._text)

    def _value(self, character: str) -> Path | None:
        """Read a scalar, or open a container; the path of the scalar if the text ends within it."""
        if character in _CLOSE:
            made: dict[str, Any] | list[Any] = {} if character == "{" else []
            part = self._place(made)
            self._path += part
            self._stack.append(made)
            self._at += 1
            return None
        if character == '"':
            value, whole = self._string()
            part = self._place(value)
            return None if whole else (*self._path, *part)
        if character in _LITERALS:
            word, literal = _LITERALS[character]
            written = self._text[self._at : self._at + len(word)]
            if not word.startswith(written):
                self._fail(word)
            self._at += len(written)
            self._place(literal)
            return None
        return self._number()

    def _number(self) -> Path | None:
        found = _NUMBER.match(self._text, self._at)
        opened = _OPEN_NUMBER.match(self._text, self._at)
        if found and found.end() < len(self._text) and not opened:
            self._at = found.end()
            self._place(json.loads(found[0]))
            return None
        if not opened:
            self._fail(_VALUE)
        if found is None:  # a sign
            return (*self._path, *self._place(0, kept=False))
        return (*self._path, *self._place(json.loads(found[0])))

    def _string(self) -> tuple[str, bool]:
        """The string that begins here, and whether it is closed; if not, its characters so far."""
        found = _STRING.match(self._text, self._at)
        if found:
            self._at = found.end()
            return json.loads(found[0]), True
        opened = _OPEN_STRING.match(self._text, self._at)
        if not opened:
            self._fail("a string")
        inside = opened["whole"]
        half = _HIGH_SURROGATE.search(inside)
        if half:
            inside = inside[: half.end() - 6]  # the other half may follow
        self._at = len(self._text)
        return json.loads(f'"{inside}"'), False

    def _place(self, value: Any, *, kept: bool = True) -> Path:
        """Put a value where it belongs, unless it is not `kept`; the last part of its path."""
        if not self._stack:
            self._root += [value] if kept else []
            return ()
        inside = self._stack[-1]
        if isinstance(inside, dict):
            if kept:
                inside[self._key] = value
            return (self._key,)
        if kept:
            inside.append(value)
            return (len(inside) - 1,)
        return (len(inside),)

    def _after(self, character: str) -> str:
        """What to expect after a value that began with `character`, or after its first one."""
        if character in _CLOSE:
            return _KEY_OR_END if character == "{" else _VALUE_OR_END
        return _COMMA_OR_END if self._stack else "the end"

    def _close(self, character: str, expected: str) -> str:
        inside = self._stack[-1]
        if isinstance(inside, dict) != (character == "}"):
            self._fail(expected)
        self._stack.pop()
        if self._stack:
            self._path.pop()
        self._at += 1
        return self._after("")

    def _fail(self, expected: str) -> NoReturn:
        raise ValidationError(
            "no JSON text goes on like this",
            offset=len(self._text[: self._at].encode(errors="surrogatepass")),
            location=f"character {self._at}",
            expected=expected,
        )
