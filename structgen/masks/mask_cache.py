"""Keep what is known of mask rows where kernels find it: recipes, and positions with equal masks.

The *mask cache* of an automaton is a hash table from what a mask depends on to a position that has
it: lexer state, stack signature, and the answers to lookups beside it (`kernels.masks.mask_cache`
has the table, `kernels.masks.same_mask` its keys). Beside it stands the table of *mask recipes*,
which say for each lexer state from which base row a mask is made and what is added.

Kernels read all of it by address. Arrays grow here, between two calls of a kernel.
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
    from structgen.masks.parts import LexemeMask

# Room at first; pages of memory that are not written to cost nothing.
STATES_AT_FIRST = 512
RECORD_WORDS, SLOTS, RECIPES = 1 << 15, 1 << 9, 1 << 7
_NO_PLACES = np.full(SLOTS, -1, np.int64)


class BaseRow(NamedTuple):
    """A row to which the rest of a mask is added: tokens that stay in a lexeme.

    row: int32[words], the union of the lexeme masks of the lexeme and of the white space before it.
    number: tells it from all other base rows of the process; 0 is the one without tokens. lexeme,
    space: the two masks, kept because the key of a base row has their ids, and a recipe their
    addresses.
    """

    row: Row
    number: int
    lexeme: LexemeMask | None
    space: LexemeMask | None


class Recipes:
    """Mask recipes by key (see `kernels.masks.same_mask`).

    table: int64[H, 2], open addressing: key, and the address at which the recipe's arrays stand.
    """

    def __init__(self, table: npt.NDArray[np.int64] | None = None, *owners: Any) -> None:
        """owners: what keeps the memory at the table's addresses alive."""
        self.table = hash_table(RECIPES) if table is None else table
        self._owners = [*owners]

    def copy(self) -> Recipes:
        """The same recipes, to which others can be added."""
        return Recipes(self.table.copy(), *self._owners)

    def add(self, key: int, recipe: Any, packed: PackedArrays, base: BaseRow) -> None:
        """Add a recipe (`kernels.masks.same_mask`), to be written down at `packed`.

        base: what its addresses point into.
        """
        self._owners.append((packed, recipe, base))
        if 2 * len(self._owners) > len(self.table):  # half full: lookups stay short
            larger = hash_table(2 * len(self.table))
            kernels("tables").rehash(self.table, larger)
            self.table = larger
        kernels("masks.same_mask").store_recipe(self.table, key, packed.address, recipe)


class LexiconCache:
    """What is known of the states of one lexicon: every spec that uses it begins with a copy.

    base_rows: by the ids of the two `LexemeMask`s that they are made of. is_ready: whether the
    lexeme masks of free strings have been made. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self.is_ready = False
        self.base_rows: dict[tuple[int, int], BaseRow] = {}
        self._kinds, self._recipes = np.zeros(STATES_AT_FIRST, np.int32), Recipes()
        self._keys: set[int] = set()
        self._lock = threading.Lock()

    def copies(self) -> tuple[npt.NDArray[np.int32], Recipes]:
        """The kinds of lexer states (int32[Q], with room for a spec's own), and the recipes."""
        with self._lock:
            kinds = with_room(self._kinds, len(self._kinds) + STATES)
            return kinds, self._recipes.copy()

    def set_kind(self, q: int, kind: int) -> None:
        """Set the kind of a lexer state; see `MaskCache.set_kind`."""
        with self._lock:
            self._kinds = with_room(self._kinds, q + 1)
            self._kinds[q] = kind

    def add_recipe(self, key: int, recipe: Any, packed: PackedArrays, base: BaseRow) -> None:
        """Add a recipe for states of the lexicon, unless another spec has; see `Recipes.add`."""
        with self._lock:
            if key not in self._keys:
                self._keys.add(key)
                self._recipes.add(key, recipe, packed, base)


class MaskCache:
    """The mask cache of one automaton. address: where kernels find its arrays."""

    def __init__(self, words: int, lexicon_cache: LexiconCache | None = None) -> None:
        """words: of a mask row. lexicon_cache: what is known of the lexicon's states."""
        self._words = words
        if lexicon_cache is None:
            kinds, self._recipes = np.zeros(STATES_AT_FIRST, np.int32), Recipes()
        else:
            kinds, self._recipes = lexicon_cache.copies()
        self._k = k = kernels("masks.mask_cache")
        longest = self._longest(1)
        sizes = np.zeros(8, np.int64)
        sizes[k.POSITION] = DEAD
        arrays = k.MaskCache(
            kinds=kinds,
            recipes=self._recipes.table,
            places=_NO_PLACES.copy(),
            records=np.empty(max(RECORD_WORDS, self._words_of_records(longest)), np.int64),
            key=np.empty(longest, np.int64),
            sizes=sizes,
        )
        self._packed = PackedArrays(len(arrays))
        self.address = self._packed.address
        self._store(arrays)

    def _longest(self, lookup_words: int) -> int:
        """Words of the two longest kinds of keys: edits of a whole row, answers to all lookups."""
        return max(2 + self._words, 4 + lookup_words)

    def _words_of_records(self, longest: int) -> int:
        """Words that the records of one walk take at most."""
        count: int = kernels("masks.same_mask").RECORDS * (self._k.KEY + longest)
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the records and their hash table."""
        used = int(self._arrays.sizes[self._k.USED])
        return 8 * (used + len(self._arrays.places))

    def make_room(self, lookup_words: int) -> None:
        """Have room for the records of one more walk, whose lookups take `lookup_words` words."""
        arrays, k, longest = self._arrays, self._k, self._longest(lookup_words)
        if len(arrays.key) < longest:
            arrays = arrays._replace(key=np.empty(longest, np.int64))
        used = int(arrays.sizes[k.USED])
        room = used + self._words_of_records(longest)
        arrays = arrays._replace(records=with_room(arrays.records, room, None))
        if 4 * int(arrays.sizes[k.COUNT]) > len(arrays.places):
            larger = np.full(4 * len(arrays.places), -1, np.int64)
            k.rehash_records(arrays.records, used, larger)
            arrays = arrays._replace(places=larger)
        self._store(arrays)

    def set_kind(self, q: int, kind: int) -> None:
        """Set the kind of a lexer state, bits as in `kernels.masks.mask_cache`."""
        if q >= len(self._arrays.kinds):
            self._store(self._arrays._replace(kinds=with_room(self._arrays.kinds, q + 1)))
        self._arrays.kinds[q] = kind

    def add_recipe(
        self,
        key: int,
        base: BaseRow,
        numbers: tuple[int, ...],
        lexicon_cache: LexiconCache | None,
    ) -> None:
        """Add a mask recipe under its key.

        numbers: two addresses, which parts are added, the base's number; see
        `kernels.masks.same_mask`. lexicon_cache: gets it too, where it is one for shared states.
        """
        row = base.row.view()
        row.flags.writeable = False
        recipe = kernels("masks.same_mask").Recipe(row, np.array(numbers, np.int64))
        packed = PackedArrays(len(recipe))
        self._recipes.add(key, recipe, packed, base)
        if self._recipes.table is not self._arrays.recipes:
            self._store(self._arrays._replace(recipes=self._recipes.table))
        if lexicon_cache is not None:
            lexicon_cache.add_recipe(key, recipe, packed, base)

    def _store(self, arrays: Any) -> None:
        self._arrays = arrays
        self._k.store_cache(arrays, self.address)
