"""Drafts for a model whose cache cannot be rolled back (recurrent states, cut windows).

Before a draft is read the cache is copied. When only a beginning of the draft is kept the copy
takes its place, and what was kept is read again, together with the next draft. Drafts are chains,
and rows are read one by one, since such caches have no room for padding inside.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.interfaces import Target, WideningTarget
from structgen.generation.speculation.table_target import TableLogits

MOST_CHAINS = 4  #: rows; a pass for each of more costs what drafts save over one for all
_LONGEST = 16  # tokens that are read again with a draft; more are read by themselves, once


def drafting(target: Target[Any]) -> Target[Any]:
    """A target that takes drafts back: by trees where there is a way, else by chains."""
    if target.takes_trees:
        return target
    wide = target.with_trees() if isinstance(target, WideningTarget) else None
    return Chains(target) if wide is None else wide


@dataclass(slots=True)
class Chain:
    """One row: what was read of it, and tokens that are kept but have to be read again."""

    cache: Any
    unread: list[int] = field(default_factory=list)
    before: Any = None  # a copy of the cache from before the last draft
    given: list[int] = field(default_factory=list)  # what was read after that


class Chains:
    """A Target for drafts that are chains; a cache is a list of rows."""

    takes_trees = False
    takes_drafts = True

    def __init__(self, target: Target[Any]) -> None:
        """Wrap a target that reads several tokens in a row."""
        self._target = target
        self.vocab_size = target.vocab_size
        self.context = target.context

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[list[Chain], Any]:
        """Read the prompts together, then split the cache into rows."""
        cache, logits = self._target.prefill(prompts, hidden)
        if len(prompts) == 1:
            return [Chain(cache)], logits
        chains = []
        for r in range(len(prompts)):
            own = copy.deepcopy(cache)
            self._target.select(own, [r])
            chains.append(Chain(own))
        return chains, logits

    def forward(
        self,
        cache: list[Chain],
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
    ) -> TableLogits:
        """Read tokens after each row; `parents` is refused."""
        if parents is not None:
            raise GenerationError(
                "a tree was drafted", expected="a chain, for a model that reads no trees"
            )
        found = [self._read(chain, row, hidden) for chain, row in zip(cache, tokens, strict=True)]
        states = [part for _, part in found]
        return TableLogits(np.concatenate([rows for rows, _ in found]), states if hidden else None)

    def commit(self, cache: list[Chain], kept: Sequence[Sequence[int]]) -> None:
        """Keep a beginning of what was read last of each row."""
        for chain, row in zip(cache, kept, strict=True):
            count = len(chain.unread) + len(row)
            if chain.before is None or count == len(chain.given):
                chain.unread = []
            else:
                chain.cache, chain.unread = chain.before, chain.given[:count]
            chain.before, chain.given = None, []

    def select(self, cache: list[Chain], rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        cache[:] = [
            copy.deepcopy(cache[r]) if r in rows[:i] else cache[r] for i, r in enumerate(rows)
        ]

    def _read(self, chain: Chain, tokens: Sequence[int], hidden: Sequence[int]) -> tuple[Any, Any]:
        """Logits and hidden states of a row's tokens."""
        if len(chain.unread) > _LONGEST:
            self._target.forward(chain.cache, [chain.unread])
            chain.unread = []
        chain.given = [*chain.unread, *tokens]
        chain.before = copy.deepcopy(chain.cache) if len(tokens) > 1 else None
        logits = self._target.forward(chain.cache, [chain.given], None, hidden)
        first = len(chain.unread)
        if chain.before is None:
            chain.unread = []
        logits.wait()
        states = logits.hidden
        return logits.numpy()[first:], None if states is None else states[0][first:]
