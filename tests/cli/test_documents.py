"""References lead to the files that `--documents` names, and SPEC may be a part of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from referencing.jsonschema import DRAFT202012

from structgen.cli.documents import read_schema
from structgen.cli.main import main

FILES: dict[str, Any] = {
    "order.json": {
        "type": "object",
        "properties": {"id": {"$ref": "types/id.json"}, "unit": {"$ref": "https://x.org/unit"}},
        "required": ["id", "unit"],
    },
    "types/id.json": {"$ref": "base.json#/definitions/number"},
    "types/base.json": {
        "definitions": {
            "number": {"type": "integer", "minimum": 5},
            "orders": {"type": "array", "items": {"$ref": "../order.json"}, "minItems": 1},
        },
    },
    "types/any.json": {"items": {"$ref": "none.json#"}},
    "types/none.json": {"type": "null"},
    "unit of length.json": {"$id": "https://x.org/unit", "enum": ["m", "in"]},
    "package.json": ["no", "schema"],
}
VALUES: list[Any] = [{"id": 6, "unit": "m"}, {"id": 5, "unit": "m"}, {"id": 6, "unit": "s"}, 6, 5,
                     {"id": 9}, [{"id": 6, "unit": "in"}], [], [{"id": 1, "unit": "in"}], "m",
                     "kg"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with those files, and with one that cannot be read."""
    for name, contents in FILES.items():
        path = tmp_path / "schemas" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(contents), encoding="utf-8")
    (tmp_path / "schemas" / "notes.json").write_text("{ not JSON", encoding="utf-8")
    return tmp_path / "schemas"


@pytest.mark.parametrize(("spec", "uri"), [
    ("order.json", "order.json"), ("types/id.json", "types/id.json"),
    ("types/base.json#/definitions/orders", "types/base.json#/definitions/orders"),
    ("types/base.json#/definitions/number", "types/base.json#/definitions/number"),
    ("unit of length.json", "https://x.org/unit"),
])  # fmt: skip
def test_references_lead_from_file_to_file(folder: Path, spec: str, uri: str) -> None:
    """By their places in the folder, or by their own URIs; verdicts are the library's."""
    schemas = {name: value for name, value in FILES.items() if isinstance(value, dict)}
    schemas["https://x.org/unit"] = schemas.pop("unit of length.json")
    registry: Any = referencing.Registry().with_contents(
        schemas.items(), default_specification=DRAFT202012
    )
    right = jsonschema.Draft202012Validator({"$ref": uri}, registry=registry)
    command = ["check", str(folder / spec), "--documents", str(folder), "-q", "--text"]
    for value in VALUES:
        assert main([*command, json.dumps(value)]) == (0 if right.is_valid(value) else 1), value


def test_documents_may_be_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Known by their own names; without them the error says what to do."""
    spec = '{"properties": {"n": {"$ref": "base.json#/definitions/number"}}}'
    command = ["check", spec, "--text", '{"n": 6}', "-q"]
    assert main([*command, "--documents", str(folder / "types" / "base.json")]) == 0
    assert main(command) == 2
    assert "--documents" in capsys.readouterr().err


def test_a_part_of_a_file_is_a_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in the components of an OpenAPI document; a part that is not there is told so."""
    pytest.importorskip("yaml")
    path = tmp_path / "api.yaml"
    path.write_text(
        "openapi: 3.1.0\ncomponents:\n  schemas:\n    Id: {type: integer}\n"
        "    Pet:\n      type: object\n      required: [id]\n"
        "      properties: {id: {$ref: '#/components/schemas/Id'}}\n"
    )
    pet = f"{path}#/components/schemas/Pet"
    assert main(["check", pet, "--text", '{"id": 1}', "-q"]) == 0
    assert main(["check", pet, "--text", '{"id": "1"}', "-q"]) == 1
    assert main(["check-schema", pet]) == 0
    assert main(["export", pet, "--for", "openai"]) == 0
    capsys.readouterr()
    assert main(["check", f"{pet}s", "--text", "1"]) == 2
    assert "did you mean 'api.yaml#/components/schemas/Pet'?" in capsys.readouterr().err


def test_a_document_that_is_needed_must_be_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others in the folder need not be; only what references lead to becomes part of the spec."""
    command = ["check", "--documents", str(folder), "--text", "1"]
    assert main([*command, '{"$ref": "notes.json"}']) == 2
    assert "the document is not JSON" in capsys.readouterr().err
    for spec, name in [
        ('{"$ref": "unit%20of%20length.json"}', "unit%20of%20length.json"),
        (str(folder / "types" / "any.json"), "types/none.json"),
    ]:
        _, registry = read_schema(spec, [str(folder)])
        assert registry is not None
        assert set(registry) == {name}


def test_wrong_documents_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that is not there, a file that is no JSON, a folder without any."""
    (folder / "empty").mkdir()
    for path, problem in [
        (folder / "gone.json", "there is no document"),
        (folder / "notes.json", "the document is not JSON"),
        (folder / "empty", "there is no document"),
    ]:
        assert main(["check", "true", "--text", "1", "--documents", str(path)]) == 2
        said = capsys.readouterr().err
        assert problem in said
        assert str(path) in said


def test_no_part_of_what_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A `#` in a name that no file has, or that none can have."""
    for spec in ("gone.json#/a", "x" * 5000 + "#/a", "a\0b#/a"):
        assert main(["check", spec, "--text", "1"]) == 2
        assert "schema" in capsys.readouterr().err


def test_specs_of_a_folder_are_compiled_with_their_documents(
    folder: Path, tokenizer: str, tmp_path: Path
) -> None:
    """Each with what it refers to, in processes of their own, too."""
    specs = [str(folder / "order.json"), str(folder / "types")]
    options = ["--documents", str(folder), "--tokenizer", tokenizer, "--max-states", "5"]
    assert main(["compile", *specs, "-o", str(tmp_path / "out"), "--jobs", "2", *options]) == 0
    assert len(list((tmp_path / "out").rglob("*.sgc"))) == 5
