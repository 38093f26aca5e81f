"""In: an engine and a vocabulary. Out: mask rows, as `inside | crossing`."""

from __future__ import annotations

from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD, Masks, Row
from structgen.automata.lexer.separators import Fork
from structgen.automata.pushdown.engine import Engine
from structgen.kernels.build.loader import kernels
from structgen.masks.lexeme_masks import LexemeMasks
from structgen.masks.mask_cache import BaseRow, Known
from structgen.masks.shared import LexemeMask, shared_masks

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary


_NO_BYTES = np.full(0x80, DEAD, np.int32).tobytes()  # a part of a row that leads nowhere
_numbers = count(1)  # of bases, whoever made them


def _is_common(inside: LexemeMask | None) -> bool:
    """Whether what a state allows is that of a state of a lexicon, or there is none."""
    return inside is None or inside.is_common


class Strategy(Enum):
    """How to find the tokens that fit a lexer state."""

    WIDE = 0  # many fit: those inside the lexeme are found once, those that cross its end each time
    NARROW = 1  # few fit: byte by byte
    ENTRY = 2  # those of the frame's lexeme, and those that begin with white space
    LISTED = 3  # those within listed words, and those of any other text


class PushdownMasks(Masks):
    """Computes mask rows by walking the vocabulary's trie."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._entry_points, self._same_mask = kernels("masks.entry_points"), kernels("masks.same_mask")
        self._cache_kernels = kernels("masks.mask_cache")
        self._shared_masks = shared_masks(vocabulary)
        self._words = vocabulary.words
        self._depth = vocabulary.trie.max_depth
        self._room = self._shared_masks.rooms.take()
        self._nodes_at = self._room.address
        self._shared_states = engine.shared_states
        lexicon = engine.machine.lexicon if self._shared_states and engine.is_new else None
        self._lexicon_cache = None if lexicon is None else self._shared_masks.lexicon_cache(lexicon)
        self._known = Known(self._words, self._lexicon_cache)
        self._bases: dict[tuple[int, int], BaseRow] = {}  # see `LexiconCache`
        self._lexeme_masks = LexemeMasks(engine, vocabulary)
        if self._lexicon_cache is not None and not self._lexicon_cache.is_ready:  # once, not in the middle of a text
            self._lexicon_cache.is_ready = True
            self._lexeme_masks.prepare()
            engine.machine.lexicon.prepare()
        self._nbytes = 0
        self._strategies: dict[int, Strategy] = {}

    def __del__(self) -> None:
        self._shared_masks.rooms.give(self._room)

    def cached_position(self, at: int) -> int:
        """See `Masks.cached_position`: one of which all that matters is the same, or that has the same row."""
        return self._find_same(at, self._same_mask.ANEW)

    def write(self, at: int, row: Row) -> bool:
        """See `Masks.write`: `inside | crossing`, or a walk where few tokens fit anyway."""
        given = self._nodes_at, self._known.address, at, row
        ends = self._same_mask.write(*given)
        if ends < 0:  # else `cached_position` has found no other
            self._find_same(at, self._same_mask.ANEW | self._same_mask.IN_ANY_CASE)
            ends = self._same_mask.write(*given)
        return bool(ends)

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.empty(self._words, np.int32)
        self.write(at, row)
        return row

    def _find_same(self, at: int, how: int) -> int:
        """See `kernels.masks.same_mask.seek`."""
        engine, seek = self._engine, self._same_mask.seek
        found: int = seek(engine.tables_at, self._nodes_at, self._known.address, at, how)
        while found < DEAD:
            if found > self._same_mask.AGAIN:
                engine.fill_on_demand(found)
                how &= ~self._same_mask.ANEW
            else:
                self._fill_cache(found, at)
            found = seek(engine.tables_at, self._nodes_at, self._known.address, at, how)
        return found

    def _fill_cache(self, code: int, at: int) -> None:
        """Provide what `kernels.masks.same_mask.seek` needs before it walks."""
        engine, same_mask = self._engine, self._same_mask
        if code == same_mask.NEED_PLAN:
            self._add_recipe(*engine.tables.need[:4].tolist())
        elif code == same_mask.NEED_SAID:
            q, kind = at >> 32, self._kind(at >> 32)
            self._known.say(q, kind)
            if self._lexicon_cache is not None and q < self._shared_states:
                self._lexicon_cache.say(q, kind)
        elif code == same_mask.NEED_LEXEME:
            engine.fire(at & 0xFFFFFFFF, engine.kernel_tables.SKIP_LABEL)
        elif code == same_mask.NEED_ROOM:
            self._known.make_room(len(engine.tables.asked))
        else:
            engine.fill_on_demand(engine.NEED_SPACE)

    def _kind(self, q: int) -> int:
        """What `kernels.masks.mask_cache.Known` has of a lexer state."""
        strategy, k = self._strategy_of(q), self._cache_kernels
        scalar = strategy is not Strategy.LISTED and self._lexeme_masks.is_scalar(q)
        return int(k.SAID | (k.SCALAR if scalar else 0) | (k.ENTERS if strategy is Strategy.ENTRY else 0))

    def _add_recipe(self, key: int, around: int, kind: int, state: int) -> None:
        """Say how to find the tokens of lexer states; see `kernels.masks.same_mask.planned`."""
        doors, same_mask, k = self._entry_points, self._same_mask, self._engine.kernel_tables
        parts, inside, embedded, asked = 0, None, None, state
        if around >= 0:
            embedded = self._lexeme_masks.of(around)
            parts = doors.ENTRY if embedded.beyond else 0
        strategy = self._strategy_of(state) if kind == same_mask.OWN else None
        if kind == same_mask.OF_WORDS or strategy is Strategy.NARROW:
            parts, state = parts | doors.NARROW, -1
        elif kind == same_mask.OF_KEYS or strategy is Strategy.LISTED:
            parts |= doors.LISTED
            state = int(self._engine.tables.within[state, k.REST]) if strategy else state
        if state >= 0:
            inside = self._lexeme_masks.of(state)
            if len(inside.crossings.node):
                parts |= doors.CROSSING if inside.beyond is None else doors.CROSSING | doors.SORTED
        lexicon_cache = self._lexicon_cache if max(asked, around) < self._shared_states else None
        found = self._base_row(inside, embedded)
        at, near = (0 if one is None else one.address for one in (inside, embedded))
        self._known.keep_plan(key, found, (at, near, parts, found.number), lexicon_cache)

    def _base_row(self, inside: LexemeMask | None, embedded: LexemeMask | None) -> BaseRow:
        """The tokens that stay in a lexeme, and in the white space before it."""
        bases, known = self._bases, (id(inside), id(embedded))
        if self._lexicon_cache is not None and _is_common(inside) and _is_common(embedded):
            bases = self._lexicon_cache.bases
        found = bases.get(known)
        if found is None:
            one = inside or embedded
            row, number = (self._shared_masks.nothing, 0) if one is None else (one.row, next(_numbers))
            if inside is not None and embedded is not None:
                row = inside.row | embedded.row
                self._nbytes += row.nbytes if bases is self._bases else 0
            found = bases[known] = BaseRow(row, number, inside, embedded)
        return found

    def _strategy_of(self, q: int) -> Strategy:
        """How to find the tokens of a lexer state, found out once."""
        strategy = self._strategies.get(q)
        if strategy is None:
            strategy = self._strategies[q] = self._choose_strategy(q)
        return strategy

    def _choose_strategy(self, q: int) -> Strategy:
        """How to find the tokens of a lexer state."""
        engine, k = self._engine, self._engine.kernel_tables
        if not engine.tables.within[q, k.KIND]:
            engine.targets(q)  # enters listed words, if that is what it begins
        said = engine.tables.within[q].tolist()
        if 0 < said[k.KIND] < k.SPANS_TEXT:
            return Strategy.LISTED if said[k.FLAGS] & k.KEYS else Strategy.NARROW
        engine.targets(q)
        if engine.tables.accept[q] == k.SKIP_LABEL:
            return Strategy.ENTRY
        if said[k.OWNER] >= 0:
            return Strategy.WIDE
        if self._lexeme_masks.is_gap(q):
            return Strategy.WIDE
        if engine.state(q).narrow:
            return Strategy.NARROW
        return Strategy.NARROW if q >= self._shared_states and self._leads_to_ascii_only(q) else Strategy.WIDE

    def _leads_to_ascii_only(self, q: int) -> bool:
        """Whether behind the first byte of a fork only ASCII can be read: few tokens."""
        engine, state = self._engine, self._engine.state(q)
        if not isinstance(state, Fork):
            return False
        after = (int(engine.targets(q)[byte]) for byte, _ in state.targets)
        return all(engine.targets(t)[0x80:].tobytes() == _NO_BYTES for t in after if t >= 0)

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return self._nbytes + self._lexeme_masks.nbytes + self._known.nbytes

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`."""
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0], stack[-3] = at, node + 1
        ends = np.zeros(64, np.int32)
        k, engine = kernels("masks.byte_walk"), self._engine
        while True:
            code = k.walk_below(engine.tables_at, self._nodes_at, node, row, ends, stack)
            if code == 0:
                return ends[: stack[-2]].copy()
            if code == k.ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                engine.fill_on_demand(code)
