"""A decode target after a prompt as a sampling `Model`: log-probabilities after any prefixes.

Prefixes that extend those of the previous call cost one token each: their keys and values are in
the cache, where a shared beginning is held once until the prefixes diverge. Other prefixes are read
again after the prompt, whose cache is kept, in one forward pass.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from structgen.errors import ModelError
from structgen.generation.checks import check
from structgen.generation.interfaces import Logits, Target
from structgen.generation.sampling.interfaces import Doubles, Tokens

MEMORY = 64 << 20  #: bytes of log-probabilities that are remembered


class LanguageModel:
    """A target after a prompt, at a temperature: the model that samplers draw from.

    Attributes: `vocab_size`, `room`, `identity`, `temperature`; `rows_read`, `tokens_read`: rows
    and tokens that went through the target.
    """

    def __init__(
        self,
        target: Target[Any],
        prompt: Sequence[int],
        *,
        temperature: float = 1.0,
        memory: int = MEMORY,
    ) -> None:
        """Nothing is read yet. GenerationError for a temperature that is not positive."""
        expected = "more than 0: samplers draw from the model at a temperature"
        check("temperature", temperature, temperature > 0, expected)
        self.vocab_size = target.vocab_size
        self.room = None if target.context is None else target.context - len(prompt)
        self.temperature = temperature
        self.rows_read = self.tokens_read = 0
        self._target = target
        self._prompt = tuple(prompt)
        self._kept = max(memory // (8 * self.vocab_size), 16)
        self._known: OrderedDict[Tokens, Doubles] = OrderedDict()
        self._root: Any = None  # the cache after the prompt, never changed
        self._cache: Any = None
        self._rows: dict[Tokens, int] = {}  # prefixes that `_cache` has read, and their rows

    @property
    def identity(self) -> str:
        """See `Model.identity`: of the name or folder that the model was loaded from."""
        model = getattr(self._target, "model", self._target)
        name = getattr(getattr(model, "config", None), "_name_or_path", "")
        said = repr((type(model).__name__, name, self._prompt, self.temperature))
        return blake2b(said.encode(), digest_size=16).hexdigest()

    def log_probs(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `Model.log_probs`. ModelError when the model's logits are not finite."""
        wanted = dict.fromkeys(prefixes)
        missing = [prefix for prefix in wanted if prefix not in self._known]
        found = {prefix: self._known[prefix] for prefix in wanted if prefix in self._known}
        if missing:
            found |= self._read(missing)
        for prefix in wanted:
            self._known[prefix] = found[prefix]
            self._known.move_to_end(prefix)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return np.stack([found[prefix] for prefix in prefixes])

    def _read(self, missing: list[Tokens]) -> dict[Tokens, Doubles]:
        """Log-probabilities after prefixes, each once, that are not remembered."""
        found: dict[Tokens, Doubles] = {}
        if () in missing or self._root is None:
            self._root, logits = self._target.prefill([self._prompt])
            found[()] = self._log_probs(logits, [0])[0]
            self._count(1, len(self._prompt))
        below = [prefix for prefix in missing if prefix]
        if below:
            found |= zip(below, self._read_below(below), strict=True)
        return {prefix: found[prefix] for prefix in missing}

    def _read_below(self, prefixes: list[Tokens]) -> Doubles:
        if not self._target.takes_trees and not all(p[:-1] in self._rows for p in prefixes):
            # Such a target reads one token at a time after its cache, or a whole prompt.
            self._cache, logits = self._target.prefill([self._prompt + p for p in prefixes])
            self._count(len(prefixes), sum(len(self._prompt) + len(p) for p in prefixes))
            lasts = list(range(len(prefixes)))
        else:
            rests = self._continue(prefixes)
            logits = self._target.forward(self._cache, rests)
            self._count(len(rests), sum(map(len, rests)))
            lasts = (np.cumsum([len(rest) for rest in rests]) - 1).tolist()
        self._rows = {prefix: row for row, prefix in enumerate(prefixes)}
        return self._log_probs(logits, lasts)

    def _continue(self, prefixes: list[Tokens]) -> list[Tokens]:
        """Make each row of the cache a beginning of its prefix; returns the tokens left to read."""
        if all(prefix[:-1] in self._rows for prefix in prefixes):
            rows = [self._rows[prefix[:-1]] for prefix in prefixes]
            self._target.select(self._cache, rows)
            return [prefix[-1:] for prefix in prefixes]
        self._cache = copy.deepcopy(self._root)
        self._target.select(self._cache, [0] * len(prefixes))
        return prefixes

    def _log_probs(self, logits: Logits, rows: list[int]) -> Doubles:
        scores = logits.numpy()[rows].astype(np.float64) / self.temperature
        top = scores.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            total = np.log(np.exp(scores - top).sum(axis=1, keepdims=True)) + top
        if not np.isfinite(total).all():
            raise ModelError(
                "the model's logits are not finite",
                hint="load the model with another dtype, such as float32 or bfloat16",
            )
        found: Doubles = scores - total
        return found

    def _count(self, rows: int, tokens: int) -> None:
        self.rows_read += rows
        self.tokens_read += tokens
