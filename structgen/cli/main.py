"""Parse the command line and run a command; `structgen` and `python -m structgen` start here.

Exit status: 0 fine, 1 the text does not fit or the schema gets warnings, 2 bad input or a failed
run, 130 interrupted, 141 the reader of stdout went away.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from structgen.cli.options import REGEX, add_common
from structgen.cli.terminal import Terminal, describe, visible
from structgen.errors import GenerationError
from structgen.version import __version__

FINE = 0
BAD_INPUT = 2
INTERRUPTED = 130
NO_READER = 141

#: the commands, in the order of `--help`, and the modules that have them
COMMANDS = {
    "generate": "generate",
    "map": "map_rows",
    "check": "check",
    "explain": "explain",
    "check-schema": "check_schema",
    "align": "align",
    "export": "export",
    "compile": "compile_specs",
    "inspect": "inspect",
    "demo": "demo",
    "serve": "serve",
    "bench": "bench",
    "warmup": "setup",
    "version": "setup",
}

SIMILAR = 0.6  # difflib's ratio from which on two names are taken for the same word
_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)'")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<given>--?[\w-]+)")
_OPTION = re.compile(r"-[a-z]|--[a-z][a-z-]*")  # what stands behind `--regex` and is no pattern


class Parser(argparse.ArgumentParser):
    """argparse's parser, which says what was probably meant; commands get one, too."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave, with status 2."""
        super().error(message + self._meant(message))

    def _meant(self, message: str) -> str:
        choice, unknown = _CHOICE.search(message), _UNKNOWN.search(message)
        if unknown:
            names = [name for action in self._actions for name in action.option_strings]
            given = unknown["given"]
        elif choice:
            names = [str(n) for action in self._actions for n in action.choices or ()]
            given = choice["given"]
        else:
            return ""
        close = difflib.get_close_matches(given, names, 1, SIMILAR)
        return f"; did you mean {close[0]!r}?" if close else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv` defaults to the process's arguments."""
    _open_streams()
    terminal = Terminal()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        import argcomplete

        argcomplete.autocomplete(build_parser())
    args = argparse.Namespace()
    try:
        try:
            args = parse(sys.argv[1:] if argv is None else argv)
        except SystemExit as stop:  # argparse has said what is wrong, or shown the help
            return stop.code if isinstance(stop.code, int) else FINE
        with terminal.showing_warnings():
            status: int = args.run(args, terminal)
        terminal.clear()
        return status
    except KeyboardInterrupt:
        terminal.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return NO_READER
    except Exception as error:
        line = describe(error)
        if line is None:
            raise
        if isinstance(error, OSError):
            _drop_stdout()  # which may be what cannot be written
        if "debug" in args:
            terminal.say(traceback.format_exc())
        terminal.fail(line)
        if isinstance(error, GenerationError) and error.text:
            terminal.say(f"written until then: {visible(error.text)}")
        return BAD_INPUT


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; what is not known is an error that says what was probably meant."""
    args, unknown = build_parser(argv).parse_known_args(with_patterns(argv))
    if unknown:
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def with_patterns(argv: Sequence[str]) -> list[str]:
    """The arguments with `--regex=PATTERN` as two, and patterns that begin like options wrapped."""
    found: list[str] = []
    for before, argument in zip(("", *argv), argv, strict=False):
        if argument.startswith(f"{REGEX}="):
            found += [REGEX, _wrapped(argument.removeprefix(f"{REGEX}="))]
        elif before == REGEX and not _OPTION.fullmatch(argument):
            found.append(_wrapped(argument))
        else:
            found.append(argument)
    return found


def _wrapped(pattern: str) -> str:
    """The same pattern, in a form that argparse does not take for an option."""
    return f"(?:{pattern})" if pattern.startswith("-") else pattern


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the command line; of one command alone where the arguments begin with it.

    Modules of other commands are then not imported, which takes longer than many commands do.
    """
    parser = Parser(
        prog="structgen",
        description="Make a language model write text that is certain to fit a schema.",
        epilog="Exit status: 0 fine, 1 does not fit or has warnings, 2 bad input, 130 interrupted.",
    )
    add_common(parser)
    version = f"structgen {__version__}"
    parser.add_argument("--version", action="version", version=version, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    chosen = COMMANDS.get(argv[0]) if argv else None
    for module in dict.fromkeys(COMMANDS.values()) if chosen is None else (chosen,):
        importlib.import_module(f"structgen.cli.commands.{module}").add(commands)
    return parser


def _open_streams() -> None:
    """Let what is written to a stream that was closed before Python began go nowhere."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()


def _drop_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush does not fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
