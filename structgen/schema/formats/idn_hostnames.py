"""The format `idn-hostname`: an automaton that reads internationalised host names (RFC 5890-5893).

A name is labels with any of the four full stops between them. A label is ASCII as in host names, an
A-label, or letters in normal form C of which each is allowed where it stands.

The rules of RFC 5892 and 5893 are an automaton of their own, of which texts meet few states
(`Letters`); another one beside it (`idna_limits`) bounds the length of label and name. From every
state some name can be finished.

Not accepted are some labels whose A-label has 40 characters or more; two hyphens in a row behind
letters beyond ASCII; a katakana middle dot before all kana and Han, unless one of these is next;
and marks that compose with some letters, after letters that compose: to know their normal form
would take a state per letter. A name with a right-to-left label has only labels with a direction of
RFC 5893.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.regular.charset import CharSet, refine
from structgen.regular.expressions.build import repeat_counts
from structgen.regular.regex import ANY_CHAR, INFINITE, Regex, intersect, sub_automaton
from structgen.schema.formats.a_labels import (
    ALNUM,
    MOST_MISSING,
    ROOM,
    SHORTEST,
    ALabel,
    Code,
    longer_name,
)
from structgen.schema.formats.hostnames import MAX_NAME
from structgen.schema.formats.idn_plain import around_names, plain_names
from structgen.schema.formats.idna_classes import Letter, classes
from structgen.schema.formats.idna_limits import DOTS, CodeLimit, LabelLimit, NameLimit

_ASCII = [CharSet.chars(c) for c in "lxn-"]
_ASCII += [CharSet.chars("abcdefghijkmopqrstuvwyz"), CharSet.chars("0123456789")]
_ASCII += [CharSet.chars("XN"), CharSet.chars("ABCDEFGHIJKLMOPQRSTUVWYZ")]
_SMALL = CharSet.of([(0x30, 0x39), (0x61, 0x7A)])
_FAR = 4  # characters of a label: how many more does not matter, nor behind letters beyond ASCII
_FIRST_HYPHENS = 3  # two hyphens at the third character mark labels of another kind

Array = npt.NDArray[Any]
Spans = npt.NDArray[np.int32]


class Seen(NamedTuple):
    """What the rules need to know of the letters read of a label.

    place: number of characters, up to 4. begun: the label, while it is part of "xn-" in any case.
    last: "-", "l", "hebrew" or "virama" for the last character. need: what must follow: "l",
    "greek", "kana" (or Han), "joiner" (after transparent letters). joins: may a ZERO WIDTH
    NON-JOINER follow between Arabic letters? kana: is there kana or Han? digits: see `Letter`.
    barred: are marks that compose barred, as they do with some letters? order: combining class of
    the last letter. heading: "L", "R", or "N" for a label that RFC 5893 does not know. numbers: EN
    or AN, in an "R" label. ends: may a label of its direction end here? upper: is there a capital
    ASCII letter? wide: is there a letter that is not ASCII?
    """

    place: int = 0
    begun: str = ""
    last: str = ""
    need: str = ""
    joins: bool = False
    kana: bool = False
    digits: int = 0
    barred: bool = False
    order: int = 0
    heading: str = ""
    numbers: str = ""
    ends: bool = False
    upper: bool = False
    wide: bool = False


_NOTHING = Seen()


@dataclass(frozen=True)
class Name:
    """What the labels read demand of further ones; `directed` as in `ALabel`."""

    directed: str | None = None
    dots: ClassVar[CharSet] = DOTS

    def following(self, direction: str) -> Letters:
        """The state of a new label after one with a direction."""
        return letters(_NOTHING, {"R": "L", "N": "N"}.get(direction, self.directed))


class Letters:
    """Inside a label that is no A-label: what the rules ask of its letters, however many.

    There is one object for each `seen` and `directed` (see `letters`), equal to itself alone.
    See `SubAutomatonState`.
    """

    live: ClassVar[bool] = True
    straying: ClassVar[int] = ROOM

    def __init__(self, seen: Seen, directed: str | None) -> None:
        self.seen, self.directed = seen, directed
        missing = _missing(seen, directed)
        self.nullable = bool(seen.place) and not missing
        self.witness = 0 if self.nullable else max(missing, 1)
        # letters and digits of ASCII, where the rules ask nothing of them
        free = not seen.need and directed is None and seen.heading in {"L", "N"}
        self.again = _SMALL if seen.wide else ALNUM, INFINITE if free else 0

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(self.witness, least, inf)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return most - MOST_MISSING - (SHORTEST if least else 0)

    def spans(self) -> tuple[list[Any], Array, Spans]:
        """See `SubAutomatonState`."""
        after = [*(self._ascii(chr(chars.first)) for chars in _ASCII), self._dot()]
        others, index = _after_each(self.seen, self.directed)
        index = np.append(np.arange(len(after)), np.where(index < 0, -1, index + len(after)))
        return after + others, index, _ranges()

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        states, index, spans = self.spans()
        sets: list[list[tuple[int, int]]] = [[] for _ in (*states, None)]
        for low, high, of in spans.tolist():
            sets[index[of]].append((low, high))
        found = zip(map(CharSet.of, sets), [*states, None], strict=True)
        return [(chars, state) for chars, state in found if chars and state is not None]

    def _dot(self) -> Letters | None:
        if not self.nullable:
            return None
        seen = self.seen
        known = seen.heading == "R" or (seen.heading == "L" and seen.ends)
        return Name(self.directed).following(seen.heading if known else "N")

    def _ascii(self, char: str) -> Any:
        """The state after an ASCII character, None if it must not follow."""
        seen = self.seen
        if seen.need not in {"", char} or (char.isupper() and seen.wide):
            return None
        if char == "-":
            return self._hyphen()
        turned = _with_direction(seen, self.directed, "EN" if char.isdigit() else "L")
        if turned is None:
            return None
        begun = "-" if seen.wide else seen.begun + char.lower()
        after = turned._replace(
            place=min(seen.place + 1, _FAR),
            begun=begun if begun in {"x", "xn"} else "a",
            last="l" if char == "l" else "",
            need="",
            joins=False,
            barred=True,
            order=0,
            upper=seen.upper or char.isupper(),
        )
        return letters(after, self.directed)

    def _hyphen(self) -> Any:
        seen = self.seen
        if not seen.place or (seen.wide and seen.last == "-"):
            return None
        if seen.place == _FIRST_HYPHENS and seen.last == "-":
            return ALabel(Code(), Name(self.directed)) if seen.begun == "xn-" else None
        after = seen._replace(
            place=min(seen.place + 1, _FAR),
            begun="xn-" if seen.begun == "xn" else "a",
            last="-",
            joins=False,
            barred=False,
            order=0,
            ends=False,
        )
        return letters(after, self.directed)


@cache
def letters(seen: Seen, directed: str | None) -> Letters:
    """The state inside a label with these letters, of a name with `directed` as in `ALabel`."""
    return Letters(seen, directed)


@cache
def _kinds() -> tuple[list[Letter], list[CharSet]]:
    """The letters beyond ASCII that some rule tells apart, and the characters of each."""
    found: dict[Letter, CharSet] = {}
    for chars, letter in classes():
        kind = letter._replace(window=0, itself="")
        found[kind] = found[kind] | chars if kind in found else chars
    return [*found], [*found.values()]


@cache
def _ranges() -> Spans:
    """int32[k, 3]: the ranges of `_ASCII`, dots, and `_kinds`, ascending, each with its place."""
    sets = [*_ASCII, DOTS, *_kinds()[1]]
    return np.array(
        sorted((*pair, at) for at, of in enumerate(sets) for pair in of.ranges), np.int32
    )


@dataclass(frozen=True)
class Label:
    """Inside a label: the rules for its letters (`Letters` or `ALabel`), and the limits.

    See `SubAutomatonState`.
    """

    halves: tuple[Any, NameLimit, LabelLimit, CodeLimit]
    live: ClassVar[bool] = True

    @property
    def nullable(self) -> bool:
        """Whether a name may end here."""
        return bool(self.halves[0].nullable)

    @property
    def witness(self) -> int:
        """The length of some text that finishes the name."""
        rules = self.halves[0]
        return int(rules.bound if isinstance(rules, ALabel) else rules.witness)

    @property
    def estimates(self) -> tuple[Regex, Regex] | None:
        """See `SubAutomatonState`: of whole names."""
        return (plain_names(), around_names()) if self == _START else None

    def within(self, low: int, high: int) -> Regex | None:
        """See `SubAutomatonState`: no name has more than 253 characters."""
        if low <= 1 and high >= MAX_NAME:
            return sub_automaton(self)
        return intersect(plain_names(), repeat_counts(ANY_CHAR, low, high))

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        each = refine(move for half in self.halves for move in half.moves())
        return [(of, Label(states)) for of, states in each if len(states) == len(self.halves)]


def _missing(seen: Seen, directed: str | None) -> int:
    """With how many letters a label can be finished."""
    others = int(seen.need in {"greek", "joiner", "kana"})
    if seen.heading == "R" and not seen.ends and not others:
        return 1
    ended = seen.last != "-" and (directed != "L" or seen.ends) and seen.need != "l"
    return others + (not ended)


def _with_direction(seen: Seen, directed: str | None, direction: str) -> Seen | None:
    """RFC 5893 section 2: `heading`, `numbers` and `ends` after a letter of a direction."""
    heading, numbers = seen.heading, seen.numbers
    if not heading:
        heading = direction if direction in {"L", "R"} else "N"
        if (heading, directed) == ("R", "N") or direction == "AN":
            return None
    elif heading == "R":
        if direction in {"L", "-"} or {direction, numbers} == {"EN", "AN"}:
            return None
    elif direction in {"R", "AN"}:
        return None
    elif direction == "-":
        heading = "N"
    if (heading, directed) == ("N", "L"):
        return None
    if direction in {"EN", "AN"} and heading == "R":
        numbers = direction
    good = {"R", "EN", "AN"} if heading == "R" else {"L", "EN"}
    ends = seen.ends if direction == "NSM" else direction in good
    return seen._replace(heading=heading, numbers=numbers, ends=ends)


def _needed_next(seen: Seen, letter: Letter) -> str | None:
    """RFC 5892 appendix A: what must follow a letter; None if it must not stand here."""
    need = seen.need
    if need == "greek":
        if letter.script != "greek":
            return None
        need = ""
    elif need == "joiner":
        if not letter.joins:
            return None
        need = "" if letter.joins in {"D", "R"} else need
    elif need == "kana":
        if letter.script != "kana":
            return None
        need = ""
    match letter.context:
        case "\u30fb" if not seen.kana:
            return "kana"
        case "\u00b7":
            return "l" if seen.last == "l" else None
        case "\u0375":
            return "greek"
        case "\u05f3" | "\u05f4":
            return need if seen.last == "hebrew" else None
        case "\u200d":
            return need if seen.last == "virama" else None
        case "\u200c" if seen.last != "virama":
            return "joiner" if seen.joins else None
        case _:
            return need


class _Columns(NamedTuple):
    """What the rules use of each of `_kinds`, as arrays.

    direction: an index into `_DIRECTIONS`; context: into `_contexts`. See `Letter` for the others.
    """

    direction: Array
    context: Array
    order: Array
    digits: Array
    combines: Array
    mark: Array
    composes: Array
    kana: Array
    joins: Array  # 1: to both sides, 2: transparent
    last: Array  # an index into `_LAST`


_DIRECTIONS = "L", "R", "AN", "EN", "NSM", "N", "-"
_LAST = "", "hebrew", "virama"
_VIRAMA = 9  # its combining class
_NEEDS = "", "l", "joiner", "greek", "kana"
_LEFT_TO_RIGHT = 3  # from here on
_HEADINGS = [
    (heading, numbers, ends)
    for heading in ("R", "L", "N")
    for numbers in ("", "EN", "AN")
    for ends in (False, True)
]
_RIGHT_TO_LEFT = 6  # so many of these
# of the parts by which `_after_each` tells letters apart, behind an index into `_HEADINGS`
_SIZES = len(_NEEDS), 2, 2, 3, 2, 256, len(_LAST)


@cache
def _contexts() -> dict[tuple[str, str, str], Letter]:
    """A letter for each combination of what `_needed_next` uses."""
    return {(letter.script, letter.joins, letter.context): letter for letter in _kinds()[0]}


@cache
def _columns() -> _Columns:
    kinds, contexts = _kinds()[0], [*_contexts()]
    rows = [
        (
            _DIRECTIONS.index(of.direction),
            contexts.index((of.script, of.joins, of.context)),
            of.order,
            of.digits,
            of.combines,
            of.mark,
            of.composes,
            of.script == "kana" and not of.context,
            ("", "D", "T").index(of.joins) if of.joins in {"D", "T"} else 0,
            2 if of.order == _VIRAMA else int(of.script == "hebrew"),
        )
        for of in kinds
    ]
    return _Columns(*np.array(rows, np.int32).T.copy())


@lru_cache(maxsize=1024)
def _turned(heading: str, numbers: str, ends: bool, directed: str | None) -> Array:
    """`_with_direction` for each of `_DIRECTIONS`: indices into `_HEADINGS`, -1 for None."""
    seen = Seen(heading=heading, numbers=numbers, ends=ends)
    after = [_with_direction(seen, directed, direction) for direction in _DIRECTIONS]
    return np.array(
        [-1 if x is None else _HEADINGS.index((x.heading, x.numbers, x.ends)) for x in after]
    )


@lru_cache(maxsize=1024)
def _needed(need: str, last: str, joins: bool, kana: bool) -> Array:
    """`_needed_next` for each of `_contexts`: indices into `_NEEDS`, -1 for None."""
    seen = Seen(need=need, last=last, joins=joins, kana=kana)
    after = [_needed_next(seen, letter) for letter in _contexts().values()]
    return np.array([-1 if x is None else _NEEDS.index(x) for x in after])


def _after_each(seen: Seen, directed: str | None) -> tuple[list[Letters], Array]:
    """The states after a letter beyond ASCII, and an index of these for each of `_kinds`.

    -1 in the index for a letter that must not follow.
    """
    at = _columns()
    index = np.full(len(at.order), -1)
    if seen.upper or seen.need == "l":
        return [], index
    heading = _turned(seen.heading, seen.numbers, seen.ends, directed)[at.direction]
    need = _needed(seen.need, seen.last, seen.joins, seen.kana)[at.context]
    dead = (heading < 0) | (need < 0) | ((need >= _LEFT_TO_RIGHT) & (heading < _RIGHT_TO_LEFT))
    dead |= (at.order != 0) & (at.order < seen.order)
    if not seen.place:
        dead |= at.combines != 0
    if seen.barred:
        dead |= at.mark != 0
    if seen.digits:
        dead |= (at.digits != 0) & (at.digits != seen.digits)
    joins = at.joins != 0 if seen.joins else at.joins == 1
    digits = np.maximum(at.digits, seen.digits)
    barred = np.where(at.order != 0, seen.barred, at.composes)
    kana = (at.kana != 0) | seen.kana
    parts = (heading, need, joins, kana, digits, barred, at.order, at.last)
    code = parts[0]
    for part, size in zip(parts[1:], _SIZES, strict=True):
        code = code * size + part
    alive = (~dead).nonzero()[0]
    codes, index[alive] = np.unique(code[alive], return_inverse=True)
    return [_coded(code, directed) for code in codes.tolist()], index


@cache
def _coded(code: int, directed: str | None) -> Letters:
    """The state behind a letter beyond ASCII, by the parts that `_after_each` puts together."""
    parts = []
    for size in reversed(_SIZES):
        code, part = divmod(code, size)
        parts.append(part)
    last, order, barred, digits, kana, joins, need = parts
    direction, numbers, ends = _HEADINGS[code]
    after = Seen(
        place=_FAR,
        begun="a",
        last=_LAST[last],
        need=_NEEDS[need],
        joins=bool(joins),
        kana=bool(kana),
        digits=digits,
        barred=bool(barred),
        order=order,
        heading=direction,
        numbers=numbers,
        ends=ends,
        wide=True,
    )
    return letters(after, directed)


_START = Label((letters(_NOTHING, None), NameLimit(), LabelLimit(), CodeLimit()))


def idn_hostname() -> Regex:
    """RFC 5890 section 2.3.2.3, with the sizes of RFC 1035 section 2.3.4 for the A-labels."""
    return sub_automaton(_START)
