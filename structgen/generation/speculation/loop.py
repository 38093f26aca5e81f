"""The decode loop with drafts: propose a tree, read it in one pass, keep the accepted path.

    prefill ── logits ──▶ verify ──▶ commit the path ──▶ finished rows leave
                 ▲                                              │
                 └──── forward: a tree of tokens per row ◀── propose

The plain loop (structgen/generation/loop.py) is the reference: the same distribution of texts, and
with the rule SampleCompare the same texts for the same seed.
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
from structgen.generation.loop import (
    draws_on_device,
    drop_finished,
    new_text,
    unfinished,
    write_tokens,
)
from structgen.generation.result import Clock
from structgen.generation.row import Row
from structgen.generation.speculation.awrs import check_tested
from structgen.generation.speculation.chains import MOST_CHAINS, drafting
from structgen.generation.speculation.interfaces import (
    Budget,
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
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.verify import draw_on_device, verify, write_drawn


class _SpeculativeRow:
    """A row with its drafting session, context and statistics."""

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
        """The budget of the next draft; None where no draft is to be made.

        A text that is being closed is drafted as it will be.
        """
        context = self.context
        self.tree = DraftTree(context)
        self._closing = bool(self.row.closing_plan)
        if self._closing:
            context.keep_going = None
            self.tree.add_path(0, self.row.closing_plan)
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
        """Whether verifying the last tree takes more than a draw by the target at each node."""
        request = self.row.request
        rule = self._speculation.rule
        needs = bool(self.tree.draws) and not isinstance(rule, SampleCompare)
        changed = request.weight is not None or bool(request.transforms)
        return needs or changed or not rule.lossless or self._speculation.tested

    def verify(self, scores: Any, drawn: Sequence[Drawn] | None) -> list[int]:
        """Write tokens; returns the nodes kept.

        scores: float[n, V], the target's. drawn: what was drawn of them already, if it was.
        """
        write_one = self._speculation.write if drawn is None else partial(write_drawn, drawn)
        return verify(self.row, self.tree, scores, write_one)

    def learn(
        self, kept: Sequence[int], scores: Any, hidden: Any, seconds: float, rows: int, width: int
    ) -> None:
        """Report the last round to stats, session and policy; seconds: of the verifying pass."""
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
        """The names of the drafters of the tokens that were kept."""
        count = len(seen.path)
        if not count:
            return ()
        if self._closing:
            return ("closing",) * count
        if _tells_credits(type(self.session)):
            return cast(CreditingSession, self.session).credits(seen.written[:count])
        return (self.stats.drafter,) * count

    def catch_up(self) -> tuple[int, ...]:
        """Bring the context up to date with the row; returns the tokens written since."""
        context, row = self.context, self.row
        written = tuple(row.tokens[len(context.tokens) - len(context.prompt) :])
        context.tokens += written
        context.state, context.remaining = row.state, row.remaining
        return written

    def count_pass(self, model: float, other: float) -> None:
        """Count a pass without a draft, from which nothing is learnt; times in seconds."""
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
    live = unfinished(rows, range(len(rows)), clock)
    for row in rows:
        row.stats = Stats(speculation.name)
    if not live:
        return
    target, chain = wide, not wide.takes_trees
    spec_rows = {r: _SpeculativeRow(rows[r], speculation, chain, r) for r in live}
    wanted = speculation.drafter.hidden
    try:
        cache, logits = target.prefill([rows[r].request.prompt for r in live], wanted)
        trees = 0
        while True:
            seconds = clock.lap()
            clock.model += seconds
            _verify_all(target, cache, [spec_rows[r] for r in live], logits, seconds, trees, clock)
            stay = unfinished(rows, live, clock)
            yield from new_text(rows, live, clock)
            if not stay:
                return
            live = drop_finished(target, cache, live, stay)
            live = yield from _plain_passes(
                target, cache, rows, live, spec_rows, speculation, clock
            )
            if not live:
                return
            _propose([spec_rows[r] for r in live], speculation)
            clock.other += clock.lap()
            logits = _read(target, cache, [spec_rows[r].tree for r in live], wanted, chain)
            trees = max(len(spec_rows[r].tree) for r in live)
            for r in live:
                spec_rows[r].stats.forwards += 1
    finally:
        for spec_row in spec_rows.values():
            spec_row.catch_up()
            spec_row.session.end(spec_row.context)


def _plain_passes(
    target: Target[Any],
    cache: Any,
    rows: Sequence[Row],
    live: list[int],
    spec_rows: Mapping[int, _SpeculativeRow],
    speculation: Speculation,
    clock: Clock,
) -> Generator[tuple[int, str], None, list[int]]:
    """Plain passes for as long as the drafter pauses; returns the rows that go on."""
    drafter = speculation.drafter
    if speculation.tested or not _drafts_jointly(type(drafter)):
        return live
    own = [spec_rows[r] for r in live]
    sessions = [spec_row.session for spec_row in own]
    passes, stay, on_device = cast(JointDrafter, drafter).rest(sessions), live, None
    seconds: list[float] = []
    while (
        len(seconds) < passes and len(stay) == len(own) and not any(w.row.closing_plan for w in own)
    ):
        model, other = clock.model, clock.mask + clock.other
        logits = target.forward(cache, [rows[r].tokens[-1:] for r in live])
        if on_device is None:
            on_device = draws_on_device(logits, [spec_row.row for spec_row in own])
        write_tokens([spec_row.row for spec_row in own], logits, clock, on_device=on_device)
        seconds.append(clock.model - model)
        for spec_row in own:
            spec_row.count_pass(seconds[-1], clock.mask + clock.other - other)
        stay = unfinished(rows, live, clock)
        yield from new_text(rows, live, clock)
    if seconds:
        cast(JointDrafter, drafter).rested(sessions, seconds)
        for spec_row in own:
            spec_row.catch_up()
        live = drop_finished(target, cache, live, stay) if stay else []
    return live


def _propose(spec_rows: Sequence[_SpeculativeRow], speculation: Speculation) -> None:
    """Make the next tree of each text: together, if the drafter does that."""
    start = time.perf_counter()
    budgets = [spec_row.plan() for spec_row in spec_rows]
    asked = [
        (w, budget) for w, budget in zip(spec_rows, budgets, strict=True) if budget is not None
    ]
    drafter = speculation.drafter
    if asked and _drafts_jointly(type(drafter)):
        trees = cast(JointDrafter, drafter).propose_together(
            [spec_row.session for spec_row, _ in asked],
            [spec_row.context for spec_row, _ in asked],
            [budget for _, budget in asked],
        )
        for (spec_row, _), tree in zip(asked, trees, strict=True):
            spec_row.tree = tree
    else:
        for spec_row, budget in asked:
            spec_row.tree = spec_row.session.propose(spec_row.context, budget)
    seconds = (time.perf_counter() - start) / len(spec_rows)
    for spec_row in spec_rows:
        spec_row.draft_seconds = seconds
        spec_row.stats.draft_seconds += seconds


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


def _verify_all(
    target: Target[Any],
    cache: Any,
    spec_rows: Sequence[_SpeculativeRow],
    logits: Logits,
    seconds: float,
    width: int,
    clock: Clock,
) -> None:
    """Write what the logits say, keep that path in the cache, and report the round.

    seconds: spent on the forward pass so far. width: tokens it read of the longest row; 0 for the
    prompt's, which has one row of logits for each text.
    """
    logits.wait()
    waited = clock.lap()
    clock.model += waited
    start = clock.mask + clock.other
    hidden = logits.hidden
    if width > 1 or spec_rows[0].tested or _draws(type(logits)):
        scores, drawn = _scores(spec_rows, logits)
        ends = np.cumsum([len(spec_row.tree) for spec_row in spec_rows]).tolist()
        parts = [scores[end - len(w.tree) : end] for w, end in zip(spec_rows, ends, strict=True)]
        kept = [
            spec_row.verify(*given)
            for spec_row, *given in zip(spec_rows, parts, drawn, strict=True)
        ]
    else:  # the plain loop's step, with a copy of the logits, which it masks in place
        scores = np.array(logits.numpy())
        parts, kept = list(scores[:, None]), [[0]] * len(spec_rows)
        write_tokens([spec_row.row for spec_row in spec_rows], logits, clock, on_device=False)
    clock.other += clock.lap()
    passed = clock.mask + clock.other - start
    if width > 1:
        target.commit(cache, kept)
    commit = clock.lap()
    clock.model += commit
    spent = seconds + waited + commit
    for i, (spec_row, path, part) in enumerate(zip(spec_rows, kept, parts, strict=True)):
        layers = None if hidden is None else hidden[i]
        spec_row.learn(path, part, layers, spent, len(spec_rows), width)
        spec_row.stats.verify_seconds += spent if width else 0.0
    learnt = clock.lap()
    clock.other += learnt
    for spec_row in spec_rows:
        spec_row.stats.other_seconds += passed + learnt


def _scores(
    spec_rows: Sequence[_SpeculativeRow], logits: Logits
) -> tuple[Any, Sequence[Sequence[Drawn] | None]]:
    """The logits; and, where they stay on an accelerator, what was drawn there for each row."""
    if not _draws(type(logits)) or any(spec_row.draws_itself for spec_row in spec_rows):
        return logits.numpy(), [None] * len(spec_rows)
    on_device = cast(DrawingLogits, logits)
    drawn = draw_on_device(
        on_device,
        [spec_row.row for spec_row in spec_rows],
        [spec_row.tree for spec_row in spec_rows],
    )
    return on_device.rows(), drawn


@cache
def _draws(kind: type) -> bool:
    """Whether logits of this type are drawn from where they are."""
    return issubclass(kind, DrawingLogits)


@cache
def _tells_credits(kind: type) -> bool:
    """Whether sessions of this type know which drafter a token is from."""
    return issubclass(kind, CreditingSession)


@cache
def _drafts_jointly(kind: type) -> bool:
    """Whether drafters of this type draft for all texts of a pass together."""
    return hasattr(kind, "propose_together")
