"""`structgen bench`: run jsonschemabench with the arguments given.

The benchmarks are a folder beside `structgen/` in the repository and are not installed with it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

from structgen.cli.terminal import Terminal
from structgen.errors import StructgenError

CHECKOUT = Path(__file__).resolve().parents[3]


def add(commands: Any) -> None:
    """Add the command `bench`."""
    parser = commands.add_parser(
        "bench",
        help="Measure engines side by side (`bench --help` lists what can be measured).",
        add_help=False,
        prefix_chars="\0",  # so that every argument, options too, is passed on as it is
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _terminal: Terminal) -> int:
    """Pass the arguments on. StructgenError when this is not a checkout of the repository."""
    if importlib.util.find_spec("jsonschemabench") is None:
        if not (CHECKOUT / "jsonschemabench" / "main.py").is_file():
            raise StructgenError(
                "the benchmarks are not installed with structgen",
                hint="clone the repository and run this there",
            )
        sys.path.append(str(CHECKOUT))
    from jsonschemabench.main import main

    return main(args.arguments, prog="structgen bench")
