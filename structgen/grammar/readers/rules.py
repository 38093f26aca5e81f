"""What the readers of GBNF and EBNF share: recursive descent over rules `name ::= expression`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Self

from structgen.errors import BudgetError, GrammarError
from structgen.grammar.bnf import Bnf
from structgen.grammar.expressions import NOTHING, Expression, Name, Text
from structgen.grammar.ir import Grammar, Place
from structgen.grammar.readers.sources import Scanner
from structgen.grammar.transforms.inlining import regular_language, with_inlining, without_inlining
from structgen.regular.charset import ALL, MAX_CODE_POINT, CharSet, union_all
from structgen.regular.regex import Regex, chars, literal

QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
QUOTES = {'"': '"', "'": "'", "\u2018": "\u2019", "\u201c": "\u201d", "`": "`"}
QUOTED = "|".join(f"{opened}[^{closed}]*{closed}" for opened, closed in QUOTES.items())


class RuleReader(Scanner, ABC):
    """Recursive descent over a grammar text, which `done` reads.

    rules: the expression of each rule that has been read; places: where it is defined; uses: for
    each name that is used the first place and the rule there.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.rules: dict[str, Expression] = {}
        self.places: dict[str, Place] = {}
        self.uses: dict[str, tuple[Place, str]] = {}

    @abstractmethod
    def definition(self) -> None:
        """Read one rule and note it with `defined`."""

    @abstractmethod
    def skip(self) -> None:
        """Skip what may stand between rules."""

    def grammar(self, start: str | None = None, *, inlines_rules: bool = True) -> Grammar:
        """The grammar of the text. start: the rule to start from, by default the first.

        inlines_rules: whether small regular ones are inlined where they are used.

        Raises GrammarError (with line, column, rule), UnsupportedSchemaError, BudgetError.
        """
        with _depth_bounded():
            start = self._start(start)
            rules = with_inlining(self.rules) if inlines_rules else without_inlining(self.rules)
        bnf = Bnf()
        for name, expression in rules.items():
            bnf.add(name, expression, self.places[name])
        return bnf.grammar(start)

    def language(self, start: str | None = None) -> Regex | None:
        """The texts as a regular language, None if a rule is recursive. Raises as `grammar`."""
        with _depth_bounded():
            return regular_language(self.rules, self._start(start))

    def done(self) -> Self:
        """Read all rules. Raises what `grammar` raises."""
        with _depth_bounded():
            self.skip()
            while self.at < len(self.text):
                self.definition()
                self.skip()
        for name, (place, rule) in self.uses.items():
            if name not in self.rules:
                raise self.error(f"the rule {name!r} is used but not defined", place, rule=rule)
        return self

    def _start(self, start: str | None) -> str:
        """The name of the rule to start from."""
        if start is None:
            start = next(iter(self.rules), None)
        if start is None:
            raise GrammarError("the grammar has no rules", expected="rules")
        if start not in self.rules:
            raise GrammarError(
                f"there is no rule {start!r}",
                expected=f"a rule {start!r} to start from",
                rule=start,
            )
        return start

    def defined(self, name: str, place: Place, expression: Expression) -> None:
        """Note a rule; of two of one name the later counts."""
        self.rules[name] = expression
        self.places[name] = place

    def coded(self, digits: str, start: int) -> int:
        """The code point of hexadecimal digits, for an escape that begins at offset `start`."""
        code = int(digits, 16)
        if code > MAX_CODE_POINT:
            raise self.error(
                f"there is no character {digits}",
                self.place(start),
                rule=self.rule,
                expected=f"a code point up to {MAX_CODE_POINT:X}",
            )
        return code

    def used(self, name: str, place: Place) -> Name:
        """Note the use of a rule: its name as an expression."""
        self.uses.setdefault(name, (place, self.rule))
        return Name(name, place)


@contextmanager
def _depth_bounded() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise BudgetError(
            "the grammar is nested too deeply", hint="give inner groups rules of their own"
        ) from error


class EbnfReader(RuleReader):
    """What the notations of EBNF have in common."""

    @abstractmethod
    def alternatives(self) -> Expression:
        """Read what may stand on the right of a rule or in brackets."""

    @abstractmethod
    def space(self) -> None:
        """Skip blanks and comments."""

    def skip(self) -> None:
        """Skip what may stand between rules: blanks and comments."""
        self.space()

    def defined(self, name: str, place: Place, expression: Expression) -> None:
        """Note a rule; there must not be two of one name."""
        if name in self.rules:
            raise self.error(f"the rule {name!r} is defined twice", place, rule=name)
        super().defined(name, place, expression)

    def quoted(self) -> Expression:
        """Read a string in quotes of any kind; there are no escapes."""
        start = self.at
        end = self.text.find(QUOTES[self.peek()], start + 1)
        if end < 0:
            raise self.error("this string has no end", self.place(start), rule=self.rule)
        self.at = end + 1
        inner = self.text[start + 1 : end]
        return Text(literal(inner), self.text[start : self.at]) if inner else NOTHING

    def bracketed(self, start: int, close: tuple[str, ...]) -> Expression:
        """Read the inside of the brackets that opened at `start`, and their closing one."""
        inner = self.alternatives()
        if any(self.take(sign) for sign in close):
            return inner
        if self.at >= len(self.text):
            raise self.error(f"this has no {close[0]!r}", self.place(start), rule=self.rule)
        raise self.wrong(f"{self.peek()!r} does not fit here", f"{close[0]!r} or a piece")


class ClassReader(RuleReader):
    """A reader of notations with character classes in square brackets.

    lenient: whether a class without members stands for the empty text, and a range out of order for
    no character, as in llama.cpp.
    """

    lenient: ClassVar[bool] = False

    @abstractmethod
    def character(self, start: int) -> int:
        """Read one character of the class (or string) that begins at `start`: its code point."""

    def char_class(self) -> Expression:
        """Read a character class."""
        start = self.at
        self.at += 1
        negated = self.take("^")
        sets: list[CharSet] = []
        while not self.take("]"):
            first = last = self.character(start)
            if self.peek() == "-" and not self.text.startswith("-]", self.at):
                self.at += 1
                last = self.character(start)
            if last < first and not self.lenient:
                raise self.error("a range out of order", self.place(start), rule=self.rule)
            sets.append(CharSet.of([(first, last)] if first <= last else []))
        if not sets and self.lenient:
            return NOTHING
        members = union_all(sets)
        return Text(chars(ALL - members if negated else members), self.text[start : self.at])
