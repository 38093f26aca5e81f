"""The limits of internationalised host names: labels of at most 63 characters, names of 253.

They are automata beside the rules for letters: any text whose labels are short enough, as A-labels,
is within the one (`LabelLimit`), and any text short enough as a whole within the other
(`NameLimit`). A text may end in each of their states. What the rules may still ask for, a letter of
ASCII and one of the label's window, always fits, so that whatever ends a label by the rules is
within the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from structgen.regular.byte_groups import whole
from structgen.regular.charset import CharSet, union_all
from structgen.regular.expressions.nodes import StateListing
from structgen.regular.lazy_dfa.states import ANY_NUMBER
from structgen.regular.regex import INFINITE
from structgen.schema.formats.a_labels import ALNUM, MOST_MISSING, SHORTEST
from structgen.schema.formats.hostnames import (
    IN_CODE,
    IN_OTHERS,
    MAX_LABEL,
    MAX_NAME,
    next_of_prefix,
)
from structgen.schema.formats.idna_classes import (
    CJK,
    COUNTED,
    ELSEWHERE,
    HANGUL,
    LATIN,
    LOW,
    Letter,
    classes,
)
from structgen.schema.formats.idna_sizes import (
    LIMITS,
    MOST_DIGITS,
    MOST_OTHERS,
    PREFIX,
    ROUNDED,
    free_beside,
    joined,
    kind_of,
    measured,
)

Array = npt.NDArray[Any]
Spans = npt.NDArray[np.int32]

DOTS = CharSet.chars(".\u3002\uff0e\uff61")
_HYPHEN, _CODE = CharSet.chars("-"), CharSet.chars("xnXN")
_NON_ASCII = CharSet.of([(0x80, 0x10FFFF)]) - DOTS
_LETTERS = CharSet.chars(COUNTED)
_EACH = [*map(CharSet.chars, COUNTED)]
_GREEK = 3  # their window

# -- labels ---------------------------------------------------------------------------------------

_PLAIN, _HYPHENS, _DOTS, _FIRST_WINDOW = range(4)  # kinds of characters
_BLOCKS = range(0x20)  # of 256 letters, below U+2000
_FEW_MISSING = 16  # characters between letters that are treated like these
_OF_HYPHEN = 4  # characters for which one counts behind others than ASCII: tokens have long runs
_OWN = LOW + 1  # of labels of letters of `COUNTED` alone: `NameLimit` measures them
_WINDOWS = (-1, *_BLOCKS, HANGUL, CJK, ELSEWHERE, LATIN, LOW, _OWN)
_ASKED = 2  # letters that the rules may ask for
_SOME = 4  # letters: most non-ASCII tokens have fewer
_ANY = ALNUM | _HYPHEN | DOTS | _NON_ASCII
_ANY_LETTERS = _ANY - _HYPHEN
# By windows the kind of label that some characters make of them.
_FILLS = {
    **dict.fromkeys(
        (_GREEK, _OWN), (0, _ANY_LETTERS - CharSet.of([(0x80, 0x2FF), (0x400, 0x10FFFF)]))
    ),
    4: (0, _ANY_LETTERS - CharSet.of([(0x80, 0x3FF), (0x500, 0x10FFFF)])),
    CJK: (CJK, _ANY_LETTERS - CharSet.of([(0x80, 0x2FFF), (0xA000, 0x10FFFF)])),
    **dict.fromkeys((HANGUL, ELSEWHERE), (ELSEWHERE, _ANY_LETTERS)),
}
# Numbers of states: nothing is counted, since the rules refuse the text; nothing was read.
_ANYTHING, _START = 0, 1
_BELOW = LOW, _ANY_LETTERS - CharSet.of([(0x2000, 0x10FFFF)])


@cache
def _sets() -> list[tuple[CharSet, int, bool]]:
    """The characters that labels distinguish, each with its kind.

    And whether the rules may ask for a letter behind them.
    """
    known = sorted(pair for chars, _ in classes() for pair in chars.ranges)
    gaps = zip([(0, 0x7F), *known], [*known, (0x110000, 0)], strict=True)
    no_letters = CharSet.of([(a + 1, b - 1) for (_, a), (b, _) in gaps if b - a > _FEW_MISSING])
    asking = union_all([chars for chars, letter in classes() if _asks(letter)])
    others = _NON_ASCII - no_letters - _LETTERS
    cjk, hangul = CharSet.of([(0x3000, 0x9FFF)]), CharSet.of([(0xAC00, 0xD7A3)])
    windows = [CharSet.of([(256 * block, 256 * block + 255)]) for block in _BLOCKS]
    windows += [hangul, cjk, CharSet.of([(0x2000, 0x10FFFF)]) - cjk - hangul]
    found = [(ALNUM, _PLAIN, False), (_HYPHEN, _HYPHENS, True), (DOTS, _DOTS, False)]
    for column, chars in enumerate(windows, _FIRST_WINDOW):
        found.append((chars & others - asking, column, False))
        found.append((chars & others & asking, column, True))
    column = _FIRST_WINDOW + len(windows)
    found += [(_LETTERS, column, False), (no_letters - DOTS, column + 1, False)]
    return [each for each in found if each[0]]


def _asks(letter: Letter) -> bool:
    """Whether the rules may ask for another letter behind one."""
    return letter.context != "" or letter.direction not in {"L", "R", "AN", "EN"}


class _Limit:
    """What limits have in common, see `SubAutomatonState`: a text may end anywhere."""

    __slots__ = ()
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = True
    witness: ClassVar[int] = 0

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`: further labels make a name longer."""
        return least

    def free_within(self, _least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return most


@dataclass(frozen=True, slots=True)
class LabelLimit(_Limit):
    """How much of a label was read, see `_labels`."""

    number: int = _START

    @staticmethod
    def listing() -> StateListing:
        """See `SubAutomatonState`."""
        return _labels()[0]

    @staticmethod
    def at(row: int) -> LabelLimit:
        """See `SubAutomatonState`."""
        return LabelLimit(row)

    @property
    def boundless(self) -> tuple[LabelLimit, int]:
        """See `SubAutomatonState`: a few characters fit in any case."""
        return LabelLimit(_ANYTHING), int(_labels()[1][self.number])

    def moves(self) -> list[tuple[CharSet, LabelLimit]]:
        """See `SubAutomatonState`."""
        after = zip(_sets(), self.listing().moves[self.number].tolist(), strict=True)
        return [(chars, LabelLimit(to)) for (chars, *_), to in after if to >= 0]


@cache
def _labels() -> tuple[StateListing, Array]:
    """All states of a label, with int64[S], how many characters fit into each in any case.

    They are `_ANYTHING`, then others by the window of the letters beyond ASCII, the number of
    characters of ASCII, and of others.
    """
    alive = np.zeros((len(_WINDOWS), MAX_LABEL + 2, MOST_OTHERS + 1), np.bool_)
    alive[0, : MAX_LABEL + 1, 0] = True
    alive[-1, :-1, 1:] = True
    for row, window in enumerate(_WINDOWS[1:-1], 1):
        most = np.array(LIMITS[kind_of(window)])
        alive[row, : len(most), 1:] = np.arange(1, MOST_OTHERS + 1) <= most[:, None]
    numbers = np.full(alive.shape, -1, np.int32)
    numbers[alive] = np.arange(_START, _START + alive.sum())
    at, plain, others = np.nonzero(alive)  # of each state but `_ANYTHING`
    own = at == len(_WINDOWS) - 1
    more = numbers[at, np.where(own, np.minimum(plain + 1, MAX_LABEL), plain + 1), others]
    begun = np.where(others > 0, plain, -(-plain // ROUNDED) * ROUNDED)
    far = numbers[at, np.minimum(plain + _OF_HYPHEN, MAX_LABEL + 1), others]
    hyphen = np.where(own | (others == 0), more, far)
    hyphen[0] = -1
    columns = [more, hyphen, np.where(plain + others > 0, _START, -1)]
    for window in (*_BLOCKS, HANGUL, CJK, ELSEWHERE, _OWN):
        index = np.array([_WINDOWS.index(_joined(one, window)) for one in _WINDOWS])
        columns.append(numbers[index[at], begun, np.minimum(others + 1, MOST_OTHERS)])
    columns[-1] = np.where(own | (plain + others == 0), columns[-1], columns[3 + _GREEK])
    columns.append(np.full(len(at), _ANYTHING))
    # one letter of ASCII more, and one of the window
    may_ask = (
        numbers[at, np.minimum(plain + 1, MAX_LABEL), np.minimum(others + 1, MOST_OTHERS)] >= 0
    )
    may_ask = np.where(others == 0, plain < MAX_LABEL, own | may_ask)
    may_ask = np.append(True, may_ask)  # by number
    moves = np.full((_START + len(at), len(_sets())), _ANYTHING, np.int32)
    for place, (_, column, asks) in enumerate(_sets()):
        to = columns[column]
        moves[_START:, place] = np.where(may_ask[to], to, -1) if asks else to
    free = free_beside(ELSEWHERE, _OF_HYPHEN)[plain, others] - _ASKED
    ascii_left = np.where(own, 0, alive.sum(axis=1)[at, others] - 1 - plain)
    loops, often = _loops(at, plain, others, ascii_left)
    ranges = sorted((*pair, k) for k, (of, *_) in enumerate(_sets()) for pair in of.ranges)
    listing = StateListing(
        spans=np.array(ranges, np.int32),
        moves=moves,
        ends=np.ones(len(moves), np.uint8),
        loops=np.append(whole(_ANY.ranges), loops),
        often=np.append(ANY_NUMBER, often).astype(np.uint8),
    )
    return listing, np.append(INFINITE, free)


def _loops(at: Array, plain: Array, others: Array, ascii_left: Array) -> tuple[Array, Array]:
    """`loops` and `often` of states: characters of any kind, of some windows, or of ASCII."""
    kinds = [_FILLS.get(window, _BELOW) for window in _WINDOWS]
    groups = np.array([whole(chars.ranges) for _, chars in kinds])[at]
    free = np.zeros(len(at), np.int64)
    for row, ((kind, _), window) in enumerate(zip(kinds, _WINDOWS, strict=True)):
        if window not in {-1, LATIN}:
            here = at == row
            free[here] = free_beside(kind)[plain[here], others[here]]
    some = free - _ASKED >= _SOME
    often = np.where(some, free - _ASKED, ascii_left)
    return np.where(some, groups, whole(ALNUM.ranges)) * (often > 0), often


def _joined(one: int, other: int) -> int:
    """See `idna_sizes.joined`; letters of `COUNTED` alone are a window of their own."""
    if one in {-1, other}:
        return other if other > 2 else LATIN
    return joined(*(_GREEK if window == _OWN else window for window in (one, other)))


# -- names ----------------------------------------------------------------------------------------

_NEAR_END = MAX_LABEL + MOST_MISSING  # characters of a name: as many as any label needs


@dataclass(frozen=True, slots=True)
class NameLimit(_Limit):
    """How much of a name was read; a `SubAutomatonState`.

    left: how many characters of the name were left at the start of the label, `inf` for any number,
    which is not counted. label: how many of the A-label were read, or more; non-ASCII ones
    count as many as they can take. wide: is there a non-ASCII letter? text: the label, with `a`
    for every ASCII character, if all others are in `COUNTED`. code: the label while it is part of
    "xn--", with the same letter for "x" and "n", where a name has so few characters left that no
    A-label and no non-ASCII letters begin any more.
    """

    left: float = MAX_NAME
    label: int = 0
    wide: bool = False
    text: str = ""
    code: str = ""

    @property
    def boundless(self) -> tuple[NameLimit, int]:
        """See `SubAutomatonState`: far from its end a name is not counted."""
        return _ANY_NAME, self._free

    @property
    def again(self) -> tuple[CharSet, int]:
        """See `SubAutomatonState`."""
        if self.left < inf and not self.text and self.label:  # each takes one of the name
            return ALNUM | _HYPHEN, max(int(self.left) - _NEAR_END, 0)
        return _ANY, self._free

    @property
    def _free(self) -> int:
        """How many characters certainly fit."""
        if self.left == inf:
            return INFINITE
        free = max(int(self.left) - _NEAR_END, 0) // MOST_DIGITS
        if not self.text and self.label:
            return free
        others = len(self.text.replace("a", ""))
        beside = free_beside(0)[len(self.text) - others, min(others, MOST_OTHERS)]
        return max(min(free, int(beside)), 0)

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`: the rest of a name may have so many characters of ASCII."""
        return least if least <= self.left - self.label - MOST_MISSING else None

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`: only a lower bound makes a name longer than it need be."""
        if not least or self.left == inf:
            return most
        return min(most, int(self.left - _NEAR_END - SHORTEST - least) // MOST_DIGITS)

    def moves(self) -> list[tuple[CharSet, NameLimit]]:
        """See `SubAutomatonState`."""
        if self.left == inf:
            return [(_ANY, self)]
        first = 0 if self.wide else len(PREFIX) + 2
        others, after = _NON_ASCII, list[tuple[CharSet, NameLimit | None]]()
        if self.text or (not self.label and self.left >= MAX_LABEL):
            others -= _LETTERS
            after += [(chars, self._measured(self.text + chr(chars.first))) for chars in _EACH]
        after += [
            (ALNUM - _CODE, self._with(1)),
            (_CODE, self._with(1, "x")),
            (_HYPHEN, self._with(1, "-") if self.label else None),
            (others, self._with(first + MOST_DIGITS - 1, wide=True)),
            (DOTS, NameLimit(self.left - self.label - 1) if self.label else None),
        ]
        return [(chars, state) for chars, state in after if state is not None and state.left > 0]

    def _measured(self, text: str, *, hyphen: bool = False) -> NameLimit | None:
        """The state behind a letter of a label that is measured; None if it is too long."""
        label = len(PREFIX) + measured(text)
        asked = len(PREFIX) + measured(text + "a") if hyphen else label
        return NameLimit(self.left, label, True, text) if asked <= MAX_LABEL else None

    def _with(self, more: int, code: str = "", *, wide: bool = False) -> NameLimit | None:
        """The state behind a letter that takes so many characters; None if they are too many."""
        hyphen = code == "-"
        if self.text and not wide:
            return self._measured(self.text + "a", hyphen=hyphen)
        label = min(self.label + more, MAX_LABEL)
        if self.left >= MAX_LABEL:  # as many as a label has at most
            return NameLimit(self.left, label, wide or self.wide)
        whole = self.code + code if len(self.code) == self.label else ""
        if wide or whole == "xx--" or label + hyphen > self.left:
            return None
        return NameLimit(self.left, label, code=whole if code and "xx--".startswith(whole) else "")


_ANY_NAME = NameLimit(inf)

# -- A-labels -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodeLimit(_Limit):
    """Labels that begin with "xn--" have ASCII alone; a `SubAutomatonState`. See `Codes.begun`."""

    begun: int = 0

    @property
    def again(self) -> tuple[CharSet, int]:
        """See `SubAutomatonState`."""
        if self.begun == IN_CODE:
            return ALNUM | _HYPHEN, INFINITE
        return _ANY - DOTS - next_of_prefix(self.begun), INFINITE

    def moves(self) -> list[tuple[CharSet, CodeLimit]]:
        """See `SubAutomatonState`."""
        if self.begun == IN_CODE:
            return [(ALNUM | _HYPHEN, self), (DOTS, CodeLimit())]
        goes_on = next_of_prefix(self.begun)
        found = (
            (DOTS, CodeLimit()),
            (goes_on, CodeLimit(self.begun + 1)),
            (_ANY - DOTS - goes_on, CodeLimit(IN_OTHERS)),
        )
        return [move for move in found if move[0]]
