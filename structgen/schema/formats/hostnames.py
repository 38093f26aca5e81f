"""The format `hostname`: an automaton that reads host names, with A-labels (`xn--...`) checked.

Whether `xn--...` is an A-label depends on the Punycode in it, so host names are a sub-automaton.
Its states count what is left of the 253 characters of a name and of the 63 of a label; from every
state some name can be finished. While much is left of the name it does not matter how much: states
say so by `boundless`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, sub_automaton
from structgen.schema.formats.a_labels import (
    ALNUM,
    CLOSING,
    MOST_MISSING,
    ROOM,
    ALabel,
    Code,
    free_within,
    longer_name,
    shortest_ending,
)

MAX_NAME = 253  # characters of a name
MAX_LABEL = 63  # characters of a label

_DOT, _HYPHEN = CharSet.chars("."), CharSet.chars("-")


@dataclass(frozen=True)
class _Name:
    """What may follow an A-label: any other label."""

    directed: ClassVar[None] = None
    dots: ClassVar[CharSet] = _DOT

    def following(self, left: float, _direction: str) -> _Label:
        """The state of a new label."""
        return _Label(left)


@dataclass(frozen=True)
class _Label:
    """In a plain label.

    `left` characters of the name, `inf` for any number, and `room` characters of the label may
    follow. `begun` is the label so far while it is part of "xn-" in any case, else "a" after a
    letter or digit and "-" after a hyphen.
    """

    left: float = MAX_NAME
    room: int = MAX_LABEL
    begun: str = ""
    live: ClassVar[bool] = True
    straying: ClassVar[int] = ROOM
    closing: ClassVar[CharSet] = CLOSING

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return self.begun not in ("", "-", "xn-")

    @property
    def witness(self) -> int:
        """One letter finishes any label."""
        return 0 if self.nullable else 1

    @property
    def ending(self) -> str:
        """See `SubAutomatonState`."""
        return "a" * self.witness

    @property
    def again(self) -> tuple[CharSet, int]:
        """Letters and digits, as long as there is room for them."""
        return ALNUM, int(min(self.left, self.room))

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(self.witness, least, self.left)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return free_within(least, most, self.left)

    @property
    def boundless(self) -> tuple[_Label, float]:
        """See `SubAutomatonState`: until it matters how a label can be finished in what is left."""
        return replace(self, left=inf), self.left - MOST_MISSING

    def moves(self) -> list[tuple[CharSet, Any]]:
        """A letter or digit, a hyphen that can be followed, the next label."""
        return [move for move in self._moves() if move[0]]

    def _moves(self) -> Iterator[tuple[CharSet, Any]]:
        left, room, begun = self.left - 1, self.room - 1, self.begun
        if self.nullable and left > 0:
            yield _DOT, _Label(left)
        if left < 0 or room < 0:
            return
        special = {"": "x", "x": "n"}.get(begun, "")
        cases = CharSet.chars(special + special.upper())
        yield cases, _Label(left, room, begun + special)
        yield ALNUM - cases, _Label(left, room, "a")
        if begun == "xn-":
            if shortest_ending(Code(), left, None) is not None:
                yield _HYPHEN, ALabel(left, Code(), _Name())
        elif begun and left > 0 and room > 0:
            yield _HYPHEN, _Label(left, room, "xn-" if begun == "xn" else "-")


def hostname() -> Regex:
    """RFC 1123 section 2.1 with the sizes of RFC 1035 section 2.3.4; A-labels as in RFC 5890."""
    return sub_automaton(_Label())
