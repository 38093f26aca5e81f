"""The command `suite` reports the outcome of each test, on a small suite with every outcome."""

from __future__ import annotations

import json
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.engines import engine_class
from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.main import main
from jsonschemabench.running.judge import Judge, byte_vocabulary
from jsonschemabench.running.outcomes import PASS, REFUSED_SATISFIABLE, REFUSED_UNSATISFIABLE
from jsonschemabench.running.results import read
from jsonschemabench.suite import download
from jsonschemabench.suite.cases import Suite
from jsonschemabench.suite.command import jobs

REMOTE = "http://localhost:1234/draft7/remote.json"


def case(schema: Any, *tests: tuple[Any, bool]) -> dict[str, Any]:
    """One case of a suite file."""
    listed = [{"description": f"test {i}", "data": d, "valid": v} for i, (d, v) in enumerate(tests)]
    return {"description": "a case", "schema": schema, "tests": listed}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A suite of three files, with a remote that only draft 7 reads as it is meant."""
    files = {
        "tests/draft7/items.json": [
            case({"items": {"type": "null"}}, ([None], True), ([1], False)),
            case(False, (1, False)),
            case({"type": "string"}, ("a", False), (1, True), ("b", True)),
            case({"$ref": REMOTE}, ("ab", True), ("a", False), (1, True)),
            case({"format": "date"}, ("no date", True)),
        ],
        "tests/draft7/optional/format/date.json": [
            case({"format": "date"}, ("2026-11-20", True), ("no date", False)),
        ],
        "tests/draft2020-12/optional/items.json": [case({"items": 1}, (1, True))],
        # In draft 2020-12, this would have no say over numbers: siblings of $ref would count.
        "remotes/draft7/remote.json": {
            "definitions": {"two": {"minLength": 2}},
            "$ref": "#/definitions/two",
            "type": "string",
        },
    }
    for name, contents in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(contents))
    return tmp_path


def test_each_test_has_its_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Remotes are read by their draft, formats asserted where they are the subject."""
    out = folder / "out.jsonl"
    arguments = ["--dir", str(folder), "--engines", "structgen", "--out", str(out)]
    assert main(["suite", *arguments, "--formats", "--failures"]) == 0
    found = {r["case"]: r for r in read(out).records}
    assert {name: record["tests"] for name, record in found.items()} == {
        "draft7/items#0": ["pass", "pass"],
        "draft7/items#1": ["refused unsatisfiable"],
        "draft7/items#2": ["accepted invalid", "rejected valid", "pass"],
        "draft7/items#3": ["pass", "pass", "pass"],
        "draft7/items#4": ["pass"],
        "draft7/optional/format/date#0": ["pass", "pass"],
    }
    wrong = found["draft7/items#2"]
    assert wrong["outcome"] == "accepted invalid"
    assert json.loads(wrong["schema"])["type"] == "string"
    assert [(w["data"], w["valid"], w["accepted"], w["position"]) for w in wrong["wrong"]] == [
        ("a", False, True, 3),
        (1, True, False, 0),
    ]
    assert found["draft7/items#0"].keys().isdisjoint({"wrong", "schema", "error"})
    assert found["draft7/items#1"]["error"]["kind"] == "unsatisfiable"
    shown = capsys.readouterr().out
    assert "| structgen | tests | 12 | 83.3% | 9 | 1 | 0 | 1 | 0 | 1 |" in shown
    assert "accepted invalid: structgen: draft7/items#2/0: a case: test 0" in shown


#: schemas that name no draft and mean something else in the draft before or behind
TELLTALES: dict[str, list[dict[str, Any]]] = {
    "draft4": [case({"maximum": 3, "exclusiveMaximum": True}, (3, False), (2, True))],
    "draft6": [
        case({"exclusiveMaximum": 3}, (3, False), (2, True)),
        case({"if": True, "then": False}, (1, True)),
    ],
    "draft7": [
        case({"if": True, "then": False}, (1, False)),
        case({"$ref": "#/definitions/a", "type": "null", "definitions": {"a": True}}, (1, True)),
    ],
    "draft2019-09": [
        case({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": True}}, (1, False), (None, True)),
        case({"items": [True], "additionalItems": False}, ([1], True), ([1, 1], False)),
    ],
    "draft2020-12": [case({"prefixItems": [True], "items": False}, ([1], True), ([1, 1], False))],
}


def test_each_draft_is_read_by_its_own_rules(tmp_path: Path) -> None:
    """By those of the folder that a case and its remotes stand in."""
    for draft, cases in TELLTALES.items():
        remote = tmp_path / "remotes" / draft / "first.json"
        tests = tmp_path / "tests" / draft / "type.json"
        for path in (remote, tests):
            path.parent.mkdir(parents=True)
        remote.write_text(json.dumps(cases[0]["schema"]))
        leading = {"$ref": f"http://localhost:1234/{draft}/first.json"}
        tests.write_text(json.dumps([*cases, {**cases[0], "schema": leading}]))
    suite = Suite(tmp_path)
    judge = Judge(StructgenEngine(), byte_vocabulary())
    make = jobs(byte_vocabulary(), {draft: suite.remotes(draft) for draft in suite.drafts})
    judged = {
        case.id: judge(make(case, StructgenEngine)).outcome
        for file in suite.files()
        for case in file.cases
    }
    assert len(judged) == sum(len(cases) + 1 for cases in TELLTALES.values())
    assert set(judged.values()) <= {PASS, REFUSED_UNSATISFIABLE}, judged


def test_a_run_goes_on_where_it_stopped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A half-written line costs its record, which is measured again."""
    out = folder / "out.jsonl"
    command = ["suite", "--dir", str(folder), "--engines", "structgen", "--out", str(out)]
    assert main(command) == 0
    whole = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(whole[:3]) + whole[3][:20])
    capsys.readouterr()
    assert main(command) == 0
    said = capsys.readouterr()
    assert "going on behind 2 records" in said.err
    assert "out.jsonl:4: not a whole record" in said.err
    assert "| structgen | cases | 5 |" in said.out
    assert len(read(out).records) == 5


def test_what_cannot_be_read_is_left_out_at_the_end(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files, drafts, keywords, engines: one line each, and the run goes on."""
    (folder / "tests/draft7/broken.json").write_text("[{")
    command = ["suite", "--dir", str(folder), "--out", str(folder / "out.jsonl")]
    command += ["--draft", "draft7", "--draft", "draft6", "--keyword", "items", "--keyword", "no"]
    assert main([*command, "--engines", "structgen,nosuch"]) == 0
    lines = [x for x in capsys.readouterr().err.splitlines() if x.startswith("left out: ")]
    broken = folder / "tests/draft7/broken.json"
    starts = ["draft6: ", f"{broken}: not JSON", "no: no file", "there is no engine 'nosuch'"]
    assert [line.startswith(f"left out: {s}") for line, s in zip(lines, starts, strict=True)] == [
        True
    ] * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dir", "nowhere"], "no JSON Schema Test Suite is there at nowhere"),
        (["--keyword", "nosuch"], "there is nothing to run at "),
        (["--engines", "nosuch"], "no engine can be measured"),
        (["--tokenizer", "nowhere.tiktoken"], "there is no such tokenizer file"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And exit status 2."""
    where = [] if "--dir" in arguments else ["--dir", str(folder)]
    assert main(["suite", "--out", str(folder / "o.jsonl"), *where, *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert words in said[-1]


def test_the_suite_is_looked_for_where_it_may_be(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In STRUCTGEN_DATA, then in the cache; where it is nowhere, the error says what to do."""
    cache, empty = tmp_path / "cache", tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setattr(download, "cache_dir", lambda: cache)
    monkeypatch.setenv("STRUCTGEN_DATA", str(empty))
    command = ["suite", "--keyword", "nosuch"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert f"no JSON Schema Test Suite is there at {empty} or {cache}" in said
    assert "with --dir or STRUCTGEN_DATA, or fetch it with --download" in said
    cache.mkdir()
    (cache / "JSON-Schema-Test-Suite").symlink_to(folder)
    assert main(command) == 2
    assert f"there is nothing to run at {cache}" in capsys.readouterr().err
    monkeypatch.setenv("STRUCTGEN_DATA", str(folder))
    assert main(command) == 2
    assert f"there is nothing to run at {folder}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "version", "figures"),
    [
        ("llguidance", "1.9.1", (583, 0, 694)),
        ("xgrammar", "0.2.8", (871, 299, 69)),
    ],
)
def test_the_peers_fare_as_they_are_known_to(
    name: str, version: str, figures: tuple[int, ...], data_dir: Path
) -> None:
    """Passes, invalid instances accepted and refusals of draft 2020-12, its 1,299 tests."""
    try:
        if metadata.version(name) != version:
            pytest.skip(f"the figures are those of {name} {version}")
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    suite = Suite(data_dir)
    judge = Judge(engine_class(name)(), byte_vocabulary())
    make = jobs(byte_vocabulary(), {"draft2020-12": suite.remotes("draft2020-12")})
    counts = Counter(
        outcome
        for file in suite.files(["draft2020-12"])
        for case in file.cases
        for outcome in judge(make(case, engine_class(name))).outcomes
    )
    refused = counts[REFUSED_SATISFIABLE] + counts[REFUSED_UNSATISFIABLE]
    assert counts.total() == 1299
    assert (counts[PASS], counts["accepted invalid"], refused) == figures
