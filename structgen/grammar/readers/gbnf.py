"""Reads grammars in GBNF, the notation of llama.cpp's grammar files.

It is read as llama.cpp's parser reads it; of two rules of one name the later counts; `[]` matches
nothing. As XGrammar has it, names may have underscores, `::=` may stand in the line behind a name,
and a rule goes on in the next line unless that begins another rule: no text that llama.cpp takes
can be meant otherwise. What llama.cpp refuses to enforce (left recursion, counts from 2,000 on)
works. Tokens by text or number (`<think>`, `<[1000]>`), and all others (`!<[1000]>`), stand for
themselves, not for their bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from structgen.grammar.embedded.tokens import TOKEN, Token, token_of
from structgen.grammar.expressions import (
    NOTHING,
    Expression,
    Nested,
    Text,
    choice,
    repeated,
    sequence,
)
from structgen.grammar.ir import Grammar
from structgen.grammar.readers.rules import QUANTIFIERS, ClassReader
from structgen.regular.charset import ALL
from structgen.regular.regex import Regex, chars, literal

_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NEXT_RULE = re.compile(r"[a-zA-Z0-9_-]+(?:[ \t\r\n]|#[^\r\n]*)*::=|\Z")
_PLAIN = re.compile(r'[^"\\]+')
_DIGITS = re.compile(r"[0-9]+")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
NAMES = "names have letters, digits, '-' and '_'"
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}


def read(text: str, root: str = "root", *, inlines_rules: bool = True) -> Grammar:
    """The grammar of a text, starting from the rule `root`.

    inlines_rules: whether small regular ones are inlined where they are used.

    Raises GrammarError (with line, column, rule), BudgetError.
    """
    return _read(text).grammar(root, inlines_rules=inlines_rules)


def regular_language(text: str, root: str = "root") -> Regex | None:
    """The texts of a grammar as a regular language, None if a rule is recursive."""
    return _read(text).language(root)


@lru_cache(maxsize=8)  # compiling asks first whether the texts are a regular language
def _read(text: str) -> _Reader:
    return _Reader(text).done()


class _Reader(ClassReader):
    """Recursive descent over a GBNF text."""

    lenient = True

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.tokens: dict[Token, Token] = {}  # one object for each

    def skip(self) -> None:
        self.space(lines=True)

    def definition(self) -> None:
        """Read `name ::= alternatives` up to the end of its line."""
        self.rule = ""
        start, place = self.at, self.place(self.at)
        name = self.rule_name()
        self.space(lines=_NEXT_RULE.match(self.text, start) is not None)
        self.rule = name
        if not self.take("::="):
            raise self.wrong("the rule has no '::='", "'::='", NAMES)
        self.space(lines=True)
        expression = self.alternatives(nested=False)
        if self.at < len(self.text) and self.peek() not in "\r\n":
            problem = f"{self.peek()!r} does not fit here"
            raise self.wrong(problem, "a piece, '|', or the end of the line", NAMES)
        self.defined(name, place, expression)

    def alternatives(self, *, nested: bool) -> Expression:
        """Sequences with `|` between them."""
        parts = [self.sequence(nested=nested)]
        while self.take("|"):
            self.space(lines=True)
            parts.append(self.sequence(nested=nested))
        return choice(*parts) if len(parts) > 1 else parts[0]

    def sequence(self, *, nested: bool) -> Expression:
        """Concatenation: pieces with their quantifiers."""
        parts: list[Expression] = []
        last: Expression | None = None  # what a quantifier would apply to
        while True:
            counts = self.counts(nested=nested)
            if counts is not None:
                if last is None:
                    raise self.wrong("there is nothing to repeat here", "a piece before it")
                last = None if counts[1] == 0 else repeated(last, *counts)
                parts[-1] = NOTHING if last is None else last
                continue
            piece = self.piece()
            if piece is None:
                return sequence(*parts)
            last = None if piece is NOTHING else piece
            parts.append(piece)
            self.gap(nested=nested)

    def piece(self) -> Expression | None:
        """One literal, class, name, group or `.`; None where the sequence ends."""
        start = self.at
        letter = self.peek()
        if letter == '"':
            return self.literal()
        if letter == "[":
            return self.char_class()
        if letter == ".":
            self.at += 1
            return Text(chars(ALL), "any character")
        if letter == "(":
            self.at += 1
            self.space(lines=True)
            inner = self.alternatives(nested=True)
            if not self.take(")"):
                if self.at >= len(self.text):
                    raise self.error("this '(' has no ')'", self.place(start), rule=self.rule)
                raise self.wrong(f"{self.peek()!r} does not fit here", "')' or a piece")
            return inner
        if letter in ("<", "!"):
            return self.token()
        if _NAME.match(self.text, self.at):
            place = self.place(start)
            return self.used(self.rule_name(), place)
        return None

    def token(self) -> Expression:
        """A token by number, `<[5]>`, or by text, `<think>`; any other with `!` before it."""
        place, found = self.place(self.at), TOKEN.match(self.text, self.at)
        token = None if found is None else token_of(found[0])
        if found is None or token is None:
            raise self.wrong("this is no token", "<[number]> or <text>, perhaps behind '!'")
        if any(first > last for first, last in token.ranges):
            raise self.wrong("the numbers of tokens are out of order", "the lower number first")
        self.at = found.end()
        return Nested(self.tokens.setdefault(token, token), place)

    def counts(self, *, nested: bool) -> tuple[int, int | None] | None:
        """A quantifier as (low, high), None if there is none here."""
        found = QUANTIFIERS.get(self.peek())
        start = self.at
        if found is not None:
            self.at += 1
        elif self.take("{"):
            found = self.braces(start, nested=nested)
        else:
            return None
        self.gap(nested=nested)
        return found

    def braces(self, start: int, *, nested: bool) -> tuple[int, int | None]:
        """The inside of `{m}`, `{m,}` or `{m,n}`, up to and with its `}`."""
        self.space(lines=nested)
        low = self.number()
        high: int | None = low
        self.space(lines=nested)
        if self.take(","):
            self.space(lines=nested)
            high = self.number() if self.peek().isdigit() else None
            self.space(lines=nested)
        if not self.take("}"):
            raise self.wrong("this is no count", "'}'", "write {m}, {m,} or {m,n}")
        if high is not None and high < low:
            place = self.place(start)
            raise self.error("the counts are not in order", place, rule=self.rule)
        return low, high

    def number(self) -> int:
        """Digits."""
        found = _DIGITS.match(self.text, self.at)
        if found is None:
            raise self.wrong("a count has no number here", "digits")
        self.at = found.end()
        return min(int(found[0][:9]), 10**9)

    def literal(self) -> Expression:
        """A string in double quotes."""
        start = self.at
        self.at += 1
        letters: list[str] = []
        while not self.take('"'):
            plain = _PLAIN.match(self.text, self.at)
            if plain is None:
                letters.append(chr(self.character(start)))
            else:
                letters.append(plain[0])
                self.at = plain.end()
        text = "".join(letters)
        return Text(literal(text), self.text[start : self.at]) if text else NOTHING

    def character(self, start: int) -> int:
        letter = self.peek()
        if not letter:
            raise self.error("this has no end", self.place(start), rule=self.rule)
        self.at += 1
        if letter != "\\":
            return ord(letter)
        kind = self.peek()
        self.at += 1
        if kind in _ESCAPES:
            return ord(_ESCAPES[kind])
        count = _HEXADECIMAL.get(kind, 0)
        digits = self.text[self.at : self.at + count]
        if not count or not re.fullmatch(f"[0-9a-fA-F]{{{count}}}", digits):
            self.at -= 2
            raise self.wrong(
                f"there is no escape '\\{kind}'" if not count else "the escape is incomplete",
                r"\t \r \n \\ \" \[ \] \- \xNN \uNNNN or \UNNNNNNNN",
            )
        self.at += count
        return self.coded(digits, self.at - count - 2)

    def rule_name(self) -> str:
        """The name of a rule."""
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise self.wrong(f"{self.peek()!r} starts no rule", "the name of a rule", NAMES)
        self.at = found.end()
        return found[0]

    def gap(self, *, nested: bool) -> None:
        """Skip blanks, comments and line breaks up to what goes on with the rule, if it does."""
        self.space()
        end = self.at
        self.space(lines=True)
        if not nested and _NEXT_RULE.match(self.text, self.at):
            self.at = end

    def space(self, *, lines: bool = False) -> None:
        """Skip blanks and comments, with `lines` line breaks too."""
        found = (_SPACE_AND_LINES if lines else _SPACE).match(self.text, self.at)
        self.at = found.end() if found is not None else self.at
