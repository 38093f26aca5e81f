r"""In: a grammar in EBNF, of ISO 14977 or of the W3C. Out: its rules and terminals.

ISO 14977: `rule = "a", [option], {repeated}, 3 * group - "x" | 'b' ;` with `(* comments *)`, which
may hold comments, also with its other signs (`/ !` for `|`, `(/ /)` for `[ ]`, `(: :)` for `{ }`,
`.` for `;`). Names may have blanks inside. What is between question marks has no meaning in the
standard; here `? /pattern/ ?` is a pattern of Python's `re` and anything else is refused.

W3C (the XML recommendation, section 6): `rule ::= "a" [b-z#xE9]* (c | d)? - 'x'`, `#xN` for a
character, `/* comments */`, rules that may be numbered (`[12] rule ::=`) and followed by
constraints (`[vc: ...]`), both of which say nothing about texts.

In both, `a - b` is a text of `a` that is none of `b`; neither may be recursive, except in `{a}-` of
ISO 14977, which is `a` once or more.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Literal

from structgen.automaton.charset import CharSet
from structgen.automaton.regex import Regex, chars, literal
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
from structgen.grammar.ir import Grammar, Place
from structgen.grammar.python_language import language_of
from structgen.grammar.python_regex import parse
from structgen.grammar.rule_reader import QUANTIFIERS, ClassReader, RuleReader

Style = Literal["auto", "iso", "w3c"]
STYLES: tuple[Style, ...] = ("auto", "iso", "w3c")

_QUOTED = r"\"[^\"]*\"|'[^']*'"
_IS_W3C = re.compile(rf"(?:{_QUOTED}|[^\"'])*?::=", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_COMMENT = re.compile(r"\(\*(?!\))|\*\)")  # where one begins or ends; one may be in another
_W3C_SPACE = re.compile(r"(?:\s|/\*.*?\*/|\[\s*(?:wfc|vc|WFC|VC)\s*:[^\]]*\])*", re.DOTALL)
_ISO_NAME = re.compile(r"[^\W\d_]\w*(?:\s+\w+)*")
_W3C_NAME = re.compile(r"[^\W\d][\w.-]*")
_W3C_HEAD = re.compile(r"(?:\[\s*\d+\w*\s*\]\s*)?([^\W\d][\w.-]*)\s*::=")
_CODE = re.compile(r"#x([0-9A-Fa-f]{1,6})")


def read(
    text: str, start: str | None = None, style: Style = "auto", *, folds: bool = True
) -> Grammar:
    """The grammar that a text says. start: the rule to start from, by default the first.

    folds: whether small regular rules are written out where they are used.

    Raises GrammarError (with line, column, rule), UnsupportedSchemaError, BudgetError.
    """
    return _reader(text, style).grammar(start, folds=folds)


def regular_language(text: str, start: str | None = None, style: Style = "auto") -> Regex | None:
    """The texts of a grammar without recursion as a regular language, None of others."""
    return _reader(text, style).language(start)


def _reader(text: str, style: Style) -> _Reader:
    if style not in STYLES:
        raise SpecError(f"style is {style!r}", expected=" or ".join(STYLES))
    w3c = style == "w3c" or (style == "auto" and _IS_W3C.match(text) is not None)
    return _W3c(text) if w3c else _Iso(text)


class _Reader(RuleReader):
    """What both styles have."""

    @abstractmethod
    def alternatives(self) -> Expression:
        """What may stand on the right of a rule or in brackets."""

    @abstractmethod
    def space(self) -> None:
        """Skip blanks and comments."""

    def skip(self) -> None:
        self.space()

    def defined(self, name: str, place: Place, expression: Expression) -> None:
        """Add a rule; there must not be two of one name."""
        if name in self.rules:
            raise self.error(f"the rule {name!r} is defined twice", place, rule=name)
        super().defined(name, place, expression)

    def quoted(self) -> Expression:
        """A string in quotes of either kind; there are no escapes."""
        start = self.at
        end = self.text.find(self.peek(), start + 1)
        if end < 0:
            raise self.error("this string has no end", self.place(start), rule=self.rule)
        self.at = end + 1
        inner = self.text[start + 1 : end]
        return Text(literal(inner), self.text[start : self.at]) if inner else NOTHING

    def bracketed(self, start: int, close: tuple[str, ...]) -> Expression:
        """The inside of the brackets that opened at `start`, and their closing one."""
        inner = self.alternatives()
        if any(self.take(sign) for sign in close):
            return inner
        if self.at >= len(self.text):
            raise self.error(f"this has no {close[0]!r}", self.place(start), rule=self.rule)
        raise self.wrong(f"{self.peek()!r} does not fit here", f"{close[0]!r} or a piece")


class _Iso(_Reader):
    """ISO 14977."""

    def space(self) -> None:
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
        self.rule = ""
        place = self.place(self.at)
        name = self.meta_identifier()
        self.rule = name
        self.space()
        if not self.take("="):
            raise self.wrong(f"{self.peek()!r} does not fit here", "'='")
        self.defined(name, place, self.alternatives())
        if not (self.take(";") or self.take(".")):
            raise self.wrong(
                f"{self.peek()!r} does not fit here" if self.peek() else "the rule has no end",
                "',', '|' or ';'",
                "pieces in a row have ',' between them, a rule ends with ';'",
            )

    def meta_identifier(self) -> str:
        """A name; blanks inside count as one."""
        found = _ISO_NAME.match(self.text, self.at)
        if found is None:
            raise self.wrong(f"{self.peek()!r} starts no rule", "the name of a rule")
        self.at = found.end()
        return " ".join(found[0].split())

    def alternatives(self) -> Expression:
        parts = [self.concatenation()]
        while self.take_separator():
            parts.append(self.concatenation())
        return choice(*parts) if len(parts) > 1 else parts[0]

    def take_separator(self) -> bool:
        """Read `|`, or one of its other signs unless it is the beginning of a bracket's end."""
        if self.text.startswith("/)", self.at):
            return False
        return self.take("|") or self.take("/") or self.take("!")

    def concatenation(self) -> Expression:
        """Terms with `,` between them."""
        parts = [self.term()]
        while self.take(","):
            parts.append(self.term())
        return sequence(*parts)

    def term(self) -> Expression:
        """A factor, perhaps with an exception."""
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
        """A primary, perhaps with a count before it."""
        count = re.compile(r"(\d+)\s*\*(?!\))").match(self.text, self.at)
        if count is None:
            return self.primary()
        self.at = count.end()
        self.space()
        number = min(int(count[1][:9]), 10**9)
        return repeated(self.primary(), number, number)

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
        if letter in ("'", '"'):
            return self.quoted()
        if letter == "?":
            return self.special()
        if _ISO_NAME.match(self.text, start):
            return self.used(self.meta_identifier(), self.place(start))
        return NOTHING

    def special(self) -> Expression:
        """What is between question marks."""
        start = self.at
        found = re.compile(r"\?\s*/(.*?)/\s*\?", re.DOTALL).match(self.text, start)
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


class _W3c(_Reader, ClassReader):
    """The EBNF of the W3C's recommendations."""

    def space(self) -> None:
        found = _W3C_SPACE.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at

    def definition(self) -> None:
        self.rule = ""
        found = _W3C_HEAD.match(self.text, self.at)
        if found is None:
            raise self.wrong(
                f"{self.peek()!r} does not fit here", "a piece, '|', or a rule 'name ::= ...'"
            )
        self.rule = found[1]
        self.at = found.end()
        self.defined(found[1], self.place(found.start(1)), self.alternatives())

    def alternatives(self) -> Expression:
        parts = [self.items()]
        while self.take("|"):
            parts.append(self.items())
        return choice(*parts) if len(parts) > 1 else parts[0]

    def items(self) -> Expression:
        """Pieces in a row."""
        parts: list[Expression] = []
        while True:
            self.space()
            if _W3C_HEAD.match(self.text, self.at):
                return sequence(*parts)
            piece = self.piece()
            if piece is None:
                return sequence(*parts)
            self.space()
            place = self.place(self.at)
            if self.take("-"):
                self.space()
                less = self.piece()
                if less is None:
                    raise self.wrong("there is nothing after '-'", "a piece")
                piece = Difference(piece, less, place)
            parts.append(piece)

    def piece(self) -> Expression | None:
        """A string, class, character, name or group with its quantifiers; None at the end."""
        start = self.at
        letter = self.peek()
        found: Expression
        code = _CODE.match(self.text, start)
        name = _W3C_NAME.match(self.text, start)
        if letter in ("'", '"') and letter:
            found = self.quoted()
        elif letter == "[":
            found = self.char_class()
        elif code is not None:
            self.at = code.end()
            found = Text(chars(CharSet.of([(self.coded(code[1], start),) * 2])), code[0])
        elif self.take("("):
            found = self.bracketed(start, (")",))
        elif name is not None:
            self.at = name.end()
            found = self.used(name[0], self.place(start))
        else:
            return None
        while self.peek() in QUANTIFIERS:
            found = repeated(found, *QUANTIFIERS[self.peek()])
            self.at += 1
        return found

    def character(self, start: int) -> int:
        code = _CODE.match(self.text, self.at)
        if code is not None:
            self.at = code.end()
            return self.coded(code[1], code.start())
        letter = self.peek()
        if not letter:
            raise self.error("this class has no ']'", self.place(start), rule=self.rule)
        self.at += 1
        return ord(letter)
