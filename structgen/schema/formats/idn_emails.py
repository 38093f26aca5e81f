"""The format `idn-email`: mail addresses in Unicode, with the sizes of RFC 5321 counted in octets.

A state of the whole language is a place in the address, the octets that are left, and the
characters that are left of a label: too many to read letters of all scripts in each. So the format
is two automata that are read side by side: one knows the letters (`mailbox_rules`), the other
counts (`Sizes`), and tells characters apart by their octets alone. `Sizes` lets only those texts
begin that have room for an end.

Beside other demands an address is read by an expression that counts characters: so many that their
octets are never too many, by the largest character in a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

from structgen.regular.charset import ALL, CharSet, refine
from structgen.regular.expressions.build import repeat_counts
from structgen.regular.regex import (
    ANY_CHAR,
    INFINITE,
    Regex,
    alt,
    concat,
    intersect,
    literal,
    repeat,
    sub_automaton,
)
from structgen.regular.utf8 import LAST_ASCII, LEADS

MAX_LOCAL = 64  # octets of the part before the "@"
MAX_DOMAIN = 255  # octets of a domain
MAX_LABEL = 63  # characters of a label
SHORTEST = 3  # characters of an address
FAR = 160  # characters: all of addresses in brackets fit
MOST_OCTETS = 4  # of a character in UTF-8

# octets of a character in UTF-8, and the characters that take so many
_SIZES = tuple(
    (size, CharSet.of([(first, last)]))
    for size, first, last in (
        (1, 0, LAST_ASCII),
        *((1 + more, first, last) for _, first, last, _, more in LEADS),
    )
)
_AT, _DOT, _HYPHEN, _QUOTE, _BACKSLASH, _BRACKET = map(CharSet.chars, '@.-"\\[')
_MARKS = _AT | _DOT | _HYPHEN | _QUOTE | _BRACKET | _BACKSLASH
_OTHERS = tuple((size, chars - _MARKS) for size, chars in _SIZES)
_ASCII = _OTHERS[0][1]
_NEEDED = 2  # octets: no place is farther from the end of its part
_SOME = 4  # characters: most tokens that are no ASCII have fewer


Parts = tuple[Regex, Regex, Regex]


@dataclass(frozen=True)
class Sizes:
    """How much is left of an address; a `SubAutomatonState`.

    part: "local", "quoted" or "escaped" before the "@", "domain", or "address" in brackets. left:
    octets of the part, room: characters of the label. most: octets of a domain.
    """

    part: str = "local"
    left: float = MAX_LOCAL
    room: float = MAX_LABEL
    most: float = MAX_DOMAIN
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = True
    witness: ClassVar[int] = 0

    @property
    def boundless(self) -> tuple[Sizes, int]:
        """See `SubAutomatonState`: a few characters fit in any case."""
        return replace(self, left=inf, room=inf, most=inf), self._free

    @property
    def again(self) -> tuple[CharSet, int]:
        """See `SubAutomatonState`: what is no mark, or of this what is ASCII."""
        if self.part == "escaped":
            return ALL, 0
        if self._free >= _SOME:
            return ALL - _MARKS, self._free
        return _ASCII, int(max(min(self.left - _NEEDED, self.room - 1, INFINITE), 0))

    @property
    def _free(self) -> int:
        if self.part == "address":
            return INFINITE
        octets = max(self.left - _NEEDED, 0) / MOST_OCTETS
        return int(min(octets, max(self.room - 1, 0) if self.part == "domain" else inf, INFINITE))

    def moves(self) -> list[tuple[CharSet, Sizes]]:
        """See `SubAutomatonState`: the characters that leave room for an end."""
        return [*self._moves()]

    def _moves(self) -> Iterator[tuple[CharSet, Sizes]]:
        part, left = self.part, self.left
        if part == "address":
            yield ALL, self
            return
        if part == "escaped":
            yield from self._reading(_SIZES, "quoted", 1)
            return
        needed = int(part == "quoted")  # for the quote
        yield from self._reading(_OTHERS, part, needed)
        after = ((1, _HYPHEN), (1, _DOT), (1, _BRACKET), (1, _AT), (1, _QUOTE), (1, _BACKSLASH))
        if part == "quoted":
            yield from self._reading(after[:4], part, needed)
            yield _QUOTE, replace(self, part="local", left=left - 1)
            yield from self._reading(after[5:], "escaped", 2)
        elif part == "local":
            yield from self._reading(after[:1], part, 0)
            yield from self._reading(after[1:2], part, 1)
            yield from self._reading(after[4:5], "quoted", 1)
            yield _AT, self._at_label(self.most)
        else:
            yield _BRACKET, Sizes("address", inf, inf)
            yield from self._reading(after[:1], part, 1)
            if left > 1:
                yield _DOT, self._at_label(left - 1)

    def _at_label(self, left: float) -> Sizes:
        return Sizes("domain", left) if left < inf else Sizes("domain", inf, inf)

    def _reading(
        self, sizes: tuple[tuple[int, CharSet], ...], part: str, needed: int
    ) -> Iterator[tuple[CharSet, Sizes]]:
        """Characters of some sizes, behind which so many octets are needed."""
        room = self.room - (self.part == "domain")
        if room < (needed if self.part == "domain" else 0):
            return
        for size, chars in sizes:
            if size + needed <= self.left:
                yield chars, Sizes(part, self.left - size, room, self.most)


@dataclass(frozen=True)
class Address:
    """Both side by side; a `SubAutomatonState`. estimates: see there, of whole addresses."""

    halves: tuple[Regex, Sizes]
    estimates: tuple[Regex, Regex] | None = None
    live: ClassVar[bool] = True
    unread: ClassVar[CharSet] = CharSet.chars(" ")

    @property
    def nullable(self) -> bool:
        """Whether an address may end here."""
        return self.halves[0].nullable

    @property
    def witness(self) -> int:
        """The length of some text that finishes the address."""
        return self.halves[0].witness

    def within(self, low: int, high: int) -> Regex | None:
        """See `SubAutomatonState`: beside a far upper bound, domains are short enough by it."""
        length = repeat_counts(ANY_CHAR, low, high)
        found = [intersect(estimate, length) for estimate in self.estimates or ()]
        if low > SHORTEST or high < FAR:
            return found[0] if found else None
        most = min(high - MAX_LOCAL - 1, MAX_DOMAIN)
        return sub_automaton(Address((self.halves[0], Sizes(most=most)), (found[0], found[1])))

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        each = refine(move for half in self.halves for move in half.moves())
        found: list[tuple[CharSet, Any]] = [(of, (*states,)) for of, states in each]
        return [(of, Address(states)) for of, states in found if len(states) == len(self.halves)]


def idn_email(free: Parts, local_parts: dict[int, Regex], ascii_domain: Regex) -> Regex:
    """RFC 6531 section 3.3, `Mailbox`.

    free: its parts `Local-part`, `Domain` and `address-literal`, with labels of any length.
    local_parts: by how many octets a character has at most, local parts of fewer characters.
    ascii_domain: a domain without other letters, with labels of at most MAX_LABEL characters.
    """
    at, (local, domain, address) = literal("@"), free
    # as few characters as never have too many octets
    locals_ = [
        intersect(part, repeat(ANY_CHAR, 1, MAX_LOCAL // octets))
        for octets, part in (*local_parts.items(), (MOST_OCTETS, local))
    ]
    domains = [
        intersect(part, repeat(ANY_CHAR, 1, MAX_DOMAIN // octets))
        for octets, part in ((1, ascii_domain), (MOST_OCTETS, domain))
    ]
    few, many = (repeat(ANY_CHAR, 1, most) for most in (MAX_LOCAL, MAX_DOMAIN))
    estimates = (
        concat(alt(*locals_), at, alt(*domains, address)),
        concat(intersect(local, few), at, alt(intersect(domain, many), address)),
    )
    return sub_automaton(Address((concat(local, at, alt(domain, address)), Sizes()), estimates))
