"""Languages that stand for others whose states are too many: subsets and supersets of them.

Some formats have so many states that nothing else can be read beside them soon. Such a format knows
two simple languages (`SubAutomatonState.estimates`): one that has all but a few of its texts, and
one that has all of them and a few more. A text that is to be in a language is read by `readable`,
which has no others, so nothing is let in that does not fit. Expressions themselves are exact: only
so may they be negated, compared and counted.
"""

from __future__ import annotations

from functools import lru_cache
from operator import is_
from typing import Any

from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import as_repeat
from structgen.regular.expressions.logic import (
    alt,
    alternatives_of,
    complement,
    intersect,
    is_short_list,
)
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Not,
    SubAutomaton,
    is_length_bound,
    is_vast,
)
from structgen.regular.expressions.required_characters import unread


@lru_cache(maxsize=4096)
def readable(node: Regex) -> Regex:
    """The language as it is read: without some texts of formats beside other demands.

    The language itself where that leaves nothing.
    """
    found = _below(node, alone=True)
    return node if found is node or found.is_empty() else found


def readable_together(languages: tuple[Regex, ...]) -> tuple[Regex, ...]:
    """As `readable`, of languages that a text is read in side by side, which must agree on it.

    So a format is read without some of its texts only where all languages ask for it, some of them
    with other demands, and these leave some texts in each.
    """
    if len(languages) == 1:
        return (readable(*languages),)
    alive = {
        language: [x.parts if isinstance(x, And) else (x,) for x in alternatives_of(language)]
        for language in languages
        if language.longest
    }
    each = [parts for alternatives in alive.values() for parts in alternatives]
    common = set[Regex].intersection(*map(set, each)) if each else set()
    formats = [part for part in common if estimate(part, wide=False) is not part]
    if len(formats) != 1 or max(map(len, each)) == 1:
        return languages
    below = {formats[0]: estimate(formats[0], wide=False)}
    read = {
        language: alt(*(intersect(*(below.get(x, x) for x in parts)) for parts in alternatives))
        for language, alternatives in alive.items()
    }
    if any(language.is_empty() for language in read.values()):
        return languages
    return tuple(read.get(language, language) for language in languages)


def _below(node: Regex, *, alone: bool = False) -> Regex:
    """A subset, in which what stands alone is as it is."""
    if node.plain or not isinstance(node, Alt | And | Not):
        return node
    if isinstance(node, Not):
        return node if alone and unread(node) else estimate(node, wide=False)
    if isinstance(node, Alt):
        parts = [_below(part, alone=alone) for part in node.parts]
        return node if all(map(is_, parts, node.parts)) else alt(*parts)
    sooner = None if any(map(is_short_list, node.parts)) else _sooner({*node.parts})
    if sooner is not None:
        return sooner
    alone = sum(not (_bars_few(part) or _asks_for_length(part)) for part in node.parts) < 2
    parts = [part if is_vast(part) else _below(part, alone=alone) for part in node.parts]
    return node if all(map(is_, parts, node.parts)) else intersect(*parts)


def _sooner(found: set[Regex]) -> Regex | None:
    """An intersection in which an estimate stands for a part that has one, from below.

    None where there is none, or it is beside a length that makes no difference. Unions with
    sub-automata become unions of intersections, since each alternative may be read in its own way.
    """
    for part in sorted(found, key=lambda part: (isinstance(part, Alt), part.id)):
        vast = [one for one in alternatives_of(part) if is_vast(one)]
        if not vast:
            continue
        others = {_below(other) for other in found - {part}}
        if isinstance(part, Alt):
            plain = alt(*(one for one in part.parts if one not in vast))
            return alt(*(_below(intersect(one, *others)) for one in (*vast, plain)))
        if hasattr(vast[0].state, "within"):  # type: ignore[attr-defined]
            return _beside(part, others)
    return None


def _beside(part: Any, others: set[Regex]) -> Regex | None:
    """The texts of a sub-automaton that others have, too, if that is no intersection of them."""
    # to differ from a few texts is no demand on what comes later
    few = {one for one in others if _bars_few(one)}
    others = others - few
    if len(others) == 1 and is_length_bound(*others):
        _, low, high = as_repeat(*others)
        found: Regex | None = part.state.within(low, high)
        return None if found is None else intersect(found, *few)
    lower = estimate(part, wide=False)
    return None if lower is part or not others else _below(intersect(lower, *others, *few))


def _bars_few(part: Regex) -> bool:
    return isinstance(part, Not) and is_short_list(part.body)


def _asks_for_length(part: Regex) -> bool:
    return is_length_bound(part) and as_repeat(part)[2] == INFINITE


def _is_pattern(part: Regex) -> bool:
    return (part.body if isinstance(part, Not) else part).plain and not is_length_bound(part)


def _has_format(node: Regex) -> bool:
    parts = node.parts if isinstance(node, Alt | And) and not node.plain else ()
    return isinstance(node, SubAutomaton) or any(map(_has_format, parts))


@lru_cache(maxsize=4096)
def estimate(node: Regex, *, wide: bool) -> Regex:
    """An expression with the estimates of its sub-automata (`SubAutomatonState`) in their place.

    A superset where `wide`, else a subset; the expression itself if there are none.
    """
    if isinstance(node, SubAutomaton):
        estimates = getattr(node.state, "estimates", None)
        return estimates[wide] if estimates else node
    if node.plain or not isinstance(node, Alt | And | Not):
        return node
    if isinstance(node, Not):
        body = estimate(node.body, wide=not wide)
        return node if body is node.body else complement(body)
    parts = [estimate(part, wide=wide) for part in node.parts]
    if all(map(is_, parts, node.parts)):
        return node
    return alt(*parts) if isinstance(node, Alt) else intersect(*parts)


def nonempty_by_estimates(node: Regex) -> bool | None:
    """Whether a language has a member; None where neither its subset nor a superset shows it."""
    parts = node.parts if isinstance(node, And) else ()
    patterns = [part for part in parts if _is_pattern(part)]
    if len(patterns) > 1 and any(map(_has_format, parts)) and intersect(*patterns).is_empty():
        return False
    below, above = _below(node), estimate(node, wide=True)
    if below is not node and not below.is_empty():
        return True
    return False if above is not node and above.is_empty() else None
