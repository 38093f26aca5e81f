"""In: which terminals can always follow which, rules. Out: what can surely be finished from where.

A place in a rule is reached behind some terminal. Whether what is left of the rule can be read from
there in *some* way, each terminal being one that can follow the one before it, is a matter of
relations between terminals: that of a sequence is the product of those of its parts, that of a rule
the union over its alternatives, as a least fixed point (boolean matrices, as for the emptiness of
the intersection of a grammar and a finite automaton).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from structgen.grammar.ir import Grammar

Relation = npt.NDArray[np.float32]  # [before, last]: 1 where some way leads from one to the other


class Relations:
    """The relations of a grammar's names; n terminals, and number n is the start and the end.

    steps: float32[n + 1, n + 1], whether j can follow i, perhaps with ignored ones between.
    """

    def __init__(
        self,
        grammar: Grammar,
        numbers: Mapping[str, int],
        ignored: Sequence[int],
        can_follow: npt.NDArray[np.bool_],
    ) -> None:
        """can_follow: bool[n + 1, n + 1], of `Adjacency.can_follow`."""
        self._grammar, self._numbers, self._ignored = grammar, numbers, list(ignored)
        self._size = len(can_follow)
        self.steps: Relation = can_follow.astype(np.float32)
        for one in self._ignored:  # as S. Warshall has it
            skipped = np.outer(self.steps[:, one], self.steps[one])
            self.steps = np.maximum(self.steps, skipped)
        self._of: dict[str, Relation] = {}
        self._relate()

    def every_place_leads_on(self) -> bool:
        """Whether what is left at every place of every rule can be read in some way, to the end.

        Behind its own name at its beginning a rule need not go on: where it may, it may end, too.
        """
        last, empty = self._last()
        for rule in self._grammar.rules.values():
            for parts in rule.alternatives:
                behind = np.zeros(self._size, np.bool_)
                for i, part in enumerate(parts, 1):
                    behind = last[part] | (behind if part in empty else False)
                    if i == 1 and part == rule.name:
                        continue
                    reached = behind.copy()
                    reached[self._ignored] = True
                    if not self._product(parts[i:])[reached].any(axis=1).all():
                        return False
        start = self._grammar.start
        whole = self._of[start] @ self.steps[:, -1]
        can_end = self.steps[:-1, -1] > 0
        return bool(whole[-1] > 0 and can_end[last[start][:-1]].all())

    def _relation(self, name: str) -> Relation:
        """Between the terminal before a name and the last one that it reads."""
        found = self._of.get(name)
        if found is None:
            found = np.zeros((self._size, self._size), np.float32)
            number = self._numbers.get(name)
            if number is not None:
                found[:, number] = self.steps[:, number]
            self._of[name] = found
        return found

    def _product(self, parts: Iterable[str]) -> Relation:
        found: Relation = np.identity(self._size, np.float32)
        for part in parts:
            found = np.minimum(found @ self._relation(part), 1)
        return found

    def _relate(self) -> None:
        """The relation of every rule: a least fixed point."""
        grown = True
        while grown:
            grown = False
            for rule in self._grammar.rules.values():
                before = found = self._relation(rule.name)
                for parts in rule.alternatives:
                    found = np.maximum(found, self._product(parts))
                if (found != before).any():
                    self._of[rule.name] = found
                    grown = True

    def _last(self) -> tuple[dict[str, npt.NDArray[np.bool_]], set[str]]:
        """The terminals with which each name may end; and the names that may be empty."""
        empty: set[str] = set()
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
                        if part not in empty:
                            break
                    else:
                        grown = grown or rule.name not in empty
                        empty.add(rule.name)
                if (found != last[rule.name]).any():
                    last[rule.name] = found
                    grown = True
        return last, empty
