"""In: a lexer state. Out: the shortest bytes that end its lexeme, for each way it can end."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from structgen.automaton.lexer import End, LexState, RowOf, Text
from structgen.automaton.regex import EPSILON, Regex, shortest
from structgen.errors import BudgetError

MAX_STATES = 50_000

# Bytes in the order in which ties are broken: what reads best first.
ORDER = sorted(range(256), key=lambda b: (b == 0x5C, not (0x20 < b < 0x7F), chr(b).upper(), -b))


class Ending(NamedTuple):
    """A way in which a lexeme can end: `path` are the shortest bytes of it.

    early: the lexeme ends before the byte that follows; otherwise the last byte of `path` ends it.
    label None: no ending, but news that everything shorter than `path` has been seen.
    """

    label: Hashable | None
    path: bytes
    early: bool = False


def ends(state: LexState, row_of: RowOf, alphabet: Container[int] = range(256)) -> Iterator[Ending]:
    """The ways in which the lexeme can end from `state`, one per label, by increasing length.

    Only bytes of `alphabet` are written. A text in one language is asked for its shortest word
    where it begins, and not read. Raises BudgetError past MAX_STATES states.
    """
    direct = _only_ending(state, alphabet)
    if direct is not None:
        yield direct
        return
    order = [byte for byte in ORDER if byte in alphabet]
    seen: set[Hashable] = set()
    paths: dict[LexState, bytes] = {state: b""}
    queue = deque([state])
    late: list[tuple[int, int, Ending]] = []  # a heap, by length and then as they were found
    numbers = count()
    while queue:
        here = queue.popleft()
        path = paths[here]
        while late and late[0][0] <= len(path):
            yield from _fresh(heappop(late)[2], seen)
        yield Ending(None, path)
        row = row_of(here)
        if row.accept is not None:
            yield from _fresh(Ending(row.accept, path, early=True), seen)
        for byte in order:
            target = row.targets[byte]
            found: Ending | None = None
            if isinstance(target, End):
                found = Ending(target.label, path + bytes((byte,)))
            elif target is not None and target not in paths:
                paths[target] = begun = path + bytes((byte,))
                direct = None if isinstance(here, Text) else _only_ending(target, alphabet)
                if direct is None:
                    queue.append(target)
                else:
                    found = direct._replace(path=begun + direct.path)
            if found is not None and found.label not in seen:
                heappush(late, (len(found.path), next(numbers), found))
        if len(paths) > MAX_STATES:
            raise BudgetError(
                f"more than {MAX_STATES} positions to look at for the shortest way to end a lexeme",
                hint="simplify the pattern, or its combination with others",
            )
    while late:
        yield from _fresh(heappop(late)[2], seen)


def _only_ending(state: LexState, alphabet: Container[int]) -> Ending | None:
    """The single ending of a text in one language, read off the language itself.

    None when `state` is no such text, or its shortest word takes more than a byte per character,
    or bytes that are not in `alphabet`.
    """
    if not isinstance(state, Text) or len(state.vector) != 1:
        return None
    language = state.vector[0]
    word = shortest(language) if isinstance(language, Regex) else None
    if word is None or any(not " " <= char <= "~" or char in '"\\' for char in word):
        return None
    end = state.role.end((EPSILON,))  # what the end of any word of the language means
    if not isinstance(end, End):
        return None
    quote = b'"' if state.role.quoted else b""
    path = word.encode() + quote
    return Ending(end.label, path, early=not quote) if all(b in alphabet for b in path) else None


def _fresh(ending: Ending, seen: set[Hashable]) -> Iterator[Ending]:
    """The ending, if it is the first one with its label."""
    if ending.label not in seen:
        seen.add(ending.label)
        yield ending
