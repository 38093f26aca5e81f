"""The search tree: prefixes as nodes, expanded within a budget of model calls.

Every search is the same loop over the same nodes (TreeCoder, arXiv 2511.22277): `select` chooses
the nodes to look at, `expand` asks the model for the next tokens' log-probabilities, all in one
batch, `update` takes in the result, `prune` closes nodes that lead nowhere.

A node ranks its children by probability and creates one only when it is wanted, so a large
vocabulary costs only what is looked at, and a critic judges a token only where the search goes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.generation.checks import check_count
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Samples, check_found

Score = Callable[[str], float]  # of a whole text; the larger the better

_RANKED = 64  # children that are ranked at first; eight times as many whenever they are used up


class Node:
    """A prefix in the tree, or a whole text.

    Attributes: `place`, `parent` (None for the root), `children` made so far; `logp`, of its tokens
    under the model; `log_factor`, of the potentials; `prior`, the probability of its last token
    among those allowed; `ended`, whether it is a whole text; `visits`, how often a search came by;
    `count`, `total` and `best`: number, sum and maximum of the values of texts found below;
    `closed`, whether nothing is left to be found below.
    """

    __slots__ = (
        "best",
        "children",
        "closed",
        "count",
        "ended",
        "log_factor",
        "logp",
        "parent",
        "place",
        "prior",
        "ranking",
        "total",
        "visits",
    )

    def __init__(self, parent: Node | None, place: Place, logp: float, prior: float) -> None:
        self.parent = parent
        self.place = place
        self.logp = logp
        self.prior = prior
        self.log_factor = 0.0
        self.ended = False
        self.closed = False
        self.children: list[Node] = []
        self.ranking: Ranking | None = None
        self.visits = 0
        self.count = 0
        self.total = 0.0
        self.best = -math.inf

    @property
    def score(self) -> float:
        """Log of the probability times the potentials' factor."""
        return self.logp + self.log_factor

    @property
    def wants_expansion(self) -> bool:
        """Whether the model must be asked what may follow, for the first time or for more."""
        return self.ranking is None or self.ranking.used_up

    def add_value(self, value: float) -> None:
        """Back up the value of a text that was found below to this node and its ancestors."""
        at: Node | None = self
        while at is not None:
            at.count += 1
            at.total += value
            at.best = max(at.best, value)
            at = at.parent


class Ranking:
    """The tokens that may follow a node, the most probable first; some at first, more on demand."""

    def __init__(self, ids: npt.NDArray[np.int32], row: Doubles, seen: int) -> None:
        """`seen` of them have been taken already; `row` float64[V] are the model's log-probs."""
        logs = row[ids]
        possible = int((logs > -np.inf).sum())
        count = min(max(_RANKED, 8 * seen), possible)
        order = np.argsort(-logs, kind="stable")[:count]
        self._mass = log_sum_exp(logs)
        self._tokens = ids[order]
        self._logs = logs[order]
        self._more = possible > count
        self.taken = seen

    @property
    def used_up(self) -> bool:
        """Whether there are further tokens, but none of those that are ranked is left."""
        return self._more and self.taken == len(self._tokens)

    @property
    def exhausted(self) -> bool:
        """Whether all tokens have been taken."""
        return not self._more and self.taken == len(self._tokens)

    @property
    def bound(self) -> float:
        """Log-probability that no token which is left exceeds."""
        return float(self._logs[min(self.taken, len(self._logs) - 1)])

    @property
    def next_prior(self) -> float:
        """The same as a probability among those that are allowed."""
        return math.exp(min(self.bound - self._mass, 0.0))

    def take(self) -> tuple[int, float]:
        """The most probable token that is left, and its log-probability."""
        token, log = int(self._tokens[self.taken]), float(self._logs[self.taken])
        self.taken += 1
        return token, log


class Tree:
    """The nodes of one search. Attributes: `posterior`, `root`, `budget`, `width`; `rows`.

    `rows` are the model's log-probs float64[n, V] at the nodes that were expanded last.
    """

    def __init__(self, posterior: Posterior, budget: int, width: int | None = None) -> None:
        """budget: most prefixes that the model may be asked for. width: most children of a node."""
        self.posterior = posterior
        self.budget = budget
        self.width = width
        self.rows: Doubles = np.empty((0, posterior.model.vocab_size))
        self._first_row = posterior.model_rows
        self.root = Node(None, posterior.start, 0.0, 1.0)
        self.root.log_factor = float(posterior.log_factors([posterior.start])[0])
        self.root.ended = posterior.ended(posterior.start)
        self.root.closed = posterior.start.state == DEAD

    @property
    def left(self) -> int:
        """How many prefixes of the budget are left."""
        return self.budget - (self.posterior.model_rows - self._first_row)

    def expand(self, nodes: Sequence[Node]) -> None:
        """Rank what may follow these nodes; the model is asked once, for all of them."""
        self.rows = self.posterior.log_probs([node.place for node in nodes])
        for node, row in zip(nodes, self.rows, strict=True):
            seen = 0 if node.ranking is None else node.ranking.taken
            node.ranking = Ranking(self.posterior.allowed(node.place), row, seen)

    def next_child(self, node: Node) -> Node | None:
        """The most probable child that is not there yet and is not refused; None if none is ranked.

        It is judged now, by the constraint and by the potentials.
        """
        ranking = node.ranking
        while ranking is not None and not (ranking.used_up or ranking.exhausted):
            if self.width is not None and len(node.children) >= self.width:
                return None
            prior = ranking.next_prior
            token, log = ranking.take()
            place = self.posterior.after(node.place, token)
            if place.state == DEAD:
                continue
            child = Node(node, place, node.logp + log, prior)
            child.log_factor = float(self.posterior.log_factors([place])[0])
            if child.log_factor > -math.inf:
                child.ended = self.posterior.ended(place)
                node.children.append(child)
                return child
        return None

    def has_more(self, node: Node) -> bool:
        """Whether the node may have children that are not there yet."""
        if self.width is not None and len(node.children) >= self.width:
            return False
        return node.ranking is None or not node.ranking.exhausted

    def prune(self, nodes: Sequence[Node]) -> None:
        """Close the nodes that have no children and can get none."""
        for node in nodes:
            if not (node.children or self.has_more(node)):
                self.close(node)

    def close(self, node: Node) -> None:
        """Mark a node as exhausted, and its ancestors where it was the last open child."""
        at: Node | None = node
        while at is not None:
            at.closed = True
            at = at.parent
            if at is not None and (self.has_more(at) or not all(c.closed for c in at.children)):
                return


class Strategy(ABC):
    """A search strategy: which nodes are expanded next, and how their results are used."""

    @abstractmethod
    def select(self, tree: Tree, most: int) -> list[Node]:
        """The nodes to expand next, `most` of them at most, each once; none ends the search."""

    @abstractmethod
    def update(self, tree: Tree, nodes: Sequence[Node]) -> None:
        """Take in nodes that have been expanded just now."""


def search(tree: Tree, strategy: Strategy, batch: int) -> None:
    """Run a strategy until it ends or the budget is spent; `batch` nodes are expanded together."""
    while nodes := strategy.select(tree, min(batch, tree.left)):
        tree.expand(nodes)
        strategy.update(tree, nodes)
        tree.prune(nodes)


def check_options(n: int, *counts: int | None) -> None:
    """GenerationError unless `n` and the counts are integers of 1 or more; a count may be None."""
    check_count("n", n)
    for count in counts:
        if count is not None:
            check_count("an option of the search", count)


def text_at(posterior: Posterior, place: Place) -> str:
    """The text that was written up to a context."""
    vocabulary = posterior.constraint.vocabulary
    return vocabulary.decode_bytes(posterior.text_tokens(place)).decode(errors="replace")


def chosen_samples(
    posterior: Posterior, found: Iterable[tuple[Place, float]], n: int, meter: UsageMeter
) -> Samples:
    """The first `n` of the texts found, as samples without weights."""
    best = list(found)[:n]
    check_found(len(best), n, len(best))
    samples = (posterior.sample(place, logp, math.nan, math.nan) for place, logp in best)
    return Samples(tuple(samples), np.empty(0), **meter.read())
