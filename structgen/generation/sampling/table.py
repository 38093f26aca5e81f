"""`TableModel`: a sampling `Model` given by a function from prefixes to probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structgen.errors import ModelError
from structgen.generation.sampling.interfaces import Doubles, Tokens


class TableModel:
    """A model of a few tokens, given by hand: for tests, for teaching, for enumeration.

    Attributes: `vocab_size`, `room`, `identity`; `rows`, how many prefixes it was asked for.
    """

    def __init__(
        self,
        vocab_size: int,
        law: Callable[[Tokens], Sequence[float]],
        room: int | None = None,
        identity: str = "table",
    ) -> None:
        """`law` gives V probabilities after a prefix (made to sum to 1); it is asked once each."""
        self.vocab_size = vocab_size
        self.identity = identity
        self.room = room
        self.rows = 0
        self._law = law
        self._known: dict[Tokens, Doubles] = {}

    @classmethod
    def random(
        cls, vocab_size: int, seed: int, concentration: float = 1.0, room: int | None = None
    ) -> TableModel:
        """Each prefix has a distribution of its own, from a symmetric Dirichlet distribution."""

        def law(prefix: Tokens) -> Sequence[float]:
            rng = np.random.default_rng([seed, len(prefix), *prefix])
            return [float(p) for p in rng.dirichlet(np.full(vocab_size, concentration))]

        return cls(vocab_size, law, room, f"random {vocab_size} {seed} {concentration}")

    def log_probs(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `Model.log_probs`. ModelError when the table's row is not V probabilities."""
        self.rows += len(prefixes)
        return np.stack([self._row(prefix) for prefix in prefixes])

    def _row(self, prefix: Tokens) -> Doubles:
        if prefix not in self._known:
            row = np.asarray(self._law(prefix), np.float64)
            if row.shape != (self.vocab_size,) or not (row >= 0).all() or not row.sum() > 0:
                raise ModelError(
                    f"the table's row after {prefix} has shape {row.shape}",
                    expected=f"{self.vocab_size} probabilities, not all of them 0",
                )
            with np.errstate(divide="ignore"):
                self._known[prefix] = np.log(row / row.sum())
        return self._known[prefix]
