"""`Reader`: a draft model's logits after a text and after draft nodes, with a cache kept between.

follow(text) ── what is new is read; drafts that came true are kept ──▶ logits after it
grow(nodes)  ── a level of the draft, in one forward pass ───────────▶ logits after each
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy.typing as npt

from structgen.demo import draft_path
from structgen.generation.models.loading import load_target, vocabulary_of
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.models.trim import Head
from structgen.generation.speculation.tree import Ids
from structgen.vocabulary.vocabulary import Vocabulary


def load_draft_model(
    model: Any, tokenizer: Any, device: Any, dtype: Any
) -> tuple[HuggingFaceTarget, Vocabulary | None]:
    """`model` and `tokenizer` as for `Generator`; None is the shipped small one, in float32.

    The vocabulary is None where there is no tokenizer: for a model object alone, and for a
    HuggingFaceTarget. Errors are those of `load_target` and `vocabulary_of`. It takes trees if
    there is a way.
    """
    if isinstance(model, HuggingFaceTarget):
        return model.with_trees() or model, None
    if tokenizer is None and hasattr(model, "get_output_embeddings"):
        target = HuggingFaceTarget(model.to(device=device, dtype=dtype))
        return target.with_trees() or target, None
    if model is None:
        model, dtype = draft_path(), dtype or "float32"
    target, tokenizer = load_target(model, tokenizer, device, dtype)
    return target.with_trees() or target, vocabulary_of(target, tokenizer)


#: A node of the draft, and the logits after it of the tokens that were asked about.
Answer = tuple[int, npt.NDArray[Any]]

_TOP = -1  # what the first node of a draft follows


class Reader(Protocol):
    """One text in the cache of a draft model, and the nodes of a draft after it.

    wanted: for each node the tokens int64[k] that are asked about; their logits are float[k].
    """

    def follow(self, tokens: Sequence[int], wanted: Ids) -> Answer:
        """Read what is new of a text. Its last token is the node that a new draft begins with."""

    def grow(self, nodes: Sequence[tuple[int, int]], wanted: Sequence[Ids]) -> list[Answer | None]:
        """Read nodes (node before, token); None for one that cannot be read."""


def reader_of(target: HuggingFaceTarget, head: Head) -> Reader:
    """A reader for one text."""
    return TreeReader(target, head) if target.takes_trees else ChainReader(target)


class TreeReader:
    """Reads trees. What was read once and came true is not read again."""

    def __init__(self, target: HuggingFaceTarget, head: Head) -> None:
        self._target = target
        self._head = head
        self._cache: Any = None
        self._kept: list[int] = []  # what counts in the cache
        # The draft after it, of which a path may be kept: (node before, token) -> node.
        self._nodes: dict[tuple[int, int], int] = {}

    def follow(self, tokens: Sequence[int], wanted: Ids) -> Answer:
        """See `Reader`. One forward pass, mostly over one token."""
        tokens = list(tokens)
        count = len(self._kept)
        if self._cache is None or len(tokens) <= count or tokens[:count] != self._kept:
            self._cache, logits = self._target.prefill([tokens])
            self._kept, self._nodes = tokens, {}
            return _TOP, logits.numpy()[-1][wanted]
        self._keep(tokens)
        rest = tokens[len(self._kept) :]
        self._nodes = {(i - 1, token): i for i, token in enumerate(rest)}
        return len(rest) - 1, self._read(rest, list(range(-1, len(rest) - 1)), [wanted])[0]

    def grow(self, nodes: Sequence[tuple[int, int]], wanted: Sequence[Ids]) -> list[Answer | None]:
        """See `Reader`. One forward pass."""
        first = len(self._nodes)
        self._nodes |= {node: i for i, node in enumerate(nodes, first)}
        rows = self._read([token for _, token in nodes], [before for before, _ in nodes], wanted)
        return list(enumerate(rows, first))

    def _keep(self, tokens: list[int]) -> None:
        """Keep of the draft what came true, but for the last token of the text."""
        line: list[int] = []
        for token in tokens[len(self._kept) : -1]:
            node = self._nodes.get((line[-1] if line else _TOP, token))
            if node is None:
                break
            line.append(node)
        if self._nodes:
            self._target.commit(self._cache, [line])
        self._kept = tokens[: len(self._kept) + len(line)]

    def _read(
        self, tokens: list[int], parents: list[int], wanted: Sequence[Ids]
    ) -> list[npt.NDArray[Any]]:
        """The logits after the last tokens, one for each entry of `wanted`."""
        trimmed = self._head.suffices(wanted)
        logits = self._target.forward(
            self._cache, [tokens], [parents], (-1,) if trimmed else (), scored=not trimmed
        )
        first = len(tokens) - len(wanted)
        if logits.hidden is not None:
            return self._head.rows(logits.hidden[0][first:, 0], wanted)
        return [row[ids] for row, ids in zip(logits.numpy()[first:], wanted, strict=True)]


class ChainReader:
    """Reads chains; what did not come true is taken back by a copy of the cache."""

    def __init__(self, target: HuggingFaceTarget) -> None:
        self._target = target
        self._cache: Any = None
        self._kept: list[int] = []
        self._draft: list[int] = []
        self._before: Any = None  # the cache as it was before the draft

    def follow(self, tokens: Sequence[int], wanted: Ids) -> Answer:
        """See `Reader`. Of a draft that came true in part, that part is read again."""
        tokens = list(tokens)
        count = len(self._kept)
        if self._cache is None or len(tokens) <= count or tokens[:count] != self._kept:
            self._cache, logits = self._target.prefill([tokens])
        else:
            whole = self._kept + self._draft
            if len(tokens) > len(whole) and tokens[: len(whole)] == whole:
                self._kept = whole
            elif self._draft:
                self._cache = self._before
            rest = tokens[len(self._kept) :]
            parts = [rest] if self._target.takes_drafts else [[token] for token in rest]
            for part in parts:
                logits = self._target.forward(self._cache, [part])
        self._kept, self._draft, self._before = tokens, [], None
        return _TOP, logits.numpy()[-1][wanted]

    def grow(self, nodes: Sequence[tuple[int, int]], wanted: Sequence[Ids]) -> list[Answer | None]:
        """See `Reader`. Only a node after the last one is read, and one at a time."""
        answers: list[Answer | None] = [None] * len(nodes)
        end = len(self._draft) - 1
        for i, (before, token) in enumerate(nodes):
            if before == end:
                if self._before is None:
                    self._before = copy.deepcopy(self._cache)
                self._draft.append(token)
                row = self._target.forward(self._cache, [[token]]).numpy()[-1]
                answers[i] = end + 1, row[wanted[i]]
                break
        return answers
