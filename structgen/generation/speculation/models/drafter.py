"""`ModelDrafter`: drafts what a smaller language model would write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.interfaces import Budget, LearnsNothing, Round
from structgen.generation.speculation.masked import allowed_ids, distribution_over
from structgen.generation.speculation.models.reader import Answer, load_draft_model, reader_of
from structgen.generation.speculation.models.token_map import TokenMap
from structgen.generation.speculation.models.trim import Head
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees import BestFirst, Distribution, TreeBuilder, notify
from structgen.vocabulary.vocabulary import Vocabulary

#: What a drafter reads instead of the prompt (RAPID: Chen et al. 2025, a retrieved part of it).
Shorten = Callable[[tuple[int, ...]], Sequence[int]]

_NOTHING: Distribution = (np.zeros(0, np.int64), np.zeros(0))


class ModelDrafter:
    """A causal language model as a drafter (Leviathan et al. 2023), for all texts.

    It asks the model for distributions masked by the constraint, and lets a builder grow trees of
    them: the most probable continuations (`BestFirst`), or drawn ones for rules that weigh ratios.
    """

    hidden: tuple[int, ...] = ()

    def __init__(
        self,
        model: Any = None,
        tokenizer: Any = None,
        *,
        builder: TreeBuilder | None = None,
        dtype: Any = None,
        device: Any = None,
        trim: bool = True,
        shorten: Shorten | None = None,
        name: str = "model",
    ) -> None:
        """`model` and `tokenizer` as for `Generator`; by default the shipped small demo model.

        A model object without a tokenizer, or a HuggingFaceTarget, has the target's tokens. Else
        only tokens that both have are drafted. builder: BestFirst by default. trim: whether to
        compute only those rows of the output layer that the mask allows, where these are few.
        shorten: makes of the target's prompt the one that the drafter reads.
        """
        self.name = name
        self.builder = BestFirst() if builder is None else builder
        self.target, self._vocabulary = load_draft_model(model, tokenizer, device, dtype)
        self._head = Head(self.target, trim)
        self._shorten = shorten
        self._maps: dict[str, TokenMap] = {}
        self._lock = threading.Lock()

    def begin(self, context: Context) -> ModelSession:
        """See `Drafter`."""
        return ModelSession(
            context,
            self.target,
            self._head,
            self.builder,
            self._map(context.constraint.vocabulary),
            self._shorten,
        )

    def _map(self, vocabulary: Vocabulary) -> TokenMap:
        with self._lock:
            if vocabulary.hash not in self._maps:
                self._maps[vocabulary.hash] = self._new_map(vocabulary)
            return self._maps[vocabulary.hash]

    def _new_map(self, vocabulary: Vocabulary) -> TokenMap:
        own = self._vocabulary
        if own is None or own.tokens[: vocabulary.size] == vocabulary.tokens[: own.size]:
            return TokenMap.same(vocabulary.size, self.target.vocab_size)
        return TokenMap.shared(vocabulary, own)


class ModelSession(LearnsNothing):
    """A draft model at work on one text; a `Session`."""

    def __init__(
        self,
        context: Context,
        target: HuggingFaceTarget,
        head: Head,
        builder: TreeBuilder,
        tokens: TokenMap,
        shorten: Shorten | None,
    ) -> None:
        self._reader = reader_of(target, head)
        self._limit = target.context
        self._builder = builder
        self._map = tokens
        prompt = context.prompt if shorten is None else shorten(context.prompt)
        self._text = tokens.read(prompt)
        self._seen = len(context.prompt)  # tokens of the context that `_text` covers
        self._at: dict[int, int] = {}  # nodes of the tree in the reader

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """See `Session`. A text longer than the model's context is not drafted any more."""
        self._text += self._map.read(context.tokens[self._seen :])
        self._seen = len(context.tokens)
        return self._builder.grow(context, budget, self.distributions)

    def observe(self, context: Context, seen: Round) -> None:
        """The next `propose` reads what was written; the builder may learn of it."""
        notify(self._builder, seen)

    def distributions(self, tree: DraftTree, nodes: Sequence[int]) -> list[Distribution]:
        """The masked distributions after nodes of a tree: see `Distributions`."""
        wanted = {n: self._wanted(tree, n) for n in nodes}
        asked = [n for n, (ids, _) in wanted.items() if len(ids) and self._readable(tree, n)]
        if not asked:
            return [_NOTHING] * len(nodes)
        own = [wanted[n][1] for n in asked]
        if asked[0] == 0:
            answers: list[Answer | None] = [self._reader.follow(self._text, own[0])]
            self._at = {}
        else:
            steps = [(self._at[tree.parents[n]], int(self._map.ids[tree.tokens[n]])) for n in asked]
            answers = self._reader.grow(steps, own)
        found = dict.fromkeys(nodes, _NOTHING)
        for n, answer in zip(asked, answers, strict=True):
            if answer is not None:
                self._at[n], logits = answer
                found[n] = distribution_over(tree.context, wanted[n][0], logits)
        return list(found.values())

    def _wanted(self, tree: DraftTree, node: int) -> tuple[Any, Any]:
        """What is allowed at a node, as tokens of the target and of the draft model."""
        ids = allowed_ids(tree.context, tree.states[node])
        own = self._map.ids[ids]
        known = own >= 0
        return ids[known], own[known]

    def _readable(self, tree: DraftTree, node: int) -> bool:
        """Whether there is room for a node, and what it follows was read."""
        if self._limit is not None and len(self._text) + tree.depths[node] > self._limit - 1:
            return False
        return bool(self._text) and (node == 0 or tree.parents[node] in self._at)
