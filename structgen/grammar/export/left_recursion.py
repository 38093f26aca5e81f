r"""Takes left recursion out of rules, which llama.cpp does not read.

Only rules that can begin with themselves are changed, by the left-corner transform (D. Rosenkrantz
and P. Lewis, 1970) over their group, the rules that lead to each other that way. For A and B of a
group, A\B is what is left of an A that has begun with a B: it may end where B is A, and goes on
with `tail` and A\D for each rule D -> B tail. Empty texts are apart: in a group each rule is
written without the empty text, and is optional where it is used. (`transforms.left_corner` does
this for the parser, to items; here rules with names are wanted, and as few new ones as can be.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from structgen.grammar.expressions import NOTHING, Expression, Name, choice, repeated, sequence
from structgen.grammar.ir import Alternative

Alternatives = Mapping[str, Sequence[Alternative]]
Piece = Callable[[str], Expression]  # the expression of a rule or terminal by its name
NewRule = Callable[[str], str]  # the name of a new rule, like another


class LeftRecursion:
    """Writes rules, those that can begin with themselves without doing so.

    piece: what stands for a symbol. define: says what a new rule is. nullable: the rules that have
    the empty text.
    """

    def __init__(
        self,
        rules: Alternatives,
        piece: Piece,
        new_rule: NewRule,
        define: Callable[[str, Expression], None],
    ) -> None:
        self._rules = _without_empty_symbols(rules)
        self._piece = piece
        self._new_rule = new_rule
        self._define = define
        self.nullable = _fixed_point(self._rules, lambda found, a: found.issuperset(a))
        self._group_of = _groups(self._rules, self.nullable)
        self._filled: dict[str, str] = {}  # the rule of the texts of a rule that are not empty
        self._todo: list[Callable[[], None]] = []
        self._rests: dict[tuple[str, str], str] = {}

    def body(self, name: str) -> Expression:
        """What a rule is."""
        group = self._group_of.get(name, frozenset())
        if not group:
            return self._either(self._rules[name])
        again = [a[1:] for a in self._rules[name] if a[:1] == (name,) and a[1:]]
        others = [a for a in self._rules[name] if a[:1] != (name,)]
        plain = not any(symbol in group for a in others for symbol, _ in self._first(a))
        if plain and not any(map(self.nullable.issuperset, again)):
            return sequence(self._either(others), repeated(self._either(again), 0, None))
        filled = self._filled_name(name)
        while self._todo:
            self._todo.pop()()
        return repeated(Name(filled), 0, 1) if name in self.nullable else Name(filled)

    def _either(self, alternatives: Sequence[Alternative]) -> Expression:
        return choice(*map(self._row, alternatives))

    def _row(self, symbols: Alternative) -> Expression:
        return sequence(*map(self._piece, symbols))

    def _first(self, symbols: Alternative) -> Iterator[tuple[str, Alternative]]:
        """The first symbol whose text is not empty, whichever that can be, and what follows it."""
        for i, symbol in enumerate(symbols):
            yield symbol, symbols[i + 1 :]
            if symbol not in self.nullable:
                return

    def _filled_name(self, name: str) -> str:
        """The rule of the texts of a rule that are not empty."""
        if name not in self._filled:
            self._filled[name] = self._new_rule(name)
            self._todo.append(lambda: self._write_filled(name))
        return self._filled[name]

    def _filled_row(self, symbol: str, tail: Alternative) -> Expression:
        """A text of a symbol that is not empty, then what follows it."""
        empty = symbol in self.nullable
        first = Name(self._filled_name(symbol)) if empty else self._piece(symbol)
        return sequence(first, self._row(tail))

    def _write_filled(self, name: str) -> None:
        group = self._group_of.get(name, frozenset())
        ways = []
        for rule in sorted(group) or [name]:
            rest = self._rest(name, rule) if group else NOTHING
            for alternative in self._rules[rule]:
                for symbol, tail in self._first(alternative):
                    if symbol not in group:
                        ways.append(sequence(self._filled_row(symbol, tail), rest))
        self._define(self._filled[name], choice(*ways))

    def _rest(self, whole: str, begun: str) -> Expression:
        """What is left of a rule that has begun with another one of its group."""
        key = whole, begun
        if key not in self._rests:
            self._rests[key] = self._new_rule(f"{whole}-rest")
            self._todo.append(lambda: self._write_rest(whole, begun))
        return Name(self._rests[key])

    def _write_rest(self, whole: str, begun: str) -> None:
        reached, todo = {begun}, [begun]  # with nothing more read
        ways: list[Expression] = []
        while todo:
            at = todo.pop()
            for rule in sorted(self._group_of[whole]):
                tails = [t for a in self._rules[rule] for s, t in self._first(a) if s == at]
                if rule not in reached and any(map(self.nullable.issuperset, tails)):
                    reached.add(rule)
                    todo.append(rule)
                rows = [self._filled_row(*first) for tail in tails for first in self._first(tail)]
                ways += [sequence(row, self._rest(whole, rule)) for row in rows]
        ends = [NOTHING] if whole in reached else []
        self._define(self._rests[whole, begun], choice(*ways, *ends))


def _without_empty_symbols(rules: Alternatives) -> dict[str, list[Alternative]]:
    """The rules without the symbols that have no text but the empty one."""
    filled = _fixed_point(rules, lambda found, a: any(s in found or s not in rules for s in a))
    return {
        name: [*dict.fromkeys(tuple(s for s in a if s in filled or s not in rules) for a in listed)]
        for name, listed in rules.items()
    }


def _fixed_point(rules: Alternatives, holds: Callable[[set[str], Alternative], bool]) -> set[str]:
    """The least set of rules of which some alternative holds, given the set."""
    found: set[str] = set()
    while True:
        more = {n for n, a in rules.items() if n not in found and any(holds(found, x) for x in a)}
        if not more:
            return found
        found |= more


def _groups(rules: Alternatives, nullable: set[str]) -> dict[str, frozenset[str]]:
    """For each rule that can begin with itself, the rules that can and that it can begin with."""
    begins: dict[str, set[str]] = {}
    for name, alternatives in rules.items():
        begins[name] = set()
        for alternative in alternatives:
            for symbol in alternative:
                if symbol in rules:
                    begins[name].add(symbol)
                if symbol not in nullable:
                    break
    reach = {name: _reached(name, begins) for name in rules}
    return {
        name: frozenset(other for other in found if name in reach[other])
        for name, found in reach.items()
        if name in found
    }


def _reached(name: str, begins: Mapping[str, set[str]]) -> set[str]:
    """The rules that one can begin with, at some depth."""
    found: set[str] = set()
    todo = [*begins[name]]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += begins[at]
    return found
