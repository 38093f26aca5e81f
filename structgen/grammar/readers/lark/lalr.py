"""The tables of Lark's LALR parser for a grammar, with its states numbered.

Lark's own analysis makes them (F. DeRemer and T. Pennello, "Efficient computation of LALR(1)
look-ahead sets", 1982). It writes out each combination of options and short repetitions, so their
number is counted first.
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
    """The tables, None where Lark makes none: it refuses reduce/reduce conflicts.

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
        analysis: Any = LALR_Analyzer(ParserConf(rules, {}, [start]), debug=True)  # keeps states
        analysis.compute_lalr()
    except LarkGrammarError:
        return None
    conflicts = [
        (itemset.closure, symbol, reduced)
        for itemset in analysis.lr0_itemsets
        for symbol, reduced in itemset.lookaheads.items()
        if symbol in itemset.transitions or len(reduced) > 1
    ]
    table, texts = analysis.parse_table, _shortest(rules)
    harmless = all(_can_be_made_up_for(conflict, table.states, texts) for conflict in conflicts)
    return _numbered(table, start, bool(conflicts), not harmless)


def _shortest(rules: Iterable[Any]) -> dict[Any, list[Any]]:
    """For each rule's name that has one, a shortest sequence of terminals that it derives."""
    found: dict[Any, list[Any]] = {}
    grown = True
    while grown:
        grown = False
        for rule in rules:
            if all(symbol.is_term or symbol in found for symbol in rule.expansion):
                text = _text(rule.expansion, found)
                if rule.origin not in found or len(text) < len(found[rule.origin]):
                    found[rule.origin] = text
                    grown = True
    return found


def _text(symbols: Iterable[Any], texts: dict[Any, list[Any]]) -> list[Any]:
    """The terminals of a sequence of symbols, rules replaced by their shortest texts."""
    return [t for symbol in symbols for t in ([symbol] if symbol.is_term else texts[symbol])]


def _can_be_made_up_for(conflict: Any, states: Any, texts: dict[Any, list[Any]]) -> bool:
    """Whether a reduction that lost a shift/reduce conflict can be done later, behind more text.

    As with a dangling else: behind `if e s` comes `else`, which is shifted; when its statement has
    been read, the whole is reduced on the next `else`. So wherever the grammar goes on, the parser
    can, too. conflict: state (its items), terminal, the rules to reduce.
    """
    state, symbol, reduced = conflict
    if len(reduced) > 1:
        return False
    (short,) = reduced
    for item in state:
        long, at = item.rule, item.index
        if long.origin != short.origin or list(long.expansion[:at]) != list(short.expansion):
            continue
        rest = long.expansion[at:]
        if not rest or rest[0] != symbol or not all(s.is_term or s in texts for s in rest):
            continue
        if _reduces([*_text(rest, texts), symbol], long, state, states):
            return True
    return False


def _reduces(text: list[Any], rule: Any, state: Any, states: Any) -> bool:
    """Whether a text, read from a state on, leads to the reduction of a rule that began before it.

    The last terminal of the text is the lookahead of that reduction and is not read.
    """
    stack = [state]
    for place, symbol in enumerate(text, 1):
        while True:
            action, to = states[stack[-1]].get(symbol.name, (None, None))
            if action is None:
                return False
            if action is Shift:
                stack.append(to)
                break
            if len(to.expansion) >= len(stack):
                return bool(to == rule and place == len(text))
            del stack[len(stack) - len(to.expansion) :]
            stack.append(states[stack[-1]][to.origin.name][1])
    return False


def _written_out(expression: Expression) -> int:
    """How many alternatives Lark makes of an expression, those of its helper rules included."""
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


def _numbered(table: Any, start: str, has_conflicts: bool, may_get_stuck: bool) -> Lalr:
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
    actions = tuple(
        {
            str(name): number[to] if action is Shift else -1 - rule_number[to]
            for name, (action, to) in table.states[state].items()
        }
        for state in listed
    )
    shapes = tuple((str(rule.origin.name), len(rule.expansion)) for rule in rules)
    return Lalr(actions, shapes, number[table.end_states[start]], has_conflicts, may_get_stuck)
