"""A shortest text of an expression by its table of states, where derivatives take too long.

The states that texts of each length lead to are found layer by layer, from the first length that a
bound allows on only new ones. From the first layer where a text may end the way back is marked, and
the text is spelled along it.
"""

from __future__ import annotations

import contextlib

import numpy as np
import numpy.typing as npt

from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import as_repeat
from structgen.regular.expressions.search import too_costly
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.character_classes import TooLargeError, sets_of
from structgen.regular.lazy_dfa.counters import split_length_bound
from structgen.regular.lazy_dfa.states import AT_ONCE, TableAutomaton
from structgen.util.cancellation import checkpoint

MOST_IN_LAYER = 1 << 10  # states that texts of one length lead to
PER_UNIT = 64  # states of a layer that are looked at in a unit of work

States = npt.NDArray[np.int64]


def shortest_text(regex: Regex) -> str | None:
    """The text that `search.shortest` gives; None where the expression has no table, or no text.

    Raises BudgetError.
    """
    rest, bound = split_length_bound(regex) or (regex, None)
    _, least, most = (None, 0, INFINITE) if bound is None else as_repeat(bound)
    with contextlib.suppress(TooLargeError):
        automaton = automaton_of(rest)
        if isinstance(automaton, TableAutomaton):
            with automaton.lock:
                layers = _layers(automaton, least, most)
                return _spelled(automaton, layers) if layers else None
    return None


def _layers(automaton: TableAutomaton, least: int, most: int) -> list[States]:
    """The states that texts of 0, 1, ... characters lead to, up to where one ends; [] if none."""
    layer = np.zeros(1, np.int64)
    layers = [layer]
    seen = np.zeros(0, np.bool_)  # the states at lengths from `least` on
    while len(layer) and len(layers) - 1 <= most:
        checkpoint(1 + len(layer) // PER_UNIT)
        if len(layers) > least and automaton.ends[layer].any():
            return layers
        for state in layer[automaton.search.queue[layer] != 1].tolist():
            automaton.find(state, AT_ONCE)
        behind = np.unique(automaton.search.moves[layer]).astype(np.int64)
        behind = behind[behind >= 0]
        if len(layers) > least:
            seen = np.pad(seen, (0, automaton.size - len(seen)))
            seen[layer] = True
            behind = behind[~seen[behind]]
        if len(behind) > MOST_IN_LAYER:
            raise too_costly("the shortest member", MOST_IN_LAYER)
        layer = behind
        layers.append(layer)
    return []


def _spelled(automaton: TableAutomaton, layers: list[States]) -> str:
    """The first text by letters that leads through the layers to an end."""
    moves, last = automaton.search.moves, layers[-1]
    good = [last[automaton.ends[last] != 0]]  # states on a way to an end, the last layer first
    for layer in reversed(layers[:-1]):
        good.append(layer[np.isin(moves[layer], good[-1]).any(axis=1)])
    letters = [chars.sample for chars in sets_of(automaton.classes)]
    by_rank = sorted(
        range(len(letters)), key=lambda k: (not 0x20 <= letters[k] <= 0x7E, letters[k])
    )
    state, text = 0, []
    for ahead in reversed(good[:-1]):
        leads = np.isin(moves[state], ahead)
        group = next(k for k in by_rank if leads[k])
        text.append(chr(letters[group]))
        state = int(moves[state, group])
    return "".join(text)
