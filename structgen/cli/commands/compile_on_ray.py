"""Compile specs on a cluster, for `structgen compile --ray`.

Specs are read on this machine and travel as JSON, the vocabulary goes once to each machine, and the
files come back: the machines need no folder in common.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from structgen.cli import inputs
from structgen.cli.commands.compile_jobs import (
    Outcome,
    Settings,
    Task,
    compile_spec,
    failed,
    outcome_before,
    without_tokenizer,
)
from structgen.integrations.ray_actors import share_out
from structgen.util.container import write_file

if TYPE_CHECKING:
    from structgen.spec.base import Spec
    from structgen.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class _Job:
    """A task, and the JSON text of its spec."""

    task: Task
    spec: str


def run_on_ray(
    tasks: list[Task], settings: Settings, vocabulary: Vocabulary, actors: int | None
) -> Iterator[Outcome]:
    """Do all tasks by `actors` of Ray's at most; outcomes come as they are finished.

    Specs that are broken here, and files to be kept, come first. A machine that dies costs the
    specs that it was at, which are reported.
    """
    from structgen.constraint.artifact import described

    jobs: list[_Job] = []
    for task in tasks:
        try:
            spec: Spec = inputs.load_spec(task.source, settings.options)
            kept = outcome_before(task, settings, spec, vocabulary)
            if kept is not None:
                yield kept
            else:
                jobs.append(_Job(task, json.dumps(described(spec))))
        except Exception as error:  # noqa: BLE001  the other specs are not to suffer for it
            yield failed(task, settings, error)
    given = settings, without_tokenizer(vocabulary)
    for job, result in share_out(Compiler, given, jobs, actors):
        if isinstance(result, Exception):
            yield failed(job.task, settings, result)
            continue
        outcome, content = result
        if not outcome.problem:
            write_file(outcome.task.path, [content])
        yield outcome


class Compiler:
    """An actor: compiles a spec at a time."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary) -> None:
        self._settings = settings
        self._vocabulary = vocabulary

    def do(self, job: _Job) -> tuple[Outcome, bytes]:
        """The outcome of a task, and the content of its file."""
        from structgen.spec.registry import spec_of

        with tempfile.TemporaryDirectory() as folder:
            here = replace(job.task, path=Path(folder, "constraint"))
            try:
                spec = spec_of(json.loads(job.spec))
                outcome = compile_spec(
                    here, self._settings, spec, self._vocabulary, lambda *_: None
                )
            except Exception as error:  # noqa: BLE001  the other specs are not to suffer for it
                return failed(job.task, self._settings, error), b""
            return replace(outcome, task=job.task), here.path.read_bytes()
