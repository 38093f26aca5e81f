"""How the tables encode a machine's actions: a code in the top byte, frames by number below."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from structgen.automata.pushdown.machine import (
    Action,
    CheckKeys,
    Frame,
    Goto,
    GotoIfNew,
    MarkSeen,
    Pop,
    Push,
    Recall,
)
from structgen.automata.pushdown.provenance import OPEN, WAITING
from structgen.automata.pushdown.tables import inconsistent_tables

if TYPE_CHECKING:
    from structgen.automata.pushdown.engine import Engine

_TO_ONE = Goto, GotoIfNew, Recall, MarkSeen  # actions that lead to one frame


def frames_of(move: Action | None) -> tuple[Frame, ...]:
    """The frames that an action leads to: the one that is open then, and the one below it.

    Of a CheckKeys: the frames of which one is open then.
    """
    if isinstance(move, _TO_ONE):
        return (move.frame,)
    if isinstance(move, Push):
        return (move.frame, move.waiting)
    if isinstance(move, CheckKeys):
        return tuple(frame for frame in move.key_set.after if frame is not None)
    raise inconsistent_tables()


def code_of(engine: Engine, move: Action, frame: int, terminal: int) -> int:
    """The int64 code of an action of a terminal in a frame, both given by number."""
    return _CODES[type(move)](engine, move, frame, terminal)


def _to_one(engine: Engine, move: Goto | GotoIfNew | Recall, frame: int, terminal: int) -> int:
    k, to = engine.kernel_tables, engine.frame_number(move.frame, (OPEN, frame, terminal))
    kept = k.KEEPS if move.captures else 0
    return getattr(k, _KINDS[type(move)]) << 56 | to << 28 | kept  # type: ignore[no-any-return]


def _tick(engine: Engine, move: MarkSeen, frame: int, terminal: int) -> int:
    to = engine.frame_number(move.frame, (OPEN, frame, terminal))
    return engine.kernel_tables.TICK << 56 | to << 28 | move.position  # type: ignore[no-any-return]


def _check(engine: Engine, move: CheckKeys, frame: int, terminal: int) -> int:
    """The code is shared by all frames with the same scalar actions (`Frame.begun`)."""
    k, number = engine.kernel_tables, engine.key_set_number(move.key_set)
    place, after = count(OPEN), move.key_set.after
    engine.tables.checklists[number, k.ONLY_MORE :] = [
        -1 if f is None else engine.frame_number(f, (next(place), frame, terminal)) for f in after
    ]
    code: int = k.CHECK << 56 | number << 28
    begun = int(engine.tables.frames[frame, k.BEGUN])
    engine.checks.setdefault(begun, {})[terminal] = code
    return code


def _push(engine: Engine, move: Push, frame: int, terminal: int) -> int:
    """What it opens is shared by all frames with the same `Frame.opens`."""
    to = engine.frame_number(move.frame, (OPEN, frame, terminal))
    below = engine.frame_number(move.waiting, (WAITING, frame, terminal))
    opens = engine.frame(frame).opens
    if opens is not None:
        engine.pushes.setdefault(opens, {})[terminal] = to
    return engine.kernel_tables.PUSH << 56 | to << 28 | below  # type: ignore[no-any-return]


def _pop(engine: Engine, move: Pop, frame: int, terminal: int) -> int:
    then = engine.terminal_id(move.terminal, (-1 - frame, terminal))
    return engine.kernel_tables.POP << 56 | then << 28  # type: ignore[no-any-return]


_KINDS = {Goto: "GOTO", GotoIfNew: "ONCE", Recall: "RECALL"}
_CODES: dict[type, Callable[[Engine, Any, int, int], int]] = {
    **dict.fromkeys(_KINDS, _to_one),
    MarkSeen: _tick,
    CheckKeys: _check,
    Push: _push,
    Pop: _pop,
}
