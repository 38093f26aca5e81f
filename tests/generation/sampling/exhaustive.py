"""Enumerates every way that code which draws can go, with exact probabilities.

`every_run` replays the code, answering each draw from a script that is extended until all answers
have been given: no sampling is left in a test that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest

T = TypeVar("T")


class Script:
    """Answers to draws, and how probable they were."""

    def __init__(self, answers: list[int]) -> None:
        self.answers = answers
        self.options: list[list[int]] = []
        self.probability = 1.0

    def draw(self, weights: Any, _rng: object = None) -> int:
        """The scripted index; behind the script the first that is possible."""
        weights = np.asarray(weights, np.float64)
        possible = np.flatnonzero(weights).tolist()
        if len(self.options) == len(self.answers):
            self.answers.append(possible[0])
        answer = self.answers[len(self.options)]
        self.options.append(possible)
        self.probability *= float(weights[answer] / weights.sum())
        return answer


class ScriptedDraws:
    """Replaces the functions that samplers draw with, or others: one index, or all in an order."""

    DRAWS = tuple(
        f"structgen.generation.sampling.samplers.{name}.draw"
        for name in "steps trie_samplers independent".split()
    )
    ORDERS = ("structgen.generation.sampling.samplers.steps.without_replacement",)

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        draws: Sequence[str] = DRAWS,
        orders: Sequence[str] = ORDERS,
    ) -> None:
        self.script = Script([])
        # First, as this imports modules that would otherwise keep a draw that is replaced.
        monkeypatch.setattr("structgen.generation.sampling.samplers.smc.resample", self._resample)
        for name in draws:
            monkeypatch.setattr(name, lambda weights, rng: self.script.draw(weights))
        for name in orders:
            monkeypatch.setattr(name, self._order)

    def every_run(self, run: Callable[[], T]) -> Iterator[tuple[float, T]]:
        """Every result of `run`, with its probability; `run` must start from the same each time."""
        answers: list[int] = []
        while True:
            self.script = Script(answers)
            found = run()
            yield self.script.probability, found
            while answers and answers[-1] == self.script.options[len(answers) - 1][-1]:
                answers.pop()
            if not answers:
                return
            options = self.script.options[len(answers) - 1]
            answers[-1] = options[options.index(answers[-1]) + 1]

    def _order(self, logs: Any, _rng: object) -> Iterator[int]:
        left = np.exp(np.asarray(logs, np.float64))
        while left.any():
            index = self.script.draw(left)
            left[index] = 0.0
            yield index

    def _resample(self, _kind: str, weights: Any, count: int, _rng: object) -> Any:
        """Multinomial resampling; the mean counts are what all kinds have in common."""
        return np.array([self.script.draw(weights) for _ in range(count)])
