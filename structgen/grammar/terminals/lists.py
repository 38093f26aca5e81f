"""The DFAs of lists: of words, or of texts with one of some characters at each of their places.

So are words in any case. The trie of a list is made by a kernel, at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise, product

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.grammar.terminals.byte_dfa import ByClasses, in_bytes, too_large
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet, one_character
from structgen.regular.expressions.nodes import Alt, Chars, Concat, Literal, Repeat, Words
from structgen.regular.regex import Regex
from structgen.util.arrays import distinct
from structgen.util.cancellation import checkpoint

MAX_STATES = 20_000  # byte states of one terminal
MOST_LETTERS, FEW_STATES = 1 << 17, 1 << 14  # of a list whose automaton is made at once
LONG_LIST = 16  # texts
MOST_SETS = 256  # of characters in a list
MOST_TURNS = 8  # of a repeat that are written out
TEXTS_PER_UNIT = 1000  # that are listed in a unit of work

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Places = tuple[CharSet, ...]  # the characters that a text may have at each place


class _NotAListError(Exception):
    """The language is no list, or a list of another kind."""


def are_apart(sets: Iterable[CharSet]) -> bool:
    """Whether no two sets have a character in common."""
    spans = sorted(span for one in sets for span in one.ranges)
    return all(high < low for (_, high), (low, _) in pairwise(spans))


def has_few_states(language: Regex) -> bool:
    """Whether a language is a list whose automaton can be made at once."""
    if isinstance(language, Words):
        if sum(map(len, language.members())) > MOST_LETTERS:
            return False
    elif not isinstance(language, Alt) or len(language.parts) < LONG_LIST:
        return False
    try:
        found = dfa_of_list(language)
    except BudgetError:
        return False
    return found is not None and len(found[0]) <= FEW_STATES


@lru_cache(maxsize=64)
def dfa_of_list(language: Regex) -> tuple[Ints, Flags] | None:
    """The DFA of a list: int32[n, 256], the next states, -1 dead, and where a text ends: bool[n].

    None for other languages. Raises BudgetError past MAX_STATES states.
    """
    if isinstance(language, Words):
        return _of_words([word.encode() for word in language.members()])
    if not isinstance(language, Alt) or len(language.parts) < LONG_LIST:
        return None
    try:
        return _of_places(language)
    except _NotAListError:
        return None


def _of_words(listed: list[bytes]) -> tuple[Ints, Flags]:
    data = np.frombuffer(b"".join(listed), np.uint8)
    used = distinct(data)
    kinds = np.zeros(256, np.int32)
    kinds[used] = np.arange(len(used))
    nexts, ends = _minimal(kinds[data], listed, len(used))
    table = np.full((len(nexts), 256), -1, np.int32)
    table[:, used] = nexts
    return table, ends


def _of_places(language: Alt) -> tuple[Ints, Flags]:
    """The same for texts of places, where no two sets share a character. Raises _NotAListError."""
    numbers: dict[CharSet, int] = {}
    texts: list[list[int]] = []
    left = MOST_LETTERS
    for text in chain.from_iterable(map(_texts, language.parts)):
        checkpoint(len(texts) % TEXTS_PER_UNIT == 0)
        texts.append([numbers.setdefault(one, len(numbers)) for one in text])
        left -= len(text)
        if left < 0 or len(numbers) > MOST_SETS:
            raise _NotAListError
    if not are_apart(numbers):
        raise _NotAListError
    spans = sorted((*span, number) for one, number in numbers.items() for span in one.ranges)
    letters = np.array([*chain.from_iterable(texts)], np.int32)
    nexts, ends = _minimal(letters, texts, len(numbers))
    found = ByClasses(nexts, np.array(spans, np.int32), ends[:, None])
    table, accepts, _ = in_bytes(found, MAX_STATES)
    return table, accepts[:, 0]


def _texts(language: Regex) -> Iterator[Places]:
    """The texts of an alternative, by their places. Raises _NotAListError for what is no text."""
    match language:
        case Chars():
            yield (language.chars,)
        case Literal():
            yield tuple(map(one_character, language.text))
        case Words():
            yield from (tuple(map(one_character, word)) for word in language.members())
        case Repeat() if isinstance(language.body, Chars) and language.high <= MOST_TURNS:
            for turns in range(language.low, language.high + 1):
                yield (language.body.chars,) * turns
        case Concat():
            for parts in product(*map(_texts, language.parts_in_order)):
                yield tuple(chain.from_iterable(parts))
        case _:
            raise _NotAListError


def _minimal(letters: Ints, texts: Sequence[Sequence[int]], count: int) -> tuple[Ints, Flags]:
    """The minimal DFA over `count` letters. letters: int32, those of all texts.

    Raises BudgetError past MAX_STATES states.
    """
    k, starts = kernels("terminals.words"), np.cumsum([0, *map(len, texts)], dtype=np.int32)
    size = 1 << 10
    while True:
        nexts, ends = np.full((size, count), -1, np.int32), np.zeros(size, np.int32)
        states = k.words_read(letters, starts, nexts, ends)
        if states >= 0:
            break
        size *= 4
    nexts, ends, number = nexts[:states], ends[:states], np.empty(states, np.int32)
    slots = np.full(1 << (2 * states).bit_length(), -1, np.int32)
    left = k.merged(nexts, ends, number, slots)
    if left > MAX_STATES:
        raise too_large(MAX_STATES)
    kept = np.flatnonzero(number == np.arange(states))
    place = np.full(states + 1, -1, np.int32)  # index -1 (dead) stays -1
    place[kept] = np.arange(left)
    return place[nexts[kept]], ends[kept] > 0
