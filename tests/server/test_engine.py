"""The engine: rows that join, batches that cannot be joined, rows that fail alone, the device."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

import torch

import structgen as sg
from structgen.generation.distribution import row_rng
from structgen.generation.gpu import RowTable
from structgen.generation.models.joining import join
from structgen.generation.models.torch_logits import DeviceLogits
from structgen.generation.row import Row
from structgen.generation.settings import Settings
from structgen.server.engine import Engine
from structgen.server.errors import ApiError
from structgen.server.jobs import Job
from structgen.server.metrics import Metrics
from tests.server.conftest import wait_for

PROMPTS = ["One", "A longer prompt than the first.", "Extract all of it. Text: 7 of 9 lamps."]


@contextmanager
def engine_of(target: Any, joins: Callable[[Any, Any], bool] = join) -> Iterator[Engine]:
    """An engine that is closed in the end."""
    engine = Engine(target, joins, Metrics(), rows=8, waiting=8)
    try:
        yield engine
    finally:
        engine.close()


def spec_of(number: int) -> Any:
    """A spec for each prompt, with texts of several tokens."""
    names = [f"a{number}", "b"]
    properties = {name: {"type": "string", "maxLength": 8} for name in names}
    schema = {"type": "object", "properties": properties, "required": names}
    return sg.JsonSchema({**schema, "additionalProperties": False})


def row_of(generator: Any, number: int, **options: Any) -> Row:
    """A row of prompt and spec of that number."""
    settings = Settings.of({"max_tokens": 40, "seed": number} | options)
    request = generator.request(PROMPTS[number], spec_of(number), settings)
    return Row(request, row_rng(number, 0))


async def written(engine: Engine, rows: Sequence[Row], *, after: float = 0.0) -> list[str]:
    """The texts of one job."""
    await asyncio.sleep(after)
    job = Job(list(rows), asyncio.get_running_loop(), time.monotonic() + 60, states=10**6)
    engine.submit(job)
    texts = [""] * len(rows)
    async for pieces in job.pieces():
        for piece in pieces:
            texts[piece.row] += piece.text
    return texts


async def all_written(engine: Engine, generator: Any) -> list[str]:
    """The texts of three jobs, each of which comes a little later."""
    jobs = [written(engine, [row_of(generator, i)], after=0.03 * i) for i in range(3)]
    return [text for texts in await asyncio.gather(*jobs) for text in texts]


def expected(generator: Any) -> list[str]:
    """What the generator writes for each alone."""
    return [
        generator.generate(PROMPTS[i], spec_of(i), max_tokens=40, seed=i).text for i in range(3)
    ]


@pytest.mark.parametrize("joins", [True, False])
def test_rows_that_come_later_get_the_texts_that_they_get_alone(
    generator: Any, *, joins: bool
) -> None:
    """Whether caches can be joined or batches take turns."""
    with engine_of(generator.target, join if joins else lambda *_: False) as engine:
        assert asyncio.run(all_written(engine, generator)) == expected(generator)


class OnDevice:
    """The target, with logits that stay on their device and are drawn from there."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._table = RowTable(target.vocab_size, torch.device("cpu"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def prefill(self, prompts: Any) -> Any:
        """See `Target`."""
        cache, logits = self._target.prefill(prompts)
        return cache, DeviceLogits(logits._rows, self._table)

    def forward(self, cache: Any, tokens: Any) -> Any:
        """See `Target`."""
        return DeviceLogits(self._target.forward(cache, tokens)._rows, self._table)


def test_tokens_are_drawn_on_the_device(generator: Any) -> None:
    """The same texts as on the host."""
    with engine_of(OnDevice(generator.target)) as engine:
        assert asyncio.run(all_written(engine, generator)) == expected(generator)


def test_a_row_that_fails_ends_its_own_job_only(generator: Any) -> None:
    """One whose text cannot be finished within its budget, say."""

    async def both(engine: Engine) -> tuple[Any, list[str]]:
        failing = row_of(generator, 0, max_tokens=3, on_truncation="raise")
        first = written(engine, [failing])
        second = written(engine, [row_of(generator, 1)])
        found = await asyncio.gather(first, second, return_exceptions=True)
        return found[0], list(found[1]) if not isinstance(found[1], BaseException) else []

    with engine_of(generator.target) as engine:
        error, texts = asyncio.run(both(engine))
        assert isinstance(error, ApiError)
        assert error.code == "truncated"
        assert texts == [expected(generator)[1]]


def test_a_model_that_fails_fails_its_jobs_and_the_engine_goes_on(generator: Any) -> None:
    """With an error of the server."""

    class Failing(OnDevice):
        fails = True

        def forward(self, cache: Any, tokens: Any) -> Any:
            if self.fails:
                raise RuntimeError("out of memory")
            return self._target.forward(cache, tokens)

    target = Failing(generator.target)
    with engine_of(target) as engine:
        with pytest.raises(ApiError) as caught:
            asyncio.run(written(engine, [row_of(generator, 0)]))
        assert caught.value.status == 500
        target.fails = False
        assert asyncio.run(written(engine, [row_of(generator, 0)])) == [expected(generator)[0]]


def test_what_is_under_way_fails_when_the_engine_closes(generator: Any) -> None:
    """And nothing more is taken."""

    async def closing(engine: Engine) -> None:
        task = asyncio.create_task(written(engine, [row_of(generator, 0, max_tokens=400)]))
        await asyncio.to_thread(wait_for, lambda: engine.busy != (0, 0))
        await asyncio.to_thread(engine.close)
        with pytest.raises(ApiError) as caught:
            await task
        assert caught.value.status == 503
        with pytest.raises(ApiError):
            await written(engine, [row_of(generator, 0)])

    with engine_of(generator.target) as engine:
        asyncio.run(closing(engine))


def test_caches_are_joined_with_padding_in_front(generator: Any) -> None:
    """The logits of joined rows are those of the rows apart."""
    target = generator.target
    prompts = [[5, 6, 7, 8, 9, 10], [11, 12]]
    apart = []
    caches = []
    for prompt in prompts:
        cache, _ = target.prefill([prompt])
        caches.append(cache)
        again, _ = target.prefill([prompt])
        apart.append(target.forward(again, [[20]]).numpy()[0])
    for first, second in ((0, 1), (1, 0)):
        cache, _ = target.prefill([prompts[first]])
        other, _ = target.prefill([prompts[second]])
        assert join(cache, other)
        together = target.forward(cache, [[20], [20]]).numpy()
        assert abs(together[0] - apart[first]).max() < 1e-3
        assert abs(together[1] - apart[second]).max() < 1e-3
