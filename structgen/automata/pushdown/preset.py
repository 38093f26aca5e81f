"""All frames of a machine and their actions, with which the engines of other machines can start."""

from __future__ import annotations

from itertools import count

import numpy as np

from structgen.automata.lexer.lexicon import Preset
from structgen.automata.pushdown.engine import Engine

_TABLES = ("frames", "moves", "checklists", "sets", "same", "allowed")
_SIZES = 4, 8, 10, 11, 12  # of these, in `sizes`


def preset_of(engine: Engine) -> Preset:
    """All frames reachable from an engine's start, explored to the fixpoint, for a lexicon."""
    k = engine.kernel_tables
    for number in count():
        if number == engine.frames_made:
            break
        row = engine.tables.frames[number].tolist()
        for terminal in _terminals_behind(engine, row[k.LEXEME]):
            engine.ensure_action(row[k.ALIKE], terminal)
    frames = tuple(map(engine.frame, range(engine.frames_made)))
    lists = dict.fromkeys(f.key_set for f in frames if f.key_set is not None)
    return Preset(
        frames,
        tuple(lists),
        {name: getattr(engine.tables, name) for name in _TABLES},
        {place: int(engine.tables.sizes[place]) for place in _SIZES},
        engine.checks,
        engine.pushes,
    )


def _terminals_behind(engine: Engine, q: int) -> list[int]:
    """The terminals with which a lexeme can end that begins in lexer state `q`."""
    seen, todo, found = {q}, [q], dict[int, None]()
    while todo:
        at = todo.pop()
        row = np.append(engine.targets(at), -2 - engine.tables.accept[at])
        found |= dict.fromkeys(terminal for terminal in (-2 - row).tolist() if terminal >= 2)
        fresh = set(row[row >= 0].tolist()) - seen
        seen |= fresh
        todo += fresh
    return [*found]
