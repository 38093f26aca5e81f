"""A reference for tags: whether a text is one of a tree's texts, by trying everything.

A naive reference for the specs of `structgen.compose`: it imports nothing from them. A form reads a
text from some place and says where it may have ended.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class Form(ABC):
    """A set of texts."""

    @abstractmethod
    def ends(self, text: bytes, at: int) -> set[int]:
        """Where a text of the form that starts at `at` may end."""

    def fits(self, text: bytes) -> bool:
        """Whether the whole text is one of the form."""
        return len(text) in self.ends(text, 0)


@dataclass
class Pattern(Form):
    """What a pattern of Python's `re` matches from end to end."""

    pattern: str

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        found = set()
        for end in range(at, len(text) + 1):
            try:
                piece = text[at:end].decode()
            except UnicodeDecodeError:
                continue
            if re.fullmatch(self.pattern, piece):
                found.add(end)
        return found


@dataclass
class Free(Form):
    """Anything in which nothing excluded occurs."""

    excludes: Sequence[bytes] = ()

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        return {
            end
            for end in range(at, len(text) + 1)
            if not any(e in text[at:end] for e in self.excludes)
        }


@dataclass
class Chain(Form):
    """One form after another."""

    forms: Sequence[Form]

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        places = {at}
        for form in self.forms:
            places = {end for place in places for end in form.ends(text, place)}
        return places


@dataclass
class Either(Form):
    """Any of some forms."""

    forms: Sequence[Form]

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        return {end for form in self.forms for end in form.ends(text, at)}


@dataclass
class Marked(Form):
    """A begin, a content (None: anything to the first end), an end."""

    begin: bytes
    content: Form | None
    end: bytes

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        return self.rest(text, at + len(self.begin)) if text.startswith(self.begin, at) else set()

    def rest(self, text: bytes, at: int) -> set[int]:
        """Where the tag ends whose begin ended at `at`."""
        if self.content is None:
            found = text.find(self.end, at)
            return set() if found < 0 else {found + len(self.end)}
        return {
            place + len(self.end)
            for place in self.content.ends(text, at)
            if text.startswith(self.end, place)
        }


@dataclass
class Text(Form):
    """Free text with tags, with the options of `Tags`."""

    tags: Sequence[Marked]
    triggers: Sequence[bytes]
    text: str = "around"
    at_least: int = 0
    at_most: int | None = None
    separator: bytes = b""
    excludes: Sequence[bytes] = ()
    seen: dict[tuple[int, int], set[int]] = field(default_factory=dict)

    def ends(self, text: bytes, at: int) -> set[int]:
        """See `Form.ends`."""
        self.seen = {}
        return self._after(text, at, 0)

    def _after(self, text: bytes, at: int, count: int) -> set[int]:
        """Where everything may end, `at` being a place behind `count` tags."""
        capped = min(count, max(self.at_least, 1) if self.at_most is None else count)
        if (at, capped) not in self.seen:
            self.seen[at, capped] = set()  # a tag has a begin, so nothing comes back to here
            self.seen[at, capped] = self._found(text, at, count)
        return self.seen[at, capped]

    def _found(self, text: bytes, at: int, count: int) -> set[int]:
        more = self.at_most is None or count < self.at_most
        if self.text == "around" or (self.text == "before" and count == 0):
            return self._searched(text, at, count, more)
        found = {at} if count >= self.at_least else set()
        if more:
            lead = self.separator if count else b""
            if text.startswith(lead, at):
                for tag in self.tags:
                    for end in tag.ends(text, at + len(lead)):
                        found |= self._after(text, end, count + 1)
        return found

    def _searched(self, text: bytes, at: int, count: int, more: bool) -> set[int]:
        found = set()
        for end in range(at, len(text) + 1):
            read = text[at:end]
            if any(read.endswith(e) for e in self.excludes):
                break
            met = [t for t in self.triggers if read.endswith(t)]
            if met:
                for trigger in met if more else ():
                    found |= self._tagged(text, end, trigger, count)
                break
            if count >= self.at_least:
                found.add(end)
        return found

    def _tagged(self, text: bytes, at: int, trigger: bytes, count: int) -> set[int]:
        found = set()
        for tag in self.tags:
            rest = tag.begin[len(trigger) :]
            if tag.begin.startswith(trigger) and text.startswith(rest, at):
                for end in tag.rest(text, at + len(rest)):
                    found |= self._after(text, end, count + 1)
        return found


def texts_up_to(alphabet: bytes, length: int) -> Iterable[bytes]:
    """All byte strings of an alphabet up to some length, shortest first."""
    level = [b""]
    yield b""
    for _ in range(length):
        level = [text + bytes((byte,)) for text in level for byte in alphabet]
        yield from level
