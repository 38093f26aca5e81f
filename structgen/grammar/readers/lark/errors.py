"""Turns errors that Lark raises over a grammar into a `GrammarError` that says where and what.

Lark gives line and column of what its parser stumbles over; its other complaints only name rules,
which are looked up in the text.
"""

from __future__ import annotations

import re

from lark import GrammarError as LarkGrammarError
from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from structgen.errors import GrammarError
from structgen.grammar.ir import Place
from structgen.grammar.readers.lark.text import LarkText

_WORDS = {
    "_COLON": "':'", "_COMMA": "','", "_OR": "'|'", "_NL": "the end of the line",
    "_NL_OR": "a line that starts with '|'", "_DOT": "'.'", "_DOTDOT": "'..'", "_TO": "'->'",
    "_LPAR": "'('", "_RPAR": "')'", "_LBRA": "'['", "_RBRA": "']'", "_LBRACE": "'{'",
    "_RBRACE": "'}'", "TILDE": "'~'", "OP": "'?', '*' or '+'", "NUMBER": "a number",
    "RULE": "a rule's name", "TERMINAL": "a terminal's name", "STRING": "a string",
    "REGEXP": "a pattern", "RULE_MODIFIERS": "'!' or '?' before a rule", "_IGNORE": "%ignore",
    "_IMPORT": "%import", "_DECLARE": "%declare", "_OVERRIDE": "%override", "_EXTEND": "%extend",
    "$END": "the end",
}  # fmt: skip
_OPENED = {'"': "string", "/": "pattern"}
_SHOWN = 8  # expected pieces named at most
_USED = re.compile(r"'(?P<name>[^']+)' used but not defined \(in \w+ (?P<rule>[^)]+)\)")
_INSIDE = re.compile(r"NonTerminal\('(?P<name>\w+)'.*\) in (?P<rule>\w+)\)")
_IGNORED = re.compile(r"(?P<names>\{.*\}) were marked to ignore but were not defined")
_TWICE = re.compile(r"'(?P<name>[^']+)' defined more than once")


def in_own_words(
    error: LarkGrammarError | UnexpectedInput, text: LarkText, where: LarkText
) -> GrammarError:
    """The error to raise. text: the grammar; where: the text that Lark was parsing last."""
    stumbled = error if isinstance(error, UnexpectedInput) else error.__context__
    if len(error.args) == 2 and isinstance(error.args[1], SyntaxError):  # of an escape
        literal = str(error.args[0])
        found = (match for match in text.tokens() if literal in match[0])
        match = next(found, None)
        return text.error(
            f"{literal!r} has an escape that is none",
            text.place(match.start() if match is not None else 0),
            rule=text.rule_at(match.start()) if match is not None else "",
            expected=r"\xNN, \uNNNN or \UNNNNNNNN with hexadecimal digits",
        )
    if isinstance(stumbled, UnexpectedInput):
        return _syntax(str(error).split(", at line")[0], stumbled, where)
    problem, place, rule = _told(str(error).strip().split("\n")[0], text)
    if place is None:
        return GrammarError(f"the grammar is wrong: {problem}", rule=rule)
    return text.error(problem, place, rule=rule)


def _syntax(message: str, stumbled: UnexpectedInput, where: LarkText) -> GrammarError:
    """The error for what Lark's parser cannot read."""
    line, column = stumbled.line, stumbled.column
    found = isinstance(line, int) and line > 0 and isinstance(column, int) and column > 0
    place = where.as_written(line, column) if found else where.place(len(where.text))
    expected: set[str] = set()
    if isinstance(stumbled, UnexpectedCharacters):
        problem = f"the character {stumbled.char!r} has no meaning here"
        if stumbled.char in _OPENED:
            problem = f"this {_OPENED[stumbled.char]} has no end"
        else:
            expected = set(stumbled.allowed or ())
    else:
        token = str(getattr(stumbled, "token", "")).strip()
        problem = f"{token!r} does not fit here" if token else "the line ends too soon"
        if isinstance(stumbled, UnexpectedToken):
            expected = set(stumbled.accepts or stumbled.expected or ())
    if not message.startswith("Unexpected"):
        problem = message[:1].lower() + message[1:]
    words = sorted(_WORDS.get(name, name) for name in expected)
    return where.error(
        problem,
        place,
        rule=where.rule_at(where.offset(place.line, place.column)),
        expected=" or ".join(words[:_SHOWN]),
    )


def visit_in_own_words(error: VisitError, text: LarkText) -> GrammarError:
    """The error for what Lark stumbles over when it looks at a literal: the ends of a range."""
    place = Place(1, 1)
    for token in getattr(error.obj, "children", ()):
        at = getattr(token, "start_pos", None)
        if isinstance(at, int):
            before = text.lark[:at].split("\n")
            place = text.as_written(len(before), len(before[-1]) + 1)
            break
    is_range = isinstance(error.orig_exc, AssertionError)
    return text.error(
        "this is no range of characters" if is_range else f"{error.orig_exc} in a pattern",
        place,
        rule=text.rule_at(text.offset(place.line, place.column)),
        expected='one character at each end, as "a".."z"' if is_range else "",
    )


def _told(message: str, text: LarkText) -> tuple[str, Place | None, str]:
    """What is wrong, where it is and in which rule, from a message of Lark's."""
    inside, ignored = _INSIDE.search(message), _IGNORED.search(message)
    if inside is not None and inside["rule"].startswith("__IGNORE"):
        name = inside["name"]
        return f"the rule {name!r} cannot be ignored, only terminals can", text.ignored_at(name), ""
    if inside is not None:
        name, rule = inside["name"], text.written.get(inside["rule"], inside["rule"])
        name = text.written.get(name, name)
        return f"the terminal {rule!r} uses the rule {name!r}", text.used(name, rule), rule
    if ignored is not None:
        name = min(re.findall(r"\w+", ignored["names"]))
        return f"the ignored terminal {name!r} is not defined", text.ignored_at(name), ""
    return message[:1].lower() + message[1:], *_named(message, text)


def _named(message: str, text: LarkText) -> tuple[Place | None, str]:
    """The place of what a message names, and the rule it is in."""
    used = _USED.search(message)
    if used is not None:
        return text.used(used["name"], used["rule"]), used["rule"]
    twice = _TWICE.search(message)
    if twice is not None:
        return text.defined(twice["name"], 1), ""
    for name in re.findall(r"[_A-Za-z]\w*", message):
        place = text.defined(name)
        if place is not None:
            return place, name
    for named in re.findall(r'"[^"]*"i?|/.+/\w*|[_A-Za-z]\w*', message):
        place = text.used(named)
        if place is not None:
            return place, text.rule_at(text.offset(place.line, place.column))
    return None, ""
