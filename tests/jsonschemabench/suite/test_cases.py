"""The Test Suite is read by its own rules, from small folders with its layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.errors import BenchError
from jsonschemabench.suite.cases import DRAFTS, Suite


def case(schema: Any, *tests: tuple[Any, bool]) -> dict[str, Any]:
    """One case of a suite file."""
    listed = [{"description": f"test {i}", "data": d, "valid": v} for i, (d, v) in enumerate(tests)]
    return {"description": "a case", "schema": schema, "tests": listed}


def write(root: Path, path: str, contents: Any) -> Path:
    """A file below `root`; text as it is, anything else as JSON."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Every draft of the real suite, newer and linked ones too, with one case each."""
    drafts = [*DRAFTS, "draft-next", "v1"]
    for draft in drafts:
        write(tmp_path, f"tests/{draft}/type.json", [case({"type": "string"}, ("a", True))])
        write(tmp_path, f"tests/{draft}/optional/bignum.json", [case({}, (1, True))])
        write(tmp_path, f"tests/{draft}/optional/format/email.json", [case({}, ("@", True))])
        write(tmp_path, f"tests/{draft}/proposals/new/new.json", [case({}, (1, True))])
        write(tmp_path, f"remotes/{draft}/a.json", {"title": draft})
    (tmp_path / "tests" / "latest").symlink_to(tmp_path / "tests" / "draft2020-12")
    write(tmp_path, "remotes/nested/b.json", {"type": "integer"})
    write(tmp_path, "remotes/c.json", True)
    return tmp_path


def test_every_draft_is_read_and_nothing_else(root: Path) -> None:
    """Drafts to come, and the link to the latest are left alone."""
    suite = Suite(root)
    assert suite.drafts == ("draft3", "draft4", "draft6", "draft7", "draft2019-09", "draft2020-12")
    assert [f.id for f in suite.files()] == [f"{draft}/type" for draft in DRAFTS]
    assert suite.left_out == []


def test_optional_files_and_formats_come_on_request_only(root: Path) -> None:
    """They are asked for one by one, and only format files assert formats."""
    suite = Suite(root)
    assert [f.name for f in suite.files(["draft7"])] == ["type"]
    assert [f.name for f in suite.files(["draft7"], optional=True)] == ["type", "optional/bignum"]
    both = list(suite.files(["draft7"], optional=True, formats=True))
    assert [f.name for f in both] == ["type", "optional/bignum", "optional/format/email"]
    assert [f.cases[0].asserts_formats for f in both] == [False, False, True]


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_schema_object_carries_the_draft_of_its_folder(draft: str, root: Path) -> None:
    """Only where it names none; a boolean cannot carry one."""
    schemas = [{"type": "string"}, {"$schema": "urn:own", "type": "null"}, True, False]
    write(root, f"tests/{draft}/type.json", [case(schema, (1, True)) for schema in schemas])
    (file,) = Suite(root).files([draft])
    named = {"$schema": DRAFTS[draft], "type": "string"}
    assert [c.schema for c in file.cases] == [named, *schemas[1:]]
    assert [c.id for c in file.cases] == [f"{draft}/type#{i}" for i in range(4)]


def test_an_instance_is_fed_in_the_form_that_maskbench_writes(root: Path) -> None:
    """Characters as themselves, but for unpaired surrogates; verdicts beside them."""
    tests = [({"é💩": [1.0, None]}, True), ('"', False), ("é\ud800", True)]
    write(root, "tests/draft7/type.json", [case({}, *tests)])
    (file,) = Suite(root).files(["draft7"])
    assert [(t.text, t.valid) for t in file.cases[0].instances] == [
        ('{"é💩": [1.0, null]}', True),
        ('"\\""', False),
        ('"\\u00e9\\ud800"', True),
    ]


def test_remotes_are_served_at_the_suites_address(root: Path) -> None:
    """Those of a draft under it, those of no draft under the one that is tested."""
    own = {f"http://localhost:1234/{d}/a.json": {"$schema": DRAFTS[d], "title": d} for d in DRAFTS}
    assert Suite(root).remotes("draft6") == {
        **own,
        "http://localhost:1234/nested/b.json": {"$schema": DRAFTS["draft6"], "type": "integer"},
        "http://localhost:1234/c.json": True,
    }


def test_the_suite_is_found_from_the_folders_around_it(root: Path, tmp_path: Path) -> None:
    """From itself, from its `tests`, and from a folder of data that holds it under its name."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "JSON-Schema-Test-Suite").symlink_to(root)
    for folder in (root, root / "tests", data):
        assert len(list(Suite(folder).files())) == len(DRAFTS)


@pytest.mark.parametrize("missing", ["nowhere", "tests/draft7"])
def test_a_folder_without_the_suite_is_one_clear_error(missing: str, root: Path) -> None:
    """It names the folder and says what to do."""
    with pytest.raises(BenchError, match="--download") as caught:
        Suite(root / missing)
    assert caught.value.location == str(root / missing)
    assert "\n" not in str(caught.value)


def test_a_draft_that_is_not_there_is_left_out_by_name(tmp_path: Path) -> None:
    """The others are read all the same."""
    write(tmp_path, "tests/draft7/type.json", [case({}, (1, True))])
    suite = Suite(tmp_path)
    assert [f.id for f in suite.files(["draft4", "draft7"])] == ["draft7/type"]
    (line,) = suite.left_out
    assert line.startswith("draft4: ")


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ("[{", "not JSON (Expecting property name enclosed in double quotes, line 1 column 3)"),
        ("", "not JSON (Expecting value, line 1 column 1)"),
        ({"schema": {}}, "not an array of cases"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_out(contents: Any, reason: str, root: Path) -> None:
    """One line names it; the other files are read."""
    path = write(root, "tests/draft7/broken.json", contents)
    suite = Suite(root)
    assert [f.id for f in suite.files(["draft7"])] == ["draft7/type"]
    (line,) = suite.left_out
    assert line.startswith(f"{path}: {reason}")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"description": "x", "tests": []}, "there is no 'schema'"),
        ({"schema": {}}, "there is no 'tests'"),
        ({"schema": {}, "tests": [{"valid": True}]}, "there is no 'data'"),
        ({"schema": {}, "tests": [{"data": 1, "valid": "no"}]}, "'valid' is 'no'"),
        ({"schema": 3, "tests": []}, "its schema is neither an object nor a boolean"),
        (case({}, (float("nan"), True)), "Out of range float values are not JSON compliant"),
        ("no object", ""),
    ],
)
def test_a_case_that_cannot_be_used_is_left_out(broken: Any, reason: str, root: Path) -> None:
    """One line names it; its neighbours keep their numbers."""
    path = write(root, "tests/draft7/type.json", [broken, case({}, (1, True))])
    suite = Suite(root)
    (file,) = suite.files(["draft7"])
    assert [c.id for c in file.cases] == ["draft7/type#1"]
    (line,) = suite.left_out
    assert line.startswith(f"{path}, case 0: {reason}")


def test_files_that_are_not_utf_8_are_left_out(root: Path) -> None:
    """Bytes that are no text are one line too."""
    (root / "tests/draft7/type.json").write_bytes(b'["\xff"]')
    suite = Suite(root)
    assert list(suite.files(["draft7"])) == []
    assert suite.left_out == [f"{root / 'tests/draft7/type.json'}: not UTF-8 (byte 2)"]


def test_a_remote_that_cannot_be_read_is_left_out_once(root: Path) -> None:
    """Asking for the remotes of two drafts names it once; without the folder there are none."""
    path = write(root, "remotes/broken.json", "{")
    suite = Suite(root)
    assert len(suite.remotes("draft6")) == len(suite.remotes("draft7")) == len(DRAFTS) + 2
    (line,) = suite.left_out
    assert line.startswith(f"{path}: not JSON")


def test_a_suite_without_remotes_says_so(tmp_path: Path) -> None:
    """Its references to them lead nowhere, which the reader of the figures must know."""
    write(tmp_path, "tests/draft7/type.json", [case({}, (1, True))])
    suite = Suite(tmp_path)
    assert suite.remotes("draft7") == {}
    (line,) = suite.left_out
    assert "no such folder" in line


def test_the_digest_of_a_file_changes_with_the_file(root: Path) -> None:
    """A ratchet compares only what was measured on the same tests."""
    (before,) = Suite(root).files(["draft7"])
    write(root, "tests/draft7/type.json", [case({"type": "string"}, ("b", True))])
    (after,) = Suite(root).files(["draft7"])
    assert before.digest != after.digest


def test_the_real_suite_has_its_known_size(data_dir: Path) -> None:
    """1,299 tests are required by draft 2020-12, and nothing is left out."""
    suite = Suite(data_dir)
    files = list(suite.files(["draft2020-12"]))
    assert sum(len(c.instances) for f in files for c in f.cases) == 1299
    assert len(suite.remotes("draft2020-12")) > 40
    assert suite.left_out == []
