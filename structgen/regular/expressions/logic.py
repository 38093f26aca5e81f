"""Union, intersection and complement of regular expressions in normal form.

Unions and intersections are flat, sorted and free of duplicates and of parts that others absorb;
counts of the same body before the same tail are joined, and bounds on the length are computed with
as intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from os.path import commonprefix
from typing import Any

from structgen.regular.charset import union_all
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex, intern
from structgen.regular.expressions.build import (
    as_repeat,
    chars,
    join,
    repeat_counts,
    text_of,
    words,
    words_in_order,
)
from structgen.regular.expressions.nodes import (
    ANY,
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Literal,
    Not,
    Repeat,
    Words,
    is_length_bound,
    matches,
)
from structgen.util.cancellation import checkpoint

_WORDS_FROM = 3  # so many literals in a union become one word list
_WORDS_TESTED = 5000  # word lists up to so long are intersected word by word
_SOUGHT = 8  # a word list more than so many times longer is searched instead of made a set
PARTS_PER_UNIT, FEW_PARTS = 32, 24  # of a union, that are compared in a unit of work; in none
_COUNTED = 3  # repeats at the front of a sequence that are compared for subsumption


def alt(*parts: Regex) -> Regex:
    """A member of any of the parts."""
    if _opposites(parts):
        return ANY
    found: set[Regex] = set()
    with_empty = False
    stack = list(parts)
    while stack:
        part = stack.pop()
        if part is EPSILON:
            with_empty = True
        elif isinstance(part, Alt):
            stack.extend(part.parts)
        elif part is ANY:
            return ANY
        elif isinstance(part, Repeat) and part.low == 0 and not part.body.nullable:
            with_empty = True  # told apart here, put back at the end
            stack.append(repeat_counts(part.body, 1, part.high))
        elif part is not EMPTY:
            found.add(part)
    if len(found) > 1:
        checkpoint((len(found) + FEW_PARTS) // PARTS_PER_UNIT)
        found = _merge_characters(found)
        found = _merge_counts(found)
        if len(found) > 1:
            found = _drop_within_spans(_absorb(found, And))
    ordered = sorted(found, key=_by_id)
    if not ordered:
        return EPSILON if with_empty else EMPTY
    result = ordered[0] if len(ordered) == 1 else intern(Alt, tuple(ordered))
    if not with_empty or result.nullable:
        return result
    if isinstance(result, Repeat) and result.low == 1:
        return repeat_counts(result.body, 0, result.high)
    return repeat_counts(result, 0, 1)


def alternatives_of(regex: Regex) -> tuple[Regex, ...]:
    """The parts of a union; any other expression is its own only one."""
    return regex.parts if isinstance(regex, Alt) else (regex,)


def _opposites(parts: tuple[Regex, ...]) -> bool:
    """Is some part the complement of another?"""
    return any(isinstance(part, Not) and part.body in parts for part in parts)


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
        body, low, high = as_repeat(head)
        groups.setdefault((body, tail), []).append((low, high))
    if len(groups) < len(found):
        found = set()
        for (body, tail), spans in groups.items():
            found.update(join(repeat_counts(body, *span), tail) for span in _join_spans(spans))
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
    """Drop x{2,3}y{1}t beside x{1,5}y{0,4}t: same bodies, each count range within another."""
    with_counts = [part for part in found if isinstance(part, Concat) and _has_counts(part)]
    if len(with_counts) < 2:
        return found
    checkpoint(len(with_counts) // 4)
    groups: dict[tuple[Hashable, ...], list[tuple[Regex, tuple[int, ...]]]] = {}
    for part in with_counts:
        bodies: list[Any] = []
        counts: list[int] = []
        rest: Regex = part
        while len(bodies) < _COUNTED and rest is not EPSILON:
            head, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, EPSILON)
            body, low, high = as_repeat(head)
            bodies.append(body)
            counts += (-low, high)
        groups.setdefault((*bodies, rest), []).append((part, tuple(counts)))
    if len(groups) == len(with_counts):
        return found
    kept = found.difference(with_counts)
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


def _drop_within_spans(found: set[Regex]) -> set[Regex]:
    """Drop parts all of whose lengths a length bound beside them allows with any characters."""
    for span in [part for part in found if is_length_bound(part)]:
        low, high = span.shortest, span.longest
        found = {p for p in found if p is span or p.shortest < low or p.longest > high}
    return found


def intersect(*parts: Regex) -> Regex:
    """A member of every one of the parts."""
    if _opposites(parts):
        return EMPTY
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
        other = alt(*_that_meet(found, barred))
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


def is_short_list(part: Regex) -> bool:
    """Whether a part has few members, each of which is tested by itself."""
    if isinstance(part, Words):
        return part.high - part.low <= _WORDS_TESTED
    return text_of(part) != ""


def _that_meet(found: set[Regex], barred: list[Regex]) -> list[Regex]:
    """The alternatives of the complements that may begin as all of `found` do.

    The others are disjoint from `found`, and rule out nothing. Ranges of numbers stay whole.
    """
    begun = max(map(_first_text, found), key=len, default="")
    if begun in {"", "-"}:
        return barred
    each = [part for body in barred for part in alternatives_of(body)]
    each = [_that_begin(part, begun) if isinstance(part, Words) else part for part in each]
    return [part for part in each if begun.startswith(_first_text(part)[: len(begun)])]


def _that_begin(listed: Words, begun: str) -> Regex:
    """The words that begin with a text, or all where these are many."""
    if listed.high - listed.low > _WORDS_TESTED:
        return listed
    texts = listed.members()
    kept = tuple(text for text in texts if text.startswith(begun))
    return listed if len(kept) == len(texts) else words_in_order(kept)


def begin_differently(one: Regex, other: Regex) -> bool:
    """Whether members of two languages plainly begin with different texts: they are disjoint."""
    first, second = _first_text(one), _first_text(other)
    return not (first.startswith(second) or second.startswith(first))


def all_begin_differently(languages: Iterable[Regex]) -> bool:
    """The same for each two of some languages."""
    begun = sorted(map(_first_text, languages))  # what begins with a text stands behind it
    return not any(later.startswith(text) for text, later in pairwise(begun))


def _first_text(regex: Regex) -> str:
    """A text that all members plainly begin with."""
    if isinstance(regex, And):
        return max(map(_first_text, regex.parts), key=len)
    text = ""
    while isinstance(regex, Concat):
        head = text_of(regex.head)
        if not head:
            break
        text, regex = text + head, regex.tail
    return text + (_shared_beginning(regex) if isinstance(regex, Alt) else text_of(regex))


def _shared_beginning(union: Alt) -> str:
    """The text that all alternatives begin with."""
    found: str | None = None
    for part in union.parts:
        begun = _first_text(part)
        found = begun if found is None else commonprefix((found, begun))  # noqa: RUF071
        if not found:
            break
    return found or ""


def _merge_conjuncts(found: set[Regex]) -> set[Regex]:
    """Simplify an intersection: test literals and words, join character sets and length bounds."""
    for part in found:
        text = text_of(part)
        if text:
            fits = all(other is part or matches(other, text) for other in found)
            return {part} if fits else {EMPTY}
    listed: Any = next((part for part in found if isinstance(part, Words)), None)
    if listed is not None and is_short_list(listed):
        kept = texts = listed.members()
        for other in found - {listed}:
            kept = _those_in(kept, other)
        return {listed if len(kept) == len(texts) else words_in_order(tuple(kept))}
    singles = [part for part in found if isinstance(part, Chars)]
    if len(singles) > 1:
        joined = singles[0].chars
        for part in singles[1:]:
            joined = joined & part.chars
        found = found.difference(singles)
        found.add(chars(joined))
    bounds = {part: spans for part in found if (spans := _spans(part)) is not None}
    if bounds:
        found = _bound_lengths(found.difference(bounds), list(bounds.values()))
    return _absorb(found, Alt) if len(found) > 1 else found


def _those_in(texts: list[str], language: Regex) -> list[str]:
    """The texts that are in a language."""
    body = language.body if isinstance(language, Not) else language
    if isinstance(body, Literal):
        listed = {body.text}
    elif isinstance(body, Words) and body.high - body.low <= _SOUGHT * len(texts):
        listed = {*body.members()}
    else:
        return [text for text in texts if matches(language, text)]
    inside = body is language
    return [text for text in texts if (text in listed) is inside]


def _bound_lengths(found: set[Regex], bounds: list[list[tuple[int, int]]]) -> set[Regex]:
    """Add one part for the lengths that all `bounds` allow and that other parts leave open."""
    low = max((part.shortest for part in found), default=0)
    high = min((part.longest for part in found), default=INFINITE)
    allowed = [(0, INFINITE)]
    for spans in bounds:
        met = ((max(a, c), min(b, d)) for a, b in allowed for c, d in spans)
        allowed = [(first, last) for first, last in met if first <= last]
    allowed = [(first, last) for first, last in allowed if first <= high and last >= low]
    if not allowed:
        return {EMPTY}
    if allowed[0][0] <= low:
        allowed[0] = (0, allowed[0][1])
    if allowed[-1][1] >= high:
        allowed[-1] = (allowed[-1][0], INFINITE)
    if allowed != [(0, INFINITE)] or not found:
        found.add(alt(*(repeat_counts(ANY_CHAR, *span) for span in allowed)))
    return found


def complement(body: Regex) -> Regex:
    """Every string that is no member of `body`."""
    if body is EMPTY:
        return ANY
    if isinstance(body, Not):
        return body.body
    spans = _spans(body)
    if spans is None:
        return intern(Not, body)
    gaps: list[Regex] = []
    after = 0
    for low, high in spans:
        if low > after:
            gaps.append(repeat_counts(ANY_CHAR, after, low - 1))
        after = high + 1
    return alt(*gaps) if after > INFINITE else alt(*gaps, repeat_counts(ANY_CHAR, after, INFINITE))


def _spans(body: Regex) -> list[tuple[int, int]] | None:
    """The lengths of a language that is nothing but bounds on the length, sorted; else None."""
    if body is EPSILON:
        return [(0, 0)]
    if isinstance(body, Repeat) and (body.low, body.high) == (0, 1):
        inner = _spans(body.body)
        return None if inner is None else [(0, 0), *inner]
    parts = body.parts if isinstance(body, Alt) else (body,)
    if not all(map(is_length_bound, parts)):
        return None
    return sorted(as_repeat(part)[1:] for part in parts)
