"""The format `idn-hostname`: an automaton that reads internationalised host names (RFC 5890-5893).

A name is labels with any of the four full stops between them. A label is ASCII as in host names, an
A-label, or letters in normal form C of which each is allowed where it stands. States apply the
rules of RFC 5892 letter by letter and bound the length of the label as `formats.idna_sizes` does;
from every state some name can be finished. Not accepted are some labels whose A-label has 40
characters or more, and marks that compose with some letters, after letters that compose: to know
their normal form would take a state per letter. A name with a right-to-left label has only labels
with a direction of RFC 5893.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, sub_automaton
from structgen.schema.formats.a_labels import ALabel, Code, shortest_ending
from structgen.schema.formats.hostnames import MAX_LABEL, MAX_NAME
from structgen.schema.formats.idna_classes import CJK, Letter, classes, window_of
from structgen.schema.formats.idna_sizes import Size

_DOTS = CharSet.chars(".\u3002\uff0e\uff61")
_ASCII = [CharSet.chars(c) for c in "lxn-"]
_ASCII += [CharSet.chars("abcdefghijkmopqrstuvwyz"), CharSet.chars("0123456789")]
_ASCII += [CharSet.chars("XN"), CharSet.chars("ABCDEFGHIJKLMOPQRSTUVWYZ")]
_GREEK, _ARABIC = window_of(0x3B1), window_of(0x628)
_FIRST_HYPHENS = 3  # two hyphens at the third character mark labels of another kind


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


@dataclass(frozen=True)
class Name:
    """What the labels read demand of further ones; `directed` as in `ALabel`."""

    directed: str | None = None
    dots: ClassVar[CharSet] = _DOTS

    def following(self, left: int, direction: str) -> Label:
        """The state of a new label after one with a direction."""
        known = {"R": "L", "N": "N"}.get(direction, self.directed)
        return Label(left, Name(known))


_ANY_NAME, _NO_LETTER, _NOTHING = Name(), Size(), Seen()


@dataclass(frozen=True)
class Label:
    """Inside a label that is no A-label; `left` characters of the name were left at its start."""

    left: int = MAX_NAME
    name: Name = _ANY_NAME
    size: Size = _NO_LETTER
    seen: Seen = _NOTHING
    live: ClassVar[bool] = True
    witness: ClassVar[int] = 4  # letters that are enough to finish any label

    @property
    def nullable(self) -> bool:
        """May the label end here?"""
        return bool(self.seen.place) and not any(_missing(self.seen, self.name.directed))

    def free_within(self, most: int) -> int:
        """See `SubAutomatonState`."""
        return most - MAX_LABEL

    def moves(self) -> list[tuple[CharSet, Any]]:
        """The letters that may follow, and the next label."""
        found: list[tuple[CharSet, Any]] = []
        for chars in _ASCII:
            after = self._ascii(chr(chars.first))
            if after is not None:
                found.append((chars, after))
        if not self.seen.upper:
            found += self._others()
        left = self.left - self.size.length - 1
        if self.nullable and left > 0:
            seen = self.seen
            known = seen.heading == "R" or (seen.heading == "L" and seen.ends)
            found.append((_DOTS, self.name.following(left, seen.heading if known else "N")))
        return found

    def _ascii(self, char: str) -> Any:
        """The state after an ASCII character, None if it must not follow."""
        seen, alone = self.seen, not self.size.others
        if seen.need not in {"", char} or (char.isupper() and not alone):
            return None
        if char == "-":
            return self._hyphen()
        turned = _with_direction(seen, self.name.directed, "EN" if char.isdigit() else "L")
        if turned is None:
            return None
        begun = seen.begun + char.lower() if alone else "-"
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
        return _if_finishable(self.left, self.name, self.size.with_ascii(), after)

    def _hyphen(self) -> Any:
        seen = self.seen
        if not seen.place:
            return None
        if seen.place == _FIRST_HYPHENS and seen.last == "-":
            if seen.begun != "xn-" or self.size.others:
                return None
            left = self.left - 4
            found = shortest_ending(Code(), left, self.name.directed)
            return None if found is None else ALabel(left, Code(), self.name)
        after = seen._replace(
            place=min(seen.place + 1, 4),
            begun="xn-" if seen.begun == "xn" and not self.size.others else "a",
            last="-",
            joins=False,
            barred=False,
            order=0,
            ends=False,
        )
        return _if_finishable(self.left, self.name, self.size.with_ascii(), after)

    def _others(self) -> list[tuple[CharSet, Any]]:
        """The letters beyond ASCII that may follow, with the states behind them."""
        sizes: dict[tuple[int, str], Size | None] = {}  # None does not fit
        found: list[tuple[CharSet, Any]] = []
        for chars, place, seen, whole in _others_after(self.seen, self.name.directed):
            if place not in sizes:
                larger = self.size.with_other(*place)
                sizes[place] = larger if larger.fits(self.left) else None
            size = sizes[place]
            if size is None:
                continue
            after = (Label if whole else _if_finishable)(self.left, self.name, size, seen)
            if after is not None:
                found.append((chars, after))
        return found


def _if_finishable(left: int, name: Name, size: Size, seen: Seen) -> Label | None:
    """The state inside a label, None if that cannot be finished."""
    plain, others = _missing(seen, name.directed)
    wanted = size
    for _ in range(plain):
        wanted = wanted.with_ascii()
    for window in others:
        wanted = wanted.with_other(window)
    return Label(left, name, size, seen) if wanted.fits(left) else None


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


@lru_cache(maxsize=1 << 11)
def _others_after(
    seen: Seen, directed: str | None
) -> tuple[tuple[CharSet, tuple[int, str], Seen, bool], ...]:
    """The letters beyond ASCII that may follow, those together that lead to the same state.

    Each with window and letter for `Size.with_other`, the new state, and whether it may end.
    """
    found: dict[tuple[tuple[int, str], Seen], list[tuple[int, int]]] = {}
    for chars, letter in classes():
        after = _after(seen, directed, letter)
        if after is not None:
            place = letter.window, letter.itself
            found.setdefault((place, after), []).extend(chars.ranges)
    return tuple(
        (CharSet.of(ranges), *key, not any(_missing(key[1], directed)))
        for key, ranges in found.items()
    )


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
    return sub_automaton(Label())
