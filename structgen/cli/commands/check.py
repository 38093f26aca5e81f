"""`structgen check`: whether a text fits a schema; if not, where, and what was expected."""

from __future__ import annotations

import argparse
from typing import Any

from structgen.cli import inputs, reading
from structgen.cli.options import add_command, add_schema, schema_options
from structgen.cli.terminal import Terminal, visible
from structgen.errors import StructgenError, ValidationError

FITS = 0
DOES_NOT_FIT = 1
CONTEXT = 60  # characters of the faulty line shown on either side of the fault


def add(commands: Any) -> None:
    """Add the command `check`."""
    parser = add_command(
        commands, "check", "Say whether a text fits a schema, and if not, why.", run
    )
    add_schema(parser, order="any", whitespace="any", escapes="any")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="file with the text (default: - for stdin)"
    )
    parser.add_argument("--text", help="the text itself")
    parser.add_argument("--json", action="store_true", help="write the answer as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="only set the exit status")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 if the text fits, 1 if not."""
    import structgen
    from structgen.schema.report.slips import look_for_slips

    text, place = read_text(args)
    spec = inputs.load_spec(args.schema, schema_options(args))
    look_for_slips(spec, strict=False)  # as compiling does
    try:
        structgen.check(spec, text, exact_layout=True)  # the options say what is meant
    except ValidationError as error:
        if args.json:
            terminal.json(as_json(error, text))
        elif not args.quiet:
            report(error, text, place, terminal)
        return DOES_NOT_FIT
    if args.json:
        terminal.json({"fits": True})
    elif not args.quiet:
        terminal.result(f"{place} {terminal.styled('fits', 'green', on_out=True)}")
    return FITS


def read_text(args: argparse.Namespace) -> tuple[str, str]:
    """The text to check, and how to name it."""
    if args.text is not None and args.file is not None:
        raise StructgenError(
            "there are two texts", location="--text", expected="one", hint="leave one of them out"
        )
    if args.text is not None:
        return reading.argument(args.text, "--text"), "the text"
    path = reading.STDIN if args.file is None else args.file
    if args.schema == path == reading.STDIN:
        raise StructgenError(
            "schema and text cannot both come from stdin",
            location="the command line",
            expected="FILE or --text",
        )
    return reading.read_text(path, "text file"), reading.shown(path)


def line_and_column(error: ValidationError, text: str) -> tuple[int, int]:
    """The place of the fault in lines and characters, both from 0."""
    before = text.encode()[: error.offset].decode(errors="ignore")
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)


def as_json(error: ValidationError, text: str) -> dict[str, Any]:
    """The answer for a program; docs/cli.md says what each key means."""
    line, column = line_and_column(error, text)
    return {
        "fits": False,
        "problem": error.problem,
        "reason": error.reason,
        "keyword": error.keyword,
        "schema_path": error.schema_path,
        "value_path": error.value_path,
        "path": error.path,
        "offset": error.offset,
        "line": line + 1,
        "column": column + 1,
        "expected": error.expected,
    }


def report(error: ValidationError, text: str, place: str, terminal: Terminal) -> None:
    """Say where the text goes wrong, and show the line with a caret under the fault."""
    line, column = line_and_column(error, text)
    path = f", value {error.path}" if error.path else ""
    wrong = terminal.styled("does not fit", "red", on_out=True)
    where = f"byte {error.offset} (line {line + 1}, column {column + 1}){path}"
    start = max(0, column - CONTEXT)
    shown = text.split("\n")[line][start : column + CONTEXT]
    caret = " " * (column - start) + terminal.styled("^", "red", on_out=True)
    problem = error.problem
    if error.reason:
        terminal.result(f"{place} {wrong}: {visible(error.reason)}")
        problem = problem.removeprefix(f"{error.reason}; ")
        terminal.result(f"{where}: {visible(problem)}; expected {visible(error.expected)}")
    else:
        terminal.result(f"{place} {wrong} at {where}")
        terminal.result(f"{visible(problem)}; expected {visible(error.expected)}")
    terminal.result(f"    {''.join(c if c.isprintable() else ' ' for c in shown)}")
    terminal.result(f"    {caret}")
