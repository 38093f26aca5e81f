"""`HeadDrafter`: a drafter that grows trees from the logits of trained heads.

A builder grows the tree and asks for distributions; the heads give logits, which are masked by the
constraint while the tree grows. With `BestFirst` the children are the most probable by the product
along their path, as Medusa's candidates (Cai et al. 2024, section 2.1.2) and EAGLE-2's tree (Li et
al. 2024, section 4); other builders draw children from the same distributions, for rules that weigh
ratios. The protocols of trained heads are `Heads`, shared by all texts, and `Reader`, one text's
state:

    target ── hidden states of the path kept ──▶ Reader.read ──▶ logits after the root
                                                 Reader.extend ▶ logits after nodes of the draft

Parallel heads (Medusa) give all nodes of a depth the same logits. Sequential ones (Hydra, EAGLE)
and early exits (Kangaroo) compute what each node adds; whatever they keep of a text is in their
Reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees import BestFirst, Distribution, TreeBuilder, notify


class Reader(Protocol):
    """Heads at work on one text. Not for several threads.

    The nodes of a draft are numbered: 0 is its root, the last token that is certain; those of each
    call of `extend` get the next numbers.
    """

    def read(self, hidden: Any, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """float[V]: logits of the token after the root. What was drafted before is forgotten.

        hidden: a tensor [m, layers, d], the target's states of the m tokens that it has read for
        good since the last call (at first: of the whole prompt). tokens: these, and then the root,
        which the target has not read yet.
        """

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[Any]:
        """float[n, V]: logits of what follows each of n new nodes, a token below each parent.

        The parents are of earlier calls, or the root. No node is deeper than `Heads.depth` - 1.
        """


class Heads(Protocol):
    """Trained heads, shared by all texts and threads."""

    @property
    def name(self) -> str:
        """What they are called in tables."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Layers of the target whose states they read (0: the embeddings, -1: the last)."""

    @property
    def depth(self) -> int | None:
        """Most tokens in a row that they can draft; None when there is no limit."""

    def begin(self) -> Reader:
        """Start on a text."""


@dataclass(frozen=True)
class HeadDrafter:
    """Drafts by trained heads, on the target's hidden states.

    heads: Medusa's, an EAGLE, or any object of that protocol. builder: what grows the trees.
    """

    heads: Heads
    builder: TreeBuilder = field(default_factory=BestFirst)

    @property
    def name(self) -> str:
        """The name of the heads."""
        return self.heads.name

    @property
    def hidden(self) -> tuple[int, ...]:
        """Layers of the target that the heads read."""
        return self.heads.hidden

    def begin(self, context: Context) -> HeadSession:
        """Start on a text."""
        return HeadSession(self.heads, self.builder)


class HeadSession:
    """Heads at work on one text; a `Session`."""

    def __init__(self, heads: Heads, builder: TreeBuilder) -> None:
        self._reader: Reader = heads.begin()
        self._most = heads.depth
        self._name = heads.name
        self._builder = builder
        self._unread: list[Any] = []  # hidden states, a tensor for each round
        self._count = 0  # tokens whose hidden states have come
        self._numbers: dict[int, int] = {}  # nodes of the tree in the reader

    def observe(self, context: Context, seen: Round) -> None:
        """Keep the hidden states of the path; those of branches that were refused are dropped."""
        if seen.hidden is None:
            raise GenerationError(
                f"the target gives no hidden states, and {self._name} reads them",
                hint="speculate with a drafter that needs none, such as one that copies",
            )
        kept = seen.hidden if not self._count else seen.hidden[[0, *seen.path]]
        self._unread.append(kept)
        self._count += len(kept)
        notify(self._builder, seen)

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """See `Session`."""
        if self._most is not None:
            budget = replace(budget, depth=min(self._most, budget.depth))
        self._numbers = {}
        return self._builder.grow(context, budget, self.distributions)

    def end(self, context: Context) -> None:
        """Drop the hidden states."""
        self._unread.clear()

    def distributions(self, tree: DraftTree, nodes: Sequence[int]) -> list[Distribution]:
        """The masked distributions after nodes of a tree: see `Distributions`."""
        rows: dict[int, npt.NDArray[Any]] = {}
        if 0 in nodes:
            rows[0] = self._read(tree.context)
            self._numbers[0] = 0
        asked = [node for node in nodes if node]
        if asked:
            parents = [self._numbers[tree.parents[node]] for node in asked]
            for node in asked:
                self._numbers[node] = len(self._numbers)
            found = self._reader.extend(parents, [tree.tokens[node] for node in asked])
            rows |= zip(asked, found, strict=True)
        return [masked_law(tree.context, tree.states[node], rows[node]) for node in nodes]

    def _read(self, context: Context) -> npt.NDArray[Any]:
        """The logits after the root, once everything written since the last draft is read."""
        hidden = self._unread[0]
        if len(self._unread) > 1:
            import torch

            hidden = torch.cat(self._unread)
        self._unread.clear()
        begin = self._count - len(hidden)
        return self._reader.read(hidden, context.tokens[begin : self._count + 1])
