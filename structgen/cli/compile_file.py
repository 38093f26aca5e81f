"""In: a schema and a tokenizer. Out: a file from which `structgen.load` takes finished masks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structgen.cli import inputs
from structgen.cli.options import (
    add_command,
    add_schema,
    add_tokenizer,
    integer,
    schema_options,
)
from structgen.cli.terminal import Terminal, amount, duration
from structgen.cli.tokenizers import load_vocabulary

MAX_STATES = 10_000


def add(commands: Any) -> None:
    """Add the command `compile`."""
    parser = add_command(
        commands, "compile", "Work out the masks of a schema ahead of time, into a file.", run
    )
    add_schema(parser, order="declared", whitespace="bounded")
    add_tokenizer(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    parser.add_argument(
        "--max-states",
        metavar="N",
        type=integer(1),
        default=MAX_STATES,
        help=f"states to work out at most (default: {MAX_STATES})",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compile, precompute, save, and say on stderr how large it came out."""
    import structgen

    spec = inputs.load_spec(args.schema, schema_options(args))
    vocabulary = load_vocabulary(args)
    start = time.perf_counter()
    constraint = structgen.compile(spec, vocabulary)
    states = constraint.precompute(max_states=args.max_states, progress=drawn(terminal))
    constraint.save(args.output)
    terminal.say(
        f"{args.output}: {amount(states, 'state')}, {amount(constraint.size['rows'], 'row')}, "
        f"{amount(Path(args.output).stat().st_size, 'B')}, "
        f"made in {duration(time.perf_counter() - start)}"
    )
    if states >= args.max_states:
        terminal.say(f"stopped at --max-states {args.max_states}; what is left is made when needed")
    return 0


def drawn(terminal: Terminal) -> Callable[[int, int], None]:
    """A callback that shows how many of the states known so far are done."""

    def show(done: int, known: int) -> None:
        terminal.progress(f"{done:,} of {known:,} states known so far")

    return show
