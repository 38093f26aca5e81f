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
    NewKey,
    NewText,
    Pop,
    Push,
    Recall,
)
from structgen.automata.pushdown.provenance import OPEN, WAITING
from structgen.automata.pushdown.tables import inconsistent_tables

if TYPE_CHECKING:
    from structgen.automata.pushdown.engine import Engine

_TO_ONE = Goto, NewText, Recall, NewKey  # actions that lead to one frame


def frames_of(action: Action | None) -> tuple[Frame, ...]:
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


def code_of(engine: Engine, action: Action, frame: int, terminal: int) -> int:
    """The int64 code of an action of a terminal in a frame, both given by number."""
    return _CODES[type(action)](engine, action, frame, terminal)


def _to_one(engine: Engine, action: Goto | NewText | Recall, frame: int, terminal: int) -> int:
    k, to = engine.kernel_tables, engine.frame_number(action.frame, (OPEN, frame, terminal))
    kept = k.CAPTURES if action.captures else 0
    return getattr(k, _KINDS[type(action)]) << 56 | to << 28 | kept  # type: ignore[no-any-return]


def _new_key(engine: Engine, action: NewKey, frame: int, terminal: int) -> int:
    to = engine.frame_number(action.frame, (OPEN, frame, terminal))
    return engine.kernel_tables.MARK_SEEN << 56 | to << 28 | action.key  # type: ignore[no-any-return]


def _check_keys(engine: Engine, action: CheckKeys, frame: int, terminal: int) -> int:
    """The code is shared by all frames with the same scalar actions (`Frame.in_scalar`)."""
    k, number = engine.kernel_tables, engine.key_set_number(action.key_set)
    place, after = count(OPEN), action.key_set.after
    engine.tables.key_sets[number, k.ONLY_MORE :] = [
        -1 if f is None else engine.frame_number(f, (next(place), frame, terminal)) for f in after
    ]
    code: int = k.CHECK_KEYS << 56 | number << 28
    begun = int(engine.tables.frames[frame, k.IN_SCALAR])
    engine.checks.setdefault(begun, {})[terminal] = code
    return code


def _push(engine: Engine, action: Push, frame: int, terminal: int) -> int:
    """What it opens is shared by all frames with the same `Frame.opens`."""
    to = engine.frame_number(action.frame, (OPEN, frame, terminal))
    below = engine.frame_number(action.waiting, (WAITING, frame, terminal))
    opens = engine.frame(frame).opens
    if opens is not None:
        engine.pushes.setdefault(opens, {})[terminal] = to
    return engine.kernel_tables.PUSH << 56 | to << 28 | below  # type: ignore[no-any-return]


def _pop(engine: Engine, action: Pop, frame: int, terminal: int) -> int:
    then = engine.terminal_id(action.terminal, (-1 - frame, terminal))
    return engine.kernel_tables.POP << 56 | then << 28  # type: ignore[no-any-return]


_KINDS = {Goto: "GOTO", NewText: "GOTO_IF_NEW", Recall: "RECALL"}
_CODES: dict[type, Callable[[Engine, Any, int, int], int]] = {
    **dict.fromkeys(_KINDS, _to_one),
    NewKey: _new_key,
    CheckKeys: _check_keys,
    Push: _push,
    Pop: _pop,
}
