"""Reads grammars in EBNF, in the notation of ISO 14977 or of the W3C.

W3C (the XML recommendation, section 6): `rule ::= "a" [b-z#xE9]* (c | d)? - 'x'`, `#xN` for a
character, `/* comments */`, rules that may be numbered (`[12] rule ::=`) and followed by
constraints (`[vc: ...]`), both of which say nothing about texts. Names may be in angle brackets, as
in BNF. For ISO 14977 and what is written like it see module `iso_ebnf`.

In both, `a - b` is a text of `a` that is none of `b`; neither may be recursive, except in `{a}-` of
ISO 14977, which is `a` once or more.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from structgen.errors import SpecError
from structgen.grammar.expressions import Difference, Expression, Text, choice, repeated, sequence
from structgen.grammar.ir import Grammar
from structgen.grammar.readers.iso_ebnf import IsoReader
from structgen.grammar.readers.rules import (
    QUANTIFIERS,
    QUOTED,
    QUOTES,
    ClassReader,
    EbnfReader,
    RuleReader,
)
from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, chars

Style = Literal["auto", "iso", "w3c"]
STYLES: tuple[Style, ...] = ("auto", "iso", "w3c")

_CONSTRAINT = r"\[\s*(?:wfc|vc|WFC|VC)\s*:[^\]]*\]"
_SIGNS = re.compile(
    rf"{QUOTED}|/\*.*?\*/|\(\*.*?\*\)|{_CONSTRAINT}|\[[^\]\n]*\]|::=|\{{", re.DOTALL
)
_W3C_SPACE = re.compile(rf"(?:\s|/\*.*?\*/|{_CONSTRAINT})*", re.DOTALL)
_W3C_NAME = re.compile(r"[^\W\d][\w.-]*|<[^<>\n]+>")
_W3C_HEAD = re.compile(rf"(?:\[\s*\d+\w*\s*\]\s*)?({_W3C_NAME.pattern})\s*::=")
_CODE = re.compile(r"#x([0-9A-Fa-f]{1,6})")


def read(
    text: str, start: str | None = None, style: Style = "auto", *, inlines_rules: bool = True
) -> Grammar:
    """The grammar of a text. start: the rule to start from, by default the first.

    inlines_rules: whether small regular ones are inlined where they are used.

    Raises GrammarError (with line, column, rule), UnsupportedSchemaError, BudgetError.
    """
    return _reader(text, style).grammar(start, inlines_rules=inlines_rules)


def regular_language(text: str, start: str | None = None, style: Style = "auto") -> Regex | None:
    """The texts of a grammar as a regular language, None if a rule is recursive."""
    return _reader(text, style).language(start)


@lru_cache(maxsize=8)  # compiling asks first whether the texts are a regular language
def _reader(text: str, style: Style) -> RuleReader:
    if style not in STYLES:
        raise SpecError(f"style is {style!r}", expected=" or ".join(STYLES))
    w3c = style == "w3c" or (style == "auto" and _is_w3c(text))
    return (_W3c(text) if w3c else IsoReader(text)).done()


def _is_w3c(text: str) -> bool:
    """Whether there is a `::=` and no brace, for which the W3C's notation has no use."""
    signs = {sign[0] for sign in _SIGNS.finditer(text)}
    return "::=" in signs and "{" not in signs


class _W3c(EbnfReader, ClassReader):
    """Recursive descent over the EBNF of the W3C's recommendations."""

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
        """Concatenation: pieces in a row, up to where the sequence or the rule ends."""
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
        """A string, class, character, name or group with its quantifiers; None if none is here."""
        start = self.at
        letter = self.peek()
        found: Expression
        code = _CODE.match(self.text, start)
        name = _W3C_NAME.match(self.text, start)
        if letter in QUOTES:
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
