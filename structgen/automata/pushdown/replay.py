"""In: saved tables and the places where their numbers were met. Out: what the numbers stand for.

The same places, met in the same order, give the same numbers: lexer states that Python described,
frames and labels are made again. Those that kernels made need no description.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from structgen.automata.lexer.lexer import End, LexState, free_form
from structgen.automata.pushdown.actions import frames_of
from structgen.automata.pushdown.captures import KeptValues
from structgen.automata.pushdown.machine import LOOKED_AT, Frame
from structgen.automata.pushdown.provenance import (
    BEFORE,
    FRAME,
    FREE,
    LABEL,
    LAST,
    MOVE,
    NAMED,
    REST,
    STATE,
    TEXT,
    UNBOUNDED,
    Origins,
)
from structgen.automata.pushdown.tables import foreign
from structgen.automata.spelling import expressions, texts, word_lists

if TYPE_CHECKING:
    from structgen.automata.pushdown.numbering import Numbering


def replay(numbers: Numbering, origins: Origins) -> None:
    """Make the states, labels and frames of saved tables again, in the order of their birth.

    Raises ArtifactError when the spec beside the tables does not lead to them.
    """
    for q in np.flatnonzero(numbers.tables.filled[: numbers.states_made] == 0).tolist():
        numbers.fill_saved(q)  # rows of keys are made from other rows
    kept = KeptValues()
    try:
        todo: dict[int, Iterator[Any]] = {
            STATE: iter(origins.states),
            FRAME: zip(*[iter(origins.frames)] * 3, strict=True),
            LABEL: zip(*[iter(origins.labels)] * 2, strict=True),
        }
        for birth in origins.births:
            origin = next(todo[birth])
            if birth == STATE:
                numbers.state_id(_state_from(numbers, origin), origin)
            elif birth == LABEL:
                numbers.label_id(_label_from(numbers, *origin), origin)
            else:
                numbers.frame_id(_frame_from(numbers, kept, *origin), origin)
    except (IndexError, KeyError, StopIteration, AttributeError, TypeError) as error:
        raise foreign() from error


def _frame_from(numbers: Numbering, kept: KeptValues, kind: int, source: int, label: int) -> Frame:
    machine = numbers.machine
    if source < 0:
        start: Frame = machine.start
        return start
    if kind != TEXT:
        move = machine.event(numbers.frame(source), numbers.label(label), b"")
        return frames_of(move)[kind]
    frame = numbers.frame(int(numbers.tables.contexts[source, numbers.kernel_tables.FRAME]))
    if machine.needs_text(numbers.label(label)) == LOOKED_AT:
        move = machine.event(frame, numbers.label(label), numbers.text(source))
        return frames_of(move)[0]
    found: Frame | None = machine.recalled(frame, numbers.label(label), kept.of(numbers, source))
    if found is None:
        raise foreign()
    return found


def _state_from(numbers: Numbering, origin: int) -> LexState:
    target: Any = None
    if origin < 0:
        number, entry = divmod(-1 - origin, 2)
        frame = numbers.frame(number)
        target = frame.entry if entry else frame.lexeme
    else:
        parent, place = numbers.state(origin >> 9), origin & 511
        if place == FREE:
            target = free_form(parent)
        elif place == UNBOUNDED:
            target = expressions.unbounded_form(parent)
        elif place == LAST:
            target = parent.states[-1]  # type: ignore[attr-defined]
        elif place == MOVE:
            target = texts.next_move(numbers, parent)  # type: ignore[arg-type]
        elif place == REST:
            target = word_lists.others(parent)
        else:
            target = numbers.row_of(parent).targets[place]
    if not isinstance(target, LexState):
        raise foreign()
    return target


def _label_from(numbers: Numbering, q: int, place: int) -> Hashable:
    if q < 0:
        move = numbers.machine.event(numbers.frame(-1 - q), numbers.label(place), b"")
        return getattr(move, "label", None)
    state = numbers.state(q)
    if place >= NAMED:
        return word_lists.label_of(state, place - NAMED)  # type: ignore[arg-type]
    row = numbers.row_of(state)
    target = row.targets[place] if place != BEFORE else None
    return target.label if isinstance(target, End) else row.accept
