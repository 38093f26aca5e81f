"""Times of the second 60 with an offset from UTC, for the formats `time` and `date-time`.

RFC 3339, appendix D: a leap second is inserted at the end of a day in UTC, so the local time minus
its offset must be 23:59. The hour and minute read determine the two offsets that fit, so the
automaton has a state for each minute of the day; its table of transitions is an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from structgen.regular.charset import CharSet
from structgen.regular.expressions.nodes import StateTable
from structgen.regular.regex import Regex, sub_automaton

Ints = npt.NDArray[np.int64]

_LETTERS = "0123456789:.+-"
_COLON, _DOT, _PLUS, _MINUS = range(10, 14)
_DAY = 24 * 60  # minutes

# Kinds of states, named by what has been read, or by what is left to read of the one offset that
# fits: how many states of the kind there are, and the fewest characters that end a text from there.
_KINDS = {
    "": (1, 14), "h": (3, 13), "hh": (24, 12), "hh:": (24, 11), "hh:m": (24 * 6, 10),
    "hh:mm": (_DAY, 9), "hh:mm:": (_DAY, 8), "hh:mm:6": (_DAY, 7), "hh:mm:60": (_DAY, 6),
    "hh:mm:60.": (_DAY, 7), "hh:mm:60.f": (_DAY, 6),
    "left hh:mm": (_DAY, 5), "left h:mm": (600, 4), "left :mm": (60, 3), "left mm": (60, 2),
    "left m": (10, 1), "end": (1, 0),
}  # fmt: skip
_COUNTS, _LEFT = (np.array(x) for x in zip(*_KINDS.values(), strict=True))
_FIRST: dict[str, int] = dict(zip(_KINDS, (np.cumsum(_COUNTS) - _COUNTS).tolist(), strict=True))
_END = _FIRST["end"]


@dataclass(frozen=True, slots=True)
class LeapSecond:
    """A state of the automaton, numbered kind by kind. From each some time can be finished."""

    number: int = 0
    live: ClassVar[bool] = True
    reads: ClassVar[tuple[CharSet, ...]] = tuple(map(CharSet.chars, _LETTERS))

    @staticmethod
    def table() -> StateTable:
        """See `SubAutomatonState`."""
        return _table()

    @property
    def nullable(self) -> bool:
        """Whether the offset has been read."""
        return self.number == _END

    @property
    def shortest(self) -> int:
        """The length of a shortest end."""
        return _left()[self.number]

    @property
    def witness(self) -> int:
        """As `shortest`."""
        return self.shortest

    def moves(self) -> list[tuple[CharSet, LeapSecond]]:
        """Each character that may come next, and the state behind it."""
        after = zip(self.reads, _table().moves[self.number].tolist(), strict=True)
        return [(chars, LeapSecond(to)) for chars, to in after if to >= 0]


@cache
def _left() -> list[int]:
    return np.repeat(_LEFT, _COUNTS).tolist()


@cache
def _table() -> StateTable:
    """The transitions: moves[state, letter] is the next state, -1 for none. (states, 14) int32."""
    count = _END + 1
    moves = np.full((count, len(_LETTERS)), -1, np.int32)
    at = _FIRST

    def lead(kind: str, i: Ints, letter: Ints | int, after: str, to: Ints | int) -> None:
        """Add transitions from states of one kind to those of another."""
        moves[at[kind] + i, letter] = at[after] + to

    hours, sixths, minutes = np.arange(24), np.arange(24 * 6), np.arange(_DAY)
    lead("", 0 * hours, hours // 10, "h", hours // 10)
    lead("h", hours // 10, hours % 10, "hh", hours)
    lead("hh", hours, _COLON, "hh:", hours)
    lead("hh:", sixths // 6, sixths % 6, "hh:m", sixths)
    lead("hh:m", minutes // 10, minutes % 10, "hh:mm", minutes)
    for kind, letter, after in (
        ("hh:mm", _COLON, "hh:mm:"),
        ("hh:mm:", 6, "hh:mm:6"),
        ("hh:mm:6", 0, "hh:mm:60"),
        ("hh:mm:60", _DOT, "hh:mm:60."),
        *(("hh:mm:60.", digit, "hh:mm:60.f") for digit in range(10)),
        *(("hh:mm:60.f", digit, "hh:mm:60.f") for digit in range(10)),
    ):
        lead(kind, minutes, letter, after, minutes)
    for kind in ("hh:mm:60", "hh:mm:60.f"):
        east = (minutes + 1) % _DAY  # of UTC, where it is 23:59
        lead(kind, minutes, _PLUS, "left hh:mm", east)
        lead(kind, minutes, _MINUS, "left hh:mm", -east % _DAY)
    ten, hour, last = np.arange(600), np.arange(60), np.arange(10)
    lead("left hh:mm", minutes, minutes // 600, "left h:mm", minutes % 600)
    lead("left h:mm", ten, ten // 60, "left :mm", ten % 60)
    lead("left :mm", hour, _COLON, "left mm", hour)
    lead("left mm", hour, hour // 10, "left m", hour % 10)
    lead("left m", last, last, "end", 0)
    ends = np.zeros(count, np.uint8)
    ends[_END] = 1
    return StateTable(moves, ends, np.array(_left()))


def leap_seconds() -> Regex:
    """RFC 3339 section 5.6, `full-time` with the second 60 and an offset in hours and minutes."""
    return sub_automaton(LeapSecond())
