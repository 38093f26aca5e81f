"""An engine as arrays for a file, and tables to start from that were saved so.

Rows of lexer states are stored as runs of bytes with the same target, and unpacked when they are
first needed; so is the provenance log. The hash table of captures is not saved: reading a captured
byte again makes a new stack node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Stored
from structgen.automata.pushdown.provenance import ProvenanceLog
from structgen.automata.pushdown.tables import addresses, asked, hash_table, largest
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels

if TYPE_CHECKING:
    from structgen.automata.pushdown.engine import Engine

Arrays = dict[str, npt.NDArray[Any]]

AT_ONCE = 32  # rows that are put into the tables together

# The tables that are stored as they are, cut to what is used.
_STATES = ("accept", "recorded", "guard", "within")
_CONTEXTS = ("contexts", "origin")
_WHOLE = (
    "needs_text", "order", "words", "letters", "allowed", "spans", "alike",
    "frames", "moves", "checklists", "sets", "same", "interned", "events", "sizes",
)  # fmt: skip
_COLUMNS = {
    "guard": 2, "within": 14, "words": 3, "spans": 3,
    "frames": 9, "contexts": 7, "moves": 2, "events": 2, "checklists": 7,
}  # fmt: skip
_RUNS = {"run_starts": np.int32, "run_bytes": np.uint8, "run_targets": np.int32}
_ORIGINS = ("origin_states", "origin_frames", "origin_labels", "births")


def stored(engine: Engine) -> Stored:
    """The tables of an engine, cut to what is used, and its provenance log."""
    t, provenance = engine.tables, engine.provenance
    states, contexts = engine.states_made, int(t.sizes[0])
    for q in np.flatnonzero(t.filled[:states] == 0).tolist():
        engine.fill_saved(q)
    missing = np.flatnonzero(t.filled[: len(t.common)] == 0)
    t.rows[missing], t.filled[missing] = t.common[missing], 1
    arrays: Arrays = {name: getattr(t, name)[:states].copy() for name in _STATES}
    arrays |= {name: getattr(t, name)[:contexts].copy() for name in _CONTEXTS}
    used = {"needs_text": engine.terminals_made, "frames": engine.frames_made, "spans": t.sizes[9]}
    arrays |= {name: getattr(t, name)[: used.get(name)].copy() for name in _WHOLE}
    arrays["sizes"][[1, 13]] = 0  # the tables `remembered` and `outlooks` start empty
    arrays["contexts"][:, engine.kernel_tables.OUTLOOK] = -1
    arrays |= _runs(t.rows[:states], t.filled[:states])
    arrays["origin_states"] = np.array(provenance.states, np.int64)
    arrays["origin_frames"] = np.array(provenance.frames, np.int64).reshape(-1, 3)
    arrays["origin_labels"] = np.array(provenance.terminals, np.int64).reshape(-1, 2)
    arrays["births"] = np.frombuffer(bytes(provenance.kinds), np.uint8)
    return Stored({"start": engine.start, "shared": engine.shared_states}, arrays)


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
        if states < 0 or any(len(arrays[name]) != states for name in _STATES):
            _broken("run_starts")
        tables = {name: arrays[name] for name in (*_STATES, *_CONTEXTS, *_WHOLE)}
        for name, columns in _COLUMNS.items():
            if tables[name].shape[1:] != (columns,):
                _broken(name)
        tables["rows"] = np.empty((states, 256), np.int32)
        tables["filled"] = np.zeros(states, np.uint8)
        tables["remembered"] = np.full(256, -1, np.int32)
        tables["outlooks"] = hash_table(256)
        tables["asked"] = asked(largest(tables["sets"], tables["checklists"]))
        tables["need"] = np.zeros(8, np.int64)
        tables["info"] = addresses()
        tables["common"] = np.empty((0, 256), np.int32)
        self.tables = kernels("tables").Tables(**tables)
        self.terminals, self.frames = len(tables["needs_text"]), len(tables["frames"])
        fault = kernels("parser.stored_tables").unsound(self.tables, self.terminals)
        if fault:
            _broken(self.tables._fields[fault - 1])
        self.shared = int(saved.header["shared"])
        self.start = int(saved.header["start"])
        q, node = self.start >> 32, self.start & 0xFFFFFFFF
        if not (0 <= q < states and node < len(tables["contexts"]) and 0 <= self.shared <= states):
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
    raise ArtifactError(f"the table {name!r} is inconsistent", hint="compile the spec again")
