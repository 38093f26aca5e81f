"""The text of a Lark grammar as Lark reads it, with names in place of what Lark does not know.

Such are nested schemas (`%json {...}`), nested grammars (`%lark {...}`, `@name`), tokens
(`<think>`), counts in braces, options of rules, rules with a parameter, and `&`, `~` and `%regex`
in terminals: what llguidance and XGrammar add to Lark's language. Each is replaced by the name of a
declared terminal, or of one that is defined at the end of the text, or by a *mark*, a string that
no grammar has; its further lines become continuations, so that all else stays in its line and
column. `{m}`, `{m,n}`, `{m,}` and `{,n}` behind a piece are what `~m..n` is; braces around names
are templates.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from structgen.errors import BudgetError
from structgen.grammar.embedded.tokens import Token, token_of
from structgen.grammar.ir import Place
from structgen.grammar.readers.lark.options import OptionError, Options, options_of
from structgen.grammar.readers.lark.parameters import (
    Change,
    Condition,
    ParameterError,
    ParameterReader,
)
from structgen.grammar.readers.lark.rust_regex import as_python
from structgen.grammar.readers.lark.source import Definition, LarkSource
from structgen.grammar.terminals.substrings import substrings
from structgen.regular.regex import Regex

AND: Literal["&"] = "&"
NOT: Literal["~"] = "~"
Mark = Literal["&", "~"] | Regex | Condition

_PLAIN = re.compile(r'"[^"\\\n]+"')
_BEFORE_LISTS = (":", "|", "(", "[")
LONG_LIST = 16  # strings
_WORD = re.compile(r"\s+|\w+|[^\w\s]+")
_EXTENDED = re.compile(r'[{<&~@]|::|""|\\[pP]|%if\b|%json\b|%regex\b|\w-\w|\w[ \t]*\[')

OPEN = 2_000_000_000  # the greater count of `{m,}`, for which Lark has no word


@dataclass(frozen=True)
class Lexeme:
    """A rule that is one lexeme, with an end of its own kind. marker: a terminal, "" for none."""

    rule: str
    options: Options
    marker: str


@dataclass(frozen=True)
class Instance:
    """A use of a rule with a parameter. depends: on the parameter of the rule that it is in."""

    rule: str
    change: Change
    depends: bool


@dataclass(frozen=True)
class GrammarOptions:
    """What `%llguidance {...}` says of all of a grammar.

    initial_skip: whether ignored text may stand before all else. skips_once: whether ignored text
    is one match of what is ignored, not any number.
    """

    initial_skip: bool = False
    skips_once: bool = False


class LarkText(LarkSource):
    """A Lark grammar, and what Lark is to read in its place.

    lark: the text for Lark. By the terminal that stands in its place: schemas, tokens_named, lists
    (of strings, long ones), grammars (nested, as text), references (to other grammars, by name),
    lexemes, instances (of rules with a parameter). places: where these stand. parametric: the rules
    with a parameter. captures: names to capture rules under. options: None, or those of the whole
    grammar. written: for a name or pattern of our own what messages call it.
    """

    def __init__(self, text: str, name: str = "", *, takes_lists: bool = False) -> None:
        """takes_lists: whether long lists of strings in rules are taken out, which Lark reads
        slowly; where terminals have no order, they mean the same as one terminal.

        Raises GrammarError.
        """
        super().__init__(text, name)
        self.schemas: dict[str, Any] = {}
        self.tokens_named: dict[str, Token] = {}
        self.lists: dict[str, list[str]] = {}
        self.grammars: dict[str, str] = {}
        self.references: dict[str, str] = {}
        self.lexemes: dict[str, Lexeme] = {}
        self.instances: dict[str, Instance] = {}
        self.parametric: set[str] = set()
        self.captures: dict[str, str] = {}
        self.options: GrammarOptions | None = None
        self.places: dict[str, Place] = {}
        self.written: dict[str, str] = {}
        self._marks: list[Mark] = []
        self._mark = "\ue000\ue001"
        while self._mark in text:
            self._mark += "\ue001"
        self._taken: set[str] = set()  # names
        self._more: list[str] = []  # definitions behind the text
        self._renamed: dict[str, str] = {}  # names with hyphens
        self._moved: list[tuple[int, int, int]] = []  # line, column of Lark's, how far it is off
        self._takes_lists = takes_lists and text.count("|") >= LONG_LIST - 1
        self.lark = self._for_lark() if self._takes_lists or _EXTENDED.search(text) else text

    @property
    def extends_terminals(self) -> bool:
        """Whether terminals are more than Lark's are, so that Lark makes no parser."""
        return bool(self._marks or self.lexemes or self.parametric)

    @property
    def has_marks(self) -> bool:
        """Whether something is a mark."""
        return bool(self._marks)

    def mark_of(self, value: str) -> Mark | None:
        """What a string is a mark of, None if it is none."""
        number = value.removeprefix(self._mark)
        is_mark = number != value and number.isdecimal() and int(number) < len(self._marks)
        return self._marks[int(number)] if is_mark else None

    def as_written(self, line: int, column: int) -> Place:
        """The place in the text of a line and column in `lark`."""
        off = max((o for at, begin, o in self._moved if at == line and begin <= column), default=0)
        return Place(line, column - off, self.name)

    def _for_lark(self) -> str:
        """The text with what Lark knows in place of what it does not."""
        tokens = self.words
        self._rename(tokens)
        pieces: list[str] = []
        at, written = 0, 0  # `written`: characters in the last line of the pieces
        for start, end, piece in self._replaced(tokens):
            for one in (self.text[at:start], piece):
                pieces.append(one)
                _, line_feed, last = one.rpartition("\n")
                written = len(last) + (0 if line_feed else written)
            at, place = end, self.place(end)
            off = written + 1 - place.column
            if off:
                self._moved.append((place.line, place.column + off, off))
        pieces.append(self.text[at:])
        pieces += [f"\n{line}" for line in self._more]
        names = [*self.schemas, *self.lists, *self.tokens_named, *self.grammars, *self.references]
        names += self.instances
        if names:
            pieces += ["\n%declare ", " ".join(names)]
        return "".join([*pieces, "\n"])

    def _rename(self, tokens: list[re.Match[str]]) -> None:
        """Give names with hyphens, which Lark does not have, others that are free."""
        self._taken = {match[0] for match in tokens if match.lastgroup == "name"}
        for name in sorted(name for name in self._taken if "-" in name):
            new = name.replace("-", "_")
            while new in self._taken:
                new += "_"
            self._taken.add(new)
            self._renamed[name] = new
            self.written[new] = name
        if self._renamed:
            self._definitions = [(at, self._renamed.get(n, n)) for at, n in self._definitions]

    def _replaced(
        self, tokens: list[re.Match[str]], *, is_rule: bool = False
    ) -> Iterator[tuple[int, int, str]]:
        """What Lark does not read: from where to where, and what stands for it.

        is_rule: whether the tokens begin in a rule.
        """
        end, names_stay = 0, not self._renamed and "::" not in self.text
        for i, match in enumerate(tokens):
            start, kind = match.start(), match.lastgroup
            if start < end or (kind == "other" and match[0] not in "&~%"):
                continue
            if kind == "name":
                definition = self.definitions.get(start)
                if definition is not None:
                    is_rule = definition.is_rule
                    for begin, end, piece in self._head(definition):
                        is_rule = is_rule and piece.strip() not in self.lexemes
                        yield begin, end, piece
                    continue
                if names_stay:
                    continue
            if match[0] == "%":
                is_rule = False
            found = self._replacement(tokens, i, is_rule=is_rule)
            if found is not None:
                end, piece = found
                yield start, end, piece

    def _head(self, definition: Definition) -> Iterator[tuple[int, int, str]]:
        """What stands before the colon of a definition that is more than Lark's."""
        name = self._renamed.get(definition.name, definition.name)
        (begin, end), of_parameter, of_options = (
            definition.whole,
            definition.parameter,
            definition.options,
        )
        options = self._options(definition) if of_options[1] > of_options[0] else Options()
        if options.makes_lexeme:
            terminal = self._lexeme(name, definition, options)
            yield begin, end, terminal.ljust(end - begin)
        elif definition.name in self._renamed:
            yield definition.start, end, name
        if of_parameter[1] > of_parameter[0]:
            if options.makes_lexeme or not definition.is_rule:
                raise self.error(
                    f"{definition.name!r} cannot have a parameter",
                    self.place(of_parameter[0]),
                    rule=definition.name,
                    expected="rules with a parameter to have no options that make them lexemes",
                )
            self.parametric.add(name)
            yield *of_parameter, " " * (of_parameter[1] - of_parameter[0])
        if options.capture:
            self.captures[name] = options.capture
        if of_options[1] > of_options[0]:
            yield *of_options, self._in_place("", *of_options)

    def _options(self, definition: Definition) -> Options:
        start, end = definition.options
        if not definition.is_rule:
            raise self.error(
                f"the terminal {definition.name!r} has options",
                self.place(start),
                rule=definition.name,
                expected="options of rules alone",
                hint="give it to a rule that names the terminal",
            )
        try:
            return options_of(self.text, start + 1, end - 1, definition.name)
        except OptionError as error:
            raise self.error(
                str(error),
                self.place(error.at),
                rule=definition.name,
                expected=error.expected,
                hint=error.hint,
            ) from error

    def _lexeme(self, rule: str, definition: Definition, options: Options) -> str:
        """The terminal of a rule that is one lexeme; the rule itself is defined behind the text."""
        place = self.place(definition.start)
        terminal, marker = self._fresh(place, definition.name), ""
        self._more.append(f"{rule}: {terminal}")
        if options.marker:
            marker = self._fresh(self.place(options.marker_at), definition.name)
            self._more.append(f"{marker}: {self._rewritten(options.marker)}")
        self.lexemes[terminal] = Lexeme(rule, options, marker)
        return terminal

    def _rewritten(self, marker: str) -> str:
        """A marker as Lark reads it."""
        if not marker.startswith("%regex"):
            return self._renamed.get(marker, marker)
        inner = LarkText(f"T: {marker}")
        return self._marked(inner._marks[0])

    def _replacement(
        self, tokens: list[re.Match[str]], i: int, *, is_rule: bool
    ) -> tuple[int, str] | None:
        """What stands for what begins with a token, and where that ends; None to leave it."""
        match = tokens[i]
        start = match.start()
        match match.lastgroup:
            case "json":
                return self._directive(match, is_rule=is_rule)
            case "lark":
                self._only_in_rules(match, "%lark", is_rule=is_rule)
                return self._block(start, self.blocks[start])
            case "reference":
                self._only_in_rules(match, "a grammar's name", is_rule=is_rule)
                name = self._fresh(self.place(start))
                self.references[name] = match[0][1:]
                return match.end(), name.ljust(len(match[0]))
            case "token" if (token := token_of(match[0])) is not None:
                self._only_in_rules(match, "a token", is_rule=is_rule)
                return match.end(), self._token(match, token).ljust(len(match[0]))
            case "condition":
                self._only_in_rules(match, "'%if'", is_rule=is_rule)
                reader = ParameterReader(self.text, match.end())
                condition = self._parameter(reader.condition, match)
                return reader.at, self._marked(condition)
            case "count":
                piece = f"~{match['low'] or 0}"
                if match["open"] or not match["low"]:
                    piece += f"..{match['high'] or OPEN}"
                return match.end(), piece.ljust(len(match[0]))
            case "name":
                return self._named(tokens, i, is_rule=is_rule)
            case "regexp" if (pattern := as_python(match[0])) != match[0]:
                self.written[pattern] = match[0]
                return match.end(), pattern
            case "string" if match[0] in ('""', '""i') and not self._is_range(tokens, i):
                return match.end(), "()".ljust(len(match[0]))  # Lark has no empty string
        if match[0] == "&":
            self._only_in_terminals(match, is_rule=is_rule)
            return match.end(), self._marked(AND)
        if match[0] == "~" and not (i + 1 < len(tokens) and tokens[i + 1][0] in "+-0123456789"):
            return self._complement(tokens, i, is_rule=is_rule)
        if is_rule and self._takes_lists and tokens[i - 1][0] in _BEFORE_LISTS:
            listed = self._listed(tokens, i, self.definitions)
            if len(listed) >= LONG_LIST:
                end, name = listed[-1].end(), self._fresh(self.place(start))
                self.lists[name] = [one[0][1:-1] for one in listed]
                return end, self._in_place(name, start, end)
        return None

    def _block(self, start: int, end: int) -> tuple[int, str]:
        """A nested grammar."""
        name = self._fresh(self.place(start))
        inner = self.text.index("{", start) + 1
        lines = self.text[:inner].split("\n")  # so that places inside are those outside
        before = "\n" * (len(lines) - 1) + " " * len(lines[-1])
        self.grammars[name] = before + self.text[inner : end - 1]
        return end, self._in_place(name, start, end)

    def _token(self, match: re.Match[str], token: Token) -> str:
        """The terminal of a token of the vocabulary."""
        place = self.place(match.start())
        if any(first > last for first, last in token.ranges):
            raise self.error(
                "the numbers of tokens are out of order",
                place,
                rule=self.rule_at(match.start()),
                expected="the lower number first",
            )
        name = self._fresh(place)
        self.tokens_named[name] = token
        return name

    def _named(
        self, tokens: list[re.Match[str]], i: int, *, is_rule: bool
    ) -> tuple[int, str] | None:
        """A name with a hyphen, or one with an argument."""
        match = tokens[i]
        name = self._renamed.get(match[0], match[0])
        if i + 1 < len(tokens) and tokens[i + 1].lastgroup == "parameter":
            self._only_in_rules(match, "a rule with a parameter", is_rule=is_rule)
            reader = ParameterReader(self.text, tokens[i + 1].end())
            change, depends = self._parameter(reader.change, match)
            instance = self._fresh(self.place(match.start()))
            self.instances[instance] = Instance(name, change, depends)
            return reader.at, instance.ljust(reader.at - match.start())
        return (match.end(), name) if match[0] in self._renamed else None

    def _parameter(self, read: Any, match: re.Match[str]) -> Any:
        """What is said of a parameter. Raises GrammarError."""
        try:
            return read()
        except RecursionError as error:
            raise BudgetError(
                "the condition is nested too deeply",
                location=str(self.place(match.start())),
                hint="leave out what the rest implies",
            ) from error
        except ParameterError as error:
            raise self.error(
                str(error),
                self.place(error.at),
                rule=self.rule_at(match.start()),
                expected=error.expected,
            ) from error

    def _directive(self, match: re.Match[str], *, is_rule: bool) -> tuple[int, str]:
        """`%json`, `%regex` or options of the grammar, with the JSON behind it."""
        start, place = match.start(), self.place(match.start())
        if match[0] == "%json":
            self._only_in_rules(match, "'%json'", is_rule=is_rule)
            schema, end = self.json_after(match)
            name = self._fresh(place)
            self.schemas[name] = schema
            return end, self._in_place(name, start, end)
        value, end = self.json_after(match)
        if match[0] != "%regex":
            self._set_options(match, value)
            return end, self._in_place("", start, end)
        mark = self._marked(self._stretches(match, value))
        if is_rule:
            name = self._fresh(place, match[0])
            self._more.append(f"{name}: {mark}")
            mark = name
        return end, self._in_place(mark, start, end)

    def _stretches(self, match: re.Match[str], value: Any) -> Regex:
        """The language of a `%regex`. Raises GrammarError."""
        known: dict[str, type] = dict.fromkeys(("substring_words", "substring_chars"), str)
        known["substring_chunks"] = list
        problem = ""
        if not isinstance(value, dict):
            problem = "this is no object"
        elif unknown := sorted(value.keys() - known):
            problem = f"there is no {unknown[0]!r}"
        elif len(value) != 1:
            problem = "this has not one member"
        else:
            [(what, given)] = value.items()
            is_right = isinstance(given, known[what])
            if is_right and all(isinstance(one, str) for one in given):
                return substrings(
                    _WORD.findall(given) if what == "substring_words" else list(given)
                )
            problem = f"the value of {what!r} is wrong"
        raise self.error(
            f"{problem} after '%regex'",
            self.place(match.start()),
            rule=self.rule_at(match.start()),
            expected='{"substring_words": "..."}, {"substring_chars": "..."} or '
            '{"substring_chunks": ["...", ...]}',
        )

    def _set_options(self, match: re.Match[str], value: Any) -> None:
        """Note the options of the grammar. Raises GrammarError."""
        flags = ("allow_initial_skip", "ignore_once", "no_forcing", "allow_invalid_utf8")
        once = "skip_repetition"  # "ignore_once", as later releases of llguidance say it
        problem = "" if isinstance(value, dict) else f"this is no object after {match[0]!r}"
        for name, said in value.items() if not problem else ():
            if name not in (*flags, once):
                problem = f"there is no option {name!r}"
            elif name == once and said != "once":
                problem = f"the option {name!r} is {said!r}, not 'once'"
            elif name in flags and not isinstance(said, bool):
                problem = f"the option {name!r} is {said!r}, not true or false"
            elif name == "allow_invalid_utf8" and said:
                problem = "texts are UTF-8 always"
        if problem:
            place = self.place(match.start())
            raise self.error(problem, place, expected=", ".join((*flags, once)))
        before = self.options or GrammarOptions()
        self.options = GrammarOptions(
            value.get("allow_initial_skip", before.initial_skip),
            value.get("ignore_once", before.skips_once or once in value),
        )

    def _complement(
        self, tokens: list[re.Match[str]], i: int, *, is_rule: bool
    ) -> tuple[int, str] | None:
        """A `~` in a terminal, or with what it stands before in a rule, where it is a terminal."""
        match = tokens[i]
        if not is_rule:
            return match.end(), self._marked(NOT)
        last = self._atom_end(tokens, i + 1)
        if last is None:
            return None
        start, end = match.start(), tokens[last].end()
        if tokens[last].lastgroup == "json":
            end = self.json_after(tokens[last])[1]
        name = self._fresh(self.place(start), self.text[start:end])
        pieces, at = [f"{name}: "], start
        for begin, until, piece in self._replaced(tokens[i : last + 1]):
            pieces += [self.text[at:begin], piece]
            at = until
        self._more.append("".join([*pieces, self.text[at:end]]))
        return end, self._in_place(name, start, end)

    def _atom_end(self, tokens: list[re.Match[str]], i: int) -> int | None:
        """The last token of what a `~` stands before, None where nothing fits there."""
        while i < len(tokens) and tokens[i][0] == "~":
            i += 1
        if i >= len(tokens):
            return None
        if tokens[i][0] not in ("(", "["):
            return i + 3 if self._is_range(tokens, i) else i
        depth = 0
        for j in range(i, len(tokens)):
            depth += (tokens[j][0] in ("(", "[")) - (tokens[j][0] in (")", "]"))
            if depth == 0:
                return j
        return None

    def _is_range(self, tokens: list[re.Match[str]], i: int) -> bool:
        """Whether a token begins a range of characters, or ends one."""
        around = ([match[0] for match in tokens[max(0, j) : j + 2]] for j in (i - 2, i + 1))
        return [".", "."] in around and i + 1 < len(tokens)

    def _only_in_rules(self, match: re.Match[str], what: str, *, is_rule: bool) -> None:
        if is_rule:
            return
        rule = self.rule_at(match.start())
        where = "in a terminal" if rule else "outside of rules"
        raise self.error(
            f"{what} {where}",
            self.place(match.start()),
            rule=rule,
            expected=f"{what} in a rule",
            hint="terminals have no structure; move it into a rule",
        )

    def _only_in_terminals(self, match: re.Match[str], *, is_rule: bool) -> None:
        if is_rule:
            raise self.error(
                "'&' joins terminals, not rules",
                self.place(match.start()),
                rule=self.rule_at(match.start()),
                hint="give what it joins a name in upper case: a terminal",
            )

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

    def _in_place(self, piece: str, start: int, end: int) -> str:
        """A piece in place of a stretch of text; all behind stays in its line and column."""
        lines = self.text[start:end].split("\n")
        last = " " * (len(lines[-1]) - (0 if lines[1:] else len(piece)))
        return piece + " \\\n" * len(lines[1:]) + last

    def _marked(self, mark: Mark) -> str:
        """The string that Lark reads in place of something."""
        self._marks.append(mark)
        return f'"{self._mark}{len(self._marks) - 1}" '

    def _fresh(self, place: Place, written: str = "") -> str:
        """A free name of a terminal. place: of what it stands for; written: what messages say."""
        number = len(self.places)
        while (name := f"_J{number}") in self._taken:
            number += 1
        self._taken.add(name)
        self.places[name] = place
        if written:
            self.written[name] = written
        return name
