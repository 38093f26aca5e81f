"""Splits rules by the text before them: the product of a grammar with its prefix DFA.

Each terminal is split by the prefix state before it and the one behind it (see `prefix_dfa`), and
so is each rule (Y. Bar-Hillel, M. Perles and E. Shamir, 1961), as far as such texts lead to it:
`rule[p,q]` has the texts of the rule that lead from prefix state p to q. What is ignored changes
the prefix state, too, so it becomes rules: any number of ignored terminals at the beginning and
behind each other terminal.

An ordered lexer looks for what the rules allow, whatever that leads to. So for it a terminal behind
which nothing can follow may have to be kept (`keeps_stuck`): it leads to the state NO_PREFIX.
"""

from __future__ import annotations

from dataclasses import replace

from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.grammar.ir import IGNORED, Alternative, Grammar, Rule, Variants
from structgen.grammar.lookaround.split_terminals import (
    NO_PREFIX,
    SplitTerminals,
    Variant,
    split_name,
)

MAX_PLACES = 150_000  # names in the alternatives of the split rules
_WAYS = 8  # items explored for each such place, on average

_Ways = dict[int, list[Alternative]]  # what can be read, by the prefix state behind it
# Rule, prefix state before it, alternative, place in the alternative, prefix state there.
_Item = tuple[str, int, Alternative, int, int]


class Product:
    """The terminals and rules of a grammar, split by the prefix states before and behind them."""

    def __init__(self, grammar: Grammar, *, keeps_stuck: bool = False) -> None:
        """keeps_stuck: whether what is read where nothing can follow it is kept."""
        self._grammar, self._keeps_stuck = grammar, keeps_stuck
        self.terminals = SplitTerminals(grammar)
        self._variants = self.terminals.variants
        self._skips: dict[int, _Ways] = {}
        self._met: dict[str, dict[int, list[Variant]]] = {IGNORED: {}}
        self._exits: dict[tuple[str, int], dict[int, None]] = {}
        self._waiting: dict[tuple[str, int], list[_Item]] = {}
        self._seen: set[_Item] = set()
        self._rules: dict[str, Rule] = {}
        self._rests: dict[tuple[Alternative, int, int], str] = {}
        self._alike: dict[tuple[str | Alternative, int], str] = {}
        self._one_of: dict[str, str] = {}
        self._size = 0

    def grammar(self) -> Grammar:
        """The split grammar. Raises UnsatisfiableSchemaError, BudgetError."""
        start = self._grammar.start
        first = dict(self._skipped(0))
        lost = first.pop(NO_PREFIX, [])
        for prefix in first:
            self._explore(start, prefix)
        for (name, prefix), lasts in self._exits.items():
            for last in lasts:
                self._add_rule(self._grammar.rules[name], prefix, last)
        beginnings = [
            (*skip, split_name(start, prefix, last))
            for prefix, skips in first.items()
            for skip in skips
            for last in self._exits[start, prefix]
        ]
        if not any(self._exits[start, prefix].keys() - {NO_PREFIX} for prefix in first):
            place = self._grammar.rules[start].place
            raise UnsatisfiableSchemaError(
                f"no text fits the rule {start!r}",
                location=str(place or ""),
                expected="terminals that can stand behind one another",
                hint="look at what their lookbehinds (^, \\b, ...) want in front of them",
            )
        self._rules[start] = replace(self._grammar.rules[start], alternatives=(*beginnings, *lost))
        lexing, variants = self._grammar.lexing, self.variants()
        return Grammar(start, self._rules, self.terminals.made, lexing=lexing, variants=variants)

    def variants(self) -> Variants:
        """What has become of the terminals."""
        met = {
            name: {prefix: tuple(found) for prefix, found in ways.items()}
            for name, ways in self._met.items()
        }
        return Variants(met, self._one_of, self.terminals.reads)

    @property
    def prefixes(self) -> list[int]:
        """The prefix states that are met."""
        met = {at for *_, at in self._seen} | self._met[IGNORED].keys()
        return sorted(met - {NO_PREFIX})

    # -- terminals ------------------------------------------------------------------------------

    def _read(self, name: str, prefix: int) -> _Ways:
        """The ways to read a terminal or rule in a prefix state, with what is ignored behind it."""
        if name in self._grammar.rules:
            lasts = self._exits[name, prefix]
            return {last: [(split_name(name, prefix, last),)] for last in lasts}
        found: _Ways = {}
        if self._grammar.lalr is not None and name in self._grammar.ignore:
            return found  # the lexer keeps it to itself
        variants = self._met.setdefault(name, {}).setdefault(
            prefix, self.terminals.variants(name, prefix)
        )
        if self._keeps_stuck and (
            placeholders := self.terminals.placeholders(name, prefix, stuck=True)
        ):
            found[NO_PREFIX] = [(one,) for one, _ in placeholders]
        for variant, left in variants:
            for last, skips in self._skipped(left).items():
                found.setdefault(last, []).extend((variant, *skip) for skip in skips)
        return found

    def _skipped(self, prefix: int) -> _Ways:
        """The ways to read what is ignored in a prefix state: a rule for each state it leads to."""
        if prefix in self._skips:
            return self._skips[prefix]
        lasts: dict[int, list[Alternative]] = {prefix: [()]}
        met, todo = self._met[IGNORED], [prefix]
        for at in todo:
            variants = [
                pair for name in self._grammar.ignore for pair in self.terminals.variants(name, at)
            ]
            met.setdefault(at, variants)
            for variant, last in variants:
                if last not in lasts:
                    lasts[last] = []
                    todo.append(last)
                lasts[last].append((split_name(IGNORED, prefix, at), variant))
            for name in self._grammar.ignore if self._keeps_stuck else ():
                if self.terminals.withheld_literals(name, at):
                    [(variant, last)] = self.terminals.placeholders(name, at)
                    lasts.setdefault(last, []).append((split_name(IGNORED, prefix, at), variant))
        found = self._skips[prefix] = {}
        for last, alternatives in lasts.items():
            name = split_name(IGNORED, prefix, last)
            self._add(Rule(name, tuple(alternatives), source_rule=IGNORED), IGNORED, last)
            found[last] = [() if alternatives == [()] else (name,)]
        return found

    # -- rules ----------------------------------------------------------------------------------

    def _explore(self, start: str, prefix: int) -> None:
        """Find the prefix states before and behind each rule, by memoised calls of rules."""
        waiting, seen = self._waiting, self._seen
        todo: list[_Item] = []

        def call(name: str, prefix: int) -> None:
            if (name, prefix) not in self._exits:
                self._exits[name, prefix] = {}
                alternatives = self._grammar.rules[name].alternatives
                todo.extend((name, prefix, parts, 0, prefix) for parts in alternatives)

        call(start, prefix)
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen.add(item)
            _check_size(len(seen) // _WAYS)
            name, first, parts, place, at = item
            if place == len(parts) or at == NO_PREFIX:
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

    def leads_on(self) -> bool:
        """Whether behind all that can be read some text can follow, whatever calls the rules.

        A greatest fixed point. An item leads on if its rule can end so that every item which waits
        for the rule leads on from there: the item that waits in fact lies on the stack, which has
        an end.
        """
        items = sorted(self._seen, key=lambda item: -item[3])
        fine = {key: set(lasts) for key, lasts in self._exits.items()}
        while True:
            alive: set[_Item] = set()
            for item in items:
                name, first, parts, place, at = item
                if place == len(parts):
                    leads = at in fine[name, first]
                else:
                    lasts = self._read(parts[place], at)
                    leads = any((name, first, parts, place + 1, to) in alive for to in lasts)
                if leads:
                    alive.add(item)
            count = sum(map(len, fine.values()))
            for key, waiting in self._waiting.items():
                fine[key] = {
                    to
                    for to in fine[key]
                    if all(_behind_part(item, to) in alive for item in waiting)
                }
            if count == sum(map(len, fine.values())):
                start = self._grammar.start
                return all(self._is_followed(item, alive) for item in items) and all(
                    any(fine.get((start, to)) for to in self._skipped(ignored))
                    for ignored in self._skipped(0)
                )

    def _is_followed(self, item: _Item, alive: set[_Item]) -> bool:
        """Whether an item leads on behind each terminal that is read there and what is ignored."""
        *_, parts, place, at = item
        if place == len(parts) or parts[place] in self._grammar.rules:
            return True
        return all(
            any(_behind_part(item, to) in alive for to in self._skipped(ignored))
            for _, left in self._met.get(parts[place], {}).get(at, ())
            for ignored in self._skipped(left)
        )

    def _add_rule(self, rule: Rule, prefix: int, last: int) -> None:
        """Add the rule for a rule's texts that lead from one prefix state to another."""
        name, source_rule = split_name(rule.name, prefix, last), rule.source_rule or rule.name
        found: dict[Alternative, None] = {}
        for parts in rule.alternatives:
            found |= dict.fromkeys(self._alternatives(parts, prefix, last, source_rule))
        self._add(Rule(name, tuple(found), source_rule, rule.place), rule.name, last)

    def _add(self, rule: Rule, of: str | Alternative, last: int) -> None:
        """Add a rule for the texts of a rule or sequence that lead to a prefix state.

        Rules that differ only in the state before have one representative.
        """
        self._rules[rule.name] = rule
        self._size += sum(map(len, rule.alternatives))
        _check_size(self._size)
        self._one_of[rule.name] = self._alike.setdefault((of, last), rule.name)

    def _alternatives(
        self, parts: Alternative, prefix: int, last: int, source_rule: str
    ) -> list[Alternative]:
        """The ways from one prefix state to another through a sequence.

        Where several ways share an end of the sequence, that becomes a rule of its own, so that the
        number of alternatives does not multiply.
        """
        forward = [{prefix}]
        for part in parts:
            starts = forward[-1] - {NO_PREFIX}
            forward.append({to for at in starts for to in self._read(part, at)})
        behind: dict[int, list[Alternative]] = {last: [()]} if last in forward[-1] else {}
        for place in range(len(parts) - 1, -1, -1):
            tails = {
                at: ways[0] if len(ways) == 1 else (self._rest(parts[place + 1 :], at, last),)
                for at, ways in behind.items()
            }
            for at, ways in behind.items():
                if len(ways) > 1 and tails[at][0] not in self._rules:
                    rule = Rule(tails[at][0], tuple(ways), source_rule)
                    self._add(rule, parts[place + 1 :], last)
            if last == NO_PREFIX:
                tails[last] = ()
            behind = {}
            for at in sorted(forward[place] - {NO_PREFIX}):
                for to, heads in self._read(parts[place], at).items():
                    if to in tails:
                        behind.setdefault(at, []).extend((*head, *tails[to]) for head in heads)
        return behind.get(prefix, [])

    def _rest(self, parts: Alternative, prefix: int, last: int) -> str:
        """The name of the rule for the end of a sequence."""
        number = len(self._rests)
        return self._rests.setdefault((parts, prefix, last), f"#{number}")


def _behind_part(item: _Item, prefix: int) -> _Item:
    """An item behind its next part, with the prefix state there."""
    name, first, parts, place, _ = item
    return name, first, parts, place + 1, prefix


def _check_size(places: int) -> None:
    if places > MAX_PLACES:
        raise BudgetError(
            f"the rules have more than {MAX_PLACES} places where lookbehinds tell apart what may"
            " stand before them",
            hint="use shorter lookbehinds, or fewer",
        )
