"""Feeds the instances of one case to an engine, and times every mask; runs in its child process.

The time to the first mask is that of compiling, starting and filling one mask. The time of a token
is that of its mask and its acceptance, twice: on "first use", where the schema's states are met for
the first time, and "seen before", when all instances are fed again. The end token counts as one,
the very first mask as time to the first mask. Reading a token's bit is not timed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from jsonschemabench.engines import engine_class
from jsonschemabench.engines.engine import (
    GBNF,
    JSON_SCHEMA,
    LARK,
    Compiled,
    Engine,
    Matcher,
    Refused,
    Row,
    Spec,
)
from jsonschemabench.running.times import histogram
from jsonschemabench.running.workers import PeakMemory
from structgen import Vocabulary

USES = ("first_use", "seen_before")  # fields of a record
#: Specs that an engine compiles before the first case.
TRIVIAL = {JSON_SCHEMA: '{"type": "string"}', LARK: 'start: "a"', GBNF: 'root ::= "a"'}


@dataclass(frozen=True)
class MaskJob:
    """A spec and the tokens of its instances."""

    spec: Spec
    instances: list[list[int]]
    clock: str = "wall"


CLOCKS = {"wall": time.perf_counter_ns, "cpu": time.thread_time_ns}


class ContradictionError(Exception):
    """An engine contradicts itself."""


def start(engine: str, vocabulary: Vocabulary) -> Callable[[MaskJob], dict[str, Any]]:
    """Prepare an engine; returns what does a job. Called once in the child process."""
    measured = engine_class(engine)()
    measured.prepare(vocabulary)
    measured.settle()
    row = np.zeros(vocabulary.words, np.int32)
    ends = vocabulary.eos_ids[:1]
    for kind in TRIVIAL.keys() & measured.kinds:
        _warm_up(measured, Spec(kind, TRIVIAL[kind]), row)

    def do(job: MaskJob) -> dict[str, Any]:
        return measure(measured, row, ends, job)

    gc.collect()
    gc.freeze()  # what is there now need not be looked at again in the middle of a measurement
    return do


def _warm_up(engine: Engine, spec: Spec, row: Row) -> None:
    """Spend what an engine spends once in a process, so that no case pays for it."""
    with contextlib.suppress(Refused):
        engine.compile(spec).start(row).mask()


def measure(engine: Engine, row: Row, ends: tuple[int, ...], job: MaskJob) -> dict[str, Any]:
    """Times, memory and answers of one case.

    `refused`: kind and message, or else `accepted`: for each instance whether it was, and
    `positions`: how many of its tokens were. `contradiction` says where the engine's mask and its
    other answers differ.
    """
    gc.collect()
    peak, process = PeakMemory(), psutil.Process(os.getpid())
    before = process.memory_info().rss
    peak.reset()
    found: dict[str, Any] = {}
    clock = CLOCKS[job.clock]
    begin = clock()
    try:
        compiled = engine.compile(job.spec)
        compile_ns = clock() - begin
        matcher = compiled.start(row)
        matcher.mask()
    except Refused as refusal:
        found["refused"] = {"kind": refusal.kind, "message": refusal.message}
        found["refuse_ns"] = clock() - begin
    else:
        found["first_mask_ns"] = clock() - begin
        found["compile_ns"] = compile_ns
        try:
            found |= _uses(compiled, matcher, row, ends, job)
        except ContradictionError as contradiction:
            found["contradiction"] = str(contradiction)
        found["memory_compiled"] = compiled.memory_bytes
    found["memory_peak"] = peak.read()
    found["memory_growth"] = max(0, found["memory_peak"] - before)
    return found


def _uses(
    compiled: Compiled,
    first: Matcher,
    row: Row,
    ends: tuple[int, ...],
    job: MaskJob,
) -> dict[str, Any]:
    """All instances, twice. The matcher `first` has just filled its first mask."""
    found: dict[str, Any] = {}
    answers: list[list[tuple[bool, int]]] = []
    clock = CLOCKS[job.clock]
    for use in USES:
        times: list[int] = []
        answers.append([])
        for number, ids in enumerate(job.instances):
            fresh = use == USES[0] and number == 0
            matcher = first if fresh else compiled.start(row)
            answers[-1].append(feed(matcher, row, ids, ends, times, clock, masked=fresh))
        found[use] = histogram(times)
    if answers[0] != answers[1]:
        raise ContradictionError("an instance fares otherwise when it is fed again")
    found["accepted"] = [accepted for accepted, _ in answers[0]]
    found["positions"] = [position for _, position in answers[0]]
    return found


def feed(
    matcher: Matcher,
    row: Row,
    ids: list[int],
    ends: tuple[int, ...],
    times: list[int],
    clock: Callable[[], int] = time.perf_counter_ns,
    *,
    masked: bool = False,
) -> tuple[bool, int]:
    """Whether all tokens are allowed and the text may end behind them, and how many are allowed.

    Adds the nanoseconds of each token to `times`; a token that the mask forbids is not tried.
    masked: the first mask is in the row already.
    """
    mask, accept, bits = matcher.mask, matcher.accept, row.data
    for position, token in enumerate([*ids, *ends]):
        begin = clock()
        if not masked:
            mask()
        filled = clock()
        masked = False
        allowed = bool(bits[token >> 5] >> (token & 31) & 1)
        if position == len(ids) and allowed != matcher.done():
            says = ("forbids", "may end") if not allowed else ("allows", "may not end")
            raise ContradictionError(f"the mask {says[0]} the end token, but the text {says[1]}")
        if not allowed:
            times.append(filled - begin)
            return False, position
        middle = clock()
        agreed = accept(token)
        times.append(clock() - middle + filled - begin)
        if not agreed:
            raise ContradictionError(f"the mask allows token {token}, but it is not accepted")
    return bool(ends) or matcher.done(), len(ids)
