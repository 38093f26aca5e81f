"""Reads the cases to measure: MaskBench packs and folders, or a grammar with texts of its language.

A pack is a `.jsonl` or `.jsonl.gz` file with one case a line: `{"id", "schema", "tests": [{"data",
"valid"}]}`; a folder holds one such case (without `id`) in each `.json` file.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jsonschemabench.data.features import features
from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK
from jsonschemabench.errors import BenchError
from structgen.grammar.ir import Lexing

DIALECTS = {".lark": LARK, ".gbnf": GBNF, ".ebnf": GBNF}


@dataclass(frozen=True)
class Instance:
    """A text, and whether it belongs to the spec's language; `data` is its JSON value, if any."""

    text: str
    valid: bool
    data: Any = None


@dataclass(frozen=True)
class Case:
    """A spec, in one dialect or several (`texts` by kind), with instances.

    lexing: how Lark texts are cut into terminals, for engines that leave the choice.
    """

    id: str
    dataset: str
    texts: dict[str, str]
    instances: list[Instance]
    features: list[str]
    lexing: Lexing = "free"


@dataclass
class Pack:
    """Cases that are parsed one by one; `left_out` gets a line for each that is not one."""

    name: str
    digest: str
    chosen: list[tuple[str, bytes]]  # file and line of each case, and its JSON text
    left_out: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.chosen)

    def __iter__(self) -> Iterator[Case]:
        seen: set[str] = set()
        self.left_out = []
        for location, data in self.chosen:
            try:
                case = _case(data, Path(location).stem)
                if case.id in seen:
                    raise ValueError(f"the id {case.id!r} was there before")
            except (ValueError, RecursionError) as error:
                self.left_out.append(f"{location}: no case ({error}); left out")
                continue
            seen.add(case.id)
            yield case


def read_pack(path: Path, every: int = 1, limit: int | None = None) -> Pack:
    """Each `every`-th case of a file or folder, `limit` at most. BenchError if there are none."""
    try:
        if path.is_dir():
            files = sorted(path.glob("*.json"))
            found = [(str(file), file.read_bytes()) for file in files]
        else:
            data = path.read_bytes()
            lines = (gzip.decompress(data) if path.suffix == ".gz" else data).split(b"\n")
            found = [(f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BenchError(
            f"the cases cannot be read: {reason}",
            location=str(path),
            expected="a .jsonl or .jsonl.gz file, or a folder of .json files",
        ) from error
    if not found:
        raise BenchError("there are no cases", location=str(path), hint="check the path")
    digest = blake2b(digest_size=8)
    for _, data in found:
        digest.update(data)
    return Pack(path.name, digest.hexdigest(), found[::every][:limit])


def read_grammars(
    grammars: Sequence[Path], texts: Path, lexing: Lexing = "free"
) -> tuple[Case, str]:
    """One case of a grammar, given in one dialect or several, and a digest of it.

    Each line of `texts` is a text of the language.
    """
    lines = [line for line in _text(texts).split("\n") if line]
    if not lines:
        raise BenchError("there are no texts", location=str(texts), expected="one a line")
    case = grammar_case(grammars, lines, lexing)
    contents = "\0".join([*case.texts.values(), *lines, lexing])
    return case, blake2b(contents.encode(), digest_size=8).hexdigest()


def grammar_case(grammars: Sequence[Path], texts: Sequence[str], lexing: Lexing) -> Case:
    """The case of a grammar and texts of its language. Raises BenchError."""
    sources = {}
    for path in grammars:
        if path.suffix not in DIALECTS:
            raise BenchError(
                "the dialect of the grammar is unknown",
                location=str(path),
                expected="a file name that ends in " + ", ".join(DIALECTS),
            )
        sources[DIALECTS[path.suffix]] = _text(path)
    instances = [Instance(text, valid=True) for text in texts]
    return Case(grammars[0].stem, "grammar", sources, instances, [], lexing)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(
            f"the file cannot be read: {getattr(error, 'strerror', None) or error}",
            location=str(path),
        ) from error


def _case(data: bytes, name: str) -> Case:
    """The case that a JSON text describes. ValueError says what is wrong with the text."""
    found = json.loads(data)
    if not isinstance(found, dict) or not {"schema", "tests"} <= found.keys():
        raise ValueError("it is no object with `schema` and `tests`")
    instances = []
    for test in found["tests"] if isinstance(found["tests"], list) else [None]:
        if not isinstance(test, dict) or not isinstance(test.get("valid"), bool):
            raise ValueError("`tests` is not a list of objects with `data` and `valid`")
        value = test.get("data")
        instances.append(Instance(json.dumps(value, ensure_ascii=False), test["valid"], value))
    identifier = str(found.get("id", name))
    return Case(
        identifier,
        dataset_of(identifier),
        {JSON_SCHEMA: json.dumps(found["schema"])},
        instances,
        features(found["schema"]),
    )


def dataset_of(identifier: str) -> str:
    """The dataset that a case's id names: "Github_easy---o123" is of "Github_easy"."""
    name, mark, _ = identifier.partition("---")
    return name if mark else re.sub(r"[_-]?\d+$", "", identifier) or identifier
