"""Reads the cases of the JSON Schema Test Suite by draft and file, and its remote documents.

    tests/draft7/items.json                   required
    tests/draft7/optional/ecmascript-regex.json   asked for by `optional`
    tests/draft7/optional/format/email.json   asked for by `formats`; formats are asserted there
    remotes/draft7/name.json                  is http://localhost:1234/draft7/name.json

Each schema object that names no draft gets the `$schema` of its folder, as the suite's rules ask.
A file or case that cannot be read costs one line in `left_out`, never the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jsonschemabench.data.cases import Instance
from jsonschemabench.errors import BenchError

DRAFTS = {
    "draft3": "http://json-schema.org/draft-03/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
SUITE = "JSON-Schema-Test-Suite"
SERVER = "http://localhost:1234"
FORMATS = "optional/format/"


@dataclass(frozen=True)
class SuiteCase:
    """A schema with its tests: `instances`, and `names` that say what each is about.

    `file` is "items", "optional/bignum", "optional/format/email" or the like.
    """

    draft: str
    file: str
    number: int
    description: str
    schema: Any
    instances: tuple[Instance, ...]
    names: tuple[str, ...]

    @property
    def id(self) -> str:
        """Where the case stands: "draft7/items#3"."""
        return f"{self.draft}/{self.file}#{self.number}"

    @property
    def asserts_formats(self) -> bool:
        """Whether `format` is to be enforced; everywhere else it is an annotation."""
        return self.file.startswith(FORMATS)


@dataclass(frozen=True)
class SuiteFile:
    """One file of the suite; `digest` changes when the file does."""

    draft: str
    name: str
    digest: str
    cases: tuple[SuiteCase, ...]

    @property
    def id(self) -> str:
        """Where the file stands: "draft7/optional/bignum"."""
        return f"{self.draft}/{self.name}"


class Suite:
    """The suite in a folder. `left_out` collects a line for each thing that could not be read."""

    def __init__(self, folder: Path) -> None:
        self.root = _root(folder)
        self.left_out: list[str] = []

    @cached_property
    def drafts(self) -> tuple[str, ...]:
        """The drafts that are there, oldest first; others than those of `DRAFTS` are skipped."""
        return tuple(d for d in DRAFTS if (self.root / "tests" / d).is_dir())

    def files(
        self, drafts: Iterable[str] = (), *, optional: bool = False, formats: bool = False
    ) -> Iterator[SuiteFile]:
        """The files of the drafts (all that are there, if none is named), required ones first."""
        wanted = tuple(drafts)
        for draft in wanted:
            if draft not in self.drafts:
                self.left_out.append(f"{draft}: not in {self.root / 'tests'}")
        for draft in self.drafts:
            if wanted and draft not in wanted:
                continue
            for path, name in self._paths(draft, optional, formats):
                found = self._file(path, draft, name)
                if found is not None:
                    yield found

    def remotes(self, draft: str) -> dict[str, Any]:
        """The documents at http://localhost:1234/ for the tests of a draft, by URI.

        An object that names no draft gets the one of its folder, or else the one that is tested.
        """
        folder = self.root / "remotes"
        if not folder.is_dir():
            self._leave_out(f"{folder}: there is no such folder, so references to it lead nowhere")
        found = {}
        for path in sorted(folder.rglob("*.json")):
            name = path.relative_to(folder).as_posix()
            owner = name.split("/")[0]
            if owner in DRAFTS or not _is_draft(owner):
                contents = self._read(path)
                if contents is not _UNREADABLE:
                    found[f"{SERVER}/{name}"] = _dated(contents, DRAFTS.get(owner, DRAFTS[draft]))
        return found

    def _paths(self, draft: str, optional: bool, formats: bool) -> Iterator[tuple[Path, str]]:
        folder = self.root / "tests" / draft
        chosen = sorted(folder.glob("*.json"))
        others = sorted((folder / "optional").rglob("*.json"))
        for path in chosen + others:
            name = path.relative_to(folder).with_suffix("").as_posix()
            is_format = name.startswith(FORMATS)
            if path in chosen or (formats if is_format else optional):
                yield path, name

    def _file(self, path: Path, draft: str, name: str) -> SuiteFile | None:
        groups = self._read(path)
        if groups is _UNREADABLE:
            return None
        if not isinstance(groups, list):
            self._leave_out(f"{path}: not an array of cases")
            return None
        cases = []
        for number, group in enumerate(groups):
            try:
                cases.append(_case(draft, name, number, group))
            except (KeyError, TypeError, ValueError) as error:
                self._leave_out(f"{path}, case {number}: {_reason(error)}")
        digest = blake2b(path.read_bytes(), digest_size=6).hexdigest()
        return SuiteFile(draft, name, digest, tuple(cases))

    def _read(self, path: Path) -> Any:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            self._leave_out(f"{path}: {_reason(error)}")
            return _UNREADABLE

    def _leave_out(self, line: str) -> None:
        if line not in self.left_out:
            self.left_out.append(line)


_UNREADABLE = object()


def _root(folder: Path) -> Path:
    """The folder that holds `tests` and `remotes`: the one given, one inside, or one above."""
    for root in (folder, folder / SUITE, folder.parent):
        tests = root / "tests"
        if any((tests / draft).is_dir() for draft in DRAFTS) and (
            root != folder.parent or tests.resolve() == folder.resolve()
        ):
            return root
    raise BenchError(
        "no JSON Schema Test Suite is there",
        location=str(folder),
        expected=f"a folder that holds {SUITE}/tests/draft7 or tests/draft7 or the like",
        hint="name it with --dir or STRUCTGEN_DATA, or fetch it with --download",
    )


def _is_draft(name: str) -> bool:
    return name.startswith("draft") or (name[:1] == "v" and name[1:].isdigit())


def _case(draft: str, file: str, number: int, group: dict[str, Any]) -> SuiteCase:
    schema = _dated(group["schema"], DRAFTS[draft])
    if not isinstance(schema, dict | bool):
        raise TypeError("its schema is neither an object nor a boolean")
    instances = tuple(map(_instance, group["tests"]))
    names = tuple(str(test.get("description", "")) for test in group["tests"])
    description = str(group.get("description", ""))
    return SuiteCase(draft, file, number, description, schema, instances, names)


def _dated(schema: Any, dialect: str) -> Any:
    """The schema, naming its draft where it can and does not yet."""
    return {"$schema": dialect, **schema} if isinstance(schema, dict) else schema


def _instance(test: dict[str, Any]) -> Instance:
    data = test["data"]
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)  # as MaskBench writes it too
    if any("\ud800" <= char <= "\udfff" for char in text):
        text = json.dumps(data, allow_nan=False)  # UTF-8 has no unpaired surrogates, escapes do
    if not isinstance(test["valid"], bool):
        raise TypeError(f"'valid' is {test['valid']!r}")
    return Instance(text, test["valid"], data)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg}, line {error.lineno} column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte {error.start})"
    if isinstance(error, RecursionError):
        return "nested too deeply to be read"
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)
