"""The format `idn-email`: mail addresses in Unicode, with the sizes of RFC 5321 counted in octets.

A state of the whole language is a place in the address, the octets that are left, and the
characters that are left of a label: too many to read letters of all scripts in each. So the format
is two automata that are read side by side: one knows the letters (`mailbox_rules`), the other
counts (`Sizes`), and tells characters apart by their octets alone. `Sizes` lets only those texts
begin that have room for an end.

A length is counted beside the letters. Beside other demands an address is read by an expression
that counts characters: so many that their octets are never too many, by the largest character in a
part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from structgen.regular.charset import CharSet, refine, union_all
from structgen.regular.expressions.build import repeat_counts
from structgen.regular.expressions.nodes import StateTable
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    concat,
    intersect,
    literal,
    repeat,
    sub_automaton,
)
from structgen.regular.utf8 import LAST_ASCII, LEADS
from structgen.schema.formats.a_labels import ALNUM

MAX_LOCAL = 64  # octets of the part before the "@"
MAX_DOMAIN = 255  # octets of a domain
MAX_LABEL = 63  # characters of a label
# characters that fit any address: of the largest, a local part of one and a domain take 65
MOST_LEAST = 60
MOST_OCTETS = 4  # of a character in UTF-8

Parts = tuple[Regex, Regex, Regex]

# What the sizes tell apart: the marks of an address; letters and digits, and what else is ASCII;
# characters of two, three and four octets.
_MARKS = [*map(CharSet.chars, '-.[@"\\')]
_ASCII = CharSet.of([(0, LAST_ASCII)])
_LARGER = [(1 + more, CharSet.of([(first, last)])) for _, first, last, _, more in LEADS]
_READS = (*_MARKS, ALNUM, _ASCII - ALNUM - union_all(_MARKS), *(chars for _, chars in _LARGER))
_OCTETS = np.array([1] * (len(_MARKS) + 2) + [size for size, _ in _LARGER])
_HYPHEN, _DOT, _BRACKET, _AT, _QUOTE, _BACKSLASH, _ALNUM, _OTHERS = range(len(_MARKS) + 2)

# The states: a place in the local part by octets that are left, the same within quotes, and there
# behind a backslash; the domain by octets, and characters of the label, that are left; brackets.
_LEFT = np.arange(MAX_LOCAL + 1)
_LOCAL, _QUOTED, _ESCAPED, _DOMAIN = (len(_LEFT) * part for part in range(4))
_LABELS = MAX_LABEL + 1  # numbers of characters of a label that may be left
_BRACKETS = _DOMAIN + (MAX_DOMAIN + 1) * _LABELS


@cache
def _table() -> StateTable:
    """All states: only those moves behind which an address can end."""
    moves = np.full((_BRACKETS + 1, len(_READS)), -1, np.int32)
    # the characters that must fit behind each in quotes: the second quote
    for begin, to, needed in ((_QUOTED, _QUOTED, 1), (_ESCAPED, _QUOTED, 1), (_LOCAL, _LOCAL, 0)):
        for column, octets in enumerate(_OCTETS):
            fits = _LEFT[octets + needed :]
            moves[begin + fits, column] = to + fits - octets
    for begin, column, to, needed in (
        (_LOCAL, _DOT, _LOCAL, 1),
        (_LOCAL, _QUOTE, _QUOTED, 1),
        (_QUOTED, _QUOTE, _LOCAL, 0),
        (_QUOTED, _BACKSLASH, _ESCAPED, 2),
    ):
        fits = _LEFT[1 + needed :]
        moves[begin + _LEFT, column] = -1
        moves[begin + fits, column] = to + fits - 1
    moves[_LOCAL + _LEFT[:, None], [_BRACKET, _BACKSLASH]] = -1
    moves[_LOCAL + _LEFT, _AT] = _BRACKETS - 1
    left, label = (part.ravel() for part in np.indices((MAX_DOMAIN + 1, _LABELS)))
    at, begun = _DOMAIN + left * _LABELS + label, label < MAX_LABEL
    for column in (_HYPHEN, _ALNUM, *range(_OTHERS + 1, len(_READS))):
        octets, more = int(_OCTETS[column]), int(column == _HYPHEN)  # a letter or digit behind it
        here = at[(left >= octets + more) & (label > more) & (begun | (more == 0))]
        moves[here, column] = here - octets * _LABELS - 1
    dotted = begun & (left > 1)
    moves[at[dotted], _DOT] = _DOMAIN + left[dotted] * _LABELS - 1
    moves[_BRACKETS - 1, _BRACKET] = moves[_BRACKETS] = _BRACKETS
    return StateTable(moves, np.ones(len(moves), np.uint8), np.zeros(len(moves), np.int64))


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is left of an address, see `_table`; a `SubAutomatonState`."""

    number: int = _LOCAL + MAX_LOCAL
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = True
    witness: ClassVar[int] = 0
    reads: ClassVar[tuple[CharSet, ...]] = _READS

    @staticmethod
    def table() -> StateTable:
        """See `SubAutomatonState`."""
        return _table()

    def moves(self) -> list[tuple[CharSet, Sizes]]:
        """See `SubAutomatonState`: the characters that leave room for an end."""
        after = zip(_READS, _table().moves[self.number].tolist(), strict=True)
        return [(chars, Sizes(to)) for chars, to in after if to >= 0]


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
        """See `SubAutomatonState`.

        What ends the letters in time fits the sizes: letters and labels of ASCII fill a domain up
        to any length, but that a label may be full, and one more label then takes two characters.
        """
        length = repeat_counts(ANY_CHAR, low, high)
        found = [intersect(estimate, length) for estimate in self.estimates or ()]
        if not found or low > MOST_LEAST or low == high:
            return found[0] if found else None
        letters, sizes = self.halves
        return sub_automaton(Address((intersect(letters, length), sizes), (found[0], found[1])))

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
