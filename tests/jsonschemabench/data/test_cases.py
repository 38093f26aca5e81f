"""Cases of packs, folders and grammars are read, and broken ones are named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.data.cases import dataset_of, read_grammars, read_pack
from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK
from jsonschemabench.errors import BenchError


def line(name: str, **changes: Any) -> str:
    """A case as a line of a pack."""
    case = {
        "id": name,
        "schema": {"type": "string", "pattern": "é"},
        "tests": [{"data": "é", "valid": True}, {"data": 1, "valid": False}],
    }
    return json.dumps(case | changes)


def test_a_case_is_read_as_maskbench_has_it(tmp_path: Path) -> None:
    """The schema as JSON text, instances as `json.dumps` writes them without escapes."""
    path = tmp_path / "pack.jsonl.gz"
    path.write_bytes(gzip.compress(line("Github_easy---o1").encode()))
    (case,) = read_pack(path)
    assert (case.id, case.dataset) == ("Github_easy---o1", "Github_easy")
    assert json.loads(case.texts[JSON_SCHEMA]) == {"type": "string", "pattern": "é"}
    assert [(i.text, i.valid) for i in case.instances] == [('"é"', True), ("1", False)]
    assert case.features == ["pattern", "type"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "no case"),
        ("[]", "no object with `schema` and `tests`"),
        ('{"schema": true}', "no object with `schema` and `tests`"),
        (line("b", tests=[{"data": 1}]), "not a list of objects"),
        (line("b", tests={"data": 1, "valid": True}), "not a list of objects"),
        (line("b", tests=[{"data": 1, "valid": "yes"}]), "not a list of objects"),
        (line("a"), "the id 'a' was there before"),
        ("[" * 100_000, "no case"),
    ],
    ids=range(8),
)
def test_a_bad_line_costs_itself(tmp_path: Path, bad: str, reason: str) -> None:
    """It is named with its number; the cases before and behind it count."""
    path = tmp_path / "pack.jsonl"
    path.write_text("\n".join([line("a"), "", bad, line("c")]))
    pack = read_pack(path)
    assert [case.id for case in pack] == ["a", "c"]
    assert len(pack.left_out) == 1
    assert pack.left_out[0].startswith(f"{path}:3: ")
    assert reason in pack.left_out[0]


def test_a_folder_holds_one_case_in_each_file(tmp_path: Path) -> None:
    """The file's name is its id where it has none."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(line("x", id=name))
    (tmp_path / "c---1.json").write_text('{"schema": true, "tests": []}')
    (tmp_path / "notes.txt").write_text("not a case")
    assert [case.id for case in read_pack(tmp_path)] == ["a", "b", "c---1"]


def test_every_and_limit_choose_cases(tmp_path: Path) -> None:
    """Each N-th from the first, M at most; the digest is that of the whole pack."""
    path = tmp_path / "pack.jsonl"
    path.write_text("\n".join(map(line, "abcdefg")))
    pack = read_pack(path, every=2, limit=3)
    assert len(pack) == 3
    assert [case.id for case in pack] == ["a", "c", "e"]
    assert pack.digest == read_pack(path).digest


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"\x1f\x8bno gzip"])
def test_a_pack_without_cases_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Absent, empty or damaged, in one line that names it."""
    path = tmp_path / "pack.jsonl.gz"
    if content is not None:
        path.write_bytes(gzip.compress(content) if content.isspace() or not content else content)
    with pytest.raises(BenchError, match=r"pack\.jsonl\.gz"):
        read_pack(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BenchError, match="no cases"):
        read_pack(tmp_path / "empty")


def test_a_grammar_in_two_dialects_is_one_case(tmp_path: Path) -> None:
    """With the texts, one a line, all of its language."""
    for name, text in {"g.lark": 'start: "a"', "g.gbnf": 'root ::= "a"', "t": "a\n\nb\n"}.items():
        (tmp_path / name).write_text(text)
    case, digest = read_grammars([tmp_path / "g.lark", tmp_path / "g.gbnf"], tmp_path / "t")
    assert case.texts == {LARK: 'start: "a"', GBNF: 'root ::= "a"'}
    assert [(i.text, i.valid) for i in case.instances] == [("a", True), ("b", True)]
    assert digest != read_grammars([tmp_path / "g.lark"], tmp_path / "t")[1]


@pytest.mark.parametrize(("grammar", "texts"), [("g.txt", "t"), ("no.lark", "t"), ("g.lark", "e")])
def test_a_grammar_that_cannot_be_used_is_refused(tmp_path: Path, grammar: str, texts: str) -> None:
    """An unknown dialect, a file that is not there, no texts."""
    for name, text in {"g.lark": 'start: "a"', "g.txt": "", "t": "a", "e": "\n"}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BenchError, match=rf"{grammar}|/{texts} "):
        read_grammars([tmp_path / grammar], tmp_path / texts)


@pytest.mark.parametrize(
    ("identifier", "dataset"),
    [
        ("Github_easy---o123", "Github_easy"),
        ("BFCL_java_0", "BFCL_java"),
        ("WashingtonPost---wp_9_Normalized", "WashingtonPost"),
        ("42", "42"),
    ],
)
def test_a_dataset_is_what_an_id_begins_with(identifier: str, dataset: str) -> None:
    """As the ids of MaskBench are made."""
    assert dataset_of(identifier) == dataset
