"""`RecyclingDrafter`: drafts what the target ranked high after the same token (Token Recycling).

Luo et al. 2024: an adjacency matrix has for each token those that the target last found most likely
after it. The draft tree is the one whose nodes are most probable if a candidate's chance depends on
its rank alone: a static tree, as in the paper, from which the grammar takes away.
"""

from __future__ import annotations

from dataclasses import dataclass

from structgen.generation.speculation.drafters.guessing import GuessDrafter, Guesses
from structgen.generation.speculation.drafters.ngrams.likely import likeliest, verified
from structgen.generation.speculation.drafters.state_classes import ClassOf, Kind, StateClasses
from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.tree import Context

RANKS = (0.55, 0.15, 0.08, 0.05, 0.03, 0.02, 0.015, 0.01)  # that a candidate is right, by rank
_MOST_KEYS = 1 << 16  # rows of the matrix

Matrix = dict[tuple[int, int], tuple[int, ...]]


@dataclass
class RecyclingGuesser:
    """Guesses from the matrix; its cursor is the last token."""

    matrix: Matrix
    ranks: tuple[float, ...]
    class_of: ClassOf | None

    def start(self, context: Context) -> int:
        """The last token."""
        self._constraint = context.constraint
        return context.tokens[-1]

    def guesses(self, cursor: int, state: int) -> Guesses:
        """The tokens that were likely after this one, by rank."""
        found = self.matrix.get((cursor, self._class(state)))
        if found is None:
            found = self.matrix.get((cursor, 0), ())
        return list(zip(found, self.ranks, strict=False))

    def follow(self, cursor: int, token: int) -> int:
        """The token itself."""
        return token

    def observe(self, context: Context, seen: Round) -> None:
        """Write down what is likely after each node, those not kept too."""
        tree = seen.tree
        if len(self.matrix) >= _MOST_KEYS:
            self.matrix.clear()
        self._constraint = context.constraint
        for node in verified(seen):
            token, state = tree.tokens[node], tree.states[node]
            found = likeliest(context, state, seen.logits[node], len(self.ranks))
            if found:
                self.matrix[token, 0] = self.matrix[token, self._class(state)] = found

    def end(self, context: Context) -> None:
        """Nothing ends: the matrix is shared."""

    def _class(self, state: int) -> int:
        return 0 if self.class_of is None else self.class_of(self._constraint, state)


class RecyclingDrafter(GuessDrafter):
    """Drafts what the target found likely after the same token, in any text before.

    ranks: estimated probabilities that a candidate is right, by rank; their number is the width of
    the matrix. classes: rows for (token, class of the state) are kept beside those for tokens.
    """

    name = "recycling"

    def __init__(self, ranks: tuple[float, ...] = RANKS, classes: Kind | None = "mask") -> None:
        self.ranks = ranks
        self.matrix: Matrix = {}
        self._classes = None if classes is None else StateClasses(classes)

    def guesser(self, context: Context) -> RecyclingGuesser:
        """For a new text; all share the matrix."""
        class_of = None if self._classes is None else self._classes.of(context.constraint)
        return RecyclingGuesser(self.matrix, self.ranks, class_of)
