"""The command `speculate` runs arms in turns, and its tasks, targets and figures are right."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from jsonschemabench.errors import BenchError
from jsonschemabench.main import main
from jsonschemabench.speculate import command as speculate
from jsonschemabench.speculate.runs import PLAIN, REGIONS, Arms, Run, regions, run_tasks
from jsonschemabench.speculate.tables import figures, interval, region_table, table
from jsonschemabench.speculate.target import Costly, Scripted
from jsonschemabench.speculate.tasks import WORKLOADS, Task, tasks
from structgen.generation.generator import Generator
from structgen.generation.models.target import HuggingFaceTarget
from tests.generation.models import build_model, build_tokenizer

pytestmark = pytest.mark.thorough


def test_quick_prints_one_json_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workload each for JSON, SQL and prose, even when there is no time for a second task."""
    monkeypatch.setattr(speculate, "QUICK_SECONDS", 0.0)
    assert main(["speculate", "--quick", "--json", "--shape", "demo"]) == 0
    report = json.loads(capsys.readouterr().out)
    for name in ("json", "sql", "free"):
        assert report[name]["drafter"] == "auto"
        assert report[name]["tokens_per_forward"] >= 1.0
        assert report[name]["wall_ratio"] > 0
        assert report[name]["same"]


def parsed(arguments: list[str]) -> argparse.Namespace:
    """What the command `speculate` makes of its arguments."""
    parser = argparse.ArgumentParser()
    speculate.add_parser(parser.add_subparsers())
    return parser.parse_args(["speculate", *arguments])


def test_recorded_texts_fit_their_specs() -> None:
    """Each workload has tasks enough; what is written there can be."""
    for workload in WORKLOADS:
        found = tasks(workload, 8, 3)
        assert len({task.prompt for task in found}) == 8
        for task in found:
            assert (task.text is None) == (workload == "json")
            if task.text is not None:
                sg.check(task.spec, task.text)


@pytest.fixture(scope="module")
def tiny() -> Generator:
    """A tiny random model in float64."""
    tokenizer = build_tokenizer()
    return Generator(build_model(tokenizer).double(), tokenizer)


def test_a_scripted_and_costly_target_writes_its_text(tiny: Generator) -> None:
    """With and without drafts, in a batch with a text that is not recorded; both models read."""
    large = HuggingFaceTarget(build_model(tiny.tokenizer, seed=9, layers=1))
    inner: Any = tiny.target
    prompts, spec = ["ab", "true"], sg.Regex("(ab|true|a)+")
    ids = tiny.tokenizer(prompts[0], add_special_tokens=False).input_ids
    script = tiny.tokenizer("abtrueaabtruea", add_special_tokens=False).input_ids
    place: Any = tiny
    recorded = (*script, tiny.vocabulary.eos_ids[0])
    place.target = Scripted(Costly(inner, large), {tuple(ids): recorded})
    try:
        options: dict[str, Any] = {"temperature": 0.0, "stop": "eos", "max_tokens": 30}
        plain = tiny.batch(prompts, spec, **options)
        fast = tiny.batch(prompts, spec, speculate="suffix", **options)
    finally:
        place.target = inner
    assert plain[0].text == "abtrueaabtruea"
    assert [r.tokens for r in plain] == [r.tokens for r in fast]


def test_regions_of_tokens(tiny: Generator) -> None:
    """Keys and braces are structure, strings and numbers values, what must come is forced."""
    schema = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}
    spec = sg.JsonSchema(schema, whitespace="compact")
    text = '{"k":12}'
    tokens = tiny.tokenizer(text, add_special_tokens=False).input_ids
    found = regions(tiny, Task("json", "", spec, None), tokens, [(0, 0, 1), (4, 2, 3)])
    assert sum(n for n, _ in found.values()) == len(tokens)
    assert sum(kept for _, kept in found.values()) == min(2, len(tokens) - 1)
    assert found["forced"][0] >= 1
    assert found["value"][0] >= 1


def test_arms_take_turns_and_are_compared(tiny: Generator) -> None:
    """Each task once by each arm, forwards and backwards; none after the deadline but the first."""
    asked = [Task("free", prompt, sg.Regex("(ab|true)+"), None) for prompt in ("ab", "true", "k")]
    order: list[str] = []
    arms: Arms = {name: partial(order.append, name) for name in (PLAIN, "other")}
    runs = list(run_tasks(tiny, asked, arms, temperature=0.0, max_tokens=8))
    assert order == [PLAIN, "other", "other", PLAIN, PLAIN, "other"]
    assert all(run.same for run in runs)
    assert len(list(run_tasks(tiny, asked, arms, 0.0, temperature=0.0, max_tokens=8))) == 2
    found = figures(runs, lambda n: 1.0, 1.0)
    assert [f.arm for f in found] == [PLAIN, "other"]
    assert found[0].wall_ratio == pytest.approx(1.0)
    assert found[1].interval[0] <= found[1].wall_ratio <= found[1].interval[1]


def test_batches_are_timed_together(tiny: Generator) -> None:
    """Several tasks in a run, whose passes count for each text; the last task is left over."""
    spec = sg.Regex("(ab|true)+")
    asked = [Task("free", prompt, spec, None) for prompt in ("ab", "true", "k", "abab", "tr")]
    arms: Arms = {PLAIN: lambda: None, "suffix": lambda: "suffix"}
    runs = list(run_tasks(tiny, asked, arms, batch=2, temperature=0.0, max_tokens=8))
    assert [(run.task, run.texts) for run in runs] == [(0, 2), (0, 2), (2, 2), (2, 2)]
    for run in runs:
        assert run.same
        assert run.later == run.tokens - 2
        assert sum(n for n, _ in run.regions.values()) == run.tokens
        if run.arm == PLAIN:
            assert run.forwards == run.later
        else:
            assert sum(read for read, _, _ in run.rounds) >= sum(run.by_drafter.values())
            assert len(run.rounds) == run.forwards
    assert figures(runs, lambda n: 1.0, 1.0)[0].tokens_per_forward == 1.0


def test_tasks_of_maskbench(tmp_path: Path) -> None:
    """Cases with a valid instance of some length; it is what is to be written, and asked for."""
    value = {"title": "a long enough value of a record", "count": 12, "tags": ["one", "two"]}
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["count"]}
    cases = [
        {"id": "fits", "schema": schema, "tests": [{"data": value, "valid": True}]},
        {"id": "short", "schema": schema, "tests": [{"data": {"count": 1}, "valid": True}]},
        {"id": "wrong", "schema": {"type": "null"}, "tests": [{"data": value, "valid": True}]},
        {"id": "refused", "schema": schema, "tests": [{"data": value, "valid": False}]},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    [task] = tasks("json", 9, 1, path)
    assert task.text == json.dumps(value)
    assert "count: 12." in task.prompt
    assert json.dumps(schema) in task.prompt
    sg.check(task.spec, task.text)
    arguments = parsed(["--workloads", "json", "--batch", "3", "--cases", str(path)])
    with pytest.raises(BenchError, match="tasks"):
        speculate.run(arguments)


def test_figures_are_what_their_names_say() -> None:
    """Twice as fast per token, three tokens a pass, of which two from drafts."""
    none = dict.fromkeys(REGIONS, (0, 0))
    plain = Run("json", 0, PLAIN, 10, 9, 11.0, 2.0, 9.0, 0, 0, 0, (), (), (), none, 0, True)
    rounds = ((3, 2, 3), (3, 2, 3), (3, 2, 3))
    fast = replace(
        plain, arm="x", forwards=3, seconds=6.5, processor=3.0, draft=0.5, verify=3.0, other=1.0
    )
    where = {"forced": (4, 2), "structure": (0, 0), "value": (6, 3)}
    fast = replace(fast, rounds=rounds, tried=(3, 3, 3), kept=(3, 3, 0), regions=where)
    fast = replace(fast, by_drafter={"copy": 2, "forced": 4})
    found = figures([plain, fast], lambda n: 1 + (n - 1) / 6, 1.0)[1]
    assert found.tokens_per_forward == 3.0
    assert found.wall_ratio == pytest.approx(2.0)
    assert found.processor_ratio == pytest.approx(3.0)
    assert found.end_to_end == pytest.approx(11 / 6.5)
    assert found.predicted == pytest.approx(3 / (1.5 + 0.5 / 3))
    assert found.acceptance == (1.0, 1.0, 0.0)
    assert found.regions["forced"] == (4, 0.5)
    assert "| json | x | 3.00 | 2.00 |" in table([found])
    assert "| json | x | 4, 50% | 0, 0% | 6, 50% | forced 4, copy 2 |" in region_table([found])


def test_the_interval_covers_the_mean() -> None:
    """Narrow for tasks that agree, wide for those that do not."""
    rng = np.random.default_rng(1)
    low, high = interval(np.log(2) + 0.01 * rng.standard_normal(50))
    assert low < 2.0 < high < low * 1.02
    low, high = interval(np.log(2) + 0.5 * rng.standard_normal(50))
    assert high > low * 1.2
