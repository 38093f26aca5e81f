"""The tokens that may come next judged by their first byte alone, without a mask."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from structgen.util.cached import per_object
from structgen.vocabulary.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]

_SPECIAL, _EMPTY = 256, -1  # instead of the first byte of a token


class PlausibleTokens:
    """Tokens by their first byte; what was asked for is kept."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """O(V)."""
        self._by_bytes: dict[frozenset[int], Ids] = {}
        self._first = np.array([t[0] if t else _EMPTY for t in vocabulary.tokens], np.int16)
        self._first[list(vocabulary.special_ids)] = _SPECIAL

    def after(self, first: frozenset[int]) -> Ids:
        """int32[k], ascending: the tokens that begin with one of these bytes, and the special ones.

        All that are allowed where these bytes are, are among them.
        """
        if first not in self._by_bytes:
            wanted = np.isin(self._first, [*first, _SPECIAL])
            self._by_bytes[first] = np.flatnonzero(wanted).astype(np.int32)
        return self._by_bytes[first]


#: Those of a vocabulary, made once for each.
plausible_tokens = per_object(PlausibleTokens)
