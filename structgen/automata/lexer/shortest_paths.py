"""The shortest bytes that end a lexeme, for each terminal it can end with."""

from __future__ import annotations

import json
from collections.abc import Container, Hashable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from structgen.automata.lexer.lexer import (
    End,
    LexState,
    RowOf,
    Text,
    only_live_index,
    with_only,
)
from structgen.errors import BudgetError
from structgen.regular.charset import MAX_CODE_POINT, CharSet
from structgen.regular.expressions.build import text_of
from structgen.regular.lazy_dfa.shortest_texts import Letter, shortest_text
from structgen.regular.lone_surrogates import STAND_IN
from structgen.regular.regex import EPSILON, Regex, shortest
from structgen.regular.utf8 import LAST_ASCII
from structgen.util.cancellation import checkpoint, limited

MAX_STATES = 50_000
TABLE_UNITS = 4000  # of work for a text by a table of states
_STAND_IN = chr(STAND_IN)  # the first of those that stand in for unpaired surrogates

# Bytes in the order in which ties are broken: the most readable first.
ORDER = sorted(range(256), key=lambda b: (b == 0x5C, not (0x20 < b < 0x7F), chr(b).upper(), -b))
_ESCAPED = "\\u0000"
_ASCII = CharSet.of([(0, LAST_ASCII)])
# Characters by the number of their bytes in a JSON string; others are `_ESCAPED`.
_SIZES_IN_STRINGS = (
    (1, CharSet.of([(0x20, LAST_ASCII)]) - CharSet.chars('"\\')),
    (2, CharSet.chars('"\\\b\f\n\r\t') | CharSet.of([(0x80, 0x7FF)])),
    (3, CharSet.of([(0x800, 0xFFFF)])),
    (4, CharSet.of([(0x10000, MAX_CODE_POINT)])),
)
RANK = {byte: i for i, byte in enumerate(ORDER)}


class Ending(NamedTuple):
    """A way in which a lexeme can end: `path` are the shortest bytes of it.

    early: the lexeme ends before the next byte; otherwise the last byte of `path` ends it.
    terminal None: no ending, but notice that all endings shorter than `path` have been given.
    """

    terminal: Hashable | None
    path: bytes
    early: bool = False


class Alone(NamedTuple):
    """A text in one language, and the terminal with which it ends."""

    text: Text
    language: Regex
    terminal: Hashable


def ends(state: LexState, row_of: RowOf, alphabet: Container[int] = range(256)) -> Iterator[Ending]:
    """The ways in which the lexeme can end from `state`, one per terminal, by increasing length.

    Breadth first over lexer states, with bytes of `alphabet` only. A text in one language is not
    walked: its shortest word is asked for. Raises BudgetError past MAX_STATES states.
    """
    alone = _alone(state)
    direct = None if alone is None else _only_ending(alone, alphabet)
    if direct is not None:
        yield direct
        return
    backwards = [byte for byte in reversed(ORDER) if byte in alphabet]
    seen: set[Hashable] = set()
    paths: dict[LexState, bytes] = {state: b""}
    # a heap, by length, endings before states that are to be walked, then as met
    waiting: list[tuple[int, bool, int, Ending | Alone | LexState]] = [(0, True, 0, state)]
    numbers = count(1)
    while waiting:
        size, _, number, here = heappop(waiting)
        if isinstance(here, Ending):
            yield from _fresh(here, seen)
            continue
        if isinstance(here, Alone):
            if here.terminal not in seen:  # else a shorter way with this terminal is known
                direct, path = _only_ending(here, alphabet), paths[here.text]
                if direct is None:
                    heappush(waiting, (len(path), True, number, here.text))
                else:
                    direct = direct._replace(path=path + direct.path)
                    heappush(waiting, (len(direct.path), False, number, direct))
            continue
        path = paths[here]
        if size > len(path):  # a shorter way there was found behind a text that was asked in vain
            continue
        checkpoint()
        yield Ending(None, path)
        row = row_of(here)
        if row.accept is not None:
            yield from _fresh(Ending(row.accept, path, early=True), seen)
        targets = [*map(row.targets.__getitem__, backwards)]
        # for each target the most readable byte that leads to it, which comes last
        leading = dict(zip(map(id, targets), backwards, strict=True))
        for byte in sorted(leading.values(), key=RANK.__getitem__):
            target, begun = row.targets[byte], path + bytes((byte,))
            if isinstance(target, End):
                if target.terminal not in seen:
                    found = Ending(target.terminal, begun)
                    heappush(waiting, (len(begun), False, next(numbers), found))
            elif target is not None and _is_shorter(begun, paths.get(target)):
                paths[target] = begun
                alone = None if isinstance(here, Text) else _alone(target)
                if alone is None:
                    heappush(waiting, (len(begun), True, next(numbers), target))
                else:
                    least = len(begun) + alone.language.shortest
                    heappush(waiting, (least, False, next(numbers), alone))
        if len(paths) > MAX_STATES:
            raise BudgetError(
                f"more than {MAX_STATES} positions to look at for the shortest way to end a lexeme",
                hint="simplify the pattern, or its combination with others",
            )


def _alone(state: LexState) -> Alone | None:
    """A state as a text in one language; None where it is no such text, or has no end."""
    if not isinstance(state, Text) or (place := only_live_index(state.vector)) is None:
        return None
    language = state.vector[place]
    # the same for all words of the language
    end = state.role.end(with_only(state.vector, place, EPSILON))
    if not isinstance(language, Regex) or not isinstance(end, End):
        return None
    return Alone(state, language, end.terminal)


def _only_ending(alone: Alone, alphabet: Container[int]) -> Ending | None:
    """The single ending of a text in one language, read off the language itself.

    None where another word may take fewer bytes than its shortest one, as that takes more than a
    byte per character, or where it takes bytes that are not in `alphabet`.
    """
    quoted = alone.text.role.quoted
    word = shortest(alone.language)
    if word is None:
        return None
    if not (_is_plain(word) or text_of(alone.language) == word):
        word = None
        with suppress(BudgetError), limited(TABLE_UNITS):
            word = shortest_text(alone.language, _in_string if quoted else _in_utf8)
        if word is None:
            return None
    if max(word, default="") >= _STAND_IN:
        return None
    spelled = json.dumps(word, ensure_ascii=False)[1:] if quoted else word
    path = spelled.encode()
    if not all(byte in alphabet for byte in path):
        return None
    return Ending(alone.terminal, path, early=not quoted)


def _in_string(chars: CharSet) -> Letter:
    """The letter of a set that takes the fewest bytes in a JSON string."""
    for size, same in _SIZES_IN_STRINGS:
        if chars & same:
            return Letter((chars & same).sample, size)
    return Letter(chars.first, len(_ESCAPED))


def _in_utf8(chars: CharSet) -> Letter:
    """The letter of a set that takes the fewest bytes, the most readable one of these."""
    ascii_ones = chars & _ASCII
    point = (ascii_ones or chars).sample
    return Letter(point, len(chr(point).encode()))


def _is_plain(word: str) -> bool:
    """Whether each character is a byte, in a JSON string too."""
    return word.isascii() and word.isprintable() and '"' not in word and "\\" not in word


def _is_shorter(path: bytes, known: bytes | None) -> bool:
    return known is None or len(path) < len(known)


def _fresh(ending: Ending, seen: set[Hashable]) -> Iterator[Ending]:
    """The ending, if it is the first one with its terminal."""
    if ending.terminal not in seen:
        seen.add(ending.terminal)
        yield ending
