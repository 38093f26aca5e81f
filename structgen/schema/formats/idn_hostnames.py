"""The format `idn-hostname`: an automaton that reads internationalised host names (RFC 5890-5893).

A name is labels with any of the four full stops between them. A label is ASCII as in host names, an
A-label, or letters in normal form C of which each is allowed where it stands.

The rules of RFC 5892 and 5893 are an automaton of their own, of which texts meet few states
(`Letters`); a counter beside it bounds the length of label and name (`Label`, with the sizes of
`formats.idna_sizes`). As long as no limit is near, the rules are enough. From every state some name
can be finished.

Not accepted are some labels whose A-label has 40 characters or more, and marks that compose with
some letters, after letters that compose: to know their normal form would take a state per letter.
A name with a right-to-left label has only labels with a direction of RFC 5893.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import inf
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from structgen.regular.charset import CharSet
from structgen.regular.regex import INFINITE, Regex, sub_automaton
from structgen.schema.formats.a_labels import (
    ALNUM,
    MOST_MISSING,
    ROOM,
    SHORTEST,
    ALabel,
    Code,
    longer_name,
    shortest_ending,
)
from structgen.schema.formats.hostnames import MAX_LABEL, MAX_NAME
from structgen.schema.formats.idna_classes import CJK, Letter, classes, window_of
from structgen.schema.formats.idna_sizes import MOST_DIGITS, Size

_DOTS = CharSet.chars(".\u3002\uff0e\uff61")
_ASCII = [CharSet.chars(c) for c in "lxn-"]
_ASCII += [CharSet.chars("abcdefghijkmopqrstuvwyz"), CharSet.chars("0123456789")]
_ASCII += [CharSet.chars("XN"), CharSet.chars("ABCDEFGHIJKLMOPQRSTUVWYZ")]
_SMALL = CharSet.of([(0x30, 0x39), (0x61, 0x7A)])
ASCII, DOT = (-1, ""), (-2, "")  # see `Following`
_GREEK, _ARABIC = window_of(0x3B1), window_of(0x628)
MOST_WANTED = 3  # the same where it is no A-label, see `_missing`
MAX_COUNTS = 1 << 14  # that are remembered: texts meet ever new ones
_FIRST_HYPHENS = 3  # two hyphens at the third character mark labels of another kind


Place = tuple[int, str]  # of a letter, see `Following`
Missing = tuple[int, tuple[int, ...]]  # what finishes a label, see `_missing`
Spans = npt.NDArray[np.int32]


class Seen(NamedTuple):
    """What the rules need to know of the letters read of a label.

    place: number of characters, up to 4. begun: the label, while it is part of "xn-" in any case.
    last: "-", "l", "hebrew" or "virama" for the last character. need: what must follow: "l",
    "greek", "joiner" (after transparent letters). joins: may a ZERO WIDTH NON-JOINER follow between
    Arabic letters? kana: 1 a middle dot asks for kana or Han, 2 there is one. digits: see `Letter`.
    barred: are marks that compose barred, as they do with some letters? order: combining class of
    the last letter.
    heading: "L", "R", or "N" for a label that RFC 5893 does not know. numbers: EN or AN, in an "R"
    label. ends: may a label of its direction end here? upper: is there a capital ASCII letter?
    wide: is there a letter that is not ASCII?
    """

    place: int = 0
    begun: str = ""
    last: str = ""
    need: str = ""
    joins: bool = False
    kana: int = 0
    digits: int = 0
    barred: bool = False
    order: int = 0
    heading: str = ""
    numbers: str = ""
    ends: bool = False
    upper: bool = False
    wide: bool = False


_NO_LETTER, _NOTHING = Size(), Seen()


class Following(NamedTuple):
    """What may follow a state of the rules.

    steps: for each place, the states of the rules that its letters lead to. A place is window and
    letter for `Size.with_other`, or `ASCII` or `DOT`. spans: as `SubAutomatonState.spans` gives
    them, for these states in order.
    """

    steps: list[tuple[Place, list[Any]]]
    spans: Spans

    @property
    def after(self) -> list[Any]:
        """The states of all steps."""
        return [state for _, states in self.steps for state in states]


def _following(steps: list[tuple[Place, Any]], spans: Spans) -> Following:
    """`Following` of steps one by one; None for no state. `spans` has indices into `steps`."""
    grouped: dict[Place, dict[Any, None]] = {}
    for place, after in steps:
        if after is not None:
            grouped.setdefault(place, {})[after] = None
    every = ((place, after) for place, states in grouped.items() for after in states)
    numbers = {step: number for number, step in enumerate(every)}
    index = np.array([numbers.get(step, -1) for step in steps], np.int32)
    spans = np.column_stack((spans[:, :2], index[spans[:, 2]]))
    return Following(
        [(place, [*after]) for place, after in grouped.items()], spans[spans[:, 2] >= 0]
    )


@dataclass(frozen=True)
class Name:
    """What the labels read demand of further ones; `directed` as in `ALabel`."""

    directed: str | None = None
    dots: ClassVar[CharSet] = _DOTS

    def following(self, _left: float, direction: str) -> Letters:
        """The state of a new label after one with a direction."""
        return letters(_NOTHING, {"R": "L", "N": "N"}.get(direction, self.directed))


class Letters:
    """Inside a label that is no A-label: what the rules ask of its letters, however many.

    There is one object for each `seen` and `directed` (see `letters`), equal to itself alone.
    missing: what finishes the label, see `_missing`. For the others see `SubAutomatonState`.
    """

    live: ClassVar[bool] = True
    straying: ClassVar[int] = ROOM

    def __init__(self, seen: Seen, directed: str | None) -> None:
        self.seen, self.directed = seen, directed
        self.missing = plain, others = _missing(seen, directed)
        self.nullable = bool(seen.place) and not any(self.missing)
        self.witness = 0 if self.nullable else max(plain + len(others), 1)
        # letters and digits of ASCII, where the rules ask nothing of them
        free = not seen.need and directed is None and seen.heading in {"L", "N"}
        self.again = _SMALL if seen.wide else ALNUM, INFINITE if free else 0

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(self.witness, least, inf)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return most - MOST_MISSING - (SHORTEST if least else 0)

    @cached_property
    def following(self) -> Following:
        """What may follow."""
        return _following([*self._each()], _ranges())

    def spans(self) -> tuple[list[Any], Spans]:
        """See `SubAutomatonState`."""
        return self.following.after, self.following.spans

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        return moves_of(*self.spans())

    def _each(self) -> Iterator[tuple[Place, Any]]:
        """For each set of `_reads`, its place and the state behind it."""
        seen = self.seen
        for chars in _ASCII:
            yield ASCII, self._ascii(chr(chars.first))
        yield DOT, self._dot()
        others = [
            None if seen.upper else _after(seen, self.directed, letter) for letter in _letters()[0]
        ]
        after = [None if seen is None else letters(seen, self.directed) for seen in others]
        for letter, number in _letters()[1]:
            yield (letter.window, letter.itself), after[number]

    def _dot(self) -> Letters | None:
        if not self.nullable:
            return None
        seen = self.seen
        known = seen.heading == "R" or (seen.heading == "L" and seen.ends)
        return Name(self.directed).following(inf, seen.heading if known else "N")

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
            place=min(seen.place + 1, 4),
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
        if not seen.place:
            return None
        if seen.place == _FIRST_HYPHENS and seen.last == "-":
            if seen.begun != "xn-" or shortest_ending(Code(), inf, self.directed) is None:
                return None
            return ALabel(inf, Code(), Name(self.directed))
        after = seen._replace(
            place=min(seen.place + 1, 4),
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
def _letters() -> tuple[list[Letter], list[tuple[Letter, int]]]:
    """The letters beyond ASCII as the rules know them, without windows.

    Then each of `classes`, with an index into this list.
    """
    known: dict[Letter, int] = {}
    each = [
        (letter, known.setdefault(letter._replace(window=0, itself=""), len(known)))
        for _, letter in classes()
    ]
    return [*known], each


@cache
def _reads() -> tuple[CharSet, ...]:
    """The sets of characters that no rule tells apart."""
    return (*_ASCII, _DOTS, *(chars for chars, _ in classes()))


@cache
def _ranges() -> Spans:
    """int32[k, 3]: the ranges of all of `_reads`, ascending, each with the index of its set."""
    found = [(*pair, at) for at, chars in enumerate(_reads()) for pair in chars.ranges]
    return np.array(sorted(found), np.int32)


class Label:
    """Inside a label: the rules for its letters, and a counter of its length beside them.

    rules: `Letters` or `ALabel`. There is one object for each pair, see `Count.labels`. For the
    others see `SubAutomatonState`.
    """

    live: ClassVar[bool] = True
    straying: ClassVar[int] = ROOM

    def __init__(self, rules: Any, count: Count, witness: int) -> None:
        self.rules, self.count, self.witness = rules, count, witness
        self.nullable = rules.nullable
        chars, often = rules.again
        self.again = chars, min(often, count.room[_kind_of(rules)]) if often else 0

    @property
    def boundless(self) -> tuple[Any, float]:
        """See `SubAutomatonState`: far from its end a name is not counted, nor is a short label."""
        size, left = self.count.size, self.count.left
        if left < inf:
            return counts(size, inf).labels[self.rules], left - MAX_LABEL
        return self.rules, size.free - MOST_WANTED

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        size, witness = self.count.size, self.witness
        missing = (witness, ()) if isinstance(self.rules, ALabel) else self.rules.missing
        finished = size.with_letters(*missing).length
        return longer_name(witness, least, witness + self.count.left - finished)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        free, left = self.rules.free_within(least, most), self.count.left
        if not least or left == inf:
            return int(free)
        # a letter may take MOST_DIGITS characters of the name, and the label begun all that it can
        return int(min(free, (left - MAX_LABEL - SHORTEST - least) // MOST_DIGITS))

    def spans(self) -> tuple[list[Any], Spans]:
        """See `SubAutomatonState`."""
        rules, after = self.rules, self.count.after
        following = rules.following if isinstance(rules, Letters) else _code_following(rules)
        found: list[Any] = []
        for place, states in following.steps:
            labels = after[place].labels
            found += [labels[state] for state in states]
        return found, following.spans

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        return moves_of(*self.spans())


def _code_following(label: ALabel) -> Following:
    """What may follow in an A-label."""
    moves = label.moves()
    ranges = [(*pair, at) for at, (chars, _) in enumerate(moves) for pair in chars.ranges]
    steps = [(DOT if chars is _DOTS else ASCII, after) for chars, after in moves]
    return _following(steps, np.array(sorted(ranges), np.int32).reshape(-1, 3))


class Count:
    """The length of a label so far, and how many characters of the name were left at its start.

    left: `inf` for any number. There is one object for each pair (see `counts`). after: the counts
    behind a letter, by its place. labels: the label with a state of the rules, None if it cannot be
    finished. room: for how many letters and digits of ASCII a label of which something is missing
    can surely still be finished.
    """

    def __init__(self, size: Size, left: float) -> None:
        self.size, self.left = size, left
        self.after: dict[Place, Count] = Memo(self._after)
        self.labels: dict[Any, Label | None] = Memo(self._label)
        self._fits: dict[Missing, bool] = Memo(self._fits_with)
        self.room: dict[Missing, int] = Memo(self._room_beside)

    def _after(self, place: Place) -> Count:
        if place == DOT:
            return counts(_NO_LETTER, self.left - self.size.length - 1)
        size = self.size
        return counts(size.with_ascii() if place == ASCII else size.with_other(*place), self.left)

    def _label(self, rules: Any) -> Label | None:
        if self.left <= 0:
            return None
        if isinstance(rules, ALabel):
            found = shortest_ending(rules.code, self.left - self.size.length, rules.after.directed)
            fits = found is not None and self.size.fits(self.left)
            return Label(rules, self, found or 0) if fits else None
        return Label(rules, self, rules.witness) if self._fits[rules.missing] else None

    def _fits_with(self, missing: Missing) -> bool:
        return self.size.with_letters(*missing).fits(self.left)

    def _room_beside(self, missing: Missing) -> int:
        plain, others = missing
        room = self.size.with_letters(0, others).room - plain
        return max(room, 0) if self.left >= MAX_LABEL else 0


def _kind_of(rules: Any) -> Missing:
    """What is missing of a label, of an A-label what always finishes it."""
    return (ROOM, ()) if isinstance(rules, ALabel) else rules.missing


@lru_cache(maxsize=MAX_COUNTS)
def counts(size: Size, left: float) -> Count:
    """The count with these figures, one object as long as it is remembered."""
    return Count(size, left)


class Memo(dict[Any, Any]):
    """A dict that asks a function for what it lacks."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: Any) -> Any:
        found = self[key] = self._compute(key)
        return found


def moves_of(states: list[Any], spans: Spans) -> list[tuple[CharSet, Any]]:
    """Moves by sets of characters from those by spans."""
    sets: list[list[tuple[int, int]]] = [[] for _ in states]
    for low, high, number in spans.tolist():
        sets[number].append((low, high))
    found = zip(map(CharSet.of, sets), states, strict=True)
    return [(chars, state) for chars, state in found if state is not None]


def _missing(seen: Seen, directed: str | None) -> tuple[int, tuple[int, ...]]:
    """What finishes a label: a number of ASCII characters, and windows of other letters."""
    plain = int(seen.need == "l")
    others = {"greek": (_GREEK,), "joiner": (_ARABIC,)}.get(seen.need, ())
    if seen.kana == 1:
        others = (*others, CJK)
    if seen.heading == "R" and not seen.ends and not others:
        others, plain = ((_ARABIC,), plain) if seen.numbers == "AN" else ((), 1)
    elif seen.last == "-" or (directed == "L" and not seen.ends):
        plain = 1
    return plain, others


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


def _after(seen: Seen, directed: str | None, letter: Letter) -> Seen | None:
    """What has been seen after a letter beyond ASCII; None if it must not follow."""
    if seen.need == "l" or (letter.combines and not seen.place):
        return None
    if (letter.mark and seen.barred) or 0 < letter.order < seen.order:
        return None
    if letter.digits and seen.digits not in {0, letter.digits}:
        return None
    turned = _with_direction(seen, directed, letter.direction)
    need = _needed_next(seen, letter)
    if turned is None or need is None:
        return None
    kana = 2 if letter.script == "kana" and letter.context != "\u30fb" else seen.kana
    if letter.context == "\u30fb" and not kana:
        kana = 1
    if kana == 1 and turned.heading == "R":
        return None
    return turned._replace(
        place=min(seen.place + 1, 4),
        begun="a",
        last="virama" if letter.order == 9 else "hebrew" if letter.script == "hebrew" else "",
        need=need,
        joins=letter.joins == "D" or (letter.joins == "T" and seen.joins),
        kana=kana,
        digits=letter.digits or seen.digits,
        barred=seen.barred if letter.order else letter.composes,
        order=letter.order,
        wide=True,
    )


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
    match letter.context:
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


def idn_hostname() -> Regex:
    """RFC 5890 section 2.3.2.3, with the sizes of RFC 1035 section 2.3.4 for the A-labels."""
    start = counts(_NO_LETTER, MAX_NAME).labels[letters(_NOTHING, None)]
    return sub_automaton(cast("Label", start))
