"""Rows of a file, the prompts made of them, and the texts that a model writes for these."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import SpecError, StructgenError
from structgen.spec.base import Spec

if TYPE_CHECKING:
    from structgen.generation.generator import Generator

ENDINGS = (".jsonl", ".csv", ".parquet")
_COLUMN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


class Answer(NamedTuple):
    """What was written for a row: a text and its value, or what kept it from being written."""

    text: str | None
    value: Any
    finish_reason: str | None
    error: str | None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON Lines, CSV (with a line of names) or Parquet, one by one.

    SpecError for another ending, and for a line that is no JSON object, with its number.
    """
    check_ending(path)
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _object(line, f"{path}:{number}")
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file)
    else:
        import pyarrow.parquet

        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()


def check_ending(path: Path) -> None:
    """SpecError for a file of another ending than ENDINGS."""
    if path.suffix not in ENDINGS:
        raise SpecError(
            f"rows are not read from {path.name}", expected=" or ".join(f"*{e}" for e in ENDINGS)
        )


def _object(line: str, location: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"the line is not JSON: {error}", location=location) from error
    if not isinstance(found, dict):
        raise SpecError("the line is no JSON object", location=location, expected='{"name": ...}')
    return found


class Template:
    """A prompt with names of columns in braces, `{name}`; `{{` and `}}` are braces."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fill(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row; values that are no texts are written as JSON.

        SpecError for a column that the row lacks.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name is None:
                return match[0][0]
            if name not in row:
                raise SpecError(
                    f"the row has no column {name!r}",
                    location=f"{{{name}}} in the prompt",
                    expected=", ".join(map(str, row)),
                    hint="write {{ and }} for braces",
                )
            found = row[name]
            return found if isinstance(found, str) else json.dumps(found, default=str)

        return _COLUMN.sub(value, self.text)


class Work(NamedTuple):
    """What is to be written for each row.

    settings: of `Generator.batch`. batch: rows that are written at once.
    """

    spec: Spec
    template: Template
    settings: Mapping[str, Any]
    batch: int = 16


def answers(generator: Generator, work: Work, rows: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """What the model writes for each row, all at once.

    A text that fails (its token budget, say) fails alone: then all are written one by one.
    """
    prompts = [work.template.fill(row) for row in rows]
    try:
        results = generator.batch(prompts, work.spec, **work.settings)
    except StructgenError as error:
        if len(rows) > 1:
            return [answers(generator, work, [row])[0] for row in rows]
        return [Answer(None, None, None, str(error))]
    return [Answer(r.text, r.value, r.finish_reason, None) for r in results]
