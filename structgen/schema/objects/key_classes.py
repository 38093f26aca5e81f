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
from structgen.regular.expressions.nodes import And, Chars, Concat, Literal, Repeat
from structgen.regular.infinite import every_prefix_is_infinite, is_infinite, is_single, members
from structgen.regular.regex import (
    ANY,
    EMPTY,
    INFINITE,
    Regex,
    complement,
    concat,
    intersect,
    matches,
    readable,
    repeat,
    shortest,
    words,
)
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.normal_form.forms import PropertyGroup
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_COUNTED = 100_000  # keys of a finite pattern that are counted for minProperties
WORDS_PER_UNIT = 50  # of those that are left out where the next word is looked for
AMPLE = 1_000_000  # endings of a key: more than an object that anybody writes has members
MOST_FIRST = 64  # characters before those that are repeated
MOST_LAST = 21  # characters of two kinds that have so many
MAX_CLASSES = 1000  # parts into which the patterns of one group may cut the keys


@dataclass(eq=False)
class KeyClass:
    """Keys without a name of their own that match the same patterns: their values share a child.

    They are the words of `language` except those in `excluded` (the names). Compared by identity.
    """

    language: Regex
    child: Expr
    excluded: frozenset[str] = frozenset()
    ample: bool = False  #: whether AMPLE other keys begin with each key, in this class or the next
    by_text: bool = False  #: whether the keys that were read are remembered one by one

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
    def depends_on_class_only(self) -> bool:
        """Whether a key that was begun can go on to a fresh one, whichever keys were read.

        Or else these are remembered.
        """
        if self.ample or self.by_text or is_single(self.language):
            return True
        return every_prefix_is_infinite(self.language)

    def split_by_length(self) -> list[KeyClass]:
        """Keys of a bounded length: those that go on to AMPLE others, and the longest ones.

        The class alone where its bound on the length is of another kind.
        """
        *head, tail = _in_order(self.language)
        is_repeated = isinstance(tail, Repeat) and isinstance(tail.body, Chars)
        few_before = sum(part.longest for part in head) <= MOST_FIRST
        if not is_repeated or tail.high == INFINITE or not few_before:
            return [self]
        letters, low, high = tail.body.chars, tail.low, tail.high
        last = next((n for n in range(MOST_LAST) if len(letters) ** n >= AMPLE), high)
        if high - last < max(low, 1):
            return [self]
        spans = (low, high - last), (high - last + 1, high)
        short, long = (concat(*head, repeat(tail.body, *span)) for span in spans)
        names = [name for name in self.excluded if matches(long, name)]
        long = intersect(long, complement(words(names))) if names else long
        return [
            KeyClass(short, self.child, self.excluded, ample=True),
            KeyClass(long, self.child, self.excluded, by_text=True),
        ]

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


def _in_order(language: Regex) -> list[Any]:
    """The parts of a sequence; characters repeated under several conditions are one part."""
    if isinstance(language, Concat):
        return language.parts_in_order
    parts = language.parts if isinstance(language, And) else ()
    repeats = [part for part in parts if isinstance(part, Repeat) and isinstance(part.body, Chars)]
    if not parts or len(repeats) < len(parts):
        return [language]
    body = intersect(*(part.body for part in repeats))
    low, high = max(part.low for part in repeats), min(part.high for part in repeats)
    return [repeat(body, low, high) if low <= high else language]


def count(keys: Regex, enough: int) -> int:
    """How many words a language has, counted up to `enough` and MAX_COUNTED."""
    if enough <= 1 or keys.is_empty():
        return min(int(not keys.is_empty()), enough)
    if is_infinite(keys) or every_prefix_is_infinite(keys):
        return enough
    return sum(1 for _ in islice(by_length(keys, ()), min(enough, MAX_COUNTED)))


def by_length(keys: Regex, used: Collection[str]) -> Iterator[str]:
    """The words of a language but for those `used`, shorter ones first."""
    listed = members(keys)
    if listed is not None:
        yield from sorted(set(listed).difference(used), key=lambda word: (len(word), word))
        return
    seen = [*used]
    while (word := _shortest(intersect(keys, complement(words(seen))))) is not None:
        checkpoint(1 + len(seen) // WORDS_PER_UNIT)
        yield word
        seen.append(word)


@lru_cache(maxsize=4096)
def _shortest(language: Regex) -> str | None:
    """`shortest`, kept: every matcher of a schema asks for its first keys."""
    return shortest(language)


@lru_cache(maxsize=4096)
def written_key(key: str) -> bytes:
    """A key as JSON with the fewest bytes, quotes included."""
    return json.dumps(key, ensure_ascii=False).encode()
