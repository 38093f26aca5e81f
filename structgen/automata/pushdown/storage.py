"""An engine as arrays for a file, and tables to start from that were saved so.

Rows of lexer states are stored as runs of bytes with the same target, and unpacked when they are
first needed; so is the provenance log. The hash table of captures is not saved: reading a captured
byte again makes a new stack node.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Stored
from structgen.automata.pushdown.provenance import ProvenanceLog
from structgen.automata.pushdown.tables import addresses, hash_table, largest, lookups
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels

Arrays = dict[str, npt.NDArray[Any]]

AT_ONCE = 32  # rows that are put into the tables together

# The tables that are stored as they are, cut to what is used, by their names in `Tables`.
_STATES = ("accept", "recorded", "guard", "state_info")
_STACK = ("stack_nodes", "capture_links")
_WHOLE = (
    "needs_text", "order", "words", "letters", "allowed", "spans", "span_slots",
    "frames", "actions", "key_sets", "bit_sets", "bit_set_slots", "node_slots", "events", "sizes",
)  # fmt: skip
_COLUMNS = {
    "guard": 2, "state_info": 14, "words": 3, "spans": 3,
    "frames": 9, "stack_nodes": 7, "actions": 2, "events": 2, "key_sets": 7,
}  # fmt: skip
# What tables are called in a file, where that is not their name.
_SAVED_AS = {
    "state_info": "within", "stack_nodes": "contexts", "capture_links": "origin",
    "span_slots": "alike", "actions": "moves", "key_sets": "checklists", "bit_sets": "sets",
    "bit_set_slots": "same", "node_slots": "interned",
}  # fmt: skip
_RUNS = {"run_starts": np.int32, "run_bytes": np.uint8, "run_targets": np.int32}
_ORIGINS = ("origin_states", "origin_frames", "origin_labels", "births")


def arrays_of(t: Any, provenance: ProvenanceLog, terminals: int, frames: int) -> Arrays:
    """Tables with so many terminals and frames, cut to what is used, and the provenance log."""
    k = kernels("tables")
    states, stack_nodes = int(t.sizes[k.SIZE_STATES]), int(t.sizes[k.SIZE_STACK_NODES])
    missing = np.flatnonzero(t.filled[: len(t.shared_rows)] == 0)
    t.rows[missing], t.filled[missing] = t.shared_rows[missing], 1
    arrays: Arrays = {name: getattr(t, name)[:states].copy() for name in _STATES}
    arrays |= {name: getattr(t, name)[:stack_nodes].copy() for name in _STACK}
    spans = t.sizes[k.SIZE_SPANS]
    used = {"needs_text": terminals, "frames": frames, "spans": spans}
    arrays |= {name: getattr(t, name)[: used.get(name)].copy() for name in _WHOLE}
    # the tables `capture_slots` and `signatures` start empty
    arrays["sizes"][[k.SIZE_CAPTURES, k.SIZE_SIGNATURES]] = 0
    arrays["stack_nodes"][:, k.SIGNATURE] = -1
    arrays = {_SAVED_AS.get(name, name): array for name, array in arrays.items()}
    arrays |= _runs(t.rows[:states], t.filled[:states])
    arrays["origin_states"] = np.array(provenance.states, np.int64)
    arrays["origin_frames"] = np.array(provenance.frames, np.int64).reshape(-1, 3)
    arrays["origin_labels"] = np.array(provenance.terminals, np.int64).reshape(-1, 2)
    arrays["births"] = np.frombuffer(bytes(provenance.kinds), np.uint8)
    return arrays


def _runs(rows: npt.NDArray[np.int32], filled: npt.NDArray[np.uint8]) -> Arrays:
    """The filled rows, run-length encoded as `kernels.parser.stored_tables.unpack` reads them."""
    begins = np.ones(rows.shape, np.bool_)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    begins[filled == 0] = False
    states, firsts = np.nonzero(begins)
    counts = np.bincount(states, minlength=len(rows))
    return {
        "run_starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        "run_bytes": firsts.astype(np.uint8),
        "run_targets": rows[begins],
    }


class Saved:
    """Saved tables that an engine starts from.

    tables: `kernels.tables.Tables`, no row of which is filled yet. start: the first position.
    states, terminals, frames: how many have numbers. shared: how many states are the lexicon's.
    """

    def __init__(self, saved: Stored) -> None:
        """Raises ArtifactError when the tables do not fit together."""
        self._arrays = arrays = saved.arrays
        self._runs = [arrays[name] for name in _RUNS]
        self._starts = self._runs[0]
        if any(
            a.dtype != t or a.ndim != 1 for a, t in zip(self._runs, _RUNS.values(), strict=True)
        ):
            _broken("run_starts")
        self.states = states = len(self._starts) - 1
        names = (*_STATES, *_STACK, *_WHOLE)
        tables = {name: arrays[_SAVED_AS.get(name, name)] for name in names}
        if states < 0 or any(len(tables[name]) != states for name in _STATES):
            _broken("run_starts")
        for name, columns in _COLUMNS.items():
            if tables[name].shape[1:] != (columns,):
                _broken(name)
        tables["rows"] = np.empty((states, 256), np.int32)
        tables["filled"] = np.zeros(states, np.uint8)
        tables["capture_slots"] = np.full(256, -1, np.int32)
        tables["signatures"] = hash_table(256)
        tables["lookups"] = lookups(largest(tables["bit_sets"], tables["key_sets"]))
        tables["need"] = np.zeros(8, np.int64)
        tables["info"] = addresses()
        tables["shared_rows"] = np.empty((0, 256), np.int32)
        self.tables = kernels("tables").Tables(**tables)
        self.terminals, self.frames = len(tables["needs_text"]), len(tables["frames"])
        fault = kernels("parser.stored_tables").unsound(self.tables, self.terminals)
        if fault:
            _broken(self.tables._fields[fault - 1])
        self.shared = int(saved.header["shared"])
        self.start = int(saved.header["start"])
        q, node = self.start >> 32, self.start & 0xFFFFFFFF
        if not (
            0 <= q < states and node < len(tables["stack_nodes"]) and 0 <= self.shared <= states
        ):
            _broken("start")

    def fill(self, tables: Any, q: int) -> bool:
        """Put the row of lexer state `q`, and some near it, into tables; False if there is none.

        Raises ArtifactError.
        """
        if q >= self.states or self._starts[q] == self._starts[q + 1]:
            return False
        begin = q - q % AT_ONCE
        end = min(begin + AT_ONCE, self.states)
        unpack = kernels("parser.stored_tables").unpack
        if not unpack(
            tables.rows, tables.filled, *self._runs, begin, end, self.states, self.terminals
        ):
            _broken("run_targets")
        return True

    def provenance(self) -> ProvenanceLog:
        """The saved provenance log."""
        try:
            states, frames, terminals, kinds = (self._arrays[name] for name in _ORIGINS)
            return ProvenanceLog(
                states.tolist(),
                frames.reshape(-1, 3).ravel().tolist(),
                terminals.reshape(-1, 2).ravel().tolist(),
                bytearray(kinds.tobytes()),
            )
        except (KeyError, TypeError, ValueError):
            _broken("origins")


def _broken(name: str) -> NoReturn:
    name = _SAVED_AS.get(name, name)
    raise ArtifactError(f"the table {name!r} is inconsistent", hint="compile the spec again")
