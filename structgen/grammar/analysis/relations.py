"""Whether every place in every rule can be finished, given which terminals can follow which.

A place in a rule is reached behind some terminal. Whether what is left of the rule can be read from
there in *some* way, each terminal being one that can follow the one before it, is a matter of
relations between terminals: that of a sequence is the product of those of its parts, that of a rule
the union over its alternatives, as a least fixed point (boolean matrices, as for the emptiness of
the intersection of a grammar and a finite automaton).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from structgen.grammar.analysis.follow_sets import first_and_last
from structgen.grammar.analysis.neighbours import matrix, product
from structgen.grammar.ir import Grammar
from structgen.util.cancellation import checkpoint

Relation = npt.NDArray[np.bool_]  # [before, last]: whether some way leads from one to the other
Vector = npt.NDArray[np.bool_]  # by terminal


def is_shut_out(
    grammar: Grammar,
    numbers: Mapping[str, int],
    ignored: Sequence[int],
    can_follow: npt.NDArray[np.bool_],
) -> bool:
    """Whether an ignored terminal, as a comment, keeps something out that may have to come next.

    Then not every place leads on. can_follow: bool[n + 1, n + 1], for the ignored terminals.
    """
    steps = _steps(can_follow, ignored)
    wanted = {
        number
        for rule in grammar.rules.values()
        for parts in rule.alternatives
        for part in parts[2 if parts[:1] == (rule.name,) else 1 :]
        if (number := numbers.get(part)) is not None
    }
    return not steps[np.ix_(ignored, sorted(wanted))].all()


def _steps(can_follow: Relation, ignored: Sequence[int]) -> Relation:
    """Which terminals can follow which, perhaps with ignored ones between."""
    steps = can_follow.copy()
    for one in ignored:  # as S. Warshall has it
        steps |= np.outer(steps[:, one], steps[one])
    return steps


class Relations:
    """The relations of a grammar's names; n terminals, and number n is the start and the end.

    steps: bool[n + 1, n + 1], whether j can follow i, perhaps with ignored ones between.
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
        self.steps = _steps(can_follow, self._ignored)
        self._of: dict[str, Relation] = {}
        self._relate()

    def every_place_leads_on(self) -> bool:
        """Whether what is left at every place of every rule can be read in some way, to the end.

        Behind its own name at its beginning a rule need not go on: where it may, it may end, too.
        """
        last, empty = self._last()
        for rule in self._grammar.rules.values():
            for parts in rule.alternatives:
                behind, ways = np.zeros(self._size, np.bool_), self._ways(parts)
                for i, part in enumerate(parts, 1):
                    behind = last[part] | (behind if part in empty else False)
                    if i == 1 and part == rule.name:
                        continue
                    reached = behind.copy()
                    reached[self._ignored] = True
                    if not ways[i][reached].all():
                        return False
        start = self._grammar.start
        whole = _leads_to(self._relation(start), self.steps[:, -1])
        can_end = self.steps[:-1, -1]
        last[start][self._ignored] = True  # and last, too
        first = [*self._ignored, -1]  # what is ignored may come first
        return bool(whole[first].all() and can_end[last[start][:-1]].all())

    def _ways(self, parts: Sequence[str]) -> list[Vector]:
        """For each place of some parts, behind which terminals the rest can be read in some way."""
        found = [np.ones(self._size, np.bool_)]
        for part in reversed(parts):
            number, behind = self._numbers.get(part), found[-1]
            if number is None:
                found.append(_leads_to(self._relation(part), behind))
            else:
                found.append(self.steps[:, number] & behind[number])
        return found[::-1]

    def _relation(self, rule: str) -> Relation:
        """Between the terminal before a rule and the last one that it reads."""
        found = self._of.get(rule)
        return np.zeros((self._size, self._size), np.bool_) if found is None else found

    def _product(self, parts: Sequence[str]) -> Relation:
        """The relation of a sequence. From its first terminal on that alone matters."""
        found: Relation | None = None
        for i, part in enumerate(parts):
            number = self._numbers.get(part)
            if number is not None:
                before = self.steps[:, number]
                before = before if found is None else _leads_to(found, before)
                return np.outer(before, self._behind(number, parts[i + 1 :]))
            relation = self._relation(part)
            found = relation if found is None else product(found, relation)
        return np.identity(self._size, np.bool_) if found is None else found

    def _behind(self, number: int, parts: Sequence[str]) -> Vector:
        """With which terminals a sequence can end that is read behind a terminal."""
        found: Vector = np.arange(self._size) == number
        for part in parts:
            other = self._numbers.get(part)
            if other is None:
                found = _leads_to(self._relation(part).T, found)
            else:
                found = (np.arange(self._size) == other) & self.steps[found, other].any()
        return found

    def _relate(self) -> None:
        """The relation of every rule: a least fixed point."""
        rules = self._grammar.rules
        users: dict[str, dict[str, None]] = {name: {} for name in rules}
        for rule in rules.values():
            for part in chain.from_iterable(rule.alternatives):
                users.get(part, {})[rule.name] = None
        todo = set(rules)
        ordered = self._grammar.inner_first()
        times: dict[str, int] = {}  # how often the relation of a rule has grown,
        seen: dict[tuple[str, tuple[str, ...]], list[int]] = {}  # and had when it was last used
        while todo:
            for name in ordered:
                checkpoint()
                if name not in todo:
                    continue
                todo.remove(name)
                before = found = self._relation(name)
                for parts in rules[name].alternatives:
                    of = [times.get(part, 0) for part in parts]
                    if seen.get((name, parts)) != of:
                        seen[name, parts] = of
                        found = found | self._product(parts)
                if (found != before).any():
                    self._of[name] = found
                    times[name] = times.get(name, 0) + 1
                    todo.update(users[name])

    def _last(self) -> tuple[dict[str, Vector], set[str]]:
        """The terminals with which each name may end; and the names that may be empty."""
        _, last, empty = first_and_last(self._grammar, self._numbers)
        rows = matrix([*last.values()], self._size)
        return dict(zip(last, rows, strict=True)), empty


def _leads_to(relation: Relation, good: Vector) -> Vector:
    """From where a relation leads to one of the good ones."""
    found: Vector = relation @ good
    return found
