"""Run notebooks from top to bottom, and save what their code cells print, return and plot.

    python notebooks/execute.py notebooks/*.ipynb

Runs the code cells of each in one namespace, without Jupyter, and writes the file back. A cell's
outputs are what it prints, its last expression, and matplotlib's open figures.
`--from SCRIPT.py` makes the notebook anew from a script first: cells begin at `# %%` (code) and
`# %% [markdown]` (whose lines are comments).
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import io
import json
import linecache
import os
import sys
from pathlib import Path
from typing import Any

Cell = dict[str, Any]

QUICK = "STRUCTGEN_NOTEBOOK_QUICK"  # set while tests run a notebook: it may take smaller samples


def run_cells(cells: list[Cell], name: str) -> list[Cell]:
    """The cells with their outputs anew. What a cell raises is raised, with the cell's number."""
    os.environ.setdefault("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    done = []
    for cell in cells:
        if cell["cell_type"] == "code":
            number = 1 + sum(other["cell_type"] == "code" for other in done)
            outputs = _outputs("".join(cell["source"]), f"{name}, cell {number}", namespace, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        done.append(cell)
    return done


def _outputs(source: str, where: str, namespace: dict[str, Any], number: int) -> list[Cell]:
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), namespace)  # noqa: S102  that is what it is for
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), namespace)  # noqa: S307
    outputs: list[Cell] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    outputs += _figures()
    if value is not None and not source.rstrip().endswith(";"):
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        outputs.append(result | {"data": _shown(value)})
    return outputs


def _shown(value: Any) -> Cell:
    shown: Cell = {"text/plain": repr(value).splitlines(keepends=True)}
    for kind, method in (("text/html", "_repr_html_"), ("text/markdown", "_repr_markdown_")):
        if hasattr(value, method):
            shown[kind] = getattr(value, method)().splitlines(keepends=True)
    return shown


def _figures() -> list[Cell]:
    """The open figures as PNG, which are then closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    outputs = []
    for number in pyplot.get_fignums():
        image = io.BytesIO()
        pyplot.figure(number).savefig(image, format="png", dpi=80, bbox_inches="tight")
        data = {"image/png": base64.b64encode(image.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    pyplot.close("all")
    return outputs


def cells_of_script(text: str) -> list[Cell]:
    """The cells of a script in percent format, without outputs."""
    cells: list[Cell] = []
    for part in ("\n" + text).split("\n# %%")[1:]:
        kind, _, body = part.partition("\n")
        lines = body.strip("\n").splitlines()
        cell: Cell = {"id": f"cell-{len(cells):02}", "metadata": {}}
        if kind.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
            cell |= {"cell_type": "markdown"}
        else:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cell["source"] = [line + "\n" for line in lines[:-1]] + lines[-1:]
        cells.append(cell)
    return cells


def main() -> None:
    """Execute the notebooks that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", type=Path, nargs="+")
    parser.add_argument("--from", dest="script", type=Path, help="make the notebook of this script")
    args = parser.parse_args()
    for path in args.notebooks:
        if args.script is None:
            notebook = json.loads(path.read_text())
        else:
            kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
            notebook = {"metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
                        "nbformat": 4, "nbformat_minor": 5,
                        "cells": cells_of_script(args.script.read_text())}  # fmt: skip
        notebook["cells"] = run_cells(notebook["cells"], path.name)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
