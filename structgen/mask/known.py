"""In: what kernels ask while they look for a row. Out: room for what is known of rows, by address.

See `kernels.known` and `kernels.twins`: what rows depend on, and which positions have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.automaton.automaton import DEAD, Row
from structgen.automaton.tables import Written, hash_table, with_room
from structgen.jit import kernels

RECORDS, PLACES, PLANS = 1 << 15, 1 << 9, 1 << 7  # room at first: that not used is no memory


class Known:
    """What is known of the rows of one automaton. address: where kernels find it."""

    def __init__(self, words: int) -> None:
        """words: of a row."""
        self._words = words
        self._arrays = kernels("known").Known(
            kinds=np.zeros(512, np.int32),
            lexemes=np.full(128, -1, np.int32),
            plans=hash_table(PLANS),
            places=np.full(PLACES, -1, np.int64),
            records=np.empty(RECORDS, np.int64),
            key=np.empty(0, np.int64),
            sizes=np.zeros(8, np.int64),
        )
        self._arrays.sizes[kernels("known").PAIR] = DEAD
        self._written = Written(len(self._arrays))
        self.address = self._written.address
        self._plans: list[tuple[Written, Any]] = []
        self.make_room(1)

    @property
    def nbytes(self) -> int:
        """Bytes of what is known."""
        used = int(self._arrays.sizes[kernels("known").USED])
        return 8 * (used + len(self._arrays.places))

    def make_room(self, asked: int) -> None:
        """Have room for more records, and for keys with as many words as `asked` has."""
        arrays, k = self._arrays, kernels("known")
        longest = max(2 + self._words, 4 + asked)
        if len(arrays.key) < longest:
            arrays = arrays._replace(key=np.empty(longest, np.int64))
        used = int(arrays.sizes[k.USED])
        room = used + kernels("twins").RECORDS * (k.KEY + longest)
        arrays = arrays._replace(records=with_room(arrays.records, room, None))
        if 4 * int(arrays.sizes[k.COUNT]) > len(arrays.places):
            larger = np.full(4 * len(arrays.places), -1, np.int64)
            k.find_again(arrays.records, used, larger)
            arrays = arrays._replace(places=larger)
        self._keep(arrays)

    def say(self, q: int, kind: int, frame: int, lexeme: int) -> None:
        """Say of a lexer state and a frame what `kernels.known.Known` has of them."""
        arrays = self._arrays
        kinds, lexemes = with_room(arrays.kinds, q + 1), with_room(arrays.lexemes, frame + 1, -1)
        kinds[q], lexemes[frame] = kind, lexeme
        if kinds is not arrays.kinds or lexemes is not arrays.lexemes:
            self._keep(arrays._replace(kinds=kinds, lexemes=lexemes))

    def keep_plan(self, key: int, base: Row, numbers: tuple[int, ...]) -> None:
        """Keep a plan, by its key; base, numbers: as in `kernels.twins.Plan`."""
        twins, tables, arrays = kernels("twins"), kernels("tables"), self._arrays
        seen = base.view()
        seen.flags.writeable = False
        plan, written = twins.Plan(seen, np.array(numbers, np.int64)), Written(2)
        twins.keep_plan(plan, written.address)
        self._plans.append((written, plan))
        if 2 * len(self._plans) > len(arrays.plans):
            larger = hash_table(2 * len(arrays.plans))
            tables.rehash(arrays.plans, larger)
            self._keep(arrays._replace(plans=larger))
        tables.insert(self._arrays.plans, key, written.address)

    def _keep(self, arrays: Any) -> None:
        self._arrays = arrays
        kernels("known").keep_known(arrays, self.address)
