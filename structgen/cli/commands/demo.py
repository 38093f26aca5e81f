"""`structgen demo`: the shipped model writes JSON from its examples, with figures."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.cli.commands.generate import load_generator, stats
from structgen.cli.options import add_command
from structgen.cli.terminal import Terminal

if TYPE_CHECKING:
    from structgen.generation.generator import Generator

SHOWN = 4  # examples
LABEL = 9  # columns
PERSON = {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}}
NEXT = {  # by what they do, the arguments of commands to try
    "a schema and a prompt of your own": (
        "generate",
        json.dumps({"type": "object", "properties": PERSON, "required": [*PERSON]}),
        "Nina Hartmann, 41, lives in Vienna.",
    ),
    "what is enforced of a schema, and what looks wrong": (
        "check-schema",
        '{"type": "string", "maxLenght": 5}',
    ),
    "whether a text fits, here a shipped grammar": ("check", "sql", "--text", "SELECT a FROM t;"),
    "what may come next, and why": ("explain", '{"enum": ["red", "green"]}', "--prefix", '"r'),
}


def add(commands: Any) -> None:
    """Add the command `demo`."""
    parser = add_command(
        commands, "demo", "Let the small model that ships with structgen write JSON.", run
    )
    parser.add_argument("--all", action="store_true", help=f"all examples, not only {SHOWN}")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Show each example: the prompt, the schema's keys, the answer as it comes, the value."""
    from structgen import demo
    from structgen.kernels.build import loader

    terminal.progress("preparing the kernels and the model ...")
    loader.warmup()
    generator = load_generator(None, terminal)
    examples = list(demo.EXAMPLES.items())
    for name, (prompt, schema) in examples if args.all else examples[:SHOWN]:
        show(generator, name, prompt, schema, terminal)
    terminal.result("Every answer fits its schema; the constraint leaves the model no other way.")
    terminal.result("\nTry next, then the examples of README.md and the notebooks:\n")
    program = sys.argv[0] if Path(sys.argv[0]).name == "structgen" else "structgen"
    for what, arguments in NEXT.items():
        terminal.result(terminal.styled(f"  # {what}", "dim", on_out=True))
        terminal.result(f"  {shlex.join([program, *arguments])}")
    return 0


def show(
    generator: Generator, name: str, prompt: str, schema: dict[str, Any], terminal: Terminal
) -> None:
    """One example, all of it on stdout."""
    import structgen

    terminal.result(terminal.styled(f"── {name}", "bold", "cyan", on_out=True))
    line("prompt", prompt, terminal)
    text = json.dumps(schema, ensure_ascii=False)
    if text not in prompt:
        line("schema", text, terminal)
    line("answer", "", terminal, end="")
    stream = generator.stream(prompt, structgen.JsonSchema(schema), temperature=0.0)
    for piece in stream:
        terminal.result(terminal.styled(piece, "green", on_out=True), end="")
    terminal.result("")
    line("value", repr(stream.result.value), terminal)
    line("figures", stats(stream.result), terminal)
    terminal.result("")


def line(label: str, text: str, terminal: Terminal, *, end: str = "\n") -> None:
    """A dim label and a text; further lines of the text are indented, empty ones left out."""
    rows = [row for row in text.split("\n") if row.strip()]
    margin = f"\n{'':{LABEL}}"
    terminal.result(
        terminal.styled(f"{label:{LABEL}}", "dim", on_out=True) + margin.join(rows), end=end
    )
