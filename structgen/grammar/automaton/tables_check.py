"""Validates tables from a file, so that kernels can follow their indices without looking.

Each index must be that of a thing of the right kind that exists. What it means is not checked: a
file that has been changed with care may read other texts, but it neither crashes nor loops forever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.kernels.grammar.records import (
    ITEMS_COST,
    ITEMS_NON_EMPTY,
    ITEMS_NULLABLE,
    ITEMS_TERMINALS,
    LEXER_CLUSTERS,
    LEXER_ENDINGS,
    LEXER_WIDTH,
    LOOKAHEADS_VIOLATED,
    REC_KIND,
    REC_ROW,
    REC_SIZE,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_COST,
    STACKS_LEXER,
    STACKS_TERMINALS,
    TERMINALS_EMBEDDED,
    TERMINALS_LEXER,
)
from structgen.util.arrays import distinct

Array = npt.NDArray[Any]

_MOST_INTS = 1 << 26  # of scratch that a file may ask for
_SEVERAL, _LOW = 1 << 62, (1 << 31) - 1


def run(tables: Any, marks: int) -> None:
    """Check all tables but scratch. marks: the size of `mark`. Raises ValueError."""
    _Check(tables).run(marks)


def are_positions(tables: Any, numbers: Array) -> bool:
    """Whether int64 numbers are positions of these tables."""
    return all(_Check(tables).position(at) for at in distinct(numbers).tolist())


class _Check:
    """The check of one grammar's tables."""

    def __init__(self, tables: Any) -> None:
        self._t = tables
        self._k: Any = kernels("grammar.tables")
        self._terminals = int(tables.info[self._k.TERMINAL_COUNT])

    @property
    def _states(self) -> int:
        """The number of states of the LALR parser."""
        return len(self._part(self._k.LR_START)) - 1

    def run(self, marks: int) -> None:
        """Check everything. Raises ValueError."""
        self._shapes()
        self._constants()
        _demand(marks == len(self._part(self._k.FIRST)) + self._terminals, "scratch")
        self._records()
        self._contents()
        self._fields()
        self._rows()
        self._memo()

    def position(self, at: int) -> bool:
        """Whether a number is a position."""
        if at >= _SEVERAL:
            return bool(self._are(np.array([at & _LOW]), self._k.THREADS).all())
        lexer, stacks = np.array([at >> 31]), np.array([at & _LOW])
        return at >= 0 and bool(self._are(lexer, self._k.LEXER).all() and self._closed(stacks))

    # -- arrays -----------------------------------------------------------------------------------

    def _shapes(self) -> None:
        t, k = self._t, self._k
        kinds = {"offsets": np.int64, "memo": np.int64, "names": np.int64, "info": np.int64}
        wide = {"next", "watch", "rec", "rows", "memo", "names"}
        for name, array in t._asdict().items():
            _demand(array.dtype == kinds.get(name, np.int32), name)
            _demand(array.ndim == (2 if name in wide else 1), name)
        _demand(len(t.info) == k.INFO_SIZE and t.rec.shape[1] == 8, "info")
        counts = {k.RECORDS: t.rec, k.HEAP: t.heap, k.ROWS: t.rows}
        _demand(all(t.info[count] == len(array) for count, array in counts.items()), "sizes")
        for count, table in ((k.MEMO, t.memo), (k.NAMES, t.names)):
            size = len(table)
            _demand(table.shape[1] == 2 and size > 0 and size & (size - 1) == 0, "a hash table")
            used = int((table[:, 0] != -1).sum())
            _demand(t.info[count] == used and 2 * used <= size + 2, "a hash table")
        classes = t.next.shape[1]
        _demand(t.watch.shape[1] == classes and t.rows.shape[1] == classes, "classes")
        _demand(len(t.offsets) == k.FIXED_COUNT + 1 and t.offsets[0] == 0, "offsets")
        _demand((np.diff(t.offsets) >= 0).all() and t.offsets[-1] == len(t.fixed), "offsets")

    def _part(self, name: int) -> Array:
        """One of the constant arrays."""
        found: Array = self._t.fixed[self._t.offsets[name] : self._t.offsets[name + 1]]
        return found

    def _constants(self) -> None:
        """Check ranges and lengths of the constant arrays."""
        t, k, info = self._t, self._k, self._t.info
        terminals, states, lookaheads = self._terminals, len(t.next), len(t.watch)
        items, names = len(self._part(k.FIRST)), len(self._part(k.CALL_START)) - 1
        of = {
            k.FIRST: (items, -1, terminals + names), k.AFTER: (items, -1, items),
            k.COST: (items, 0, 1 << 30), k.SKIP: (None, 0, items),
            k.CALL_TERMINAL: (len(self._part(k.CALL_ITEM)), 0, terminals),
            k.CALL_ITEM: (None, 0, items), k.CLASS: (256, 0, t.next.shape[1]),
            k.T_START: (terminals, 0, states), k.T_IGNORED: (terminals, 0, 3),
            k.RENAME: (None, 0, terminals), k.WITHIN: (None, 0, terminals),
            k.S_TERMINAL: (states, 0, terminals), k.S_ENDS: (states, 0, 4),
            k.S_NO_LONGER: (states, 0, lookaheads), k.S_NO_MATCH: (states, 0, lookaheads),
            k.S_DISTANCE: (states, 0, 1 << 30), k.L_VIOLATED: (lookaheads, 0, 2),
            k.T_BRACKET: (terminals, -1, 2), k.T_EMBEDDED: (terminals, 0, 2),
            k.C_COLUMNS: (t.next.shape[1], -1, 1 << 20),
            k.S_WIDTH: (states, 0, 3),
            k.T_SHADOW: (terminals, -1, states), k.COMPETING: (None, 0, terminals),
            k.LR_SYMBOL: (len(self._part(k.LR_STEP)), 0, 1 << 30),
            k.LR_SIZE: (len(self._part(k.LR_NAME)), 0, 1 << 30), k.LR_NAME: (None, 0, 1 << 30),
        }  # fmt: skip
        for name, (size, low, high) in of.items():
            part = self._part(name)
            _demand(size is None or len(part) == size, "a constant")
            _demand(_within(part, low, high), "a constant")
        bounds = (
            (k.SKIP_START, k.SKIP, items),
            (k.CALL_START, k.CALL_ITEM, names),
            (k.RENAME_START, k.RENAME, terminals),
            (k.WITHIN_START, k.WITHIN, terminals),
            (k.COMPETING_START, k.COMPETING, terminals),
            (k.LR_START, k.LR_SYMBOL, self._states),
        )
        for start, listed, count in bounds:
            part = self._part(start)
            _demand(len(part) == count + 1 and part[0] == 0, "bounds")
            _demand((np.diff(part) >= 0).all() and part[-1] == len(self._part(listed)), "bounds")
        _demand(items >= 2 and names >= 0 and lookaheads >= 2 and terminals >= 0, "constants")
        _demand(_within(t.next, -1, states) and _within(t.watch, 0, lookaheads), "automata")
        least = max(1024, items, states + 2, terminals + 2)
        _demand(least <= info[k.REGION] <= _MOST_INTS // k.REGIONS, "scratch")
        self._parser()
        layout = info[[k.NEWLINE, k.INDENT, k.DEDENT]]
        _demand(_within(layout, -1, max(terminals, 1)), "layout")
        _demand(-1 <= info[k.FINAL] < terminals, "a terminal")
        _demand(0 <= info[k.ORDERED] <= 1 and 0 <= info[k.CHECKED] <= 2, "flags")
        _demand(0 < info[k.MANY_GROUPS] <= 1 << 16, "limits")

    def _parser(self) -> None:
        """Check the constants of the LALR parser that need more than a range."""
        k, info, steps = self._k, self._t.info, self._part(self._k.LR_STEP)
        nothing = steps == kernels("grammar.lalr_guided").NOTHING
        reduced = len(self._part(k.LR_SIZE))
        _demand(_within(steps[~nothing], -reduced, self._states), "a step")
        ends = info[[k.FIRST_STATE, k.LAST_STATE]]
        _demand(_within(ends, -1, max(1, self._states)), "a state")
        symbols, row = self._part(k.LR_SYMBOL), np.diff(self._part(k.LR_START))
        row = np.repeat(np.arange(self._states), row)
        _demand(((symbols[1:] > symbols[:-1]) | (row[1:] != row[:-1])).all(), "a row")
        _demand(ends[0] < self._states and 0 <= info[k.CHOICE] <= 2, "a parser")

    # -- records ----------------------------------------------------------------------------------

    def _are(self, numbers: Array, *kinds: int) -> npt.NDArray[np.bool_]:
        """bool[n]: which numbers are those of records of some kinds."""
        there = (numbers > 0) & (numbers < len(self._t.rec))
        found: npt.NDArray[np.bool_] = there & np.isin(
            self._t.rec[np.where(there, numbers, 0), REC_KIND], kinds
        )
        return found

    def _all(self, numbers: Array, kind: int, *others: int) -> bool:
        """Whether each is the number of a record of a kind, or one of some other numbers."""
        return bool((self._are(numbers, kind) | np.isin(numbers, others)).all())

    def _closed(self, numbers: Array) -> bool:
        """Whether each is the number of closed stacks (see `kernels.grammar.stacks`)."""
        if not self._are(numbers, self._k.STACKS, self._k.GUIDED, self._k.LAID).all():
            return False
        return bool((self._t.rec[numbers, STACKS_LEXER] > 0).all())

    def _records(self) -> None:
        rec, k = self._t.rec[1:], self._k
        starts, sizes = rec[:, REC_START].astype(np.int64), rec[:, REC_SIZE].astype(np.int64)
        _demand(_within(rec[:, REC_KIND], k.ITEM_SET, k.GUIDED + 1), "a record")
        _demand((starts >= 0).all() and (sizes >= 0).all(), "a record")
        _demand((starts + sizes <= len(self._t.heap)).all(), "a record")
        used = self._t.names[self._t.names[:, 0] != -1, 1]
        _demand(_within(used, 1, len(self._t.rec)), "a name")

    def _listed(self, kind: int) -> tuple[Array, Array, Array]:
        """All ints in records of a kind; the index of each one's record, and its place in it."""
        numbers = np.flatnonzero(self._t.rec[:, REC_KIND] == kind)
        return self._at(self._t.rec[numbers, REC_START], self._t.rec[numbers, REC_SIZE])

    def _at(self, starts: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Stretches of the heap in a row; the index of each int's stretch, and its place in it."""
        sizes = sizes.astype(np.int64)
        stretch = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(stretch)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        where = np.repeat(starts.astype(np.int64), sizes) + place
        return self._t.heap[where], stretch, place

    def _contents(self) -> None:
        """Check what records of each kind hold."""
        k, items = self._k, len(self._part(self._k.FIRST))
        limits = (
            (k.ITEM_SET, 0, items),
            (k.TERMINALS, 0, self._terminals),
            (k.LEXER, -1, len(self._t.next)),
            (k.LOOKAHEADS, 0, len(self._t.watch)),
        )
        for kind, low, high in limits:
            held, stretch, place = self._listed(kind)
            _demand(_within(held, low, high), "a set")
            ascending = (held[1:] > held[:-1]) | (stretch[1:] != stretch[:-1])
            _demand(ascending.all(), "a set")
        sizes = {
            kind: self._t.rec[self._t.rec[:, REC_KIND] == kind, REC_SIZE] for kind in range(1, 12)
        }
        for kind in (k.LEXER, k.LOOKAHEADS, k.THREADS, k.INDENTS):
            _demand((sizes[kind] > 0).all(), "a record")
        _demand((sizes[k.STACKS] % 2 == 0).all() and (sizes[k.LAID] == 4).all(), "a record")
        _demand((sizes[k.THREADS] % 3 == 0).all() and (sizes[k.PAIRED] == 2).all(), "threads")
        _demand((sizes[k.THREADS] <= self._t.info[k.REGION]).all(), "threads")
        _demand((sizes[k.INDENTS] <= 1024).all(), "open lines")
        held, _, place = self._listed(k.STACKS)
        _demand(self._all(held[place % 2 == 0], k.ITEM_SET), "stacks")
        _demand(self._all(held[place % 2 == 1], k.STACKS, 0), "stacks")
        held, _, place = self._listed(k.THREADS)
        _demand(self._all(held[place % 3 == 0], k.LEXER), "threads")
        _demand(self._closed(held[place % 3 == 1]), "threads")
        _demand(self._all(held[place % 3 == 2], k.LOOKAHEADS, 0), "threads")
        held, _, place = self._listed(k.PAIRED)
        _demand(self._all(held[place == 0], k.LEXER), "a pair")
        _demand(self._all(held[place == 1], k.LOOKAHEADS), "a pair")
        self._guided(sizes)
        held, _, place = self._listed(k.LAID)
        _demand(self._are(held[place == 0], k.STACKS, k.GUIDED).all(), "a layout")
        _demand(self._closed(held[place == 0]), "a layout")
        _demand(self._all(held[place == 1], k.INDENTS), "a layout")
        _demand(_within(held, 0, 1 << 31), "a layout")
        _demand(_within(self._listed(k.INDENTS)[0], 0, 1 << 31), "open lines")

    def _guided(self, sizes: dict[int, Array]) -> None:
        k = self._k
        _demand((sizes[k.LALR] == 2).all() and (sizes[k.GUIDED] == 2).all(), "a record")
        held, _, place = self._listed(k.LALR)
        above = np.flatnonzero(self._t.rec[:, REC_KIND] == k.LALR)
        _demand(_within(held[place == 0], 0, self._states), "a parser")
        _demand(self._all(held[place == 1], k.LALR, 0), "a parser")
        _demand((held[place == 1] < above).all(), "a parser")
        held, _, place = self._listed(k.GUIDED)
        _demand(self._are(held[place == 0], k.STACKS).all(), "a parser")
        _demand(self._closed(held[place == 0]), "a parser")
        _demand(self._all(held[place == 1], k.LALR), "a parser")

    def _fields(self) -> None:
        """Check the fields of records that are made when first needed."""
        k, rec = self._k, self._t.rec
        item_sets = rec[rec[:, REC_KIND] == k.ITEM_SET]
        _demand(
            _within(item_sets[:, ITEMS_NULLABLE], 0, 2)
            and self._all(item_sets[:, ITEMS_NON_EMPTY], k.ITEM_SET, -1),
            "a set",
        )
        _demand(
            self._all(item_sets[:, ITEMS_TERMINALS], k.TERMINALS)
            and (item_sets[:, ITEMS_COST] >= 0).all(),
            "a set",
        )
        terminals = rec[rec[:, REC_KIND] == k.TERMINALS]
        _demand(self._all(terminals[:, TERMINALS_LEXER], k.LEXER, -1), "terminals")
        _demand(_within(terminals[:, TERMINALS_EMBEDDED], -1, 2), "terminals")
        for stacks in (rec[rec[:, REC_KIND] == kind] for kind in (k.STACKS, k.GUIDED, k.LAID)):
            _demand(
                (stacks[:, STACKS_COST] >= 0).all() and _within(stacks[:, STACKS_ACCEPTING], -1, 2),
                "stacks",
            )
            closed = stacks[stacks[:, STACKS_LEXER] >= 0]
            _demand(self._all(closed[:, STACKS_LEXER], k.LEXER), "stacks")
            _demand(self._all(closed[:, STACKS_TERMINALS], k.TERMINALS), "stacks")
        end = self._t.info[[k.END_ITEM_SET]]
        _demand(self._all(end, k.ITEM_SET), "the end")
        lookaheads = rec[rec[:, REC_KIND] == k.LOOKAHEADS]
        _demand(_within(lookaheads[:, LOOKAHEADS_VIOLATED], 0, 2), "lookaheads")
        lexers = rec[rec[:, REC_KIND] == k.LEXER]
        _demand(_within(lexers[:, LEXER_WIDTH], -1, 3), "a lexer state")
        held, place = self._counted(lexers[lexers[:, LEXER_ENDINGS] >= 0, LEXER_ENDINGS], 2, 0)
        _demand(self._all(held[place % 2 == 0], k.TERMINALS), "an end")
        _demand(self._all(held[place % 2 == 1], k.LOOKAHEADS, 0), "an end")
        held, _ = self._counted(lexers[lexers[:, LEXER_CLUSTERS] >= 0, LEXER_CLUSTERS], 1, 0)
        _demand(self._all(held, k.LEXER), "a cluster")

    def _counted(self, places: Array, width: int, before: int) -> tuple[Array, Array]:
        """Lists in the heap that begin with their length, each entry `width` ints.

        before: ints in front of the length. Returns all ints in a row, and the place of each in its
        list.
        """
        heap, at = self._t.heap, places.astype(np.int64) + before
        _demand(((places > 0) & (at < len(heap))).all(), "a list")
        counts = heap[at].astype(np.int64)
        _demand((counts >= 0).all() and (at + 1 + width * counts <= len(heap)).all(), "a list")
        held, _, place = self._at(at + 1, width * counts)
        return held, place

    def _rows(self) -> None:
        """Check the transition rows of lexer states, lookaheads and sets of threads."""
        k, rec, rows = self._k, self._t.rec, self._t.rows
        for kind, others in (
            (k.LEXER, (-1, -2)), (k.LOOKAHEADS, (-1, -2, 0)), (k.THREADS, (-1, -2)),
        ):  # fmt: skip
            owned = rec[rec[:, REC_KIND] == kind, REC_ROW]
            _demand(_within(owned, -1, len(rows)), "a row")
            _demand(self._all(rows[owned[owned >= 0]].reshape(-1), kind, *others), "a row")

    def _memo(self) -> None:
        """Check the memo table: keys are of known kinds, values records of the right kind."""
        k, memo = self._k, self._t.memo
        memo = memo[memo[:, 0] != -1]
        tags, keys, values = memo[:, 0] >> 60, (memo[:, 0] >> 30) & (_LOW >> 1), memo[:, 1]
        _demand(_within(tags, k.BESIDE, k.VIABLE + 1), "a key")
        kinds = ((k.ENTER, k.ITEM_SET), (k.UNION_ITEMS, k.ITEM_SET), (k.UNION_STACKS, k.STACKS),
                 (k.BESIDE, k.LEXER))  # fmt: skip
        for tag, kind in kinds:
            others = (-1,) if tag == k.ENTER else ()
            _demand(self._all(values[tags == tag], kind, *others), "a value")
        _demand(_within(values[tags == k.VIABLE], 0, 3), "a value")
        scans = ((tags == k.SCAN) | (tags == k.SCANS)) & (values != -1)
        _demand(self._closed(values[scans]) and self._closed(keys[scans]), "a value")
        rec = self._t.rec
        _demand((rec[values[scans], REC_KIND] == rec[keys[scans], REC_KIND]).all(), "a value")
        gotos = values[(tags == k.GOTO) & (values != 0)]
        _demand(_within(gotos, 1, len(self._t.heap) - 1), "a value")
        _demand(self._all(self._t.heap[gotos], k.ITEM_SET, -1), "a value")
        held, _ = self._counted(gotos, 2, 1)
        _demand(self._all(held, k.ITEM_SET), "a value")


def _within(values: Array, low: int, high: int) -> bool:
    """Whether all are from `low` to below `high`."""
    return bool(((values >= low) & (values < high)).all())


def _demand(holds: object, what: str) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError(f"{what} is out of range")
