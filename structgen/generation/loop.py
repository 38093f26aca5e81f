"""The plain decode loop: one forward pass per token, for all rows of a batch at once.

It is the reference for the loop with drafts, which must give the same distribution of texts, and
with greedy decoding the same texts.

    prefill ── logits ──▶ mask ──▶ each row takes a token ──▶ finished rows leave
                 ▲                                                     │
                 └──────────────── forward: one token per row ◀────────┘
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from structgen.constraint.batch import fill_masks
from structgen.generation.interfaces import DrawingLogits, Logits, Target
from structgen.generation.result import Clock
from structgen.generation.row import Row
from structgen.masks import bitmask


def decode(target: Target[Any], rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield (index of the row, new text) until every row is finished.

    A piece is whole characters and never empty. Errors of a row (NoTokenError, TruncatedError,
    ModelError) end the loop.
    """
    clock = Clock()
    live = unfinished(rows, range(len(rows)), clock)
    if not live:
        return
    cache, logits = target.prefill([rows[r].request.prompt for r in live])
    on_device = draws_on_device(logits, rows)
    while True:
        write_tokens([rows[r] for r in live], logits, clock, on_device=on_device)
        stay = unfinished(rows, live, clock)
        yield from new_text(rows, live, clock)
        if not stay:
            return
        live = drop_finished(target, cache, live, stay)
        logits = target.forward(cache, [rows[r].tokens[-1:] for r in live])


def draws_on_device(logits: Logits, rows: Sequence[Row]) -> bool:
    """Whether tokens are drawn on the accelerator that has the logits.

    Not where weights or transforms, which are Python functions, change the distribution. Asking
    takes microseconds, so the loop asks once for all passes.
    """
    changed = any(row.request.weight or row.request.transforms for row in rows)
    return isinstance(logits, DrawingLogits) and not changed


def write_tokens(live: Sequence[Row], logits: Logits, clock: Clock, *, on_device: bool) -> None:
    """Write one more token to each row. The logits are masked in place, unless `on_device`."""
    clock.model += clock.lap()
    if on_device:
        _write_on_device(live, cast(DrawingLogits, logits), clock)
    else:
        _write_on_host(live, logits, clock)


def _write_on_host(live: Sequence[Row], logits: Logits, clock: Clock) -> None:
    """Mask and draw on the host; the masks are made while an accelerator is still computing."""
    masks = bitmask.allocate(len(live), live[0].request.constraint.vocabulary.size)
    fill_masks([row.request.constraint for row in live], [row.state for row in live], masks)
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


def _write_on_device(live: Sequence[Row], logits: DrawingLogits, clock: Clock) -> None:
    """The same on the device that has the logits, so that they need not be copied."""
    masks = logits.masks([row.request.constraint for row in live], [row.state for row in live])
    clock.mask += clock.lap()
    logits.wait()
    clock.model += clock.lap()
    samplers = [row.request.sampler for row in live]
    drawn = logits.draw(masks, samplers, [row.uniform() for row in live])
    for row, one in zip(live, drawn, strict=True):
        row.take(one)
    clock.other += clock.lap()


def unfinished(rows: Sequence[Row], live: Sequence[int], clock: Clock) -> list[int]:
    """Positions in `live` of the rows that go on; finished rows get their timings."""
    stay = []
    for position, r in enumerate(live):
        row = rows[r]
        if row.finish is None:
            stay.append(position)
        elif row.timings is None:
            row.timings = clock.timings(len(row.tokens))
    return stay


def new_text(rows: Sequence[Row], live: Sequence[int], clock: Clock) -> Iterator[tuple[int, str]]:
    """The text written by these rows since the last call; the reader's time is not counted."""
    for r in live:
        if piece := rows[r].take_piece():
            yield r, piece
    clock.resume()


def drop_finished(target: Target[Any], cache: Any, live: list[int], stay: list[int]) -> list[int]:
    """Drop the rows that do not stay from the cache; returns those that do."""
    if len(stay) == len(live):
        return live
    target.select(cache, stay)
    return [live[i] for i in stay]
