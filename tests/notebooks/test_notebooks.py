"""The notebooks run from top to bottom, and were saved as they ran.

While they are tested, the environment variable STRUCTGEN_NOTEBOOK_QUICK asks them for small
samples.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [path.name for path in NOTEBOOKS]


@pytest.fixture(scope="module")
def execute() -> ModuleType:
    """The module that executes notebooks."""
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_runs(path: Path, execute: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, with an output wherever the saved notebook has one."""
    for name in ("matplotlib", "torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.setenv(execute.QUICK, "1")
    monkeypatch.chdir(FOLDER)
    saved = cells(path)
    for before, after in zip(saved, execute.run_cells(saved, path.name), strict=True):
        assert bool(before.get("outputs")) == bool(after.get("outputs"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_was_saved_as_it_ran(path: Path) -> None:
    """Code cells are numbered from 1, none has failed, and the file is small enough to read."""
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert "error" not in kinds
    assert path.stat().st_size < 500_000


def test_cells_share_names_and_outputs_are_kept(execute: ModuleType) -> None:
    """What is printed, the last expression, and nothing for a cell that shows nothing."""
    script = (
        "# %% [markdown]\n# # Title\n#\n# Text.\n# %%\nx = 2\n# %%\nprint(x)\nx + 1\n# %%\nx;\n"
    )
    found = execute.run_cells(execute.cells_of_script(script), "script")
    assert found[0]["source"] == ["# Title\n", "\n", "Text."]
    assert found[1]["outputs"] == []
    assert [o["output_type"] for o in found[2]["outputs"]] == ["stream", "execute_result"]
    assert found[2]["outputs"][0]["text"] == ["2\n"]
    assert found[2]["outputs"][1]["data"]["text/plain"] == ["3"]
    assert found[3]["outputs"] == []
    assert [cell.get("execution_count") for cell in found] == [None, 1, 2, 3]


def test_what_a_cell_raises_names_the_cell(execute: ModuleType) -> None:
    """The traceback has the notebook, the cell's number and its line."""
    with pytest.raises(ZeroDivisionError) as info:
        execute.run_cells(execute.cells_of_script("# %%\ny = 0\n# %%\n1 / y\n"), "some.ipynb")
    assert "some.ipynb, cell 2" in str(info.traceback[-1])
