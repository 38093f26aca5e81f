"""The text of a Lark grammar, and where in it things are: tokens, definitions, uses."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from structgen.errors import BudgetError
from structgen.grammar.ir import Place
from structgen.grammar.readers.sources import Source

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|\#[^\n]*)
      |(?P<string>"(?:\\"|\\\\|[^"\n])*?"i?)
      |(?P<regexp>/(?:\\/|\\\\|[^/])*?/[imslux]*)
      |(?P<json>%(?:json|regex|llguidance|grammar_options)\b)
      |(?P<lark>%lark\b)
      |(?P<condition>%if\b)
      |(?P<reference>@[A-Za-z0-9_-]+)
      |(?P<count>\{[ \t]*(?:(?P<low>\d+)[ \t]*(?P<open>,[ \t]*)?|,[ \t]*(?=\d))
          (?P<high>\d*)[ \t]*\})
      |(?P<token>!?<[^<>\s"]+>)
      |(?P<name>_?[A-Za-z][_A-Za-z0-9]*(?:-[_A-Za-z0-9]+)*)
      |(?P<parameter>::)
      |(?P<other>\S)""",
    re.VERBOSE,
)
_DEFINITION = re.compile(
    r"""^[ \t]*(?:%(?:override|extend)[ \t]+)?(?P<whole>[!?]*(?P<name>_?[A-Za-z][\w-]*))
        (?:[ \t]*(?P<parameter>::[ \t]*_))?(?:[ \t]*\{[^}\n]*\})?(?:[ \t]*\.[ \t]*[+-]?\d+)?
        (?:[ \t]*(?P<options>\[(?:"(?:\\.|[^"\\\n])*"|/(?:\\.|[^/\\\n])+/|[^]"/\[])*\]))?
        [ \t]*:(?!:)""",
    re.MULTILINE | re.VERBOSE,
)
_IGNORED = re.compile(r"^[ \t]*%ignore[ \t]+(.*(?:\n[ \t]*\|.*)*)", re.MULTILINE)
MOST_INSIDE = 30  # grammars in one another
_TERMINAL_SIZE = 20_000  # terminals inside one another that may be written out


@dataclass(frozen=True)
class Definition:
    """Where a rule or terminal is defined: offsets of what stands before its colon.

    whole: of its name with the modifiers before it. parameter, options: of `::_` and of the
    brackets with options; empty where there are none.
    """

    name: str
    start: int
    whole: tuple[int, int]
    parameter: tuple[int, int]
    options: tuple[int, int]

    @property
    def is_rule(self) -> bool:
        """Whether it is a rule, not a terminal."""
        return not self.name.isupper()


class LarkSource(Source):
    """A Lark grammar and where in it things are. blocks: from where to where `%lark {...}` stand.

    definitions: by the offset of the name.
    """

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(text, name)
        self._definitions: list[tuple[int, str]] = []
        self.blocks = self._found_blocks() if "%lark" in text else {}
        found = [m for m in _DEFINITION.finditer(text) if not self._is_inside(m.start("name"))]
        self.definitions = {
            m.start("name"): Definition(
                m["name"], m.start("name"), m.span("whole"), m.span("parameter"), m.span("options")
            )
            for m in found
        }
        self._definitions = [(start, one.name) for start, one in self.definitions.items()]

    def _is_inside(self, offset: int) -> bool:
        return any(start <= offset < end for start, end in self.blocks.items())

    def _found_blocks(self) -> dict[int, int]:
        """Where each `%lark {...}` ends that is in no other, by where it begins."""
        found: dict[int, int] = {}
        depth, start, end = 0, -1, 0
        inside: list[int] = []  # how deep each `%lark` stands that is open
        for match in self.tokens():
            if match.start() < end:
                continue
            if match.lastgroup == "json" and depth:
                end = self.json_after(match)[1]
            elif match.lastgroup == "lark":
                start = start if depth else match.start()
                inside = [*(one for one in inside if one < depth), depth]
                if len(inside) > MOST_INSIDE:
                    raise BudgetError(
                        f"more than {MOST_INSIDE} grammars stand in one another",
                        location=str(self.place(match.start())),
                        hint="give them names: @name",
                    )
            elif match[0] == "{" and (depth or start >= 0):
                depth += 1
            elif match[0] == "}" and depth:
                depth -= 1
                if not depth:
                    found[start], start = match.end(), -1
            elif not depth and start >= 0:
                break
        if start >= 0:
            raise self.error(
                "this '%lark' has no text in braces", self.place(start), expected="{ start: ... }"
            )
        return found

    def json_after(self, match: re.Match[str]) -> tuple[Any, int]:
        """The JSON value behind a directive, and its end."""
        start = match.end()
        while self.text[start : start + 1].isspace():
            start += 1
        try:
            return json.JSONDecoder().raw_decode(self.text, start)
        except RecursionError as error:
            raise BudgetError(
                f"what stands behind {match[0]!r} is nested too deeply",
                location=str(self.place(match.start())),
            ) from error
        except json.JSONDecodeError as error:
            what = "schema" if match[0] == "%json" else "value"
            raise self.error(
                f"the {what} after {match[0]!r} is not JSON: {error.msg}",
                self.place(error.pos),
                rule=self.rule_at(match.start()),
                expected="a JSON Schema" if what == "schema" else "a JSON object",
            ) from error

    def tokens(self) -> Iterator[re.Match[str]]:
        """Comments, strings, patterns, names and the rest, in order."""
        return _TOKEN.finditer(self.text)

    @cached_property
    def words(self) -> list[re.Match[str]]:
        """All tokens but comments."""
        return [match for match in self.tokens() if match.lastgroup != "comment"]

    def _words_in_rules(self) -> Iterator[tuple[str, re.Match[str]]]:
        """The same, each with the rule or terminal whose definition it is in, "" for none."""
        rule, last = "", (len(self.text) + 1, "")
        following = iter([*self._definitions, last])
        start, name = next(following)
        for match in self.words:
            while start <= match.start():
                rule = name
                start, name = next(following)
            yield rule, match

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
        start = self._uses.get(text)
        if within:
            within = within.split("{", maxsplit=1)[0]
            found = (
                m.start() for rule, m in self._words_in_rules() if rule == within and m[0] == text
            )
            start = next((one for one in found if one not in self.definitions), start)
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
    def _uses(self) -> dict[str, int]:
        """The first place of every token."""
        heads, found = self.definitions, reversed(self.words)
        return {match[0]: match.start() for match in found if match.start() not in heads}

    def check_sizes(self) -> None:
        """Raise BudgetError if some terminal is too large once those it names are written out.

        Lark writes them out without counting, and would take forever.
        """
        inside: dict[str, list[str]] = {name: [] for _, name in self._definitions if name.isupper()}
        heads, starts = self.definitions, [start for start, _ in self._definitions]
        for match in self.words:
            if match[0] in inside and match.start() not in heads:
                at = bisect_right(starts, match.start())
                rule = self._definitions[at - 1][1] if at else ""
                if rule in inside:
                    inside[rule].append(match[0])
        sizes: dict[str, int] = {}
        for root in inside:
            stack = [root]
            while stack:
                name = stack[-1]
                if name not in sizes:
                    sizes[name] = 0  # a terminal inside itself is Lark's to refuse
                    missing = [other for other in inside[name] if other not in sizes]
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
