"""In: the patterns of an object. Out: cells, the kinds of keys that have no name in it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_from
from typing import Any

from structgen.errors import BudgetError
from structgen.regular.expressions.logic import begin_apart
from structgen.regular.expressions.nodes import Literal
from structgen.regular.infinite import is_infinite
from structgen.regular.regex import EMPTY, Regex, complement, intersect, shortest, words
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.normal_form.nodes import Group
from structgen.util.cached import found_once

MAX_COUNTED = 100_000  # keys of a finite pattern that are counted for minProperties


@dataclass(eq=False)
class Cell:
    """Keys that are not named, and match the same patterns: they share a child.

    They are the words of `loose` but for those in `without`.
    """

    loose: Regex
    child: Expr
    without: frozenset[str] = frozenset()

    @found_once
    def keys(self) -> Regex:
        """The keys."""
        return intersect(self.loose, complement(words(self.without)))

    @property
    def first(self) -> str | None:
        """The shortest key."""
        return self.other(frozenset())

    def other(self, seen: Container[str]) -> str | None:
        """The shortest key that is not among some, None if there is none."""
        return next((key for key in self.in_order() if key not in seen), None)

    def in_order(self) -> Iterator[str]:
        """The keys, the shortest first. Each is looked for once."""
        found = self._found
        for at in count_from(0):
            if at == len(found):
                key = None if at else self._shortest  # of more languages less is known
                if key is None or key in self.without:
                    key = shortest(intersect(self.keys, complement(words(found))))
                found.append(key)
            key = found[at]
            if key is None:
                return
            yield key

    @found_once
    def _shortest(self) -> str | None:
        return self.loose.text if isinstance(self.loose, Literal) else shortest(self.loose)

    @found_once
    def _found(self) -> list[Any]:
        return []

    @found_once
    def is_empty(self) -> bool:
        """Whether there are none."""
        loose = self.loose
        if loose is EMPTY:
            return True
        if loose.plain and loose.longest > max(map(len, self.without), default=-1):
            return False  # to look for a key may take long
        if not self.without:
            return loose.is_empty()
        word = self._shortest
        return word is None or (word in self.without and self.keys.is_empty())

    def split(self, language: Regex) -> list[Cell]:
        """The keys in a language, and those that are not, if there are any."""
        halves = (intersect(self.loose, part) for part in (language, complement(language)))
        cells = [Cell(half, self.child, self.without) for half in halves]
        return [cell for cell in cells if not cell.is_empty]

    def split_by(self, group: Group) -> list[Cell]:
        """The parts that the patterns of a group tell apart, with what they ask of the child."""
        inside = Cell(intersect(self.loose, group.keys), self.child, self.without)
        parts: list[tuple[Cell, list[Expr]]] = [] if inside.is_empty else [(inside, [])]
        for pattern, child in group.patterns:
            halves: list[tuple[Cell, list[Expr]]] = []
            for part, found in parts:
                if begin_apart(part.loose, pattern):
                    halves.append((part, found))
                    continue
                for half, more in ((pattern, [child]), (complement(pattern), [])):
                    new = Cell(intersect(part.loose, half), self.child, self.without)
                    halves += [] if new.is_empty else [(new, [*found, *more])]
            parts = halves
            if len(parts) > 1000:
                raise BudgetError(
                    "the patterns of 'patternProperties' overlap in more than 1000 ways",
                    hint="use fewer patterns, or patterns that exclude each other",
                )
        return [
            Cell(part.loose, conjoin(self.child, *(found or [group.rest])), self.without)
            for part, found in parts
        ]


def count(keys: Regex, enough: int) -> int:
    """How many words a language has, or at least `enough` of them."""
    if keys is EMPTY:
        return 0
    if is_infinite(keys):
        return enough
    found, left = 0, keys
    taken: list[str] = []
    while found < min(enough, MAX_COUNTED):
        word = shortest(left)
        if word is None:
            return found
        taken.append(word)
        found += 1
        left = intersect(keys, complement(words(taken)))
    return found


@lru_cache(maxsize=4096)
def spelled(key: str) -> bytes:
    """A key as it is written in the fewest bytes."""
    return json.dumps(key, ensure_ascii=False).encode()
