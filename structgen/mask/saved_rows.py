"""In: mask rows by position of an automaton. Out: arrays for a file, from which each comes back.

Rows of one constraint resemble each other: most are a few tokens, or all that may stand in a string
and a few tokens. So a row is stored as the words in which it differs from another one, which takes
a fiftieth of the room, and is put together when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError

LAST = 32  # a row is compared with the whole ones, and with so many before it
MAX_DEPTH = 6  # rows put together to make one
EMPTY = -1  # stands for the row without tokens; -2 - k for row k of `whole_rows`

Arrays = dict[str, npt.NDArray[Any]]
Row = npt.NDArray[np.int32]


class Part(Protocol):
    """An array of which parts are taken: `container.Section`, or a numpy array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of a numpy array."""

    @property
    def ndim(self) -> int:
        """As of a numpy array."""

    def __len__(self) -> int:
        """Number of entries along the first axis."""

    def __getitem__(self, part: slice, /) -> npt.NDArray[Any]:
        """Some of the entries along the first axis."""


def pack(words: int, rows: Mapping[int, Row]) -> Arrays:
    """The arrays that `SavedRows` reads. rows: the mask of each position, int32[words].

    Returns `positions` int64[n], ascending, and `places` int32[n], the row of each. Row i is what
    `row_bases[i]` says (an earlier row, or see EMPTY), with `row_values` int32 in those of its
    words that `row_words` names; for both its part is `row_starts[i]` to `row_starts[i + 1]`.
    `whole_rows` int32[k, words] holds rows that resemble none.
    """
    positions = sorted(rows)
    known: dict[bytes, int] = {}
    distinct: list[Row] = []
    places = []
    for at in positions:
        place = known.setdefault(rows[at].tobytes(), len(distinct))
        if place == len(distinct):
            distinct.append(rows[at])
        places.append(place)
    wholes: list[int] = []  # which rows are whole
    bases: list[int] = []
    changed: list[npt.NDArray[np.int64]] = []
    depths: list[int] = []
    none = np.zeros(words, np.int32)
    for i, row in enumerate(distinct):
        near = {*wholes, *range(max(0, i - LAST), i)}
        found = [(np.count_nonzero(row), EMPTY)]
        found += [(np.count_nonzero(row != distinct[k]), k) for k in near if depths[k] < MAX_DEPTH]
        count, base = min(found)
        if 3 * count > 2 * words:  # a word that is named takes six bytes, and four in a whole row
            base = -2 - len(wholes)
            wholes.append(i)
        other = none if base == EMPTY else row if base < EMPTY else distinct[base]
        bases.append(base)
        depths.append(0 if base < 0 else depths[base] + 1)
        changed.append(np.flatnonzero(row != other))
    values = [row[where] for row, where in zip(distinct, changed, strict=True)]
    return {
        "positions": np.array(positions, np.int64),
        "places": np.array(places, np.int32),
        "whole_rows": np.array([distinct[i] for i in wholes], np.int32).reshape(-1, words),
        "row_bases": np.array(bases, np.int32),
        "row_starts": np.cumsum([0, *map(len, changed)], dtype=np.int64),
        "row_words": np.concatenate([np.zeros(0, np.int64), *changed]).astype(
            np.min_scalar_type(words)
        ),
        "row_values": np.concatenate([np.zeros(0, np.int32), *values]),
    }


# The dtype and the number of dimensions of each array; `row_words` is as narrow as it can be.
_FORMS = {
    "positions": ("i8", 1),
    "places": ("i4", 1),
    "whole_rows": ("i4", 2),
    "row_bases": ("i4", 1),
    "row_starts": ("i8", 1),
    "row_words": ("u1 u2 u4", 1),
    "row_values": ("i4", 1),
}
NAMES = tuple(_FORMS)


class SavedRows:
    """The rows that `pack` stored, made again one by one. `len()` is how many positions have one.

    Nothing in the arrays is believed: what would lead outside them raises ArtifactError.
    """

    def __init__(self, words: int, arrays: Mapping[str, Part], place: str = "") -> None:
        """`words` of each row; `arrays` as `pack` made them; `place` names the file in errors."""
        self._place = place
        self._words = words
        for name, (dtypes, ndim) in _FORMS.items():
            array = arrays.get(name)
            if array is None or array.dtype.str[1:] not in dtypes or array.ndim != ndim:
                raise self._damaged(name)
        parts = [arrays[name] for name in NAMES]
        self._positions, self._places, self._whole, self._bases = parts[:4]
        self._starts, self._row_words, self._values = parts[4:]
        if len(self._positions) != len(self._places):
            raise self._damaged("places")

    def __len__(self) -> int:
        return len(self._positions)

    def row(self, at: int) -> Row | None:
        """A fresh int32[words], the mask of a position; None if it was not saved."""
        place = self.place(at)
        return None if place < 0 else self.unpacked(place)

    def place(self, at: int) -> int:
        """Which row a position has, or -1 if it was not saved. Positions may share rows."""
        positions = self._positions[:]
        i = int(positions.searchsorted(at))
        if i == len(positions) or positions[i] != at:
            return -1
        return int(self._places[i : i + 1][0])

    def items(self) -> Iterator[tuple[int, Row]]:
        """The positions whose rows were saved, and the rows; equal ones may be one array."""
        known: dict[int, Row] = {}
        for at, place in zip(self._positions[:].tolist(), self._places[:].tolist(), strict=True):
            if place not in known:
                known[place] = self.unpacked(place)
            yield at, known[place]

    def unpacked(self, place: int) -> Row:
        """Row number `place`, a fresh int32[words]."""
        count = min(len(self._bases), len(self._starts) - 1)
        changes: list[tuple[npt.NDArray[Any], Row]] = []
        row = None
        while row is None:
            if not 0 <= place < count or len(changes) > MAX_DEPTH:
                raise self._damaged("places" if not changes else "row_bases")
            changes.append(self._changes(place))
            base = int(self._bases[place : place + 1][0])
            if base >= place or base < -1 - len(self._whole):
                raise self._damaged("row_bases")
            if base == EMPTY:
                row = np.zeros(self._words, np.int32)
            elif base < EMPTY:
                row = np.array(self._whole[-2 - base : -1 - base][0], np.int32)
            place = base
        if row.shape != (self._words,):
            raise self._damaged("whole_rows")
        for words, values in reversed(changes):
            row[words] = values
        return row

    def _changes(self, place: int) -> tuple[npt.NDArray[Any], Row]:
        """The words in which a row differs from its base, and what stands there."""
        start, stop = self._starts[place : place + 2].tolist()
        if not 0 <= start <= stop <= min(len(self._row_words), len(self._values)):
            raise self._damaged("row_starts")
        words = self._row_words[start:stop]
        if int(words.max(initial=0)) >= self._words:
            raise self._damaged("row_words")
        return words, self._values[start:stop]

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(
            f"the table {name!r} is inconsistent", location=self._place, hint="compile it again"
        )


class Saved(NamedTuple):
    """What a file gives back at once.

    rows: those that were made; start: the position before any text; writes_all_bytes: whether the
    vocabulary can write every byte.
    """

    rows: SavedRows
    start: int
    writes_all_bytes: bool
