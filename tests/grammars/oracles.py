"""Other people's parsers for the languages of the shipped grammars, to compare with.

Each oracle is a function from texts to bool. Where it reads more or less than the grammar's
standard, it says so and makes up for it.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import sqlite3
import tokenize
import warnings
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

import pytest

Oracle = Callable[[str], bool]


def _library(name: str) -> Any:
    """A library that only these tests need."""
    return pytest.importorskip(name, reason=f"{name} is not installed: make test installs it")


def _parses(parse: Callable[[], object], *errors: type[Exception]) -> bool:
    try:
        parse()
    except errors:
        return False
    return True


def is_json(text: str) -> bool:
    """By `json`, which also takes NaN and infinities unless told."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return _parses(lambda: json.loads(text, parse_constant=refuse), ValueError)


def is_arithmetic(text: str) -> bool:
    """By `ast`, cut down to its arithmetic."""
    if not re.fullmatch(r"[-+*/%() \t0-9.eE]*", text):
        return False
    try:
        tree = ast.parse(text.strip(" \t"), mode="eval")
    except SyntaxError:
        return False
    refused = (ast.FloorDiv, ast.Call, ast.Tuple, ast.Starred, ast.Attribute, ast.Name)
    numbers = re.findall(r"[0-9]+\.(?![0-9])", text)
    return not numbers and not any(isinstance(node, refused) for node in ast.walk(tree))


def is_csv(text: str) -> bool:
    """By `csv`, which also takes bare quotes and controls; both are looked for in what it read."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, lineterminator="\r\n"))
    except csv.Error:
        return False
    quoted = re.sub(r'(?<![^,\r\n])"([^"]|"")*"(?![^,\r\n])', "", text)
    bare = re.sub(r"\r\n", "", quoted)
    inside = "".join(field for row in rows for field in row)
    return not re.search(r'["\x00-\x1f\x7f]', bare) and not re.search(
        r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", inside
    )


def is_regex(text: str) -> bool:
    """By Python's `re`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return _parses(lambda: re.compile(text), re.error, OverflowError)


def is_graphql(text: str) -> bool:
    """By graphql-core."""
    graphql = _library("graphql")
    return _parses(lambda: graphql.parse(text, no_location=True), graphql.GraphQLSyntaxError)


def is_html(text: str) -> bool:
    """By expat for XML and by html5lib for HTML."""
    html5lib = _library("html5lib")
    parser = expat.ParserCreate()
    if not _parses(lambda: parser.Parse(f"<div>{text}</div>", True), expat.ExpatError):
        return False
    strict = html5lib.HTMLParser(strict=True)
    return _parses(lambda: strict.parseFragment(text), html5lib.html5parser.ParseError)


def is_sql(text: str) -> bool:
    """By SQLite, which prepares the query, and by sqlglot. Missing tables are not its syntax.

    sqlglot takes what follows `* EXCEPT` for columns to leave out, so that reads `* UNION` here.
    """
    sqlglot = _library("sqlglot")
    text = re.sub(r"(?i)\*\s*(--[^\n]*\n\s*)*except\b", "* union", text)
    try:
        statements = sqlglot.parse(text, read="sqlite")
        if sum(1 for s in statements if s and not isinstance(s, sqlglot.exp.Semicolon)) != 1:
            return False
    except sqlglot.errors.SqlglotError:
        return False
    with sqlite3.connect(":memory:") as database:
        try:
            database.execute(f"EXPLAIN {text}")
        except (sqlite3.Error, sqlite3.Warning) as error:
            return not re.search(
                "syntax error|incomplete|unrecognized|one statement|should come", str(error)
            )
    return True


def is_c(text: str) -> bool:
    """By pycparser, which reads what the preprocessor leaves: comments are blanks, CR LF is LF."""
    c_parser = _library("pycparser.c_parser")
    pieces = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/"
    bare = re.sub(
        pieces,
        lambda m: " " if m[0][0] == "/" else m[0],
        text.replace("\r\n", "\n"),
        flags=re.DOTALL,
    )
    return bool(bare.strip()) and _parses(
        lambda: c_parser.CParser().parse(bare), c_parser.ParseError
    )


def is_javascript(text: str) -> bool:
    """By esprima, in parentheses; in brackets too, lest it close them and open others."""
    esprima = _library("esprima")
    return all(
        _parses(lambda t=f"{a}{text}\n{b}": esprima.parseScript(t), esprima.Error)  # type: ignore[misc]
        for a, b in ("()", "[]")
    )


def is_lark(text: str) -> bool:
    """By the parser with which Lark reads grammars."""
    from lark.exceptions import UnexpectedInput
    from lark.load_grammar import _get_parser

    reader = _get_parser()  # type: ignore[no-untyped-call]

    return _parses(lambda: reader.parse(f"{text}\n"), UnexpectedInput)


def is_python(text: str) -> bool:
    """By `ast`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        warnings.simplefilter("error", SyntaxWarning)
        return _parses(lambda: ast.parse(text), SyntaxError)


def is_python_lines(text: str) -> bool:
    """By `ast`, and `tokenize` to see that nothing is indented."""
    if not is_python(text):
        return False
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return all(token.type != tokenize.INDENT for token in tokens)


def is_smiles(text: str) -> bool:
    """By partialsmiles, after rewriting what it does not know into what it does.

    It knows no classes of atoms, no chirality but @ and @@, no dot in a branch, no isotope 0, and
    would have ":" and parentheses at the end left out. Unlikely valences are well written to us.
    """
    smiles = _library("partialsmiles")
    text = re.sub(r"\[([^\[\]]*?):[0-9]{1,3}\]", r"[\1]", text)
    text = re.sub(r"@(TH|AL|SP|TB|OH)[0-9]{1,2}(?=[^\[\]]*\])", "@", text)
    text = re.sub(r"\[0{1,3}(?=[A-Za-z*])", "[1", text)
    text = re.sub(r"(?<=[A-Za-z0-9*\](])\.(?=[A-Za-z*\[])", "", text)
    try:
        smiles.ParseSmiles(text, partial=False, rulesToIgnore=64 | 4)
    except (smiles.ValenceError, smiles.KekulizationFailure):
        return True
    except (smiles.SMILESSyntaxError, IndexError):  # the latter where a text ends in "%1"
        return False
    return True


def is_chess(text: str) -> bool:
    """By python-chess, which says what a move looks like; and what else stands in a game."""
    chess = _library("chess")
    words = re.sub(r"[1-9][0-9]{0,2}\.(\.\.)?", " ", text).split()
    if not words or words.pop() not in ("1-0", "0-1", "1/2-1/2", "*"):
        return False
    moves = [word for word in words if not re.fullmatch(r"\$[0-9]+", word)]
    return all(chess.SAN_REGEX.match(move) or move.strip("+#") in CASTLING for move in moves)


CASTLING = ("O-O", "O-O-O")

ORACLES: dict[str, Oracle] = {
    "arithmetic": is_arithmetic,
    "c": is_c,
    "chess": is_chess,
    "csv": is_csv,
    "graphql": is_graphql,
    "html": is_html,
    "javascript": is_javascript,
    "json": is_json,
    "lark": is_lark,
    "python": is_python,
    "python_lines": is_python_lines,
    "regex": is_regex,
    "smiles": is_smiles,
    "sql": is_sql,
}
