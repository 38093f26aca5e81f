"""Makes the record of a task: what the worker found, the outcome, and the judgement of the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jsonschemabench.data.features import features
from jsonschemabench.errors import WorkerDiedError
from jsonschemabench.generate.judge import Judgement, Question
from jsonschemabench.generate.tasks import Task
from jsonschemabench.masks.command import SCHEMA_BYTES
from jsonschemabench.running import outcomes

Ask = Callable[[Question], Judgement]  # raises WorkerDiedError

_CONTRADICTIONS = {
    "no token": "the mask allows no token",
    "token refused": "the mask allowed a token that the engine then refused",
}


def record_of(
    task: Task, name: str, sampler: str, found: dict[str, Any], ask: Ask
) -> dict[str, Any]:
    """The record of one task and one engine, under the name that results call it by.

    `ask` judges a text.
    """
    record: dict[str, Any] = {
        "kind": "case",
        "case": task.id,
        "engine": name,
        "dataset": task.dataset,
        "sampler": sampler,
        "outcome": outcomes.PASS,
        "features": features(task.schema),
        "declared": False,
        "valid": False,
    }
    judgement = Judgement(json=False, valid=False)
    if "finish" in found:
        judgement = _judged(task, sampler, found, ask)
    elif task.judged:
        judgement = _answer(ask, Question("", task.schema, task.answer, judged=True))
    record |= {key: value for key, value in found.items() if key not in ("refused", "died")}
    record["json"] = judgement.json
    if task.judged:
        record |= {"right": judgement.right, "fields": judgement.fields}
    _add_outcome(task, found, judgement, record)
    if record["outcome"] not in (outcomes.PASS, outcomes.REFUSED_UNSATISFIABLE):
        text = json.dumps(task.schema)
        if len(text) <= SCHEMA_BYTES:
            record["schema"] = text
        else:
            record["schema_bytes"] = len(text)
    return record


def _add_outcome(
    task: Task, found: dict[str, Any], judgement: Judgement, record: dict[str, Any]
) -> None:
    """Outcome, "declared", "valid", and what is wrong."""
    if "died" in found:
        record |= {"outcome": outcomes.CRASH, "reason": found["died"]["reason"]}
        record["error"] = {"kind": "crash", "message": found["died"]["message"]}
        return
    if "refused" in found:
        kind = found["refused"]["kind"]
        record["outcome"] = outcomes.of_refusal(kind, any_valid=task.satisfiable)
        record["error"] = found["refused"]
        return
    record["declared"] = True
    finish = found["finish"]
    if finish in _CONTRADICTIONS:
        record |= {"outcome": outcomes.CRASH, "reason": finish}
        record["error"] = {"kind": "contradiction", "message": _CONTRADICTIONS[finish]}
    elif finish != "end":
        record["outcome"] = outcomes.INCOMPLETE
        record["error"] = {"kind": outcomes.INCOMPLETE, "message": f"the {finish} ended the text"}
    else:
        record["valid"] = judgement.valid
        if judgement.valid is None:
            record["outcome"] = outcomes.INCOMPLETE
            record["error"] = {"kind": "not judged", "message": judgement.why}
        elif not judgement.valid:
            record["outcome"] = outcomes.ACCEPTED_INVALID
            record["error"] = {"kind": "invalid", "message": judgement.why}


def _judged(task: Task, sampler: str, found: dict[str, Any], ask: Ask) -> Judgement:
    question = Question(
        found["text"], task.schema, task.answer, task.judged, fenced=sampler == "off"
    )
    judgement = _answer(ask, question)
    if found.pop("utf8"):
        return judgement
    return Judgement(False, False, "the text is not UTF-8", 0, judgement.fields)


def _answer(ask: Ask, question: Question) -> Judgement:
    try:
        return ask(question)
    except WorkerDiedError as error:
        return Judgement(False, None, f"the validator did not answer ({error.reason})")
