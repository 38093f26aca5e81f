r"""When a Python pattern matches as a terminal, as two regular languages of the text alone.

The match of `re.match(pattern, text, i)` ends at j iff text[i:j] is in `language` and no longer
text from i is in `longer`: without assertions both are the texts that the pattern prefers whole
(module `leftmost_first`). With lookaheads that say something about the text behind the terminal
this may be so (`(?!if\b)\w+`: the longest \w+, but not "if"; `in\b`: "in" where no "in" with a
letter more is) or not (`\d+(?!\.)`, which matches the 1 of "12."); that is decided by walking both
automata together. Where it is not so, what may follow the text is a language for each of its ends
(module `lookaround.lookahead`).

A pattern that looks at the text before the match is another pattern behind each such text (module
`lookaround.lookbehind`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from structgen.errors import BudgetError
from structgen.grammar.lookaround.lookbehind import resolved
from structgen.grammar.terminals.any_order import matches_all_it_can
from structgen.grammar.terminals.leftmost_first import (
    MatchState,
    OverruledMatch,
    PossibleMatch,
    Program,
)
from structgen.grammar.terminals.lists import LONG_LIST, are_apart
from structgen.grammar.terminals.one_end import (
    behind_its_end,
    keyword_of,
    repeats_what_ends_in_one_place,
)
from structgen.grammar.terminals.one_unambiguous import is_one_unambiguous
from structgen.grammar.terminals.python_language import in_any_case, language_of, texts_in_order
from structgen.grammar.terminals.python_regex import (
    EMPTY_TEXT,
    Branch,
    End,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
    has_assertions,
    parse_with_lookbehinds,
)
from structgen.regular.charset import ALL, CharSet, refine
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EMPTY,
    INFINITE,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    sub_automaton,
    words,
)
from structgen.util.cancellation import checkpoint

_PAIRS = 4000  # pairs of states that one comparison of two automata may visit
_SOME_PAIRS = 64  # the same where failing costs no more than a less handy form
#: a word, and a character of one kind that must not follow; perhaps in any case
KEYWORD = re.compile(r"(\(\?i:)?(\w+)(\\b|\(\?!(?:\[[^]\\]+\]|\\w)\))(?(1)\))", re.ASCII)


class Matches(NamedTuple):
    """When a pattern matches: see the module.

    lookahead: where `longer` cannot say it, the start state of matching, from which the texts are
    known that may follow each text of `language`; else None.
    lookbehind: the pattern where it looks at the text before the match, else None; `language` then
    has the texts that it may match behind any.
    """

    language: Regex
    longer: Regex
    lookahead: MatchState | None = None
    lookbehind: Node | None = None


@lru_cache(maxsize=4096)
def matches_of(pattern: str) -> Matches:
    """The two languages of a pattern.

    Raises what `python_regex.parse_with_lookbehinds` does.
    """
    keyword = KEYWORD.fullmatch(pattern)
    if keyword is not None:  # by far the most patterns of most grammars
        opening, word, look = keyword.groups("")
        text = in_any_case(word) if opening else literal(word)
        return Matches(text, concat(text, _not_behind(f"{opening}_{look}{opening and ')'}")))
    node, outside = parse_with_lookbehinds(pattern)
    if outside:
        return Matches(language_of(_without_assertions(node)), EMPTY, lookbehind=node)
    return _matches_of(node, {})


@lru_cache(maxsize=256)
def _not_behind(pattern: str) -> Regex:
    """What must not follow a word, given a pattern of one letter with what it says of that."""
    node, _ = parse_with_lookbehinds(pattern)
    last = node.parts[-1] if isinstance(node, Sequence) else node
    return language_of(last.body if isinstance(last, Look) else last)


def matches_behind(node: Node, residuals: Mapping[Regex, Regex]) -> Matches:
    """The two languages of a pattern behind a text. residuals: as in `Program.start`.

    Raises BudgetError.
    """
    return _matches_of(resolved(node, residuals), residuals)


def _matches_of(node: Node, residuals: Mapping[Regex, Regex]) -> Matches:
    """The cheapest right form: closed forms first, then trials of `longer`, then `lookahead`."""
    keyword = keyword_of(node)
    if keyword is not None:
        return Matches(*keyword)
    sets: dict[str, CharSet] = {}
    listed = texts_in_order(node, sets)
    if listed is not None and len(listed) >= LONG_LIST and are_apart(sets.values()):
        return _listed(listed, sets)
    if is_one_unambiguous(node):
        language = language_of(node)
        return Matches(language, language)
    behind = behind_its_end(node)
    if behind is not None:
        language = language_of(_without_assertions(node))
        return Matches(language, language if behind is EMPTY else behind)
    if repeats_what_ends_in_one_place(node):
        language = language_of(node)
        return Matches(language, language)
    unreserved = _unreserved(node, residuals)
    if unreserved is not None:
        return unreserved
    if matches_all_it_can(node):
        language = language_of(node)
        return Matches(language, language)
    start = Program(node).start(residuals)
    language = _plain(node, start)
    if not has_assertions(node):
        return Matches(language, language)
    bare = _without_assertions(node)
    for longer in (
        language,
        _plain(bare, Program(bare).start()),
        sub_automaton(OverruledMatch.at(start)),
    ):
        if _decides(start, longer):
            return Matches(language, longer)
    return Matches(sub_automaton(PossibleMatch(start)), EMPTY, start)


def _listed(texts: list[str], sets: Mapping[str, CharSet]) -> Matches:
    """The languages of a list of texts, tried in this order.

    None is matched that begins with an earlier one. Of others the longest with which the text goes
    on is. sets: what each letter stands for, no two with a character in common.
    """
    seen: set[str] = set()
    for text in texts:
        if not any(text[:size] in seen for size in range(len(text) + 1)):
            seen.add(text)
    ordered = sorted(seen)
    apart = not any(b.startswith(a) for a, b in pairwise(ordered))
    if all(len(one) == 1 for one in sets.values()):
        language = words(ordered)
    else:
        language = alt(*(concat(*(chars(sets[letter]) for letter in text)) for text in ordered))
    return Matches(language, EMPTY if apart else language)


def _unreserved(node: Node, residuals: Mapping[Regex, Regex]) -> Matches | None:
    r"""The languages of `(?!(in|if)(?!\w))[a-z]\w*`: a name, but none of some words.

    The name ends where no character of its own kind, which is that of the words, goes on. So one of
    the words stands in front of something else there just when the name is this word. Behind the
    name may be more that begins with other characters, as in `... *=`, or that it ends, as in
    `(?!in\b|if\b)[a-z]\w*\b`.
    """
    parts = node.parts if isinstance(node, Sequence) else ()
    if len(parts) < 3:
        return None
    look, first, rest, *more = parts
    if not isinstance(look, Look) or look.behind or not look.negative:
        return None
    if not isinstance(first, OneChar) or not isinstance(rest, Loop) or rest.lazy:
        return None
    kind = rest.body
    if not isinstance(kind, OneChar) or rest.high != INFINITE:
        return None
    reserved = _in_front_of_others(look.body, kind.chars)
    if reserved is None or has_assertions(reserved):
        return None
    if len(more) == 1 and _in_front_of_others(more[0], kind.chars) is EMPTY_TEXT:
        more = []
    if first.chars - kind.chars or any(of - kind.chars for of in _characters(reserved)):
        return None
    name, barred = Sequence((first, rest)), language_of(reserved)
    if not more:
        whole = language_of(name)
        return Matches(intersect(whole, complement(barred)), whole)
    behind = language_of(_without_assertions(Sequence((*more,))))
    if behind.nullable or any(of & kind.chars for of, _ in behind.moves()):
        return None
    found = _matches_of(Sequence((first, rest, *more)), residuals)
    if found.lookahead is not None:
        return None
    others = complement(concat(barred, chars(ALL - kind.chars), ANY))
    language = intersect(found.language, others)
    same = found.longer is found.language
    return Matches(language, language if same else found.longer)


def _in_front_of_others(node: Node, kind: CharSet) -> Node | None:
    """What stands before "no character of a kind" in a node, or in each of its alternatives."""
    match node:
        case Look(body=OneChar(chars=chars), behind=False, negative=True) if chars is kind:
            return EMPTY_TEXT
        case Sequence(parts=(*before, last)):
            found = _in_front_of_others(last, kind)
            return None if found is None else Sequence((*before, found))
        case Branch():
            parts = [_in_front_of_others(part, kind) for part in node.parts]
            known = tuple(part for part in parts if part is not None)
            return Branch(known) if len(known) == len(parts) else None
    return None


def _characters(node: Node) -> Iterator[CharSet]:
    """The character sets of a node without assertions."""
    match node:
        case OneChar():
            yield node.chars
        case Sequence() | Branch():
            for part in node.parts:
                yield from _characters(part)
        case Loop():
            yield from _characters(node.body)


def _plain(node: Node, start: MatchState) -> Regex:
    """The texts that a pattern prefers whole: all that it can match, if that is the same."""
    ordered = sub_automaton(start)
    language = language_of(node)
    try:
        return language if _same(language, ordered, _SOME_PAIRS) else ordered
    except BudgetError:
        return ordered


def _same(
    left: Regex, right: Regex, budget: int, seen: set[tuple[Regex, Regex]] | None = None
) -> bool:
    """Whether two languages are equal, by bisimulation. Raises BudgetError after `budget` pairs."""
    seen = set() if seen is None else seen
    todo = [(left, right)]
    while todo:
        checkpoint()
        pair = todo.pop()
        if pair in seen or pair[0] is pair[1]:
            continue
        if pair[0].nullable != pair[1].nullable:
            return False
        seen.add(pair)
        if len(seen) > budget:
            raise BudgetError(
                "two automata are too large to be compared", hint="simplify the pattern"
            )
        moves = [(of, (side, to)) for side in (0, 1) for of, to in pair[side].steps()]
        for _, targets in refine(moves):
            after = dict(targets)
            todo.append((after.get(0, EMPTY), after.get(1, EMPTY)))
    return True


def _decides(start: MatchState, longer: Regex) -> bool:
    """Whether a match ends exactly where its text matches whole and none in `longer` goes on."""
    seen = {(start, longer)}
    todo = [(start, longer)]
    same: set[tuple[Regex, Regex]] = set()
    while todo:
        checkpoint()
        state, more = todo.pop()
        ends = state.allowed_after()
        stays = EMPTY
        if state.nullable:
            stays = complement(concat(intersect(more, concat(ANY_CHAR, ANY)), ANY))
        if not _same(ends, stays, _PAIRS, same):
            return False
        cut = [
            *((of, (0, to)) for of, to in state.cached_moves()),
            *((of, (1, to)) for of, to in more.steps()),
        ]
        for _, targets in refine(cut):
            after = dict(targets)
            reached, rest = after.get(0), after.get(1, EMPTY)
            if isinstance(reached, MatchState) and isinstance(rest, Regex):
                pair = (reached, rest)
                if pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
        if len(seen) > _PAIRS:
            raise BudgetError(
                "the lookaheads of a pattern are too costly", hint="simplify the pattern"
            )
    return True


def _without_assertions(node: Node) -> Node:
    """The pattern as if all its assertions held."""
    match node:
        case Sequence():
            return Sequence(tuple(_without_assertions(part) for part in node.parts))
        case Branch():
            return Branch(tuple(_without_assertions(part) for part in node.parts))
        case Loop():
            return Loop(_without_assertions(node.body), node.low, node.high, node.lazy)
        case Look() | End():
            return EMPTY_TEXT
        case _:
            return node
