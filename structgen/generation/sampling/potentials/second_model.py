"""`SecondModel`: another model with the same vocabulary as a critic (product of experts)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from structgen.errors import VocabularyError
from structgen.generation.checks import check
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Model, Potential, Tokens
from structgen.generation.sampling.potentials.potentials import Critic
from structgen.vocabulary.vocabulary import Vocabulary

_REMEMBERED = 1 << 16  # prefixes whose probability is kept; forgotten together


class SecondModel(Critic):
    """Weighs a text by its probability under another model, to the power of `strength`.

    What is drawn then is the product of two distributions (a product of experts), not their
    mixture: texts that both find probable.
    """

    boolean = False

    def __init__(self, model: Model, strength: float = 1.0, *, ends: bool = False) -> None:
        """strength: a finite number; below 0 it prefers what the second model finds improbable.

        ends: whether the probability of ending the text counts too, as it does for the first model
        with stop="eos". GenerationError when `strength` is not finite.
        """
        check("strength", strength, math.isfinite(strength), "a finite number")
        self.model = model
        self.strength = strength
        self.ends = ends

    def over(self, vocabulary: Vocabulary) -> Potential:
        """See `Critic.over`. VocabularyError when the model counts other tokens."""
        if self.model.vocab_size != vocabulary.size:
            raise VocabularyError(
                f"the second model has {self.model.vocab_size} tokens, the first {vocabulary.size}",
                expected="two models that share a vocabulary",
            )
        return _SecondModelPotential(self, vocabulary)


class _SecondModelPotential:
    """The second model's log-probabilities as a `Potential`."""

    def __init__(self, critic: SecondModel, vocabulary: Vocabulary) -> None:
        self._critic = critic
        self._ends = list(vocabulary.eos_ids) if critic.ends else []
        self._known: dict[Tokens, float] = {(): 0.0}

    def log_prefix(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_prefix`. The model is asked once for all prefixes."""
        self._learn(prefixes)
        return self._weigh([self._known[prefix] for prefix in prefixes])

    def log_complete(self, texts: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_complete`."""
        if not self._ends or not texts:
            return self.log_prefix(texts)
        self._learn(texts)
        rows = self._critic.model.log_probs(list(texts))
        endings = [log_sum_exp(row[self._ends]) for row in rows]
        return self._weigh([self._known[t] + e for t, e in zip(texts, endings, strict=True)])

    def _weigh(self, log_probabilities: Sequence[float]) -> Doubles:
        logs = np.array(log_probabilities, np.float64)
        impossible = logs == -np.inf
        # What the second model never writes is refused, whatever the sign of the strength.
        return np.where(
            impossible, -np.inf, np.where(impossible, 0.0, logs) * self._critic.strength
        )

    def _learn(self, texts: Sequence[Tokens]) -> None:
        """Find the probabilities of all beginnings of the texts that are not known."""
        if len(self._known) >= _REMEMBERED:
            self._known = {(): 0.0}
        wanted = {text[:end] for text in texts for end in _unknown(text, self._known)}
        if not wanted:
            return
        ordered = sorted(wanted, key=len)
        before = list(dict.fromkeys(prefix[:-1] for prefix in ordered))
        rows = dict(zip(before, self._critic.model.log_probs(before), strict=True))
        for prefix in ordered:
            step = float(rows[prefix[:-1]][prefix[-1]])
            self._known[prefix] = self._known[prefix[:-1]] + step


def _unknown(text: Tokens, known: dict[Tokens, float]) -> Sequence[int]:
    """Lengths of the beginnings of `text` that are not known; all shorter ones are."""
    length = len(text)
    while text[:length] not in known:
        length -= 1
    return range(length + 1, len(text) + 1)
