"""The command line of jsonschemabench: runs the module of a command, and prints errors as lines.

Exit status: 0 fine, 1 a regression (`compare`, `ratchet`), 2 bad input, 130 interrupted,
141 the reader of stdout went away.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from structgen.errors import StructgenError

FINE = 0
BAD_INPUT = 2
INTERRUPTED = 130
NO_READER = 141

#: The module of each, with `add_parser(commands)` and `run(args) -> int`, and what it is for.
COMMANDS = {
    "suite": ("suite.command", "run the official JSON Schema Test Suite"),
    "pack": ("pack", "make a pack of cases out of schemas of your own"),
    "masks": ("masks.command", "measure masks on MaskBench cases, or on a grammar"),
    "start": ("start", "measure the first mask: fresh environment, new process, warm process"),
    "growth": ("growth", "measure whether a token costs more in a longer text of a grammar"),
    "generate": ("generate.command", "measure generation with a model, end to end"),
    "batches": (
        "batches",
        "measure how masks that are made are handed out, by batch size and threads",
    ),
    "steps": ("steps", "measure a server's step: many requests, each with its own schema"),
    "hosts": (
        "hosts.command",
        "measure what a host spends on masks, with structgen and with its own engines",
    ),
    "server": (
        "server",
        "measure a server: requests a second, and its memory as new schemas come",
    ),
    "device": ("gpu.command", "measure masks and sampling where the logits are"),
    "speculate": ("speculate.command", "measure speculative decoding beside plain decoding"),
    "aligned": ("aligned.command", "measure samplers of the model's own distribution"),
    "acceptance": ("acceptance", "work out how often acceptance rules keep a draft"),
    "replay": ("replay", "count the passes that drafters save on recorded texts"),
    "report": ("report.command", "make an HTML page and tables of results"),
    "compare": ("compare", "say what got better or worse between two results files"),
    "ratchet": (
        "ratchet.command",
        "compare structgen with the outcomes on record, or record them anew",
    ),
}


def main(argv: Sequence[str] | None = None, prog: str = "python -m jsonschemabench") -> int:
    """Run one command and return its exit status. `argv` defaults to the process's arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        name, parser = build_parser(arguments, prog)
        args = parser.parse_args(arguments)
        status: int = _module(name).run(args)
    except SystemExit as stop:  # argparse has said what is wrong, or shown the help
        return stop.code if isinstance(stop.code, int) else FINE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        return NO_READER
    except StructgenError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("jsonschemabench", "structgen"):
            raise
        print(
            f"{prog}: error: this needs {error.name}, which is not installed; "
            "run: pip install 'structgen[bench]'",
            file=sys.stderr,
        )
        return BAD_INPUT
    return status


def build_parser(arguments: Sequence[str], prog: str) -> tuple[str, argparse.ArgumentParser]:
    """The command that is meant, and the parser; only that command's module is imported."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Measure engines for constrained decoding on the same work."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    chosen = next((a for a in arguments if a in COMMANDS), "")
    for name, (_, summary) in COMMANDS.items():
        if name == chosen:
            _module(name).add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return chosen, parser


def _module(command: str) -> Any:
    return importlib.import_module(f"jsonschemabench.{COMMANDS[command][0]}")
