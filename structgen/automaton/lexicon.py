"""In: lexer states that many specs share. Out: their rows, computed once in a process.

An engine starts with a copy, so that the common lexemes (free strings, numbers, white space) have
the same numbers everywhere: nothing about them is computed again, and what a vocabulary's trie
looks like from them is shared between engines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automaton.lexer import End, LexState, Row


class Lexicon(NamedTuple):
    """Lexer states with their rows (as in `kernels.tables`), and the labels in these."""

    states: tuple[LexState, ...]
    labels: tuple[Hashable, ...]
    state_ids: dict[LexState, int]
    label_ids: dict[Hashable, int]
    rows: npt.NDArray[np.int32]
    accept: npt.NDArray[np.int32]
    recorded: npt.NDArray[np.uint8]


def lexicon_of(starts: Iterable[LexState], labels: Iterable[Hashable]) -> Lexicon:
    """All states that `starts` lead to; `labels` come first."""
    state_ids: dict[LexState, int] = {}
    label_ids: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    cached: dict[LexState, Row] = {}
    for start in starts:
        state_ids.setdefault(start, len(state_ids))

    def row_of(state: LexState) -> Row:
        if state not in cached:
            cached[state] = state.row(row_of)
        return cached[state]

    rows: list[list[int]] = []
    accept: list[int] = []
    states = list(state_ids)
    for state in states:  # which grows as it is read
        row = row_of(state)
        codes = []
        for target in row.targets:
            if isinstance(target, End):
                codes.append(-2 - label_ids.setdefault(target.label, len(label_ids)))
            elif target is None:
                codes.append(-1)
            else:
                if target not in state_ids:
                    state_ids[target] = len(state_ids)
                    states.append(target)
                codes.append(state_ids[target])
        rows.append(codes)
        early = row.accept
        accept.append(-1 if early is None else label_ids.setdefault(early, len(label_ids)))
    return Lexicon(
        tuple(states),
        tuple(label_ids),
        state_ids,
        label_ids,
        np.array(rows, np.int32).reshape(-1, 256),
        np.array(accept, np.int32),
        np.array([state.recorded for state in states], np.uint8),
    )
