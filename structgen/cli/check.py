"""In: a schema and a text. Out: whether the text fits, and if not, where and what was expected."""

from __future__ import annotations

import argparse
from typing import Any

from structgen.cli import inputs
from structgen.cli.options import add_command, add_schema, schema_options
from structgen.cli.terminal import Terminal
from structgen.errors import StructgenError, ValidationError

FITS = 0
DOES_NOT_FIT = 1
CONTEXT = 60  # characters of the faulty line shown on either side of the fault


def add(commands: Any) -> None:
    """Add the command `check`."""
    parser = add_command(
        commands, "check", "Say whether a text fits a schema, and if not, why.", run
    )
    add_schema(parser, order="any", whitespace="any")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="file with the text (default: - for stdin)"
    )
    parser.add_argument("--text", help="the text itself")
    parser.add_argument("-q", "--quiet", action="store_true", help="only set the exit status")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 if the text fits, 1 if not."""
    import structgen

    if args.text is not None and args.file is not None:
        raise StructgenError(
            "there are two texts", location="--text", expected="one", hint="leave one of them out"
        )
    if args.schema == args.file == inputs.STDIN or (
        args.schema == inputs.STDIN and args.file is None and args.text is None
    ):
        raise StructgenError(
            "schema and text cannot both come from stdin",
            location="the command line",
            expected="FILE or --text",
        )
    spec = inputs.load_spec(args.schema, schema_options(args))
    place = "the text" if args.text is not None else inputs.shown(args.file or inputs.STDIN)
    text = args.text if args.text is not None else inputs.read_text(args.file or "-", "text file")
    try:
        structgen.check(spec, text)
    except ValidationError as error:
        if not args.quiet:
            report(error, text, place, terminal)
        return DOES_NOT_FIT
    if not args.quiet:
        terminal.say(f"{place} {terminal.styled('fits', 'green')}")
    return FITS


def report(error: ValidationError, text: str, place: str, terminal: Terminal) -> None:
    """Say where the text goes wrong, and show the line with a caret under the fault."""
    before = text.encode()[: error.offset].decode(errors="ignore")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1)
    where = f"byte {error.offset} (line {line}, column {column + 1})"
    path = f", value {error.path}" if error.path else ""
    expected = f": expected {error.expected}" if error.expected else ""
    terminal.say(f"{place} {terminal.styled('does not fit', 'red')} at {where}{path}{expected}")
    terminal.say(f"  {error.problem}")
    lines = text.split("\n")
    start = max(0, column - CONTEXT)
    shown = lines[line - 1][start : column + CONTEXT]
    terminal.say(f"    {''.join(c if c.isprintable() else ' ' for c in shown)}")
    terminal.say(f"    {' ' * (column - start)}{terminal.styled('^', 'red')}")
