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
from functools import partial
from typing import Any

import numpy as np

from structgen.decode.interfaces import DrawingLogits, Drawn, Logits, Target
from structgen.decode.loop import decode as decode_plainly
from structgen.decode.loop import keep, leave, pieces
from structgen.decode.result import Clock
from structgen.decode.row import Row
from structgen.speculate.chains import MOST_CHAINS, drafting
from structgen.speculate.interfaces import Context, LengthPolicy, Round, Session, StoppingPolicy
from structgen.speculate.rules import SampleCompare
from structgen.speculate.speculation import Speculation
from structgen.speculate.stats import Stats
from structgen.speculate.tested import check_tested
from structgen.speculate.tree import DraftTree
from structgen.speculate.verify import draw_there, verify, write_drawn


class _Speculating:
    """A row with what speculation keeps beside it."""

    def __init__(self, row: Row, speculation: Speculation, chain: bool, number: int) -> None:
        request = row.request
        closer, whole = request.closer, request.stop == "complete"
        if speculation.tested:
            check_tested(request)
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
        policy = speculation.policy
        self._policy: LengthPolicy = policy
        self._keep_going = policy.keep_going if isinstance(policy, StoppingPolicy) else None
        self._speculation = speculation
        self.tree = DraftTree(self.context)
        self._draft_seconds = 0.0
        self._written: tuple[int, ...] = ()
        self._path: tuple[int, ...] = ()

    def propose(self) -> None:
        """Make the next tree. A text that is being closed is drafted as it will be."""
        start = time.perf_counter()
        context = self.context
        context.keep_going = None if self.row.planned else self._keep_going
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

    @property
    def draws_itself(self) -> bool:
        """Whether the last tree needs more than a draw from the target's law at each node."""
        request = self.row.request
        rule = self._speculation.rule
        needs = bool(self.tree.draws) and not isinstance(rule, SampleCompare)
        changed = request.weight is not None or bool(request.transforms)
        return needs or changed or not rule.lossless or self._speculation.tested

    def verify(self, scores: Any, drawn: Sequence[Drawn] | None) -> list[int]:
        """Write tokens; returns the nodes kept.

        scores: float[n, V], the target's. drawn: what was drawn of them already, if it was.
        """
        before = len(self.row.tokens)
        write = self._speculation.write if drawn is None else partial(write_drawn, drawn)
        kept = verify(self.row, self.tree, scores, write)
        self._written = tuple(self.row.tokens[before:])
        self._path = tuple(kept[1:])
        return kept

    def learn(self, scores: Any, hidden: Any, verify_seconds: float, rows: int, width: int) -> None:
        """Tell everybody what came of the last draft."""
        seen = Round(
            tree=self.tree,
            path=self._path,
            written=self._written,
            logits=scores,
            hidden=hidden,
            draft_seconds=self._draft_seconds,
            verify_seconds=verify_seconds,
            rows=rows,
            width=width,
        )
        context = self.context
        context.tokens += seen.written
        context.state, context.remaining = self.row.state, self.row.remaining
        self.stats.add(seen)
        self.session.observe(context, seen)
        self._policy.observe(context, seen)


def decode(
    target: Target[Any], rows: Sequence[Row], speculation: Speculation
) -> Iterator[tuple[int, str]]:
    """Yield (index of the row, new text) until every row is finished.

    As `structgen.decode.loop.decode`, which says what a piece is and which errors there are, and
    which writes the texts of a model that reads one token at a time, and of many rows that could
    only be read one by one.
    """
    wide = drafting(target)
    if not target.takes_drafts or (not wide.takes_trees and len(rows) > MOST_CHAINS):
        yield from decode_plainly(target, rows)
        return
    clock = Clock()
    live = leave(rows, range(len(rows)), clock)
    if not live:
        return
    target, chain = wide, not wide.takes_trees
    works = {r: _Speculating(rows[r], speculation, chain, r) for r in live}
    wanted = speculation.drafter.hidden
    try:
        cache, logits = target.prefill([rows[r].request.prompt for r in live], wanted)
        trees = 0
        while True:
            seconds = clock.lap()
            clock.model += seconds
            _conclude(target, cache, [works[r] for r in live], logits, seconds, trees, clock)
            stay = leave(rows, live, clock)
            yield from pieces(rows, live, clock)
            if not stay:
                return
            live = keep(target, cache, live, stay)
            for r in live:
                works[r].propose()
            clock.other += clock.lap()
            logits = _read(target, cache, [works[r].tree for r in live], wanted, chain)
            trees = max(len(works[r].tree) for r in live)
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
) -> Logits:
    """One forward pass over all trees."""
    tokens = [tree.tokens for tree in trees]
    alone = max(map(len, trees)) == 1
    parents = None if chain or alone else [tree.parents for tree in trees]
    return target.forward(cache, tokens, parents, hidden)


def _conclude(
    target: Target[Any],
    cache: Any,
    works: Sequence[_Speculating],
    logits: Logits,
    seconds: float,
    width: int,
    clock: Clock,
) -> None:
    """Write what the logits say, keep that path in the cache, and let everybody learn from it.

    seconds: spent on the forward pass so far. width: tokens it read of the longest row; 0 for the
    prompt's, which has one row of logits for each text.
    """
    logits.wait()
    waited = clock.lap()
    clock.model += waited
    hidden = logits.hidden
    scores, drawn = _scores(works, logits)
    ends = np.cumsum([len(work.tree) for work in works]).tolist()
    parts = [scores[end - len(w.tree) : end] for w, end in zip(works, ends, strict=True)]
    kept = [work.verify(*given) for work, *given in zip(works, parts, drawn, strict=True)]
    passed = clock.lap()
    clock.other += passed
    if width > 1:
        target.commit(cache, kept)
    commit = clock.lap()
    clock.model += commit
    spent = seconds + waited + commit
    for i, (work, part) in enumerate(zip(works, parts, strict=True)):
        work.learn(part, None if hidden is None else hidden[i], spent, len(works), width)
        work.stats.verify_seconds += spent if width else 0.0
    learnt = clock.lap()
    clock.other += learnt
    for work in works:
        work.stats.other_seconds += passed + learnt


def _scores(
    works: Sequence[_Speculating], logits: Logits
) -> tuple[Any, Sequence[Sequence[Drawn] | None]]:
    """The logits; and, where they stay on an accelerator, what was drawn there for each row."""
    if not isinstance(logits, DrawingLogits) or any(work.draws_itself for work in works):
        return logits.numpy(), [None] * len(works)
    drawn = draw_there(logits, [work.row for work in works], [work.tree for work in works])
    return logits.rows(), drawn
