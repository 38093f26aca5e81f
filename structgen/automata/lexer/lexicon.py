"""A lexicon: lexer states that many specs share, with their rows computed once in a process.

An engine starts with a copy, so that common lexemes (free strings, numbers, white space) have the
same numbers in all engines; what masks need of them over a vocabulary is shared as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexer import End, LexState, Row, Target

MAX_MANY = 32  # rows computed of kinds of states of which there are very many


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Lexer states and terminals by number, with the rows of the first states.

    rows: int32[R, 256], accept: int32[S], recorded: uint8[S], as in `kernels.tables`; the states
    from R on are only led to. Compared by identity.
    """

    states: tuple[LexState, ...]
    terminals: tuple[Hashable, ...]
    state_ids: dict[LexState, int]
    terminal_ids: dict[Hashable, int]
    rows: npt.NDArray[np.int32]
    accept: npt.NDArray[np.int32]
    recorded: npt.NDArray[np.uint8]

    @cached_property
    def identities(self) -> dict[int, tuple[int, LexState]]:
        """The number of each state, and the state, by its `id`: hashing states is slow."""
        return {id(state): (q, state) for state, q in self.state_ids.items()}


def lexicon_of(
    starts: Iterable[LexState],
    terminals: Iterable[Hashable],
    is_many: Callable[[LexState], bool] = lambda _: False,
) -> Lexicon:
    """All states reachable from `starts`, with their rows; `terminals` are numbered first.

    is_many: whether a state is of a kind of which there are very many. Of these only the MAX_MANY
    nearest to the starts get rows, which must contain all terminals that the others lead to.
    """
    cached: dict[LexState, Row] = {}

    def row_of(state: LexState) -> Row:
        if state not in cached:
            cached[state] = state.row(row_of)
        return cached[state]

    seen = dict.fromkeys(starts)
    waiting: dict[bool, deque[LexState]] = {False: deque(), True: deque()}
    for start in seen:
        waiting[is_many(start)].append(start)
    rows: dict[LexState, _SeenRow] = {}
    room = MAX_MANY
    while waiting[False] or (waiting[True] and room):
        many = not waiting[False]
        room -= many
        state = waiting[many].popleft()
        row = rows[state] = _seen(row_of(state))
        for target in row.distinct.values():
            if isinstance(target, LexState) and target not in seen:
                seen[target] = None
                waiting[is_many(target)].append(target)
    states = (*rows, *(state for state in seen if state not in rows))
    return _numbered(
        states, [*rows.values()], {terminal: i for i, terminal in enumerate(terminals)}
    )


class _SeenRow(NamedTuple):
    """A row with the `id` of each target, and each target once by its `id`: hashing is slow."""

    accept: Hashable | None
    identities: list[int]
    distinct: dict[int, Target]


def _seen(row: Row) -> _SeenRow:
    identities = [*map(id, row.targets)]
    return _SeenRow(row.accept, identities, dict(zip(identities, row.targets, strict=True)))


def _numbered(
    states: tuple[LexState, ...], rows: list[_SeenRow], terminal_ids: dict[Hashable, int]
) -> Lexicon:
    """The lexicon of states, of which the first have rows."""
    state_ids = {state: i for i, state in enumerate(states)}
    codes: list[list[int]] = []
    for row in rows:
        number = {id(None): -1}
        for identity, target in row.distinct.items():
            if isinstance(target, End):
                number[identity] = -2 - terminal_ids.setdefault(target.terminal, len(terminal_ids))
            elif target is not None:
                number[identity] = state_ids[target]
        codes.append([*map(number.__getitem__, row.identities)])
    accept = [
        -1 if row.accept is None else terminal_ids.setdefault(row.accept, len(terminal_ids))
        for row in rows
    ]
    return Lexicon(
        states,
        tuple(terminal_ids),
        state_ids,
        terminal_ids,
        np.array(codes, np.int32).reshape(-1, 256),
        np.array(accept + [-1] * (len(states) - len(rows)), np.int32),
        np.array([state.recorded for state in states], np.uint8),
    )
