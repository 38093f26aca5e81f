"""In: nothing. Out: the language of host names, labels of the form `xn--...` included.

Whether `xn--...` is an A-label depends on the Punycode behind it, so host names are a foreign
automaton. Its states count what is left of the 253 characters of a name and of the 63 of a label,
and within an A-label hold the text read so far; from every state some name can be finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

from structgen.automaton.charset import CharSet
from structgen.automaton.regex import Regex, leaf
from structgen.spec.idna_labels import a_label_fits, punycode

_MAX_NAME = 253
_MAX_LABEL = 63
_PREFIX = "xn--"
_ROOM = 5  # characters that finish any plain beginning of an A-label: a hyphen and a "ß"

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
_CASES = [(CharSet.chars(letter + letter.upper()), letter) for letter in _LETTERS]
_ALNUM = CharSet.of([(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)])
_DOT, _HYPHEN = CharSet.chars("."), CharSet.chars("-")


class _State(Protocol):
    @property
    def nullable(self) -> bool: ...

    def moves(self) -> list[tuple[CharSet, _State]]: ...


@dataclass(frozen=True)
class _Label:
    """In a plain label.

    `left` characters of the name and `room` characters of the label may follow. `begun` is the
    label so far while it is part of "xn-" in any case, else "a" after a letter or digit and "-"
    after a hyphen.
    """

    left: int = _MAX_NAME
    room: int = _MAX_LABEL
    begun: str = ""
    live: ClassVar[bool] = True

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return self.begun not in ("", "-", "xn-")

    @property
    def witness(self) -> int:
        """One letter finishes any label."""
        return 0 if self.nullable else 1

    def moves(self) -> list[tuple[CharSet, _State]]:
        """A letter or digit, a hyphen that can be followed, the next label."""
        return [move for move in self._moves() if move[0]]

    def _moves(self) -> Iterator[tuple[CharSet, _State]]:
        left, room, begun = self.left - 1, self.room - 1, self.begun
        if self.nullable and left > 0:
            yield _DOT, _Label(left)
        if left < 0 or room < 0:
            return
        special = {"": "x", "x": "n"}.get(begun, "")
        cases = CharSet.chars(special + special.upper())
        yield cases, _Label(left, room, begun + special)
        yield _ALNUM - cases, _Label(left, room, "a")
        if begun == "xn-":
            if _alive("", min(left, room)):
                yield _HYPHEN, _Coded(left, "")
        elif begun and left > 0 and room > 0:
            yield _HYPHEN, _Label(left, room, "xn-" if begun == "xn" else "-")


@dataclass(frozen=True)
class _Coded:
    """After `xn--` and `code`, in lower case.

    A text stays alive while it is an A-label, or becomes one by a "ß" before or after what it
    spells. Other completions matter only within the last few characters of a label or name; some
    of those names are therefore left out.
    """

    left: int
    code: str
    live: ClassVar[bool] = True

    @property
    def nullable(self) -> bool:
        """Is the label an A-label?"""
        return a_label_fits(self.code)

    @property
    def witness(self) -> int:
        """The length of some text that finishes the label."""
        room = min(self.left, _MAX_LABEL - len(_PREFIX) - len(self.code))
        if _roomy(self.code, room):
            return _ROOM
        return min(map(len, _endings(self.code, room)))

    def moves(self) -> list[tuple[CharSet, _State]]:
        """The letters that keep an A-label within reach, and the next label."""
        room = min(self.left, _MAX_LABEL - len(_PREFIX) - len(self.code)) - 1
        found: list[tuple[CharSet, _State]] = [
            (chars, _Coded(self.left - 1, self.code + letter))
            for chars, letter in _CASES
            if _alive(self.code + letter, room)
        ]
        if self.left > 1 and self.nullable:
            found.append((_DOT, _Label(self.left - 1)))
        return found


def _roomy(code: str, room: int) -> bool:
    """Does a "ß" at its end make a label of the text, and is there room to write that?"""
    return room >= _ROOM and code[:1] != "-" and code[2:4] != "--"


def _alive(code: str, room: int) -> bool:
    """Can the A-label be finished in at most `room` characters?"""
    return room >= 0 and (_roomy(code, room) or any(True for _ in _endings(code, room)))


@lru_cache(maxsize=1 << 12)
def _completions(base: str) -> tuple[str, ...]:
    """A-labels that begin with `base` and a hyphen, without their prefix."""
    codes = [punycode(text) for text in (f"{base}ß", f"ß{base}", f"ß{base}ß")]
    return tuple(code for code in codes if a_label_fits(code))


def _endings(code: str, room: int) -> Iterator[str]:
    """Texts of at most `room` characters that make an A-label of `code`."""
    if a_label_fits(code):
        yield ""
    base, hyphen, _ = code.rpartition("-")
    for whole in (*_completions(code), *(_completions(base) if hyphen else ())):
        if whole.startswith(code) and len(whole) <= len(code) + room:
            yield whole[len(code) :]


def hostname() -> Regex:
    """RFC 1123 section 2.1 with the sizes of RFC 1035 section 2.3.4; A-labels as in RFC 5890."""
    return leaf(_Label())
