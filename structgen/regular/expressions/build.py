"""Constructors of characters, literals, word lists, sequences and repeats in normal form.

Normal form keeps the number of different derivatives small: sequences nest to the right,
neighbouring literals become one, and `x` and `x{2,5}` in a row become one repeat. `logic` holds the
set operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from structgen.errors import SpecError
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex, intern
from structgen.regular.expressions.nodes import (
    ANY,
    Chars,
    Concat,
    Delayed,
    Lazy,
    Literal,
    Repeat,
    SubAutomaton,
    SubAutomatonState,
    Words,
    WordTable,
    word_table,
)

LONG_TEXT = 1 << 12  # letters; what is left of a longer text is a place in it, no copy

_SURROGATE = re.compile("[\ud800-\udfff]").search


def chars(of: CharSet) -> Regex:
    """One character out of a set."""
    return intern(Chars, of) if of else EMPTY


def literal(text: str) -> Regex:
    """Exactly `text`; `EMPTY` when it holds a surrogate, which no text can."""
    if not text:
        return EPSILON
    return EMPTY if _broken(text) else text_node(text)


def _broken(text: str) -> bool:
    return not text.isascii() and _SURROGATE(text) is not None


def text_node(text: str) -> Regex:
    """`literal` for a text known to hold no surrogate."""
    if len(text) > 1:
        return intern(Literal, text)
    return intern(Chars, CharSet.chars(text)) if text else EPSILON


def words(texts: Iterable[str]) -> Regex:
    """Any one of finitely many texts, held as one sorted list."""
    return words_in_order(tuple(sorted({text for text in texts if not _broken(text)})))


def words_in_order(ordered: tuple[str, ...]) -> Regex:
    """`words` of texts known to be sorted and distinct, and to hold no surrogates."""
    if len(ordered) < 2:
        return text_node(ordered[0]) if ordered else EMPTY
    if all(len(text) == 1 for text in ordered):
        return chars(CharSet.chars("".join(ordered)))
    return intern(Words, word_table(ordered), 0, len(ordered), 0)


def words_between(table: WordTable, low: int, high: int, depth: int) -> Regex:
    """The words `low` to `high` of a list, each from letter `depth` on."""
    if high - low == 1 and table.lengths[low] - depth <= LONG_TEXT:
        return text_node(table.words[low][depth:])
    return intern(Words, table, low, high, depth)


def sub_automaton(state: SubAutomatonState) -> Regex:
    """The language of a sub-automaton from one of its states on."""
    return intern(SubAutomaton, state)


def lazy(source: Delayed) -> Regex:
    """An expression that is made when it is walked."""
    return intern(Lazy, source)


def concat(*parts: Regex) -> Regex:
    """The parts one after the other."""
    result = EPSILON
    for part in reversed(parts):
        result = join(part, result)
    return result


def join(head: Regex, tail: Regex) -> Regex:
    """`head` then `tail`, where `tail` is in normal form already."""
    if head is EPSILON or tail is EMPTY:
        return tail
    if tail is EPSILON or head is EMPTY:
        return head
    if isinstance(head, Concat):
        parts: list[Regex] = []
        while isinstance(head, Concat):
            parts.append(head.head)
            head = head.tail
        tail = _join_one(head, tail)
        for part in reversed(parts):
            tail = _join_one(part, tail)
        return tail
    return _join_one(head, tail)


def _join_one(head: Regex, tail: Regex) -> Regex:
    """`join` for a head that is no concatenation, neither side `EMPTY` or `EPSILON`."""
    if (head is ANY and tail.nullable) or (tail is ANY and head.nullable):
        return ANY
    after, rest = (tail.head, tail.tail) if isinstance(tail, Concat) else (tail, EPSILON)
    text = text_of(head)
    if text:
        more = text_of(after)
        if more:
            return join(text_node(text + more), rest)
    body, low, high = as_repeat(head)
    # a* before "aab" takes the a's of the literal: a{2,}b
    if isinstance(after, Literal) and isinstance(head, Repeat) and text_of(body) == after.text[0]:
        left = after.text.lstrip(after.text[0])
        gone = len(after.text) - len(left)
        longer = repeat_counts(body, low + gone, min(high + gone, INFINITE))
        return join(longer, join(text_node(left), rest))
    body2, low2, high2 = as_repeat(after)
    if body is body2:
        return join(repeat_counts(body, low + low2, min(high + high2, INFINITE)), rest)
    return intern(Concat, head, tail)


def text_of(node: Regex) -> str:
    """The text of a literal or of a single character, else ""."""
    if isinstance(node, Literal):
        return node.text
    if isinstance(node, Chars):
        ranges = node.chars.ranges
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return chr(ranges[0][0])
    return ""


def as_repeat(node: Regex) -> tuple[Regex, int, int]:
    """A node as a repeat: (body, low, high)."""
    if isinstance(node, Repeat):
        return node.body, node.low, node.high
    return node, 1, 1


def repeat(body: Regex, low: int, high: int | None = None) -> Regex:
    """Between `low` and `high` times `body`; None is "no upper bound".

    Raises `SpecError` unless 0 <= low <= high.
    """
    if low < 0 or (high is not None and high < low):
        raise SpecError(
            f"repetition counts {low} and {high} are not in order",
            expected="0 <= low <= high",
            hint="swap or correct the counts",
        )
    return repeat_counts(body, low, INFINITE if high is None else high)


def repeat_counts(body: Regex, low: int, high: int) -> Regex:
    """`repeat` for counts known to be in order; from `INFINITE` on there is no upper bound."""
    low, high = min(low, INFINITE), min(high, INFINITE)
    if high == 0 or body is EPSILON:
        return EPSILON
    if body is EMPTY:
        return EPSILON if low == 0 else EMPTY
    if body.nullable:
        low = 0
    if isinstance(body, Repeat):
        # (x{a,b}){m,n} is x{ma,nb} if the counts of m, m+1, ... turns leave no gap between them
        few, many = body.low, body.high
        joins = low == high or max(low, 1) * (many - few) >= few - 1  # for all counts but 0
        if joins and (low > 0 or few <= 1):
            return repeat_counts(body.body, low * few, min(high * many, INFINITE))
        if joins and high > 1:
            return repeat_counts(repeat_counts(body.body, few, min(high * many, INFINITE)), 0, 1)
    if low == high == 1 or body is ANY:
        return body
    if low == 0 and high == 1 and body.nullable:
        return body
    return intern(Repeat, body, low, high)
