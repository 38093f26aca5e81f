"""Runs each task with plain decoding and with each drafter, and notes tokens, passes and seconds.

Arms take turns within a task, or a batch of tasks, forwards for one and backwards for the next, so
that whatever else the machine does hits all of them. Each task is run once by each arm: nothing
that an arm learned from a task's own text can help it there.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, cast

from jsonschemabench.speculate.tasks import Task
from structgen.generation.generator import Generator
from structgen.generation.interfaces import Logits, Target
from structgen.generation.result import GenerationResult

PLAIN = "plain"

#: Name of an arm -> the `speculate` of its next text.
Arms = dict[str, Callable[[], Any]]

REGIONS = ("forced", "structure", "value")


@dataclass(frozen=True)
class Run:
    """What one arm made of one task, or of several in one batch, whose first one is `task`.

    tokens, texts: written. forwards: passes, counted for each text that was in one. seconds: all of
    it; prefill: reading the prompt. draft, verify, other: the speculative loop's times, 0 for plain
    decoding. processor: seconds of processor time, the prompt's left out, which other processes
    disturb less. rounds: as in Stats, without the prompt's. regions: for each of REGIONS, the
    tokens written, and those of them that came from a draft. by_drafter: those, by who drafted
    them. load: the load average before it. session: the command that it was a part of, where there
    were several.
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
    texts: int = 1
    by_drafter: dict[str, int] = field(default_factory=dict)
    session: int = 0

    @property
    def later(self) -> int:
        """Tokens after the first of each text, which the prompt's pass gave."""
        return max(self.tokens - self.texts, 1)

    @property
    def per_token(self) -> float:
        """Seconds for each of these, without reading the prompt."""
        return (self.seconds - self.prefill) / self.later


class Watched:
    """A target that counts the seconds of reading prompts, by both clocks."""

    def __init__(self, inner: Target[Any]) -> None:
        self._inner = inner
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


def run_tasks(
    generator: Generator,
    tasks: Sequence[Task],
    arms: Arms,
    deadline: float = math.inf,
    *,
    batch: int = 1,
    known: Callable[[int], bool] | None = None,
    **options: Any,
) -> Iterator[Run]:
    """Each `batch` tasks by each arm, until some would probably end after `deadline` (monotonic).

    What is left of the tasks when they make no whole batch is not run, nor is what is `known`,
    asked by the number of the first task.
    """
    longest = 0.0
    for number in range(len(tasks) // batch):
        some = tasks[number * batch : (number + 1) * batch]
        start = time.monotonic()
        if known is not None and known(number * batch):
            continue
        if longest and start + longest > deadline:
            return
        order = list(arms) if number % 2 == 0 else list(arms)[::-1]
        for task in some:
            generator.specs.get(task.spec)
        results = {arm: _timed(generator, some, arms[arm](), options) for arm in order}
        first = [result.tokens for result in results[order[0]].results]
        for arm in arms:
            same = [result.tokens for result in results[arm].results] == first
            yield _run(generator, some, number * batch, arm, results[arm], same=same)
        longest = max(longest, time.monotonic() - start)


@dataclass(frozen=True)
class _Timed:
    """Results with their times, as in Run."""

    results: list[GenerationResult]
    seconds: float
    prefill: float
    processor: float


def _timed(
    generator: Generator, some: Sequence[Task], speculate: Any, options: dict[str, Any]
) -> _Timed:
    """Write the texts of one batch."""
    watched, place = Watched(generator.target), cast(Any, generator)
    place.target = watched
    prompts, specs = [task.prompt for task in some], [task.spec for task in some]
    start, processor = time.perf_counter(), time.process_time()
    try:
        results = generator.batch(prompts, specs, speculate=speculate, **options)
    finally:
        place.target = watched._inner
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    processor -= watched.prefill_processor
    return _Timed(results, seconds, watched.prefill_seconds, processor)


def _run(
    generator: Generator, some: Sequence[Task], number: int, arm: str, timed: _Timed, *, same: bool
) -> Run:
    stats = [result.stats for result in timed.results if result.stats is not None]
    found = [
        regions(generator, task, result.tokens, result.stats.rounds if result.stats else ())
        for task, result in zip(some, timed.results, strict=True)
    ]
    passes = [s.forwards for s in stats] or [len(r.tokens) - 1 for r in timed.results]
    count = max(len(stats), 1)  # their times are those of the whole batch
    return Run(
        workload=some[0].workload,
        task=number,
        arm=arm,
        tokens=sum(len(result.tokens) for result in timed.results),
        forwards=sum(passes),
        seconds=timed.seconds,
        prefill=timed.prefill,
        processor=timed.processor,
        draft=sum(s.draft_seconds for s in stats) / count,
        verify=sum(s.verify_seconds for s in stats) / count,
        other=sum(s.other_seconds for s in stats) / count,
        tried=_sum([s.tried for s in stats]),
        kept=_sum([s.kept for s in stats]),
        rounds=tuple(one for s in stats for one in s.rounds[1:]),
        regions={
            name: (sum(each[name][0] for each in found), sum(each[name][1] for each in found))
            for name in REGIONS
        },
        load=os.getloadavg()[0],
        same=same,
        texts=len(some),
        by_drafter=dict(sum((s.by_drafter for s in stats), Counter[str]())),
    )


def _sum(counts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Of several lists by depth, the sums."""
    return tuple(map(sum, zip_longest(*counts, fillvalue=0)))


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
