"""In: a lexer state. Out: the shortest bytes that end its lexeme, for each way it can end."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Hashable, Iterator
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

    Only bytes of `alphabet` are written. Raises BudgetError past MAX_STATES states.
    """
    direct = _only_ending(state)
    if direct is not None and all(byte in alphabet for byte in direct.path):
        yield direct
        return
    order = [byte for byte in ORDER if byte in alphabet]
    seen: set[Hashable] = set()
    paths: dict[LexState, bytes] = {state: b""}
    queue = deque([state])
    late: deque[Ending] = deque()
    while queue:
        here = queue.popleft()
        path = paths[here]
        while late and len(late[0].path) <= len(path):
            yield from _fresh(late.popleft(), seen)
        yield Ending(None, path)
        row = row_of(here)
        if row.accept is not None:
            yield from _fresh(Ending(row.accept, path, early=True), seen)
        for byte in order:
            target = row.targets[byte]
            if isinstance(target, End):
                if target.label not in seen:
                    late.append(Ending(target.label, path + bytes((byte,))))
            elif target is not None and target not in paths:
                paths[target] = path + bytes((byte,))
                queue.append(target)
        if len(paths) > MAX_STATES:
            raise BudgetError(
                f"more than {MAX_STATES} positions to look at for the shortest way to end a lexeme",
                hint="simplify the pattern, or its combination with others",
            )
    for ending in late:
        yield from _fresh(ending, seen)


def _only_ending(state: LexState) -> Ending | None:
    """The single ending of a text in one language, read off the language itself.

    None when `state` is no such text, or its shortest word takes more than a byte per character.
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
    return Ending(end.label, word.encode() + quote, early=not quote)


def _fresh(ending: Ending, seen: set[Hashable]) -> Iterator[Ending]:
    """The ending, if it is the first one with its label."""
    if ending.label not in seen:
        seen.add(ending.label)
        yield ending
