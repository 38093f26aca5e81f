"""Reads schemas from a folder, a MaskBench pack, or a dataset with the layout of the Hub.

The dataset of the JSONSchemaBench paper has one folder per subset, each with parquet files for the
splits train, val and test, and the columns `json_schema` (text) and `unique_id`. A copy of it on
this machine is read by the same calls of the `datasets` library as the original on the Hub.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschemabench.data.cases import read_pack
from jsonschemabench.engines.engine import JSON_SCHEMA
from jsonschemabench.errors import BenchError

HUB_NAME = "epfl-dlab/JSONSchemaBench"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_WHOLE = "default"  # the configuration that holds all subsets once more
_SAME_SPLIT = {"validation": "val"}  # folders without a card get this name for the split "val"


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema to write an instance of.

    satisfiable: False where a pack judges instances of it and none is valid.
    """

    id: str
    dataset: str
    schema: Any
    satisfiable: bool = True


@dataclass(slots=True)
class Schemas:
    """What a source holds: schemas, and a line for each thing in it that is not one."""

    found: list[Schema] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, dataset: str, text: str) -> None:
        """Take one schema written as JSON, or a MaskBench case that holds one."""
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError) as error:
            self.left_out.append(f"{name}: not JSON ({error})")
            return
        if isinstance(schema, dict) and {"schema", "tests"} <= schema.keys():
            schema = schema["schema"]
        if not isinstance(schema, dict | bool):
            self.left_out.append(f"{name}: {type(schema).__name__} is not a schema")
            return
        self.found.append(Schema(name, dataset, schema))


def load(source: str, subsets: Iterable[str] = (), split: str = "all") -> Schemas:
    """The schemas of a source; `subsets` and `split` choose among what it holds.

    BenchError when the source is not there or holds no schemas.
    """
    path = Path(source).expanduser()
    wanted = list(subsets)
    if path.is_dir() and any(path.glob("*/*.parquet")):
        return _dataset(str(path), wanted, _SAME_SPLIT.get(split, split))
    if path.is_dir() or (path.is_file() and path.suffix == ".json"):
        schemas = _files(path)
    elif path.is_file():
        schemas = _pack(path)
    elif _is_hub_name(source):
        return _dataset(source, wanted, _SAME_SPLIT.get(split, split))
    else:
        raise BenchError(
            f"there is no file or folder {source}",
            expected=f"a folder of .json files, a .jsonl.gz pack, or a dataset such as {HUB_NAME}",
        )
    if wanted:
        _check_subsets(source, wanted, {schema.dataset for schema in schemas.found})
        schemas.found = [schema for schema in schemas.found if schema.dataset in wanted]
    return _not_empty(source, schemas)


def _pack(path: Path) -> Schemas:
    """The schemas of the cases in a MaskBench file."""
    pack = read_pack(path)
    found = [
        Schema(
            case.id,
            case.dataset,
            json.loads(case.texts[JSON_SCHEMA]),
            not case.instances or any(instance.valid for instance in case.instances),
        )
        for case in pack
    ]
    return Schemas(found, pack.left_out)


def _files(path: Path) -> Schemas:
    """Each .json file is a schema; a folder inside is a dataset of its own."""
    schemas = Schemas()
    root = path if path.is_dir() else path.parent
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        inside = file.relative_to(root)
        dataset = inside.parts[0] if len(inside.parts) > 1 else root.resolve().name
        name = f"{dataset}---{file.stem}" if len(inside.parts) < 3 else str(inside.with_suffix(""))
        try:
            schemas.add(name, dataset, file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            schemas.left_out.append(f"{name}: {error}")
    return schemas


def _dataset(source: str, wanted: list[str], split: str) -> Schemas:
    """Read a dataset of the Hub, or its copy, with the `datasets` library."""
    if importlib.util.find_spec("datasets") is None:
        raise BenchError(
            f"reading the dataset {source} needs the datasets package",
            hint="run: pip install datasets",
        )
    with _quiet():
        try:
            names, by_folder = _subsets(source)
            _check_subsets(source, wanted, names)
            schemas = Schemas()
            for name in wanted or names:
                _add_subset(schemas, source, name, split, by_folder=by_folder)
        except BenchError:
            raise
        except Exception as error:  # noqa: BLE001  # the library lets through what pyarrow and HTTP raise
            raise _cannot_load(source, error) from None
    return _not_empty(source, schemas)


def _subsets(source: str) -> tuple[list[str], bool]:
    """The names of the subsets, and whether they are folders that no dataset card lists."""
    import datasets

    names = [name for name in datasets.get_dataset_config_names(source) if name != _WHOLE]
    if names or not Path(source).is_dir():
        return names or [_WHOLE], False
    folders = sorted({file.parent.name for file in Path(source).glob("*/*.parquet")} - {"data"})
    return folders or [_WHOLE], bool(folders)


def _add_subset(schemas: Schemas, source: str, name: str, split: str, *, by_folder: bool) -> None:
    import datasets

    tables = (
        datasets.load_dataset(source, data_dir=name)
        if by_folder
        else datasets.load_dataset(source, name)
    )
    splits = {_SAME_SPLIT.get(str(key), str(key)): table for key, table in tables.items()}
    if split != "all" and split not in splits:
        schemas.left_out.append(f"{name}: no split {split!r}, only {', '.join(splits)}")
        return
    for key, table in splits.items():
        if split not in {"all", key}:
            continue
        missing = {"json_schema"} - set(table.column_names)
        if missing:
            raise BenchError(
                f"the subset {name} of {source} has no column json_schema",
                expected=f"the columns json_schema and unique_id, not {table.column_names}",
            )
        dataset = key if name == _WHOLE else name  # as a whole, each subset is a split
        for number, row in enumerate(table):
            given = str(row.get("unique_id") or f"{key}-{number}")
            full = given if given.startswith(dataset) else f"{dataset}---{given}"
            schemas.add(full, dataset, row["json_schema"] or "")


def _is_hub_name(source: str) -> bool:
    """Whether it can only mean "owner/name" on the Hub, and not a path that is mistyped."""
    owner = source.partition("/")[0]
    return bool(_HUB_NAME.fullmatch(source)) and not Path(owner).is_dir()


def _check_subsets(source: str, wanted: Iterable[str], names: Iterable[str]) -> None:
    known = sorted(names)
    for name in wanted:
        if name not in known:
            raise BenchError(
                f"{source} has no subset {name!r}", expected="one of " + ", ".join(known)
            )


def _not_empty(source: str, schemas: Schemas) -> Schemas:
    if not schemas.found:
        why = f" ({schemas.left_out[0]})" if schemas.left_out else ""
        raise BenchError(f"there is no schema in {source}{why}")
    return schemas


def _cannot_load(source: str, error: Exception) -> BenchError:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return BenchError(
        f"the dataset {source} cannot be loaded ({type(error).__name__}: {first:.200})",
        hint="without a network give the folder of a copy, or a MaskBench pack",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars, and no line for each try to reach the Hub: the error at the end says it."""
    import datasets

    loggers = [logging.getLogger(name) for name in ("huggingface_hub", "datasets")]
    levels = [logger.level for logger in loggers]
    bars = datasets.is_progress_bar_enabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            datasets.enable_progress_bars()
