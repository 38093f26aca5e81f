"""Tasks come from schemas, the demo's examples and files, and their prompts hold the schema."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.data.datasets import Schema
from jsonschemabench.errors import BenchError
from jsonschemabench.generate.tasks import (
    Style,
    Task,
    demo_tasks,
    file_tasks,
    prompts,
    schema_tasks,
)
from structgen.demo.training.evaluate import unseen


@given(st.integers(0, 60), st.one_of(st.none(), st.integers(1, 70)))
def test_a_limit_takes_that_many_from_everywhere(count: int, limit: int | None) -> None:
    """In order, none twice, and at distances that differ by one at most."""
    schemas = [Schema(f"A---{i}", "A", {"const": i}) for i in range(count)]
    found = [task.schema["const"] for task in schema_tasks(schemas, limit)]
    assert len(found) == min(count, limit or count)
    gaps = {after - before for before, after in pairwise(found)}
    assert not gaps or (min(gaps) >= 1 and max(gaps) - min(gaps) <= 1)
    assert found[:1] == [0][:count]


def test_demo_tasks_are_those_of_the_demo_evaluation() -> None:
    """So the figures of both can be compared."""
    tasks, examples = demo_tasks(5, 7), unseen(5, 7)
    assert [(t.prompt, t.schema, t.answer) for t in tasks] == [
        (e.prompt, e.schema, e.answer) for e in examples
    ]
    assert all(task.judged for task in tasks)


def test_a_file_gives_tasks_and_says_what_is_none(tmp_path: Path) -> None:
    """Each bad line by its number."""
    good = {"prompt": "How old?", "schema": {"type": "integer"}, "answer": 3}
    lines = [good, {**good, "id": "x", "answer": None}, {"prompt": "?"}, {**good, "schema": 3}, [1]]
    file = tmp_path / "ages.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n{oops")
    tasks, left_out = file_tasks(file)
    assert tasks == [
        Task("ages---1", "ages", {"type": "integer"}, "How old?", 3, judged=True),
        Task("ages---x", "ages", {"type": "integer"}, "How old?", None, judged=True),
    ]
    assert [line.split(":")[1] for line in left_out] == ["3", "4", "5", "7"]


@pytest.mark.parametrize("content", [None, "", "[]"])
def test_a_file_without_tasks_is_refused(tmp_path: Path, content: str | None) -> None:
    """A missing one, too, each in one line."""
    file = tmp_path / "tasks.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BenchError) as caught:
        file_tasks(file)
    assert "tasks.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_prompt_holds_the_schema_once_and_can_do_without() -> None:
    """In both styles; a question that quotes its schema is not given it again."""
    schema = {"type": "object", "description": "A beer."}
    written = json.dumps(schema)
    styles: tuple[Style, ...] = ("schema", "demo")
    for style in styles:
        for question in ("", "Which beer?"):
            whole, short = prompts(Task("a", "b", schema, question), style)
            assert whole.count(written) == 1
            assert written not in short
            assert question in whole
            assert question in short
        [only] = prompts(Task("a", "b", schema, f"Which? {written}"), style)
        assert only.count(written) == 1


def test_the_demo_model_gets_its_questions_as_they_are() -> None:
    """They are in the form that it was trained on; other models get the schema, too."""
    task = next(task for task in demo_tasks(20, 7) if "Schema:" not in task.prompt)
    assert prompts(task, "demo") == [task.prompt]
    assert json.dumps(task.schema, ensure_ascii=False) in prompts(task, "schema")[0]
