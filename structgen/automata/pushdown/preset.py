"""All frames of a machine and their actions, with which the engines of other machines can start."""

from __future__ import annotations

from itertools import count

from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import Preset

_TABLES = ("frames", "actions", "key_sets", "bit_sets", "bit_set_slots", "allowed")
_SIZES = "ACTIONS", "ALLOWED", "BIT_SET_WORDS", "BIT_SETS", "KEY_SETS"  # of these, in `sizes`

Reached = tuple[frozenset[int], tuple[int, ...]]  # lexer states, terminals


def preset_of(engine: Engine) -> Preset:
    """All frames reachable from an engine's start, explored to the fixpoint, for a lexicon."""
    k, leads_to = engine.kernel_tables, dict[int, Reached]()
    for number in count():
        if number == engine.frames_made:
            break
        row = engine.tables.frames[number].tolist()
        for terminal in _terminals_behind(engine, row[k.LEXEME], leads_to):
            engine.ensure_action(row[k.ACTIONS_OF], terminal)
    frames = tuple(map(engine.frame, range(engine.frames_made)))
    lists = dict.fromkeys(f.key_set for f in frames if f.key_set is not None)
    places = [getattr(k, f"SIZE_{name}") for name in _SIZES]
    return Preset(
        frames,
        tuple(lists),
        {name: getattr(engine.tables, name) for name in _TABLES},
        {place: int(engine.tables.sizes[place]) for place in places},
        engine.checks,
        engine.pushes,
    )


def _terminals_behind(engine: Engine, q: int, leads_to: dict[int, Reached]) -> list[int]:
    """The terminals with which a lexeme can end that begins in lexer state `q`.

    leads_to: for each state seen before the states and the terminals behind one byte; filled.
    """
    seen, todo, found = {q}, [q], dict[int, None]()
    while todo:
        at = todo.pop()
        if at not in leads_to:
            codes = dict.fromkeys(
                [*engine.targets(at).tolist(), -2 - int(engine.tables.accept[at])]
            )
            leads_to[at] = (
                frozenset(code for code in codes if code >= 0),
                tuple(-2 - code for code in codes if code <= -4),
            )
        targets, ends = leads_to[at]
        found |= dict.fromkeys(ends)
        fresh = targets - seen
        seen |= fresh
        todo += fresh
    return [*found]
