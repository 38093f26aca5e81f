"""`structgen serve`: a model behind the OpenAI API, until it is interrupted."""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import TYPE_CHECKING, Any

from structgen.cli.commands.generate import load_generator
from structgen.cli.options import add_command, integer, number
from structgen.cli.terminal import Terminal
from structgen.compose.tools.call_formats import FORMATS
from structgen.errors import StructgenError
from structgen.server.settings import TOOL_LEVELS, Limits, ServerSettings, Tenant, read_keys

if TYPE_CHECKING:
    from collections.abc import Callable

DEMO = "demo"
GRACE = 10  # seconds that texts under way may still take once the server is to stop
_LIMITS: dict[str, tuple[Callable[[str], Any], str]] = {
    "concurrent": (integer(1), "requests of one key at the same time"),
    "max_tokens": (integer(1), "tokens of one text"),
    "choices": (integer(1), "texts of one request"),
    "seconds": (number(0.001), "seconds of one request"),
    "compile_seconds": (number(0.001), "seconds that a request waits for its spec"),
    "body_bytes": (integer(1), "bytes of a request"),
    "spec_bytes": (integer(1), "bytes of a spec's text"),
    "states": (integer(1), "states of one compiled spec"),
}


def add(commands: Any) -> None:
    """Add the command `serve`."""
    parser = add_command(
        commands, "serve", "Serve a model with the OpenAI API; constraints are enforced.", run
    )
    parser.add_argument(
        "model", metavar="MODEL", help=f"folder or hub name, or {DEMO!r} for the shipped model"
    )
    parser.add_argument("--name", help="what clients call the model (default: MODEL)")
    parser.add_argument("--device", help="such as cpu or cuda:0 (default: a GPU if there is one)")
    parser.add_argument("--dtype", help="such as bfloat16 (default: as the model was saved)")
    _add_network(parser)
    parser.add_argument(
        "--rows", type=integer(1), default=64, metavar="N", help="texts at a time (default: 64)"
    )
    parser.add_argument(
        "--compilers",
        type=integer(1),
        default=2,
        metavar="N",
        help="threads that compile specs (default: 2)",
    )
    parser.add_argument(
        "--call-format",
        choices=sorted(FORMATS),
        metavar="NAME",
        help="how the model writes calls of tools (default: by its chat template)",
    )
    parser.add_argument(
        "--reasoning",
        nargs=2,
        metavar=("BEGIN", "END"),
        help="marks of the model's reasoning in a chat, such as '<think>' '</think>': constraints "
        "begin behind it, and answers have it by itself",
    )
    group = parser.add_argument_group("limits of each key")
    group.add_argument(
        "--tools",
        choices=TOOL_LEVELS,
        default="strict",
        help="enforce calls whole, their names alone, or not at all (default: strict)",
    )
    for name, (kind, what) in _LIMITS.items():
        default = getattr(Limits(), name)
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=default,
            metavar="N",
            help=f"most {what} (default: {default:g})",
        )


def _add_network(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    parser.add_argument(
        "--port", type=integer(0), default=8000, help="port, 0 for any (default: 8000)"
    )
    parser.add_argument(
        "--api-key",
        metavar="KEY",
        action="append",
        default=[],
        help="a key that lets a client in; may be repeated (default: STRUCTGEN_API_KEY, or none)",
    )
    parser.add_argument("--keys", metavar="FILE", help="JSON file of keys with limits of their own")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Load the model and serve until interrupted."""
    import uvicorn

    from structgen.server.app import create_app

    settings = settings_of(args)
    model = None if args.model == DEMO else args.model
    generator = load_generator(model, terminal, device=args.device, dtype=args.dtype)
    app = create_app(generator, settings)
    terminal.say(f"{settings.model_name}: http://{args.host}:{args.port}/v1")
    uvicorn.run(
        app,
        host=args.host,
        port=args.port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    return 0


def settings_of(args: argparse.Namespace) -> ServerSettings:
    """The settings that the options name. StructgenError for keys that cannot be used."""
    limits = Limits(tools=args.tools, **{name: getattr(args, name) for name in _LIMITS})
    everybody = Tenant("everybody", limits)
    given = args.api_key or [key for key in [os.environ.get("STRUCTGEN_API_KEY")] if key]
    keys = {key: dataclasses.replace(everybody, name=f"key {i}") for i, key in enumerate(given, 1)}
    if args.keys is not None:
        keys |= read_keys(args.keys, limits)
    if not keys and args.host not in ("127.0.0.1", "localhost", "::1"):
        raise StructgenError(
            f"the address {args.host} can be reached by others, and there is no key",
            location="--host",
            hint="give --api-key, or serve on 127.0.0.1",
        )
    return ServerSettings(
        model_name=args.name or args.model,
        keys=keys,
        everybody=everybody,
        rows=args.rows,
        compilers=args.compilers,
        call_format=args.call_format,
        reasoning=None if args.reasoning is None else tuple(args.reasoning),
    )
