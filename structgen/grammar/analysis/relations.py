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
from structgen.grammar.analysis.neighbours import matrix, packed, unpacked
from structgen.grammar.ir import Grammar
from structgen.kernels.build.loader import kernels
from structgen.util.cancellation import checkpoint

Relation = npt.NDArray[np.bool_]  # [before, last]: whether some way leads from one to the other


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
        self._names = grammar.inner_first()
        codes = dict(numbers) | {name: -1 - i for i, name in enumerate(self._names)}
        listed = [grammar.rules[name].alternatives for name in self._names]
        parts = [[codes[part] for part in parts] for parts in chain.from_iterable(listed)]
        self._longest = max(map(len, parts), default=0)
        self._rules = (
            _starts(listed),
            _starts(parts),
            np.array([*chain.from_iterable(parts)], np.int32),
        )
        self._before = packed(self.steps.T)
        count, words = len(self._names), self._before.shape[1]
        self._found = np.zeros((count * self._size, words), np.uint64)
        scratch = np.zeros((self._size + 2, words), np.uint64)
        times = np.zeros((2, count), np.int64)
        checkpoint()
        kernels("grammar.relations").relate(
            *self._rules, self._before, self._found, scratch, *times
        )

    def every_place_leads_on(self) -> bool:
        """Whether what is left at every place of every rule can be read in some way, to the end.

        Behind its own name at its beginning a rule need not go on: where it may, it may end, too.
        """
        _, lasts, empty = first_and_last(self._grammar, self._numbers)
        ignored = sum(1 << one for one in {*self._ignored})
        last = matrix([*(lasts[name] for name in self._names), ignored], self._size)
        may_be_empty = np.array([name in empty for name in self._names], np.int32)
        scratch = np.zeros((self._longest + 3, self._before.shape[1]), np.uint64)
        checkpoint()
        if not kernels("grammar.relations").all_lead_on(
            *self._rules, self._before, self._found, packed(last), may_be_empty, scratch
        ):
            return False
        start = self._names.index(self._grammar.start)
        relation = unpacked(self._found[start * self._size :][: self._size], self._size)
        whole = np.logical_or.reduce(relation & self.steps[:, -1], axis=1)
        can_end = self.steps[:-1, -1]
        last[start][self._ignored] = True  # and last, too
        first = [*self._ignored, -1]  # what is ignored may come first
        return bool(whole[first].all() and can_end[last[start][:-1]].all())


def _starts(rows: Sequence[Sequence[object]]) -> npt.NDArray[np.int32]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int32)
