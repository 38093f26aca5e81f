"""From expressions to plain rules: spells out repetitions, names the terminals (BNF).

A repetition becomes left-recursive rules, which cost the parser the same at every place. A count
becomes rules that double: x{1000} needs ten rules, not a thousand, and x{0,1000} takes from each
power of two one or none, so that every number has exactly one derivation.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from structgen.errors import BudgetError, SpecError, UnsupportedSchemaError
from structgen.grammar.expressions import (
    Choice,
    Difference,
    Expression,
    Name,
    Nested,
    Repeat,
    Sequence,
    Text,
    without_empty,
)
from structgen.grammar.ir import (
    Alternative,
    Grammar,
    HasRules,
    Indentation,
    Lexing,
    Place,
    Rule,
    Terminal,
)
from structgen.regular.regex import EMPTY, EPSILON, Regex

if TYPE_CHECKING:
    from structgen.spec.base import Spec

MAX_COUNT = 1_000_000  # the greatest count of a repetition
MAX_RULES = 200_000  # rules of one grammar, helpers included


class Bnf:
    """A builder of grammars.

    inlines: whether the rules of nested grammars are taken over where that means the same.
    """

    def __init__(self, *, inlines: bool = False) -> None:
        self._inlines = inlines
        self.rules: dict[str, Rule] = {}
        self.terminals: dict[str, Terminal] = {}
        self._helpers: dict[Hashable, str] = {}
        self._texts: dict[Regex, str] = {}
        self._nested: dict[int, tuple[Spec, str]] = {}
        self._used: dict[str, tuple[str, Place | None]] = {}
        self._written = ""
        self._place: Place | None = None
        self._count = 0

    def add(self, name: str, expression: Expression, place: Place | None = None) -> None:
        """Define a rule. Raises SpecError if one of that name exists, BudgetError if too large."""
        if name in self.rules or name in self.terminals:
            raise SpecError(
                f"the rule {name!r} is defined twice",
                location=str(place) if place else "",
                hint="rename one of the two, or join them with '|'",
            )
        self._written, self._place, self._count = name, place, 0
        try:
            alternatives = self._alternatives(expression)
        except RecursionError as error:
            raise BudgetError(
                f"the rule {name!r} is nested too deeply",
                location=str(place) if place else "",
                hint="give its parts names of their own",
            ) from error
        self.rules[name] = Rule(name, alternatives, place=place)

    def grammar(
        self,
        start: str,
        ignore: tuple[str, ...] = (),
        lexing: Lexing = "free",
        layout: Indentation | None = None,
    ) -> Grammar:
        """The grammar of all that was added. Raises SpecError for a name that nothing defines."""
        for name, (rule, place) in self._used.items():
            if name not in self.rules and name not in self.terminals:
                raise SpecError(
                    f"{name!r} is used in rule {rule!r} but not defined",
                    location=str(place) if place else "",
                    expected="a rule or terminal of the grammar",
                    hint="define it, or correct the name",
                )
        return Grammar(start, self.rules, self.terminals, ignore, lexing, layout)

    def _alternatives(self, expression: Expression) -> tuple[Alternative, ...]:
        parts = expression.parts if isinstance(expression, Choice) else (expression,)
        found = dict.fromkeys(a for part in parts for a in self._sequences(part))
        return tuple(found)

    def _sequences(self, expression: Expression) -> list[Alternative]:
        """The alternatives of one part: two if it is regular and may be empty."""
        if isinstance(expression, Text):
            return self._text(expression)
        if isinstance(expression, Choice):
            return list(self._alternatives(expression))
        if isinstance(expression, Repeat):
            return self._repeat(expression)
        parts = expression.parts if isinstance(expression, Sequence) else (expression,)
        return [tuple(self._symbol(part) for part in parts)]

    def _text(self, text: Text) -> list[Alternative]:
        """The terminal for the non-empty texts of a regular part, and () if it may be empty."""
        found: list[Alternative] = [()] if text.language.nullable else []
        language = without_empty(text.language)
        if text.language is EPSILON:
            return found
        name = self._texts.get(language)
        if name is None:
            name = self._texts[language] = f"{self._written}/{len(self._texts)}"
            words = _non_empty(text.words) if found else text.words
            self.terminals[name] = Terminal(name, language, shown=words or self._written)
        return [(name,), *found]

    def _symbol(self, expression: Expression) -> str:
        """The one name (rule or terminal) that stands for a part of a sequence."""
        if isinstance(expression, Name):
            self._used.setdefault(expression.name, (self._written, expression.place))
            return expression.name
        if isinstance(expression, Nested):
            return self._nested_symbol(expression)
        if isinstance(expression, Difference):
            raise UnsupportedSchemaError(
                f"a difference in rule {self._written!r} of what is not regular is not supported",
                keyword="-",
                location=str(expression.place or ""),
                expected="rules without recursion on both sides of '-'",
            )
        alternatives = tuple(dict.fromkeys(self._sequences(expression)))
        if len(alternatives) == 1 and len(alternatives[0]) == 1:
            return alternatives[0][0]
        return self._helper(("is", alternatives), alternatives)

    def _nested_symbol(self, nested: Nested) -> str:
        """The name for a text of another spec."""
        spec = nested.spec
        known = self._nested.get(id(spec))
        if known is None:
            name = f"{self._written}/{spec.kind}{len(self._nested)}"
            rules = spec.as_rules() if self._inlines and isinstance(spec, HasRules) else None
            if rules is None:
                shown = f"{spec.kind} text"
                self.terminals[name] = Terminal(
                    name, EMPTY, nested=spec, shown=shown, place=nested.place
                )
            else:
                name = self._inline(rules, f"{name}:")
            known = self._nested[id(spec)] = (spec, name)
        return known[1]

    def _inline(self, grammar: Grammar, prefix: str) -> str:
        """Take over a grammar's rules and terminals, names prefixed: the name of its start."""
        for rule in grammar.rules.values():
            alternatives = tuple(tuple(prefix + name for name in a) for a in rule.alternatives)
            source_rule = rule.source_rule or rule.name
            name = prefix + rule.name
            self.rules[name] = Rule(name, alternatives, source_rule, rule.place)
        for terminal in grammar.terminals.values():
            self.terminals[prefix + terminal.name] = replace(
                terminal, name=prefix + terminal.name, shown=str(terminal)
            )
        return prefix + grammar.start

    def _helper(self, key: Hashable, alternatives: tuple[Alternative, ...]) -> str:
        """The helper rule with these alternatives, made once for each key."""
        name = self._helpers.get(key)
        if name is None:
            name = self._new_name(key)
            self.rules[name] = Rule(name, alternatives, source_rule=self._written)
        return name

    def _new_name(self, key: Hashable) -> str:
        if len(self.rules) >= MAX_RULES:
            raise BudgetError(
                f"the grammar has more than {MAX_RULES} rules", hint="make it smaller"
            )
        self._count += 1
        name = self._helpers[key] = f"{self._written}#{self._count}"
        return name

    def _repeat(self, expression: Repeat) -> list[Alternative]:
        low, high = expression.low, expression.high
        if low < 0 or (high is not None and high < low):
            raise SpecError(
                f"{low} to {high} times in rule {self._written!r}",
                location=str(self._place or ""),
                expected="0 <= low <= high",
            )
        if max(low, high or 0) > MAX_COUNT:
            raise BudgetError(
                f"a repetition in rule {self._written!r} counts to more than {MAX_COUNT}",
                location=str(self._place or ""),
                hint="leave the count open with * or +",
            )
        body = self._symbol(expression.body)
        if high is None:
            if low == 1:
                return [(self._many(body, at_least=1),)]
            return [(*self._times(body, low), self._many(body, at_least=0))]
        if (low, high) == (0, 1):
            return [(), (body,)]
        exact = self._times(body, low)
        return [exact] if low == high else [(*exact, *self._up_to(body, high - low))]

    def _many(self, body: str, at_least: int) -> str:
        """The left-recursive rule for a body any number of times, or once at least."""
        key = ("many", body, at_least)
        name = self._helpers.get(key)
        if name is None:
            name = self._new_name(key)
            first: Alternative = (body,) if at_least else ()
            self.rules[name] = Rule(name, (first, (name, body)), source_rule=self._written)
        return name

    def _times(self, body: str, count: int) -> Alternative:
        """A body exactly `count` times, as powers of two."""
        if count <= 3:
            return (body,) * count
        bits = [bit for bit in range(count.bit_length()) if count >> bit & 1]
        return tuple(self._power(body, bit) for bit in reversed(bits))

    def _power(self, body: str, exponent: int) -> str:
        """The rule for a body 2**exponent times."""
        for step in range(exponent):
            body = self._helper(("power", body, step), ((body, body),))
        return body

    def _up_to(self, body: str, count: int) -> Alternative:
        """A body 0 to `count` times: less than the highest power of two, or that and the rest."""
        if count == 0:
            return ()
        exponent = count.bit_length() - 1
        if count == 1:
            return (self._helper(("maybe", body), ((), (body,))),)
        power = self._power(body, exponent)
        if count == (2 << exponent) - 1:
            maybe = self._helper(("maybe", power), ((), (power,)))
            return (maybe, *self._up_to(body, count >> 1))
        below = self._up_to(body, (1 << exponent) - 1)
        above = (power, *self._up_to(body, count - (1 << exponent)))
        return (self._helper(("up to", body, count), (below, above)),)


def _non_empty(words: str) -> str:
    """The words of a part that may be empty, for where it is not."""
    if words.endswith("*"):
        return f"{words[:-1]}+"
    return words.removesuffix("?")
