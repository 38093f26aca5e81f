"""`TableTarget`: a decode target given by a table, for tests, teaching and replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.generation.distribution import log_sum_exp
from structgen.generation.interfaces import Doubles, Rows
from structgen.generation.sampling.interfaces import Model
from structgen.masks import bitmask


class TableLogits:
    """Logits float[n, V] in this process's memory."""

    def __init__(self, rows: npt.NDArray[Any], hidden: Sequence[Any] | None = None) -> None:
        """`hidden`: what `Logits.hidden` is to be."""
        self._rows = rows
        self.hidden = hidden

    def wait(self) -> None:
        """Nothing to wait for: the rows are in memory."""

    def log_normalizers(self) -> Doubles:
        """float64[n]."""
        return np.array([log_sum_exp(row.astype(np.float64)) for row in self._rows])

    def apply(self, rows: Rows) -> None:
        """Set what the masks do not allow to -inf."""
        bitmask.apply(self._rows, rows)

    def numpy(self) -> npt.NDArray[Any]:
        """The rows themselves."""
        return self._rows


@dataclass(slots=True)
class TableCache:
    """What each row has read, and what it read last, with the prefix that each of these ends."""

    read: list[tuple[int, ...]]
    prefixes: list[list[tuple[int, ...]]]


class TableTarget:
    """A sampling `Model`, such as a TableModel, as a decode target that reads trees.

    Attribute: `forwards`, how often it was asked. The distribution is that of the tokens after the
    prompt.
    """

    takes_trees = True
    takes_drafts = True

    def __init__(self, model: Model) -> None:
        self._model = model
        self.vocab_size = model.vocab_size
        self.context: int | None = None
        self.forwards = 0

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[TableCache, TableLogits]:
        """Begin rows; the prompts do not matter to the distribution."""
        cache = TableCache([() for _ in prompts], [[] for _ in prompts])
        return cache, self._logits(cache.read)

    def forward(
        self,
        cache: TableCache,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
    ) -> TableLogits:
        """Read tokens after each row; all count until `commit` says otherwise."""
        self.forwards += 1
        for r, row in enumerate(tokens):
            found: list[tuple[int, ...]] = []
            for i, token in enumerate(row):
                parent = i - 1 if parents is None else parents[r][i]
                found.append(((*found[parent], token)) if parent >= 0 else (*cache.read[r], token))
            cache.prefixes[r] = found
            cache.read[r] = found[-1]
        return self._logits([prefix for row in cache.prefixes for prefix in row])

    def commit(self, cache: TableCache, kept: Sequence[Sequence[int]]) -> None:
        """Keep the path that ends at the last node kept."""
        cache.read = [found[row[-1]] for found, row in zip(cache.prefixes, kept, strict=True)]

    def select(self, cache: TableCache, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        cache.read = [cache.read[r] for r in rows]
        cache.prefixes = [cache.prefixes[r] for r in rows]

    def _logits(self, prefixes: Sequence[tuple[int, ...]]) -> TableLogits:
        return TableLogits(np.array(self._model.log_probs(prefixes)))
