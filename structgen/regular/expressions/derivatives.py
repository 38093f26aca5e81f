"""The derivation rule of each kind of node.

The derivative of r by a character c is the language of all rests of members of r that start with c
(Brzozowski 1964); `moves` gives derivatives by disjoint sets of characters (Owens, Reppy and Turon
2009, "Regular-expression derivatives re-examined").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from structgen.regular.charset import CharSet, one_character, refine, union_all
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex
from structgen.regular.expressions.build import (
    LONG_TEXT,
    join,
    repeat_counts,
    sub_automaton,
    text_node,
    words_between,
)
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.expressions.nodes import (
    ANY,
    Alt,
    And,
    Chars,
    Concat,
    Lazy,
    Literal,
    Not,
    Repeat,
    SubAutomaton,
    Words,
    word_table,
)
from structgen.util.cancellation import checkpoint

LETTERS_PER_UNIT = 1 << 14  # of a literal, that are copied in a unit of work

Derivatives = Iterable[tuple[CharSet, Regex]]


def _derive_nothing(_node: Regex) -> Derivatives:
    return ()


def _derive_chars(node: Chars) -> Derivatives:
    return ((node.chars, EPSILON),)


def _derive_literal(node: Literal) -> Derivatives:
    text = node.text
    if len(text) <= LONG_TEXT:
        return ((one_character(text[0]), text_node(text[1:])),)
    checkpoint(len(text) // LETTERS_PER_UNIT)
    return ((one_character(text[0]), words_between(word_table((text,)), 0, 1, 1)),)


def _derive_words(node: Words) -> Derivatives:
    """One move per distinct next letter, to the interval of the list that goes on with it."""
    listed, depth = node.table.words, node.depth
    low = node.low + node.nullable
    if low + 1 == node.high:
        rest = words_between(node.table, low, node.high, depth + 1)
        yield one_character(listed[low][depth]), rest
        return
    prefix = listed[node.low][:depth]
    while low < node.high:
        letter = listed[low][depth]
        high = node.high
        if letter != "\U0010ffff":
            high = bisect_left(listed, prefix + chr(ord(letter) + 1), low, high)
        yield one_character(letter), words_between(node.table, low, high, depth + 1)
        low = high


def _derive_leaf(node: SubAutomaton) -> Derivatives:
    return [(of, sub_automaton(state)) for of, state in node.state.moves()]


def _derive_lazy(node: Lazy) -> Derivatives:
    return node.expanded().steps()


def _derive_concat(node: Concat) -> Derivatives:
    """(xy)' is x'y, and y' too where x is nullable: one term for each part that may come first."""
    found = [(of, join(target, tail)) for head, tail in node.spine() for of, target in head.steps()]
    return _either(found) if node.head.nullable else found


def _derive_repeat(node: Repeat) -> Derivatives:
    """(x{m,n})' is x'x{m-1,n-1}, also for a nullable x, whose m is 0 in normal form."""
    high = node.high if node.high == INFINITE else node.high - 1
    rest = repeat_counts(node.body, max(node.low - 1, 0), high)
    return [(of, join(target, rest)) for of, target in node.body.steps()]


def _derive_alt(node: Alt) -> Derivatives:
    return _either(move for part in node.parts for move in part.steps())


def _either(moves: Derivatives) -> Derivatives:
    """Cut overlapping moves into disjoint ones; where several apply, to the union of targets."""
    return [(of, alt(*targets)) for of, targets in refine(moves)]


def _derive_and(node: And) -> Derivatives:
    """(x & y)' is x' & y'."""
    cells = refine(move for part in node.parts for move in part.steps())
    count = len(node.parts)
    return [(of, intersect(*targets)) for of, targets in cells if len(targets) == count]


def _derive_not(node: Not) -> Derivatives:
    """(~x)' is ~(x'); by a character that x cannot begin with it is the language of all texts."""
    moves = node.body.steps()
    rest = ~union_all([of for of, _ in moves])
    return [*((of, complement(target)) for of, target in moves), (rest, ANY)]


type(EMPTY).derive = _derive_nothing
Chars.derive = _derive_chars
Literal.derive = _derive_literal
Words.derive = _derive_words
SubAutomaton.derive = _derive_leaf
Lazy.derive = _derive_lazy
Concat.derive = _derive_concat
Repeat.derive = _derive_repeat
Alt.derive = _derive_alt
And.derive = _derive_and
Not.derive = _derive_not
