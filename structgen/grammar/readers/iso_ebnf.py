"""Reads grammars in the EBNF of ISO 14977, and in the notations like it that manuals use.

ISO 14977: `rule = "a", [option], {repeated}, 3 * group - "x" | 'b' ;` with `(* comments *)`, which
may hold comments, also with its other signs (`/ !` for `|`, `(/ /)` for `[ ]`, `(: :)` for `{ }`,
`.` for `;`). Names may have blanks inside. What is between question marks has no meaning in the
standard; here `? /pattern/ ?` is a pattern of Python's `re` and anything else is refused.

What the standard has no meaning for is read as others write it (N. Wirth, "What can we do about the
unnecessary diversity of notation for syntactic definitions?", 1977, and manuals since): pieces in a
row need no `,`; `::=` or `:=` stands for `=`; a rule ends without a sign where a line begins with
the next one; names have hyphens where they are defined so, or are in angle brackets; `*`, `+` and
`?` right behind a piece repeat it; `"a" … "z"` or `"a".."z"` is any character between two.

Where rules begin is found first, in one pass over the text: without a `;` only that tells whether a
name belongs to the alternative before it or starts the next rule.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.grammar.expressions import (
    NOTHING,
    Difference,
    Expression,
    Text,
    choice,
    repeated,
    sequence,
)
from structgen.grammar.readers.rules import QUANTIFIERS, QUOTED, QUOTES, EbnfReader
from structgen.grammar.terminals.python_language import language_of
from structgen.grammar.terminals.python_regex import parse
from structgen.regular.charset import CharSet
from structgen.regular.regex import chars

_BLANKS = re.compile(r"\s*")
_COMMENT = re.compile(r"\(\*(?!\))|\*\)")  # where one begins or ends; one may be in another
_WORD = r"[^\W\d][\w-]*|<[^<>\n]+>"
_NAME = re.compile(rf"(?:{_WORD})(?:\s+[\w-]+)*")
_END = re.compile(r"(?<=\w)(?!\w)|(?<=>)")  # where a name may end
_COUNT = re.compile(r"(\d+)\s*\*(?!\))")
_PATTERN = re.compile(r"\?\s*/(.*?)/\s*\?", re.DOTALL)
_RANGE = re.compile(r"""\s*(?:…|\.\.\.?)\s*(?=["'`‘“])""")
_SIGN = re.compile(r"::=|:=|=")
_PIECE = re.compile(
    rf"(?:{QUOTED}|\?\s*/.*?/\s*\?|\d[\w-]*)|(?P<end>[;.])|(?P<name>{_NAME.pattern})|.", re.DOTALL
)


class IsoReader(EbnfReader):
    """Recursive descent over ISO 14977 and its relatives.

    heads: the offset of every rule's definition, in order, with the rule's name. signed: whether
    every rule so far ended with `;` or `.`; then all have to.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.heads: dict[int, str] = dict(self._heads())
        self.starts = [*self.heads, len(text)]
        self.names = set(self.heads.values())
        self.signed = True
        self.at = 0

    def _heads(self) -> Iterator[tuple[int, str]]:
        """Where names stand in front of `=`: behind a rule's end, or first in a line."""
        ended = True
        self.space()
        while (piece := _PIECE.match(self.text, self.at)) is not None:
            self.at = piece.end()
            self.space()
            name = piece["name"]
            if name is not None and _SIGN.match(self.text, self.at):
                start = piece.start() if ended else piece.start() + name.rfind("\n") + 1
                line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
                if ended or not line.strip():
                    words = self.text[start : piece.end()]
                    yield start + len(words) - len(words.lstrip()), " ".join(words.split())
            ended = piece["end"] is not None

    def space(self) -> None:
        """Skip blanks and comments, which may hold comments."""
        while True:
            self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
            start, depth = self.at, 0
            if not self.text.startswith("(*", start) or self.text.startswith("(*)", start):
                return
            for sign in _COMMENT.finditer(self.text, start):
                depth += 1 if sign[0] == "(*" else -1
                if depth == 0:
                    self.at = sign.end()
                    break
            else:
                place = self.place(start)
                raise self.error("this comment has no end", place, rule=self.rule)

    def definition(self) -> None:
        """Read `name = alternatives ;`."""
        self.rule = ""
        place = self.place(self.at)
        name = self.name_here()
        self.rule = name
        self.space()
        sign = _SIGN.match(self.text, self.at)
        if sign is None:
            raise self.wrong(f"{self.peek()!r} does not fit here", "'='")
        self.at = sign.end()
        self.signed = self.signed and sign[0] == "="
        self.defined(name, place, self.alternatives())
        if self.take(";") or self.take("."):
            return
        self.signed = self.signed and self.at not in self.heads
        if self.signed or self.at not in self.starts:
            raise self.wrong(
                f"{self.peek()!r} does not fit here" if self.peek() else "the rule has no end",
                "a piece, '|' or ';'",
                "a rule ends with ';', or in front of a line that begins with the next rule",
            )

    def name_here(self) -> str:
        """The longest name here that some rule has; blanks inside count as one."""
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise self.wrong(f"{self.peek()!r} starts no rule", "the name of a rule")
        within = self.starts[bisect_right(self.starts, self.at)] - self.at
        ends = [cut.start() for cut in _END.finditer(found[0]) if cut.start() <= within]
        for end in reversed(ends):
            name = " ".join(found[0][:end].split())
            if name == self.heads.get(self.at, name) and name in self.names:
                self.at += end
                return name
        self.at += ends[-1]
        return " ".join(found[0][: ends[-1]].split())

    def alternatives(self) -> Expression:
        """Alternation: sequences with `|` between them."""
        parts = [self.concatenation()]
        while self.take_separator():
            parts.append(self.concatenation())
        return choice(*parts) if len(parts) > 1 else parts[0]

    def take_separator(self) -> bool:
        """Read `|`, or one of its other signs unless it begins a closing bracket."""
        if self.text.startswith("/)", self.at):
            return False
        return self.take("|") or self.take("/") or self.take("!")

    def concatenation(self) -> Expression:
        """Concatenation: terms in a row, with or without `,` between them."""
        parts = [self.term()]
        while True:
            start = self.at
            more = self.take(",")
            if not more and start in self.heads:
                return sequence(*parts)
            parts.append(self.term())
            if self.at == start:
                return sequence(*parts)

    def term(self) -> Expression:
        """A factor, perhaps with an exception (`a - b`)."""
        self.space()
        found = self.factor()
        self.space()
        place = self.place(self.at)
        if self.take("-"):
            self.space()
            found = Difference(found, self.factor(), place)
            self.space()
        return found

    def factor(self) -> Expression:
        """A primary, perhaps with a count before it or behind it."""
        count = _COUNT.match(self.text, self.at)
        number = 1
        if count is not None:
            self.at = count.end()
            self.space()
            number = min(int(count[1][:9]), 10**9)
        start = self.at
        found = self.primary()
        while self.at > start and self.peek() in QUANTIFIERS:
            if _PATTERN.match(self.text, self.at):
                break
            found = repeated(found, *QUANTIFIERS[self.peek()])
            self.at += 1
        return repeated(found, number, number)

    def primary(self) -> Expression:
        """A bracket, a string, a name, a special sequence, or nothing."""
        start = self.at
        if self.take("(/") or self.take("["):
            return repeated(self.bracketed(start, ("]", "/)")), 0, 1)
        if self.take("(:") or self.take("{"):
            return repeated(self.bracketed(start, ("}", ":)")), 0, None)
        if self.take("("):
            return self.bracketed(start, (")",))
        letter = self.peek()
        if letter in QUOTES:
            return self.string()
        if letter == "?":
            return self.special()
        if _NAME.match(self.text, start) and start not in self.heads:
            return self.used(self.name_here(), self.place(start))
        return NOTHING

    def string(self) -> Expression:
        """A string, or the range of characters between two strings of one character."""
        start = self.at
        first = self.quoted()
        between = _RANGE.match(self.text, self.at)
        if between is None:
            return first
        inner = self.text[start + 1 : self.at - 1]
        self.at = second = between.end()
        self.quoted()
        last = self.text[second + 1 : self.at - 1]
        if len(inner) != 1 or len(last) != 1 or last < inner:
            problem = "the ends of a range are two characters in order"
            raise self.error(problem, self.place(start), rule=self.rule)
        language = chars(CharSet.of([(ord(inner), ord(last))]))
        return Text(language, self.text[start : self.at])

    def special(self) -> Expression:
        """A special sequence: what is between question marks."""
        start = self.at
        found = _PATTERN.match(self.text, start)
        if found is None:
            raise UnsupportedSchemaError(
                f"a special sequence in rule {self.rule!r} is not supported",
                keyword="? ... ?",
                location=str(self.place(start)),
                hint="write a pattern as in ? /[a-z]+/ ?",
            )
        self.at = found.end()
        try:
            return Text(language_of(parse(found[1])), f"/{found[1]}/")
        except SpecError as error:
            place = self.place(start)
            raise self.error(error.problem, place, rule=self.rule) from error
