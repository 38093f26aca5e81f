"""In: a target and rows. Out: pieces of text as they are written, until every row is finished.

This is the plain loop: one forward pass per token, all rows at once. It defines what every faster
loop must reproduce: the same law of texts, and for greedy decoding the same texts.

    prefill ── logits ──▶ mask ──▶ each row takes a token ──▶ finished rows leave
                 ▲                                                     │
                 └──────────────── forward: one token per row ◀────────┘
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from structgen.generation.interfaces import DrawingLogits, Logits, Rows, Target
from structgen.generation.result import Clock
from structgen.generation.row import Row
from structgen.masks import bitmask


def decode(target: Target[Any], rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield (index of the row, new text) until every row is finished.

    A piece is whole characters and never empty. Errors of a row (NoTokenError, TruncatedError,
    ModelError) end the loop.
    """
    clock = Clock()
    live = leave(rows, range(len(rows)), clock)
    if not live:
        return
    cache, logits = target.prefill([rows[r].request.prompt for r in live])
    there = draws_there(logits, rows)
    while True:
        write([rows[r] for r in live], logits, clock, there=there)
        stay = leave(rows, live, clock)
        yield from pieces(rows, live, clock)
        if not stay:
            return
        live = keep(target, cache, live, stay)
        logits = target.forward(cache, [rows[r].tokens[-1:] for r in live])


def draws_there(logits: Logits, rows: Sequence[Row]) -> bool:
    """Whether tokens are drawn where the logits are: on an accelerator, if the law is known there.

    Asking takes microseconds, so once for all passes.
    """
    changed = any(row.request.weight or row.request.transforms for row in rows)
    return isinstance(logits, DrawingLogits) and not changed


def write(live: Sequence[Row], logits: Logits, clock: Clock, *, there: bool) -> None:
    """One more token for each row, whose logits are masked in place. there: see `draws_there`."""
    clock.model += clock.lap()
    if there:
        _write_there(live, cast(DrawingLogits, logits), clock)
    else:
        _write_here(live, logits, clock)


def _write_here(live: Sequence[Row], logits: Logits, clock: Clock) -> None:
    """The masks are made while an accelerator is still computing."""
    masks = bitmask.allocate(len(live), live[0].request.constraint.vocabulary.size)
    _fill(live, masks)
    clock.mask += clock.lap()
    logits.wait()
    clock.model += clock.lap()
    log_raw = logits.log_normalizers()
    clock.other += clock.lap()
    logits.apply(masks)
    clock.mask += clock.lap()
    scores = logits.numpy()
    for i, row in enumerate(live):
        row.step(scores[i], float(log_raw[i]))
    clock.other += clock.lap()


def _write_there(live: Sequence[Row], logits: DrawingLogits, clock: Clock) -> None:
    """The same where the logits are, so that they need not travel."""
    masks = logits.masks([row.request.constraint for row in live], [row.state for row in live])
    clock.mask += clock.lap()
    logits.wait()
    clock.model += clock.lap()
    samplers = [row.request.sampler for row in live]
    drawn = logits.draw(masks, samplers, [row.uniform() for row in live])
    for row, one in zip(live, drawn, strict=True):
        row.take(one)
    clock.other += clock.lap()


def _fill(live: Sequence[Row], masks: Rows) -> None:
    """The mask rows of all rows: in one call where they share a constraint."""
    constraint = live[0].request.constraint
    if all(row.request.constraint is constraint for row in live):
        constraint.fill_masks([row.state for row in live], masks)
        return
    for row, mask in zip(live, masks, strict=True):
        row.request.constraint.fill_mask(row.state, mask)


def leave(rows: Sequence[Row], live: Sequence[int], clock: Clock) -> list[int]:
    """Positions in `live` of the rows that go on; those that do not get their times."""
    stay = []
    for position, r in enumerate(live):
        row = rows[r]
        if row.finish is None:
            stay.append(position)
        elif row.timings is None:
            row.timings = clock.timings(len(row.tokens))
    return stay


def pieces(rows: Sequence[Row], live: Sequence[int], clock: Clock) -> Iterator[tuple[int, str]]:
    """What these rows have written since the last time; the reader's own time is not counted."""
    for r in live:
        if piece := rows[r].take_piece():
            yield r, piece
    clock.resume()


def keep(target: Target[Any], cache: Any, live: list[int], stay: list[int]) -> list[int]:
    """Drop the rows that do not stay from the cache; returns those that do."""
    if len(stay) == len(live):
        return live
    target.select(cache, stay)
    return [live[i] for i in stay]
