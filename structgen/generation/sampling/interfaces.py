"""The protocols of sampling: a model, a potential, and the context of the next token.

Everything is about sequences of tokens. A text that can be tokenized in two ways is two sequences;
a model gives each its own probability, and samplers keep them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Tokens = tuple[int, ...]


class Model(Protocol):
    """A distribution over sequences of tokens: temperature and prompt are part of it."""

    @property
    def vocab_size(self) -> int:
        """V, the number of tokens; that of the vocabulary which constraints are compiled for."""

    @property
    def room(self) -> int | None:
        """Most tokens of a text, end token included, or None when there is no limit."""

    @property
    def identity(self) -> str:
        """Identifies the distribution (model, prompt, temperature), for tries that were saved."""

    def log_probs(self, prefixes: Sequence[Tokens]) -> Doubles:
        """Natural logs of the probabilities of the next token, float64[len(prefixes), V].

        A prefix is what was written after the prompt; equal ones are computed once. Each row's
        exponentials sum to 1. What is returned belongs to the caller for reading only.
        """


class Potential(Protocol):
    """A factor >= 0 on texts, in natural logs: what it weighs is drawn more often.

    `log_prefix` must never be -inf where some text that goes on with the prefix has a positive
    factor; apart from that it is free, and a good guess of `log_complete` makes a good twist.
    What only lets through or not is better made part of the constraint.
    """

    def log_prefix(self, prefixes: Sequence[Tokens]) -> Doubles:
        """float64[len(prefixes)]: the factor of texts that may go on."""

    def log_complete(self, texts: Sequence[Tokens]) -> Doubles:
        """float64[len(texts)]: the factor of whole texts; their end token is not among them."""


class Place(NamedTuple):
    """The context of the next token: the tokens so far, and the constraint's state there."""

    state: int
    tokens: Tokens
