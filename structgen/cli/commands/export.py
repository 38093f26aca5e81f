"""`structgen export`: the nearest schema that a provider accepts, and what was lost; or GBNF."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from structgen.cli import inputs
from structgen.cli.options import add_command, add_documents
from structgen.cli.terminal import Terminal, visible

FINE = 0
LABEL = 11  # columns

# The providers' names, without the import of their tables; a test compares the two.
DIALECTS = ("openai", "anthropic", "gemini", "gemini-openapi")
GBNF = "gbnf"  # of llama.cpp, which has all of a spec or is refused

COLOURS = {"looser": "yellow", "stricter": "yellow", "both": "yellow", "same": "dim"}


def add(commands: Any) -> None:
    """Add the command `export`."""
    parser = add_command(
        commands, "export", "Write the nearest schema that a provider accepts, or GBNF.", run
    )
    parser.add_argument(
        "schema",
        metavar="SPEC",
        help="a JSON Schema file or FILE#/pointer, - for stdin, or module:Model; for gbnf also a "
        "grammar",
    )
    parser.add_argument(
        "--for",
        dest="dialect",
        choices=(*DIALECTS, GBNF),
        required=True,
        help="whose dialect to write; gbnf is llama.cpp's, with the same texts",
    )
    parser.add_argument(
        "--formats",
        choices=("assert", "annotate"),
        default="assert",
        help="whether `format` is a constraint that can be lost (default: assert)",
    )
    parser.add_argument(
        "--closed",
        action="store_true",
        help="objects have no keys but those that the schema names, where it leaves that open",
    )
    add_documents(parser)
    parser.add_argument(
        "--whitespace",
        metavar="bounded|compact|indented|any|REGEX",
        default="bounded",
        help="in gbnf, white space between the parts of JSON (default: bounded)",
    )
    parser.add_argument(
        "--repeated-keys",
        action="store_true",
        help="in gbnf, keys without a name may come twice, which it cannot forbid",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help='write {"schema": ..., "losses": [...]} instead, or {"grammar": ...}',
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 once a schema is written, whatever was lost."""
    import structgen
    from structgen.schema.report.slips import look_for_slips

    options = {"formats": args.formats, "whitespace": args.whitespace, "closed": args.closed}
    options["documents"] = args.documents or []
    spec = inputs.load_spec(args.schema, options)
    if args.dialect == GBNF:
        text = structgen.export_gbnf(spec, repeated_keys=args.repeated_keys)
        if args.json:
            terminal.json({"grammar": text}, indent=2)
        else:
            terminal.result(text.rstrip("\n"))
        return FINE
    look_for_slips(spec, strict=False)  # as compiling does
    schema, losses = structgen.export_schema(spec, args.dialect)
    document: Any = schema
    if args.json:
        document = {"schema": schema, "losses": [asdict(loss) for loss in losses]}
    terminal.json(document, indent=2)
    for loss in () if args.json else losses:
        label = terminal.styled(f"{loss.effect:{LABEL}}", COLOURS[loss.effect])
        terminal.say(f"{label}{visible(loss.pointer)}  {loss.keyword}: {visible(loss.message)}")
    return FINE
