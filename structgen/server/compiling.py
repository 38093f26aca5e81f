"""Compiles specs on threads of their own: one that many requests want at once is compiled once."""

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


@dataclass(slots=True, eq=False)
class _Compilation:
    """A spec that is being compiled. `done` is `future`, for the event loop."""

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

        A spec that nobody waits for any more is not begun; one that has been begun is finished
        and kept, for those who ask again.
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
        self._metrics.cache.labels("joined" if joined else "miss").inc()
        compilation = self._under_way[key] if joined else self._begin(asked)
        try:
            return await self._wait(compilation, limits.compile_seconds)
        except StructgenError as error:
            self._metrics.refused.labels(error.kind).inc()
            raise of_structgen(error, asked.param) from error
        except TimeoutError:
            self._metrics.refused.labels("compile_timeout").inc()
            raise _too_slow(asked, limits, begun=compilation.future.running()) from None
        finally:
            if not compilation.waiters and compilation.future.cancel():
                self._end(key, compilation)

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, asked: Wanted) -> _Compilation:
        future = self._pool.submit(self._compile, asked)
        found = _Compilation(future, asyncio.wrap_future(future))
        found.done.add_done_callback(lambda _: self._end(asked.key, found))
        self._under_way[asked.key] = found
        return found

    def _end(self, key: str, ended: _Compilation) -> None:
        """Keep the spec, unless it was refused or given up. A compilation may end twice."""
        if self._under_way.get(key) is not ended:
            return
        del self._under_way[key]
        if not ended.future.cancelled() and ended.done.exception() is None:
            self._known[key] = ended.done.result()
            while len(self._known) > self._specs.kept:
                self._known.popitem(last=False)

    async def _wait(self, compilation: _Compilation, seconds: float) -> Any:
        begin = time.monotonic()
        compilation.waiters += 1
        try:
            return await asyncio.wait_for(asyncio.shield(compilation.done), seconds)
        finally:
            compilation.waiters -= 1
            self._metrics.waiting.labels("compile").observe(time.monotonic() - begin)

    def _compile(self, asked: Wanted) -> Any:
        """On a thread of the pool: the spec, its constraint and its first mask."""
        begin = time.perf_counter()
        spec = asked.make()
        constraint, _ = self._specs.get(spec)
        made: Any = constraint
        made.mask_view(constraint.start)
        self._metrics.compile.observe(time.perf_counter() - begin)
        return spec


def _too_slow(asked: Wanted, limits: Limits, *, begun: bool) -> ApiError:
    if begun:
        return ApiError(
            f"compiling the spec takes longer than {limits.compile_seconds:g} seconds",
            param=asked.param,
            code="compile_timeout",
            more={"hint": "make the spec smaller; it is kept once it is compiled"},
        )
    return ApiError(
        "all threads that compile specs are busy; try again later",
        param=asked.param,
        status=503,
        code="compilers_busy",
        kind=FAILED,
    )
