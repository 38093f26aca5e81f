"""`structgen align`: how far masking changes a model's distribution, as text and as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.cli import inputs, reading
from structgen.cli.commands.generate import add_model, add_prompt, load_generator
from structgen.cli.options import add_command, add_schema, integer, number, schema_options
from structgen.cli.terminal import Terminal, amount, visible
from structgen.errors import StructgenError

if TYPE_CHECKING:
    from structgen.generation.sampling.alignment import Alignment
    from structgen.generation.sampling.results import Estimate

# Options that go to the posterior under their own names, if given.
SETTINGS = ("system", "chat", "temperature", "max_tokens", "stop")
ALIGNED = ("cars", "rejection", "asap", "smc")


def add(commands: Any) -> None:
    """Add the command `align`."""
    parser = add_command(
        commands,
        "align",
        "Measure how far masking bends what the model would write, and show where.",
        run,
    )
    add_schema(parser, order="declared", whitespace="bounded")
    add_prompt(parser)
    add_model(parser)
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "-n", metavar="N", type=integer(2), default=100, help="texts of each kind (default: 100)"
    )
    group.add_argument(
        "--sampler",
        choices=ALIGNED,
        default="cars",
        help="what draws the aligned texts; cars and rejection are exact (default: cars)",
    )
    unset = argparse.SUPPRESS
    group.add_argument(
        "--max-tokens", type=integer(1), default=unset, metavar="N", help="(default: 512)"
    )
    group.add_argument(
        "--temperature", type=number(1e-3), default=unset, metavar="T", help="(default: 1)"
    )
    group.add_argument(
        "--stop",
        choices=("complete", "eos"),
        default=unset,
        help="end texts where they are complete, or where the model says (default: complete)",
    )
    group.add_argument("--seed", type=integer(0), default=0, metavar="N", help="(default: 0)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PAGE",
        type=Path,
        help="write an HTML page that needs nothing else",
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON, on stdout")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Measure; the summary or the JSON goes to stdout, the page to its file."""
    from structgen.generation.sampling.alignment import measure
    from structgen.generation.sampling.api import posterior_of

    prompt = inputs.read_prompt(
        args.prompt, args.prompt_file, stdin_taken=args.schema == reading.STDIN
    )
    spec = inputs.load_spec(args.schema, schema_options(args))
    settings = {name: value for name, value in vars(args).items() if name in SETTINGS}
    generator = load_generator(args.model, terminal, device=args.device, dtype=args.dtype)
    posterior = posterior_of(generator, prompt, spec, **settings)
    terminal.progress("drawing texts ...")
    found = measure(posterior, args.n, args.seed, args.sampler)
    if args.output is not None:
        from structgen.generation.sampling.alignment_page import page

        title = f"{reading.shown(args.schema)}: what masking does"
        data = page(found, title, prompt).encode()
        _write(args.output, data)
        terminal.say(f"wrote {args.output} ({amount(len(data), 'B')})")
    if args.json:
        terminal.json(found.to_json())
    else:
        terminal.result(visible(summary(found)))
    return 0


def summary(found: Alignment) -> str:
    """The figures in a few lines."""
    exact = "" if found.exact else ", which is not exact"
    lines = [
        f"drawn: {found.drawn} texts by masking, {found.aligned} by {found.sampler}{exact}",
        f"the model satisfies the spec by itself: {_figure(found.satisfied)}",
        f"KL(masked || aligned): {_figure(found.kl_masked)} nats",
        f"KL(aligned || masked): {_figure(found.kl_aligned)} nats",
        f"the masked texts are worth {found.effective_sample_size:.1f} aligned ones",
        f"probability removed by the mask: {found.removed:.2%} of a step on average",
    ]
    if not found.trustworthy:
        lines.append("so few that the figures above are rough: the two laws hardly overlap")
    if found.unfinished:
        lines.append(f"attempts at masking that did not come to an end: {found.unfinished:.1%}")
    if found.spots:
        lines.append("where most is removed:")
    for spot in found.spots[:5]:
        wanted = " ".join(f"{text!r} {p:.0%}" for text, p in spot.wanted[:2])
        lines.append(
            f"  {spot.removed:6.1%} at token {spot.index + 1} after {spot.text[-40:]!r}: {wanted}"
        )
    differing = [field for field in found.fields if field.distance > 0]
    if differing:
        lines.append("fields that differ most (half the sum of the differences of shares):")
    for field in differing[:5]:
        best = field.values[0]
        lines.append(
            f"  {field.distance:6.1%} {field.pointer or '(the whole)'}: "
            f"{best.text:.40} {best.masked:.0%} masked, {best.aligned:.0%} aligned"
        )
    return "\n".join(lines)


def _figure(one: Estimate) -> str:
    form = ".1e" if 0 < abs(one.value) < 1e-3 else ".4f"
    return f"{one.value:{form}} ± {one.standard_error:{form}}"


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StructgenError(
            f"the page cannot be written: {error.strerror or error}",
            location=str(path),
            hint="name a file in a folder that is there",
        ) from error
