"""Drafts from the logits of the target along a chain of guesses (Jacobi iteration).

Position p of the text was guessed; the logits there, given the guesses before it, say what the
target would write at p + 1. So each pass over a chain gives a better chain (Santilli et al. 2023).

`JacobiDrafter` draws the next chain from these logits. Speculative Jacobi Decoding (Teng et al.
2024), for text under a grammar: the conditionals of the last iteration are the distribution that
the next draft is drawn from, and the rule of speculative sampling accepts or corrects it: nothing
is lost even where a conditional was computed from other tokens.

`LookaheadDrafter` drafts n-grams. Lookahead decoding (Fu et al. 2024): Jacobi iterations along a
chain of guesses leave n-grams behind; those that begin with the last token are drafted. Here both
branches are in one tree: the chain of guesses hangs from the root like the n-grams, so one pass of
the target reads all.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from structgen.generation.distribution import draw
from structgen.generation.speculation.drafters.guessing import Guesses, grow
from structgen.generation.speculation.drafters.ngrams import likely
from structgen.generation.speculation.interfaces import Budget, LearnsNothing, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import NONE, Context, DraftTree, Draws, Scheme


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


class JacobiDrafter:
    """Draws a chain of `window` tokens, each from what the target said there last time."""

    name = "jacobi"
    hidden: tuple[int, ...] = ()

    def __init__(self, window: int = 8) -> None:
        self.window = window

    def begin(self, context: Context) -> JacobiSession:
        """Start on a text."""
        return JacobiSession(self.window)


class JacobiSession(LearnsNothing):
    """The drafter at work on one text."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._trajectory = Trajectory()
        self._chain: list[int] = []

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """One token drawn for each position, from its distribution masked by the grammar there."""
        tree = DraftTree(context)
        node, self._chain = 0, []
        position = len(context.tokens)
        for depth in range(min(self._window, budget.nodes, budget.depth)):
            row = self._trajectory.row(position + depth)
            if row is None or not tree.may_go_on(node) or tree.estimates[node] < budget.least:
                break
            ids, distribution = masked_law(context, tree.states[node], row)
            if not len(ids):
                break
            at = draw(distribution, context.rng)
            draws = Draws(Scheme.IID, ids, distribution, (int(ids[at]),))
            [node] = tree.add_draws(node, draws, [float(distribution[at])])
            self._chain.append(int(ids[at]))
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Keep the logits at the positions that are still to be written."""
        self._trajectory.observe(context, seen, self._chain)
        self._chain = []


Gram = tuple[int, ...]

_HIT = 0.5  # estimated probability that the next token of an n-gram is right
_GUESSED = 0.3  # ... that a token of the chain of guesses is
_MOST_TOKENS = 1 << 16  # first tokens of n-grams that are remembered


class Pool:
    """N-grams by their first token; of each token the last `most`, the newest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._grams: dict[int, OrderedDict[Gram, None]] = {}

    def add(self, tokens: Gram) -> None:
        """Remember what followed the first of these tokens."""
        if len(tokens) < 2:
            return
        if tokens[0] not in self._grams and len(self._grams) >= _MOST_TOKENS:
            self._grams.clear()
        known = self._grams.setdefault(tokens[0], OrderedDict())
        known[tokens[1:]] = None
        known.move_to_end(tokens[1:])
        if len(known) > self._most:
            known.popitem(last=False)

    def after(self, token: int) -> list[Gram]:
        """What followed a token, the newest first."""
        return list(self._grams.get(token, ()))[::-1]


class LookaheadDrafter:
    """Drafts n-grams that Jacobi iterations of the same text have found.

    window: tokens of the chain of guesses. order: tokens of the n-grams. most: n-grams kept for
    one first token.
    """

    name = "lookahead"
    hidden: tuple[int, ...] = ()

    def __init__(self, window: int = 5, order: int = 4, most: int = 8) -> None:
        self.window = window
        self.order = order
        self.most = most

    def begin(self, context: Context) -> LookaheadSession:
        """Start on a text; the n-grams of its prompt are known."""
        return LookaheadSession(self, context)


class LookaheadSession(LearnsNothing):
    """One text, as a Session and as a Guesser of n-grams; a cursor is what n-grams go on with."""

    def __init__(self, drafter: LookaheadDrafter, context: Context) -> None:
        self._drafter = drafter
        self._pool = Pool(drafter.most)
        self._trajectory = Trajectory()
        self._chain: list[int] = []
        for first in range(len(context.prompt)):
            self._pool.add(context.prompt[first : first + drafter.order])

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """The n-grams, then, in what room the window leaves, the chain of guesses.

        For a model that reads only chains: n-grams where there are some, else the guesses.
        """
        tree = DraftTree(context)
        window = min(self._drafter.window, budget.depth)
        grams = budget.nodes if context.chain else max(0, budget.nodes - window)
        grow(tree, [(0, self.start(context))], self, replace(budget, nodes=grams))
        if not context.chain or len(tree) == 1:
            self._guess(tree, context, budget)
        else:
            self._chain = tree.tokens[1:]
        return tree

    def start(self, context: Context) -> list[Gram]:
        """What followed the last token."""
        return self._pool.after(context.tokens[-1])

    def guesses(self, cursor: list[Gram], state: int) -> Guesses:
        """The next tokens of the n-grams, the newest first."""
        tokens = dict.fromkeys(gram[0] for gram in cursor)
        return [(token, _HIT * 0.5**rank) for rank, token in enumerate(tokens)]

    def follow(self, cursor: list[Gram], token: int) -> list[Gram] | None:
        """The n-grams that go on; where none does, those that begin with the token."""
        longer = [gram[1:] for gram in cursor if gram[0] == token and len(gram) > 1]
        return longer or self._pool.after(token) or None

    def observe(self, context: Context, seen: Round) -> None:
        """Fill the pool: from the Jacobi step along the chain, and from what was written."""
        order = self._drafter.order
        self._learn_step(context, seen)
        written = tuple(context.tokens[-(len(seen.written) + order - 1) :])
        for first in range(max(0, len(written) - 1)):
            self._pool.add(written[first : first + order])
        self._trajectory.observe(context, seen, self._chain)
        self._chain = []

    def _guess(self, tree: DraftTree, context: Context, budget: Budget) -> None:
        """Add the next chain: at each position the likeliest token, given the last chain."""
        node, self._chain = 0, []
        for depth in range(min(self._drafter.window, budget.depth)):
            row = self._trajectory.row(len(context.tokens) + depth)
            if row is None or not (tree.children[node] or tree.may_go_on(node)):
                break
            found = likely(context, tree.states[node], row, 1)
            if not found:
                break
            token = found[0][0]
            child = tree.child(node, token)
            if child == NONE:
                if len(tree) > budget.nodes or len(tree.children[node]) >= max(budget.width, 1):
                    break
                child = tree.add(node, token, _GUESSED)
            if child == NONE:
                break
            node = child
            self._chain.append(token)

    def _learn_step(self, context: Context, seen: Round) -> None:
        """N-grams of the step: a token of the chain, then what the target says at each position."""
        tree, node = seen.tree, 0
        said: list[int] = []  # the likeliest token after the root, and after each of the chain
        tokens = [tree.tokens[0]]
        for token in [*self._chain, NONE]:
            if tree.states[node] < 0:
                break
            found = likely(context, tree.states[node], seen.logits[node], 1)
            if not found:
                break
            said.append(found[0][0])
            node = tree.child(node, token)
            if node == NONE:
                break
            tokens.append(token)
        for first, token in enumerate(tokens[: len(said)]):
            self._pool.add((token, *said[first : first + self._drafter.order - 1]))
