"""Repetition penalties: on tokens and on n-grams that were written already."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check, check_count
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.penalties.state_kinds import Ids, state_kinds

Where = Literal["text", "all"]


@dataclass(frozen=True)
class Repetition:
    """Makes tokens that were written already less likely.

    presence is subtracted from the logit of such a token, frequency as often as it was written (as
    the OpenAI API has them). factor divides its logit if that is positive, else multiplies it
    (CTRL, Keskar et al. 2019, section 4.1; `repetition_penalty` elsewhere). where: with "text" only
    tokens inside free text count and are penalised, not those that end it, so keys, numbers and
    structure are spared; with "all" every token. prompt: count the prompt's tokens, too.
    """

    presence: float = 0.0
    frequency: float = 0.0
    factor: float = 1.0
    where: Where = "text"
    prompt: bool = False

    def __post_init__(self) -> None:
        _check_where(self.where)
        check("factor", self.factor, self.factor > 0, "a number above 0")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> RepetitionPath:
        """The state for a new text."""
        return RepetitionPath(self, prompt, constraint)


class RepetitionPath:
    """Counts of the tokens written in one text."""

    def __init__(self, settings: Repetition, prompt: Sequence[int], constraint: Constraint) -> None:
        self._settings = settings
        self._kinds = state_kinds(constraint)
        self._counts = np.zeros(constraint.vocabulary.size, np.int32)
        if settings.prompt:
            inside = [token for token in prompt if token < len(self._counts)]
            np.add.at(self._counts, inside, 1)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See Repetition."""
        settings = self._settings
        if settings.where == "text" and not self._kinds.is_text(state):
            return np.zeros(len(ids))
        counts = self._counts[ids]
        seen = counts > 0
        changed = np.where(logits > 0, logits / settings.factor, logits * settings.factor) - logits
        weights: Doubles = (
            np.where(seen, changed - settings.presence, 0.0) - settings.frequency * counts
        )
        return weights

    def wrote(self, state: int, token: int) -> None:
        """Count a token."""
        if self._settings.where == "all" or self._kinds.stays_text(state, token):
            self._counts[token] += 1


@dataclass(frozen=True)
class NoRepeatNgram:
    """Refuses a token that would complete an n-gram of `size` tokens that was written before.

    where: as for Repetition. With "text" an n-gram never spans structure.
    """

    size: int
    where: Where = "text"

    def __post_init__(self) -> None:
        _check_where(self.where)
        check_count("size", self.size)

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> NgramPath:
        """The state for a new text."""
        return NgramPath(self, constraint)


class NgramPath:
    """The n-grams of one text."""

    def __init__(self, settings: NoRepeatNgram, constraint: Constraint) -> None:
        self._size = settings.size
        self._all = settings.where == "all"
        self._kinds = state_kinds(constraint)
        self._last: deque[int] = deque(maxlen=settings.size - 1)
        self._followers: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See NoRepeatNgram."""
        banned: npt.NDArray[np.bool_] = np.zeros(len(ids), np.bool_)
        full = len(self._last) == self._size - 1
        if full and (self._all or self._kinds.is_text(state)):
            banned = np.isin(ids, list(self._followers.get(tuple(self._last), ())))
        return np.where(banned, -np.inf, 0.0)

    def wrote(self, state: int, token: int) -> None:
        """Remember the n-gram that this token ends."""
        if not self._all and not self._kinds.stays_text(state, token):
            self._last.clear()
            return
        if len(self._last) == self._size - 1:
            self._followers[tuple(self._last)].add(token)
        self._last.append(token)


def _check_where(where: str) -> None:
    check("where", where, where in {"text", "all"}, '"text" or "all"')
