"""In: terminals, some of which look at the text before. Out: what they are behind each kind of it.

Each is split by what it matches behind a kind of text, and by the kind that it leaves. An ordered
lexer also looks for terminals that match nothing there; and a literal that Lark's lexer leaves to a
pattern is not read behind texts where the pattern matches something else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from structgen.grammar.automaton.tables import in_larks_order
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.lookaround.prefix_dfa import PrefixDfa
from structgen.grammar.terminals.automata import of_terminal
from structgen.grammar.terminals.literals import check_told_apart, reads_whole
from structgen.grammar.terminals.patterns import matches_behind
from structgen.grammar.terminals.python_language import lookbehind_language
from structgen.grammar.terminals.python_regex import Node, outside_lookbehinds
from structgen.regular.regex import EMPTY, Regex, alt, complement, intersect

NO_PREFIX = -1  # the kind of text behind what is looked for and matches nothing

Variant = tuple[str, int]  # a terminal, and the kind of text that it leaves


class SplitTerminals:
    """The terminals of a grammar, told apart by the text before.

    made: those that they have become, by name. reads: see `Variants`.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._wanted = {
            terminal.name: list(
                dict.fromkeys(map(lookbehind_language, outside_lookbehinds(terminal.behind)))
            )
            for terminal in grammar.terminals.values()
            if terminal.behind is not None
        }
        self._prefix_dfa = PrefixDfa(list(dict.fromkeys(chain(*self._wanted.values()))))
        self._split: dict[str, list[list[Variant]]] = {}
        self._behind: dict[tuple[str, tuple[Regex, ...]], Terminal] = {}
        self._backs: dict[Variant, list[Terminal]] = {}
        self.made: dict[str, Terminal] = {}
        self.reads = self._words() if grammar.lexing != "free" else frozenset()

    def variants(self, name: str, prefix: int) -> list[Variant]:
        """The terminals that one of the user's is behind a kind of text, with what they leave."""
        found = self._split.get(name)
        if found is None:
            terminal = self._grammar.terminals[name]
            found = (
                self._by_ends(terminal)
                if terminal.behind is None
                else self._by_pattern(terminal, terminal.behind)
            )
            self._split[name] = found
        return found[prefix]

    def looked_for(self, name: str, prefix: int) -> list[Variant]:
        """The same with what stands for it where it is looked for only to keep literals back."""
        return self.variants(name, prefix) + self.placeholders(name, prefix)

    def placeholders(self, name: str, prefix: int, *, stuck: bool = False) -> list[Variant]:
        """What stands for a terminal that is looked for behind a kind of text and matches nothing.

        And so keeps literals from being read; if `stuck`, also where there are none.
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
        """The literals that only a terminal reads, but not behind this kind of text."""
        found = self._backs.get((name, prefix))
        if found is None:
            found = self._backs[name, prefix] = self._withheld_literals(name, prefix)
        return found

    def held(self, prefixes: Iterable[int]) -> frozenset[int]:
        """The kinds of text, of some, behind which there are such literals."""
        names = {name for name, _ in self.reads}
        return frozenset(
            prefix
            for prefix in prefixes
            if any(self.withheld_literals(name, prefix) for name in names)
        )

    def apart(self, prefixes: Iterable[int]) -> tuple[frozenset[tuple[str, str]], bool]:
        """The terminals behind some kinds of text, with such literals there that they never are.

        By their names now and before. And whether they never are any of them.
        """
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
        order = {one.name: i for i, one in enumerate(in_larks_order(self._grammar))}
        for name, word in sorted(self.reads):
            pattern, literal = self._grammar.terminals[name], self._grammar.terminals[word]
            if not literal.flags <= pattern.flags and order[name] < order[word]:
                for prefix in prefixes:
                    one = self._behind_text(pattern, pattern.behind, prefix)
                    automata = (of_terminal(of, ordered=True) for of in (literal, one))
                    check_told_apart(literal, one, *automata)

    def _by_ends(self, terminal: Terminal) -> list[list[Variant]]:
        """The same for all kinds of text, for a terminal that does not look behind."""
        prefixes = range(self._prefix_dfa.count)
        ways = sorted(self._prefix_dfa.ways(terminal.language, prefixes))
        alike: dict[tuple[int, ...], int] = {}
        found = []
        for prefix in prefixes:
            lasts = tuple(way[prefix] for way in ways)
            found.append(self._by_last(terminal, alike.setdefault(lasts, prefix), lasts))
        return found

    def _by_pattern(self, terminal: Terminal, pattern: Node) -> list[list[Variant]]:
        """The same for one that looks behind."""
        found = []
        for prefix in range(self._prefix_dfa.count):
            one = self._behind_text(terminal, pattern, prefix)
            lasts = tuple(last for [last] in sorted(self._prefix_dfa.ways(one.language, [prefix])))
            found.append(self._by_last(one, prefix, lasts))
        return found

    def _behind_text(self, terminal: Terminal, pattern: Node | None, prefix: int) -> Terminal:
        """What a terminal is behind a kind of text. pattern: where it looks behind."""
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
                ahead=matches.ahead,
                behind=None,
                origin=terminal.name,
                shown=str(terminal),
            )
        return self._behind[key]

    def _by_last(self, terminal: Terminal, prefix: int, lasts: tuple[int, ...]) -> list[Variant]:
        """A terminal behind a kind of text, split by the kinds that its texts leave."""
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
        """The patterns with the literals that they match where nothing stands before them."""
        terminals = self._grammar.terminals.values()
        return frozenset(
            (pattern.name, literal.name)
            for pattern in terminals
            for literal in terminals
            if pattern.text is None
            and literal.text is not None
            and pattern.priority == literal.priority
            and _reads(self._behind_text(pattern, pattern.behind, 0), literal.text)
        )

    def _withheld_literals(self, name: str, prefix: int) -> list[Terminal]:
        pattern = self._grammar.terminals[name]
        if pattern.behind is None:
            return []
        one = self._behind_text(pattern, pattern.behind, prefix)
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
    """How a rule or terminal is called where it leads from one kind of text to another."""
    return f"{name}[{prefix},{last}]"
