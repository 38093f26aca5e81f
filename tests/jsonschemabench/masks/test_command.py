"""The command `masks` feeds and times each case, and reports engines that misbehave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jsonschemabench.data.cases import Case, Instance
from jsonschemabench.engines.engine import JSON_SCHEMA, Refused, Row, Spec
from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.main import main
from jsonschemabench.masks.command import record_of
from jsonschemabench.masks.job import ContradictionError, MaskJob, feed, measure
from jsonschemabench.running.results import read

END = 3


class Script:
    """A matcher of the language "0 1*" over the tokens 0 to 3, with flaws on request."""

    def __init__(self, row: Row, flaw: str = "") -> None:
        self.row, self.flaw = row, flaw
        self.read: list[int] = []
        self.masks = 0

    def mask(self) -> None:
        """Allow 0 at the start, then 1 and the end."""
        self.masks += 1
        self.row[0] = 0b1010 if self.read else 0b0001
        if self.flaw == "no end":
            self.row[0] &= 0b0111

    def accept(self, token: int) -> bool:
        """Go on."""
        self.read.append(token)
        return self.flaw != "stubborn"

    def done(self) -> bool:
        """Behind the first token, always."""
        return bool(self.read) and self.flaw != "never done"

    def forced(self) -> bytes:
        """Nothing."""
        return b""


@pytest.mark.parametrize(
    ("ids", "accepted", "position"),
    [([0], True, 1), ([0, 1, 1], True, 3), ([1], False, 0), ([0, 1, 2], False, 2), ([], False, 0)],
)
def test_a_text_is_accepted_to_its_end_or_rejected_at_a_token(
    ids: list[int], accepted: bool, position: int
) -> None:
    """Each token that is tried has a time, the end token too."""
    times: list[int] = []
    row = np.zeros(1, np.int32)
    assert feed(Script(row), row, ids, (END,), times) == (accepted, position)
    assert len(times) == position + 1
    assert all(time >= 0 for time in times)


def test_a_mask_that_is_there_already_is_not_made_again() -> None:
    """The first mask of all belongs to the time to the first mask."""
    row = np.ones(1, np.int32)
    script = Script(row)
    assert feed(script, row, [0, 1], (END,), [], masked=True) == (True, 2)
    assert script.masks == 2


def test_without_an_end_token_the_engine_says_where_a_text_may_end() -> None:
    """Then nothing is asked of the mask behind the last token."""
    row = np.zeros(1, np.int32)
    assert feed(Script(row), row, [0], (), []) == (True, 1)
    assert feed(Script(row), row, [], (), []) == (False, 0)


@pytest.mark.parametrize(
    ("flaw", "says"),
    [
        ("no end", "forbids the end token, but the text may end"),
        ("never done", "allows the end token, but the text may not end"),
        ("stubborn", "allows token 0, but it is not accepted"),
    ],
)
def test_an_engine_that_contradicts_itself_is_found_out(flaw: str, says: str) -> None:
    """The mask, `accept` and `done` must say the same."""
    row = np.zeros(1, np.int32)
    with pytest.raises(ContradictionError, match=says):
        feed(Script(row, flaw), row, [0], (END,), [])


class Fickle(StructgenEngine):
    """An engine that refuses some specs, and else compiles to scripts with a flaw."""

    def compile(self, spec: Spec) -> Any:
        """The text of the spec is the flaw."""
        if spec.text == "refused":
            raise Refused("unsupported", "not this one")

        class Compiled:
            memory_bytes = 5

            def start(self, row: Row) -> Script:
                return Script(row, spec.text)

        return Compiled()


def test_a_case_is_fed_twice_and_timed_each_time() -> None:
    """The first instance's first mask is in the time to the first mask, but its step is not."""
    row = np.zeros(1, np.int32)
    found = measure(Fickle(), row, (END,), MaskJob(Spec(JSON_SCHEMA, ""), [[0], [1]]))
    assert (found["accepted"], found["positions"]) == ([True, False], [1, 0])
    assert found["first_use"]["count"] == found["seen_before"]["count"] == 3
    assert 0 < found["compile_ns"] <= found["first_mask_ns"]
    assert found["memory_compiled"] == 5
    assert found["memory_peak"] > 0


def test_refusals_and_contradictions_are_answers() -> None:
    """A refused case has no times per token; a contradiction is in words."""
    row = np.zeros(1, np.int32)
    found = measure(Fickle(), row, (END,), MaskJob(Spec(JSON_SCHEMA, "refused"), [[0]]))
    assert found["refused"] == {"kind": "unsupported", "message": "not this one"}
    assert "first_use" not in found
    found = measure(Fickle(), row, (END,), MaskJob(Spec(JSON_SCHEMA, "no end"), [[0]]))
    assert "forbids the end token" in found["contradiction"]


def case(*valid: bool) -> Case:
    """A case whose instances are valid or not."""
    instances = [Instance(str(n), v, n) for n, v in enumerate(valid)]
    return Case("x---1", "x", {JSON_SCHEMA: "{}"}, instances, ["type"])


@pytest.mark.parametrize(
    ("valid", "found", "outcome"),
    [
        ([True, False], {"accepted": [True, False], "positions": [1, 0]}, "pass"),
        ([True, False], {"accepted": [False, False], "positions": [0, 0]}, "rejected valid"),
        ([True, False], {"accepted": [False, True], "positions": [0, 1]}, "accepted invalid"),
        ([True], {"refused": {"kind": "unsatisfiable", "message": ""}}, "refused satisfiable"),
        ([False], {"refused": {"kind": "unsupported", "message": ""}}, "refused satisfiable"),
        ([False], {"refused": {"kind": "unsatisfiable", "message": ""}}, "refused unsatisfiable"),
        ([True], {"died": {"reason": "time limit", "message": "slow"}}, "crash"),
        ([True], {"contradiction": "yes and no"}, "crash"),
    ],
)
def test_the_outcome_is_the_worst_of_what_happened(
    valid: list[bool], found: dict[str, Any], outcome: str
) -> None:
    """And a record that does not pass carries what a reader needs to judge it."""
    record = record_of(case(*valid), StructgenEngine, found)
    assert record["outcome"] == outcome
    assert ("schema" in record) == (outcome not in ("pass", "refused unsatisfiable"))
    assert ("reason" in record) == (outcome == "crash")


def test_a_wrong_answer_is_recorded_with_its_instance() -> None:
    """With what it is, what was said, and how far the text got."""
    record = record_of(
        case(True, False), StructgenEngine, {"accepted": [True] * 2, "positions": [4, 7]}
    )
    assert record["wrong"] == [{"data": 1, "valid": False, "accepted": True, "position": 7}]
    assert record["features"] == ["type"]


PACK = [
    {"id": "a---1", "schema": {"type": "integer"}, "tests": [{"data": 7, "valid": True}]},
    {"id": "a---2", "schema": {"type": "object", "properties": {"k": {"enum": ["é"]}}},
     "tests": [{"data": {"k": "é"}, "valid": True}, {"data": {"k": 1}, "valid": False}]},
    {"id": "b---1", "schema": False, "tests": [{"data": 1, "valid": False}]},
    {"id": "b---2", "schema": {"$ref": "#/nowhere"}, "tests": [{"data": 1, "valid": True}]},
]  # fmt: skip


def test_a_pack_is_measured_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, records and what was left out; then the same command finds nothing to do."""
    pack, out = tmp_path / "pack.jsonl", tmp_path / "out.jsonl"
    pack.write_text("\n".join([*map(json.dumps, PACK), "{broken"]))
    command = ["masks", "--cases", str(pack), "--tokenizer", "bytes", "--out", str(out)]
    command += ["--engines", "structgen,nosuch", "--failures"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "| pass | 2 (50.0%) |" in said.out
    assert "structgen: token, first use" in said.out
    assert "refused satisfiable    structgen      b---2" in said.out
    assert "there is no engine 'nosuch'" in said.err
    assert f"left out: {pack}:5: no case" in said.err
    found = {r["case"]: r for r in read(out).records}
    assert [r["outcome"] for r in found.values()] == [
        "pass", "pass", "refused unsatisfiable", "refused satisfiable",
    ]  # fmt: skip
    assert found["a---1"]["first_use"]["count"] == 2
    assert found["b---2"]["error"]["kind"] == "dangling_reference"
    size = out.stat().st_size
    assert main(command) == 0
    assert out.stat().st_size == size
    assert "| pass | 2 (50.0%) |" in capsys.readouterr().out
    assert main([*command, "--every", "2"]) == 2
    assert "options are not the same" in capsys.readouterr().err


def test_a_grammar_without_a_reader_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """outlines-core reads none, so nothing is started for it."""
    pytest.importorskip("outlines_core")
    for name, text in {"g.lark": 'start: "a"', "texts": "a\n"}.items():
        (tmp_path / name).write_text(text)
    command = ["masks", "--grammar", str(tmp_path / "g.lark"), "--texts", str(tmp_path / "texts")]
    out = tmp_path / "out.jsonl"
    command += ["--engines", "outlines-core", "--tokenizer", "bytes", "--out", str(out)]
    assert main(command) == 0
    assert "| refused satisfiable | 1 (100.0%) |" in capsys.readouterr().out
    assert read(out).records[0]["error"]["message"] == "outlines-core reads json_schema, not lark"


@pytest.mark.parametrize(("lexing", "outcome"), [("free", "pass"), ("longest", "rejected valid")])
def test_grammars_are_cut_into_terminals_as_asked(
    lexing: str, outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`aa` is two terminals of one letter, or one longer terminal that may not come here."""
    files = {"g.lark": 'start: "a" "a" | LONG "b"\nLONG: "aa"', "texts": "aa\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = ["masks", "--grammar", str(tmp_path / "g.lark"), "--texts", str(tmp_path / "texts")]
    command += ["--engines", "structgen", "--tokenizer", "bytes", "--lexing", lexing]
    assert main([*command, "--out", str(tmp_path / "out.jsonl")]) == 0
    assert f"| {outcome} | 1 (100.0%) |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cases", "nowhere"], "the cases cannot be read: No such file or directory at nowhere"),
        ([], "not clear what to measure"),
        (["--cases", "x", "--grammar", "y"], "not clear what to measure"),
        (["--grammar", "g.lark"], "not clear what to measure"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the exit status is 2."""
    assert main(["masks", *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
