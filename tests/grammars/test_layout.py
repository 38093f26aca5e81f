"""The shipped grammar with indentation has no dead end.

A line break can go on to any width, as long as what it makes is wanted: nothing, one indent, or as
many dedents as blocks are open. Where rules open and close blocks and brackets in pairs, and want a
line break only outside of brackets, some width always is. What is left is a grammar without what
indentation makes, whose places all lead on.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import pytest

from structgen.grammar.analysis.adjacency import Adjacency
from structgen.grammar.analysis.follow_sets import follow_sets
from structgen.grammar.analysis.relations import Relations
from structgen.grammar.analysis.terminal_sets import EMPTY_ITEM, Items, StackTops
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Grammar, Indentation
from structgen.grammar.shipped import examples, shipped
from structgen.grammar.transforms.useless import trimmed
from structgen.kernels.build.loader import kernels
from structgen.util.bits import ones

PUNCTUATION = {'"}"', '":"', '":="'}  # what else a piece of an f-string could be


@pytest.fixture(scope="module")
def laid_out() -> tuple[Grammar, Indentation]:
    """The grammar and its layout."""
    grammar = trimmed(shipped("python").rules())
    assert grammar.layout is not None
    return grammar, grammar.layout


def within(grammar: Grammar, wanted: Iterable[str]) -> set[str]:
    """The names that some of the names wanted can be part of."""
    found = set(wanted)
    grown = True
    while grown:
        more = {
            r.name for r in grammar.rules.values() if found & {n for a in r.alternatives for n in a}
        }
        grown = not more <= found
        found |= more
    return found


class Listed(Items):
    """Items that are listed here, of no tables."""

    def __init__(self, terminals: int) -> None:
        self.terminals, self.start = terminals, 0
        self.first, self.after = [-1, -1], [-1, -1]
        self.skips, self.entries = [[], []], []


def told_apart(of: Items, terminals: int) -> Items:
    """The items, each as often as there are sets of `terminals` that may come up where it ends.

    As a canonical LR parser does (D. Knuth, "On the translation of languages from left to right",
    1965), so that an f-string in one kind of quotes is not ended by the other.
    """
    closures = [of.closure(item) for item in range(len(of.first))]
    found = Listed(of.terminals)
    numbers: dict[tuple[int, int], int] = {}
    names: dict[tuple[int, int], int] = {}
    todo: list[tuple[int, int, int]] = []

    def number(item: int, up: int) -> int:
        if item <= 1:
            return item
        place = numbers.setdefault((item, up), len(found.first))
        if place == len(found.first):
            found.first.append(-1)
            found.after.append(-1)
            found.skips.append([])
            todo.append((place, item, up))
        return place

    def begins(item: int) -> int:
        first = of.first[item]
        if first < of.terminals:
            return 1 << first if first >= 0 else 0
        return sum(1 << t for t in {terminal for terminal, _ in of.entries[first - of.terminals]})

    found.start = sum(1 << number(item, 0) for item in ones(of.start))
    while todo:
        place, item, up = todo.pop()
        first, after = of.first[item], of.after[item]
        found.skips[place] = [number(other, up) for other in of.skips[item]]
        found.after[place] = number(after, up) if after >= 0 else -1
        found.first[place] = first
        if first >= of.terminals:
            inner = up if EMPTY_ITEM in closures[after] else 0
            for other in closures[after]:
                inner |= begins(other)
            key = (first, inner & terminals)
            name = names.setdefault(key, len(found.entries))
            found.first[place] = of.terminals + name
            if name == len(found.entries):
                entries = of.entries[first - of.terminals]
                found.entries.append([(t, number(other, key[1])) for t, other in entries])
    return found


def test_lines_and_brackets_open_and_close_in_pairs(laid_out: tuple[Grammar, Indentation]) -> None:
    """In each rule, and no line breaks in brackets."""
    grammar, layout = laid_out
    breaks = within(grammar, (layout.newline, layout.indent, layout.dedent))
    for rule in grammar.rules.values():
        for alternative in rule.alternatives:
            lines = brackets = 0
            for name in alternative:
                lines += (name == layout.indent) - (name == layout.dedent)
                brackets += (name in layout.opens) - (name in layout.closes)
                assert lines >= 0
                assert brackets >= 0
                assert brackets == 0 or name not in breaks
            assert lines == brackets == 0


def test_widths_that_are_wanted_can_be_written(laid_out: tuple[Grammar, Indentation]) -> None:
    """One indent or some dedents, behind a line break, which can always go on to any width."""
    grammar, layout = laid_out
    terminals = grammar.in_larks_order()
    numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
    follow, first = follow_sets(grammar, numbers)
    newline, indent, dedent = (numbers[n] for n in (layout.newline, layout.indent, layout.dedent))
    assert not first >> indent & 1 | first >> dedent & 1
    for i, following in enumerate(follow):
        assert not following >> indent & 1 or i == newline
        assert not following >> dedent & 1 or i in (newline, dedent)
    automaton, k = GrammarAutomaton(grammar), kernels("grammar.tables")
    line, space = (int(automaton.byte_classes[byte]) for byte in b"\n ")
    nexts = automaton.tables.next
    for state in range(len(nexts)):
        if automaton.constant(k.S_TERMINAL, state) == newline and automaton.constant(
            k.S_ENDS, state
        ):
            begun = int(nexts[state, line])
            assert begun >= 0
            for width in range(3):
                assert automaton.constant(k.S_ENDS, begun), width
                begun = int(nexts[begun, space])


@pytest.mark.thorough
def test_all_places_lead_on(laid_out: tuple[Grammar, Indentation]) -> None:
    """Without what indentation makes; in brackets behind a line break, too."""
    grammar, layout = laid_out
    made_up = {layout.indent, layout.dedent}
    rules = {
        name: replace(
            rule,
            alternatives=tuple(tuple(n for n in a if n not in made_up) for a in rule.alternatives),
        )
        for name, rule in grammar.rules.items()
    }
    plain = trimmed(replace(grammar, rules=rules, layout=None))
    automaton, terminals = GrammarAutomaton(plain), plain.in_larks_order()
    numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
    parts = [
        n for n, i in numbers.items() if n.startswith("F_") or str(terminals[i]) in PUNCTUATION
    ]
    items = told_apart(automaton.items, sum(1 << numbers[name] for name in parts))
    terminal_sets = StackTops(items).all_terminal_sets()
    assert len(terminal_sets) > 1
    laid = replace(plain, layout=layout)
    can = Adjacency(laid, terminals, automaton.tables, terminal_sets, {}).can_follow()
    relations = Relations(plain, numbers, [numbers[name] for name in plain.ignore], can)
    assert relations.every_place_leads_on()
    newline = numbers[layout.newline]
    can[newline, newline] = True  # it is wanted only where it is not left out
    left_out = [*(numbers[name] for name in plain.ignore), newline]
    assert Relations(plain, numbers, left_out, can).every_place_leads_on()


def is_comment(text: str, offset: int) -> bool:
    """Whether a comment begins at an offset, by `tokenize`."""
    lines = text[:offset].split("\n")
    with suppress(tokenize.TokenError, IndentationError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.ERRORTOKEN:  # an open string
                return False
            if token.start == (len(lines), len(lines[-1])) and token.type == tokenize.COMMENT:
                return True
    return False


def test_comments_at_the_end_can_go_on() -> None:
    """Wherever a comment may end the text, a line break may end it as well, however wide."""
    automaton, ended = shipped("python").automaton(), 0
    for text in examples("python").accept.values():
        for offset in range(len(text) + 1):
            data = f"{text[:offset]}# c".encode()
            at, read = automaton.run(automaton.start, data)
            if read == len(data) and is_comment(data.decode(), offset):
                assert automaton.run(at, b" d\n")[1] == 3
                ended += automaton.is_accepting(at)
    assert ended > 100
