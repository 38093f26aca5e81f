"""A request while it is answered: its rows, and what has happened to them, for the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from structgen.generation.row import Row
from structgen.server.errors import ApiError
from structgen.server.probabilities import TokenRecord
from structgen.server.tracing import begin


class Piece(NamedTuple):
    """What one row has written since the last piece. finish: why it has ended, or None."""

    row: int
    text: str
    tokens: tuple[TokenRecord, ...]
    finish: str | None


@dataclass(slots=True, eq=False)
class Job:
    """One request. The engine's thread writes the rows; `pieces` hands them to the event loop.

    writer: writes the rows in a loop of its own, an item for each step (`structgen.server.alone`);
    None for rows that share forward passes with others.
    reasons: whether the prompt ends inside of the model's reasoning; None where it has none.
    deadline: when the request is given up, by time.monotonic(). stream: whether pieces are wanted
    as they come, or each text once it has ended. top: how many alternatives are wanted for each
    token, None where no probabilities are. states: the most states of a constraint. cancelled:
    nobody waits for it any more. let_go: the engine knows that it is over.
    """

    rows: list[Row]
    loop: asyncio.AbstractEventLoop
    deadline: float
    stream: bool = False
    top: int | None = None
    states: int = 0
    writer: Iterator[list[Piece]] | None = None
    reasons: bool | None = None
    arrived: float = field(default_factory=time.monotonic)
    cancelled: bool = False
    let_go: bool = False
    _queue: asyncio.Queue[list[Piece] | ApiError] = field(default_factory=asyncio.Queue)

    def put(self, event: list[Piece] | ApiError) -> None:
        """Hand an event to whoever reads `pieces`; called on the event loop."""
        self._queue.put_nowait(event)

    def cancel(self) -> None:
        """Nobody waits for it any more: the engine lets its rows go before the next token."""
        self.cancelled = True

    async def pieces(self) -> AsyncIterator[list[Piece]]:
        """What the rows write, until all have ended. ApiError where the job fails."""
        left = len(self.rows)
        span = begin("write texts", **{"structgen.texts": left})
        try:
            while left:
                event = await self._queue.get()
                if isinstance(event, ApiError):
                    span.set_attribute("error.type", event.code)
                    raise event
                span.add_event("text")
                left -= sum(piece.finish is not None for piece in event)
                yield event
        finally:
            tokens = sum(len(row.tokens) for row in self.rows)
            span.set_attribute("gen_ai.usage.output_tokens", tokens)
            span.end()
