"""Run many random requests with drafts, and report what went wrong.

    python -m tests.fuzz.soak --requests 10000 --seed 1 --threads 3

Requests of all kinds at once: batches of mixed specs, all drafters, streams that are dropped, hooks
that raise. Checked are that each text fits its spec, that each row is what it is when it is alone
and without drafts (the model computes in float64), that each session ends, and that memory stays.
Exit status 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import psutil

import structgen as sg
from structgen.errors import TruncatedError
from structgen.generation.generator import Generator
from structgen.generation.speculation.interfaces import Drafter, Session
from structgen.generation.speculation.names import MODEL_FREE
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import Context
from tests.generation.models import build_model, build_tokenizer

_COMPARED = 3  # one request in so many is made again, alone and without drafts
_MEGABYTE = 1 << 20
_SPEC_BYTES = 2 << 20  # memory of a constraint, so that all are filled and forgotten many times


class HookError(Exception):
    """What the hooks raise."""


@dataclass
class Counting:
    """A drafter that counts the sessions that began and ended, of whatever drafter it has."""

    inner: Drafter
    began: int = 0
    ended: int = 0
    lock: Any = field(default_factory=threading.Lock)

    @property
    def hidden(self) -> tuple[int, ...]:
        """What the inner one needs."""
        return self.inner.hidden

    def begin(self, context: Context) -> CountingSession:
        """Start on a text."""
        with self.lock:
            self.began += 1
        return CountingSession(self, self.inner.begin(context))


class CountingSession:
    """A session that tells when it ends."""

    def __init__(self, drafter: Counting, inner: Session) -> None:
        self._drafter = drafter
        self._inner = inner
        self.propose = inner.propose
        self.observe = inner.observe

    def end(self, context: Context) -> None:
        """The text is finished, or was given up."""
        with self._drafter.lock:
            self._drafter.ended += 1
        self._inner.end(context)


@dataclass
class Report:
    """What happened. `faults` are descriptions of what must not happen.

    grown_megabytes: since a third of the requests. curve: megabytes after each tenth of them.
    """

    requests: int = 0
    rows: int = 0
    tokens: int = 0
    drafted: int = 0
    kept: int = 0
    compared: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    open_sessions: int = 0
    grown_megabytes: float = 0.0
    curve: list[int] = field(default_factory=list)
    seconds: float = 0.0


SPECS: list[Callable[[Random], Any]] = [
    lambda rng: sg.JsonSchema(
        {
            "type": "object",
            "properties": {
                "k": {"enum": rng.sample(["ab", "abab", "true", "aab", "é"], 2)},
                "n": {"type": "array", "items": {"type": "boolean"}, "maxItems": rng.randint(1, 4)},
                "s": {"type": "string", "maxLength": rng.randint(1, 6)},
            },
            "required": rng.sample(["k", "n", "s"], rng.randint(0, 3)),
        }
    ),
    lambda rng: sg.Regex(f"(ab|true|[0-9]{{{rng.randint(1, 3)}}})+"),
    lambda rng: sg.Choice(["true", "abab", "ba" * rng.randint(1, 4)]),
    lambda rng: sg.Lark('start: "[" (start ("," start)*)? "]" | "true" | "ab"'),
    lambda rng: sg.FreeText(),
    lambda rng: {"type": "integer", "minimum": 0, "maximum": rng.randint(1, 10**6)},
]

PROMPTS = ("true", "ab ab ab", "k", '{"k": "ab", "n": [true, true]}', "éabéab", "[true,[ab]]")


class Soak:
    """A tiny model under load."""

    def __init__(self, seed: int) -> None:
        tokenizer = build_tokenizer()
        self.generator = Generator(
            build_model(tokenizer, context=160).double(), tokenizer, spec_bytes=_SPEC_BYTES
        )
        self.report = Report()
        rng = Random(seed)
        self._specs = [make(rng) for make in SPECS for _ in range(6)]
        self._drafters: dict[str, Counting] = {}
        self._speculations: dict[str, Speculation] = {}
        for name in MODEL_FREE:
            found = self.generator.speculations.of(name, self.generator.target)
            self._drafters[name] = Counting(found.drafter)
            self._speculations[name] = Speculation(
                self._drafters[name], rule=found.rule, policy=found.policy, lossy=found.lossy
            )
        self._lock = threading.Lock()

    def run(self, requests: int, seed: int, threads: int) -> Report:
        """So many requests, by so many threads; request i is the same in every run."""
        numbers = itertools.count()
        start, memory = time.monotonic(), 0

        def work() -> None:
            while (number := next(numbers)) < requests:
                self._guarded(Random(seed * 1_000_003 + number), number)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.05)
            done = self.report.requests
            if not memory and done > requests // 3:
                memory = self._memory()  # by now caches are full
            if done * 10 > requests * (len(self.report.curve) + 1):
                self.report.curve.append(self._memory() // _MEGABYTE)
        report = self.report
        gc.collect()
        report.grown_megabytes = (self._memory() - memory) / _MEGABYTE
        report.open_sessions = sum(d.began - d.ended for d in self._drafters.values())
        if report.open_sessions:
            report.faults.append(f"{report.open_sessions} sessions never ended")
        report.seconds = time.monotonic() - start
        return report

    def _guarded(self, rng: Random, number: int) -> None:
        try:
            kind = rng.choices(("batch", "stream", "dropped", "hook"), (6, 2, 1, 1))[0]
            getattr(self, f"_{kind}")(rng, number)
        except TruncatedError:
            kind = "too long"
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a fault
            self._fault(number, f"{type(error).__name__}: {error}")
            kind = "error"
        with self._lock:
            self.report.requests += 1
            self.report.kinds[kind] += 1
        if number % 500 == 0:
            gc.collect()
            sys.stderr.write(f"\r{number} requests, {len(self.report.faults)} faults")

    def _batch(self, rng: Random, number: int) -> None:
        rows = rng.randint(1, 4)
        prompts, specs = rng.choices(PROMPTS, k=rows), rng.choices(self._specs, k=rows)
        options, n = self._options(rng), rng.choice((1, 1, 2))
        found = self.generator.batch(prompts, specs, n=n, speculate=self._wish(rng), **options)
        for prompt, spec, samples in zip(prompts, specs, found, strict=True):
            for result in samples:
                self._check(number, spec, result)
            if rng.randrange(_COMPARED) == 0:
                alone = self.generator.generate(prompt, spec, n=n, **options)
                self._compare(number, samples, alone)

    def _stream(self, rng: Random, number: int) -> None:
        prompt, spec, options = rng.choice(PROMPTS), rng.choice(self._specs), self._options(rng)
        stream = self.generator.stream(prompt, spec, speculate=self._wish(rng), **options)
        text = "".join(stream)
        self._check(number, spec, stream.result)
        if text != stream.result.text:
            self._fault(number, "the pieces of a stream are not its text")
        if rng.randrange(_COMPARED) == 0:
            self._compare(
                number, [stream.result], [self.generator.generate(prompt, spec, **options)]
            )

    def _dropped(self, rng: Random, number: int) -> None:
        options = self._options(rng)
        spec, wish = rng.choice(self._specs), self._wish(rng)
        stream = self.generator.stream(rng.choice(PROMPTS), spec, speculate=wish, **options)
        for _ in itertools.islice(stream, rng.randint(0, 3)):
            pass
        del stream

    def _hook(self, rng: Random, number: int) -> None:
        left = rng.randint(0, 12)

        def weight(state: int, ids: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise HookError
            return np.zeros(len(ids))

        prompts, specs = rng.choices(PROMPTS, k=2), rng.choices(self._specs, k=2)
        options = self._options(rng) | {"weight": weight}
        try:
            found = self.generator.batch(prompts, specs, speculate=self._wish(rng), **options)
        except HookError:
            return
        for spec, result in zip(specs, found, strict=True):
            self._check(number, spec, result)

    def _options(self, rng: Random) -> dict[str, Any]:
        options: dict[str, Any] = {
            "seed": rng.randrange(1000),
            "temperature": rng.choice((0.0, 0.5, 1.0)),
            "max_tokens": rng.randint(12, 40),
        }
        if rng.random() < 0.2:
            options["on_truncation"] = "raise"
        if rng.random() < 0.2:
            options["stop"] = "eos"
        if rng.random() < 0.3:
            options["top_k"] = rng.randint(1, 20)
        return options

    def _wish(self, rng: Random) -> Speculation:
        names = list(self._speculations)
        return self._speculations[rng.choice(["auto"] * len(names) + names)]

    def _check(self, number: int, spec: Any, result: Any) -> None:
        """The text fits; nothing was written that the constraint forbids."""
        constraint, _ = self.generator.specs.get(spec)
        state = constraint.start
        for token in result.tokens:
            state = constraint.advance(state, token)
            if state == sg.DEAD:
                self._fault(number, f"token {token} is illegal in {result.text!r}")
                break
        else:
            if state != sg.FINAL and not constraint.is_accepting(state):
                self._fault(number, f"{result.text!r} is not finished")
        with self._lock:
            self.report.rows += 1
            self.report.tokens += len(result.tokens)
            self.report.drafted += result.stats.drafted
            self.report.kept += result.stats.accepted

    def _compare(self, number: int, found: Sequence[Any], alone: Any) -> None:
        """Rows are what they are alone and without drafts."""
        alone = alone if isinstance(alone, list) else [alone]
        with self._lock:
            self.report.compared += len(found)
        for one, other in zip(found, alone, strict=True):
            if (one.tokens, one.finish_reason) != (other.tokens, other.finish_reason):
                self._fault(number, f"{one.text!r}, but alone and without drafts {other.text!r}")

    def _fault(self, number: int, what: str) -> None:
        with self._lock:
            self.report.faults.append(f"request {number}: {what}")

    @staticmethod
    def _memory() -> int:
        return int(psutil.Process().memory_info().rss)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print the report, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--threads", type=int, default=3, metavar="N")
    args = parser.parse_args(argv)
    import torch

    torch.set_num_threads(1)
    report = Soak(args.seed).run(args.requests, args.seed, args.threads)
    for name, value in vars(report).items():
        sys.stdout.write(f"{name}: {len(value) if name == 'faults' else value}\n")
    for fault in report.faults[:20]:
        sys.stdout.write(f"--- {fault}\n")
    return bool(report.faults)


if __name__ == "__main__":
    sys.exit(main())
