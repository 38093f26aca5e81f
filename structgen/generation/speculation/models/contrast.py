"""`Contrast`: contrastive decoding against a weaker model, as a transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.speculation.models.reader import Reader, load_draft_model, reader_of
from structgen.generation.speculation.models.trim import Head
from structgen.generation.speculation.tree import Ids


class Contrast:
    """Contrasts the target with a weaker model: logits (1 + strength) target - strength weak.

    Only tokens with at least `plausible` times the probability of the most probable one are left
    (O'Brien and Lewis 2023; drafts may come from the same weak model, Yuan et al. 2024, speculative
    contrastive decoding). The weak model reads each token that is written, in a pass of its own.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        strength: float = 0.5,
        plausible: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        """model: as for `ModelDrafter`, with the target's tokens; also a ModelDrafter's `target`.

        GenerationError when a number is out of range.
        """
        if not (0 <= strength < math.inf and 0 < plausible <= 1):
            raise GenerationError(
                f"strength is {strength!r} and plausible {plausible!r}",
                expected="0 or more, and a number in (0, 1]",
            )
        self.strength = strength
        self.least = math.log(plausible)
        self.target, self._vocabulary = load_draft_model(model, None, device, dtype)
        self._head = Head(self.target)

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> ContrastPath:
        """See `Transform`. GenerationError when the models do not have the same tokens."""
        own, its = self._vocabulary, constraint.vocabulary
        if own is not None and own.tokens[: its.size] != its.tokens[: own.size]:
            raise GenerationError("the weak model has other tokens than the target")
        return ContrastPath(self, reader_of(self.target, self._head), prompt)


class ContrastPath:
    """One text, read by the weak model; a `Path`. Past its context length nothing changes."""

    def __init__(self, settings: Contrast, reader: Reader, prompt: Sequence[int]) -> None:
        self._settings = settings
        self._reader = reader
        self._text = list(prompt)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See `Path`."""
        target = self._settings.target
        if target.context is not None and len(self._text) >= target.context:
            return np.zeros(len(ids))
        known = ids < target.vocab_size
        _, weak = self._reader.follow(self._text, ids[known])
        weights = np.full(len(ids), -np.inf)
        weights[known] = self._settings.strength * (logits[known] - weak)
        weights[logits < logits.max() + self._settings.least] = -np.inf
        return weights

    def wrote(self, state: int, token: int) -> None:
        """See `Path`."""
        self._text.append(token)
