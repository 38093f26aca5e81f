"""The text of a Lark grammar, with what Lark does not know: nested JSON Schemas, counts in braces.

`%json {...}` stands for a JSON text of a schema. Each is replaced by the name of a declared
terminal and its further lines by continuations, so that all else stays in its line and column.
`{m}`, `{m,n}`, `{m,}` and `{,n}` behind a piece are what `~m..n` is, as llguidance and XGrammar
have it; braces around names are templates.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from structgen.errors import BudgetError
from structgen.grammar.embedded.tokens import Token, token_of
from structgen.grammar.ir import Place
from structgen.grammar.readers.sources import Source

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|\#[^\n]*)
      |(?P<string>"(?:\\"|\\\\|[^"\n])*?"i?)
      |(?P<regexp>/(?:\\/|\\\\|[^/])*?/[imslux]*)
      |(?P<json>%json\b)
      |(?P<count>\{[ \t]*(?:(?P<low>\d+)[ \t]*(?P<open>,[ \t]*)?|,[ \t]*(?=\d))
          (?P<high>\d*)[ \t]*\})
      |(?P<token>!?<[^<>\s"]+>)
      |(?P<name>_?[A-Za-z][_A-Za-z0-9]*)
      |(?P<other>\S)""",
    re.VERBOSE,
)
_DEFINITION = re.compile(
    r"^[ \t]*(?:%(?:override|extend)[ \t]+)?[!?]*(_?[A-Za-z]\w*)"
    r"[ \t]*(?:\{[^}\n]*\})?[ \t]*(?:\.[ \t]*[+-]?\d+)?[ \t]*:",
    re.MULTILINE,
)
_IGNORED = re.compile(r"^[ \t]*%ignore[ \t]+(.*(?:\n[ \t]*\|.*)*)", re.MULTILINE)

_PLAIN = re.compile(r'"[^"\\\n]+"')
_BEFORE_LISTS = (":", "|", "(", "[")
LONG_LIST = 16  # strings

OPEN = 2_000_000_000  # the greater count of `{m,}`, for which Lark has no word
_TERMINAL_SIZE = 20_000  # terminals inside one another that may be written out


class LarkText(Source):
    """A Lark grammar and where in it things are.

    lark: the text for Lark, without nested schemas. schemas: these, by the terminal in their place.
    places: where they stand. lists: long lists of strings, by the terminal in their place;
    tokens_named: so tokens of the vocabulary.
    """

    def __init__(self, text: str, name: str = "", *, takes_lists: bool = False) -> None:
        """takes_lists: whether long lists of strings in rules are taken out, which Lark reads
        slowly; where terminals have no order, they mean the same as one terminal.
        """
        super().__init__(text, name)
        self._takes_lists = takes_lists
        self.lists: dict[str, list[str]] = {}
        self.tokens_named: dict[str, Token] = {}
        self._definitions = [(m.start(1), m[1]) for m in _DEFINITION.finditer(text)]
        self.schemas: dict[str, Any] = {}
        self.places: dict[str, Place] = {}
        self._moved: list[tuple[int, int, int]] = []  # line, column of Lark's, how far it is off
        self.lark = self._for_lark() if "{" in text or "<" in text or takes_lists else text

    def tokens(self) -> Iterator[re.Match[str]]:
        """Comments, strings, patterns, names and the rest, in order."""
        return _TOKEN.finditer(self.text)

    def rule_at(self, offset: int) -> str:
        """The rule or terminal whose definition an offset is in, "" before the first."""
        index = bisect_right(self._definitions, offset, key=lambda definition: definition[0])
        return self._definitions[index - 1][1] if index else ""

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column."""
        if not 1 <= line <= len(self._starts):
            return len(self.text)
        return min(self._starts[line - 1] + max(column - 1, 0), len(self.text))

    def defined(self, name: str, time: int = 0) -> Place | None:
        """Where a rule or terminal is defined for the first time; with `time` 1 the second."""
        starts = self._starts_of.get(name.split("{", maxsplit=1)[0], ())
        return self.place(starts[time]) if time < len(starts) else None

    def used(self, text: str, within: str = "") -> Place | None:
        """Where a name, string or pattern is first written; within a definition if given."""
        start = self._uses.get((within.split("{", maxsplit=1)[0], text), self._uses.get(("", text)))
        return None if start is None else self.place(start)

    @cached_property
    def ignored(self) -> list[str]:
        """What each `%ignore` names, as written."""
        found = []
        for line in _IGNORED.finditer(self.text):
            words = _TOKEN.finditer(self.text, line.start(1), line.end(1))
            end = max((m.end() for m in words if m.lastgroup != "comment"), default=line.start(1))
            found.append(" ".join(self.text[line.start(1) : end].split("\n")))
        return found

    def ignored_at(self, name: str) -> Place | None:
        """Where a name is ignored."""
        for line in _IGNORED.finditer(self.text):
            for word in _TOKEN.finditer(self.text, line.start(1), line.end(1)):
                if word[0] == name:
                    return self.place(word.start())
        return None

    @cached_property
    def _starts_of(self) -> dict[str, list[int]]:
        """The offsets of the definitions of each name."""
        found: dict[str, list[int]] = {}
        for start, name in self._definitions:
            found.setdefault(name, []).append(start)
        return found

    @cached_property
    def _uses(self) -> dict[tuple[str, str], int]:
        """The first place of every token, in each definition and anywhere ("")."""
        found: dict[tuple[str, str], int] = {}
        heads = {start for start, _ in self._definitions}
        for match in self.tokens():
            start = match.start()
            if match.lastgroup != "comment" and start not in heads:
                found.setdefault((self.rule_at(start), match[0]), start)
                found.setdefault(("", match[0]), start)
        return found

    def check_sizes(self) -> None:
        """Raise BudgetError if some terminal is too large once those it names are written out.

        Lark writes them out without counting, and would take forever.
        """
        inside: dict[str, list[str]] = {name: [] for _, name in self._definitions}
        heads = {start for start, _ in self._definitions}
        for match in self.tokens():
            if match.lastgroup == "name" and match[0] in inside and match.start() not in heads:
                rule = self.rule_at(match.start())
                if rule.isupper() and match[0].isupper():
                    inside[rule].append(match[0])
        sizes: dict[str, int] = {}
        for root in inside:
            stack = [root]
            while stack:
                name = stack[-1]
                missing = [other for other in inside[name] if other not in sizes]
                if missing and name not in sizes:
                    sizes[name] = 0  # a terminal inside itself is Lark's to refuse
                    stack += missing
                    continue
                sizes[name] = 1 + sum(sizes[other] for other in inside[name])
                stack.pop()
                if sizes[name] > _TERMINAL_SIZE:
                    raise BudgetError(
                        f"the terminal {name!r} names more than {_TERMINAL_SIZE} others in all",
                        location=str(self.defined(name) or ""),
                        hint="make it a rule",
                    )

    def as_written(self, line: int, column: int) -> Place:
        """The place in the text of a line and column in `lark`."""
        off = max((o for at, begin, o in self._moved if at == line and begin <= column), default=0)
        return Place(line, column - off, self.name)

    def _for_lark(self) -> str:
        """The text with terminals in place of nested schemas, and counts as Lark writes them."""
        pieces: list[str] = []
        at = width = 0  # width: characters that Lark's last line has so far
        for start, end, piece in self._replaced():
            for part in (self.text[at:start], piece):
                _, broken, last = part.rpartition("\n")
                width = len(last) if broken else width + len(last)
                pieces.append(part)
            at, place = end, self.place(end)
            off = width + 1 - place.column
            if off:
                self._moved.append((place.line, width + 1, off))
        pieces.append(self.text[at:])
        names = [*self.schemas, *self.lists, *self.tokens_named]
        if names:
            pieces += ["\n%declare ", " ".join(names), "\n"]
        return "".join(pieces)

    def _replaced(self) -> Iterator[tuple[int, int, str]]:
        """What Lark does not read: from where to where, and what stands for it."""
        end = 0
        tokens = [match for match in self.tokens() if match.lastgroup != "comment"]
        heads = {start for start, _ in self._definitions}
        is_rule = False
        for i, match in enumerate(tokens):
            start = match.start()
            if start in heads:
                is_rule = match[0].upper() != match[0]
            elif match[0] == "%":
                is_rule = False
            if start < end:
                continue
            if match.lastgroup == "json":
                nested = self._nested(match)
                end, name = nested.end, self._free_name()
                self.schemas[name], self.places[name] = nested.schema, self.place(start)
                yield start, end, self._in_place(name, start, end)
            elif match.lastgroup == "token" and (token := token_of(match[0])) is not None:
                name = self._free_name()
                self.tokens_named[name], self.places[name] = token, self.place(start)
                yield start, match.end(), name.ljust(len(match[0]))
            elif match.lastgroup == "count":
                piece = f"~{match['low'] or 0}"
                if match["open"] or not match["low"]:
                    piece += f"..{match['high'] or OPEN}"
                yield start, match.end(), piece.ljust(len(match[0]))
            elif is_rule and self._takes_lists and tokens[i - 1][0] in _BEFORE_LISTS:
                listed = self._listed(tokens, i, heads)
                if len(listed) >= LONG_LIST:
                    end, name = listed[-1].end(), self._free_name()
                    self.lists[name] = [one[0][1:-1] for one in listed]
                    yield start, end, self._in_place(name, start, end)

    def _listed(
        self, tokens: list[re.Match[str]], at: int, heads: Container[int]
    ) -> list[re.Match[str]]:
        """The strings, each an alternative by itself, that begin with a token."""
        found = []
        while at < len(tokens) and _PLAIN.fullmatch(tokens[at][0]):
            behind = tokens[at + 1] if at + 1 < len(tokens) else None
            goes_on = behind is not None and behind[0] == "|"
            if goes_on or behind is None or behind[0] in ")]%" or behind.start() in heads:
                found.append(tokens[at])
            if not goes_on:
                break
            at += 2
        return found

    def _in_place(self, name: str, start: int, end: int) -> str:
        """A name in place of a stretch of text, so that all behind stays in its line and column."""
        lines = self.text[start:end].split("\n")
        last = " " * (len(lines[-1]) - (0 if lines[1:] else len(name)))
        return name + " \\\n" * len(lines[1:]) + last

    def _free_name(self) -> str:
        count = len(self.schemas) + len(self.lists) + len(self.tokens_named)
        while (name := f"_J{count}") in self.text:
            count += 1
        return name

    def _nested(self, match: re.Match[str]) -> _Nested:
        """The schema behind a `%json`."""
        rule = self.rule_at(match.start())
        if not rule or rule.upper() == rule:
            raise self.error(
                "'%json' stands outside of rules" if not rule else "'%json' in a terminal",
                self.place(match.start()),
                rule=rule,
                expected="'%json {...}' in a rule",
                hint="terminals have no structure; move it into a rule",
            )
        start = _after_space(self.text, match.end())
        try:
            schema, end = json.JSONDecoder().raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            raise self.error(
                f"the schema after '%json' is not JSON: {error.msg}",
                self.place(error.pos),
                rule=rule,
                expected="a JSON Schema",
            ) from error
        return _Nested(end, schema)


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


class _Nested(NamedTuple):
    end: int
    schema: Any
