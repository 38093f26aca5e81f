"""In: a grammar that Lark has read. Out: the tables of Lark's LALR parser for it, states numbered.

Lark's own analysis makes them (F. DeRemer and T. Pennello, "Efficient computation of LALR(1)
look-ahead sets", 1982). What it writes out, each combination of options and short repetitions, is
counted first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lark import GrammarError as LarkGrammarError
from lark.common import ParserConf
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from structgen.grammar.expressions import Choice, Expression, Repeat, Sequence
from structgen.grammar.ir import Lalr

MOST_WRITTEN_OUT = 20_000  # alternatives of all rules
_MANY_TIMES = 50  # from here on Lark makes rules for counts


def lalr_of(built: Any, start: str, expressions: Iterable[Expression]) -> Lalr | None:
    """The tables, None where Lark makes none: it refuses two rules to reduce at the same place.

    built: Lark's grammar; expressions: the right-hand sides of its rules. None also where there are
    too many alternatives to write out.
    """
    left = MOST_WRITTEN_OUT
    for expression in expressions:
        left -= _written_out(expression)
        if left < 0:
            return None
    try:
        _, rules, _ = built.compile([start], ())
        analysis: Any = LALR_Analyzer(ParserConf(rules, {}, [start]))
        analysis.compute_lalr()
    except LarkGrammarError:
        return None
    chooses = any(
        symbol in itemset.transitions or len(reduced) > 1
        for itemset in analysis.lr0_itemsets
        for symbol, reduced in itemset.lookaheads.items()
    )
    return _numbered(analysis.parse_table, start, chooses)


def _written_out(expression: Expression) -> int:
    """How many alternatives Lark makes of an expression, those of its parts' own rules included."""
    inside = 0  # rules of their own

    def alternatives(part: Expression) -> int:
        nonlocal inside
        match part:
            case Choice(parts):
                return sum(map(alternatives, parts))
            case Sequence(parts):
                product = 1
                for one in parts:
                    product = min(product * alternatives(one), MOST_WRITTEN_OUT + 1)
                return product
            case Repeat(body, low, high):
                count = alternatives(body)
                if (low, high) == (0, 1):
                    return 1 + count
                if high is None or high >= _MANY_TIMES:
                    inside += 2 * count
                    return 2
                times = (min(count**k, MOST_WRITTEN_OUT + 1) for k in range(low, high + 1))
                return sum(times)
            case _:
                return 1

    return alternatives(expression) + inside


def _numbered(table: Any, start: str, chooses: bool) -> Lalr:
    """Lark's tables with states and rules in an order that is the same every time."""
    number = {table.start_states[start]: 0}
    listed = list(number)
    for state in listed:
        for _, (action, to) in sorted(table.states[state].items()):
            if action is Shift and number.setdefault(to, len(listed)) == len(listed):
                listed.append(to)
    reduced = {to for state in listed for action, to in table.states[state].values()
               if action is not Shift}  # fmt: skip
    rules = sorted(reduced, key=lambda r: (r.origin.name, [str(s.name) for s in r.expansion]))
    rule_number = {rule: i for i, rule in enumerate(rules)}
    steps = tuple(
        {
            str(name): number[to] if action is Shift else -1 - rule_number[to]
            for name, (action, to) in table.states[state].items()
        }
        for state in listed
    )
    shapes = tuple((str(rule.origin.name), len(rule.expansion)) for rule in rules)
    return Lalr(steps, shapes, number[table.end_states[start]], chooses)
