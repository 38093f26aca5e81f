"""Log probabilities of the tokens of a text, under the model alone and under the mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.generation.distribution import largest, log_sum_exp
from structgen.generation.row import Row

LOWEST = -9999.0  # what OpenAI writes for the log of 0, which JSON lacks


def finite(log_probability: float) -> float:
    """A log probability as JSON has it."""
    return max(log_probability, LOWEST)


class Alternative(NamedTuple):
    """A token that could have come: its id, and log probabilities with and without the mask."""

    token: int
    masked: float
    raw: float


class TokenRecord(NamedTuple):
    """A token that was written, with what else could have been."""

    token: int
    masked: float
    raw: float
    others: tuple[Alternative, ...]


class Recorder:
    """Notes the tokens of one row while it is written.

    before: with the logits float[V] before the mask. after: when the row has taken its token, with
    the logits after the mask, or None where no alternatives are wanted.
    """

    def __init__(self, top: int) -> None:
        """`top`: how many alternatives to note for each token; 0 for none."""
        self._top = top
        self._noted = 0
        self._records: list[TokenRecord] = []
        self._raw: npt.NDArray[np.float64] | None = None

    def before(self, logits: npt.NDArray[Any], log_raw: float) -> None:
        """Keep the log probabilities under the model alone, if alternatives are wanted."""
        if self._top:
            self._raw = logits.astype(np.float64) - log_raw

    def after(self, row: Row, logits: npt.NDArray[Any] | None) -> None:
        """Note the token that was written, if there was one."""
        for number, (raw, masked) in enumerate(row.log_probabilities(self._noted), self._noted):
            others: tuple[Alternative, ...] = ()
            if logits is not None and self._raw is not None:
                others = self._others(logits, self._raw)
            self._records.append(TokenRecord(row.tokens[number], masked, raw, others))
        self._noted = len(row.tokens)

    def take(self) -> tuple[TokenRecord, ...]:
        """The tokens noted since the last call."""
        found, self._records = tuple(self._records), []
        return found

    def _others(
        self, logits: npt.NDArray[Any], log_raw: npt.NDArray[np.float64]
    ) -> tuple[Alternative, ...]:
        allowed = np.flatnonzero(logits > -np.inf)
        values = logits[allowed].astype(np.float64)
        total = log_sum_exp(values)
        chosen = largest(values, min(self._top, len(values)))
        return tuple(
            Alternative(int(allowed[i]), float(values[i]) - total, float(log_raw[allowed[i]]))
            for i in chosen
        )
