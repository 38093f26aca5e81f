"""The command `aligned` finds the known divergences, and its tasks and budgets hold."""

from __future__ import annotations

import json

import pytest

import structgen as sg
from jsonschemabench.aligned.runs import Budget, reference, run_arm
from jsonschemabench.aligned.tables import task_table
from jsonschemabench.aligned.tasks import FAMILIES, tasks
from jsonschemabench.main import main


@pytest.mark.thorough
def test_quick_prints_one_json_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masking is 0.7538 nats away, the others are near; few tokens are tested."""
    monkeypatch.setattr("jsonschemabench.aligned.toy.POPULATIONS", 600)
    monkeypatch.setattr("jsonschemabench.aligned.command.CHECKED", 2)
    assert main(["aligned", "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    kl = report["kl"]
    assert kl["mask"] == pytest.approx(0.7538, abs=1e-4)
    assert kl["asap"] == pytest.approx(0.0, abs=1e-9)
    assert kl["cars"] == pytest.approx(0.0, abs=1e-9)
    assert 0 < kl["smc5"] < 0.05
    checks = report["checks_per_token"]
    assert 1 <= checks["awrs"] <= 0.01 * checks["vocabulary"]


def test_answers_of_the_tasks_fit_their_specs() -> None:
    """Each family has tasks, and what is counted as right can be written."""
    made = tasks(3, 7)
    assert [task.family for task in made] == [name for name in FAMILIES for _ in range(3)]
    for task in made:
        for value in task.right:
            text = value if isinstance(value, str) else json.dumps(value)
            sg.check(task.spec, text)
            assert task.is_right(text)
        assert not task.is_right('{"city": "nowhere"}')


def test_an_arm_stays_near_its_budget_and_is_tabulated() -> None:
    """A run ends when its rows are used up; what it answered comes in the table."""
    from structgen.demo import model_path

    generator = sg.Generator(str(model_path()), dtype="float32")
    task = tasks(1, 7)[0]
    budget = Budget(rows=30)
    runs = [run_arm(generator, task, arm, budget, 1) for arm in ("mask", "cars")]
    assert all(run.rows < 30 + 8 * 61 for run in runs)
    assert runs[0].answers
    evidence = {task.name: reference(generator, task, 1)}
    table = task_table(budget, runs, evidence)
    assert "30 rows" in table
    assert "| mask " in table
