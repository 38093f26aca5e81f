"""In: a grammar whose terminals look behind. Out: the same without, its rules told apart by it.

Each terminal is split by the kind of the text before it and the kind that it leaves, and so is each
rule (Y. Bar-Hillel, M. Perles and E. Shamir, 1961), as far as such texts lead to it. What is
ignored changes the text before, too, so it becomes rules: any number of such terminals at the
beginning and behind each other terminal.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from structgen.automaton.regex import Regex, intersect
from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.grammar.histories import History
from structgen.grammar.ir import IGNORED, Alternative, Grammar, Rule, Terminal, Variants
from structgen.grammar.python_language import before
from structgen.grammar.python_regex import Node, reaching
from structgen.grammar.terminal_patterns import matches_behind

MAX_PLACES = 150_000  # in rules, each counted for the kinds of text it is told apart by
_WAYS = 8  # that lead to such a place, looked at for each of them, on average

_Ways = dict[int, list[Alternative]]  # what can be read, by the kind of text that it leaves
_Item = tuple[str, int, Alternative, int, int]  # rule, kind before, alternative, place, kind there


class Product:
    """The terminals and rules of a grammar, told apart by the text before."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._wanted = {
            terminal.name: list(dict.fromkeys(map(before, reaching(terminal.behind))))
            for terminal in grammar.terminals.values()
            if terminal.behind is not None
        }
        self._history = History(list(dict.fromkeys(chain(*self._wanted.values()))))
        self._skips: dict[int, _Ways] = {}
        self._split: dict[str, list[list[tuple[str, int]]]] = {}
        self._terminals: dict[str, Terminal] = {}
        self._met: dict[str, dict[int, list[tuple[str, int]]]] = {IGNORED: {}}
        self._exits: dict[tuple[str, int], dict[int, None]] = {}
        self._rules: dict[str, Rule] = {}
        self._rests: dict[tuple[Alternative, int, int], str] = {}
        self._alike: dict[tuple[str | Alternative, int], str] = {}
        self._one_of: dict[str, str] = {}
        self._size = 0

    def grammar(self) -> Grammar:
        """The grammar."""
        start = self._grammar.start
        first = self._skipped(0)
        for kind in first:
            self._explore(start, kind)
        for (name, kind), lasts in self._exits.items():
            for last in lasts:
                self._add_rule(self._grammar.rules[name], kind, last)
        beginnings = [
            (*skip, _named(start, kind, last))
            for kind, skips in first.items()
            for skip in skips
            for last in self._exits[start, kind]
        ]
        if not beginnings:
            place = self._grammar.rules[start].place
            raise UnsatisfiableSchemaError(
                f"no text fits the rule {start!r}",
                location=str(place or ""),
                expected="terminals that can stand behind one another",
                hint="look at what their lookbehinds (^, \\b, ...) want in front of them",
            )
        self._rules[start] = replace(self._grammar.rules[start], alternatives=tuple(beginnings))
        met = {
            name: {kind: tuple(found) for kind, found in ways.items()}
            for name, ways in self._met.items()
        }
        return Grammar(start, self._rules, self._terminals, variants=Variants(met, self._one_of))

    # -- terminals ------------------------------------------------------------------------------

    def _variants(self, name: str, kind: int) -> list[tuple[str, int]]:
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
        return found[kind]

    def _by_ends(self, terminal: Terminal) -> list[list[tuple[str, int]]]:
        """The same for all kinds of text, for a terminal that does not look behind."""
        kinds = range(self._history.count)
        ways = sorted(self._history.ways(terminal.language, kinds))
        alike: dict[tuple[int, ...], int] = {}
        found = []
        for kind in kinds:
            lasts = tuple(way[kind] for way in ways)
            found.append(self._by_last(terminal, alike.setdefault(lasts, kind), lasts))
        return found

    def _by_pattern(self, terminal: Terminal, pattern: Node) -> list[list[tuple[str, int]]]:
        """The same for one that looks behind."""
        known: dict[tuple[Regex, ...], Terminal] = {}
        found = []
        for kind in range(self._history.count):
            history = self._history.behind(kind, self._wanted[terminal.name])
            rests = tuple(history.values())
            if rests not in known:
                matches = matches_behind(pattern, history)
                known[rests] = replace(
                    terminal,
                    name=f"{terminal.name}@{kind}",
                    language=matches.language,
                    longer=matches.longer,
                    ahead=matches.ahead,
                    behind=None,
                    shown=str(terminal),
                )
            one = known[rests]
            lasts = tuple(last for [last] in sorted(self._history.ways(one.language, [kind])))
            found.append(self._by_last(one, kind, lasts))
        return found

    def _by_last(
        self, terminal: Terminal, kind: int, lasts: tuple[int, ...]
    ) -> list[tuple[str, int]]:
        """A terminal behind a kind of text, split by the kinds that its texts leave."""
        several = len(set(lasts)) > 1
        found = []
        for last in sorted(set(lasts)):
            one = terminal
            if several:
                language = intersect(terminal.language, self._history.leading(kind, last))
                name = _named(terminal.name, kind, last)
                one = replace(terminal, name=name, language=language, shown=str(terminal))
            self._terminals.setdefault(one.name, one)
            found.append((one.name, last))
        return found

    def _read(self, name: str, kind: int) -> _Ways:
        """What a terminal or rule can be behind a kind of text, and what is ignored behind it."""
        if name in self._grammar.rules:
            lasts = self._exits[name, kind]
            return {last: [(_named(name, kind, last),)] for last in lasts}
        found: _Ways = {}
        variants = self._met.setdefault(name, {}).setdefault(kind, self._variants(name, kind))
        for variant, left in variants:
            for last, skips in self._skipped(left).items():
                found.setdefault(last, []).extend((variant, *skip) for skip in skips)
        return found

    def _skipped(self, kind: int) -> _Ways:
        """What is ignored behind a kind of text: a rule for each kind that it leaves."""
        if kind in self._skips:
            return self._skips[kind]
        lasts: dict[int, list[Alternative]] = {kind: [()]}
        met, todo = self._met[IGNORED], [kind]
        for at in todo:
            variants = [pair for name in self._grammar.ignore for pair in self._variants(name, at)]
            met.setdefault(at, variants)
            for variant, last in variants:
                if last not in lasts:
                    lasts[last] = []
                    todo.append(last)
                lasts[last].append((_named(IGNORED, kind, at), variant))
        found = self._skips[kind] = {}
        for last, alternatives in lasts.items():
            name = _named(IGNORED, kind, last)
            self._add(Rule(name, tuple(alternatives), written=IGNORED), IGNORED, last)
            found[last] = [() if alternatives == [()] else (name,)]
        return found

    # -- rules ----------------------------------------------------------------------------------

    def _explore(self, start: str, kind: int) -> None:
        """Find the kinds of text that rules are read behind, and those that they leave."""
        waiting: dict[tuple[str, int], list[_Item]] = {}
        todo: list[_Item] = []
        seen: set[_Item] = set()

        def call(name: str, kind: int) -> None:
            if (name, kind) not in self._exits:
                self._exits[name, kind] = {}
                alternatives = self._grammar.rules[name].alternatives
                todo.extend((name, kind, parts, 0, kind) for parts in alternatives)

        call(start, kind)
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen.add(item)
            _check_size(len(seen) // _WAYS)
            name, first, parts, place, at = item
            if place == len(parts):
                if at not in self._exits[name, first]:
                    self._exits[name, first][at] = None
                    callers = waiting.get((name, first), ())
                    todo += [(*caller[:3], caller[3] + 1, at) for caller in callers]
                continue
            part = parts[place]
            if part in self._grammar.rules:
                call(part, at)
                waiting.setdefault((part, at), []).append(item)
            todo += [(name, first, parts, place + 1, last) for last in self._read(part, at)]

    def _add_rule(self, rule: Rule, kind: int, last: int) -> None:
        """A rule for the texts that lead from one kind of text to another."""
        name, written = _named(rule.name, kind, last), rule.written or rule.name
        found: dict[Alternative, None] = {}
        for parts in rule.alternatives:
            found |= dict.fromkeys(self._alternatives(parts, kind, last, written))
        self._add(Rule(name, tuple(found), written, rule.place), rule.name, last)

    def _add(self, rule: Rule, of: str | Alternative, last: int) -> None:
        """Add the rule for the texts of a rule or sequence that leave a kind of text."""
        self._rules[rule.name] = rule
        self._size += sum(map(len, rule.alternatives))
        _check_size(self._size)
        self._one_of[rule.name] = self._alike.setdefault((of, last), rule.name)

    def _alternatives(
        self, parts: Alternative, kind: int, last: int, written: str
    ) -> list[Alternative]:
        """The ways from one kind of text to another through a sequence.

        What several ways may lead through is a rule of its own, so that they do not multiply.
        """
        forward = [{kind}]
        for part in parts:
            forward.append({to for at in forward[-1] for to in self._read(part, at)})
        behind: dict[int, list[Alternative]] = {last: [()]} if last in forward[-1] else {}
        for place in range(len(parts) - 1, -1, -1):
            tails = {
                at: ways[0] if len(ways) == 1 else (self._rest(parts[place + 1 :], at, last),)
                for at, ways in behind.items()
            }
            for at, ways in behind.items():
                if len(ways) > 1 and tails[at][0] not in self._rules:
                    rule = Rule(tails[at][0], tuple(ways), written)
                    self._add(rule, parts[place + 1 :], last)
            behind = {}
            for at in sorted(forward[place]):
                for to, heads in self._read(parts[place], at).items():
                    if to in tails:
                        behind.setdefault(at, []).extend((*head, *tails[to]) for head in heads)
        return behind.get(kind, [])

    def _rest(self, parts: Alternative, kind: int, last: int) -> str:
        """The name of the rule for the end of a sequence."""
        number = len(self._rests)
        return self._rests.setdefault((parts, kind, last), f"#{number}")


def _check_size(places: int) -> None:
    if places > MAX_PLACES:
        raise BudgetError(
            f"the rules have more than {MAX_PLACES} places where lookbehinds tell apart what may"
            " stand before them",
            hint="use shorter lookbehinds, or fewer",
        )


def _named(name: str, kind: int, last: int) -> str:
    """How a rule or terminal is called where it leads from one kind of text to another."""
    return f"{name}[{kind},{last}]"
