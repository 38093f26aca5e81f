"""The child process of `generate`: keeps the model and the engines, and writes one text per job.

The model is loaded once and shared by all engines, so a crash costs one text and a new start. The
clock of a text starts with its compilation; the engine and the model are warm by then.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from jsonschemabench.engines.engine import JSON_SCHEMA, Compiled, Engine, Refused, Spec
from jsonschemabench.generate.engines import engine_class
from jsonschemabench.generate.loop import Choose, Job, Session, Written, write
from jsonschemabench.generate.samplers import SAMPLERS
from jsonschemabench.generate.tasks import Style, Task, prompts
from jsonschemabench.running import times
from structgen.generation.distribution import Sampler, row_rng

_WARM = '{"enum": ["warm", true, null]}'


@dataclass(frozen=True)
class Setup:
    """A model, and how to generate with it.

    threads: of the model on a CPU, None leaves that to torch. seconds: that one text may take.
    """

    model: str
    device: str | None
    dtype: str | None
    threads: int | None
    style: Style
    max_tokens: int
    temperature: float
    seed: int
    seconds: float


@dataclass(frozen=True)
class Describe:
    """The job that asks what was loaded."""


@dataclass(frozen=True)
class Prepare:
    """The job that makes an engine ready."""

    engine: str


@dataclass(frozen=True)
class Generate:
    """The job that writes one text; `number` is the task's, which its random numbers follow."""

    task: Task
    number: int
    engine: str
    sampler: str


def start(setup: Setup) -> Callable[[Any], dict[str, Any]]:
    """Load the model; what a worker starts with."""
    # Without this, the progress bars of loading hold a semaphore that a killed process leaves.
    tqdm.set_lock(threading.RLock())
    return Bench(setup).do


class Bench:
    """A model, its tokenizer, and the engines that were made ready for its vocabulary."""

    def __init__(self, setup: Setup) -> None:
        from structgen.generation.models.loading import load_target, vocabulary_of

        target, self._tokenizer = load_target(setup.model, None, setup.device, setup.dtype)
        if setup.threads is not None:
            import torch

            torch.set_num_threads(setup.threads)
        self._session = Session(target, vocabulary_of(target, self._tokenizer))
        self._target = target
        self._setup = setup
        self._engines: dict[str, Engine] = {}
        self._warm(None)  # the first forward passes are slow

    def do(self, job: Describe | Prepare | Generate) -> dict[str, Any]:
        """Do one job."""
        if isinstance(job, Describe):
            return self._describe()
        if isinstance(job, Prepare):
            self._engine(job.engine)
            return {}
        try:
            return self._generate(job)
        except Exception as error:  # noqa: BLE001  a crash of the engine, without losing the model
            words = f"{type(error).__name__}: {error}"
            return {"died": {"reason": "exception", "message": " ".join(words.split())[:500]}}

    def _describe(self) -> dict[str, Any]:
        import torch

        model, vocabulary = self._target.model, self._session.vocabulary
        return {
            "vocabulary": {"size": vocabulary.size, "hash": vocabulary.hash},
            "model": {
                "parameters": sum(p.numel() for p in model.parameters()),
                "dtype": str(model.dtype).removeprefix("torch."),
                "device": self._target.device.type,
                "threads": torch.get_num_threads(),
                "context": self._target.context,
                "end_tokens": list(vocabulary.eos_ids),
            },
        }

    def _engine(self, name: str) -> Engine:
        """The engine, ready and warm."""
        if name not in self._engines:
            engine = engine_class(name)()
            engine.prepare(self._session.vocabulary)
            with contextlib.suppress(Refused):
                self._warm(engine.compile(Spec(JSON_SCHEMA, _WARM)))
            self._engines[name] = engine
        return self._engines[name]

    def _warm(self, compiled: Compiled | None) -> None:
        from structgen.generation.prompts import encode_prompt

        prompt = encode_prompt(self._tokenizer, "Warm up.")
        deadline = time.perf_counter() + self._setup.seconds
        write(self._session, Job(prompt, 4, _chooser(0.0, 0, 0), deadline), compiled)

    def _generate(self, job: Generate) -> dict[str, Any]:
        writer = SAMPLERS[job.sampler]
        prompt, whole = self._prompt(job.task)
        record: dict[str, Any] = {"prompt_tokens": len(prompt), "prompt_whole": whole}
        engine = self._engine(job.engine) if job.engine else None
        compiled, began = None, time.perf_counter()
        if engine is not None:
            try:
                compiled = engine.compile(Spec(JSON_SCHEMA, json.dumps(job.task.schema)))
            except Refused as refused:
                return record | {"refused": {"kind": refused.kind, "message": refused.message}}
        compiling = time.perf_counter() - began
        context = self._target.context
        budget = self._setup.max_tokens
        if context is not None:
            budget = min(budget, context - len(prompt))
        choose = _chooser(self._setup.temperature, self._setup.seed, job.number)
        seconds, seed = self._setup.seconds, self._setup.seed * 1_000_003 + job.number
        wanted = Job(prompt, budget, choose, began + seconds, self._setup.temperature, seed)
        written = writer(self._session, wanted, compiled)
        return record | _figures(written, compiling, time.perf_counter() - began)

    def _prompt(self, task: Task) -> tuple[list[int], bool]:
        """Token ids, and whether the whole prompt fits: half of the context is for the text."""
        from structgen.generation.prompts import encode_prompt

        context = self._target.context
        found: list[int] = []
        for number, text in enumerate(prompts(task, self._setup.style)):
            found = list(encode_prompt(self._tokenizer, text))
            if context is None or len(found) <= context // 2:
                return found, number == 0
        return found[-(context or 0) // 2 :], False


def _chooser(temperature: float, seed: int, number: int) -> Choose:
    """How tokens are chosen; the same random numbers for all engines."""
    sampler, rng = Sampler(temperature=temperature), row_rng(seed, number)
    return lambda logits: sampler.choose(logits, rng)


def _figures(written: Written, compiling: float, total: float) -> dict[str, Any]:
    """What a record says of a text."""
    text = written.data.decode(errors="replace")
    return {
        "finish": written.finish,
        "tokens": len(written.tokens),
        "bytes": len(written.data),
        "compile_ns": _ns(compiling),
        "prompt_ns": _ns(written.prompt),
        "first_token_ns": _ns(compiling + written.first_token),
        "model_ns": _ns(written.model),
        "engine_ns": _ns(written.engine),
        "other_ns": _ns(written.other),
        "total_ns": _ns(total),
        "engine_step": times.histogram(_ns(step) for step in written.engine_steps),
        "text": text,
        "utf8": text.encode() == written.data,
    }


def _ns(seconds: float) -> int:
    return round(1e9 * seconds)
