"""In: the tokens of a text. Out: LoopGuard, which notices circles and leads out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.penalties.places import Ids


@dataclass(frozen=True)
class LoopGuard:
    """When the last tokens are the same ones over and over, only closing the structure is left.

    A circle is `repeats` times the same at most `longest` tokens, and at least `least` tokens that
    repeat what came before them. Then the next token must begin the shortest way to a valid end
    (end the string, the list, the number, or the whole text); the model chooses among the tokens
    that do. That ends the circle, and what follows is the model's again, until it is caught more
    than `patience` times: then the text is led to its end.
    """

    repeats: int = 4
    least: int = 24
    longest: int = 64
    patience: int = 2

    def __post_init__(self) -> None:
        for name, lowest in (("repeats", 2), ("least", 1), ("longest", 1), ("patience", 0)):
            value = getattr(self, name)
            if value < lowest:
                raise GenerationError(
                    f"{name} is {value!r}", expected=f"an integer of {lowest} or more"
                )

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> LoopPath:
        """For one text."""
        return LoopPath(self, constraint)


class LoopPath:
    """For every period, how long one text has had it."""

    def __init__(self, wish: LoopGuard, constraint: Constraint) -> None:
        self._constraint = constraint
        self._patience = wish.patience
        periods = np.arange(1, wish.longest + 1)
        self._enough = np.maximum(wish.least, periods * (wish.repeats - 1))
        self._recent = np.full(wish.longest, -1, np.int64)  # the last tokens, the last first
        self._same = np.zeros(wish.longest, np.int64)  # tokens in a row equal to those before them
        self._caught = 0

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See LoopGuard."""
        if not self._circling and self._caught <= self._patience:
            return np.zeros(len(ids))
        closing = closing_tokens(self._constraint, state, ids)
        return np.where(closing, 0.0, -np.inf) if closing.any() else np.zeros(len(ids))

    def wrote(self, state: int, token: int) -> None:
        """Look for circles that this token closes."""
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
