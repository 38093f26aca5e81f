"""In: regular expression nodes. Out: their combinations in normal form.

Normal form keeps the number of different derivatives small: concatenations nest to the right;
alternatives and intersections are flat, sorted and free of duplicates and of parts that others
absorb; `x` and `x{2,5}` in a row or as alternatives before the same tail become one repetition.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

from structgen.automaton.charset import CharSet, union_all
from structgen.automaton.regex_base import EMPTY, EPSILON, INFINITE, Regex, intern
from structgen.automaton.regex_nodes import (
    ANY,
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Delayed,
    Lazy,
    Leaf,
    LeafState,
    Literal,
    Not,
    Repeat,
    Words,
    WordTable,
    is_span,
    word_table,
)
from structgen.automaton.regex_search import matches
from structgen.errors import SpecError

_SURROGATE = re.compile("[\ud800-\udfff]").search
_WORDS_FROM = 3  # this many literals in one alternative become one word list
_COUNTED = 3  # how many counted parts at the front of a concatenation are compared


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
    ordered = tuple(sorted({text for text in texts if not _broken(text)}))
    if len(ordered) < 2:
        return text_node(ordered[0]) if ordered else EMPTY
    if all(len(text) == 1 for text in ordered):
        return chars(CharSet.chars("".join(ordered)))
    return intern(Words, word_table(ordered), 0, len(ordered), 0)


def words_between(table: WordTable, low: int, high: int, depth: int) -> Regex:
    """The rests from `depth` on of the words `low` to `high` of a list."""
    if high - low == 1:
        return text_node(table.words[low][depth:])
    return intern(Words, table, low, high, depth)


def leaf(state: LeafState) -> Regex:
    """The language of a foreign deterministic automaton from one of its states on."""
    return intern(Leaf, state)


def lazy(source: Delayed) -> Regex:
    """A language that is spelled out when it is walked."""
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
    text = _text(head)
    if text:
        more = _text(after)
        if more:
            return join(text_node(text + more), rest)
    body, low, high = _counted(head)
    body2, low2, high2 = _counted(after)
    if body is body2:
        return join(_repeat(body, low + low2, min(high + high2, INFINITE)), rest)
    return intern(Concat, head, tail)


def _text(node: Regex) -> str:
    """The text of a literal or of a single character, else ""."""
    if isinstance(node, Literal):
        return node.text
    if isinstance(node, Chars):
        ranges = node.chars.ranges
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return chr(ranges[0][0])
    return ""


def _counted(node: Regex) -> tuple[Regex, int, int]:
    """A part as (body, low, high)."""
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
    return _repeat(body, low, INFINITE if high is None else high)


def _repeat(body: Regex, low: int, high: int) -> Regex:
    if high == 0 or body is EPSILON:
        return EPSILON
    if body is EMPTY:
        return EPSILON if low == 0 else EMPTY
    if body.nullable:
        low = 0
    if isinstance(body, Repeat):
        few, many = body.low, body.high
        gapless = low == high or ((low > 0 or few <= 1) and max(low, 1) * (many - few) >= few - 1)
        if gapless:
            return _repeat(body.body, low * few, min(high * many, INFINITE))
    if low == high == 1 or body is ANY:
        return body
    if low == 0 and high == 1 and body.nullable:
        return body
    return intern(Repeat, body, low, high)


repeat_counts = _repeat


def alt(*parts: Regex) -> Regex:
    """A member of any of the parts."""
    found: set[Regex] = set()
    optional_too = False
    stack = list(parts)
    while stack:
        part = stack.pop()
        if isinstance(part, Alt):
            found.update(part.parts)
        elif part is EPSILON:
            optional_too = True
        elif isinstance(part, Repeat) and part.low == 0 and part.high == 1:
            optional_too = True
            stack.append(part.body)
        elif part is not EMPTY:
            found.add(part)
    if ANY in found:
        return ANY
    if len(found) > 1:
        found = _merge_characters(found)
        found = _merge_counts(found)
        if len(found) > 1:
            found = _absorb(found, And)
    if any(isinstance(part, Not) and part.body in found for part in found):
        return ANY
    ordered = sorted(found, key=_by_id)
    if not ordered:
        return EPSILON if optional_too else EMPTY
    result = ordered[0] if len(ordered) == 1 else intern(Alt, tuple(ordered))
    if not optional_too or result.nullable:
        return result
    if isinstance(result, Repeat) and result.low == 1:
        return _repeat(result.body, 0, result.high)
    return _repeat(result, 0, 1)


def _by_id(node: Regex) -> int:
    return node.id


def _merge_characters(found: set[Regex]) -> set[Regex]:
    """Join all single characters into one set, and many literals into one word list."""
    singles = [part for part in found if isinstance(part, Chars)]
    literals = [part for part in found if isinstance(part, Literal)]
    if len(singles) > 1:
        found = found.difference(singles)
        found.add(chars(union_all([part.chars for part in singles])))
    if len(literals) >= _WORDS_FROM:
        found = found.difference(literals)
        found.add(words(part.text for part in literals))
    return found


def _merge_counts(found: set[Regex]) -> set[Regex]:
    """Join `x{a,b}t` and `x{c,d}t` where counts touch, drop what a wider count covers."""
    groups: dict[tuple[Regex, Regex], list[tuple[int, int]]] = {}
    for part in found:
        head, tail = (part.head, part.tail) if isinstance(part, Concat) else (part, EPSILON)
        body, low, high = _counted(head)
        groups.setdefault((body, tail), []).append((low, high))
    if len(groups) < len(found):
        found = set()
        for (body, tail), spans in groups.items():
            found.update(join(_repeat(body, *span), tail) for span in _join_spans(spans))
        if any(isinstance(part, Alt) or part is EPSILON for part in found):
            return _flat(found)
    return _drop_covered(found) if len(found) > 3 else found


def _flat(found: set[Regex]) -> set[Regex]:
    flat: set[Regex] = set()
    for part in found:
        flat.update(part.parts if isinstance(part, Alt) else (part,))
    return flat


def _join_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges of counts that overlap or touch."""
    spans.sort()
    joined = [spans[0]]
    for low, high in spans[1:]:
        last_low, last_high = joined[-1]
        if low <= last_high + 1:
            joined[-1] = (last_low, max(last_high, high))
        else:
            joined.append((low, high))
    return joined


def _has_counts(part: Concat) -> bool:
    after = part.tail.head if isinstance(part.tail, Concat) else part.tail
    return isinstance(part.head, Repeat) or isinstance(after, Repeat)


def _drop_covered(found: set[Regex]) -> set[Regex]:
    """Drop `x{2,3}y{1}t` beside `x{1,5}y{0,4}t`: same bodies, every count range within another."""
    counted = [part for part in found if isinstance(part, Concat) and _has_counts(part)]
    if len(counted) < 2:
        return found
    groups: dict[tuple[Hashable, ...], list[tuple[Regex, tuple[int, ...]]]] = {}
    for part in counted:
        bodies: list[Any] = []
        counts: list[int] = []
        rest: Regex = part
        while len(bodies) < _COUNTED and rest is not EPSILON:
            head, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, EPSILON)
            body, low, high = _counted(head)
            bodies.append(body)
            counts += (-low, high)
        groups.setdefault((*bodies, rest), []).append((part, tuple(counts)))
    if len(groups) == len(counted):
        return found
    kept = found.difference(counted)
    for group in groups.values():
        group.sort(key=lambda item: item[1], reverse=True)
        wide: list[tuple[int, ...]] = []
        for one, counts_of in group:
            if not any(all(map(int.__le__, counts_of, other)) for other in wide):
                wide.append(counts_of)
                kept.add(one)
    return kept


def _absorb(found: set[Regex], kind: type[Alt | And]) -> set[Regex]:
    """Drop every part of `kind` that has another part among its own: x | (x & y) is x."""
    compound = [part for part in found if isinstance(part, kind)]
    gone = [part for part in compound if not found.isdisjoint(part.parts)]
    return found.difference(gone) if gone else found


def intersect(*parts: Regex) -> Regex:
    """A member of every one of the parts."""
    found: set[Regex] = set()
    barred: list[Regex] = []
    stack = list(parts)
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack.extend(part.parts)
        elif isinstance(part, Not):
            barred.append(part.body)
        elif part is not ANY:
            found.add(part)
    if barred:
        other = alt(*barred)
        if other in found or other is ANY or not found.isdisjoint(barred):
            return EMPTY
        opposite = complement(other)
        if opposite is not ANY:
            found.add(opposite)
    if EMPTY in found:
        return EMPTY
    if len(found) > 1:
        found = _merge_conjuncts(found)
    ordered = sorted(found, key=_by_id)
    if len(ordered) < 2:
        return ordered[0] if ordered else ANY
    longest = min(part.longest for part in ordered)
    if max(part.shortest for part in ordered) > longest:
        return EMPTY
    if longest == 0:
        return EPSILON if all(part.nullable for part in ordered) else EMPTY
    return intern(And, tuple(ordered))


def _merge_conjuncts(found: set[Regex]) -> set[Regex]:
    """Settle literals, join character sets and length bounds, drop what others imply."""
    for part in found:
        text = _text(part)
        if text:
            fits = all(other is part or matches(other, text) for other in found)
            return {part} if fits else {EMPTY}
    singles = [part for part in found if isinstance(part, Chars)]
    if len(singles) > 1:
        joined = singles[0].chars
        for part in singles[1:]:
            joined = joined & part.chars
        found = found.difference(singles)
        found.add(chars(joined))
    spans = [part for part in found if is_span(part)]
    if spans:
        found = found.difference(spans)
        bounds = [_counted(part) for part in spans]
        low, high = max(b[1] for b in bounds), min(b[2] for b in bounds)
        if low > high:
            return {EMPTY}
        inside = any(part.shortest >= low for part in found)
        within = any(part.longest <= high for part in found)
        if not (inside or low == 0) or not (within or high == INFINITE):
            found.add(_repeat(ANY_CHAR, 0 if inside else low, INFINITE if within else high))
    return _absorb(found, Alt) if len(found) > 1 else found


def complement(body: Regex) -> Regex:
    """Every string that is no member of `body`."""
    if body is EMPTY:
        return ANY
    if body is ANY:
        return EMPTY
    if isinstance(body, Not):
        return body.body
    if body is EPSILON:
        return _repeat(ANY_CHAR, 1, INFINITE)
    if is_span(body):
        _, low, high = _counted(body)
        longer = EMPTY if high == INFINITE else _repeat(ANY_CHAR, high + 1, INFINITE)
        shorter = EMPTY if low == 0 else _repeat(ANY_CHAR, 0, low - 1)
        return alt(shorter, longer)
    return intern(Not, body)
