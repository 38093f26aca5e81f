"""In: expressions, of which some have no tables. Out: the states of their union, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.logic import alt
from structgen.regular.expressions.nodes import Alt
from structgen.regular.lazy_dfa.positions import TooLargeError
from structgen.regular.lazy_dfa.states import Numbers, RegexAutomaton
from structgen.regular.lazy_dfa.stepped import SteppedAutomaton, Told

States = tuple[int, ...]  # of each automaton; -1 where none of its texts fits any more
Span = tuple[int, int, int]


class UnionAutomaton(SteppedAutomaton):
    """States as those of the alternatives' automata, which share them with other specs."""

    def __init__(
        self, regex: Regex, automaton_of: Callable[[Regex], RegexAutomaton | None]
    ) -> None:
        """Raises TooLargeError where there is nothing to unite."""
        if not isinstance(regex, Alt) or regex.plain:
            raise TooLargeError
        plain = alt(*(part for part in regex.parts if part.plain))
        parts = map(automaton_of, (plain, *(part for part in regex.parts if not part.plain)))
        self._parts = [part for part in parts if part is not None]
        super().__init__((0,) * len(self._parts))

    def _spans(self, state: int) -> Numbers:
        node: Any = self._nodes[state]
        return self._numbered(state, self._steps(node))

    def _steps(self, node: States) -> list[tuple[int, int, States]]:
        """Ranges of code points, ascending, with the states behind them."""
        dead = (-1,) * len(node)
        each = [(at, self._spans_of(at, state)) for at, state in enumerate(node) if state >= 0]
        if len(each) == 1:
            ((at, spans),) = each
            head, tail = dead[:at], dead[at + 1 :]
            return [(low, high, (*head, target, *tail)) for low, high, target in spans]
        return [*_together(each, dead)]

    def _spans_of(self, at: int, state: int) -> list[Span]:
        part = self._parts[at]
        with part.lock:
            spans: list[Span] = part.spans_from(state).tolist()
        return spans

    def _told(self, node: States) -> Told:
        met = [(part, state) for part, state in zip(self._parts, node, strict=True) if state >= 0]
        ends, endless = any(p.ends[s] for p, s in met), any(p.endless[s] for p, s in met)
        if len(met) > 1:
            return ends, endless, 0, 0
        ((part, alone),) = met
        with part.lock:  # the two belong together
            return ends, endless, int(part.loops[alone]), int(part.often[alone])

    def _again(self, state: int, spans: Numbers) -> tuple[int, int]:
        node: Any = self._nodes[state]
        *_, loops, often = self._told(node)  # more, where a part has been looked at since
        return (loops, often) if often else super()._again(state, spans)


def _together(
    each: list[tuple[int, list[Span]]], dead: States
) -> Iterator[tuple[int, int, States]]:
    """Spans of several automata at once."""
    cuts = sorted({x for _, spans in each for low, high, _ in spans for x in (low, high + 1)})
    numbers = {cut: i for i, cut in enumerate(cuts)}
    found = [[*dead] for _ in cuts]
    for at, spans in each:
        for low, high, target in spans:
            for i in range(numbers[low], numbers[high + 1]):
                found[i][at] = target
    for i, states in enumerate(found[:-1]):
        if max(states) >= 0:
            yield cuts[i], cuts[i + 1] - 1, tuple(states)
