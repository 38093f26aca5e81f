"""Splits terminals by the prefix states before and behind them.

Behind each prefix state a terminal with a lookbehind is another pattern; and each terminal is split
by the prefix state that its texts lead to. An ordered lexer also looks for terminals that match
nothing there; and a literal that Lark's lexer leaves to a pattern is not read behind texts where
the pattern matches something else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.lookaround.lookahead import of_terminal
from structgen.grammar.lookaround.prefix_dfa import PrefixDfa
from structgen.grammar.terminals.literals import check_told_apart, reads_whole
from structgen.grammar.terminals.patterns import matches_behind
from structgen.grammar.terminals.python_language import lookbehind_language
from structgen.grammar.terminals.python_regex import Node, outside_lookbehinds
from structgen.regular.regex import EMPTY, Regex, alt, complement, intersect

NO_PREFIX = -1  # the prefix state behind a placeholder: nothing follows there

Variant = tuple[str, int]  # a part of a terminal, and the prefix state behind it


class SplitTerminals:
    """The terminals of a grammar, split by prefix states.

    made: the parts, by name. reads: see `ir.Variants`.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._wanted = {
            terminal.name: list(
                dict.fromkeys(map(lookbehind_language, outside_lookbehinds(terminal.lookbehind)))
            )
            for terminal in grammar.terminals.values()
            if terminal.lookbehind is not None
        }
        self._prefix_dfa = PrefixDfa(list(dict.fromkeys(chain(*self._wanted.values()))))
        self._split: dict[str, list[list[Variant]]] = {}
        self._behind: dict[tuple[str, tuple[Regex, ...]], Terminal] = {}
        self._backs: dict[Variant, list[Terminal]] = {}
        self.made: dict[str, Terminal] = {}
        self.reads = self._words() if grammar.lexing != "free" else frozenset()

    def variants(self, name: str, prefix: int) -> list[Variant]:
        """The parts of a terminal in a prefix state, each with the prefix state behind it."""
        found = self._split.get(name)
        if found is None:
            terminal = self._grammar.terminals[name]
            found = (
                self._by_ends(terminal)
                if terminal.lookbehind is None
                else self._by_pattern(terminal, terminal.lookbehind)
            )
            self._split[name] = found
        return found[prefix]

    def looked_for(self, name: str, prefix: int) -> list[Variant]:
        """`variants`, and the placeholder of a terminal that only withholds literals."""
        return self.variants(name, prefix) + self.placeholders(name, prefix)

    def placeholders(self, name: str, prefix: int, *, stuck: bool = False) -> list[Variant]:
        """The stand-in for a terminal that is looked for in a prefix state but matches nothing.

        It keeps literals from being read; with `stuck` it is made also where there are none.
        """
        withheld_literals = self.withheld_literals(name, prefix)
        if not (withheld_literals or (stuck and not self.variants(name, prefix))):
            return []
        terminal = self._grammar.terminals[name]
        one = Terminal(
            f"{name}@{prefix}!" if withheld_literals else f"{name}!",
            EMPTY,
            alt(*(literal.language for literal in withheld_literals)),
            origin=name,
            flags=terminal.flags,
            priority=terminal.priority,
            shown=str(terminal),
        )
        self.made.setdefault(one.name, one)
        return [(one.name, NO_PREFIX)]

    def withheld_literals(self, name: str, prefix: int) -> list[Terminal]:
        """The literals that only this terminal would read, but does not in this prefix state."""
        found = self._backs.get((name, prefix))
        if found is None:
            found = self._backs[name, prefix] = self._withheld_literals(name, prefix)
        return found

    def held(self, prefixes: Iterable[int]) -> frozenset[int]:
        """The prefix states, of some, in which literals are withheld."""
        names = {name for name, _ in self.reads}
        return frozenset(
            prefix
            for prefix in prefixes
            if any(self.withheld_literals(name, prefix) for name in names)
        )

    def apart(self, prefixes: Iterable[int]) -> tuple[frozenset[tuple[str, str]], bool]:
        """Pairs (part, literal withheld beside it) whose languages are disjoint; are all pairs?"""
        pairs = {
            (variant, literal.name): intersect(self.made[variant].language, literal.language)
            for name in {name for name, _ in self.reads}
            for prefix in prefixes
            for literal in self.withheld_literals(name, prefix)
            for variant, _ in self.variants(name, prefix)
        }
        found = frozenset(pair for pair, both in pairs.items() if both.is_empty())
        return found, len(found) == len(pairs)

    def check_words(self, prefixes: Iterable[int]) -> None:
        """Raise UnsupportedSchemaError where a literal cannot be told from a pattern before it."""
        order = {one.name: i for i, one in enumerate(self._grammar.in_larks_order())}
        for name, word in sorted(self.reads):
            pattern, literal = self._grammar.terminals[name], self._grammar.terminals[word]
            if not literal.flags <= pattern.flags and order[name] < order[word]:
                for prefix in prefixes:
                    one = self._behind_text(pattern, pattern.lookbehind, prefix)
                    automata = (of_terminal(of, ordered=True) for of in (literal, one))
                    check_told_apart(literal, one, *automata)

    def _by_ends(self, terminal: Terminal) -> list[list[Variant]]:
        """The parts in each prefix state of a terminal without lookbehinds."""
        prefixes = range(self._prefix_dfa.count)
        ways = sorted(self._prefix_dfa.ways(terminal.language, prefixes))
        alike: dict[tuple[int, ...], int] = {}
        found = []
        for prefix in prefixes:
            lasts = tuple(way[prefix] for way in ways)
            found.append(self._by_last(terminal, alike.setdefault(lasts, prefix), lasts))
        return found

    def _by_pattern(self, terminal: Terminal, pattern: Node) -> list[list[Variant]]:
        """The parts in each prefix state of a terminal with lookbehinds."""
        found = []
        for prefix in range(self._prefix_dfa.count):
            one = self._behind_text(terminal, pattern, prefix)
            lasts = tuple(last for [last] in sorted(self._prefix_dfa.ways(one.language, [prefix])))
            found.append(self._by_last(one, prefix, lasts))
        return found

    def _behind_text(self, terminal: Terminal, pattern: Node | None, prefix: int) -> Terminal:
        """What a terminal is in a prefix state. pattern: its pattern, if that looks behind."""
        if pattern is None:
            return terminal
        residuals = self._prefix_dfa.behind(prefix, self._wanted[terminal.name])
        key = (terminal.name, tuple(residuals.values()))
        if key not in self._behind:
            matches = matches_behind(pattern, residuals)
            self._behind[key] = replace(
                terminal,
                name=f"{terminal.name}@{prefix}",
                language=matches.language,
                longer=matches.longer,
                lookahead=matches.lookahead,
                lookbehind=None,
                origin=terminal.name,
                shown=str(terminal),
            )
        return self._behind[key]

    def _by_last(self, terminal: Terminal, prefix: int, lasts: tuple[int, ...]) -> list[Variant]:
        """A terminal in a prefix state, split by the states that its texts lead to (`lasts`)."""
        several = len(set(lasts)) > 1
        found = []
        for last in sorted(set(lasts)):
            one = terminal
            if several:
                language = intersect(terminal.language, self._prefix_dfa.leading(prefix, last))
                name = split_name(terminal.name, prefix, last)
                origin = terminal.origin or terminal.name
                one = replace(
                    terminal, name=name, language=language, origin=origin, shown=str(terminal)
                )
            self.made.setdefault(one.name, one)
            found.append((one.name, last))
        return found

    def _words(self) -> frozenset[tuple[str, str]]:
        """The patterns with the literals that they match at the start of a text."""
        terminals = self._grammar.terminals.values()
        return frozenset(
            (pattern.name, literal.name)
            for pattern in terminals
            for literal in terminals
            if pattern.text is None
            and literal.text is not None
            and pattern.priority == literal.priority
            and _reads(self._behind_text(pattern, pattern.lookbehind, 0), literal.text)
        )

    def _withheld_literals(self, name: str, prefix: int) -> list[Terminal]:
        pattern = self._grammar.terminals[name]
        if pattern.lookbehind is None:
            return []
        one = self._behind_text(pattern, pattern.lookbehind, prefix)
        literals = (self._grammar.terminals[word] for of, word in self.reads if of == name)
        return [
            literal
            for literal in sorted(literals, key=lambda literal: literal.name)
            if literal.flags <= pattern.flags
            and not (
                _reads(one, str(literal.text))
                and intersect(literal.language, complement(one.language)).is_empty()
            )
        ]


def _reads(terminal: Terminal, text: str) -> bool:
    """Whether a terminal matches all of a text by itself."""
    return reads_whole(of_terminal(terminal, ordered=True), text)


def split_name(name: str, prefix: int, last: int) -> str:
    """The name of the part of a rule or terminal that leads from one prefix state to another."""
    return f"{name}[{prefix},{last}]"
