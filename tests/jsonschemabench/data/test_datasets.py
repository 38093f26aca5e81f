"""Schemas are read from every kind of source, and what is none is named.

The copy of the Hub's dataset has its layout: a folder per subset, a parquet file per split with the
columns `json_schema` and `unique_id`, a card that lists the subsets, and all of it once more.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from jsonschemabench.data.datasets import HUB_NAME, load
from jsonschemabench.errors import BenchError

SUBSETS = ("Github_easy", "Kubernetes")
SPLITS = ("train", "val", "test")


def schema(minimum: int) -> dict[str, object]:
    """A schema whose minimum says which split it is of."""
    return {"type": "integer", "minimum": minimum}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The datasets library, with its cache in a folder of the test."""
    datasets = pytest.importorskip("datasets", reason="reading parquet needs datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def write_table(path: Path, columns: dict[str, list[str]]) -> None:
    """A parquet file."""
    arrow = pytest.importorskip("pyarrow", reason="writing parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writing parquet needs pyarrow")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.table(columns), path)


@pytest.fixture(params=["card", "no card"])
def copy(tmp_path: Path, request: pytest.FixtureRequest, library: None) -> Path:
    """A copy of the dataset, with and without its card."""
    root = tmp_path / "JSONSchemaBench"
    for subset in SUBSETS:
        for number, split in enumerate(SPLITS):
            rows = {
                "json_schema": [json.dumps(schema(number)), "{not json"],
                "unique_id": [f"{subset}---o{number}", f"{subset}---bad{number}"],
            }
            write_table(root / subset / f"{split}-00000-of-00001.parquet", rows)
    whole = {"json_schema": ["{}"], "unique_id": ["once more"]}
    write_table(root / "data" / "Github_easy-00000-of-00001.parquet", whole)
    if request.param == "card":
        lines = ["---", "configs:"]
        for subset in SUBSETS:
            lines += [f"- config_name: {subset}", "  data_files:"]
            lines += [f"  - split: {s}\n    path: {subset}/{s}-*" for s in SPLITS]
        lines += ["- config_name: default", "  data_files:"]
        lines += ["  - split: Github_easy\n    path: data/Github_easy-*", "---", "# A benchmark"]
        (root / "README.md").write_text("\n".join(lines))
    return root


def test_a_copy_of_the_dataset_gives_every_schema_once(copy: Path) -> None:
    """All subsets and splits by default, each bad row named."""
    found = load(str(copy))
    assert [(s.id, s.dataset, s.schema) for s in found.found] == [
        (f"{subset}---o{number}", subset, schema(number))
        for subset in SUBSETS
        for number in (0, 1, 2)
    ]
    assert [line.split(":")[0] for line in found.left_out] == [
        f"{subset}---bad{number}" for subset in SUBSETS for number in (0, 1, 2)
    ]
    assert all("not JSON" in line for line in found.left_out)


def test_a_subset_and_a_split_can_be_chosen(copy: Path) -> None:
    """The split is called `val`, with and without the card."""
    for split in ("val", "validation"):
        found = load(str(copy), ["Kubernetes"], split).found
        assert [s.id for s in found] == ["Kubernetes---o1"]


@pytest.mark.usefixtures("library")
def test_the_folder_of_whole_subsets_will_do(tmp_path: Path) -> None:
    """A copy may consist of it alone; there the subsets are the splits."""
    for subset in SUBSETS:
        rows = {"json_schema": [json.dumps(schema(1))], "unique_id": ["o1"]}
        write_table(tmp_path / "copy" / "data" / f"{subset}-00000-of-00001.parquet", rows)
    found = load(str(tmp_path / "copy")).found
    assert sorted((s.id, s.dataset) for s in found) == [(f"{s}---o1", s) for s in SUBSETS]


def test_a_subset_or_split_that_is_not_there_is_named(copy: Path) -> None:
    """The error says what there is."""
    with pytest.raises(BenchError, match=r"no subset 'Gitlab' \(expected one of Github_easy, Kub"):
        load(str(copy), ["Gitlab"])
    with pytest.raises(BenchError, match="no split 'dev', only train, val, test"):
        load(str(copy), [], "dev")


@pytest.mark.usefixtures("library")
def test_a_dataset_without_the_column_is_refused(tmp_path: Path) -> None:
    """Another dataset is not mistaken for schemas."""
    write_table(tmp_path / "other" / "A" / "test-00000-of-00001.parquet", {"text": ["{}"]})
    with pytest.raises(BenchError, match=r"the subset A of .* has no column json_schema"):
        load(str(tmp_path / "other"))


@pytest.mark.usefixtures("library")
def test_a_damaged_parquet_file_is_one_clear_line(tmp_path: Path) -> None:
    """Whatever the library raises."""
    file = tmp_path / "copy" / "A" / "test-00000-of-00001.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"PAR1 not really")
    with pytest.raises(BenchError, match="cannot be loaded") as caught:
        load(str(tmp_path / "copy"))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("library")
def test_without_a_network_the_hub_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same code as for a copy, and its error names the way out."""
    constants = pytest.importorskip("huggingface_hub.constants")
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchError, match=f"the dataset {HUB_NAME} cannot be loaded") as caught:
        load(HUB_NAME)
    assert "give the folder of a copy" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_gives_its_json_files(tmp_path: Path) -> None:
    """A folder inside is a dataset, a MaskBench case is its schema, the rest is left out."""
    files = {
        "plain.json": schema(1),
        "kube/pod.json": True,
        "kube/case.json": {"schema": schema(2), "tests": []},
        "kube/list.json": [1],
    }
    root = tmp_path / "mine"
    for name, value in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(value))
    (root / "bad.json").write_bytes(b"\xff\xfe{")
    found = load(str(root))
    assert {(s.id, s.dataset): s.schema for s in found.found} == {
        ("mine---plain", "mine"): schema(1),
        ("kube---pod", "kube"): True,
        ("kube---case", "kube"): schema(2),
    }
    assert sorted(line.split(":")[0] for line in found.left_out) == ["kube---list", "mine---bad"]
    for source, subsets in ((root, ["mine"]), (root / "plain.json", [])):
        assert [s.id for s in load(str(source), subsets).found] == ["mine---plain"]


def test_a_pack_gives_the_schemas_of_its_cases(tmp_path: Path) -> None:
    """Where every judged instance is invalid, the schema counts as not satisfiable."""
    cases = [
        {"id": "A---1", "schema": schema(1), "tests": [{"data": 2, "valid": True}]},
        {"id": "A---2", "schema": False, "tests": [{"data": 2, "valid": False}]},
        {"id": "B---3", "schema": schema(3), "tests": []},
    ]
    lines = [json.dumps(case) for case in cases] + ["{broken"]
    pack = tmp_path / "pack.jsonl.gz"
    pack.write_bytes(gzip.compress("\n".join(lines).encode()))
    found = load(str(pack))
    assert [(s.id, s.dataset, s.satisfiable) for s in found.found] == [
        ("A---1", "A", True),
        ("A---2", "A", False),
        ("B---3", "B", True),
    ]
    assert len(found.left_out) == 1


@pytest.mark.parametrize(
    "name", ["nowhere", "./no/where", "/no/where", "a/b/c", "here/x", "x.json"]
)
def test_a_source_that_is_not_there_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No attempt to reach the Hub for what cannot be a name there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(BenchError, match=f"there is no file or folder {name}"):
        load(name)


def test_an_empty_folder_holds_no_schema(tmp_path: Path) -> None:
    """Rather than a run over nothing."""
    with pytest.raises(BenchError, match="there is no schema in"):
        load(str(tmp_path))
