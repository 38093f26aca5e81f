"""A run goes on past engines that die, hang or do not start, and says what it left out."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from jsonschemabench.engines.engine import Engine, Refused
from jsonschemabench.errors import BenchError
from jsonschemabench.running.results import Writer, header, read
from jsonschemabench.running.runner import Runner
from jsonschemabench.running.workers import Limits
from tests.jsonschemabench import jobs


class Stub(Engine):
    """An engine by name only; the children run `jobs.start`."""

    name = "one"
    distribution = "structgen"
    module = "structgen"
    settings: ClassVar[Mapping[str, str]] = {}
    kinds = ()

    def prepare(self, vocabulary: Any) -> NoReturn:
        """Never called here."""
        raise NotImplementedError

    def compile(self, spec: Any) -> NoReturn:
        """Never called here."""
        raise NotImplementedError


class Two(Stub):
    """Another one."""

    name = "two"


class Broken(Stub):
    """One that does not start."""

    name = "broken"


@dataclass
class Case:
    """What a child is asked to do."""

    id: str
    job: Any = 0


def record_of(case: Case, engine: type[Engine], answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as it is."""
    identity = {"kind": "case", "case": case.id, "engine": engine.name}
    return {**identity, "outcome": "pass", "answer": answer}


def job_of(case: Case, engine: type[Engine]) -> Any:
    """A job; some cases are not for everybody."""
    if case.job == "unreadable":
        raise BenchError("the case is unreadable")
    if case.job == "dialect" and engine is Two:
        raise Refused("unsupported", "not in this dialect")
    return case.job


def run(
    path: Path, cases: Iterable[Case], *engines: type[Engine], actors: int = 0
) -> tuple[list[Any], list[str]]:
    """A run into a file: its records, and what it left out."""
    named = {engine.name: engine for engine in engines}
    limits = Limits(seconds=2, start_seconds=60)
    with Writer(path, header("masks", named, None, {})) as writer:
        runner = Runner(named, jobs.start, (), limits, writer, actors=actors)
        return runner.run(cases, job_of, record_of), runner.left_out


@pytest.mark.thorough
def test_a_mishap_costs_one_case_of_one_engine(tmp_path: Path) -> None:
    """The others' records are there, in the file too; engines take turns to be first."""
    path = tmp_path / "r.jsonl"
    cases = [Case("a"), Case("b", "killed"), Case("c", "hang"), Case("d", "dialect"), Case("e")]
    records, left_out = run(path, cases, Stub, Two)
    assert left_out == []
    assert [r["case"] + r["engine"][0] for r in records] == "ao at bt bo co ct dt do eo et".split()
    found = {r["case"] + r["engine"][0]: r["answer"] for r in records}
    for engine in "ot":
        assert found["b" + engine]["died"]["reason"] == "signal SIGKILL"
        assert found["c" + engine]["died"]["reason"] == "time limit"
        assert found["e" + engine]["job"] == 0
    assert found["dt"] == {"refused": {"kind": "unsupported", "message": "not in this dialect"}}
    assert read(path).records == records


def test_an_engine_that_is_killed_from_outside_is_started_anew(tmp_path: Path) -> None:
    """Between two cases that costs nothing."""

    def cases() -> Iterable[Case]:
        yield Case("a")
        os.kill(read(tmp_path / "r.jsonl").records[0]["answer"]["pid"], signal.SIGKILL)
        yield Case("b")

    records, _ = run(tmp_path / "r.jsonl", cases(), Stub)
    assert len({r["answer"]["pid"] for r in records}) == 2


def test_an_interrupted_run_goes_on_behind_its_last_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cases that are done are not done again."""
    path = tmp_path / "r.jsonl"

    def interrupted() -> Iterable[Case]:
        yield Case("a", "first run")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(path, interrupted(), Stub)
    assert "the same command goes on from here" in capsys.readouterr().err
    with path.open("ab") as file:
        file.write(b'{"kind":"case","case":"b","eng')
    records, _ = run(path, [Case("a", "second run"), Case("b", "second run")], Stub)
    assert [r["answer"]["job"] for r in records] == ["first run", "second run"]
    said = capsys.readouterr().err
    assert "going on behind 1 records" in said
    assert f"{path}:3: not a whole record; its case is measured again" in said


def test_what_cannot_be_measured_is_left_out_with_a_line(tmp_path: Path) -> None:
    """An engine that does not start, and a case that cannot be used, once each."""
    cases = [Case("a"), Case("b", "unreadable"), Case("c")]
    records, left_out = run(tmp_path / "r.jsonl", cases, Stub, Two, Broken)
    assert [r["case"] + r["engine"][0] for r in records] == "ao at co ct".split()
    assert len(left_out) == 2
    assert "broken, which does not start (exception): RuntimeError: no such" in left_out[0]
    assert left_out[1] == "b: the case is unreadable"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # warnings are those of Ray's own packages
@pytest.mark.usefixtures("ray_cluster")
def test_cases_are_shared_out_among_the_machines_of_a_cluster(tmp_path: Path) -> None:
    """All engines meet a case on one machine; what a mishap costs is as on one machine."""
    cases = [Case("a"), Case("b", "killed"), Case("c", "dialect"), *map(Case, "defgh")]
    records, left_out = run(tmp_path / "r.jsonl", cases, Stub, Two, Broken, actors=2)
    assert len(left_out) == 1
    assert "broken, which does not start (exception): RuntimeError: no such" in left_out[0]
    found = {(r["case"], r["engine"]): r["answer"] for r in records}
    assert len(found) == len(records) == 2 * len(cases)
    assert found["b", "one"]["died"]["reason"] == found["b", "two"]["died"]["reason"]
    assert found["c", "two"]["refused"]["kind"] == "unsupported"
    pids = {r["answer"]["pid"] for r in records if r["case"] in "defgh" and r["engine"] == "one"}
    assert len(pids) == 2, "both actors had work"
    assert read(tmp_path / "r.jsonl").records == records
