"""`structgen map`: a text that fits a spec for each row of a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structgen.cli import inputs
from structgen.cli.commands.generate import SETTINGS, add_model, add_settings, load_generator
from structgen.cli.options import add_command, add_schema, integer, schema_options
from structgen.cli.terminal import Terminal
from structgen.errors import StructgenError
from structgen.integrations.mapping.local import fill_file
from structgen.integrations.mapping.rows import ENDINGS, Template, Work, read_rows
from structgen.schema.coerce import coerce

FAILED = 1  # exit status when some rows have no text


def add(commands: Any) -> None:
    """Add the command `map`."""
    parser = add_command(
        commands, "map", "Let a model write JSON that fits a schema for each row of a file.", run
    )
    parser.add_argument(
        "input", metavar="INPUT", type=Path, help="rows: " + ", ".join(f"*{e}" for e in ENDINGS)
    )
    add_schema(parser, order="declared", whitespace="bounded", named=True)
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        default="{prompt}",
        help="what the model is asked for a row: names of columns stand in braces "
        "(default: {prompt}, the column of that name)",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        type=Path,
        required=True,
        help="a .jsonl file, to which rows are added as they come; the same command goes on where "
        "it was stopped. With --ray a folder, which gets Parquet files",
    )
    add_model(parser)
    group = parser.add_argument_group("writing")
    add_settings(group, "--max-tokens", "--temperature", "--seed")
    group.add_argument(
        "--batch", metavar="N", type=integer(1), default=16, help="rows at once (default: 16)"
    )
    group = parser.add_argument_group("on a cluster")
    group.add_argument(
        "--ray", action="store_true", help="by Ray Data: pip install 'structgen[hf,ray]'"
    )
    group.add_argument(
        "--actors", metavar="N", type=integer(1), default=1, help="models at most (default: 1)"
    )
    group.add_argument(
        "--gpus", metavar="N", type=float, default=0, help="GPUs of each (default: 0)"
    )
    group.add_argument(
        "--key", metavar="COLUMN", help="tells rows apart, so that a stopped run can go on"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Write all rows; 1 if some of them have errors."""
    if not args.input.is_file():
        raise StructgenError("there is no such file", location=str(args.input), expected="rows")
    spec = coerce(inputs.load_spec(args.schema, schema_options(args)))
    settings = {name: value for name, value in vars(args).items() if name in SETTINGS}
    work = Work(spec, Template(args.prompt), settings, args.batch)
    done, failed = _on_ray(args, work) if args.ray else _here(args, work, terminal)
    terminal.clear()
    terminal.say(f"{done} rows in {args.out}" + (f", {failed} without a text" if failed else ""))
    return FAILED if failed else 0


def _here(args: argparse.Namespace, work: Work, terminal: Terminal) -> tuple[int, int]:
    total = sum(1 for _ in read_rows(args.input))
    generator = load_generator(args.model, terminal, device=args.device, dtype=args.dtype)

    def progress(done: int, failed: int) -> None:
        filled = 24 * done // max(1, total)
        words = f", {failed} failed" if failed else ""
        terminal.progress(f"[{'#' * filled:<24}] {done} of {total} rows{words}")

    return fill_file(generator, work, args.input, args.out, progress)


def _on_ray(args: argparse.Namespace, work: Work) -> tuple[int, int]:
    from structgen import demo
    from structgen.integrations.mapping.ray_data import Share, fill_on_ray

    model = args.model or str(demo.model_path())
    share = Share(args.actors, args.gpus, args.key)
    return fill_on_ray(model, work, args.input, args.out, share)
