"""The representation of grammars that all readers produce: rules, terminals, how to lex.

A grammar has rules (names with alternatives, each a sequence of names; repetitions are spelled out
as rules of their own) and terminals, each a regular language over code points or a nested spec.
A name is a rule or a terminal, never both.

How a text is cut into lexemes is the same idea for every language: a lexeme of a terminal that
starts at some place may end at another iff the text between is in the terminal's `language` and no
longer text from that start is in its `longer`. For Lark both are what `re` matches there; where any
end will do (GBNF, EBNF, combinators) `longer` is empty. `lexing` says what else decides:

- "free": nothing (Lark's Earley parser with its dynamic lexer);
- "longest": the first terminal, in Lark's order, of those in the row of its LALR parser's state
  (Lark's contextual lexer);
- "viable": the first of those that the grammar allows at this point. These are fewer where an LALR
  state stands for several places in the grammar, or where a conflict makes that parser fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from structgen.errors import SpecError
from structgen.regular.regex import EMPTY, INFINITE, Regex

if TYPE_CHECKING:
    from structgen.grammar.terminals.leftmost_first import MatchState
    from structgen.grammar.terminals.python_regex import Node
    from structgen.spec.base import Spec

Lexing = Literal["free", "longest", "viable"]
Alternative = tuple[str, ...]
IGNORED = "%ignore"  # the `source_rule` of rules for what is ignored
LEXINGS: tuple[Lexing, ...] = ("free", "longest", "viable")


@dataclass(frozen=True)
class Place:
    """A place in a source: line and column count from 1; `source` is a file, "" the text."""

    line: int
    column: int
    source: str = ""

    def __str__(self) -> str:
        where = f"line {self.line} column {self.column}"
        return f"{self.source}: {where}" if self.source else where


@dataclass(frozen=True)
class Terminal:
    """A kind of lexeme: a piece of text that has no structure for the grammar.

    language: the texts it may be (over code points), never the empty one; `EMPTY` with `nested`.
    longer: a text of `language` is a lexeme only where no longer text from the same start is in
    this language; `EMPTY` when that does not matter.
    lookahead: where what follows matters in other ways, too, the start state of the matcher that
    knows it (see `terminals.leftmost_first`), else None.
    lookbehind: the pattern where it looks at the text before the match, else None; `language` then
    has what it may match behind any text.
    origin: "", or the terminal that was split by the text before it (see
    `lookaround.split_terminals`) of which this is one part. `language` is `EMPTY` where the lexer
    looks for that part but it matches nothing; `longer` then holds the literals that must not be
    read beside it. nested: a spec whose texts the terminal may be, each wherever it ends, instead
    of `language`. commits: whether what is read beside it ends, too, and without a match, as soon
    as this has matched; no text of `language` begins with another then. text: the literal as
    written, None for a pattern. flags: of the literal, as in Lark ("i"). priority, max_width,
    pattern_length: decide Lark's order: a higher priority first, then a greater width (characters),
    a longer pattern, the name.
    shown: how messages name it. place: where it is defined or first used.
    """

    name: str
    language: Regex
    longer: Regex = EMPTY
    lookahead: MatchState | None = None
    lookbehind: Node | None = None
    origin: str = ""
    nested: Spec | None = None
    commits: bool = False
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

    source_rule: the user's rule in which a repetition, option or group became this rule; "" when
    this is itself a rule of the user's.
    """

    name: str
    alternatives: tuple[Alternative, ...]
    source_rule: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Indentation:
    """A layout by indentation, as Lark's `Indenter` has it. The fields name terminals.

    newline: reads a line break, blank lines and the white space of the next line; what follows its
    last line feed is the indentation there, a tab counting for `tab` columns. indent, dedent: made
    up by the lexer, with no text, where the indentation grows or falls back to an earlier width.
    Between opens and closes (brackets) `newline` is left out.
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

    actions: for each state what it does with a terminal, END or a rule's name: the state to go to
    (shift, goto), or -1 - the number of the rule to reduce first; state 0 is the start. rules: name
    and length of each rule. end_state: the state in which the text may end. has_conflicts: whether
    a shift/reduce conflict was settled, so that one of two parses of a text was dropped.
    may_get_stuck: whether because of that a text may be left that nothing finishes. has_dead_ends:
    whether some alternatives that the tables know lead to no text.
    """

    END: ClassVar[str] = "$END"

    actions: tuple[Mapping[str, int], ...]
    rules: tuple[tuple[str, int], ...]
    end_state: int
    has_conflicts: bool
    may_get_stuck: bool
    has_dead_ends: bool = False

    @property
    def terminals(self) -> set[str]:
        """The names that are read, that of the end of the text among them."""
        return {name for step in self.actions for name in step} - {name for name, _ in self.rules}


@dataclass(frozen=True)
class Variants:
    """What became of the terminals of a grammar with lookbehinds (see `lookaround.split_rules`).

    Each terminal is split by the *prefix state*, the state of a DFA over the text before it that
    knows which lookbehinds hold there (see `lookaround.prefix_dfa`).

    by_state: for each terminal of the user's, and for IGNORED, by the prefix state before it: the
    terminals that it is there, each with the prefix state behind it.
    representative: for each rule one of those that differ from it only in the prefix state before.
    reads: pairs (pattern, literal), by their names before the split, where the pattern matches the
    literal at the start of a text.
    held: the prefix states behind which such a pattern does not match, so that the literal is not
    read. apart: pairs (what the pattern is there, the literal) where the former is never the
    latter. may_get_stuck: whether some of what is read may lead to where nothing can follow.
    """

    by_state: Mapping[str, Mapping[int, tuple[tuple[str, int], ...]]]
    representative: Mapping[str, str]
    reads: frozenset[tuple[str, str]] = frozenset()
    held: frozenset[int] = frozenset()
    apart: frozenset[tuple[str, str]] = frozenset()
    may_get_stuck: bool = False

    @property
    def skipped(self) -> set[str]:
        """The terminals that are ignored, in a grammar that has rules for what is ignored."""
        return {name for found in self.by_state[IGNORED].values() for name, _ in found}


@dataclass(frozen=True)
class Capture:
    """What is captured of a rule or terminal.

    name: of the text, "" where it is not captured. Where the text has two parts, of `body` and of
    `marker`, it is the first alone; marker_name: of the second, "" where it is not captured. hides:
    whether the captures around it are without the second, too.
    """

    name: str
    marker_name: str = ""
    body: Regex | None = None
    marker: Regex | None = None
    hides: bool = False


@dataclass(frozen=True)
class Grammar:
    """A context-free grammar over terminals.

    start: a rule. ignore: terminals that may stand before, between and after all others, any number
    of times. layout: None, or how indentation makes terminals. lalr: None, or the LALR parser whose
    state says which terminals the lexer looks for. variants: None, or how terminals were split by
    the text before them. final: "", or a terminal that the end of the text stands for where it is
    missing. captures: what is captured, by rule or terminal.
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
    captures: Mapping[str, Capture] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.lexing not in LEXINGS:
            raise SpecError(f"lexing is {self.lexing!r}", expected=" or ".join(LEXINGS))
        if self.start not in self.rules:
            raise SpecError(
                f"there is no rule {self.start!r}",
                expected=f"a rule to start from, as {self.start!r}",
                hint="add it, or name another start",
            )

    def source_rule(self, name: str) -> str:
        """The rule of the user's to which a rule belongs."""
        rule = self.rules.get(name)
        return rule.source_rule or name if rule is not None else name

    def inner_first(self) -> list[str]:
        """The names of all rules, those that a rule uses before it where no rule uses itself."""
        found: dict[str, None] = {}
        begun: set[str] = set()
        todo = [(name, False) for name in reversed([*self.rules])]
        while todo:
            name, is_done = todo.pop()
            if is_done:
                found[name] = None
            elif name not in begun:
                begun.add(name)
                todo.append((name, True))
                used = dict.fromkeys(chain.from_iterable(self.rules[name].alternatives))
                todo += [(part, False) for part in used if part in self.rules]
        return list(found)

    def in_larks_order(self) -> list[Terminal]:
        """The terminals in the order of priority of Lark's contextual lexer, the first wins."""
        return sorted(
            self.terminals.values(),
            key=lambda t: (
                -t.priority,
                -t.max_width,
                -t.pattern_length,
                t.origin or t.name,
                t.name,
            ),
        )


@runtime_checkable
class HasRules(Protocol):
    """A spec that is a grammar, which another grammar can take in as rules of its own."""

    def as_rules(self) -> Grammar | None:
        """The rules; None where its lexing is not that of the other."""
