"""A shortest text of an expression by its table of states, where derivatives take too long.

The states that texts of each length lead to are found layer by layer, with the least size of such a
text. From the first length that a bound allows on, only those count that no smaller text leads to.
From the layer with the best end the way back is marked, and the text is spelled along
it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import as_repeat
from structgen.regular.expressions.search import too_costly
from structgen.regular.lazy_dfa.automaton import table_of
from structgen.regular.lazy_dfa.character_classes import TooLargeError, sets_of
from structgen.regular.lazy_dfa.counters import split_length_bound
from structgen.regular.lazy_dfa.states import AT_ONCE, TableAutomaton
from structgen.util.cancellation import checkpoint

MOST_IN_LAYER = 1 << 10  # states that texts of one length lead to
PER_UNIT = 64  # states of a layer that are looked at in a unit of work

Numbers = npt.NDArray[np.int64]


class Letter(NamedTuple):
    """The letter of a set of characters that is written in its place, and its size."""

    point: int
    size: int = 1


class Layer(NamedTuple):
    """The states that texts of one length lead to, and the least sizes of such texts."""

    states: Numbers
    sizes: Numbers


def any_letter(chars: CharSet) -> Letter:
    """All letters have the same size."""
    return Letter(chars.sample)


def shortest_text(regex: Regex, letter_of: Callable[[CharSet], Letter] = any_letter) -> str | None:
    """The text that `search.shortest` gives; None where the expression has no table, or no text.

    letter_of: a smallest letter of a set, for another measure than the number of characters.
    Raises BudgetError.
    """
    rest, bound = split_length_bound(regex) or (regex, None)
    _, least, most = (None, 0, INFINITE) if bound is None else as_repeat(bound)
    with contextlib.suppress(TooLargeError):
        automaton = table_of(rest)
        with automaton.lock:
            letters = [*map(letter_of, sets_of(automaton.classes))]
            layers = _layers(automaton, letters, least, most)
            return _spelled(automaton, letters, layers) if layers else None
    return None


def _layers(automaton: TableAutomaton, letters: list[Letter], least: int, most: int) -> list[Layer]:
    """The layers up to the one where a smallest text ends; [] if there is none."""
    layer = Layer(np.zeros(1, np.int64), np.zeros(1, np.int64))
    layers = [layer]
    sizes = np.array([letter.size for letter in letters], np.int64)
    known = np.zeros(0, np.int64)  # the least size with which a text of `least` or more leads there
    best, end = INFINITE, 0  # the size of the smallest text so far, and its length
    while len(layer.states) and len(layers) - 1 <= most and layer.sizes.min() <= best:
        checkpoint(1 + len(layer.states) // PER_UNIT)
        states = layer.states
        if len(layers) > least:
            ended = layer.sizes[automaton.ends[states] != 0].min(initial=INFINITE)
            if ended < INFINITE and ended <= best:  # of equal sizes the one with most letters
                best, end = int(ended), len(layers)
        for state in states[automaton.search.queue[states] != 1].tolist():
            automaton.find(state, AT_ONCE)
        behind, place = np.unique(automaton.search.moves[states], return_inverse=True)
        reached = np.full(len(behind), INFINITE)
        np.minimum.at(reached, place.reshape(-1), (layer.sizes[:, None] + sizes).reshape(-1))
        kept = behind >= 0
        if len(layers) > least:
            known = np.pad(known, (0, automaton.size - len(known)), constant_values=INFINITE)
            known[states] = layer.sizes
            kept &= reached <= known[behind]
        if kept.sum() > MOST_IN_LAYER:
            raise too_costly("the shortest member", MOST_IN_LAYER)
        layer = Layer(behind[kept].astype(np.int64), reached[kept])
        layers.append(layer)
    return layers[:end]


def _spelled(automaton: TableAutomaton, letters: list[Letter], layers: list[Layer]) -> str:
    """The first text by letters, of the smallest ones, that leads through the layers to an end."""
    moves, last = automaton.search.moves, layers[-1]
    sizes = np.array([letter.size for letter in letters], np.int64)
    ahead = np.full(automaton.size + 1, INFINITE)  # of the states of one layer; -1 is no state

    def behind(layer: Layer, left: Numbers, states: Any) -> Numbers:
        """int64[..., classes]: what is left from some states, by the letter that comes next."""
        ahead[layer.states] = left
        found: Numbers = ahead[moves[states]] + sizes
        ahead[layer.states] = INFINITE
        return found

    left = np.where(automaton.ends[last.states] != 0, 0, INFINITE)
    lefts = [left]  # for each layer, the last first, the least size from each state to the end
    for layer, after in zip(layers[-2::-1], layers[:0:-1], strict=True):
        lefts.append(left := behind(after, left, layer.states).min(axis=1))
    lefts.reverse()
    by_rank = sorted(
        range(len(letters)),
        key=lambda k: (not 0x20 <= letters[k].point <= 0x7E, letters[k].point),
    )
    state, text = 0, []
    for layer, left in zip(layers[1:], lefts[1:], strict=True):
        found = behind(layer, left, state)
        best = found.min()
        group = next(k for k in by_rank if found[k] == best)
        text.append(chr(letters[group].point))
        state = int(moves[state, group])
    return "".join(text)
