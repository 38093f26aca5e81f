"""YAML is read as JSON values, by the core schema of YAML 1.2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structgen.cli.main import main
from structgen.cli.yaml_values import read_yaml
from structgen.errors import SpecError
from structgen.schema.values import dumps

pytest.importorskip("yaml")


@pytest.mark.parametrize(
    ("yaml", "json_text"),
    [
        ("[SE, NO, on, Off, yes, y, n]", '["SE", "NO", "on", "Off", "yes", "y", "n"]'),
        ("[true, True, FALSE, tRUE]", '[true, true, false, "tRUE"]'),
        ("[~, null, Null, nULL]", '[null, null, null, "nULL"]'),
        ("[012, 0o14, 0x1F, +7, -0, 1_000]", '[12, 12, 31, 7, -0, "1_000"]'),
        ("[.5, 1., -007.50, 2.5E+3, 1e3, 1.5e, e3]", '[0.5, 1, -7.50, 2.5E+3, 1e3, "1.5e", "e3"]'),
        ("[9007199254740993.0, 1e400]", "[9007199254740993.0, 1e400]"),
        ("[2024-01-01, 2024-01-01T00:00:00Z, 12:30, 190:20:30]", None),
        ("[=, '<<', \"1\", '~', !!str 1]", '["=", "<<", "1", "~", "1"]'),
        ("{200: a, 4.0: b, on: c, true: d}", '{"200": "a", "4.0": "b", "on": "c", "true": "d"}'),
        ("{a: &x {b: 1}, c: {<<: *x, d: 2}}", '{"a": {"b": 1}, "c": {"b": 1, "d": 2}}'),
        ("a: |\n  x\nb: # none", '{"a": "x\\n", "b": null}'),
    ],
)
def test_values_are_those_of_the_core_schema(yaml: str, json_text: str | None) -> None:
    """Without a JSON text beside it, every item is a string."""
    value = read_yaml(yaml, "file.yaml", "schema")
    if json_text is None:
        assert value == yaml.strip("[]").split(", ")
    else:
        assert dumps(value) == json_text


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("a: 1\nb: .inf", ".inf is no number", "2:4"),
        ("a: !!float nan", "nan is no number", "1:4"),
        ("a: !!int 0o9", "0o9 is no number", "1:4"),
        ("a: !!float 1e", "1e is no number", "1:4"),
        ("[a, b]: c", "a key is no string", "1:1"),
        ("~: 1", "a key is no string", "1:1"),
        ("x: {200: a,\n  '200': b}", "'200' stands twice", "2:3"),
        ("type: object\n---\ntype: array", "another document", "2:1"),
        ("a: b: c", "not YAML", "1:5"),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_place(
    text: str, words: str, place: str
) -> None:
    """Line and column, as editors count."""
    with pytest.raises(SpecError, match=words) as caught:
        read_yaml(text, "file.yaml", "schema")
    assert caught.value.location == f"file.yaml:{place}"


def test_documents_of_openapi_have_numbers_for_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status codes without quotes, and countries, NO among them."""
    (tmp_path / "api.yaml").write_text(
        "openapi: 3.1.0\n"
        "paths: {/a: {get: {responses: {200: {description: fine}, default: {}}}}}\n"
        "components: {schemas: {Country: {enum: [SE, NO, DK]}}}\n"
    )
    spec = f"{tmp_path / 'api.yaml'}#/components/schemas/Country"
    assert main(["check", spec, "--text", json.dumps("NO"), "-q"]) == 0
    assert main(["check", spec, "--text", "false", "-q"]) == 1
    capsys.readouterr()


def test_a_comment_in_json_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the line where it stands."""
    path = tmp_path / "schema.json"
    path.write_text('{\n  // the type\n  "type": "object"}')
    assert main(["check-schema", str(path)]) == 2
    error = capsys.readouterr().err
    assert "schema.json:2:3" in error
    assert "JSON has no comments" in error
