"""Rows of a file, the prompts made of them, and the texts that a model writes for these."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import SpecError, StructgenError

if TYPE_CHECKING:
    from structgen.generation.generator import Generator

ENDINGS = (".jsonl", ".csv", ".parquet")
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


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
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _object(line, f"{path}:{number}")
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file)
    elif path.suffix == ".parquet":
        import pyarrow.parquet

        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    else:
        raise SpecError(
            f"rows are not read from {path.name}", expected=" or ".join(f"*{e}" for e in ENDINGS)
        )


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise SpecError(f"the line is not JSON: {error}", location=place) from error
    if not isinstance(found, dict):
        raise SpecError("the line is no JSON object", location=place, expected='{"name": ...}')
    return found


class Template:
    """A prompt with names of columns in braces, `{name}`; `{{` and `}}` are braces."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fill(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row; values that are no texts are written as JSON.

        SpecError for a column that the row lacks.
        """

        def value(place: re.Match[str]) -> str:
            if place[1] is None:
                return place[0][0]
            if place[1] not in row:
                raise SpecError(
                    f"the row has no column {place[1]!r}",
                    location=f"{{{place[1]}}} in the prompt",
                    expected=", ".join(map(str, row)),
                    hint="write {{ and }} for braces",
                )
            found = row[place[1]]
            return found if isinstance(found, str) else json.dumps(found, default=str)

        return _PLACE.sub(value, self.text)


def answers(
    generator: Generator, spec: Any, prompts: Sequence[str], settings: Mapping[str, Any]
) -> list[Answer]:
    """What the model writes for each prompt, all at once.

    A text that fails (its token budget, say) fails alone: then all are written one by one.
    """
    try:
        results = generator.batch(prompts, spec, **settings)
    except StructgenError as error:
        if len(prompts) > 1:
            return [answers(generator, spec, [one], settings)[0] for one in prompts]
        return [Answer(None, None, None, str(error))]
    return [Answer(r.text, r.value, r.finish_reason, None) for r in results]
