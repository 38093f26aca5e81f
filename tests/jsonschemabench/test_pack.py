"""The command `pack`: its cases are the schemas of a folder, with texts that jsonschema judges."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from jsonschemabench.data.cases import read_pack
from jsonschemabench.main import main
from jsonschemabench.pack import fault_near

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"size": {"enum": [1, 2]}, "colour": {"enum": ["red", "green"]}},
    "required": ["size", "colour"],
    "additionalProperties": False,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one schema twice, one without a meaning, and files that are no schemas."""
    (tmp_path / "schemas").mkdir()
    texts = {
        "a": json.dumps(SCHEMA),
        "b": json.dumps(SCHEMA, indent=1),
        "never": '{"allOf": [false]}',
        "data": '{"size": 1}',
        "broken": "{",
    }
    for name, text in texts.items():
        (tmp_path / "schemas" / f"{name}.json").write_text(text)
    return tmp_path / "schemas"


@pytest.mark.thorough
def test_a_pack_holds_valid_and_invalid_values(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One case: the schema that stands there twice; the one that nothing fits is counted."""
    out = tmp_path / "pack.jsonl.gz"
    assert main(["pack", str(folder), "--out", str(out), "--texts", "2"]) == 0
    assert "1 cases; left out: 1, 1 unsatisfiable" in capsys.readouterr().out
    (case,) = read_pack(out)
    assert case.dataset == "schemas"
    assert {instance.valid for instance in case.instances} == {True, False}
    for instance in case.instances:
        assert Draft202012Validator(SCHEMA).is_valid(instance.data) == instance.valid


def test_a_folder_without_schemas_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so."""
    assert main(["pack", str(tmp_path), "--out", str(tmp_path / "pack.jsonl.gz")]) == 2
    assert "no JSON Schemas" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "schema"),
    [({"a": [1, {"b": 2}]}, SCHEMA), ([1, 2], {"type": "array"}), (3, {"type": "integer"})],
)
def test_a_fault_is_one_change_away(value: object, schema: object) -> None:
    """What fits becomes something that does not; where everything fits there is no fault."""
    before = json.dumps(value)
    found = fault_near(value, Draft202012Validator(schema).is_valid, random.Random(1))
    assert found is not None
    assert not Draft202012Validator(schema).is_valid(found[0])
    assert json.dumps(value) == before
    assert fault_near(value, lambda _: True, random.Random(1)) is None
