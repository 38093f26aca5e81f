"""In: guesses of what comes next, one by one. Out: DraftTree, which holds only what is allowed.

Node 0 is the last token that is certain. Every node carries its automaton state, so siblings cannot
disturb each other, and refusing a branch costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import Context, Draws

NONE = -1  #: what `add` returns when there is no such node


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

        Nothing may be left out of `draws` afterwards: that would change the law of what is
        written. Empty, and nothing was added, where `may_go_on` is False.
        """
        if not draws.tokens or not self.may_go_on(parent):
            return []
        if self.context.chain and len(set(draws.tokens)) > 1:
            raise GenerationError(
                f"{len(set(draws.tokens))} tokens were drafted in one place",
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
        place = {0: 0}
        for node in sorted(wanted - {0}):
            parent = self.parents[node]
            place[node] = found._append(place[parent], self.tokens[node], self.states[node], 1.0)
            found.estimates[-1] = self.estimates[node]
        for node, draws in self.draws.items():
            if node in wanted:
                drawn = [self.children[node][token] for token in draws.tokens]
                if not wanted.issuperset(drawn):
                    raise GenerationError(
                        "a draft token that was drawn at random was to be left out",
                        expected="all that were drawn in one place",
                        hint="this is a defect of the drafter: draw fewer to begin with",
                    )
                found.draws[place[node]] = draws
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
