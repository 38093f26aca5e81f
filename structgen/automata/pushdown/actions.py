"""In: what a label does in a frame. Out: how the tables write it, with numbers for the frames."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from structgen.automata.pushdown.machine import (
    Check,
    Frame,
    Goto,
    Move,
    Once,
    Pop,
    Push,
    Recall,
    Tick,
)
from structgen.automata.pushdown.provenance import OPEN, WAITING
from structgen.automata.pushdown.tables import foreign

if TYPE_CHECKING:
    from structgen.automata.pushdown.engine import Engine

_TO_ONE = Goto, Once, Recall, Tick  # moves that lead to one frame


def frames_of(move: Move | None) -> tuple[Frame, ...]:
    """The frames that a move leads to: the one that is then open, and the one below it.

    Of a Check: those of which one is then open.
    """
    if isinstance(move, _TO_ONE):
        return (move.frame,)
    if isinstance(move, Push):
        return (move.frame, move.waiting)
    if isinstance(move, Check):
        return tuple(frame for frame in move.checklist.after if frame is not None)
    raise foreign()


def code_of(engine: Engine, move: Move, frame: int, label: int) -> int:
    """How the tables write a move from a frame by a label, both given by number."""
    return _CODES[type(move)](engine, move, frame, label)


def _to_one(engine: Engine, move: Goto | Once | Recall, frame: int, label: int) -> int:
    k, to = engine.kernel_tables, engine.frame_number(move.frame, (OPEN, frame, label))
    kept = k.KEEPS if move.keeps else 0
    return getattr(k, _KINDS[type(move)]) << 56 | to << 28 | kept  # type: ignore[no-any-return]


def _tick(engine: Engine, move: Tick, frame: int, label: int) -> int:
    to = engine.frame_number(move.frame, (OPEN, frame, label))
    return engine.kernel_tables.TICK << 56 | to << 28 | move.position  # type: ignore[no-any-return]


def _check(engine: Engine, move: Check, frame: int, label: int) -> int:
    """Others that begin as the frame does have the same move."""
    k, number = engine.kernel_tables, engine.checklist_number(move.checklist)
    place, after = count(OPEN), move.checklist.after
    engine.tables.checklists[number, k.ONLY_MORE :] = [
        -1 if f is None else engine.frame_number(f, (next(place), frame, label)) for f in after
    ]
    code: int = k.CHECK << 56 | number << 28
    begun = int(engine.tables.frames[frame, k.BEGUN])
    engine.checks.setdefault(begun, {})[label] = code
    return code


def _push(engine: Engine, move: Push, frame: int, label: int) -> int:
    """Others that open the same by this label have the same move, but for what waits below."""
    to = engine.frame_number(move.frame, (OPEN, frame, label))
    below = engine.frame_number(move.waiting, (WAITING, frame, label))
    opens = engine.frame(frame).opens
    if opens is not None:
        engine.pushes.setdefault(opens, {})[label] = to
    return engine.kernel_tables.PUSH << 56 | to << 28 | below  # type: ignore[no-any-return]


def _pop(engine: Engine, move: Pop, frame: int, label: int) -> int:
    then = engine.label_id(move.label, (-1 - frame, label))
    return engine.kernel_tables.POP << 56 | then << 28  # type: ignore[no-any-return]


_KINDS = {Goto: "GOTO", Once: "ONCE", Recall: "RECALL"}
_CODES: dict[type, Callable[[Engine, Any, int, int], int]] = {
    **dict.fromkeys(_KINDS, _to_one),
    Tick: _tick,
    Check: _check,
    Push: _push,
    Pop: _pop,
}
