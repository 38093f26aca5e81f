"""Finds and removes useless symbols: rules and terminals that take part in no text.

A rule is productive if some text fits it, reachable if the start leads to it through productive
alternatives; a rule that is not both takes part in no text. Both are least fixed points, found in
time linear in the size of the grammar (J. Hopcroft and J. Ullman, 1979, section 4.4).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from structgen.errors import UnsatisfiableSchemaError
from structgen.grammar.ir import Grammar, Place, Rule
from structgen.regular.regex import EMPTY


@dataclass(frozen=True)
class Finding:
    """A useless rule or terminal of a grammar.

    kind: "unproductive" (no text fits), "unreachable" (nothing leads to it). name: of the rule or
    terminal. place: where it is defined, if that is known. message: all in words.
    """

    kind: str
    name: str
    place: Place | None
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def findings(grammar: Grammar) -> list[Finding]:
    """The useless rules and terminals of a grammar, in the order in which they are defined."""
    productive = _productive(grammar)
    reached = _reached(grammar, productive)
    found: list[Finding] = []
    for rule in grammar.rules.values():
        if rule.source_rule:
            continue
        if rule.name not in productive:
            found.append(_finding("unproductive", "rule", rule.name, rule.place))
        elif rule.name not in reached:
            found.append(_finding("unreachable", "rule", rule.name, rule.place))
    for terminal in grammar.terminals.values():
        if terminal.name not in productive:
            found.append(_finding("unproductive", "terminal", str(terminal), terminal.place))
        elif terminal.name not in reached:
            found.append(_finding("unreachable", "terminal", str(terminal), terminal.place))
    return found


def _finding(kind: str, what: str, name: str, place: Place | None) -> Finding:
    if kind == "unproductive":
        message = f"no text fits the {what} {name!r}"
    else:
        message = f"nothing that can be finished leads to the {what} {name!r}"
    return Finding(kind, name, place, message)


def trimmed(grammar: Grammar) -> Grammar:
    """The grammar without useless rules, alternatives and terminals.

    Raises UnsatisfiableSchemaError when no text at all fits its start.
    """
    productive = _productive(grammar)
    if grammar.start not in productive:
        rule = grammar.rules[grammar.start]
        raise UnsatisfiableSchemaError(
            f"no text fits the rule {grammar.start!r}",
            location=str(rule.place) if rule.place else "",
            expected="a way to end it",
            hint=_reason(grammar, productive),
        )
    reached = _reached(grammar, productive)
    rules = {
        name: _pruned(rule, productive) for name, rule in grammar.rules.items() if name in reached
    }
    lalr = grammar.lalr
    if lalr is not None:  # what it looks for counts, even if that leads to no text
        reached |= lalr.terminals & productive
        if any(rule is not grammar.rules[name] for name, rule in rules.items()):
            lalr = replace(lalr, has_dead_ends=True)
    terminals = {name: t for name, t in grammar.terminals.items() if name in reached}
    ignore = tuple(name for name in grammar.ignore if name in terminals)
    return replace(grammar, rules=rules, terminals=terminals, ignore=ignore, lalr=lalr)


def _reason(grammar: Grammar, productive: set[str]) -> str:
    """What to look at when the start is not productive: rules that can only go round in circles."""
    stuck = [
        r.name for r in grammar.rules.values() if r.name not in productive and not r.source_rule
    ]
    return f"each of these needs itself or another of them: {', '.join(stuck[:8])}"


def _pruned(rule: Rule, productive: set[str]) -> Rule:
    """The rule without alternatives that no text fits."""
    kept = tuple(a for a in rule.alternatives if productive.issuperset(a))
    return rule if len(kept) == len(rule.alternatives) else replace(rule, alternatives=kept)


def _productive(grammar: Grammar) -> set[str]:
    """The rules and terminals that some text fits."""
    made_up = set()
    if grammar.layout is not None:
        made_up = {grammar.layout.indent, grammar.layout.dedent}
    found = {
        terminal.name
        for terminal in grammar.terminals.values()
        if terminal.nested is not None
        or terminal.name in made_up
        or terminal.origin  # it may match nothing, but that it is looked for counts
        or not (terminal.language is EMPTY or terminal.language.is_empty())
    }
    owners: list[str] = []  # of the alternatives that wait for something
    missing: list[int] = []  # how many names each of them waits for
    waiting: dict[str, list[int]] = defaultdict(list)
    todo: list[str] = []
    for rule in grammar.rules.values():
        for alternative in rule.alternatives:
            needed = set(alternative) - found
            if not needed:
                todo.append(rule.name)
                continue
            for name in needed:
                waiting[name].append(len(owners))
            owners.append(rule.name)
            missing.append(len(needed))
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for index in waiting.pop(name, ()):
            missing[index] -= 1
            if missing[index] == 0:
                todo.append(owners[index])
    return found


def _reached(grammar: Grammar, productive: set[str]) -> set[str]:
    """What takes part in some text: the start, what is ignored, and all that they lead to."""
    found = {grammar.start, *(name for name in grammar.ignore if name in productive)}
    if grammar.layout is not None:
        layout = grammar.layout
        found.update({layout.newline, layout.indent, layout.dedent} & set(grammar.terminals))
    todo = [grammar.start] if grammar.start in productive else []
    while todo:
        rule = grammar.rules.get(todo.pop())
        for alternative in rule.alternatives if rule is not None else ():
            if productive.issuperset(alternative):
                new = set(alternative) - found
                found |= new
                todo += new
    return found
