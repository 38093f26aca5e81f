"""The thread that owns the model: all requests at once, one forward pass for a token of each.

    waiting jobs ──▶ prefill, first token ──▶ join the batch ──▶ forward ──▶ mask, draw, send ──┐
                                                                   ▲                            │
                                                                   └── ended rows leave ◀───────┘

Requests join between two tokens. Where the model's cache cannot be joined (sliding windows,
recurrent states), those that arrived together stay a batch of their own, and the batches take
turns. An error of one row ends its own request only. Requests with a loop of their own take turns
with the batches, too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from structgen.constraint.batch import fill_each
from structgen.errors import StructgenError
from structgen.generation.interfaces import DrawingLogits, Logits, Target
from structgen.generation.loop import draws_on_device
from structgen.generation.row import Row
from structgen.masks import bitmask
from structgen.server.errors import FAILED, ApiError, of_failure, of_structgen
from structgen.server.jobs import Job, Piece
from structgen.server.metrics import Metrics
from structgen.server.probabilities import Recorder

_LOG = logging.getLogger(__name__)
_PREFILL_TOKENS = 16_384  # padded tokens of prompts read in one pass
_CHECK_EVERY = 64  # tokens of a row between two checks of the states of its constraint


@dataclass(slots=True, eq=False)
class _Live:
    """A row in a batch. number: its number in the job."""

    job: Job
    number: int
    row: Row
    recorder: Recorder | None


@dataclass(slots=True, eq=False)
class _Batch:
    """Rows that share a cache: `live[i]` is row i of it; its last token has not been read yet."""

    cache: Any
    live: list[_Live]


class Engine:
    """Writes the texts of all jobs, on a thread of its own, until `close`."""

    def __init__(
        self,
        target: Target[Any],
        join: Callable[[Any, Any], bool],
        metrics: Metrics,
        *,
        rows: int,
        waiting: int,
    ) -> None:
        """Start. rows: most texts at a time. waiting: most jobs that wait for their turn.

        join: appends the rows of a second cache of the target to a first, or says that it cannot.
        """
        self._target = target
        self._join = join
        self._metrics = metrics
        self._most_rows = rows
        self._most_waiting = waiting
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._batches: list[_Batch] = []
        self._alone: list[Job] = []  # jobs with a writer of their own
        self._events: dict[Job, list[Piece]] = {}
        self._failures: dict[Job, ApiError] = {}
        self._thread = threading.Thread(target=self._run, name="structgen-engine", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive() and not self._closed

    @property
    def busy(self) -> tuple[int, int]:
        """(texts being written, jobs that wait)."""
        alone = sum(len(job.rows) for job in self._alone)
        return alone + sum(len(batch.live) for batch in self._batches), len(self._waiting)

    def submit(self, job: Job) -> None:
        """Take a job on. ApiError 429 when too many wait already, or 400 for too many rows."""
        if len(job.rows) > self._most_rows:
            raise ApiError(
                f"the request asks for {len(job.rows)} texts at once, and the server writes "
                f"{self._most_rows}",
                param="n",
            )
        with self._changed:
            if self._closed:
                raise _stopping()
            if len(self._waiting) >= self._most_waiting:
                raise ApiError(
                    f"{self._most_waiting} requests are waiting already; try again later",
                    status=429,
                    code="queue_full",
                    kind="rate_limit_error",
                )
            self._waiting.append(job)
            self._metrics.queued.set(len(self._waiting))
            self._changed.notify()

    def close(self) -> None:
        """End the thread; what is being written fails."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._batches or self._alone or self._closed):
                    self._changed.wait()
                if self._closed:
                    break
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001  # all jobs get it; the server goes on
                self._fail_all(_api_error(error))
        self._fail_all(_stopping())

    def _turn(self) -> None:
        """Let new rows in, and write one more token of each row."""
        self._admit()
        for batch in list(self._batches):
            if self._leave(batch):
                try:
                    tokens = [one.row.tokens[-1:] for one in batch.live]
                    self._step(batch.live, self._target.forward(batch.cache, tokens))
                except Exception as error:  # noqa: BLE001  # of the model: the batch is lost
                    self._fail([one.job for one in batch.live], _api_error(error))
                else:
                    self._metrics.steps.inc()
            if not self._leave(batch):
                self._batches.remove(batch)
        for job in list(self._alone):
            if not self._take_step(job):
                self._alone.remove(job)
        self._send()
        self._metrics.rows.set(self.busy[0])

    def _take_step(self, job: Job) -> bool:
        """Let a job with a writer of its own take one step; whether there are more."""
        writer: Any = job.writer
        try:
            if self._over(job):
                writer.close()
                return False
            for piece in next(writer):
                self._note(job, piece)
            for row in job.rows:
                _check_states(row.request.constraint, job.states)
        except StopIteration:
            self._metrics.tokens.labels("completion").inc(sum(len(r.tokens) for r in job.rows))
            return False
        except Exception as error:  # noqa: BLE001  # of this job alone
            self._fail([job], _api_error(error))
            writer.close()
            return False
        self._metrics.steps.inc()
        return True

    def _admit(self) -> None:
        """Read the prompts of the jobs for which there is room: whole jobs, in their order."""
        room = self._most_rows - self.busy[0]
        chosen: list[_Live] = []
        longest, now = 0, time.monotonic()
        with self._changed:
            while self._waiting:
                job = self._waiting[0]
                rows = [i for i, row in enumerate(job.rows) if row.finish is None or job.writer]
                longest = max([longest, *(len(row.request.prompt) for row in job.rows)])
                size = len(chosen) + len(rows)
                over = self._over(job)
                if not over and (size > room or (chosen and longest * size > _PREFILL_TOKENS)):
                    break
                self._waiting.popleft()
                if over:
                    continue
                self._metrics.waiting.labels("row").observe(now - job.arrived)
                if job.writer is not None:
                    self._alone.append(job)
                    room -= len(job.rows)
                    self._metrics.tokens.labels("prompt").inc(_prompt_tokens(job))
                    continue
                for number, row in enumerate(job.rows):  # a spec whose one text is empty
                    if row.finish is not None:
                        self._note(job, Piece(number, row.take_piece(), (), row.finish))
                chosen += [_Live(job, i, job.rows[i], _recorder(job)) for i in rows]
            self._metrics.queued.set(len(self._waiting))
        if chosen:
            self._prefill(chosen)

    def _prefill(self, chosen: list[_Live]) -> None:
        """Read prompts, write the first tokens, and put the rows into a batch."""
        prompts = [one.row.request.prompt for one in chosen]
        try:
            cache, logits = self._target.prefill(prompts)
            self._step(chosen, logits)
        except Exception as error:  # noqa: BLE001  # of the model, for these prompts
            self._fail([one.job for one in chosen], _api_error(error))
            return
        self._metrics.tokens.labels("prompt").inc(sum(map(len, prompts)))
        new = _Batch(cache, chosen)
        if not self._leave(new):
            return
        for batch in self._batches:
            if self._join(batch.cache, new.cache):
                batch.live += new.live
                return
        self._batches.append(new)

    def _step(self, live: Sequence[_Live], logits: Logits) -> None:
        """Mask and draw one token for each row, and note what has been written."""
        masks = bitmask.allocate(len(live), live[0].row.request.constraint.vocabulary.size)
        ready = self._fill(live, masks)
        if not any(ready):
            return
        wants_logits = any(one.job.top for one in live)
        if draws_on_device(logits, [one.row for one in live]) and not wants_logits:
            self._draw_on_device(live, ready, cast(DrawingLogits, logits))
        else:
            self._draw_on_host(live, ready, masks, logits)
        written = 0
        for one, fine in zip(live, ready, strict=True):
            if fine and one.job not in self._failures:
                written += 1
                self._written(one)
        self._metrics.tokens.labels("completion").inc(written)

    def _fill(self, live: Sequence[_Live], masks: bitmask.Rows) -> list[bool]:
        """Make all masks; which there are. What cannot be made fails its job alone."""
        begin = time.perf_counter()
        constraints = [one.row.request.constraint for one in live]
        errors = fill_each(constraints, [one.row.state for one in live], masks)
        self._metrics.masks_made(time.perf_counter() - begin)
        for i, one in enumerate(live):
            if i not in errors and len(one.row.tokens) % _CHECK_EVERY == _CHECK_EVERY - 1:
                try:
                    _check_states(constraints[i], one.job.states)
                except ApiError as error:
                    errors[i] = error
        for i, problem in errors.items():
            self._fail([live[i].job], _api_error(problem))
        return [i not in errors for i in range(len(live))]

    def _draw_on_host(
        self, live: Sequence[_Live], ready: list[bool], masks: bitmask.Rows, logits: Logits
    ) -> None:
        logits.wait()
        log_raw = logits.log_normalizers()
        if any(one.job.top for one in live):
            scores = logits.numpy()
            for i, one in enumerate(live):
                if one.recorder is not None:
                    one.recorder.before(scores[i], float(log_raw[i]))
        logits.apply(masks)
        scores = logits.numpy()
        for i, (one, fine) in enumerate(zip(live, ready, strict=True)):
            if not fine:
                continue
            try:
                one.row.step(scores[i], float(log_raw[i]))
            except Exception as error:  # noqa: BLE001  # of this row alone
                self._fail([one.job], _api_error(error))
                continue
            if one.recorder is not None:
                one.recorder.after(one.row, scores[i])

    def _draw_on_device(
        self, live: Sequence[_Live], ready: list[bool], logits: DrawingLogits
    ) -> None:
        spare = live[ready.index(True)].row  # stands in for rows that have no mask
        rows = [one.row if fine else spare for one, fine in zip(live, ready, strict=True)]
        masks = logits.masks([row.request.constraint for row in rows], [row.state for row in rows])
        logits.wait()
        uniforms = [
            one.row.uniform() if fine else 0.0 for one, fine in zip(live, ready, strict=True)
        ]
        drawn = logits.draw(masks, [row.request.sampler for row in rows], uniforms)
        for one, fine, found in zip(live, ready, drawn, strict=True):
            if not fine:
                continue
            try:
                one.row.take(found)
            except Exception as error:  # noqa: BLE001  # of this row alone
                self._fail([one.job], _api_error(error))
                continue
            if one.recorder is not None:
                one.recorder.after(one.row, None)

    # -- what the event loops get -----------------------------------------------------------------

    def _written(self, one: _Live) -> None:
        """Note what a row has written, if its job wants it now."""
        row, job = one.row, one.job
        if row.finish is None and not job.stream:
            return
        text = row.take_piece()
        if text or row.finish is not None:
            records = one.recorder.take() if one.recorder is not None else ()
            self._note(job, Piece(one.number, text, records, row.finish))

    def _note(self, job: Job, piece: Piece) -> None:
        self._events.setdefault(job, []).append(piece)

    def _fail(self, jobs: Sequence[Job], error: ApiError) -> None:
        for job in jobs:
            self._failures.setdefault(job, error)

    def _fail_all(self, error: ApiError) -> None:
        with self._changed:
            jobs = [*self._waiting, *(one.job for batch in self._batches for one in batch.live)]
            jobs += self._alone
            self._waiting.clear()
        for job in self._alone:
            cast(Any, job.writer).close()
        self._alone.clear()
        self._batches.clear()
        self._fail(jobs, error)
        self._send()
        self._metrics.rows.set(0)
        self._metrics.queued.set(0)

    def _over(self, job: Job) -> bool:
        """Whether a job has failed, or nobody waits for it, or its time is up."""
        if job.cancelled:
            if not job.let_go:
                self._metrics.dropped.labels("client").inc()
            job.let_go = True
            return True
        if job not in self._failures and time.monotonic() > job.deadline:
            self._metrics.dropped.labels("time").inc()
            self._fail([job], _too_late())
        if job in self._failures:
            job.let_go = True
        return job.let_go

    def _leave(self, batch: _Batch) -> bool:
        """Drop the rows that have ended from the batch; whether any is left."""
        stay = [
            i
            for i, one in enumerate(batch.live)
            if not self._over(one.job) and one.row.finish is None
        ]
        if stay and len(stay) < len(batch.live):
            self._target.select(batch.cache, stay)
        batch.live = [batch.live[i] for i in stay]
        return bool(stay)

    def _send(self) -> None:
        """Hand all that has happened to the event loops, each woken once."""
        events: list[tuple[Job, list[Piece] | ApiError]] = [
            (job, pieces) for job, pieces in self._events.items() if job not in self._failures
        ]
        events += self._failures.items()
        self._events, self._failures = {}, {}
        events.sort(key=lambda event: id(event[0].loop))
        for _, group in groupby(events, key=lambda event: id(event[0].loop)):
            sent = list(group)
            with suppress(RuntimeError):  # the loop has been closed, and with it who waited
                sent[0][0].loop.call_soon_threadsafe(_deliver, sent)


def _deliver(events: Sequence[tuple[Job, list[Piece] | ApiError]]) -> None:
    for job, event in events:
        job.put(event)


def _check_states(constraint: Any, most: int) -> None:
    states = constraint.size["states"]
    if states > most:
        raise ApiError(
            f"the spec has taken {states} states, and the limit is {most}", code="states_limit"
        )


def _prompt_tokens(job: Job) -> int:
    return sum(len(row.request.prompt) for row in job.rows)


def _recorder(job: Job) -> Recorder | None:
    return None if job.top is None else Recorder(job.top)


def _api_error(error: Exception) -> ApiError:
    """What a client gets of an error; what nobody has raised on purpose goes to the log."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, StructgenError):
        return of_structgen(error, None)
    _LOG.error("a text was given up", exc_info=error)
    return of_failure(error)


def _too_late() -> ApiError:
    return ApiError(
        "the time that a request may take is up",
        status=504,
        code="timeout",
        kind=FAILED,
    )


def _stopping() -> ApiError:
    return ApiError("the server is stopping", status=503, code="stopping", kind=FAILED)
