"""The grammars that are shipped with the package, and the examples beside them.

The files are data, `structgen.grammars`; `grammars/README.md` says what each covers.
"""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from structgen.errors import SpecError
from structgen.grammar.ir import Indentation
from structgen.grammar.specs import Lark

NAMES = (
    "arithmetic",
    "c",
    "chess",
    "csv",
    "graphql",
    "html",
    "javascript",
    "json",
    "lark",
    "python",
    "python_lines",
    "regex",
    "smiles",
    "sql",
)

_LAYOUTS = {
    "python": Indentation(
        newline="_NEWLINE",
        indent="_INDENT",
        dedent="_DEDENT",
        opens=("LPAR", "LSQB", "LBRACE"),
        closes=("RPAR", "RSQB", "RBRACE"),
    )
}

_FINALS = {"python": "_NEWLINE", "python_lines": "_NEWLINE"}  # see `Lark`

_FOLDER = "structgen.grammars"
_MARK = "%% "
_CRLF = ", lines end in CRLF"


class Examples(NamedTuple):
    """Texts by what they show: `accept` are texts of a grammar, `reject` only look like them."""

    accept: dict[str, str]
    reject: dict[str, str]


def shipped(name: str) -> Lark:
    """The spec of a shipped grammar: one of `NAMES`. Raises SpecError for any other name."""
    if name not in NAMES:
        raise SpecError(
            f"no grammar {name!r} is shipped",
            expected=", ".join(NAMES),
            hint="for a file of your own use structgen.Lark.from_file",
        )
    return Lark.from_file(
        str(files(_FOLDER) / f"{name}.lark"),
        lexing="viable",
        layout=_LAYOUTS.get(name),
        final=_FINALS.get(name, ""),
    )


def examples(name: str) -> Examples:
    """The examples of a shipped grammar.

    Each follows a line `%% accept: what it shows` or `%% reject: ...` and ends before the line
    break in front of the next such line; ", lines end in CRLF" before the colon says just that.
    """
    shipped(name)
    text = (files(_FOLDER) / f"{name}.examples.txt").read_text(encoding="utf-8")
    found = Examples({}, {})
    for block in f"\n{text}".removesuffix("\n").split(f"\n{_MARK}")[1:]:
        head, _, example = block.partition("\n")
        kind, _, shown = head.partition(": ")
        if kind.endswith(_CRLF):
            example = example.replace("\n", "\r\n")
        texts = found.accept if kind.removesuffix(_CRLF) == "accept" else found.reject
        texts[shown] = example
    return found
