"""The shortest bytes that end a lexeme, for each terminal it can end with."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Container, Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from structgen.automata.lexer.lexer import End, LexState, RowOf, Text
from structgen.errors import BudgetError
from structgen.regular.expressions.build import text_of
from structgen.regular.lone_surrogates import STAND_IN
from structgen.regular.regex import EPSILON, Regex, shortest
from structgen.util.cancellation import checkpoint

MAX_STATES = 50_000
_STAND_IN = chr(STAND_IN)  # the first of those that stand in for unpaired surrogates

# Bytes in the order in which ties are broken: the most readable first.
ORDER = sorted(range(256), key=lambda b: (b == 0x5C, not (0x20 < b < 0x7F), chr(b).upper(), -b))
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
    queue = deque([state])
    late: list[tuple[int, int, Ending | Alone]] = []  # a heap, by length, then as met
    numbers = count()
    while queue or late:
        if late and (not queue or late[0][0] <= len(paths[queue[0]])):
            _, number, met = heappop(late)
            if isinstance(met, Ending):
                yield from _fresh(met, seen)
            elif met.terminal not in seen:  # else a shorter way with this terminal is known
                direct = _only_ending(met, alphabet)
                if direct is None:
                    queue.appendleft(met.text)
                else:
                    path = paths[met.text] + direct.path
                    heappush(late, (len(path), number, direct._replace(path=path)))
            continue
        checkpoint()
        here = queue.popleft()
        path = paths[here]
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
                    heappush(late, (len(begun), next(numbers), found))
            elif target is not None and target not in paths:
                paths[target] = begun
                alone = None if isinstance(here, Text) else _alone(target)
                if alone is None:
                    queue.append(target)
                else:
                    least = len(begun) + alone.language.shortest
                    heappush(late, (least, next(numbers), alone))
        if len(paths) > MAX_STATES:
            raise BudgetError(
                f"more than {MAX_STATES} positions to look at for the shortest way to end a lexeme",
                hint="simplify the pattern, or its combination with others",
            )


def _alone(state: LexState) -> Alone | None:
    """A state as a text in one language; None where it is no such text, or has no end."""
    if not isinstance(state, Text) or len(state.vector) != 1:
        return None
    language = state.vector[0]
    end = state.role.end((EPSILON,))  # the same for all words of the language
    if not isinstance(language, Regex) or not isinstance(end, End):
        return None
    return Alone(state, language, end.terminal)


def _only_ending(alone: Alone, alphabet: Container[int]) -> Ending | None:
    """The single ending of a text in one language, read off the language itself.

    None where another word may take fewer bytes than its shortest one, as that takes more than a
    byte per character, or where it takes bytes that are not in `alphabet`.
    """
    word = shortest(alone.language, by_table=not alone.text.recorded)
    if word is None or not (_is_plain(word) or text_of(alone.language) == word):
        return None
    if max(word, default="") >= _STAND_IN:
        return None
    quoted = alone.text.role.quoted
    spelled = json.dumps(word, ensure_ascii=False)[1:] if quoted else word
    path = spelled.encode()
    if not all(byte in alphabet for byte in path):
        return None
    return Ending(alone.terminal, path, early=not quoted)


def _is_plain(word: str) -> bool:
    """Whether each character is a byte, in a JSON string too."""
    return word.isascii() and word.isprintable() and '"' not in word and "\\" not in word


def _fresh(ending: Ending, seen: set[Hashable]) -> Iterator[Ending]:
    """The ending, if it is the first one with its terminal."""
    if ending.terminal not in seen:
        seen.add(ending.terminal)
        yield ending
