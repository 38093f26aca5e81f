"""Compiles specs on threads of their own: one that many requests want at once is compiled once.

When nobody waits for a compilation any more, because clients have gone away or their time is up, it
is cancelled, also in the middle (`structgen.util.cancellation`).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from structgen.errors import StructgenError
from structgen.generation.compiled import CompiledSpecs
from structgen.server.errors import FAILED, ApiError, of_structgen
from structgen.server.metrics import Metrics
from structgen.server.requests.specs import Wanted
from structgen.server.settings import Limits
from structgen.server.tracing import begin
from structgen.util.cancellation import Cancellation, CancelledError, cancellable


@dataclass(slots=True, eq=False)
class _Compilation:
    """A spec that is being compiled. `done` is `future`, for the event loop."""

    work: Cancellation
    future: Future[Any]
    done: asyncio.Future[Any]
    waiters: int = 0


class Compiler:
    """Compiles for one event loop. A spec waits in the queue until a thread is free."""

    def __init__(self, specs: CompiledSpecs, metrics: Metrics, threads: int) -> None:
        """`specs` keeps what is compiled."""
        self._specs = specs
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(threads, "structgen-compile")
        self._under_way: dict[str, _Compilation] = {}
        self._known: OrderedDict[str, Any] = OrderedDict()  # those that `specs` keeps

    async def spec(self, asked: Wanted, limits: Limits) -> Any:
        """The spec, compiled. ApiError 400 if it is refused, too large or takes too long.

        Once nobody waits for a spec any more, it is not compiled further, and nothing of it is
        kept.
        """
        if asked.size > limits.spec_bytes:
            raise ApiError(
                f"the spec has {asked.size} bytes, and the limit is {limits.spec_bytes}",
                param=asked.param,
                code="spec_too_large",
            )
        key = asked.key
        if key in self._known:
            self._known.move_to_end(key)
            self._metrics.cache.labels("hit").inc()
            return self._known[key]
        joined = key in self._under_way
        outcome = "joined" if joined else "miss"
        self._metrics.cache.labels(outcome).inc()
        compilation = self._under_way[key] if joined else self._begin(asked)
        about = {"structgen.spec": key, "structgen.kind": asked.kind, "structgen.lookup": outcome}
        span = begin("compile spec", **about)
        try:
            return await self._wait(compilation, min(limits.compile_seconds, limits.seconds))
        except StructgenError as error:
            span.set_attribute("error.type", error.kind)
            self._metrics.refused.labels(error.kind).inc()
            raise of_structgen(error, asked.param) from error
        except TimeoutError:
            span.set_attribute("error.type", "compile_timeout")
            self._metrics.refused.labels("compile_timeout").inc()
            raise _too_slow(asked, limits, begun=compilation.future.running()) from None
        finally:
            span.end()
            if not compilation.waiters:
                self._give_up(key, compilation)

    def close(self) -> None:
        """Take no more work, and end what is under way."""
        for compilation in self._under_way.values():
            compilation.work.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, asked: Wanted) -> _Compilation:
        work = Cancellation()
        future = self._pool.submit(self._compile, asked, work)
        found = _Compilation(work, future, asyncio.wrap_future(future))
        found.done.add_done_callback(lambda _: self._end(asked.key, found))
        self._under_way[asked.key] = found
        return found

    def _give_up(self, key: str, compilation: _Compilation) -> None:
        """End a compilation for which nobody waits. Who asks from now on begins another one."""
        if not compilation.future.done() and self._under_way.get(key) is compilation:
            del self._under_way[key]
            compilation.work.cancel()
            compilation.future.cancel()  # if it has not begun
            self._metrics.cancelled.inc()

    def _end(self, key: str, ended: _Compilation) -> None:
        """Keep the spec, unless it was refused or given up."""
        if self._under_way.get(key) is not ended:
            return
        del self._under_way[key]
        if not ended.future.cancelled() and ended.done.exception() is None:
            self._known[key] = ended.done.result()
            while len(self._known) > self._specs.kept:
                self._known.popitem(last=False)

    async def _wait(self, compilation: _Compilation, seconds: float) -> Any:
        start = time.monotonic()
        compilation.waiters += 1
        try:
            return await asyncio.wait_for(asyncio.shield(compilation.done), seconds)
        finally:
            compilation.waiters -= 1
            self._metrics.waiting.labels("compile").observe(time.monotonic() - start)

    def _compile(self, asked: Wanted, work: Cancellation) -> Any:
        """On a thread of the pool: the spec, with its first mask made; None if it was given up."""
        start = time.perf_counter()
        try:
            with cancellable(work):
                spec = asked.make()
                constraint, _ = self._specs.get(spec)
                made: Any = constraint
                made.mask_view(constraint.start)
        except CancelledError:
            return None
        self._metrics.compile.observe(time.perf_counter() - start)
        return spec


def _too_slow(asked: Wanted, limits: Limits, *, begun: bool) -> ApiError:
    if begun:
        return ApiError(
            f"compiling the spec takes longer than {limits.compile_seconds:g} seconds",
            param=asked.param,
            code="compile_timeout",
            more={"hint": "make the spec smaller; its compilation has been given up"},
        )
    return ApiError(
        "all threads that compile specs are busy; try again later",
        param=asked.param,
        status=503,
        code="compilers_busy",
        kind=FAILED,
    )
