"""Texts that end at their first match: none of them begins with another text of the language.

So a lazy rule reads: as soon as what it has read is a text of its language, it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structgen.regular.charset import CharSet
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EPSILON,
    Regex,
    alt,
    complement,
    concat,
    intersect,
    repeat,
    sub_automaton,
)


@dataclass(frozen=True)
class FirstMatch:
    """A state behind which nothing follows once the text is in the language.

    rest: what is left of the language here.
    """

    rest: Regex

    @property
    def nullable(self) -> bool:
        """See `SubAutomatonState`."""
        return self.rest.nullable

    @property
    def shortest(self) -> int:
        """See `SubAutomatonState`."""
        return self.rest.shortest

    def moves(self) -> Sequence[tuple[CharSet, FirstMatch]]:
        """See `SubAutomatonState`."""
        if self.rest.nullable:
            return ()
        return [(of, FirstMatch(to)) for of, to in self.rest.steps()]


def first_match(body: Regex, marker: Regex = EPSILON, most: int | None = None) -> Regex:
    """The texts of `body`, then of `marker`, that have none of these as a beginning.

    most: characters at which the text ends also as one of `body` alone, if no marker has come.
    """
    marked = concat(body, marker)
    first = EPSILON if marked.nullable else sub_automaton(FirstMatch(marked))
    if most is None:
        return first
    cut = intersect(body, repeat(ANY_CHAR, most, most), complement(concat(marked, ANY)))
    return alt(intersect(first, repeat(ANY_CHAR, 0, most)), cut)
