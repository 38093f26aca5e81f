"""In: which terminals can always follow which, a grammar. Out: whether each beginning has an end.

A place in a rule is reached behind some terminal. Whether what is left of the rule can be read from
there in *some* way, each terminal being one that can follow the one before it, is a matter of
relations between terminals: that of a sequence is the product of those of its parts, that of a rule
the union over its alternatives, as a least fixed point (boolean matrices, as for the emptiness of
the product of a grammar and a finite automaton).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from structgen.grammar.ir import Grammar

Relation = npt.NDArray[np.float32]  # [before, last]: 1 where some way leads from one to the other


def every_place_leads_on(
    grammar: Grammar,
    numbers: Mapping[str, int],
    ignored: Sequence[int],
    can_follow: npt.NDArray[np.bool_],
) -> bool:
    """Whether what is left at every place of every rule can be read in some way, up to the end.

    can_follow: bool[n + 1, n + 1], whether terminal j (or the end, n) can follow terminal i (or the
    start, n), whatever has been read of i.
    """
    return _Spellings(grammar, numbers, ignored, can_follow).hold()


class _Spellings:
    def __init__(
        self,
        grammar: Grammar,
        numbers: Mapping[str, int],
        ignored: Sequence[int],
        can_follow: npt.NDArray[np.bool_],
    ) -> None:
        self._grammar = grammar
        self._numbers = numbers
        self._ignored = list(ignored)
        self._size = len(can_follow)
        steps = can_follow.astype(np.float32)
        skipped = steps[:, self._ignored] @ steps[self._ignored]
        self._steps = np.minimum(steps + skipped, 1)
        self._of: dict[str, Relation] = {}

    def hold(self) -> bool:
        self._relate()
        last = self._last()
        for rule in self._grammar.rules.values():
            for parts in rule.alternatives:
                behind = np.zeros(self._size, np.bool_)
                for i, part in enumerate(parts, 1):
                    behind = last[part] | (behind if part in self._empty else False)
                    reached = behind.copy()
                    reached[self._ignored] = True
                    ways = self._product(parts[i:])
                    if not ways[reached].any(axis=1).all():
                        return False
        return self._ends(last)

    def _ends(self, last: Mapping[str, npt.NDArray[np.bool_]]) -> bool:
        """Whether a text can begin, and can end behind whatever may be its last terminal."""
        start = self._grammar.start
        whole = self._of[start] @ self._steps[:, -1:]
        can_end = self._steps[:-1, -1] > 0
        return bool(whole[-1, 0] > 0 and can_end[last[start][:-1]].all())

    def _relation(self, name: str) -> Relation:
        """Between the terminal before a name and the last one that it reads."""
        found = self._of.get(name)
        if found is None:
            found = np.zeros((self._size, self._size), np.float32)
            number = self._numbers.get(name)
            if number is not None:
                found[:, number] = self._steps[:, number]
            self._of[name] = found
        return found

    def _product(self, parts: Iterable[str]) -> Relation:
        found: Relation = np.identity(self._size, np.float32)
        for part in parts:
            found = np.minimum(found @ self._relation(part), 1)
        return found

    def _relate(self) -> None:
        """The relation of every rule: a least fixed point."""
        rules = self._grammar.rules.values()
        grown = True
        while grown:
            grown = False
            for rule in rules:
                before = self._relation(rule.name)
                found = before
                for parts in rule.alternatives:
                    found = np.maximum(found, self._product(parts))
                if (found != before).any():
                    self._of[rule.name] = found
                    grown = True

    def _last(self) -> dict[str, npt.NDArray[np.bool_]]:
        """The terminals with which each name may end; notes the names that may be empty."""
        self._empty: set[str] = set()
        last = {name: np.zeros(self._size, np.bool_) for name in self._grammar.rules}
        for name, number in self._numbers.items():
            last[name] = np.arange(self._size) == number
        grown = True
        while grown:
            grown = False
            for rule in self._grammar.rules.values():
                found = last[rule.name].copy()
                for parts in rule.alternatives:
                    for part in reversed(parts):
                        found |= last[part]
                        if part not in self._empty:
                            break
                    else:
                        grown = grown or rule.name not in self._empty
                        self._empty.add(rule.name)
                if (found != last[rule.name]).any():
                    last[rule.name] = found
                    grown = True
        return last
