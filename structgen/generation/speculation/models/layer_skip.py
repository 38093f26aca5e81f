"""`LayerSkipDrafter`: drafts with some of the target's own layers (self-speculation).

selector ── which layers ──▶ a model of these alone ──▶ drafts, as a smaller model makes them
   ▲                                                        │
   └───────────────────────── Round ◀───────────────────────┘
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.interfaces import Budget, LearnsNothing, Round
from structgen.generation.speculation.models.drafter import ModelSession
from structgen.generation.speculation.models.layers import Layered
from structgen.generation.speculation.models.token_map import TokenMap
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees import BestFirst, TreeBuilder, notify


class Selection(Protocol):
    """The choice of layers for one text."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers to draft with now, ascending. A change makes the text be read again."""

    def observe(self, context: Context, seen: Round) -> None:
        """Learn from a round."""

    def end(self, context: Context) -> None:
        """The text is finished."""


class Selector(Protocol):
    """Chooses which layers draft; it may be shared by all texts."""

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """The layers whose hidden states it wants to see."""

    def begin(self, model: Layered, context: Context) -> Selection:
        """Start on a text."""


class FixedLayers(LearnsNothing):
    """The same layers for all texts; a Selector, and its own Selection."""

    def __init__(self, layers: Sequence[int]) -> None:
        self.layers = tuple(layers)

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """None."""
        return ()

    def begin(self, model: Layered, context: Context) -> FixedLayers:
        """There is nothing to begin."""
        return self


class LayerSkipDrafter:
    """Some layers of the target as its draft model (Zhang et al. 2024, Draft & Verify).

    A set of layers has a cache of its own, which follows the text as that of a `ModelDrafter` does.
    """

    def __init__(
        self,
        target: HuggingFaceTarget,
        selector: Selector | Sequence[int],
        *,
        builder: TreeBuilder | None = None,
        trim: bool = True,
        name: str = "layer skip",
    ) -> None:
        """`target`: a Generator's. selector: which layers, or what chooses them.

        ModelError when the model's layers are not found.
        """
        self.name = name
        self.builder = BestFirst() if builder is None else builder
        self.model = Layered(target, trim)
        self.selector = FixedLayers(selector) if isinstance(selector, Sequence) else selector
        self.hidden = self.selector.hidden(self.model)

    def begin(self, context: Context) -> LayerSkipSession:
        """See `Drafter`."""
        return LayerSkipSession(self, context)


class LayerSkipSession:
    """One text, read by the layers chosen for it; a `Session`."""

    def __init__(self, drafter: LayerSkipDrafter, context: Context) -> None:
        self._drafter = drafter
        self._selection = drafter.selector.begin(drafter.model, context)
        self._layers: tuple[int, ...] = ()
        self._inner: Any = None

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """See `Session`."""
        if self._selection.layers != self._layers:
            self._layers = self._selection.layers
            target, head = self._drafter.model.part(self._layers)
            tokens = TokenMap.same(context.constraint.vocabulary.size, target.vocab_size)
            self._inner = ModelSession(context, target, head, self._drafter.builder, tokens, None)
        tree: DraftTree = self._inner.propose(context, budget)
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """See `Session`."""
        self._selection.observe(context, seen)
        notify(self._drafter.builder, seen)

    def end(self, context: Context) -> None:
        """See `Session`."""
        self._selection.end(context)
