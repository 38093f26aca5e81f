"""Decode targets that take the time of larger models, and that write recorded texts.

`CostlyTarget` gives the demo model's logits at the time of a larger model with random weights,
which reads the same tokens, as the same trees, into a cache of its own. `ScriptedTarget` writes
recorded texts, because the demo model knows no SQL, no code and no prose; a draft that leaves the
recorded text is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structgen.generation.interfaces import Logits, Target
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.table_target import TableLogits

#: Name -> (layers, width, width of the feed-forward part, heads, key heads).
SHAPES = {
    "demo": None,
    "30m": (10, 448, 1216, 7, 7),
    "135m": (30, 576, 1536, 9, 3),
    "360m": (32, 960, 2560, 15, 5),
}
VOCABULARY = 8192
_SURE = 30.0  # added to the logit of the recorded token


def random_model(shape: str) -> HuggingFaceTarget:
    """A Llama of this shape with random weights in bfloat16, as a target."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    found = SHAPES[shape]
    assert found is not None
    layers, width, inner, heads, key_heads = found
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(config)
    return HuggingFaceTarget(model.to(torch.bfloat16))


class Costly:
    """The logits of one target, at the cost of another, too."""

    def __init__(self, wise: Target[Any], large: Target[Any]) -> None:
        self.inner = wise
        self._large = large
        self.takes_trees, self.takes_drafts = wise.takes_trees, wise.takes_drafts
        self.vocab_size = wise.vocab_size
        self.context = wise.context

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[list[Any], Logits]:
        """Both read the prompts."""
        large, done = self._large.prefill(prompts)
        done.wait()
        wise, logits = self.inner.prefill(prompts, hidden)
        return [wise, large], logits

    def forward(
        self,
        cache: list[Any],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
    ) -> Logits:
        """Both read the tokens."""
        self._large.forward(cache[1], tokens, parents).wait()
        return self.inner.forward(cache[0], tokens, parents, hidden)

    def commit(self, cache: list[Any], kept: Sequence[Sequence[int]]) -> None:
        """Both keep the path."""
        for target, part in zip((self.inner, self._large), cache, strict=True):
            target.commit(part, kept)

    def select(self, cache: list[Any], rows: Sequence[int]) -> None:
        """Both keep these rows."""
        for target, part in zip((self.inner, self._large), cache, strict=True):
            target.select(part, rows)


def model_of(target: Any) -> HuggingFaceTarget:
    """The model whose logits a target here gives, for drafters that are a part of it."""
    while not isinstance(target, HuggingFaceTarget):
        target = target.inner
    return target


@dataclass(slots=True)
class _Reading:
    """The cache inside; of each row its script, how much of it was kept, and where nodes stand."""

    inner: Any
    scripts: list[tuple[int, ...]]
    read: list[int]
    places: list[list[int]]


_LOST = -1  # the place of a node that is not in its script


class Scripted:
    """Writes the recorded text of each prompt; prompts without one go as the target inside says.

    scripts: the tokens after a prompt, by the prompt's tokens.
    """

    def __init__(
        self, inner: Target[Any], scripts: Mapping[tuple[int, ...], tuple[int, ...]]
    ) -> None:
        self.inner = inner
        self._scripts = scripts
        self.takes_trees, self.takes_drafts = inner.takes_trees, inner.takes_drafts
        self.vocab_size = inner.vocab_size
        self.context = inner.context

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[_Reading, Logits]:
        """Begin the texts."""
        inner, logits = self.inner.prefill(prompts, hidden)
        scripts = [self._scripts.get(tuple(prompt), ()) for prompt in prompts]
        cache = _Reading(inner, scripts, [0] * len(scripts), [[0] for _ in scripts])
        return cache, self._written(cache, logits)

    def forward(
        self,
        cache: _Reading,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
    ) -> Logits:
        """Read tokens; each node stands where its path is in the script, or nowhere."""
        logits = self.inner.forward(cache.inner, tokens, parents, hidden)
        for r, row in enumerate(tokens):
            script, places = cache.scripts[r], list[int]()
            for i, token in enumerate(row):
                parent = i - 1 if parents is None else parents[r][i]
                place = places[parent] if parent >= 0 else cache.read[r]
                goes_on = 0 <= place < len(script) and script[place] == token
                places.append(place + 1 if goes_on else _LOST)
            cache.places[r] = places
            cache.read[r] = places[-1]
        return self._written(cache, logits)

    def commit(self, cache: _Reading, kept: Sequence[Sequence[int]]) -> None:
        """Keep the path."""
        self.inner.commit(cache.inner, kept)
        cache.read = [places[row[-1]] for places, row in zip(cache.places, kept, strict=True)]

    def select(self, cache: _Reading, rows: Sequence[int]) -> None:
        """Keep these rows."""
        self.inner.select(cache.inner, rows)
        cache.scripts = [cache.scripts[r] for r in rows]
        cache.read = [cache.read[r] for r in rows]
        cache.places = [cache.places[r] for r in rows]

    def _written(self, cache: _Reading, logits: Logits) -> Logits:
        """The logits, with the script's token far above all others."""
        logits.wait()
        rows = np.array(logits.numpy(), np.float64)
        nodes = [(r, place) for r, places in enumerate(cache.places) for place in places]
        for row, (r, place) in zip(rows, nodes, strict=True):
            if 0 <= place < len(cache.scripts[r]):
                row[cache.scripts[r][place]] = row.max() + _SURE
        return TableLogits(rows, logits.hidden)
