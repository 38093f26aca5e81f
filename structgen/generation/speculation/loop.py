"""In: a target, rows, a Speculation. Out: pieces of text, as the plain loop gives, but faster.

    prefill ── logits ──▶ verify ──▶ commit the path ──▶ finished rows leave
                 ▲                                              │
                 └──── forward: a tree of tokens per row ◀── propose

The plain loop (structgen/generation/loop.py) is the reference: the same law of texts, and with the
rule SampleCompare the same texts for the same seed.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

import numpy as np

from structgen.generation.interfaces import DrawingLogits, Drawn, Logits, Target
from structgen.generation.loop import decode as decode_plainly
from structgen.generation.loop import draws_there, keep, leave, pieces, write
from structgen.generation.result import Clock
from structgen.generation.row import Row
from structgen.generation.speculation.chains import MOST_CHAINS, drafting
from structgen.generation.speculation.interfaces import (
    Budget,
    Context,
    CreditingSession,
    JointDrafter,
    LengthPolicy,
    Round,
    Session,
    StoppingPolicy,
)
from structgen.generation.speculation.rules import SampleCompare
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.stats import Stats
from structgen.generation.speculation.tested import check_tested
from structgen.generation.speculation.tree import DraftTree
from structgen.generation.speculation.verify import draw_there, verify, write_drawn


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
        self.draft_seconds = 0.0
        self._closing = False

    def plan(self) -> Budget | None:
        """The next draft's budget; None where there is none to make.

        A text that is being closed is drafted as it will be.
        """
        context = self.context
        self.tree = DraftTree(context)
        self._closing = bool(self.row.planned)
        if self._closing:
            context.keep_going = None
            self.tree.add_path(0, self.row.planned)
            return None
        context.keep_going = self._keep_going
        budget = self._policy.budget(context)
        if context.chain:
            budget = replace(budget, width=1)
        return budget if budget.nodes > 0 else None

    @property
    def tested(self) -> bool:
        """Whether tokens are drawn by testing them, without a mask."""
        return self._speculation.tested

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
        write = self._speculation.write if drawn is None else partial(write_drawn, drawn)
        return verify(self.row, self.tree, scores, write)

    def learn(
        self, kept: Sequence[int], scores: Any, hidden: Any, seconds: float, rows: int, width: int
    ) -> None:
        """Tell everybody what came of the last draft; seconds: of the pass that verified it."""
        context = self.context
        seen = Round(
            tree=self.tree,
            path=tuple(kept[1:]),
            written=self.catch_up(),
            logits=scores,
            hidden=hidden,
            draft_seconds=self.draft_seconds,
            verify_seconds=seconds,
            rows=rows,
            width=width,
        )
        self.stats.add(seen, self._credits(seen))
        self.session.observe(context, seen)
        self._policy.observe(context, seen)

    def _credits(self, seen: Round) -> Sequence[str]:
        """Who drafted the tokens that were kept."""
        count = len(seen.path)
        if not count:
            return ()
        if self._closing:
            return ("closing",) * count
        if _tells_credits(type(self.session)):
            return cast(CreditingSession, self.session).credits(seen.written[:count])
        return (self.stats.drafter,) * count

    def catch_up(self) -> tuple[int, ...]:
        """Tell the context what the row has written since; returns these tokens."""
        context, row = self.context, self.row
        written = tuple(row.tokens[len(context.tokens) - len(context.prompt) :])
        context.tokens += written
        context.state, context.remaining = row.state, row.remaining
        return written

    def count_pass(self, model: float, other: float) -> None:
        """A pass without a draft, of which nobody learns anything; in seconds."""
        self.stats.add_plain(len(self.row.tokens))
        self.stats.verify_seconds += model
        self.stats.other_seconds += other


def decode(
    target: Target[Any], rows: Sequence[Row], speculation: Speculation
) -> Iterator[tuple[int, str]]:
    """Yield (index of the row, new text) until every row is finished.

    As `structgen.generation.loop.decode`, which says what a piece is and which errors there are,
    and
    which writes the texts of a model that reads one token at a time, and of many rows that could
    only be read one by one.
    """
    wide = drafting(target)
    if not target.takes_drafts or (not wide.takes_trees and len(rows) > MOST_CHAINS):
        yield from decode_plainly(target, rows)
        return
    clock = Clock()
    live = leave(rows, range(len(rows)), clock)
    for row in rows:
        row.stats = Stats(speculation.name)
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
            live = yield from _rest(target, cache, rows, live, works, speculation, clock)
            if not live:
                return
            _propose([works[r] for r in live], speculation)
            clock.other += clock.lap()
            logits = _read(target, cache, [works[r].tree for r in live], wanted, chain)
            trees = max(len(works[r].tree) for r in live)
            for r in live:
                works[r].stats.forwards += 1
    finally:
        for work in works.values():
            work.catch_up()
            work.session.end(work.context)


def _rest(
    target: Target[Any],
    cache: Any,
    rows: Sequence[Row],
    live: list[int],
    works: Mapping[int, _Speculating],
    speculation: Speculation,
    clock: Clock,
) -> Generator[tuple[int, str], None, list[int]]:
    """The passes for which the drafter rests, which are the plain loop's; returns who goes on."""
    drafter = speculation.drafter
    if speculation.tested or not _drafts_jointly(type(drafter)):
        return live
    own = [works[r] for r in live]
    sessions = [work.session for work in own]
    passes, stay, there = cast(JointDrafter, drafter).rest(sessions), live, None
    seconds: list[float] = []
    while len(seconds) < passes and len(stay) == len(own) and not any(w.row.planned for w in own):
        model, other = clock.model, clock.mask + clock.other
        logits = target.forward(cache, [rows[r].tokens[-1:] for r in live])
        if there is None:
            there = draws_there(logits, [work.row for work in own])
        write([work.row for work in own], logits, clock, there=there)
        seconds.append(clock.model - model)
        for work in own:
            work.count_pass(seconds[-1], clock.mask + clock.other - other)
        stay = leave(rows, live, clock)
        yield from pieces(rows, live, clock)
    if seconds:
        cast(JointDrafter, drafter).rested(sessions, seconds)
        for work in own:
            work.catch_up()
        live = keep(target, cache, live, stay) if stay else []
    return live


def _propose(works: Sequence[_Speculating], speculation: Speculation) -> None:
    """Make the next tree of each text: together, if the drafter does that."""
    start = time.perf_counter()
    budgets = [work.plan() for work in works]
    asked = [(w, budget) for w, budget in zip(works, budgets, strict=True) if budget is not None]
    drafter = speculation.drafter
    if asked and _drafts_jointly(type(drafter)):
        trees = cast(JointDrafter, drafter).propose_together(
            [work.session for work, _ in asked],
            [work.context for work, _ in asked],
            [budget for _, budget in asked],
        )
        for (work, _), tree in zip(asked, trees, strict=True):
            work.tree = tree
    else:
        for work, budget in asked:
            work.tree = work.session.propose(work.context, budget)
    seconds = (time.perf_counter() - start) / len(works)
    for work in works:
        work.draft_seconds = seconds
        work.stats.draft_seconds += seconds


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
    start = clock.mask + clock.other
    hidden = logits.hidden
    if width > 1 or works[0].tested or _draws(type(logits)):
        scores, drawn = _scores(works, logits)
        ends = np.cumsum([len(work.tree) for work in works]).tolist()
        parts = [scores[end - len(w.tree) : end] for w, end in zip(works, ends, strict=True)]
        kept = [work.verify(*given) for work, *given in zip(works, parts, drawn, strict=True)]
    else:  # the plain loop's step, with a copy of the logits, which it masks in place
        scores = np.array(logits.numpy())
        parts, kept = list(scores[:, None]), [[0]] * len(works)
        write([work.row for work in works], logits, clock, there=False)
    clock.other += clock.lap()
    passed = clock.mask + clock.other - start
    if width > 1:
        target.commit(cache, kept)
    commit = clock.lap()
    clock.model += commit
    spent = seconds + waited + commit
    for i, (work, path, part) in enumerate(zip(works, kept, parts, strict=True)):
        layers = None if hidden is None else hidden[i]
        work.learn(path, part, layers, spent, len(works), width)
        work.stats.verify_seconds += spent if width else 0.0
    learnt = clock.lap()
    clock.other += learnt
    for work in works:
        work.stats.other_seconds += passed + learnt


def _scores(
    works: Sequence[_Speculating], logits: Logits
) -> tuple[Any, Sequence[Sequence[Drawn] | None]]:
    """The logits; and, where they stay on an accelerator, what was drawn there for each row."""
    if not _draws(type(logits)) or any(work.draws_itself for work in works):
        return logits.numpy(), [None] * len(works)
    there = cast(DrawingLogits, logits)
    drawn = draw_there(there, [work.row for work in works], [work.tree for work in works])
    return there.rows(), drawn


@cache
def _draws(kind: type) -> bool:
    """Whether logits of this type are drawn from where they are."""
    return issubclass(kind, DrawingLogits)


@cache
def _tells_credits(kind: type) -> bool:
    """Whether sessions of this type tell who drafted what."""
    return issubclass(kind, CreditingSession)


@cache
def _drafts_jointly(kind: type) -> bool:
    """Whether drafters of this type draft for all texts of a pass together."""
    return hasattr(kind, "propose_together")
