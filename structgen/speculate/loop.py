"""In: a target, rows, a Speculation. Out: pieces of text, as the plain loop gives, but faster.

    prefill ── logits ──▶ verify ──▶ commit the path ──▶ finished rows leave
                 ▲                                              │
                 └──── forward: a tree of tokens per row ◀── propose

The plain loop (structgen/decode/loop.py) is the reference: the same law of texts, and with the
rule SampleCompare the same texts for the same seed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structgen.decode.interfaces import Logits, Target
from structgen.decode.loop import leave
from structgen.decode.result import Clock
from structgen.decode.row import Row
from structgen.speculate.interfaces import Context, LengthPolicy, Round, Session
from structgen.speculate.speculation import Speculation
from structgen.speculate.stats import Stats
from structgen.speculate.tree import DraftTree
from structgen.speculate.verify import verify


class _Speculating:
    """A row with what speculation keeps beside it."""

    def __init__(self, row: Row, speculation: Speculation, chain: bool, number: int) -> None:
        request = row.request
        closer, whole = request.closer, request.stop == "complete"
        self.row = row
        self.context = Context(
            prompt=tuple(request.prompt),
            tokens=list(request.prompt),
            state=row.state,
            remaining=row.remaining,
            constraint=request.constraint,
            sampler=request.sampler,
            rng=speculation.rng(number),
            chain=chain,
            ends=lambda state: whole and closer.complete(state),
        )
        self.stats = Stats(speculation.name)
        row.stats = self.stats
        self.session: Session = speculation.drafter.begin(self.context)
        self._policy: LengthPolicy = speculation.policy
        self._rule = speculation.rule
        self.tree = DraftTree(self.context)
        self._draft_seconds = 0.0

    def propose(self) -> None:
        """Make the next tree. A text that is being closed is drafted as it will be."""
        start = time.perf_counter()
        context = self.context
        if self.row.planned:
            self.tree = DraftTree(context)
            self.tree.add_path(0, self.row.planned)
        else:
            budget = self._policy.budget(context)
            if context.chain:
                budget = replace(budget, width=1)
            self.tree = (
                self.session.propose(context, budget) if budget.nodes > 0 else DraftTree(context)
            )
        self._draft_seconds = time.perf_counter() - start
        self.stats.draft_seconds += self._draft_seconds

    def verify(self, scores: Any, hidden: Any, verify_seconds: float) -> list[int]:
        """Write tokens, tell everybody; returns the nodes kept."""
        before = len(self.row.tokens)
        kept = verify(self.row, self.tree, scores, self._rule)
        written = tuple(self.row.tokens[before:])
        seen = Round(
            self.tree, tuple(kept[1:]), written, scores, hidden, self._draft_seconds, verify_seconds
        )
        context = self.context
        context.tokens += written
        context.state, context.remaining = self.row.state, self.row.remaining
        self.stats.add(seen)
        self.session.observe(context, seen)
        self._policy.observe(context, seen)
        return kept


def decode(
    target: Target[Any], rows: Sequence[Row], speculation: Speculation
) -> Iterator[tuple[int, str]]:
    """Yield (index of the row, new text) until every row is finished.

    As `structgen.decode.loop.decode`, which says what a piece is and which errors there are.
    """
    clock = Clock()
    live = leave(rows, range(len(rows)), clock)
    if not live:
        return
    chain = not target.takes_trees
    works = {r: _Speculating(rows[r], speculation, chain, r) for r in live}
    wanted = speculation.drafter.hidden
    try:
        cache, logits = target.prefill([rows[r].request.prompt for r in live], wanted)
        sizes = [1] * len(live)
        first = True
        while True:
            seconds = clock.lap()
            clock.model += seconds
            kept = _verify_all([works[r] for r in live], logits, sizes, seconds, clock)
            if not first and max(sizes) > 1:
                target.commit(cache, kept)
                clock.model += clock.lap()
            first = False
            stay = leave(rows, live, clock)
            for r in live:
                if piece := rows[r].take_piece():
                    yield r, piece
            clock.resume()
            if not stay:
                return
            if len(stay) < len(live):
                target.select(cache, stay)
                live = [live[i] for i in stay]
            for r in live:
                works[r].propose()
            clock.other += clock.lap()
            logits, sizes = _read(target, cache, [works[r].tree for r in live], wanted, chain)
            for r in live:
                works[r].stats.forwards += 1
    finally:
        for work in works.values():
            work.session.end(work.context)


def _read(
    target: Target[Any],
    cache: Any,
    trees: Sequence[DraftTree],
    hidden: Sequence[int],
    chain: bool,
) -> tuple[Logits, list[int]]:
    """One forward pass over all trees, and how many tokens each has."""
    sizes = list(map(len, trees))
    tokens = [tree.tokens for tree in trees]
    parents = None if chain or max(sizes) == 1 else [tree.parents for tree in trees]
    return target.forward(cache, tokens, parents, hidden), sizes


def _verify_all(
    works: Sequence[_Speculating],
    logits: Logits,
    sizes: Sequence[int],
    seconds: float,
    clock: Clock,
) -> list[list[int]]:
    logits.wait()
    waited = clock.lap()
    clock.model += waited
    scores = logits.numpy()
    hidden = logits.hidden
    ends = np.cumsum(sizes).tolist()
    kept = []
    for i, (work, size, end) in enumerate(zip(works, sizes, ends, strict=True)):
        its = None if hidden is None else hidden[i]
        kept.append(work.verify(scores[end - size : end], its, seconds + waited))
        work.stats.verify_seconds += seconds + waited
    passed = clock.lap()
    clock.other += passed
    for work in works:
        work.stats.other_seconds += passed
    return kept
