"""In: what the readers of Lark, GBNF, EBNF and combinators found. Out: one grammar for them all.

A grammar has rules (names with alternatives, each a sequence of names; repetitions are spelled out
as rules of their own) and terminals, each a regular language over code points or a nested spec.
A name is a rule or a terminal, never both.

How texts are cut into terminals is the same idea for every language: a terminal that starts at some
place may end at another iff the text between is in its `language` and no longer text from that
start is in its `longer`. For Lark both are what `re` matches there; where any end will do (GBNF,
EBNF, combinators) `longer` is empty. `lexing` says what else decides: with "free" nothing (Lark's
Earley parser with its dynamic lexer); with "longest" the first terminal, in Lark's order, of those
in the row of its LALR parser's state (its contextual lexer); with "viable" the first of those that
the grammar allows there, which are fewer where a state stands for several places, or a conflict
makes that parser err.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from structgen.errors import SpecError
from structgen.regular.regex import EMPTY, INFINITE, Regex

if TYPE_CHECKING:
    from structgen.grammar.terminals.preferred import Preferred
    from structgen.grammar.terminals.python_regex import Node
    from structgen.schema.specs import Spec

Lexing = Literal["free", "longest", "viable"]
Alternative = tuple[str, ...]
IGNORED = "%ignore"  # the written name of rules for what is ignored
LEXINGS: tuple[Lexing, ...] = ("free", "longest", "viable")


@dataclass(frozen=True)
class Place:
    """Where something is written: line and column count from 1; `source` is a file, "" the text."""

    line: int
    column: int
    source: str = ""

    def __str__(self) -> str:
        where = f"line {self.line} column {self.column}"
        return f"{self.source}: {where}" if self.source else where


@dataclass(frozen=True)
class Terminal:
    """A piece of text that has no structure for the grammar.

    language: the texts it may be (code points), never the empty one; `EMPTY` with `nested`. longer:
    a text of `language` is the terminal only where no longer text from the same start is in this
    language; `EMPTY` when that does not matter. origin: "", or the terminal of which this is what
    it is behind some texts; its `language` is `EMPTY` where it is looked for there and matches
    nothing, `longer` then the literals that are not read beside it. ahead: where what follows
    matters in other ways, too, the start of matching, from which it is known (see `preferred`).
    behind: the pattern where it looks at the text before the terminal; `language` has what it may
    be behind any text (see `history_product`). nested: a spec whose texts the terminal may be, each
    wherever it ends, instead of `language`. text: the literal as written, None for a pattern.
    flags: of the literal, as in Lark ("i"). priority, max_width and pattern_length decide Lark's
    order: a higher priority, a greater width (characters), a longer pattern, then the name. shown:
    how messages name it. place: where it is defined or first used.
    """

    name: str
    language: Regex
    longer: Regex = EMPTY
    ahead: Preferred | None = None
    behind: Node | None = None
    origin: str = ""
    nested: Spec | None = None
    text: str | None = None
    flags: frozenset[str] = frozenset()
    priority: int = 0
    max_width: int = INFINITE
    pattern_length: int = 0
    shown: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return self.shown or self.name


@dataclass(frozen=True)
class Rule:
    """A name for any of several sequences of names; the empty sequence is the empty text.

    written: the rule of the user's in which a repetition, option or group became this rule; "" when
    this is a rule of the user's itself.
    """

    name: str
    alternatives: tuple[Alternative, ...]
    written: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Indentation:
    """A layout by indentation, as Lark's `Indenter` has it. The fields name terminals.

    newline: reads a line break, blank lines and the white space of the next line; what follows its
    last line feed is the indentation there, a tab counting for `tab` columns. indent, dedent: made
    up, with no text, where it grows or falls back to an earlier width. Between opens and closes
    `newline` is left out.
    """

    newline: str
    indent: str
    dedent: str
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    tab: int = 8


@dataclass(frozen=True)
class Lalr:
    """The tables of an LALR parser, as Lark has them.

    steps: for each state what it does with a terminal, END or a rule's name: the state that comes
    next, or -1 - the rule to reduce first; state 0 is the first one. rules: names and lengths.
    last: the state in which the text may end. chooses: whether there were conflicts, in which one
    of two ways to read a text was chosen. errs: whether a text may be left then that nothing
    finishes. useless: whether some of it leads to no text.
    """

    END: ClassVar[str] = "$END"

    steps: tuple[Mapping[str, int], ...]
    rules: tuple[tuple[str, int], ...]
    last: int
    chooses: bool
    errs: bool
    useless: bool = False

    @property
    def terminals(self) -> set[str]:
        """The names that are read, that of the end among them."""
        return {name for step in self.steps for name in step} - {name for name, _ in self.rules}


@dataclass(frozen=True)
class Variants:
    """What became of the terminals of a grammar that looks behind (see `history_product`).

    ways: for each of them, and for IGNORED, by the kind of text before it: the terminals that it is
    there, each with the kind of text that it leaves. alike: for each rule one of those that differ
    from it only in the kind of text before. reads: pairs of a pattern and a literal, by their names
    before, of which the pattern matches the literal where nothing stands before it. held: the kinds
    of text behind which the pattern does not, so that the literal is not read; apart: what the
    pattern is there, with the literal, if it is never that. stuck: whether it may be that some of
    what is read leads to where nothing can stand.
    """

    ways: Mapping[str, Mapping[int, tuple[tuple[str, int], ...]]]
    alike: Mapping[str, str]
    reads: frozenset[tuple[str, str]] = frozenset()
    held: frozenset[int] = frozenset()
    apart: frozenset[tuple[str, str]] = frozenset()
    stuck: bool = False

    @property
    def skipped(self) -> set[str]:
        """The terminals that are ignored where they stand in rules for that."""
        return {name for found in self.ways[IGNORED].values() for name, _ in found}


@dataclass(frozen=True)
class Grammar:
    """A context-free grammar over terminals.

    start: a rule. ignore: terminals that may stand before, between and after all others, any number
    of times. layout: None, or how indentation makes terminals. lalr: None, or the parser that says
    what the lexer looks for. variants: None, or how terminals are told apart by the text before.
    final: "", or a terminal that the end of the text stands for, where it is missing.
    """

    start: str
    rules: Mapping[str, Rule]
    terminals: Mapping[str, Terminal]
    ignore: tuple[str, ...] = ()
    lexing: Lexing = "free"
    layout: Indentation | None = None
    lalr: Lalr | None = None
    variants: Variants | None = None
    final: str = ""

    def __post_init__(self) -> None:
        if self.lexing not in LEXINGS:
            raise SpecError(f"lexing is {self.lexing!r}", expected=" or ".join(LEXINGS))
        if self.start not in self.rules:
            raise SpecError(
                f"there is no rule {self.start!r}",
                expected=f"a rule to start from, as {self.start!r}",
                hint="add it, or name another start",
            )

    def written(self, name: str) -> str:
        """The rule of the user's to which a rule belongs."""
        rule = self.rules.get(name)
        return rule.written or name if rule is not None else name
