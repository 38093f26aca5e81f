"""Make the lexer states, terminals and frames of saved tables again, from the provenance log.

The same places visited in the same order give the same numbers. Lexer states that kernels made need
no description.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from structgen.automata.lexer.lexer import End, LexState, open_ended_form
from structgen.automata.pushdown.captures import Captures
from structgen.automata.pushdown.machine import (
    TEXT_READ,
    Action,
    CheckKeys,
    Frame,
    Goto,
    NewKey,
    NewText,
    Push,
    Recall,
)
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import (
    BEFORE,
    FRAME,
    FREE,
    HALF,
    LAST,
    MOST_HALVES,
    MOVE,
    NAMED,
    PLACE_BITS,
    REST,
    STATE,
    TERMINAL,
    TEXT,
    UNBOUNDED,
    ProvenanceLog,
)
from structgen.automata.pushdown.tables import inconsistent_tables
from structgen.automata.spelling import embedded_dfa, texts, word_lists

_TO_ONE = Goto, NewText, Recall, NewKey  # actions that lead to one frame


def replay(numbers: Numbering, provenance: ProvenanceLog) -> None:
    """Make the objects of saved tables again, in the order in which they were numbered.

    Raises ArtifactError when the spec beside the tables does not lead to them.
    """
    numbers.fill_all_saved()  # states are found in rows
    kept = Captures()
    try:
        todo: dict[int, Iterator[Any]] = {
            STATE: iter(provenance.states),
            FRAME: zip(*[iter(provenance.frames)] * 3, strict=True),
            TERMINAL: zip(*[iter(provenance.terminals)] * 2, strict=True),
        }
        for numbered in provenance.kinds:
            origin = next(todo[numbered])
            if numbered == STATE:
                numbers.state_id(_state_from(numbers, origin), origin)
            elif numbered == TERMINAL:
                numbers.terminal_id(_terminal_from(numbers, *origin), origin)
            else:
                numbers.frame_id(_frame_from(numbers, kept, *origin), origin)
    except (IndexError, KeyError, StopIteration, AttributeError, TypeError) as error:
        raise inconsistent_tables() from error


def _frame_from(numbers: Numbering, kept: Captures, kind: int, source: int, terminal: int) -> Frame:
    machine = numbers.machine
    if source < 0:
        start: Frame = machine.start
        return start
    if kind != TEXT:
        action = machine.action(numbers.frame(source), numbers.terminal(terminal), b"")
        return _frames_of(action)[kind]
    frame = numbers.frame(int(numbers.tables.stack_nodes[source, numbers.kernel_tables.FRAME]))
    if machine.needs_text(numbers.terminal(terminal)) == TEXT_READ:
        action = machine.action(frame, numbers.terminal(terminal), numbers.text(source))
        return _frames_of(action)[0]
    found: Frame | None = machine.with_captures(
        frame, numbers.terminal(terminal), kept.of(numbers, source)
    )
    if found is None:
        raise inconsistent_tables()
    return found


def _frames_of(action: Action | None) -> tuple[Frame, ...]:
    """The frames that an action leads to: the one that is open then, and the one below it.

    Of a CheckKeys: the frames of which one is open then.
    """
    if isinstance(action, _TO_ONE):
        return (action.frame,)
    if isinstance(action, Push):
        return (action.frame, action.waiting)
    if isinstance(action, CheckKeys):
        return tuple(frame for frame in action.key_set.after if frame is not None)
    raise inconsistent_tables()


def _state_from(numbers: Numbering, origin: int) -> LexState:
    target: Any = None
    if origin < 0:
        number, entry = divmod(-1 - origin, 2)
        frame = numbers.frame(number)
        target = frame.entry if entry else frame.lexeme
    else:
        parent, place = numbers.state(origin >> PLACE_BITS), origin & (1 << PLACE_BITS) - 1
        if place == FREE:
            target = open_ended_form(parent)
        elif place == UNBOUNDED:
            target = embedded_dfa.unbounded_form(parent)
        elif HALF <= place < HALF + MOST_HALVES:
            target = embedded_dfa.half_form(parent, place - HALF)
        elif place == LAST:
            target = parent.states[-1]  # type: ignore[attr-defined]
        elif place == MOVE:
            target = texts.next_move(numbers, parent)  # type: ignore[arg-type]
        elif place == REST:
            target = word_lists.fallback(parent)
        else:
            target = numbers.row_of(parent).targets[place]
    if not isinstance(target, LexState):
        raise inconsistent_tables()
    return target


def _terminal_from(numbers: Numbering, q: int, place: int) -> Hashable:
    if q < 0:
        action = numbers.machine.action(numbers.frame(-1 - q), numbers.terminal(place), b"")
        return getattr(action, "terminal", None)
    state = numbers.state(q)
    if place >= NAMED:
        return word_lists.terminal_of(state, place - NAMED)  # type: ignore[arg-type]
    row = numbers.row_of(state)
    target = row.targets[place] if place != BEFORE else None
    return target.terminal if isinstance(target, End) else row.accept
