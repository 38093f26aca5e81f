"""The options that several commands share."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

REGEX = "--regex"


def add_common(parser: argparse.ArgumentParser) -> None:
    """`--debug`, which may stand after the command as well as before it."""
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )


def add_schema(
    parser: argparse.ArgumentParser,
    *,
    order: str,
    whitespace: str,
    escapes: str = "auto",
    many: bool = False,
    named: bool = False,
) -> None:
    """SPEC and how it is read; the others are the defaults of this command.

    With `many` it may be given several times, and may also be a folder or a pattern. With `named`
    it is an option, `--spec`.
    """
    what = (
        "a JSON Schema as a file (JSON or YAML; FILE#/pointer for a part of it), as text ('{...}') "
        "or - for stdin; module:Model (a Pydantic model or another type); "
        "a grammar file (.lark, .gbnf, .ebnf), or the name of a shipped grammar (sql, python, ...)"
    )
    if many:
        what = f"{what}; or a folder with such files, or a pattern of paths (in quotes)"
        parser.add_argument("specs", metavar="SPEC", nargs="+", help=what)
    elif named:
        parser.add_argument("--spec", dest="schema", metavar="SPEC", required=True, help=what)
    else:
        parser.add_argument("schema", metavar="SPEC", help=what)
    parser.add_argument(
        REGEX, action="store_true", help="SPEC is a pattern, as in: --regex '[0-9]{4}'"
    )
    parser.add_argument(
        "--tool-format",
        metavar="NAME",
        help="SPEC is a JSON list of tool definitions; the text calls them in this model's way "
        "(hermes, llama3_json, mistral_v3, ...)",
    )
    grammar = parser.add_argument_group("how a grammar is read")
    grammar.add_argument("--start", metavar="RULE", help="the rule to start from")
    grammar.add_argument(
        "--lexing",
        choices=("free", "longest", "viable"),
        help="how texts are cut: as by Lark's Earley parser, as by its LALR parser with the "
        "contextual lexer, or in that order among what can come next (default: free)",
    )
    grammar.add_argument(
        "--grammar",
        metavar="NAME=SPEC",
        action="append",
        help="what @NAME is in a Lark grammar: another spec; may be given several times",
    )
    _add_reading(parser, order, whitespace, escapes)


def _add_reading(
    parser: argparse.ArgumentParser, order: str, whitespace: str, escapes: str
) -> None:
    """How a schema is read; with the defaults of the command."""
    group = parser.add_argument_group("how the schema is read")
    group.add_argument(
        "--property-order",
        choices=("declared", "any"),
        default=order,
        help=f"order of an object's keys (default: {order})",
    )
    group.add_argument(
        "--whitespace",
        metavar="bounded|compact|indented|any|REGEX",
        default=whitespace,
        help=f"white space between the parts of JSON (default: {whitespace})",
    )
    group.add_argument(
        "--escapes",
        choices=("needed", "any"),
        default=escapes,
        help="which escapes strings may have: those that JSON asks for, each in its usual form, or "
        "any (default: "
        + ("any)" if escapes == "any" else "needed; any with any order and any white space)"),
    )
    group.add_argument(
        "--formats",
        choices=("assert", "annotate"),
        default="assert",
        help="whether `format` is enforced where it is known (default: assert)",
    )
    group.add_argument(
        "--patterns",
        choices=("auto", "ecma", "re2", "java", "python"),
        default="auto",
        help="the dialect of `pattern` (default: ECMA-262, and another where it is none)",
    )
    group.add_argument(
        "--closed",
        action="store_true",
        help="objects have no keys but those that the schema names, where it leaves that open",
    )
    add_documents(group)
    group.add_argument(
        "--strict", action="store_true", help="a misspelt keyword is an error, and no warning"
    )


def add_documents(parser: Any) -> None:
    """`--documents`, of an argparse parser or a group of one."""
    parser.add_argument(
        "--documents",
        metavar="FOLDER|FILE",
        action="append",
        help="schemas that references may lead to, by their paths in the folder or their $id; may "
        "be given several times (default: none, and nothing is fetched)",
    )


def schema_options(args: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments for `structgen.JsonSchema`, and those for other specs that were given."""
    given: dict[str, Any] = {
        "regex": args.regex or None,
        "closed": args.closed or None,
        "documents": args.documents,
        "strict": args.strict or None,
        "start": args.start,
        "lexing": args.lexing,
        "grammar": args.grammar,
        "tool_format": args.tool_format,
    }
    return {
        "property_order": args.property_order,
        "whitespace": args.whitespace,
        "escapes": args.escapes,
        "patterns": args.patterns,
        "formats": args.formats,
        **{name: value for name, value in given.items() if value is not None},
    }


def add_tokenizer(parser: argparse.ArgumentParser) -> None:
    """`--tokenizer` and what its file does not say by itself."""
    group = parser.add_argument_group("tokenizer")
    group.add_argument(
        "--tokenizer",
        metavar="T",
        help="a transformers tokenizer (folder or name), a .tiktoken file or a SentencePiece "
        ".model file (default: the shipped demo model's)",
    )
    group.add_argument(
        "--special",
        metavar="NAME=ID",
        type=_special,
        action="append",
        default=[],
        help="a special token of a .tiktoken file; may be given several times",
    )
    group.add_argument(
        "--eos",
        metavar="ID|NAME",
        type=_id_or_name,
        action="append",
        help="an end token, by name only for a .tiktoken file; may be given several times",
    )
    group.add_argument(
        "--size",
        metavar="N",
        type=integer(1),
        help="number of logits of the model, if it has more than the tokenizer has tokens",
    )


def integer(least: int) -> Callable[[str], int]:
    """An argparse type: integers of at least `least`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {least}")
        return value

    return parse


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """An argparse type: finite numbers from `least` to `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and math.isfinite(value)):
            upper = "" if most == math.inf else f" and at most {most:g}"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number of at least {least:g}{upper}"
            )
        return value

    return parse


def add_command(
    commands: Any, name: str, summary: str, run: Callable[..., int]
) -> argparse.ArgumentParser:
    """The parser of a new command; `run(args, terminal)` does it and returns the exit status."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    parser.set_defaults(run=run, parser=parser)
    add_common(parser)
    return parser


def _special(text: str) -> tuple[str, int]:
    name, equals, number_text = text.rpartition("=")
    if not (name and equals and number_text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=ID, as in '<|endoftext|>=50256'")
    return name, int(number_text)


def _id_or_name(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
