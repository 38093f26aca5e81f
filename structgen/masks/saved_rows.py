"""Pack mask rows into arrays for a file, and make each again when it is needed.

Rows of one constraint resemble each other: most are a few tokens, or all that may stand in a string
and a few tokens. So a row is stored as a *delta row*: the words in which it differs from an earlier
one, at most MAX_DEPTH rows deep. That takes a fiftieth of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError
from structgen.masks.bitmask import row_id

LAST = 32  # a row is compared with so many rows before it, and with all whole ones
MAX_DEPTH = 6  # rows that are put together to make one
# Instead of the place of another row:
EMPTY = -1  # the row without tokens
WHOLE = -2  # none, all words are stored

Arrays = dict[str, npt.NDArray[Any]]
Row = npt.NDArray[np.int32]
Kept = tuple[Callable[[int], Row], int]  #: what makes a row again: a function, and its argument


class Part(Protocol):
    """An array that is read by slices: a `container.Section`, or a numpy array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """As in numpy."""

    @property
    def ndim(self) -> int:
        """As in numpy."""

    def __len__(self) -> int:
        """Number of entries along the first axis."""

    def __getitem__(self, part: slice, /) -> npt.NDArray[Any]:
        """Some of the entries along the first axis."""


def pack(words: int, rows: Mapping[int, Kept]) -> Arrays:
    """Pack rows into the arrays that `SavedRows` reads.

    rows: by position, a function that makes its row int32[words], and its argument. Returns:

    - positions: int64[n], ascending;
    - places: int64[n], where in `records` the record of each position's row begins;
    - records: int32[], each: the place of an earlier row (or EMPTY or WHOLE), the number of words
      in which the row differs from that one, their values, and their indices in the smallest
      unsigned type that holds them (none for a WHOLE one, which has all words).
    """
    positions = sorted(rows)
    made: dict[Kept, int] = {}
    known: dict[int, int] = {}
    near: dict[int, Row] = {}  # by number, those that the next one is compared with
    numbers = []  # of the row of each position
    depths: list[int] = []
    places = [0]
    records: list[Row] = []
    for at in positions:
        kept = rows[at]
        number = made.get(kept)
        if number is None:
            make, place = kept
            row = make(place)
            number = made[kept] = known.setdefault(row_id(row), len(depths))
        numbers.append(number)
        if number < len(depths):
            continue
        found = [(np.count_nonzero(row), EMPTY)]
        found += [(np.count_nonzero(row != r), k) for k, r in near.items() if depths[k] < MAX_DEPTH]
        count, base = min(found)
        # A word that differs takes six bytes with its index, and four in a whole row.
        if 3 * count > 2 * words:
            base, values, names = WHOLE, row, b""
        else:
            changed = np.flatnonzero(row != (0 if base == EMPTY else near[base]))
            values, names = row[changed], changed.astype(_narrow(words)).tobytes()
        head = [base if base < 0 else places[base], len(values)]
        padded = np.frombuffer(names + bytes(-len(names) % 4), np.int32)
        records.append(np.concatenate([head, values, padded]).astype(np.int32))
        depths.append(0 if base < 0 else depths[base] + 1)
        places.append(places[-1] + len(records[-1]))
        near[number] = row
        if number >= LAST and records[number - LAST][0] != WHOLE:
            del near[number - LAST]
    return {
        "positions": np.array(positions, np.int64),
        "places": np.array([places[number] for number in numbers], np.int64),
        "records": np.concatenate([np.zeros(0, np.int32), *records]),
    }


@lru_cache(maxsize=16)
def _narrow(words: int) -> np.dtype[Any]:
    """The dtype of indices of so many words."""
    return np.dtype(np.min_scalar_type(words))


# The dtype of each array.
_FORMS = {name: np.dtype(f"<i{n}") for name, n in (("positions", 8), ("places", 8), ("records", 4))}
NAMES = tuple(_FORMS)


class SavedRows:
    """The rows that `pack` stored, made again one by one; `len()` counts their positions.

    Nothing in the arrays is trusted: what would lead outside them raises ArtifactError.
    """

    def __init__(self, words: int, arrays: Mapping[str, Part], place: str = "") -> None:
        """`words` of each row; `arrays` as `pack` made them; `place` names the file in errors."""
        self._place = place
        self.words = words
        self._narrow = _narrow(words)
        for name, dtype in _FORMS.items():
            array = arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise self._damaged(name)
        self._positions, self._places, self._records = (arrays[name] for name in NAMES)
        if len(self._positions) != len(self._places):
            raise self._damaged("places")

    def __len__(self) -> int:
        return len(self._positions)

    def write(self, at: int, row: Row) -> bool:
        """Write the mask of a position, int32[words]; False, and nothing, if it was not saved."""
        place = self.place(at)
        if place >= 0:
            self._unpack(place, row)
        return place >= 0

    def place(self, at: int) -> int:
        """Where the row of a position is, or -1 if it was not saved. Positions may share rows."""
        positions = self._positions[:]
        i = int(positions.searchsorted(at))
        if i == len(positions) or positions[i] != at:
            return -1
        return int(self._places[i : i + 1][0])

    def items(self) -> Iterator[tuple[int, Kept]]:
        """The positions whose rows were saved, and what makes these."""
        for at, place in zip(self._positions[:].tolist(), self._places[:].tolist(), strict=True):
            yield at, (self.row, place)

    def row(self, place: int) -> Row:
        """The row at a place."""
        row = np.empty(self.words, np.int32)
        self._unpack(place, row)
        return row

    def _unpack(self, place: int, row: Row) -> None:
        """Write the row at a place."""
        changes: list[tuple[npt.NDArray[Any], Row]] = []
        while place >= 0:
            if len(changes) > MAX_DEPTH:
                raise self._damaged("records")
            place, words, values = self._record(place)
            if place == WHOLE:
                row[:] = values
            else:
                changes.append((words, values))
        if place == EMPTY:
            row[:] = 0
        try:
            for words, values in reversed(changes):
                row[words] = values
        except IndexError:  # an index that no row has
            raise self._damaged("records") from None

    def _record(self, place: int) -> tuple[int, npt.NDArray[Any], Row]:
        """A record: place of the row that it builds on, indices of words that differ, values."""
        head = self._records[place : place + 2].tolist()
        if len(head) < 2:
            raise self._damaged("places")
        base, count = head
        named = 0 if base == WHOLE else -(-count * self._narrow.itemsize // 4)
        if not WHOLE <= base < place or not 0 <= count <= self.words:
            raise self._damaged("records")
        rest = self._records[place + 2 : place + 2 + count + named]
        if len(rest) < count + named or (base == WHOLE and count < self.words):
            raise self._damaged("records")
        return base, rest[count:].view(self._narrow)[:count], rest[:count]

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(
            f"the table {name!r} is inconsistent", location=self._place, hint="compile it again"
        )


class Saved(NamedTuple):
    """What a constraint takes from its file at once.

    rows: its saved mask rows. start: the position before any text. writes_all_bytes: whether the
    vocabulary has a token for each single byte.
    """

    rows: SavedRows
    start: int
    writes_all_bytes: bool
