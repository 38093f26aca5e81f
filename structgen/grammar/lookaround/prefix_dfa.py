r"""The prefix DFA: what lookbehinds can tell of the text before a terminal, as few states.

All that counts of the text before a terminal is which lookbehinds hold behind it, now or when it
goes on: that is the product of the DFAs of their languages, minimised (E. Moore, 1956). For `\b` it
has two states: behind a word character and not. A *prefix state* is its state behind the text so
far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from structgen.errors import BudgetError
from structgen.regular.charset import CharSet, refine, union_all
from structgen.regular.regex import EMPTY, Regex, sub_automaton
from structgen.util.cancellation import checkpoint

MAX_PREFIX_STATES = 32
_MAX_STATES = 1_000  # before minimisation
_MAX_PAIRS = 20_000  # states of a terminal, each with the prefix states there


class PrefixDfa:
    """The minimal DFA over the text so far; state 0 is that of the empty text.

    count: its number of states. steps: for disjoint sets of characters the state behind each state.
    """

    def __init__(self, wanted: Sequence[Regex]) -> None:
        """wanted: for each lookbehind the texts behind which it finds what it looks for.

        Raises BudgetError past MAX_PREFIX_STATES.
        """
        states, steps = _explored(tuple(wanted))
        prefix_of, first = _least(states, steps)
        if len(first) > MAX_PREFIX_STATES:
            raise _too_many(f"more than {MAX_PREFIX_STATES} kinds")
        self.count = len(first)
        self._rests = [dict(zip(wanted, states[state], strict=True)) for state in first]
        after = [tuple(prefix_of[row[state]] for state in first) for _, row in steps]
        columns: dict[tuple[int, ...], list[CharSet]] = {}
        for (chars, _), column in zip(steps, after, strict=True):
            columns.setdefault(column, []).append(chars)
        self.steps = [(union_all(sets), column) for column, sets in columns.items()]

    def behind(self, prefix: int, wanted: Iterable[Regex]) -> dict[Regex, Regex]:
        """The derivatives of languages of lookbehinds in a prefix state; see `Program.start`."""
        return {texts: self._rests[prefix][texts] for texts in wanted}

    def leading(self, prefix: int, last: int) -> Regex:
        """The texts that lead from one prefix state to another one."""
        return sub_automaton(_LeadingTo(self, prefix, last))

    def ways(self, language: Regex, prefixes: Sequence[int]) -> set[tuple[int, ...]]:
        """For each text of a language, where it leads from each of `prefixes`: a set of tuples.

        Raises BudgetError.
        """
        first = (language, tuple(prefixes))
        seen, todo = {first}, [first]
        found: set[tuple[int, ...]] = set()
        while todo:
            checkpoint()
            rest, at = todo.pop()
            if rest.nullable:
                found.add(at)
            cut: list[tuple[CharSet, Regex | tuple[int, ...]]] = [*rest.steps()]
            cut += [(chars, tuple(column[prefix] for prefix in at)) for chars, column in self.steps]
            for _, targets in refine(cut):
                if len(targets) == 2:
                    place: tuple[Regex, tuple[int, ...]] = targets  # type: ignore[assignment]
                    if place not in seen:
                        seen.add(place)
                        todo.append(place)
            if len(seen) > _MAX_PAIRS:
                raise BudgetError(
                    "what a terminal leaves for lookbehinds takes too long to tell",
                    hint="use smaller counts in it, or leave lookbehinds out",
                )
        return found


@dataclass(frozen=True)
class _LeadingTo:
    """The texts that lead from one prefix state to another; a `LeafState`."""

    history: PrefixDfa
    prefix: int
    last: int

    @property
    def nullable(self) -> bool:
        """Whether the other state is reached."""
        return self.prefix == self.last

    def moves(self) -> list[tuple[CharSet, _LeadingTo]]:
        """See `SubAutomatonState`."""
        return [
            (chars, _LeadingTo(self.history, column[self.prefix], self.last))
            for chars, column in self.history.steps
        ]


_Steps = list[tuple[CharSet, list[int]]]


def _explored(first: tuple[Regex, ...]) -> tuple[list[tuple[Regex, ...]], _Steps]:
    """All states of the product DFA; for disjoint sets of characters the state behind each."""
    numbers = {first: 0}
    listed = [first]
    moves: list[tuple[CharSet, tuple[int, int]]] = []
    for number, state in enumerate(listed):
        cut = [(of, (i, to)) for i, texts in enumerate(state) for of, to in texts.steps()]
        for of, targets in refine(cut):
            after = dict(targets)
            reached = tuple(after.get(i, EMPTY) for i in range(len(state)))
            if reached not in numbers:
                numbers[reached] = len(listed)
                listed.append(reached)
            moves.append((of, (number, numbers[reached])))
        if len(listed) > _MAX_STATES:
            raise _too_many("too many kinds")
    steps = []
    for of, pairs in refine(moves):
        row = dict(pairs)
        steps.append((of, [row[number] for number in range(len(listed))]))
    return listed, steps


def _least(states: Sequence[tuple[Regex, ...]], steps: _Steps) -> tuple[list[int], list[int]]:
    """The class of each state in the minimal DFA, and the first state of each class."""
    keys: list[tuple[object, ...]] = [tuple(t.nullable for t in state) for state in states]
    count = 0
    while True:
        numbers: dict[tuple[object, ...], int] = {}
        prefixes = [numbers.setdefault(key, len(numbers)) for key in keys]
        if len(numbers) == count:
            return prefixes, [prefixes.index(prefix) for prefix in range(count)]
        count = len(numbers)
        keys = [(prefixes[i], *(prefixes[row[i]] for _, row in steps)) for i in range(len(states))]


def _too_many(what: str) -> BudgetError:
    return BudgetError(
        f"the lookbehinds of the grammar tell {what} of text before a terminal apart",
        hint="use shorter lookbehinds, or fewer",
    )
