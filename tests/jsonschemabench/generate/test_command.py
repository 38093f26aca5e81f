"""The command `generate` measures the demo model, resumes a run, and judges what was written.

One run of the real command is shared by the tests, and a second one resumes it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.engines import ENGINES, engine_class
from jsonschemabench.errors import EngineMissingError, WorkerDiedError
from jsonschemabench.generate import judge as generate_judge
from jsonschemabench.generate.judge import judge
from jsonschemabench.generate.record import Ask, record_of
from jsonschemabench.generate.samplers import UNCONSTRAINED
from jsonschemabench.generate.tables import coverage, quality, tables
from jsonschemabench.generate.tasks import Task
from jsonschemabench.main import main
from jsonschemabench.running.results import read

pytestmark = pytest.mark.thorough

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")),
    reason="running a model needs torch and transformers",
)
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "wheels": {"type": "integer"}},
    "required": ["colour", "wheels"],
    "additionalProperties": False,
}


def hang(question: generate_judge.Question) -> generate_judge.Judgement:
    """A judge that does not answer."""
    raise WorkerDiedError("stopped", reason="time limit")


def installed(name: str) -> bool:
    """Whether an engine can be measured here."""
    try:
        engine_class(name)
    except EngineMissingError:
        return False
    return True


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schemas, one of them broken, and a question."""
    root = tmp_path_factory.mktemp("generate")
    (root / "cars").mkdir()
    (root / "cars" / "good.json").write_text(json.dumps(SCHEMA))
    (root / "cars" / "broken.json").write_text('{"type": 3}')
    (root / "cars" / "text.json").write_text("no JSON")
    task = {"prompt": "The car is red and has 4 wheels.", "schema": SCHEMA}
    answer = {"colour": "red", "wheels": 4}
    (root / "cars.jsonl").write_text(json.dumps({**task, "answer": answer}))
    return root


@pytest.fixture(scope="module")
def command(work: Path) -> list[str]:
    """A run of all engines over four tasks."""
    return [
        *("generate", "--schemas", str(work / "cars"), "--tasks", str(work / "cars.jsonl")),
        *("--demo-tasks", "1", "--max-tokens", "60", "--engines", ",".join([*ENGINES, "none"])),
        *("--out", str(work / "out.jsonl")),
    ]


@pytest.fixture(scope="module")
def records(command: list[str], work: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The records of the run by case and engine."""
    assert main(command) == 0
    return {(r["case"], r["engine"]): r for r in read(work / "out.jsonl").records}


@needs_model
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_writes_valid_text(
    records: dict[tuple[str, str], dict[str, Any]], engine: str
) -> None:
    """Where it took the schema and came to an end; its times add up to less than the total."""
    if not installed(engine):
        pytest.skip(f"{engine} is not installed")
    record = records["cars---good", engine]
    assert record["declared"]
    assert record["outcome"] in {"pass", "incomplete"}
    assert (record["outcome"] == "pass") == (record["finish"] == "end") == record["valid"]
    if record["valid"]:
        assert generate_judge.validity(SCHEMA, json.loads(record["text"])) == (True, "")
    parts = ("compile_ns", "prompt_ns", "model_ns", "engine_ns", "other_ns")
    assert sum(record[part] for part in parts) <= record["total_ns"]
    assert record["compile_ns"] + record["prompt_ns"] < record["first_token_ns"]
    assert record["engine_step"]["count"] == record["tokens"]


@needs_model
def test_a_broken_schema_is_refused_and_the_question_is_scored(
    records: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """A refusal is a record like others; only tasks with an answer have fields."""
    refused = records["cars---broken", "structgen"]
    assert (refused["outcome"], refused["declared"]) == ("refused satisfiable", False)
    assert refused["error"]["kind"] == "broken_spec"
    assert refused["schema"] == '{"type": 3}'
    asked = records["cars---1", "structgen"]
    assert asked["fields"] == 2
    assert asked["right"] == sum(
        json.loads(asked["text"]).get(key) == value
        for key, value in (("colour", "red"), ("wheels", 4))
    )
    assert "fields" not in records["cars---good", "structgen"]
    assert ("demo---0", UNCONSTRAINED) in records


@needs_model
def test_an_interrupted_run_goes_on(
    records: dict[tuple[str, str], dict[str, Any]],
    command: list[str],
    work: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Behind the last whole record, to the same texts; what is left out is said at the end."""
    out = work / "out.jsonl"
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    assert main(command) == 0
    again = {(r["case"], r["engine"]): r for r in read(out).records}
    assert again.keys() == records.keys()
    texts = [{key: r.get("text") for key, r in found.items()} for found in (again, records)]
    assert texts[0] == texts[1]
    said = capsys.readouterr()
    assert f"going on behind {len(records) - 2} records" in said.err
    assert "there is no engine 'none'" in said.err
    assert "cars---text: not JSON" in said.err
    for title in ("## Coverage", "## Efficiency", "Decode step", "## Quality"):
        assert title in said.out
    assert "| aligned | structgen, aligned | 2 |" in said.out


@needs_model
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "no/such/folder/here"], "no model directory"),
        (["--schemas", "nowhere"], "there is no file or folder nowhere"),
        (["--tasks", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--engines", "none"], "no engine can be measured"),
        (["--samplers", "off,bogus"], "there is no sampler 'bogus'"),
        (["--samplers", ","], "no sampler is named"),
        (["--demo-tasks", "0"], "there is nothing to do"),
    ],
)
def test_bad_input_is_one_line(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And exit status 2; no results file is made."""
    out = tmp_path / "out.jsonl"
    assert main(["generate", "--quick", "--out", str(out), *options]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "error: " in last
    assert said in last
    assert not out.exists()


TASK = Task("a---1", "a", SCHEMA, "?", {"colour": "red", "wheels": 4}, judged=True)
WRITTEN = {
    "finish": "end",
    "text": '{"colour": "red", "wheels": 5}',
    "utf8": True,
    "tokens": 9,
    "bytes": 30,
    "compile_ns": 10,
    "prompt_ns": 20,
    "first_token_ns": 40,
    "model_ns": 800,
    "engine_ns": 100,
    "other_ns": 100,
    "total_ns": 1030,
    "engine_step": {"count": 9, "sum_ns": 100, "max_ns": 20, "ns": [10, 20], "n": [8, 1]},
}


@pytest.fixture
def made() -> Callable[..., dict[str, Any]]:
    """Makes a record of what a worker found, changed as the test says."""

    def make(engine: str = "structgen", ask: Ask = judge, **found: Any) -> dict[str, Any]:
        sampler = "off" if engine == UNCONSTRAINED else "masked"
        return record_of(TASK, engine, sampler, {**WRITTEN, **found}, ask)

    return make


@pytest.mark.parametrize(
    ("found", "outcome", "valid", "right"),
    [
        ({}, "pass", True, 1),
        ({"text": '{"colour": "red"}'}, "accepted invalid", False, 1),
        ({"utf8": False}, "accepted invalid", False, 0),
        ({"finish": "token budget"}, "incomplete", False, 1),
        ({"finish": "time limit", "text": '{"co'}, "incomplete", False, 0),
        ({"finish": "no token"}, "crash", False, 1),
        ({"finish": "token refused"}, "crash", False, 1),
    ],
)
def test_the_outcome_of_a_text(
    made: Callable[..., dict[str, Any]],
    found: dict[str, Any],
    outcome: str,
    valid: bool,
    right: int,
) -> None:
    """A text that was cut off is not compliant, even where it happens to be valid."""
    record = made(**found)
    assert (record["outcome"], record["valid"], record["right"]) == (outcome, valid, right)
    assert record["declared"]
    assert ("error" in record) == ("schema" in record) == (outcome != "pass")


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ({"died": {"reason": "time limit", "message": "stopped"}}, "crash"),
        ({"refused": {"kind": "unsupported", "message": "no"}}, "refused satisfiable"),
        ({"refused": {"kind": "unsatisfiable", "message": "no"}}, "refused satisfiable"),
    ],
)
def test_the_outcome_without_a_text(found: dict[str, Any], outcome: str) -> None:
    """All fields of the answer count as wrong."""
    record = record_of(TASK, "structgen", "masked", found, judge)
    assert (record["outcome"], record["declared"], record["valid"]) == (outcome, False, False)
    assert (record["right"], record["fields"]) == (0, 2)


def test_what_the_library_cannot_judge_counts_for_nobody(
    made: Callable[..., dict[str, Any]],
) -> None:
    """A validator that hangs costs the engine nothing; the table says how many were left out."""
    hung = made(ask=hang)
    assert (hung["outcome"], hung["valid"]) == ("incomplete", None)
    table = coverage([made(), {**hung, "case": "a---2"}], ["structgen"])
    assert "| structgen | 1 | 100.0% | 100.0% | 100.0% |" in table
    assert "1 texts are left out" in table


def test_the_tables_say_what_the_records_say(made: Callable[..., dict[str, Any]]) -> None:
    """Shares and times, worked out by hand: 5 tasks of which 4 are declared and 2 are valid."""
    refused = {"refused": {"kind": "unsupported", "message": "no"}}
    some = [
        made(),
        made(text='{"colour": "red", "wheels": 4}'),
        made(text="{}"),
        made(finish="token budget", text="{"),
        record_of(TASK, "structgen", "masked", refused, judge),
    ]
    alone = [made(UNCONSTRAINED) for _ in some]
    for group in (some, alone):
        for number, record in enumerate(group):
            record["case"] = f"a---{number}"
    header = {
        "date": "2026-11-20",
        "machine": {"cores": 2, "python": "3.11"},
        "engines": {"structgen": {}, UNCONSTRAINED: {}},
        "vocabulary": {"size": 100},
        "options": {
            "model": "M",
            "parameters": 5,
            "dtype": "float32",
            "device": "cpu",
            "samplers": ["off", "masked", "aligned"],
        },
    }
    text = tables(header, [*some, *alone])
    assert "| structgen | 5 | 80.0% | 40.0% | 50.0% | 1 | 1 | 1 | 0 |" in text
    assert f"| {UNCONSTRAINED} | 5 | - | 100.0% | - | 0 | 0 | 0 | 0 |" in text
    assert "on the 4 tasks in which all engines write a text" in text
    # 30 bytes in 1,000 ns of decoding, 100 of them in the engine; 8 of 9 steps took 10 ns.
    assert "| structgen | 30,000,000 | 300,000,000 | 0.00 | 0.0 | 0.0 | 0.0 | 10.0% |" in text
    # Right: 1 + 2 + 0 + 0 + 0 of 2 + 2 + 3 + 2 + 2 fields; the empty object is a superfluous one.
    assert "| masked | structgen | 5 | 27.3% | 20.0% | 60.0% | 40.0% |" in text
    assert "| off | - | 5 | 50.0% | 0.0% | 100.0% | 100.0% |" in text
    assert "| aligned |" not in text  # it has no records
    assert "aligned: the model's own law" in text


def test_quality_without_answers_says_so(made: Callable[..., dict[str, Any]]) -> None:
    """Instead of an empty table."""
    record = {key: value for key, value in made().items() if key not in {"right", "fields"}}
    assert "no task with a known answer" in quality([record], ["structgen"], ["masked"])
