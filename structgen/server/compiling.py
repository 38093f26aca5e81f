"""Compiles specs on threads of their own: one that many requests want at once is compiled once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from structgen.errors import StructgenError
from structgen.generation.compiled import CompiledSpecs
from structgen.server.errors import ApiError, of_structgen
from structgen.server.metrics import Metrics
from structgen.server.requests.specs import Wanted
from structgen.server.settings import Limits

Found = TypeVar("Found")


@dataclass(slots=True, eq=False)
class _Flight:
    """A spec that is being compiled, and how many requests wait for it."""

    future: Future[Any]
    waiters: int = 0


class Compiler:
    """Compiles for one event loop. A spec waits in the queue until a thread is free."""

    def __init__(self, specs: CompiledSpecs, metrics: Metrics, threads: int, kept: int) -> None:
        """`specs` keeps what is compiled, `kept` of them."""
        self._specs = specs
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(threads, "structgen-compile")
        self._others = ThreadPoolExecutor(threads, "structgen-prepare")
        self._flying: dict[str, _Flight] = {}
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._kept = kept

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
        flight = self._flying.get(key)
        self._metrics.cache.labels("miss" if flight is None else "joined").inc()
        if flight is None:
            flight = self._flying[key] = _Flight(self._pool.submit(self._compile, asked))
        try:
            found = await self._wait(flight, limits.compile_seconds)
        except StructgenError as error:
            self._metrics.refused.labels(error.kind).inc()
            raise of_structgen(error, asked.param) from error
        except TimeoutError:
            self._metrics.refused.labels("compile_timeout").inc()
            raise _too_slow(asked, limits, begun=flight.future.running()) from None
        finally:
            if flight.future.done() or (not flight.waiters and flight.future.cancel()):
                self._flying.pop(key, None)
        self._known[key] = found
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return found

    async def aside(self, work: Callable[[], Found]) -> Found:
        """The result of some other work that is too slow for the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._others, work)

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._others.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, flight: _Flight, seconds: float) -> Any:
        begin = time.monotonic()
        flight.waiters += 1
        try:
            waiting = asyncio.shield(asyncio.wrap_future(flight.future))
            return await asyncio.wait_for(waiting, seconds)
        finally:
            flight.waiters -= 1
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
        kind="server_error",
    )
