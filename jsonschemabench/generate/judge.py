"""Judges a text that a model wrote: is it valid, and how many fields of the answer are right?

The judge of validity is the jsonschema library, with formats checked as in the paper and the draft
that `$schema` names (2020-12 where it names none). It runs in a child process of its own, so that
a pattern that never ends costs no engine its time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_FENCE = re.compile(r"\A.*?```(?:json)?\s*\n(.*?)```.*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Question:
    """A finished text to judge. fenced: whether the JSON may stand in a code fence."""

    text: str
    schema: Any
    answer: Any = None
    judged: bool = False
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """valid: None where the library cannot say, `why` says then why not.

    right, fields: leaf values of the answer that the text has, and leaf values of both together.
    """

    json: bool
    valid: bool | None
    why: str = ""
    right: int = 0
    fields: int = 0


def start() -> Callable[[Question], Judgement]:
    """What a worker starts with."""
    return judge


def judge(question: Question) -> Judgement:
    """Judge one text."""
    from structgen.demo.training.evaluate import count_right

    text = question.text
    if question.fenced and (fenced := _FENCE.match(text)):
        text = fenced.group(1)
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        _, fields = count_right("", question.answer) if question.judged else (0, 0)
        return Judgement(False, False, f"not JSON: {error}", 0, fields)
    right, fields = count_right(text, question.answer) if question.judged else (0, 0)
    valid, why = validity(question.schema, value)
    return Judgement(True, valid, why, right, fields)


def validity(schema: Any, value: Any) -> tuple[bool | None, str]:
    """Whether the library calls a value valid, and what it says; None where it cannot."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY

    draft = validator_for(schema, default=Draft202012Validator)
    validator = draft(schema, format_checker=draft.FORMAT_CHECKER, registry=REGISTRY)
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except Exception as problem:  # noqa: BLE001  broken schemas raise errors of every kind
        return None, f"{type(problem).__name__}: {problem}"[:300]
    return error is None, "" if error is None else f"{error.json_path}: {error.message}"[:300]


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
