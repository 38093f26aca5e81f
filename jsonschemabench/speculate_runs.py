"""In: a generator, tasks, arms. Out: a Run for each: tokens, passes, seconds, where drafts helped.

Arms take turns within a task, forwards for one task and backwards for the next, so that whatever
else the machine does hits all of them. Each task is run once by each arm: nothing that an arm
learned from a task's own text can help it there.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jsonschemabench.speculate_tasks import Task
from structgen.decode.generator import Generator
from structgen.decode.interfaces import Logits, Target
from structgen.decode.result import GenerationResult

PLAIN = "plain"

#: Name of an arm -> the `speculate` of its next text.
Arms = dict[str, Callable[[], Any]]

REGIONS = ("forced", "structure", "value")


@dataclass(frozen=True)
class Run:
    """What one arm made of one task.

    seconds: all of it; prefill: reading the prompt. draft, verify, other: the speculative loop's
    times, 0 for plain decoding. processor: seconds of processor time, the prompt's left out, which
    other processes disturb less. rounds: as in Stats. regions: for each of REGIONS, the tokens
    written, and those of them that came from a draft. load: the load average before it.
    """

    workload: str
    task: int
    arm: str
    tokens: int
    forwards: int
    seconds: float
    prefill: float
    processor: float
    draft: float
    verify: float
    other: float
    tried: tuple[int, ...]
    kept: tuple[int, ...]
    rounds: tuple[tuple[int, int, int], ...]
    regions: dict[str, tuple[int, int]]
    load: float
    same: bool

    @property
    def per_token(self) -> float:
        """Seconds for each token after the first, without reading the prompt."""
        return (self.seconds - self.prefill) / max(self.tokens - 1, 1)


class Watched:
    """A target that counts its passes, and the seconds of reading prompts, by both clocks."""

    def __init__(self, inner: Target[Any]) -> None:
        self._inner = inner
        self.forwards = 0
        self.prefill_seconds = self.prefill_processor = 0.0

    def __getattr__(self, name: str) -> Any:
        """All else is the inner one's."""
        return getattr(self._inner, name)

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[Any, Logits]:
        """Read the prompts."""
        start, processor = time.perf_counter(), time.process_time()
        cache, logits = self._inner.prefill(prompts, hidden)
        logits.wait()
        self.prefill_seconds += time.perf_counter() - start
        self.prefill_processor += time.process_time() - processor
        return cache, logits

    def forward(self, *arguments: Any) -> Logits:
        """Read tokens."""
        self.forwards += 1
        return self._inner.forward(*arguments)


def run_tasks(
    generator: Generator,
    tasks: Sequence[Task],
    arms: Arms,
    deadline: float = math.inf,
    **options: Any,
) -> Iterator[Run]:
    """Each task by each arm, until a task would probably end after `deadline` (time.monotonic)."""
    longest = 0.0
    for number, task in enumerate(tasks):
        start = time.monotonic()
        if number and start + longest > deadline:
            return
        order = list(arms) if number % 2 == 0 else list(arms)[::-1]
        generator.specs.get(task.spec)
        results = {arm: _timed(generator, task, arms[arm](), options) for arm in order}
        for arm in arms:
            same = results[arm].result.tokens == results[order[0]].result.tokens
            yield _run(generator, task, number, arm, results[arm], same=same)
        longest = max(longest, time.monotonic() - start)


@dataclass(frozen=True)
class _Timed:
    """A result with its times, as in Run."""

    result: GenerationResult
    seconds: float
    prefill: float
    processor: float
    forwards: int


def _timed(generator: Generator, task: Task, speculate: Any, options: dict[str, Any]) -> _Timed:
    """Write one text."""
    watched, place = Watched(generator.target), cast(Any, generator)
    place.target = watched
    start, processor = time.perf_counter(), time.process_time()
    try:
        result = generator.generate(task.prompt, task.spec, speculate=speculate, **options)
    finally:
        place.target = watched._inner
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    processor -= watched.prefill_processor
    return _Timed(result, seconds, watched.prefill_seconds, processor, watched.forwards)


def _run(
    generator: Generator, task: Task, number: int, arm: str, timed: _Timed, *, same: bool
) -> Run:
    result, stats = timed.result, timed.result.stats
    rounds = () if stats is None else tuple(stats.rounds)
    return Run(
        workload=task.workload,
        task=number,
        arm=arm,
        tokens=len(result.tokens),
        forwards=timed.forwards,
        seconds=timed.seconds,
        prefill=timed.prefill,
        processor=timed.processor,
        draft=stats.draft_seconds if stats else 0.0,
        verify=stats.verify_seconds if stats else 0.0,
        other=stats.other_seconds if stats else 0.0,
        tried=tuple(stats.tried) if stats else (),
        kept=tuple(stats.kept) if stats else (),
        rounds=rounds,
        regions=regions(generator, task, result.tokens, rounds),
        load=os.getloadavg()[0],
        same=same,
    )


def regions(
    generator: Generator,
    task: Task,
    tokens: Sequence[int],
    rounds: Sequence[tuple[int, int, int]],
) -> dict[str, tuple[int, int]]:
    """For each region the tokens written, and those of them that came from a draft.

    Forced: the grammar left no other bytes. Value: the token begins inside a JSON string that is no
    key, or inside a number; outside of JSON, all that is not forced. Structure: the rest.
    """
    constraint: Any = generator.specs.get(task.spec)[0]
    drafted = [i < kept for _, kept, written in rounds for i in range(written)]
    drafted += [False] * (len(tokens) - len(drafted))
    counts = {name: [0, 0] for name in REGIONS}
    scanner, state = _Json(), constraint.start
    for token, from_draft in zip(tokens, drafted, strict=True):
        data = constraint.vocabulary.token_bytes(token)
        forced = bool(data) and constraint.forced_bytes(state).startswith(data)
        value = scanner.in_value if task.workload == "json" else True
        where = "forced" if forced else "value" if value else "structure"
        if task.workload == "json":
            scanner.read(data)
        counts[where][0] += 1
        counts[where][1] += from_draft
        state = constraint.advance(state, token)
    return {name: (n, kept) for name, (n, kept) in counts.items()}


class _Json:
    """Reads JSON byte by byte: are we inside a string that is a value, or a number?"""

    def __init__(self) -> None:
        self._open: list[str] = []  # containers, outermost first
        self._string = self._escape = self._number = False
        self._key = False  # a string that begins now is a key

    @property
    def in_value(self) -> bool:
        """Whether the next byte belongs to a value that is no structure."""
        return self._number or (self._string and not self._key)

    def read(self, data: bytes) -> None:
        """Go on."""
        for byte in data.decode("latin-1"):
            if self._string:
                self._string = self._escape or byte != '"'
                self._escape = byte == "\\" and not self._escape
                continue
            self._number = byte in "-0123456789.eE+" and (self._number or byte in "-0123456789")
            if byte == '"':
                self._string = True
            elif byte in "{[":
                self._open.append(byte)
                self._key = byte == "{"
            elif byte in "}]":
                self._open.pop()
            elif byte in ":,":
                self._key = byte == "," and self._open[-1] == "{"
