"""Frames and their actions in the tables, each asked of the machine once.

An action is an int64: what it does in the top byte, the frames that it leads to by number below.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

from structgen.automata.pushdown.machine import (
    Action,
    CheckKeys,
    Frame,
    Goto,
    Machine,
    NewKey,
    NewText,
    Pop,
    Push,
    Recall,
)
from structgen.automata.pushdown.provenance import OPEN, WAITING
from structgen.automata.pushdown.rows import Rows
from structgen.automata.pushdown.storage import Saved
from structgen.automata.pushdown.tables import rehashed, with_key_set, write_key_set
from structgen.errors import BudgetError

_NO_ACTIONS: dict[int, int] = {}
_FRAME = struct.Struct("=9i")  # a row of `kernels.tables.Tables.frames`


class Actions(Rows):
    """The objects of a machine by number, with the actions of its frames."""

    def __init__(self, make_machine: Callable[[], Machine[Any]], saved: Saved | None) -> None:
        super().__init__(make_machine, saved)
        #: actions that frames share: those of scalars' terminals by the number of a
        #: `Frame.in_scalar`, and the frames that terminals open by `Frame.opens`
        self.checks: dict[int, dict[int, int]] = {}
        self.pushes: dict[Hashable, dict[int, int]] = {}
        if saved is None:
            preset = self.machine.prepared.preset
            self.checks = {f: {**m} for f, m in preset.checks.items()}
            self.pushes = {opens: {**m} for opens, m in preset.pushes.items()}

    def frame_number(self, frame: Frame, origin: tuple[int, int, int]) -> int:
        """The number of a frame; its row in the tables is written when it is new."""
        number = self._frame_ids.get(frame)
        if number is None:
            number = self.frame_id(frame, origin)
            self._describe(number, frame)
        return number

    def _describe(self, number: int, frame: Frame) -> None:
        """Write the row of a frame, and the actions it shares with other frames."""
        lexeme = self.shared_state_id(frame.lexeme, -1 - 2 * number)
        entry = lexeme
        if frame.entry is not None:
            entry = self.shared_state_id(frame.entry, -2 - 2 * number)
        bits = -1 if frame.allowed is None else self.bits_id(frame.allowed)
        key_set = -1
        if frame.key_set is not None:
            key_set = self._key_set_ids[frame.key_set]
            if key_set >= self.tables.sizes[self._k.SIZE_KEY_SETS]:
                self.use(with_key_set(self.tables, key_set, frame.key_set))
                write_key_set(self.tables_at, key_set, frame.key_set)
        actions_of = number if frame.actions_of is frame else self._frame_ids[frame.actions_of]
        in_scalar = number if frame.in_scalar is frame else self._frame_ids[frame.in_scalar]
        only_scalar = lexeme if frame.only_scalar else 0
        begin = -2 - lexeme if frame.recalls else lexeme
        _FRAME.pack_into(
            self.tables.frames, _FRAME.size * number,
            entry, begin, frame.low, frame.high, bits, key_set, actions_of, in_scalar, only_scalar,
        )  # fmt: skip
        for terminal, code in self.checks.get(in_scalar, _NO_ACTIONS).items():
            self._add_action(number, terminal, code)
        if frame.opens is not None:
            for terminal, opened in self.pushes.get(frame.opens, _NO_ACTIONS).items():
                self._add_action(number, terminal, self._k.PUSH << 56 | opened << 28 | in_scalar)

    def fill_action(self, frame: int, terminal: int) -> None:
        """Compute the action of a terminal in a frame, and write it."""
        action = self._ask_machine(self.machine.action, frame, terminal, b"")
        code = self._k.DEAD if action is None else _code_of(self, action, frame, terminal)
        self._add_action(frame, terminal, code)

    def _predict(self, frame: int, terminal: int) -> None:
        """Write what can be read behind a terminal before its action is known; else its action."""
        entry = self._ask_machine(self.machine.predicted_state, frame, terminal)
        q, k = self.existing_state_id(entry), self._k
        if q is None:
            self.fill_action(frame, terminal)
        else:
            slot = k.SKIP_TERMINAL if self.terminal(terminal) == "{" else k.END_TERMINAL
            self._add_action(frame, slot, q << 28 | terminal)

    def ensure_action(self, frame: int, terminal: int) -> None:
        """Compute the action of a terminal in a frame unless it is known."""
        if self._k.lookup(self.tables.actions, frame << 32 | terminal) == self._k.UNKNOWN:
            self.fill_action(frame, terminal)

    def _add_action(self, frame: int, terminal: int, code: int) -> None:
        """Add an action to its hash table, which grows if need be."""
        while not self._k.add_action(
            self.tables.actions, self.tables.sizes, frame << 32 | terminal, code
        ):
            self.use(self.tables._replace(actions=rehashed(self.tables.actions)))

    def _ask_machine(self, ask: Callable[..., Any], frame: int, terminal: int, *read: Any) -> Any:
        try:
            return ask(self.frame(frame), self.terminal(terminal), *read)
        except RecursionError as error:
            raise BudgetError(
                "deciding what may come next takes too many nested steps",
                hint="nest schemas with uniqueItems, contains or not less deeply",
            ) from error


def _code_of(numbers: Actions, action: Action, frame: int, terminal: int) -> int:
    """The int64 code of an action of a terminal in a frame, both given by number."""
    return _CODES[type(action)](numbers, action, frame, terminal)


def _to_one(numbers: Actions, action: Goto | NewText | Recall, frame: int, terminal: int) -> int:
    k, to = numbers.kernel_tables, numbers.frame_number(action.frame, (OPEN, frame, terminal))
    kept = k.CAPTURES if action.captures else 0
    return getattr(k, _KINDS[type(action)]) << 56 | to << 28 | kept  # type: ignore[no-any-return]


def _new_key(numbers: Actions, action: NewKey, frame: int, terminal: int) -> int:
    to = numbers.frame_number(action.frame, (OPEN, frame, terminal))
    return numbers.kernel_tables.MARK_SEEN << 56 | to << 28 | action.key  # type: ignore[no-any-return]


def _check_keys(numbers: Actions, action: CheckKeys, frame: int, terminal: int) -> int:
    """The code is shared by all frames with the same scalar actions (`Frame.in_scalar`)."""
    k, number = numbers.kernel_tables, numbers.key_set_number(action.key_set)
    place, after = count(OPEN), action.key_set.after
    numbers.tables.key_sets[number, k.ONLY_MORE :] = [
        -1 if f is None else numbers.frame_number(f, (next(place), frame, terminal)) for f in after
    ]
    code: int = k.CHECK_KEYS << 56 | number << 28
    begun = int(numbers.tables.frames[frame, k.IN_SCALAR])
    numbers.checks.setdefault(begun, {})[terminal] = code
    return code


def _push(numbers: Actions, action: Push, frame: int, terminal: int) -> int:
    """What it opens is shared by all frames with the same `Frame.opens`."""
    to = numbers.frame_number(action.frame, (OPEN, frame, terminal))
    below = numbers.frame_number(action.waiting, (WAITING, frame, terminal))
    opens = numbers.frame(frame).opens
    if opens is not None:
        numbers.pushes.setdefault(opens, {})[terminal] = to
    return numbers.kernel_tables.PUSH << 56 | to << 28 | below  # type: ignore[no-any-return]


def _pop(numbers: Actions, action: Pop, frame: int, terminal: int) -> int:
    then = numbers.terminal_id(action.terminal, (-1 - frame, terminal))
    return numbers.kernel_tables.POP << 56 | then << 28  # type: ignore[no-any-return]


_KINDS = {Goto: "GOTO", NewText: "GOTO_IF_NEW", Recall: "RECALL"}
_CODES: dict[type, Callable[[Actions, Any, int, int], int]] = {
    **dict.fromkeys(_KINDS, _to_one),
    NewKey: _new_key,
    CheckKeys: _check_keys,
    Push: _push,
    Pop: _pop,
}
