"""In: mask rows by position of an automaton. Out: arrays for a file, from which each comes back.

Rows of one constraint resemble each other: most are a few tokens, or all that may stand in a string
and a few tokens. So a row is stored as the words in which it differs from the nearest of a few
whole rows, which takes a fifteenth of the room, and is put together when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError

MAX_WHOLE = 32  # rows stored as they are; the first is the empty one
FAR = 8  # a row that differs from each of those in more than a FARth of its words becomes one

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
    """The arrays that `SavedRows` reads. rows: the mask of each position, int32[words]."""
    whole: list[Row] = [np.zeros(words, np.int32)]
    known: dict[bytes, int] = {}
    nearest: list[int] = []
    changed: list[npt.NDArray[np.int64]] = []
    values: list[Row] = []
    positions, places = sorted(rows), []
    for at in positions:
        row = rows[at]
        place = known.setdefault(row.tobytes(), len(nearest))
        places.append(place)
        if place < len(nearest):
            continue
        counts = [np.count_nonzero(row != other) for other in whole]
        base = int(np.argmin(counts))
        if counts[base] * FAR > words and len(whole) < MAX_WHOLE:
            base = len(whole)
            whole.append(row)
        nearest.append(base)
        changed.append(np.flatnonzero(row != whole[base]))
        values.append(row[changed[-1]])
    return {
        "positions": np.array(positions, np.int64),
        "places": np.array(places, np.int32),
        "whole_rows": np.stack(whole),
        "row_nearest": np.array(nearest, np.int32),
        "row_starts": np.cumsum([0, *map(len, changed)], dtype=np.int64),
        "row_words": np.concatenate([np.zeros(0, np.int64), *changed]).astype(
            np.min_scalar_type(words)
        ),
        "row_values": np.concatenate([np.zeros(0, np.int32), *values]),
    }


# The dtype and the number of dimensions of each array; `row_words` is as narrow as it can be.
_FORMS = {
    "positions": ("int64", 1),
    "places": ("int32", 1),
    "whole_rows": ("int32", 2),
    "row_nearest": ("int32", 1),
    "row_starts": ("int64", 1),
    "row_words": ("uint8 uint16 uint32", 1),
    "row_values": ("int32", 1),
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
            if array is None or array.dtype.name not in dtypes.split() or array.ndim != ndim:
                raise self._damaged(name)
        parts = [arrays[name] for name in NAMES]
        self._positions, self._places, self._whole, self._nearest = parts[:4]
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
        if not 0 <= place < min(len(self._nearest), len(self._starts) - 1):
            raise self._damaged("places")
        nearest = int(self._nearest[place : place + 1][0])
        start, stop = self._starts[place : place + 2].tolist()
        if not 0 <= nearest < len(self._whole):
            raise self._damaged("row_nearest")
        if not 0 <= start <= stop <= min(len(self._row_words), len(self._values)):
            raise self._damaged("row_starts")
        row = np.array(self._whole[nearest : nearest + 1][0], np.int32)
        words = self._row_words[start:stop]
        if row.shape != (self._words,) or int(words.max(initial=0)) >= self._words:
            raise self._damaged("row_words")
        row[words] = self._values[start:stop]
        return row

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(
            f"the table {name!r} is inconsistent", location=self._place, hint="compile it again"
        )
