"""The target's logits along a chain of guesses, which give the next chain (a Jacobi step).

Position p of the text was guessed; the logits there, given the guesses before it, say what the
target would write at p + 1. So each pass over a chain gives a better chain (Santilli et al. 2023).
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.tree import NONE, Context


class Trajectory:
    """The logits of the last chain of guesses, by position in the text.

    Attribute: `guesses`, the tokens of the last chain by position.
    """

    def __init__(self) -> None:
        self._rows: dict[int, npt.NDArray[Any]] = {}
        self.guesses: dict[int, int] = {}

    def row(self, position: int) -> npt.NDArray[Any] | None:
        """float[V]: logits of the token at a position; those of the last one known, if later."""
        if not self._rows:
            return None
        return self._rows[position if position in self._rows else max(self._rows)]

    def observe(self, context: Context, seen: Round, chain: list[int]) -> None:
        """Read the logits along the chain that was proposed, and along what was kept.

        chain: the tokens proposed from the root on. Where the text went another way, what was kept
        counts: its logits are the target's own.
        """
        tree = seen.tree
        first = len(context.tokens) - len(seen.written)  # of the first token after the root
        rows = {first: seen.logits[0]}
        guesses = {}
        node = 0
        for depth, token in enumerate(chain, 1):
            node = tree.child(node, token)
            if node == NONE:
                break
            rows[first + depth] = seen.logits[node]
            guesses[first + depth - 1] = token
        for depth, node in enumerate(seen.path, 1):
            rows[first + depth] = seen.logits[node]
        end = len(context.tokens)
        self._rows = {at: row for at, row in rows.items() if at >= end} or {end: rows[max(rows)]}
        self.guesses = {at: token for at, token in guesses.items() if at >= end}
