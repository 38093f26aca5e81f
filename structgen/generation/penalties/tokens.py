"""`Bias` and `MinTokens`: more or less of some tokens, and no end before a minimum length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.penalties.state_kinds import Ids


@dataclass(frozen=True, eq=False)
class Bias:
    """Adds to the logits of some tokens, wherever the constraint allows them.

    weights: by token id, or by the exact text of a token; -inf refuses it as long as anything else
    is allowed. GenerationError for a text that no token has.
    """

    weights: Mapping[int | str, float]

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> BiasPath:
        """The state for a new text."""
        vocabulary = constraint.vocabulary
        dense = np.zeros(vocabulary.size)
        for key, weight in self.weights.items():
            if isinstance(key, str):
                data = key.encode()
                ids = [t for t in range(vocabulary.size) if vocabulary.token_bytes(t) == data]
            else:
                ids = [key] if 0 <= key < vocabulary.size else []
            if not ids:
                raise GenerationError(
                    f"no token of the vocabulary is {key!r}",
                    expected="an id, or the text of one token",
                )
            dense[ids] += weight
        return BiasPath(dense)


class BiasPath:
    """A bias needs no state: it is the same in every text."""

    def __init__(self, dense: Doubles) -> None:
        """`dense`: float64[V], what is added."""
        self._dense = dense

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See Bias."""
        return self._dense[ids]

    def wrote(self, state: int, token: int) -> None:
        """The bias does not depend on the text."""


@dataclass(frozen=True)
class MinTokens:
    """Refuses the model's end token until `count` tokens are written, if anything else is allowed.

    A text that is complete ends all the same, unless `stop="eos"` waits for the end token.
    """

    count: int

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> MinTokensPath:
        """The state for a new text."""
        return MinTokensPath(self.count, constraint)


class MinTokensPath:
    """The number of tokens that one text still needs."""

    def __init__(self, count: int, constraint: Constraint) -> None:
        self._missing = count
        self._ends = list(constraint.vocabulary.eos_ids)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See MinTokens."""
        if self._missing <= 0:
            return np.zeros(len(ids))
        return np.where(np.isin(ids, self._ends), -np.inf, 0.0)

    def wrote(self, state: int, token: int) -> None:
        """Count a token."""
        self._missing -= 1
