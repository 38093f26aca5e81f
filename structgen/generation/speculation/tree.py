"""The draft tree: tokens that may come next, of which each is allowed by the constraint.

Node 0 is the last token that is certain. Every node has its own automaton state, so siblings do not
disturb each other, and refusing a branch costs nothing. `Context` is the text that a tree grows
from, `Draws` how children that were drawn at random came about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import GenerationError
from structgen.generation.distribution import Sampler
from structgen.generation.interfaces import Constraint

Doubles = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

NONE = -1  #: what `add` returns when there is no such node


class Scheme(Enum):
    """How the drawn children of a node were obtained from their distribution."""

    IID = "independent draws, with replacement"
    WOR = "draws without replacement, in the order drawn"
    ADAPTIVE = "draws without replacement, until those drawn were found to be enough"


@dataclass(frozen=True, slots=True)
class Draws:
    """Children of a node that were drawn at random.

    ids: int64[k], ascending, tokens that the constraint allows at the node. law: float64[k], their
    probabilities, exactly as they were drawn from (masked, at the drafter's temperature). tokens:
    what was drawn, in that order; IID draws may repeat. How many there are was settled before the
    first was drawn, unless the scheme is ADAPTIVE: then whether to draw once more may depend on
    what was drawn so far and on other draws, but never on what comes.
    """

    scheme: Scheme
    ids: Ids
    law: Doubles
    tokens: tuple[int, ...]


@dataclass(slots=True)
class Context:
    """What a drafter and a policy see of one text.

    tokens: prompt and text so far; the last one is the root of the draft. state: the constraint's
    after it. remaining: tokens that may still be written. rng: the drafter's own random numbers
    (never those that the verifier draws from). chain: whether the target reads only chains.
    ends(state): whether nothing needs to be drafted after a state, because the text ends there.
    keep_going: the policy's, if it has one (see StoppingPolicy); drafters need not ask it, because
    the tree does. notes: what policies remember of this text, each under itself.
    """

    prompt: tuple[int, ...]
    tokens: list[int]
    state: int
    remaining: int
    constraint: Constraint
    sampler: Sampler
    rng: np.random.Generator
    chain: bool
    ends: Callable[[int], bool]
    keep_going: Callable[[DraftTree, int], bool] | None = None
    notes: dict[Any, Any] = field(default_factory=dict)

    @property
    def written(self) -> list[int]:
        """The tokens of the text so far."""
        return self.tokens[len(self.prompt) :]


class DraftTree:
    """Tokens that may come next, as a tree.

    Lists with an entry for each node: `tokens`; `parents` (-1 for the root; a parent comes before
    its children); `depths`; `states`; `estimates`, the probability of reaching the node, in (0, 1];
    `children`, a dict from token to node, in the order added. `draws`: for nodes with children that
    were drawn at random, how. `context`: what the tree grows in.
    """

    def __init__(self, context: Context) -> None:
        """A tree of a root alone, which is the last token of the context."""
        self.tokens = [context.tokens[-1] if context.tokens else 0]
        self.parents = [NONE]
        self.depths = [0]
        self.states = [context.state]
        self.estimates = [1.0]
        self.children: list[dict[int, int]] = [{}]
        self.draws: dict[int, Draws] = {}
        self.context = context

    def __len__(self) -> int:
        return len(self.tokens)

    def may_go_on(self, node: int) -> bool:
        """Whether children of this node could be of use: the text goes on, and there is room."""
        context, state = self.context, self.states[node]
        if context.chain and self.children[node]:
            return False
        # One token is written without being drafted.
        if self.depths[node] + 1 >= context.remaining or state < 0 or context.ends(state):
            return False
        return context.keep_going is None or context.keep_going(self, node)

    def add(self, parent: int, token: int, estimate: float = 1.0) -> int:
        """The child of `parent` with this token, made unless it is there; NONE if it is of no use.

        estimate: the probability that the token comes there. What the constraint refuses, what
        would end the text, and what cannot be read by the target is not added.
        """
        node = self.children[parent].get(token)
        if node is not None:
            return node
        if not self.may_go_on(parent):
            return NONE
        state = self.context.constraint.advance(self.states[parent], token)
        if state in {DEAD, FINAL}:
            return NONE
        return self._append(parent, token, state, estimate)

    def add_draws(self, parent: int, draws: Draws, estimates: Sequence[float]) -> list[int]:
        """Children that were drawn at random, all of those that were; one node for equal tokens.

        Nothing may be left out of `draws` afterwards: that would change the distribution of what is
        written. Empty, and nothing was added, where `may_go_on` is False.
        """
        if not draws.tokens or not self.may_go_on(parent):
            return []
        if self.context.chain and len(set(draws.tokens)) > 1:
            raise GenerationError(
                f"{len(set(draws.tokens))} tokens were drafted at one node",
                expected="one, for a model that reads no trees",
                hint="this is a defect of the drafter: see Context.chain",
            )
        self.draws[parent] = draws
        nodes = []
        for token, estimate in zip(draws.tokens, estimates, strict=True):
            node = self.children[parent].get(token)
            if node is None:
                state = self.context.constraint.advance(self.states[parent], token)
                node = self._append(parent, token, state, estimate)
            nodes.append(node)
        return nodes

    def add_path(self, parent: int, tokens: Sequence[int], estimate: float = 1.0) -> int:
        """A chain of tokens below `parent`, as far as it is allowed; returns its last node."""
        for token in tokens:
            node = self.add(parent, token, estimate)
            if node == NONE:
                break
            parent = node
        return parent

    def part(self, nodes: Iterable[int]) -> DraftTree:
        """A tree of the root and these nodes, with their parents among them, in their order here.

        GenerationError when it would leave out a child that was drawn at random.
        """
        wanted = {0, *nodes}
        found = DraftTree(self.context)
        number = {0: 0}
        for node in sorted(wanted - {0}):
            parent = self.parents[node]
            number[node] = found._append(number[parent], self.tokens[node], self.states[node], 1.0)
            found.estimates[-1] = self.estimates[node]
        for node, draws in self.draws.items():
            if node in wanted:
                drawn = [self.children[node][token] for token in draws.tokens]
                if not wanted.issuperset(drawn):
                    raise GenerationError(
                        "a draft token that was drawn at random was to be left out",
                        expected="all that were drawn at one node",
                        hint="this is a defect of the drafter: draw fewer to begin with",
                    )
                found.draws[number[node]] = draws
        return found

    def child(self, node: int, token: int) -> int:
        """The child with this token, or NONE."""
        return self.children[node].get(token, NONE)

    def path(self, node: int) -> list[int]:
        """The tokens from the root's child to this node."""
        found = []
        while node > 0:
            found.append(self.tokens[node])
            node = self.parents[node]
        return found[::-1]

    def leaves(self) -> list[int]:
        """The nodes without children."""
        return [node for node in range(len(self)) if not self.children[node]]

    @property
    def expected(self) -> float:
        """Expected number of draft tokens that are kept, if the estimates are right."""
        return sum(self.estimates) - 1.0

    def _append(self, parent: int, token: int, state: int, estimate: float) -> int:
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.states.append(state)
        self.estimates.append(self.estimates[parent] * estimate)
        self.children.append({})
        self.children[parent][token] = node
        return node
