"""Reads tokens of several rows with a transformers model, and keeps its cache between calls.

Rows of different lengths are padded on the left, and each row keeps a bit per cache slot that says
whether the slot counts. So dropping a row, refusing draft tokens and padding are one mechanism:
slots that no row counts are cut out in time. Positions are numbers of counted slots, never slot
indices.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from structgen.errors import ModelError
from structgen.generation.gpu import RowTable
from structgen.generation.models.caches import cache_argument, keeps_only_states, keeps_states
from structgen.generation.models.torch_logits import DeviceLogits, TorchLogits

_UNUSED = 16  # slots that count for no row and may stay, or an eighth of all
_FULL, _SLIDING = "full_attention", "sliding_attention"  # as transformers names kinds of layers
_TRIAL_ERRORS = (TypeError, ValueError, RuntimeError, AttributeError, KeyError, IndexError)


class OpenTree(NamedTuple):
    """A tree that was read and not committed yet.

    slots: for each row, the slots of its nodes, from the tree's first slot on. sees:
    bool[rows, slots, slots], whether the second slot is the first or an ancestor of it.
    """

    slots: list[list[int]]
    sees: npt.NDArray[np.bool_]


@dataclass(slots=True)
class RowCache:
    """What was read of each row: keys and values, and which of their slots count."""

    past: Cache
    alive: torch.Tensor  # bool[rows, slots]
    fresh: int  # slots that may be taken back
    tree: OpenTree | None = None  # how they hang together, if they are a tree

    def __deepcopy__(self, memo: dict[int, Any]) -> RowCache:
        """A copy for another future; tensors that are replaced, never written to, are shared."""
        past = copy.copy(self.past)
        past.layers = [_copied(layer) for layer in self.past.layers]
        return RowCache(past, self.alive, self.fresh, self.tree)


class HuggingFaceTarget:
    """A causal language model of transformers as a Target."""

    def __init__(self, model: Any) -> None:
        """Take a model as it is: device, dtype and attention implementation stay."""
        self.model = model.eval()
        self.vocab_size = _logits_size(model)
        self.context = _context(model)
        self._accepts = frozenset(inspect.signature(model.forward).parameters)
        layers = DynamicCache(config=model.config).layers
        # Models without positions (ALiBi, recurrent ones) take them from where a token stands.
        self.takes_trees = "position_ids" in self._accepts and all(
            type(layer) is DynamicLayer for layer in layers
        )
        self._several = None if any(map(keeps_states, layers)) else True  # None: not tried yet
        self._only_states = bool(layers) and all(map(keeps_only_states, layers))
        self._cache_name = cache_argument(self.model, self._new_cache)
        self._table: RowTable | None = None  # mask rows on the GPU
        self._wide: HuggingFaceTarget | Literal["untried"] | None = "untried"

    @property
    def device(self) -> torch.device:
        """Where the model expects its input."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    @property
    def takes_drafts(self) -> bool:
        """Whether several tokens can be read after others; a recurrent model is tried, once.

        Some of them forget what came before. So the error made by reading tokens together must be
        small beside what they forget.
        """
        if self._several is None:
            self._several = True  # so that `forward` lets the trial pass
            self._several = self._reads_several()
        return self._several

    def with_trees(self) -> HuggingFaceTarget | None:
        """The same model as a target that takes trees; None if there is no way.

        A model with sliding windows has one: a cache that forgets nothing.
        """
        if self._wide == "untried":
            self._wide = self if self.takes_trees else with_sliding_masks(self)
        return self._wide

    @torch.inference_mode()
    def _reads_several(self) -> bool:
        tokens = [(7 * i * i + 3 * i + 5) % self.vocab_size for i in range(48)]
        old, new = tokens[:-8], tokens[-8:]
        cache, _ = self.prefill([old])
        together = self.forward(cache, [new]).numpy()[-1]
        cache, _ = self.prefill([old])
        for token in new:
            expected = self.forward(cache, [[token]]).numpy()[-1]
        forgetful = self.prefill([new])[1].numpy()[-1]
        return bool(abs(together - expected).max() < 0.1 * abs(forgetful - expected).max())

    @torch.inference_mode()
    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[RowCache, TorchLogits]:
        """Read the prompts, equal ones once. ModelError when one is empty or too long."""
        self._check(prompts)
        unique = {prompt: i for i, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
        width = max(map(len, unique))
        ids = torch.zeros((len(unique), width), dtype=torch.int64)
        alive = torch.zeros((len(unique), width), dtype=torch.bool)
        for prompt, i in unique.items():
            ids[i, width - len(prompt) :] = torch.tensor(prompt)
            alive[i, width - len(prompt) :] = True
        ids, alive = ids.to(self.device), alive.to(self.device)
        cache = RowCache(self._new_cache(), alive, width)
        positions = (alive.cumsum(1) - 1).clamp(min=0)
        logits, layers = self._run(cache, ids, alive, positions, hidden, scored=1)
        states, logits = _by_row(layers, alive), logits[:, -1]
        if len(unique) < len(prompts):
            index = [unique[tuple(prompt)] for prompt in prompts]
            self.select(cache, index)
            logits = logits[torch.tensor(index, device=self.device)]
            states = None if states is None else [states[i] for i in index]
        return cache, self._logits(logits, states)

    @torch.inference_mode()
    def forward(
        self,
        cache: RowCache,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
        *,
        scored: bool = True,
    ) -> TorchLogits:
        """Read tokens after each row; rows may get different numbers of them, if it takes trees.

        A tree that was read and not committed yet grows: `parents` then counts all of its nodes.
        scored: False leaves out the output layer, and the logits, where the model can.
        """
        width = max(map(len, tokens))
        if parents is not None and not self.takes_trees:
            raise self._refuses("trees", "attention over all tokens, with positions to be given")
        if width > 1 and not self.takes_drafts:
            raise self._refuses("drafts", "a model that reads several tokens after others")
        if not self.takes_trees and min(map(len, tokens)) < width:
            raise self._refuses("rows of several lengths", "as many tokens for each row")
        ids = torch.zeros((len(tokens), width), dtype=torch.int64)
        fresh = torch.zeros((len(tokens), width), dtype=torch.bool)
        for r, row in enumerate(tokens):
            ids[r, : len(row)] = torch.tensor(row, dtype=torch.int64)
            fresh[r, : len(row)] = True
        ids, fresh = ids.to(self.device), fresh.to(self.device)
        cache.tree = None if parents is None else _grown(cache.tree, parents, width)
        cache.fresh = width if cache.tree is None else cache.tree.sees.shape[1]
        cache.alive = torch.cat([cache.alive, fresh], 1)
        before = cache.alive[:, : -cache.fresh]
        if cache.tree is None:
            mask, depth = cache.alive, torch.arange(width, device=self.device)
        else:
            sees = torch.from_numpy(cache.tree.sees).to(self.device)
            mask, depth = self._tree_mask(before, sees, width), sees[:, -width:].sum(-1) - 1
        positions = before.sum(1, keepdim=True) + depth
        logits, layers = self._run(
            cache, ids, mask, positions, hidden, scored=None if scored else 0
        )
        even = min(map(len, tokens)) == width
        rows = logits.flatten(0, 1) if even or not logits.shape[1] else logits[fresh]
        return self._logits(rows, _by_row(layers, fresh))

    @torch.inference_mode()
    def commit(self, cache: RowCache, kept: Sequence[Sequence[int]]) -> None:
        """Forget the tokens of the last forward that are not in `kept`."""
        alive = torch.zeros_like(cache.alive[:, -cache.fresh :], device="cpu")
        for r, row in enumerate(kept):
            alive[r, list(row) if cache.tree is None else [cache.tree.slots[r][i] for i in row]] = (
                True
            )
        cache.tree = None
        alive = alive.to(self.device)
        before = cache.alive[:, : -cache.fresh]
        if not self.takes_trees and not torch.equal(alive, cache.alive[:, -cache.fresh :]):
            raise ModelError(
                f"the cache of {type(self.model).__name__} cannot take back tokens",
                hint="decode without drafts",
            )
        cache.alive = torch.cat([before, alive], 1)
        self._compact(cache)

    @torch.inference_mode()
    def select(self, cache: RowCache, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        index = torch.tensor(rows, device=self.device)
        cache.past.reorder_cache(index)  # type: ignore[arg-type]  # takes any integer tensor
        cache.alive = cache.alive[index]
        self._compact(cache)

    def _refuses(self, what: str, expected: str) -> ModelError:
        return ModelError(
            f"{type(self.model).__name__} cannot read {what}",
            expected=expected,
            hint="decode without drafts",
        )

    def _compact(self, cache: RowCache) -> None:
        """Cut off the last slots if they count for no row, others once they are many.

        Cutting off is a view, cutting out copies all keys and values.
        """
        used = cache.alive.any(0).cpu().numpy()
        if not self.takes_trees or used.all():
            return
        end, count = int(np.flatnonzero(used)[-1]) + 1, int(used.sum())
        if end - count > max(_UNUSED, len(used) >> 3):
            index = torch.from_numpy(np.flatnonzero(used)).to(self.device)
            _replace(cache.past, lambda part: part.index_select(2, index.to(part.device)))
            cache.alive = cache.alive[:, index]
        elif end < len(used):
            _replace(cache.past, lambda part: part[:, :, :end])
            cache.alive = cache.alive[:, :end]

    def _run(
        self,
        cache: RowCache,
        ids: torch.Tensor,
        mask: Any,
        positions: torch.Tensor,
        hidden: Sequence[int],
        *,
        scored: int | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Logits [rows, width, V] and hidden states [rows, width, layers, d] where asked for.

        mask: bool[rows, slots], or what `_tree_mask` makes. scored: so many of the last
        tokens get logits, where the model can tell them apart; None: all.
        """
        given: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": mask.long() if _is_flat(mask) else mask,
            self._cache_name: cache.past,
            "use_cache": True,
        }
        if self._only_states:  # the mask is that of the tokens read now: there are no slots
            given["attention_mask"] = mask[:, -ids.shape[1] :].long()
        if "position_ids" in self._accepts:
            given["position_ids"] = positions
        if scored is not None and "logits_to_keep" in self._accepts:
            given["logits_to_keep"] = scored or torch.zeros(0, dtype=torch.int64)
        if hidden:
            given["output_hidden_states"] = True
        output = self.model(**given)
        logits: torch.Tensor = output.logits
        if logits.shape[-1] != self.vocab_size:
            raise ModelError(
                f"{type(self.model).__name__} gave {logits.shape[-1]} logits",
                expected=f"{self.vocab_size}, the size of its output layer",
            )
        layers = [output.hidden_states[layer] for layer in hidden]
        return logits, torch.stack(layers, 2) if layers else None

    def _logits(self, rows: torch.Tensor, hidden: list[torch.Tensor] | None) -> TorchLogits:
        """The rows, with tokens drawn where they are if that is a GPU."""
        if rows.device.type != "cuda":
            return TorchLogits(rows, hidden)
        if self._table is None or self._table.device != rows.device:
            self._table = RowTable(self.vocab_size, rows.device)
        return DeviceLogits(rows, self._table, hidden)

    def _new_cache(self) -> Cache:
        return DynamicCache(config=self.model.config)

    def _tree_mask(self, alive: torch.Tensor, sees: torch.Tensor, width: int) -> Any:
        """What the model takes as the mask of a tree's last `width` nodes."""
        return self._additive(seen_by(alive, sees, width))

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        """0 where bool[rows, 1, width, slots] is true, the least number elsewhere."""
        dtype = self.model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=self.device)
        return mask.masked_fill_(~seen, torch.finfo(dtype).min)

    def _check(self, prompts: Sequence[Sequence[int]]) -> None:
        longest = max(map(len, prompts))
        if not min(map(len, prompts)):
            raise ModelError("the prompt is empty", expected="at least one token")
        if self.context is not None and longest >= self.context:
            raise ModelError(
                f"the prompt has {longest} tokens and the model's context is {self.context}",
                expected=f"at most {self.context - 1}, to leave room for the text",
                hint="shorten the prompt",
            )
        known = self.model.get_input_embeddings().weight.shape[0]
        highest = max(map(max, prompts))
        if highest >= known:
            raise ModelError(
                f"the prompt contains token {highest} and the model knows {known} tokens",
                hint="use the tokenizer that belongs to the model",
            )


def _is_flat(mask: Any) -> bool:
    return isinstance(mask, torch.Tensor) and mask.ndim == 2


def seen_by(alive: torch.Tensor, sees: torch.Tensor, width: int) -> torch.Tensor:
    """bool[rows, 1, width, slots]: what the last `width` nodes see: counted slots, own ancestors.

    alive: bool[rows, past slots]. sees: bool[rows, open slots, open slots].
    """
    past = alive[:, None, None, :].expand(len(alive), 1, width, alive.shape[1])
    return torch.cat([past, sees[:, None, -width:]], -1)


def _copied(layer: Any) -> Any:
    """A cache layer that shares keys and values, which are replaced when they change.

    Recurrent states are written to in place; they are kept in dicts. Of layers that are not
    transformers' own nothing is known, so all of them is copied.
    """
    if type(layer).__module__ != DynamicLayer.__module__:
        return copy.deepcopy(layer)
    copied = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            setattr(copied, name, copy.deepcopy(value))
    return copied


def _replace(past: Cache, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Change keys and values [rows, heads, slots, d] of all layers that have their own."""
    for layer in past.layers:
        if isinstance(layer, DynamicLayer) and layer.keys is not None and layer.values is not None:
            layer.keys, layer.values = change(layer.keys), change(layer.values)


def _by_row(layers: torch.Tensor | None, counted: torch.Tensor) -> list[torch.Tensor] | None:
    """Hidden states [rows, width, layers, d] as a list with those of each row's counted tokens."""
    return (
        None if layers is None else [row[kept] for row, kept in zip(layers, counted, strict=True)]
    )


def _grown(tree: OpenTree | None, parents: Sequence[Sequence[int]], width: int) -> OpenTree:
    """The tree with a forward's nodes added; padding sees itself alone."""
    first = 0 if tree is None else tree.sees.shape[1]
    sees = np.tile(np.eye(first + width, dtype=np.bool_), (len(parents), 1, 1))
    slots: list[list[int]] = [[] for _ in parents]
    if tree is not None:
        sees[:, :first, :first] = tree.sees
        slots = [list(row) for row in tree.slots]
    for r, row in enumerate(parents):
        for slot, parent in enumerate(row, first):
            slots[r].append(slot)
            if parent >= 0:
                sees[r, slot] |= sees[r, slots[r][parent]]
    return OpenTree(slots, sees)


def _logits_size(model: Any) -> int:
    output = model.get_output_embeddings()
    weight = getattr(output, "weight", None)
    if weight is not None:
        return int(weight.shape[0])
    return int(model.config.get_text_config().vocab_size)


def _context(model: Any) -> int | None:
    config = model.config.get_text_config()
    for name in ("max_position_embeddings", "max_seq_len"):
        length = getattr(config, name, None)
        if isinstance(length, int) and length > 0:
            return length
    return None


class WindowTarget(HuggingFaceTarget):
    """A model whose layers see a sliding window, or all; it keeps all it has read, and takes trees.

    The model's own cache drops what has left the window, so nothing can be taken back. Here windows
    are masks, made of the positions of tokens: siblings, padding and what was refused do not shift
    them. The cache grows with the text.
    """

    def __init__(self, model: Any, window: int, mixed: bool) -> None:
        """window: tokens that a layer sees. mixed: whether other layers see all."""
        super().__init__(model)
        self.takes_trees = True
        self._window = window
        self._mixed = mixed

    def forward(
        self,
        cache: RowCache,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
        *,
        scored: bool = True,
    ) -> TorchLogits:
        """See `HuggingFaceTarget`; a chain is a tree here, all of which counts."""
        if parents is not None:
            return super().forward(cache, tokens, parents, hidden, scored=scored)
        cache.tree = None
        chains = [range(-1, len(row) - 1) for row in tokens]
        logits = super().forward(cache, tokens, chains, hidden, scored=scored)
        cache.tree = None
        return logits

    def _new_cache(self) -> Cache:
        return DynamicCache()

    def _tree_mask(self, alive: torch.Tensor, sees: torch.Tensor, width: int) -> Any:
        """The mask of the windows, and where layers differ that of all tokens."""
        seen = seen_by(alive, sees, width)
        depths = alive.sum(1, keepdim=True) + sees.sum(-1) - 1
        positions = torch.cat([alive.cumsum(1) - 1, depths], 1)
        near = positions[:, -width:, None] - positions[:, None, :] < self._window
        windows = self._additive(seen & near[:, None])
        return {_FULL: self._additive(seen), _SLIDING: windows} if self._mixed else windows


def with_sliding_masks(target: HuggingFaceTarget) -> WindowTarget | None:
    """The target with windows as masks, if its model takes them; it is tried."""
    config = target.model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or [_SLIDING])
    window = getattr(config, "sliding_window", None)
    layers = DynamicCache(config=target.model.config).layers
    sliding = [type(layer) is DynamicSlidingWindowLayer for layer in layers]
    known = kinds <= {_FULL, _SLIDING} and "position_ids" in target._accepts
    if not known or not isinstance(window, int) or not any(sliding):
        return None
    if not all(type(layer) in {DynamicLayer, DynamicSlidingWindowLayer} for layer in layers):
        return None
    wide = WindowTarget(target.model, window, mixed=not all(sliding))
    return wide if _agrees(target, wide) else None


@torch.inference_mode()
def _agrees(target: HuggingFaceTarget, wide: WindowTarget) -> bool:
    """Whether siblings are read as if each were alone."""
    prompt, siblings = [1, 2, 3, 4], [5, 6]
    expected = target.prefill([[*prompt, token] for token in siblings])[1].numpy()
    try:
        cache, _ = wide.prefill([prompt])
        found = wide.forward(cache, [siblings], [[-1, -1]]).numpy()
    except _TRIAL_ERRORS:
        return False
    apart = abs(expected[0] - expected[1]).max()
    return bool(abs(found - expected).max() < 0.1 * apart)
