"""In: what kernels ask while they look for a row. Out: room for what is known of rows, by address.

See `kernels.masks.mask_cache` and `kernels.masks.same_mask`: what rows depend on, and which
positions have them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD, Row
from structgen.automata.pushdown.tables import STATES, PackedArrays, hash_table
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import with_room

if TYPE_CHECKING:
    from structgen.masks.shared import LexemeMask

RECORDS, PLACES, PLANS = 1 << 15, 1 << 11, 1 << 7  # room at first: that not used is no memory


class BaseRow(NamedTuple):
    """The tokens that stay in a lexeme, and in the white space before it: int32[words].

    number: what tells it from all others; 0 without tokens. of: what it was made of, kept so that
    addresses and ids stay theirs.
    """

    row: Row
    number: int
    inside: LexemeMask | None
    embedded: LexemeMask | None


class Recipes:
    """Plans by key (see `masks.same_mask`). table: int64[H, 2], where kernels look for them."""

    def __init__(self, table: npt.NDArray[np.int64] | None = None, *kept: Any) -> None:
        """kept: what the addresses in the table are of."""
        self.table = hash_table(PLANS) if table is None else table
        self._kept = [*kept]

    def copy(self) -> Recipes:
        """The same plans, to which others can be added."""
        return Recipes(self.table.copy(), *self._kept)

    def keep(self, key: int, plan: Any, written: PackedArrays, kept: Any) -> None:
        """Keep a `same_mask.Plan`, written down where it is good as long as `kept` is there."""
        self._kept.append((written, plan, kept))
        if 2 * len(self._kept) > len(self.table):
            larger = hash_table(2 * len(self.table))
            kernels("tables").rehash(self.table, larger)
            self.table = larger
        kernels("masks.same_mask").keep_plan(self.table, key, written.address, plan)


class LexiconCache:
    """What all that share a lexicon say of its states, so that it need not be found out again.

    bases: by the ids of the two `LexemeMask`s that they are made of. is_ready: whether what the states
    of free texts allow has been found. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self.is_ready = False
        self.bases: dict[tuple[int, int], BaseRow] = {}
        self._kinds, self._recipes = np.zeros(512, np.int32), Recipes()
        self._keys: set[int] = set()
        self._lock = threading.Lock()

    def copies(self) -> tuple[npt.NDArray[np.int32], Recipes]:
        """The kinds of lexer states, and plans, as in `kernels.masks.mask_cache.Known`."""
        with self._lock:
            kinds = with_room(self._kinds, len(self._kinds) + STATES)  # the spec's own are behind
            return kinds, self._recipes.copy()

    def say(self, q: int, kind: int) -> None:
        """Say of a state what `kernels.masks.mask_cache.Known` has of it."""
        with self._lock:
            self._kinds = with_room(self._kinds, q + 1)
            self._kinds[q] = kind

    def keep_plan(self, key: int, plan: Any, written: PackedArrays, kept: Any) -> None:
        """Keep a plan for states of the lexicon, as `Recipes.keep` does."""
        with self._lock:
            if key not in self._keys:
                self._keys.add(key)
                self._recipes.keep(key, plan, written, kept)


class Known:
    """What is known of the rows of one automaton. address: where kernels find it."""

    def __init__(self, words: int, lexicon_cache: LexiconCache | None = None) -> None:
        """words: of a row. told: what is known of the lexicon's states."""
        self._words = words
        kinds, self._recipes = (np.zeros(512, np.int32), Recipes()) if lexicon_cache is None else lexicon_cache.copies()
        self._k = kernels("masks.mask_cache")
        self._arrays = self._k.Known(
            kinds=kinds,
            plans=self._recipes.table,
            places=np.full(PLACES, -1, np.int64),
            records=np.empty(RECORDS, np.int64),
            key=np.empty(0, np.int64),
            sizes=np.zeros(8, np.int64),
        )
        self._arrays.sizes[self._k.PAIR] = DEAD
        self._written = PackedArrays(len(self._arrays))
        self.address = self._written.address
        self.make_room(1)

    @property
    def nbytes(self) -> int:
        """Bytes of what is known."""
        used = int(self._arrays.sizes[self._k.USED])
        return 8 * (used + len(self._arrays.places))

    def make_room(self, asked: int) -> None:
        """Have room for more records, and for keys with as many words as `asked` has."""
        arrays, k = self._arrays, self._k
        longest = max(2 + self._words, 4 + asked)
        if len(arrays.key) < longest:
            arrays = arrays._replace(key=np.empty(longest, np.int64))
        used = int(arrays.sizes[k.USED])
        room = used + kernels("masks.same_mask").RECORDS * (k.KEY + longest)
        arrays = arrays._replace(records=with_room(arrays.records, room, None))
        if 4 * int(arrays.sizes[k.COUNT]) > len(arrays.places):
            larger = np.full(4 * len(arrays.places), -1, np.int64)
            k.find_again(arrays.records, used, larger)
            arrays = arrays._replace(places=larger)
        self._keep(arrays)

    def say(self, q: int, kind: int) -> None:
        """Say of a lexer state what `kernels.masks.mask_cache.Known` has of it."""
        if q >= len(self._arrays.kinds):
            self._keep(self._arrays._replace(kinds=with_room(self._arrays.kinds, q + 1)))
        self._arrays.kinds[q] = kind

    def keep_plan(self, key: int, base: BaseRow, numbers: tuple[int, ...], lexicon_cache: LexiconCache | None) -> None:
        """Keep a plan, by its key; numbers: as in `same_mask.Plan`. told: who is to know it."""
        row = base.row.view()
        row.flags.writeable = False
        plan, written = (
            kernels("masks.same_mask").Plan(row, np.array(numbers, np.int64)),
            PackedArrays(2),
        )
        self._recipes.keep(key, plan, written, base)
        if self._recipes.table is not self._arrays.plans:
            self._keep(self._arrays._replace(plans=self._recipes.table))
        if lexicon_cache is not None:
            lexicon_cache.keep_plan(key, plan, written, base)

    def _keep(self, arrays: Any) -> None:
        self._arrays = arrays
        self._k.keep_known(arrays, self.address)
