"""The command `report`: a self-contained HTML page of results files, and the tables as Markdown.

    python -m jsonschemabench report masks.jsonl suite.jsonl -o report.html > report.md

The page needs no network. A file that cannot be read, or holds no case, costs a line on stderr and
in the page; the rest is reported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschemabench.errors import BenchError
from jsonschemabench.report.chapter import Chapter, chapter
from jsonschemabench.report.data import load_all
from jsonschemabench.report.page import markdown, page
from jsonschemabench.report.tables import Table
from structgen.cli.terminal import amount, visible

FINE = 0


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="make an HTML page and tables of results",
        description="Make one HTML page of results files; tables as Markdown go to stdout.",
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="PAGE",
        help="where the page goes (default: report.html)",
    )
    parser.add_argument("--title", default="Constrained decoding, measured", help="of the page")
    parser.add_argument(
        "--baseline",
        default="structgen",
        metavar="ENGINE",
        help="the engine that the ratios are of (default: structgen)",
    )
    parser.add_argument(
        "--failures",
        type=_amount,
        default=2000,
        metavar="N",
        help="show at most so many failures of a run, the worst first (default: 2000)",
    )
    parser.add_argument(
        "--plots", type=Path, metavar="FOLDER", help="also write each plot there as PNG and SVG"
    )


def run(args: argparse.Namespace) -> int:
    """Write the page and print the tables."""
    runs, remarks = load_all(args.results)
    for remark in remarks:
        _say(remark)
    if not runs:
        raise BenchError("no results to report", hint="see the lines above")
    chapters = [chapter(one, args.baseline, args.failures) for one in runs]
    if find_spec("matplotlib") is None:
        remarks.append("no plots: matplotlib is not installed; run: pip install 'structgen[bench]'")
        _say(remarks[-1])
        chapters = [one.without_plots() for one in chapters]
    written = page(args.title, chapters, remarks).encode()
    _write(args.output, written)
    if args.plots is not None:
        _write_plots(args.plots, chapters)
    _say(f"wrote {args.output} ({amount(len(written), 'B')})")
    sys.stdout.write(markdown(args.title, chapters, remarks))
    return FINE


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise BenchError(
            f"the file cannot be written: {error.strerror or error}", location=str(path)
        ) from error


def _write_plots(folder: Path, chapters: Iterable[Chapter]) -> None:
    """Each plot as two files, numbered by run where there are several."""
    chapters = list(chapters)
    for number, one in enumerate(chapters, 1):
        prefix = f"run-{number}-" if len(chapters) > 1 else ""
        for block in one.blocks:
            for plot in [] if isinstance(block, Table) else block:
                for form in ("png", "svg"):
                    _write(folder / f"{prefix}{plot.name}.{form}", plot.file(form))


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _amount(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value
