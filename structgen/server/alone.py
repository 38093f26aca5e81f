"""Texts that are written by a loop of their own: with drafts, or by a sampler of whole texts.

Such a loop does not share its forward passes with other requests. The engine's thread takes it one
step at a time, in turn with the batches; a step is an item of the iterator.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

from structgen.generation.generator import Generator
from structgen.generation.row import Row
from structgen.generation.sampling.api import posterior_of_request
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import draw
from structgen.generation.speculation.loop import decode
from structgen.server.jobs import Piece
from structgen.util.cancellation import CancelledError

#: The samplers whose texts are independent draws of the model's own distribution: without weights.
EXACT = ("cars", "rejection")


def with_drafts(generator: Generator, rows: Sequence[Row], drafter: str) -> Iterator[list[Piece]]:
    """The texts of some rows, written by speculative decoding."""
    speculation = generator.speculations.of(drafter, generator.target)
    ended: set[int] = set()
    for number, text in decode(generator.target, rows, speculation):
        yield [Piece(number, text, (), None), *_ends(rows, ended)]
    yield _ends(rows, ended)


def _ends(rows: Sequence[Row], ended: set[int]) -> list[Piece]:
    """Pieces that say of rows not in `ended` that they have ended; the numbers are added to it."""
    fresh = [i for i, row in enumerate(rows) if row.finish is not None and i not in ended]
    ended.update(fresh)
    return [Piece(i, "", (), rows[i].finish) for i in fresh]


def drawn(
    generator: Generator, rows: Sequence[Row], sampler: str, each: int, seed: int | None
) -> Iterator[list[Piece]]:
    """The texts of some rows, drawn by a sampler; `each` rows in a row have one prompt.

    GenerationError at once for what no sampler can do.
    """
    posteriors = [posterior_of_request(generator, row.request) for row in rows[::each]]

    def write() -> Iterator[list[Piece]]:
        for number, posterior in enumerate(posteriors):
            first = number * each
            with InSteps(partial(_draw, posterior, sampler, each, seed)) as steps:
                yield from ([] for _ in steps)
                samples = steps.result
            for i, sample in enumerate(samples, first):
                rows[i].tokens, rows[i].finish = list(sample.tokens), "complete"
                yield [Piece(i, sample.text, (), rows[i].finish)]

    return write()


def _draw(
    posterior: Posterior, sampler: str, count: int, seed: int | None, pause: Callable[[], None]
) -> Any:
    posterior.model = _Pausing(posterior.model, pause)
    return draw(posterior, sampler, count, seed)


class _Pausing:
    """A model that pauses before each call."""

    def __init__(self, model: Any, pause: Callable[[], None]) -> None:
        self._model = model
        self._pause = pause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def log_probs(self, prefixes: Any) -> Any:
        """See `Model.log_probs`."""
        self._pause()
        return self._model.log_probs(prefixes)


class InSteps:
    """Work that pauses, as an iterator over its steps: between two of them it stands still.

    It is done on a thread of its own while the caller of `next` waits, so the two never run at
    once. result: what it returned, after the last step. Leaving the block ends work that pauses.
    """

    def __init__(self, work: Callable[[Callable[[], None]], Any]) -> None:
        """work: takes the function that it shall call where it may pause."""
        self.result: Any = None
        self._work = work
        self._error: BaseException | None = None
        self._ended = self._given_up = False
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="structgen-sampler", daemon=True)
        self._thread.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> None:
        if not self._ended:
            self._go.release()
            self._paused.acquire()
        if self._error is not None:
            raise self._error
        if self._ended:
            raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._given_up = True
        while not self._ended:
            self._go.release()
            self._paused.acquire()
        self._thread.join()

    def _pause(self) -> None:
        self._paused.release()
        self._go.acquire()
        if self._given_up:
            raise CancelledError

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._given_up:
                self.result = self._work(self._pause)
        except BaseException as error:  # noqa: BLE001  # the caller of `next` gets it
            self._error = error
        finally:
            self._ended = True
            self._paused.release()
