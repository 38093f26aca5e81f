"""`LoopGuard`: detects text that repeats the same tokens in a cycle, and ends the cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.penalties.state_kinds import Ids


@dataclass(frozen=True)
class LoopGuard:
    """When the text repeats itself in a cycle, only tokens that close the structure are allowed.

    A cycle is `repeats` times the same at most `longest` tokens, and at least `least` tokens that
    repeat what came before them. Then the next token must begin the shortest way to a valid end
    (end the string, the list, the number, or the whole text); the model chooses among the tokens
    that do. That ends the cycle, and the model goes on freely, until it is caught more than
    `patience` times: then the text is led to its end.
    """

    repeats: int = 4
    least: int = 24
    longest: int = 64
    patience: int = 2

    def __post_init__(self) -> None:
        for name, lowest in (("repeats", 2), ("least", 1), ("longest", 1), ("patience", 0)):
            value = getattr(self, name)
            check(name, value, value >= lowest, f"an integer of {lowest} or more")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> LoopPath:
        """The state for a new text."""
        return LoopPath(self, constraint)


class LoopPath:
    """For every period, how many tokens in a row one text has repeated it."""

    def __init__(self, settings: LoopGuard, constraint: Constraint) -> None:
        self._constraint = constraint
        self._patience = settings.patience
        periods = np.arange(1, settings.longest + 1)
        self._enough = np.maximum(settings.least, periods * (settings.repeats - 1))
        self._recent = np.full(settings.longest, -1, np.int64)  # the last tokens, newest first
        # For each period, how many tokens in a row equalled the one a period before them.
        self._same = np.zeros(settings.longest, np.int64)
        self._caught = 0

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See LoopGuard."""
        if not self._circling and self._caught <= self._patience:
            return np.zeros(len(ids))
        closing = closing_tokens(self._constraint, state, ids)
        return np.where(closing, 0.0, -np.inf) if closing.any() else np.zeros(len(ids))

    def wrote(self, state: int, token: int) -> None:
        """Update the run length of every period, and count new cycles."""
        circled = self._circling
        self._same = np.where(self._recent == token, self._same + 1, 0)
        self._recent = np.concatenate([[token], self._recent[:-1]])
        self._caught += self._circling and not circled

    @property
    def _circling(self) -> bool:
        return bool((self._same >= self._enough).any())


def closing_tokens(constraint: Constraint, state: int, ids: Ids) -> npt.NDArray[np.bool_]:
    """bool[k]: which of the allowed tokens int64[k] begin the shortest way to an end.

    Where the text may end, that is an end token. Special tokens write no text and are not among
    them.
    """
    vocabulary = constraint.vocabulary
    if constraint.is_accepting(state):
        return np.isin(ids, list(vocabulary.eos_ids))
    rest = constraint.shortest_completion(state)
    begins = {rest[:length] for length in range(1, len(rest) + 1)}
    specials = vocabulary.special_ids
    fits = [vocabulary.token_bytes(int(t)) in begins and int(t) not in specials for t in ids]
    return np.array(fits, np.bool_)
