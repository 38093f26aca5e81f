"""In: nothing. Out: the language of times whose second is 60, as an automaton.

RFC 3339, appendix D: a leap second is inserted at the end of a day in UTC, so local time less its
offset must be 23:59. What hour and minute were read says which two offsets fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structgen.automaton.charset import CharSet
from structgen.automaton.regex import Regex, leaf

CLOCK, DOT, FRACTION, OFFSET = range(4)
_MINUTES_PER_DAY = 24 * 60
_BEFORE = "23:59:60"  # what is read before a fraction or an offset, when that is UTC
_LETTERS = "012", "0123456789", ":", "012345", "0123456789", ":", "6", "0"  # at its places
_SETS = {part: CharSet.chars(part) for part in (*"0123456789:.+-", "zZ")}
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class LeapSecond:
    """What has been read of a time. From each state some time can be finished.

    text: in CLOCK what was read, at most `hh:mm:60`; behind that the `hh:mm` of it; in OFFSET what
    is left of the only offset that fits.
    """

    phase: int = CLOCK
    text: str = ""
    live: ClassVar[bool] = True
    reads: ClassVar[tuple[CharSet, ...]] = tuple(_SETS.values())

    @property
    def nullable(self) -> bool:
        """Whether the offset has been read."""
        return self.phase == OFFSET and not self.text

    @property
    def shortest(self) -> int:
        """The length of a shortest end."""
        if self.phase == OFFSET:
            return len(self.text)
        offset = len("Z" if _BEFORE.startswith(self.text) else "+hh:mm")
        before = len(_BEFORE) - len(self.text) if self.phase == CLOCK else self.phase == DOT
        return offset + before

    @property
    def witness(self) -> int:
        """As `shortest`."""
        return self.shortest

    def moves(self) -> list[tuple[CharSet, LeapSecond]]:
        """Each character that may come next, and the state behind it."""
        phase, text = self.phase, self.text
        if phase == OFFSET:
            return [(_SETS[text[0]], LeapSecond(OFFSET, text[1:]))] if text else []
        if phase == CLOCK and len(text) < len(_BEFORE):
            letters = "0123" if text == "2" else _LETTERS[len(text)]
            return [(_SETS[letter], LeapSecond(CLOCK, text + letter)) for letter in letters]
        found = [] if phase == DOT else self._offsets()
        if phase == CLOCK:
            found.append((_SETS["."], LeapSecond(DOT, text[:5])))
        else:
            found += [(_SETS[digit], LeapSecond(FRACTION, text)) for digit in _DIGITS]
        return found

    def _offsets(self) -> list[tuple[CharSet, LeapSecond]]:
        """The offset east and the one west of UTC that fit, and UTC itself."""
        minutes = int(self.text[:2]) * 60 + int(self.text[3:5])
        east = (minutes + 1) % _MINUTES_PER_DAY
        found = [
            (_SETS[sign], LeapSecond(OFFSET, f"{offset // 60:02}:{offset % 60:02}"))
            for sign, offset in (("+", east), ("-", -east % _MINUTES_PER_DAY))
        ]
        return found if east else [*found, (_SETS["zZ"], LeapSecond(OFFSET))]


def leap_seconds() -> Regex:
    """RFC 3339 section 5.6, `full-time` with the second 60."""
    return leaf(LeapSecond())
