"""How the texts of a plain expression begin and end.

Conditions on the first or last few characters of a text can be put into the expression itself: the
texts of `[a-z-]{1,63}` that do not end in a hyphen are `[a-z-]{0,62}[a-z]`. The expression stays
plain, so it needs no intersection, which would have to be searched for dead ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from structgen.regular.charset import CharSet, refine, union_all
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex
from structgen.regular.expressions.build import chars, concat, join, repeat_counts, text_node, words
from structgen.regular.expressions.logic import alt
from structgen.regular.expressions.nodes import ANY, Alt, Chars, Concat, Literal, Repeat, Words

MAX_LENGTH = 4  # characters of a text that may be looked at
MAX_WORDS = 1000  # words of a list that are told apart by their ends

State = TypeVar("State")


LastMoves = tuple[tuple[Regex, CharSet], ...]


class UndecidedError(Exception):
    """A condition depends on too many characters, or on what stands around the expression."""


@lru_cache(maxsize=4096)
def last_moves(language: Regex) -> LastMoves:
    """Derivatives from the right: (before, last) such that all texts are in before·last.

    The sets may overlap. Raises UndecidedError for expressions that are not plain and for long word
    lists.
    """
    match language:
        case Chars():
            return ((EPSILON, language.chars),)
        case Literal():
            return ((text_node(language.text[:-1]), CharSet.chars(language.text[-1])),)
        case Words():
            return _last_of_words(language)
        case Alt():
            return tuple(move for part in language.parts for move in last_moves(part))
        case Concat():
            return tuple(_last_of_sequence(language.parts_in_order))
        case Repeat():
            high = language.high if language.high == INFINITE else language.high - 1
            others = repeat_counts(language.body, max(language.low - 1, 0), high)
            return tuple((concat(others, rest), of) for rest, of in last_moves(language.body))
    if language is EPSILON or language is EMPTY:
        return ()
    raise UndecidedError


def _last_of_words(language: Words) -> LastMoves:
    if language.high - language.low > MAX_WORDS:
        raise UndecidedError
    groups: dict[str, list[str]] = {}
    for word in language.members():
        if word:
            groups.setdefault(word[-1], []).append(word[:-1])
    return tuple((words(texts), CharSet.chars(letter)) for letter, texts in groups.items())


def _last_of_sequence(parts: list[Regex]) -> Iterable[tuple[Regex, CharSet]]:
    while parts:
        part = parts.pop()
        for rest, of in last_moves(part):
            yield concat(*parts, rest), of
        if not part.nullable:
            return


def split_by_end(
    language: Regex, begin: State, steps: Sequence[tuple[CharSet, Mapping[State, State]]]
) -> dict[State, Regex]:
    """Split the non-empty texts of a language by the state in which they leave an automaton.

    begin: the automaton's state before the text. steps: the automaton as disjoint character sets,
    each with the next state of every state. Raises UndecidedError where the last MAX_LENGTH
    characters do not decide the state.
    """
    found: dict[State, list[Regex]] = {}

    def split(before: Regex, end: Regex, after: Mapping[State, State] | None, length: int) -> None:
        """Add the texts before·end; `after`: where `end` leads from each state."""
        if after is not None and before.nullable:
            found.setdefault(after[begin], []).append(end)
        for rest, last in last_moves(before):
            for of, step in steps:
                if not last & of:
                    continue
                longer = step if after is None else {s: after[t] for s, t in step.items()}
                text = join(chars(last & of), end)
                state, *others = {*longer.values()}
                if not others:
                    found.setdefault(state, []).append(concat(rest, text))
                elif length == MAX_LENGTH:
                    raise UndecidedError
                else:
                    split(rest, text, longer, length + 1)

    split(language, EPSILON, None, 1)
    return {state: alt(*texts) for state, texts in found.items()}


@lru_cache(maxsize=4096)
def restrict_begin(
    condition: Regex, language: Regex, *, followed: bool = False, length: int = MAX_LENGTH
) -> Regex:
    """The texts of a plain language that also fit a condition on their first few characters.

    followed: more text may follow, which the condition must not depend on. Raises UndecidedError
    where `length` characters do not decide the condition.
    """
    if condition is ANY or language is EMPTY:
        return language
    if condition is EMPTY:
        return EMPTY
    if not length or (followed and language.nullable):
        raise UndecidedError
    either = [(of, (0, target)) for of, target in condition.steps()]
    either += [(of, (1, target)) for of, target in language.steps()]
    kept: dict[Regex, list[CharSet]] = {}
    same = condition.nullable or not language.nullable
    for of, targets in refine(either):
        after = dict(targets)  # by whether it is the language's
        if 1 not in after:
            continue
        rest = EMPTY
        if 0 in after:
            rest = restrict_begin(after[0], after[1], followed=followed, length=length - 1)
        same = same and rest is after[1]
        kept.setdefault(rest, []).append(of)
    if same:
        return language
    empty = EPSILON if condition.nullable and language.nullable else EMPTY
    return alt(empty, *(join(chars(union_all(sets)), rest) for rest, sets in kept.items()))
