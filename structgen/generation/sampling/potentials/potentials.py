"""Critics: judgements of texts as log weights, their products, and potentials over a vocabulary.

A critic weighs a text while it is written: `prefix` weighs one that may go on, `complete` a whole
one; both are natural logs, -inf to refuse. What is drawn is the model's distribution
times exp(complete), and `prefix` says early how that will come out. One step weighs the difference
of two prefixes, so that the steps of a text multiply to its `complete` (the potentials of
"Fast Controlled Generation from Language Models with Adaptive Weighted Rejection Sampling",
arXiv 2504.05410, section 2). In a product of critics the logs add.

What a critic has refused stays refused: whatever it says later, a text that goes on from a refused
one is refused. Samplers count on that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.sampling.context import Context, Contexts
from structgen.generation.sampling.interfaces import Doubles, Potential, Tokens
from structgen.masks.bitmask import Rows
from structgen.vocabulary.vocabulary import Vocabulary

REFUSED = -math.inf  #: the log weight of what is refused


@runtime_checkable
class Narrowing(Potential, Protocol):
    """A potential that can cheaply exclude some tokens from a mask row."""

    def narrow(self, prefix: Tokens, row: Rows) -> None:
        """Clear bits of row int32[words], in place, of tokens that are refused after `prefix`.

        A cleared bit means -inf for sure; what is left must still be judged.
        """


class Critic(ABC):
    """Weighs texts, for any vocabulary. `a * b` is the critic whose weights are the products.

    boolean: whether all log weights are 0 or -inf: then tokens are let through or refused, one by
    one, and none is weighed.
    """

    boolean: bool

    @abstractmethod
    def over(self, vocabulary: Vocabulary) -> Potential:
        """This critic as a potential over the tokens of a vocabulary."""

    def __mul__(self, other: Critic) -> Critic:
        return Product((self, other))


class Product(Critic):
    """Several critics at once: their log weights add, and any of them can refuse."""

    def __init__(self, critics: Sequence[Critic]) -> None:
        """The critics in the order in which they are asked: the cheap ones first."""
        self.critics = tuple(critics)
        self.boolean = all(critic.boolean for critic in self.critics)

    def over(self, vocabulary: Vocabulary) -> Potential:
        """See `Critic.over`."""
        return SumOfLogs([critic.over(vocabulary) for critic in self.critics])


class SumOfLogs:
    """The product of potentials, a `Narrowing`; those after the first to refuse are not asked."""

    def __init__(self, potentials: Sequence[Potential]) -> None:
        self.potentials = tuple(potentials)

    def log_prefix(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_prefix`."""
        return self._total([p.log_prefix for p in self.potentials], prefixes)

    def log_complete(self, texts: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_complete`."""
        return self._total([p.log_complete for p in self.potentials], texts)

    def narrow(self, prefix: Tokens, row: Rows) -> None:
        """See `Narrowing.narrow`."""
        for potential in self.potentials:
            if isinstance(potential, Narrowing):
                potential.narrow(prefix, row)

    def _total(
        self, weigh: Sequence[Callable[[Sequence[Tokens]], Doubles]], texts: Sequence[Tokens]
    ) -> Doubles:
        total = np.zeros(len(texts))
        for one in weigh:
            left = np.flatnonzero(total > REFUSED)
            total[left] += one([texts[i] for i in left.tolist()])
        return total


class TextCritic(Critic):
    """A critic that looks at the text so far, a Context; the base of those that users write."""

    @abstractmethod
    def prefix(self, context: Context) -> float:
        """Log weight of a text that may go on; -inf only where no ending could have a weight."""

    @abstractmethod
    def complete(self, context: Context) -> float:
        """Log weight of a whole text."""

    def narrow(self, context: Context, vocabulary: Vocabulary, row: Rows) -> None:
        """As `Narrowing.narrow`; clears nothing unless a subclass does."""

    def over(self, vocabulary: Vocabulary) -> OverTokens:
        """See `Critic.over`."""
        return OverTokens(self, vocabulary)


class OverTokens:
    """A TextCritic as a potential, a `Narrowing`: weights of prefixes are cached.

    GenerationError when a weight is nan or +inf, or when a critic that calls itself boolean weighs.
    """

    def __init__(self, critic: TextCritic, vocabulary: Vocabulary) -> None:
        self.critic = critic
        self.vocabulary = vocabulary
        self._contexts = Contexts(vocabulary)

    def log_prefix(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_prefix`."""
        return np.array([self._prefix(self._contexts.of(p)) for p in prefixes], np.float64)

    def log_complete(self, texts: Sequence[Tokens]) -> Doubles:
        """See `Potential.log_complete`."""
        return np.array([self._complete(self._contexts.of(t)) for t in texts], np.float64)

    def log_weight_next(self, prefix: Tokens, tokens: Sequence[int]) -> Doubles:
        """float64[len(tokens)]: the weight of the step to each token, `prefix` not being refused.

        The sum over the steps of a text, with `log_complete - log_prefix` at its end and
        `log_prefix` of the empty text, is `log_complete`.
        """
        before = self._prefix(self._contexts.of(prefix))
        return self.log_prefix([(*prefix, token) for token in tokens]) - before

    def narrow(self, prefix: Tokens, row: Rows) -> None:
        """See `Narrowing.narrow`."""
        self.critic.narrow(self._contexts.of(prefix), self.vocabulary, row)

    def _prefix(self, context: Context) -> float:
        return context.fold(self, 0.0, self._step)

    def _step(self, before: float, context: Context) -> float:
        return REFUSED if before == REFUSED else self._checked(self.critic.prefix, context)

    def _complete(self, context: Context) -> float:
        if self._prefix(context) == REFUSED:
            return REFUSED
        return self._checked(self.critic.complete, context)

    def _checked(self, weigh: Callable[[Context], float], context: Context) -> float:
        weight = weigh(context)
        if weight == REFUSED or (weight == 0.0 if self.critic.boolean else math.isfinite(weight)):
            return weight
        raise GenerationError(
            f"{type(self.critic).__name__} gives a log weight of {weight!r}",
            text=context.text,
            expected="0 or -inf" if self.critic.boolean else "a finite number, or -inf to refuse",
        )
