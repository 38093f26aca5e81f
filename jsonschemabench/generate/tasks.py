"""The tasks of `generate`, from schemas, the demo's examples or a file, and the prompts for them.

Every task asks about coverage and efficiency; one with a known answer asks about quality, too. As
in the paper, the prompt holds the schema and asks for an instance.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jsonschemabench.data.datasets import Schema
from jsonschemabench.errors import BenchError

Style = Literal["schema", "demo"]

_INSTANCE = "Write a JSON value that is valid under this JSON Schema."
_ONLY_JSON = "Answer with the JSON alone, without any explanation."


@dataclass(frozen=True, slots=True)
class Task:
    """One text to write.

    prompt: what is asked beside the schema, "" where an instance is all. answer: the right value;
    it means nothing unless `judged`. satisfiable: False where it is known that nothing fits.
    """

    id: str
    dataset: str
    schema: Any
    prompt: str = ""
    answer: Any = None
    judged: bool = False
    satisfiable: bool = True


def schema_tasks(schemas: list[Schema], limit: int | None) -> list[Task]:
    """A task for each schema, or for `limit` of them at equal distances, so that all sets occur."""
    count = len(schemas) if limit is None else min(limit, len(schemas))
    chosen = [schemas[i * len(schemas) // count] for i in range(count)]
    return [Task(s.id, s.dataset, s.schema, satisfiable=s.satisfiable) for s in chosen]


def demo_tasks(count: int, seed: int) -> list[Task]:
    """Questions that the demo model has not seen in training, with the right answers."""
    from structgen.demo.training.evaluate import unseen

    return [
        Task(f"demo---{number}", "demo", e.schema, e.prompt, e.answer, judged=True)
        for number, e in enumerate(unseen(count, seed))
    ]


def file_tasks(path: Path) -> tuple[list[Task], list[str]]:
    """Tasks from JSON Lines of {prompt, schema, answer} and perhaps id, and errors."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"the tasks cannot be read: {error}", location=str(path)) from error
    tasks, left_out = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tasks.append(_task(json.loads(line), path.stem, number))
        except (ValueError, RecursionError) as error:
            left_out.append(f"{path}:{number}: no task ({error}); left out")
    if not tasks:
        raise BenchError(
            "there are no tasks",
            location=str(path),
            expected='lines such as {"prompt": "...", "schema": {...}, "answer": ...}',
        )
    return tasks, left_out


def prompts(task: Task, style: Style) -> list[str]:
    """The prompt with the schema in it, then the same without, for where there is no room."""
    schema = json.dumps(task.schema, ensure_ascii=False)
    if style == "demo":
        # The demo model has learnt to read a text, and often a schema behind it.
        asked = task.prompt or (
            f"Fill in the schema from the text.\n\nText: {_description(task.schema)}"
        )
        if task.dataset == "demo" or schema in asked:
            return [asked]
        return [f"{asked}\n\nSchema: {schema}", asked]
    asked = task.prompt or _INSTANCE
    without = f"{asked}\n\n{_ONLY_JSON}"
    if schema in asked:
        return [without]
    return [f"{asked}\n\nJSON Schema:\n{schema}\n\n{_ONLY_JSON}", without]


def _task(line: Any, name: str, number: int) -> Task:
    """A line of a file of tasks. ValueError says what it lacks."""
    if not isinstance(line, dict) or not {"prompt", "schema", "answer"} <= line.keys():
        raise ValueError("it is no object with `prompt`, `schema` and `answer`")
    if not isinstance(line["prompt"], str) or not isinstance(line["schema"], dict | bool):
        raise ValueError("`prompt` must be a text and `schema` a JSON Schema")
    identifier = f"{name}---{line.get('id', number)}"
    return Task(identifier, name, line["schema"], line["prompt"], line["answer"], judged=True)


def _description(schema: Any) -> str:
    """What a schema says about itself, for a model that wants a text to read."""
    if isinstance(schema, dict):
        for key in ("description", "title"):
            if isinstance(schema.get(key), str) and schema[key]:
                return str(schema[key])[:200]
    return "This is an example."
