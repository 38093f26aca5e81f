"""Keeps texts that a host draws within a number of tokens: tokens after which a text could not be
closed in time are masked, too.

A host appends a token before anybody can object. So the tokens that it may well draw are tried
ahead: what the shortest way to an end would be behind each of them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import UnclosedTextWarning
from structgen.generation.closing import Closer, Speller
from structgen.generation.interfaces import Constraint

if TYPE_CHECKING:
    import torch

SPARE = 32  # tokens beyond twice those of the shortest ending: where there are more, it is not near
NEAR, FAR = (
    64,
    16,
)  # tokens with the best scores that are tried where the limit is near, and where not


class TokenLimit:
    """A limit of tokens for the texts of one constraint.

    Where the limit is near, only tokens stay that were tried and leave enough, or if there is none
    the first of the shortest ending. Elsewhere a token with a low score might still begin more than
    can be ended: then there is an UnclosedTextWarning. TruncatedError where the shortest text is
    longer than the limit, NoTokenError where no tokens write it.
    """

    def __init__(self, constraint: Constraint, tokens: int) -> None:
        self._constraint = constraint
        self._closer = Closer(constraint, Speller(constraint.vocabulary))
        self._tokens = tokens
        self._closer.check(constraint.start, tokens)

    def restrict(self, scores: torch.Tensor, state: int, written: int) -> None:
        """Mask tokens of a row in place, float[V], which has the mask of `state` already.

        written: tokens of the text so far.
        """
        left = self._tokens - written
        if state in {DEAD, FINAL} or left < 1:
            return
        near = not self._closer.fits(state, (left - SPARE) // 2)
        best = scores.topk(min(NEAR if near else FAR, len(scores)))
        tried = [
            token
            for token, score in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            if score > -float("inf")
        ]
        late = [token for token in tried if not self._ends_in_time(state, token, left - 1)]
        if not near:
            scores[late] = -float("inf")
            return
        kept = sorted(set(tried) - set(late))
        if not kept:
            plan = self._closer.plan(state)
            if not plan or len(plan) > left:
                warnings.warn(
                    f"a text cannot be closed within {self._tokens} tokens",
                    UnclosedTextWarning,
                    stacklevel=2,
                )
                return
            kept = [plan[0]]
        values = scores[kept].clone()
        scores[:] = -float("inf")
        scores[kept] = values

    def _ends_in_time(self, state: int, token: int, left: int) -> bool:
        after = self._constraint.advance(state, token)
        return after == FINAL or (after != DEAD and self._closer.fits(after, left))
