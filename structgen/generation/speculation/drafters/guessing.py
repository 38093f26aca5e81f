"""`Guesser`: ranked guesses of the next token, and drafters that grow trees of them.

Every model-free drafter is a Guesser: a cursor into its statistics, ranked guesses there, and where
a token moves the cursor. The grammar prunes while the tree grows, best first: a refused token is
left out, and its probability is shared among the allowed ones.

`Rates` says how often guesses of a kind were right.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from structgen.automata.interface import DEAD
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import NONE, Context, DraftTree

_GUESSED = 4.0  # cases that a guess counts for
_NONE = (0.0, 0.0)


class Rates:
    """How often guesses of a kind were right. Shared by texts; a lost update does no harm."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[float, float]] = {}

    def of(self, kind: Hashable, guess: float) -> float:
        """The share of right guesses; `guess`, in (0, 1), counts as long as few were seen."""
        right, cases = self._seen.get(kind, _NONE)
        return (right + _GUESSED * guess) / (cases + _GUESSED)

    def learn(self, kind: Hashable, right: bool) -> None:
        """Count a guess."""
        before, cases = self._seen.get(kind, _NONE)
        self._seen[kind] = (before + right, cases + 1.0)


#: Tokens with the probabilities that they come next, the most probable first; together at most 1.
Guesses = Sequence[tuple[int, float]]


class Guesser(Protocol):
    """Guesses the tokens of one text. A cursor is its position in its own statistics."""

    def start(self, context: Context) -> Any:
        """The cursor after all tokens of the context; None where nothing is known."""

    def guesses(self, cursor: Any, state: int) -> Guesses:
        """What may come next. Need not be allowed in `state`."""

    def follow(self, cursor: Any, token: int) -> Any:
        """The cursor one token further, guessed or not; None where nothing is known."""

    def observe(self, context: Context, seen: Round) -> None:
        """Learn from a round, as a Session does."""

    def end(self, context: Context) -> None:
        """The text is finished."""


def grow(
    tree: DraftTree,
    starts: Iterable[tuple[int, Any]],
    guesser: Guesser,
    budget: Budget,
) -> None:
    """Add what the guesser guesses below some nodes of a tree, the most probable nodes first.

    starts: nodes, with the guesser's cursor after each. The tree gets at most `budget.nodes` draft
    tokens in all, none deeper than `budget.depth`, at most `budget.width` below one node, none that
    is reached with a probability below `budget.least` (best first as DySpec has it, with
    deterministic children; counts renormalised over what is allowed).
    """
    advance = tree.context.constraint.advance
    heap: list[tuple[float, int, int, int, float, Any]] = []
    number = itertools.count()  # breaks ties: first come, first served

    def expect(priority: float, node: int, token: int, share: float, cursor: Any) -> None:
        heapq.heappush(heap, (-priority, next(number), node, token, share, cursor))

    def open_up(node: int, cursor: Any) -> None:
        # Drop what the grammar refuses, and share its probability among the guesses that are left.
        state, reached = tree.states[node], tree.estimates[node]
        refused = 0.0
        kept: list[tuple[int, float]] = []
        for token, probability in guesser.guesses(cursor, state):
            if len(kept) == budget.width:
                break
            if advance(state, token) == DEAD:
                refused += probability
            else:
                kept.append((token, probability))
        for token, probability in kept:
            share = min(1.0, probability / (1.0 - refused)) if refused < 1.0 else 1.0
            if reached * share < budget.least or share <= 0.0:
                break
            expect(reached * share, node, token, share, cursor)

    for node, cursor in starts:
        expect(tree.estimates[node], node, NONE, 1.0, cursor)
    while heap and len(tree) <= budget.nodes:
        _, _, parent, token, share, cursor = heapq.heappop(heap)
        if token == NONE:  # a node that is there: its children are asked for only now
            if cursor is not None and tree.depths[parent] < budget.depth and tree.may_go_on(parent):
                open_up(parent, cursor)
        elif len(tree.children[parent]) < budget.width or tree.child(parent, token) != NONE:
            node = tree.add(parent, token, share)
            if node != NONE and len(tree) <= budget.nodes:
                expect(tree.estimates[node], node, NONE, 1.0, guesser.follow(cursor, token))


@dataclass
class GuessSession:
    """A Session that drafts what one Guesser guesses."""

    guesser: Guesser

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """Grow a tree from the last token on."""
        tree = DraftTree(context)
        grow(tree, [(0, self.guesser.start(context))], self.guesser, budget)
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Let the guesser learn."""
        self.guesser.observe(context, seen)

    def end(self, context: Context) -> None:
        """End the guesser."""
        self.guesser.end(context)


class GuessDrafter:
    """A Drafter of which each text has a Guesser."""

    name = "guess"
    hidden: tuple[int, ...] = ()

    def guesser(self, context: Context) -> Guesser:
        """A Guesser for a new text. May be called by several threads."""
        raise NotImplementedError

    def begin(self, context: Context) -> GuessSession:
        """Start on a text."""
        return GuessSession(self.guesser(context))


def ranked(weights: dict[int, float], total: float, most: int) -> Guesses:
    """Guesses from weights by token, as shares of `total`; at most `most`."""
    if len(weights) == 1:
        return [(token, weight / total) for token, weight in weights.items()]
    best = heapq.nlargest(most, weights.items(), key=lambda item: item[1])
    return [(token, weight / total) for token, weight in best]
