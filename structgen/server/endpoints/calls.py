"""Reads calls of tools out of a text while it is written: text, names, pieces of arguments.

In formats whose arguments are a JSON object behind a trigger, arguments come piece by piece, as
the model writes them. In the others the text is kept, and its calls come when it has ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from structgen.compose.tools.call_formats import FORMATS, CallFormat
from structgen.compose.tools.tools import ToolCall, Tools
from structgen.errors import ValidationError
from structgen.util.partial_match import partial_match_length

_SPACE = " \t\n\r"


class TextEvent(NamedTuple):
    """Text to the user."""

    text: str


class CallEvent(NamedTuple):
    """A call has begun."""

    number: int
    name: str


class ArgumentsEvent(NamedTuple):
    """More of a call's arguments."""

    number: int
    text: str


Event = TextEvent | CallEvent | ArgumentsEvent


class JsonObjectReader:
    """Finds the end of a JSON object in a text that comes in pieces."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False

    def read(self, text: str) -> int:
        """How many characters of `text` belong to the object; fewer than all when it has ended."""
        for i, character in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._in_string:
                self._escaped = character == "\\"
                self._in_string = character != '"'
            elif character == '"':
                self._in_string = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return i + 1
        return len(text)

    @property
    def ended(self) -> bool:
        """Whether nothing is open, once something has been read."""
        return self._depth <= 0


class CallReader:
    """Turns the pieces of one text into events."""

    def __init__(self, tools: Tools, *, custom: bool = False) -> None:
        """`tools`: what the text is one of, or was meant to be; `custom`: some take text."""
        self._tools = tools
        self._format = tools.format
        self._incremental = reads_pieces(self._format) and not custom
        self._text = ""  # what has come, and no event has yet
        self._count = 0  # of calls
        self._in_text = False  # whether there was text to the user since the last call
        self._state = "text"
        self._object = JsonObjectReader()
        names = sorted((tool.name for tool in tools.tools), key=len, reverse=True)
        before, _, self._after = self._format.call.partition("$ARGUMENTS")
        pattern = re.escape(before).replace(re.escape("$INDEX"), "[0-9]+")
        name = f"(?P<name>{'|'.join(map(re.escape, names))})"
        self._begin = re.compile(pattern.replace(re.escape("$NAME"), name, 1))

    def feed(self, piece: str, *, ended: bool) -> list[Event]:
        """What `piece` adds; `ended` with the last one."""
        self._text += piece
        if not self._incremental:
            return list(self._whole()) if ended else []
        return list(self._read(ended=ended))

    # -- piece by piece ---------------------------------------------------------------------------

    def _read(self, *, ended: bool) -> Iterator[Event]:
        going = True
        while going:
            before = (self._state, len(self._text))
            if self._state == "text":
                yield from self._read_text(ended=ended)
            elif self._state == "begin":
                yield from self._read_begin()
            elif self._state == "arguments":
                yield from self._read_arguments()
            else:
                self._read_behind(ended=ended)
            going = bool(self._text) and before != (self._state, len(self._text))

    def _read_text(self, *, ended: bool) -> Iterator[Event]:
        at = self._text.find(self._format.trigger)
        if at < 0:
            at = len(self._text) - (
                0 if ended else partial_match_length(self._text, [self._format.trigger])
            )
        else:
            self._state = "begin"
        text, rest = self._text[:at], self._text[at:]
        if not self._in_text and self._separates(text, whole=self._state == "begin"):
            if self._state == "begin" or ended:
                self._text = rest
            return
        self._text = rest
        if text:
            self._in_text = True
            yield TextEvent(text)

    def _separates(self, text: str, *, whole: bool) -> bool:
        """Whether a text is, or if not `whole` may become, white space or what parts two calls."""
        between = self._format.between or ""
        if not text.strip(_SPACE):
            return True
        return self._count > 0 and (text == between if whole else between.startswith(text))

    def _read_begin(self) -> Iterator[Event]:
        found = self._begin.search(self._text)
        if found is not None:
            self._text = self._text[found.end() :]
            self._state, self._object = "arguments", JsonObjectReader()
            self._count += 1
            yield CallEvent(self._count - 1, found["name"])

    def _read_arguments(self) -> Iterator[Event]:
        if self._object.ended:
            self._text = self._text.lstrip(_SPACE)
        size = self._object.read(self._text)
        if not size:
            return
        piece, self._text = self._text[:size], self._text[size:]
        if self._object.ended:
            self._state = "behind"
        yield ArgumentsEvent(self._count - 1, piece)

    def _read_behind(self, *, ended: bool) -> None:
        """What stands behind a call: its end, and whether another follows in the same block."""
        style = self._format
        ends = self._after + style.close if style.block else self._after
        again = self._after + (style.between or "")
        if self._text.startswith(ends):
            self._text, self._state, self._in_text = self._text[len(ends) :], "text", False
        elif style.block and self._text.startswith(again) and not ends.startswith(self._text):
            self._text, self._state = self._text[len(again) :], "begin"
        elif ended or not (ends.startswith(self._text) or again.startswith(self._text)):
            self._state = "text"  # only where nothing is enforced

    # -- as a whole -------------------------------------------------------------------------------

    def _whole(self) -> Iterator[Event]:
        text, self._text = self._text, ""
        try:
            pieces = self._tools.pieces(text)
        except ValidationError:  # only where nothing is enforced
            pieces = [text]
        for piece in pieces:
            if isinstance(piece, ToolCall):
                yield CallEvent(self._count, piece.name)
                arguments: Any = piece.arguments
                if not isinstance(arguments, str):  # of a custom tool they are its text
                    arguments = json.dumps(arguments, ensure_ascii=False)
                yield ArgumentsEvent(self._count, arguments)
                self._count += 1
            elif piece.strip(_SPACE):
                yield TextEvent(piece)


def reads_pieces(style: CallFormat) -> bool:
    """Whether arguments can be read piece by piece."""
    return bool(style.trigger) and style.answer is None and not style.parameter


def format_of(template: str) -> str:
    """The call format that a chat template speaks of: the one most of whose words are in it.

    `hermes`, which most models know, where none is.
    """

    def score(style: CallFormat) -> tuple[float, int]:
        text = f"{style.open} {style.call} {style.close} {style.parameter}"
        words = {w for w in re.split(r"\$[A-Z]+|[\s\"{},:]+", text) if len(w) > 3}
        words |= {style.trigger} if len(style.trigger) > 3 else set()
        marks = {w for w in words if not w.isalnum()}
        share = sum(w in template for w in marks) / len(marks) if marks else 0.0
        return share, len(marks)

    best = max(FORMATS.values(), key=score)
    share, _ = score(best)
    return best.name if share >= 0.99 else "hermes"
