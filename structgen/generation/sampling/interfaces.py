"""In: nothing. Out: how samplers see a model, a potential, a step of one token, and each other.

Everything is about sequences of tokens. A text that can be cut into tokens in two ways is two
sequences; a model gives each its own probability, and samplers treat them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from structgen.generation.sampling.posterior import Posterior
    from structgen.generation.sampling.results import Samples

Doubles = npt.NDArray[np.float64]
Tokens = tuple[int, ...]


class Model(Protocol):
    """A law over sequences of tokens: temperature and prompt are part of it."""

    @property
    def vocab_size(self) -> int:
        """V, the number of tokens; that of the vocabulary which constraints are compiled for."""

    @property
    def room(self) -> int | None:
        """Most tokens of a text, end token included, or None when there is no limit."""

    @property
    def identity(self) -> str:
        """Names the law: model, prompt and temperature. Tries that were saved are told by it."""

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
    """A prefix that the constraint has read: its state there, and the tokens written so far."""

    state: int
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Step:
    """One token, properly weighted.

    For every token t: E[exp(log_weight) * 1{token = t}] = p(t) if t is accepted, else 0, where p is
    the model's law of the next token. `token` is None, and log_weight -inf, where none was found.
    log_proposal: log of the probability with which the token was drawn; nan where it is unknown.
    """

    token: int | None
    log_weight: float
    log_proposal: float


class Stepper(Protocol):
    """Draws one token for each of several places; the part that SMC runs inside."""

    def steps(
        self,
        posterior: Posterior,
        places: Sequence[Place],
        log_probs: Doubles,
        rngs: Sequence[np.random.Generator],
    ) -> list[Step]:
        """A step for each place, given the model's log_probs float64[len(places), V] there."""


class Family(Protocol):
    """A way to sample; what `sampling.draw` and `generate(sampler=...)` run."""

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` samples; equal seeds give equal samples. GenerationError when it cannot."""
