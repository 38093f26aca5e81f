"""`structgen export`: the nearest schema that a provider accepts, and what was lost."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from structgen.cli import inputs
from structgen.cli.options import add_command
from structgen.cli.terminal import Terminal, visible

FINE = 0
LABEL = 11  # columns

# The providers' names, without the import of their tables; a test compares the two.
DIALECTS = ("openai", "anthropic", "gemini", "gemini-openapi")

COLOURS = {"looser": "yellow", "stricter": "yellow", "both": "yellow", "same": "dim"}


def add(commands: Any) -> None:
    """Add the command `export`."""
    parser = add_command(
        commands, "export", "Write the nearest schema that a provider accepts.", run
    )
    parser.add_argument(
        "schema", metavar="SCHEMA", help="a JSON Schema file, - for stdin, or module:Model"
    )
    parser.add_argument(
        "--for", dest="dialect", choices=DIALECTS, required=True, help="whose dialect to write"
    )
    parser.add_argument(
        "--formats",
        choices=("assert", "annotate"),
        default="assert",
        help="whether `format` is a constraint that can be lost (default: assert)",
    )
    parser.add_argument(
        "--json", action="store_true", help='write {"schema": ..., "losses": [...]} instead'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 once a schema is written, whatever was lost."""
    import structgen
    from structgen.schema.report.slips import look_for_slips

    spec = inputs.load_spec(args.schema, {"formats": args.formats})
    look_for_slips(spec, strict=False)  # as compiling does
    schema, losses = structgen.export_schema(spec, args.dialect)
    document: Any = schema
    if args.json:
        document = {"schema": schema, "losses": [asdict(loss) for loss in losses]}
    terminal.result(json.dumps(document, ensure_ascii=False, indent=2))
    for loss in () if args.json else losses:
        label = terminal.styled(f"{loss.effect:{LABEL}}", COLOURS[loss.effect])
        terminal.say(f"{label}{visible(loss.pointer)}  {loss.keyword}: {visible(loss.message)}")
    return FINE
