"""Key classes: the keys without a name of their own, grouped by what their values must fit.

The patterns of an object partition its other keys: two keys are in one class if the same patterns
match them, so that their values have the same child. A key class is a regular language without some
words.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_from
from itertools import islice
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.expressions.logic import begin_differently
from structgen.regular.expressions.nodes import Literal
from structgen.regular.infinite import is_infinite, members
from structgen.regular.regex import (
    ANY,
    EMPTY,
    Regex,
    complement,
    intersect,
    matches,
    readable,
    shortest,
    words,
)
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.normal_form.forms import PropertyGroup
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_COUNTED = 100_000  # keys of a finite pattern that are counted for minProperties
WORDS_PER_UNIT = 50  # of those that are left out where the next word is looked for
MAX_CLASSES = 1000  # parts into which the patterns of one group may cut the keys


@dataclass(eq=False)
class KeyClass:
    """Keys without a name of their own that match the same patterns: their values share a child.

    They are the words of `language` except those in `excluded` (the names). Compared by identity.
    """

    language: Regex
    child: Expr
    excluded: frozenset[str] = frozenset()

    @cached_attribute
    def keys(self) -> Regex:
        """The language of the keys."""
        return intersect(self.language, complement(words(self.excluded)))

    def as_read(self) -> KeyClass:
        """The class of those of its keys that are read (see `estimates`)."""
        language = readable(self.language)
        same = language is self.language
        return self if same else KeyClass(language, self.child, self.excluded)

    def has(self, key: str) -> bool:
        """Whether a key is in the class."""
        inside = self.language is ANY or matches(self.language, key)
        return inside and key not in self.excluded

    @property
    def first(self) -> str | None:
        """The shortest key."""
        return self.other(frozenset())

    def other(self, seen: Container[str]) -> str | None:
        """The shortest key that is not in `seen`, None if there is none."""
        return next((key for key in self.in_order() if key not in seen), None)

    def in_order(self) -> Iterator[str]:
        """The keys, the shortest first; each is searched once, and remembered."""
        found = self._found
        for at in count_from(0):
            if at == len(found):
                key = None if at else self._shortest  # mostly known, unlike that of a difference
                if key is None or key in self.excluded:
                    key = shortest(intersect(self.keys, complement(words(found))))
                found.append(key)
            key = found[at]
            if key is None:
                return
            yield key

    @cached_attribute
    def _shortest(self) -> str | None:
        return self.language.text if isinstance(self.language, Literal) else shortest(self.language)

    @cached_attribute
    def _found(self) -> list[Any]:
        return []

    @cached_attribute
    def is_empty(self) -> bool:
        """Whether there are no keys."""
        language = self.language
        if language is EMPTY:
            return True
        if language.plain and language.longest > max(map(len, self.excluded), default=-1):
            return False  # seen from the lengths, as a search may take long
        if not self.excluded:
            return language.is_empty()
        word = self._shortest
        return word is None or (word in self.excluded and self.keys.is_empty())

    def split(self, language: Regex) -> list[KeyClass]:
        """The part inside a language and the part outside, as far as they are not empty."""
        halves = (intersect(self.language, part) for part in (language, complement(language)))
        key_classes = [KeyClass(half, self.child, self.excluded) for half in halves]
        return [key_class for key_class in key_classes if not key_class.is_empty]

    def split_by(self, group: PropertyGroup) -> list[KeyClass]:
        """The parts that match different patterns of a group, its demands added to the child."""
        inside = KeyClass(intersect(self.language, group.names), self.child, self.excluded)
        parts: list[tuple[KeyClass, list[Expr]]] = [] if inside.is_empty else [(inside, [])]
        for pattern, child in group.patterns:
            halves: list[tuple[KeyClass, list[Expr]]] = []
            for part, found in parts:
                if begin_differently(part.language, pattern):  # no key matches both
                    halves.append((part, found))
                    continue
                for half, more in ((pattern, [child]), (complement(pattern), [])):
                    new = KeyClass(intersect(part.language, half), self.child, self.excluded)
                    halves += [] if new.is_empty else [(new, [*found, *more])]
            parts = halves
            if len(parts) > MAX_CLASSES:
                raise BudgetError(
                    f"the patterns of 'patternProperties' overlap in more than {MAX_CLASSES} ways",
                    hint="use fewer patterns, or patterns that exclude each other",
                )
        return [
            KeyClass(
                part.language, conjoin(self.child, *(found or [group.additional])), self.excluded
            )
            for part, found in parts
        ]


def count(keys: Regex, enough: int) -> int:
    """How many words a language has, counted up to `enough` and MAX_COUNTED."""
    if keys is EMPTY:
        return 0
    if is_infinite(keys):
        return enough
    return sum(1 for _ in islice(by_length(keys, ()), min(enough, MAX_COUNTED)))


def by_length(keys: Regex, used: Collection[str]) -> Iterator[str]:
    """The words of a language but for those `used`, shorter ones first."""
    listed = members(keys)
    if listed is not None:
        yield from sorted(set(listed).difference(used), key=lambda word: (len(word), word))
        return
    seen = [*used]
    while (word := shortest(intersect(keys, complement(words(seen))))) is not None:
        checkpoint(1 + len(seen) // WORDS_PER_UNIT)
        yield word
        seen.append(word)


@lru_cache(maxsize=4096)
def written_key(key: str) -> bytes:
    """A key as JSON with the fewest bytes, quotes included."""
    return json.dumps(key, ensure_ascii=False).encode()
