"""Fills a spec for each row of a file on this machine; the same call goes on where it was stopped.

Each line of the output is one row, in the order of the input: its number, the row, and the text
with its value; or the error, where none could be written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.compose.base import to_json
from structgen.errors import ArtifactError
from structgen.integrations.mapping.rows import Work, answers, read_rows

if TYPE_CHECKING:
    from structgen.generation.generator import Generator

#: (rows done, rows that failed among these)
Progress = Callable[[int, int], None]


def fill_file(
    generator: Generator, work: Work, source: Path, out: Path, progress: Progress | None = None
) -> tuple[int, int]:
    """Write a line to `out` for each row of `source` that has none yet.

    Returns how many rows have lines, and how many of these have errors. A line that was half
    written is dropped. ArtifactError where `out` has lines of another spec or prompt.
    """
    name = digest(work)
    done, failed = _resume(out, name)
    rows = islice(read_rows(source), done, None)
    with out.open("a", encoding="utf-8") as file:
        while part := list(islice(rows, work.batch)):
            for row, one in zip(part, answers(generator, work, part), strict=True):
                line = {"row": done, "input": row, "work": name, **one._asdict()}
                file.write(json.dumps(line, ensure_ascii=False, default=_plain) + "\n")
                done += 1
                failed += one.error is not None
            file.flush()
            if progress is not None:
                progress(done, failed)
    return done, failed


def digest(work: Work) -> str:
    """What tells the work of a file from other work: 16 hex digits of spec and prompt."""
    content = json.dumps([to_json(work.spec), work.template.text])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:16]


def _resume(out: Path, name: str) -> tuple[int, int]:
    """How many rows there are already, and how many of them failed; what is half written goes."""
    done = failed = end = 0
    if not out.exists():
        return 0, 0
    with out.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                found = json.loads(line)
                same = found["row"] == done and found["work"] == name
            except (ValueError, KeyError, TypeError, RecursionError):
                same = False
            if not same:
                raise ArtifactError(
                    "the file has other work than this",
                    location=f"{out}:{done + 1}",
                    expected="lines of the same rows, spec and prompt",
                    hint="name another file",
                )
            done, end = done + 1, end + len(line)
            failed += found["error"] is not None
    os.truncate(out, end)
    return done, failed


def _plain(value: Any) -> Any:
    """What JSON has no words for: instances of models by their fields, other values as texts."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump(mode="json")
