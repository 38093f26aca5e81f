"""`structgen generate`: JSON of a model on stdout, figures on stderr."""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.cli import inputs, reading
from structgen.cli.options import add_command, add_schema, integer, schema_options
from structgen.cli.terminal import Terminal, is_terminal
from structgen.errors import StructgenError
from structgen.generation.speculation.names import NAMES

if TYPE_CHECKING:
    from structgen.generation.generator import Generator
    from structgen.generation.result import GenerationResult

# Options that go to the Generator under their own names, if given.
SETTINGS = (
    "max_tokens",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "seed",
    "system",
    "stop_sequences",
    "on_truncation",
    "chat",
    "speculate",
)
_NUMBERS: dict[str, tuple[type, str]] = {
    "--max-tokens": (int, "most tokens to write (default: 512)"),
    "--temperature": (float, "0 takes the most probable token (default: 1)"),
    "--top-k": (int, "sample among this many tokens at most"),
    "--top-p": (float, "sample among tokens that have this probability together"),
    "--min-p": (float, "leave out tokens below this share of the best one's probability"),
    "--seed": (int, "make the result reproducible"),
}


def add(commands: Any) -> None:
    """Add the command `generate`."""
    parser = add_command(
        commands, "generate", "Let a model write JSON that fits a schema, to stdout.", run
    )
    add_schema(parser, order="declared", whitespace="bounded")
    add_prompt(parser)
    add_model(parser)
    _add_sampling(parser)
    parser.add_argument("-n", metavar="N", type=integer(1), help="number of results, one a line")
    parser.add_argument("--stream", action="store_true", help="write the text as it comes")
    parser.add_argument(
        "--speculate",
        metavar="NAME",
        choices=NAMES,
        default=argparse.SUPPRESS,
        help="draft several tokens per forward pass; the distribution of the text stays "
        f"the same: {', '.join(NAMES)} (default: none)",
    )
    parser.add_argument("--stats", action="store_true", help="say on stderr how it went")


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """PROMPT, and how it is put to the model."""
    parser.add_argument(
        "prompt", metavar="PROMPT", nargs="?", help="what the model is asked (default: from stdin)"
    )
    parser.add_argument("--prompt-file", metavar="FILE", help="file with the prompt")
    parser.add_argument("--system", default=argparse.SUPPRESS, help="a system message before it")
    parser.add_argument(
        "--no-chat",
        dest="chat",
        action="store_false",
        default=argparse.SUPPRESS,
        help="give the prompt to the model as it is, even if it has a chat template",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model, and where it runs."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        metavar="PATH",
        help="folder or hub name of a transformers model (default: the shipped demo model)",
    )
    group.add_argument("--device", help="such as cpu or cuda:0 (default: a GPU if there is one)")
    group.add_argument("--dtype", help="such as bfloat16 (default: as the model was saved)")


def add_settings(group: Any, *names: str) -> None:
    """Some of the settings that are numbers, to a group of arguments."""
    for name in names:
        kind, text = _NUMBERS[name]
        group.add_argument(name, type=kind, default=argparse.SUPPRESS, metavar="N", help=text)


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sampling")
    add_settings(group, *_NUMBERS)
    group.add_argument(
        "--stop-sequence",
        dest="stop_sequences",
        metavar="TEXT",
        action="append",
        default=argparse.SUPPRESS,
        help="end the text before TEXT, or behind it as soon as it may end; may be repeated",
    )
    group.add_argument(
        "--on-truncation",
        choices=("close", "raise"),
        default=argparse.SUPPRESS,
        help="when --max-tokens would end first: write a short ending in time, or fail",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Generate, and write each text to stdout."""
    if args.stream and args.n is not None:
        raise StructgenError(
            "--stream shows one text", location="-n", hint="leave out --stream or -n"
        )
    prompt = inputs.read_prompt(
        args.prompt, args.prompt_file, stdin_taken=args.schema == reading.STDIN
    )
    spec = inputs.load_spec(args.schema, schema_options(args))
    settings = {name: value for name, value in vars(args).items() if name in SETTINGS}
    generator = load_generator(args.model, terminal, device=args.device, dtype=args.dtype)
    if args.stream:
        results = [stream(generator, prompt, spec, settings, terminal)]
    else:
        terminal.progress("generating ...")
        results = generator.generate(prompt, spec, n=args.n or 1, **settings)
        for result in results:
            terminal.result(one_line(result.text) if args.n is not None else result.text)
    terminal.say(str(results[0].enforced))  # the same for all
    for result in results:
        if result.finish_reason == "closed":
            terminal.say("note: the token budget was ending, so the text was closed early")
        if args.stats:
            terminal.say(stats(result))
            if result.stats is not None:
                terminal.say(str(result.stats))
    return 0


def load_generator(model: str | None, terminal: Terminal, **where: Any) -> Generator:
    """A Generator of the model at a path, by default the demo model."""
    import structgen
    from structgen import demo

    model = str(demo.model_path()) if model is None else model
    if Path(model) == Path(demo.model_path()):
        _use_one_thread()
    if not is_terminal(terminal.err):
        _hide_progress_bars()
    terminal.progress("loading the model ...")
    generator = structgen.Generator(model, **where)
    terminal.clear()
    return generator


def stream(
    generator: Generator, prompt: str, spec: Any, settings: dict[str, Any], terminal: Terminal
) -> GenerationResult:
    """Write one text to stdout piece by piece, then a newline."""
    pieces = generator.stream(prompt, spec, **settings)
    for piece in pieces:
        terminal.result(piece, end="")
    terminal.result("")
    return pieces.result


def one_line(text: str) -> str:
    """JSON text without line breaks: inside JSON they can only be white space between parts."""
    return text.replace("\r", " ").replace("\n", " ")


def stats(result: GenerationResult) -> str:
    """One line: size, speed, share of the masks in it, and what the masks took away."""
    timings, removed = result.timings, result.mass_removed
    share = timings.mask / timings.total if timings.total else 0.0
    mass = f"{removed.mean():.1%} on average, {removed.max():.1%} at most" if len(removed) else "0%"
    return (
        f"{timings.tokens} tokens, {timings.tokens_per_second:.0f} tokens/s, "
        f"masks {share:.1%} of the time, probability removed by masks {mass}, "
        f"end: {result.finish_reason}"
    )


def _use_one_thread() -> None:
    """Let torch compute in one thread, unless the environment says how many.

    The shipped model is too small for more to help, and where another job uses a core, the threads
    of each step would wait for the one that has to share it.
    """
    if "OMP_NUM_THREADS" not in os.environ and importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)


def _hide_progress_bars() -> None:
    """Keep the bars that transformers draws while loading out of logs and pipes."""
    if all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
