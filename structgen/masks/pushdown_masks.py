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
from structgen.masks.lexeme_masks import Insides
from structgen.masks.mask_cache import Base, Known
from structgen.masks.shared import Inside, common_of

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary


_NO_BYTES = np.full(0x80, DEAD, np.int32).tobytes()  # a part of a row that leads nowhere
_numbers = count(1)  # of bases, whoever made them


def _is_common(inside: Inside | None) -> bool:
    """Whether what a state allows is that of a state of a lexicon, or there is none."""
    return inside is None or inside.is_common


class Way(Enum):
    """How to find the tokens that fit a lexer state."""

    WIDE = 0  # many fit: those inside the lexeme are found once, those that cross its end each time
    NARROW = 1  # few fit: byte by byte
    ENTRY = 2  # those of the frame's lexeme, and those that begin with white space
    LISTED = 3  # those within listed words, and those of any other text


class Walker(Masks):
    """Computes mask rows by walking the vocabulary's trie."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._entry_points, self._twins = kernels("masks.entry_points"), kernels("masks.same_mask")
        self._known_kernels = kernels("masks.mask_cache")
        self._common = common_of(vocabulary)
        self._words = vocabulary.words
        self._depth = vocabulary.trie.max_depth
        self._room = self._common.rooms.take()
        self._nodes_at = self._room.address
        self._shared = engine.shared_states
        lexicon = engine.machine.lexicon if self._shared and engine.is_new else None
        self._told = None if lexicon is None else self._common.told(lexicon)
        self._known = Known(self._words, self._told)
        self._bases: dict[tuple[int, int], Base] = {}  # see `Told`
        self._insides = Insides(engine, vocabulary)
        if self._told is not None and not self._told.is_ready:  # once, not in the middle of a text
            self._told.is_ready = True
            self._insides.prepare()
            engine.machine.lexicon.prepare()
        self._nbytes = 0
        self._ways: dict[int, Way] = {}

    def __del__(self) -> None:
        self._common.rooms.give(self._room)

    def twin(self, at: int) -> int:
        """See `Masks.twin`: one of which all that matters is the same, or that has the same row."""
        return self._seek(at, self._twins.ANEW)

    def write(self, at: int, row: Row) -> bool:
        """See `Masks.write`: `inside | crossing`, or a walk where few tokens fit anyway."""
        given = self._nodes_at, self._known.address, at, row
        ends = self._twins.write(*given)
        if ends < 0:  # else `twin` has found no other
            self._seek(at, self._twins.ANEW | self._twins.IN_ANY_CASE)
            ends = self._twins.write(*given)
        return bool(ends)

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.empty(self._words, np.int32)
        self.write(at, row)
        return row

    def _seek(self, at: int, how: int) -> int:
        """See `kernels.masks.same_mask.seek`."""
        engine, seek = self._engine, self._twins.seek
        found: int = seek(engine.tables_at, self._nodes_at, self._known.address, at, how)
        while found < DEAD:
            if found > self._twins.AGAIN:
                engine.serve(found)
                how &= ~self._twins.ANEW
            else:
                self._provide(found, at)
            found = seek(engine.tables_at, self._nodes_at, self._known.address, at, how)
        return found

    def _provide(self, code: int, at: int) -> None:
        """Provide what `kernels.masks.same_mask.seek` needs before it walks."""
        engine, twins = self._engine, self._twins
        if code == twins.NEED_PLAN:
            self._plan(*engine.tables.need[:4].tolist())
        elif code == twins.NEED_SAID:
            q, kind = at >> 32, self._kind(at >> 32)
            self._known.say(q, kind)
            if self._told is not None and q < self._shared:
                self._told.say(q, kind)
        elif code == twins.NEED_LEXEME:
            engine.fire(at & 0xFFFFFFFF, engine.kernel_tables.SKIP_LABEL)
        elif code == twins.NEED_ROOM:
            self._known.make_room(len(engine.tables.asked))
        else:
            engine.serve(engine.NEED_SPACE)

    def _kind(self, q: int) -> int:
        """What `kernels.masks.mask_cache.Known` has of a lexer state."""
        way, k = self._way_of(q), self._known_kernels
        scalar = way is not Way.LISTED and self._insides.is_scalar(q)
        return int(k.SAID | (k.SCALAR if scalar else 0) | (k.ENTERS if way is Way.ENTRY else 0))

    def _plan(self, key: int, around: int, kind: int, state: int) -> None:
        """Say how to find the tokens of lexer states; see `kernels.masks.same_mask.planned`."""
        doors, twins, k = self._entry_points, self._twins, self._engine.kernel_tables
        parts, inside, embedded, asked = 0, None, None, state
        if around >= 0:
            embedded = self._insides.of(around)
            parts = doors.ENTRY if embedded.beyond else 0
        way = self._way_of(state) if kind == twins.OWN else None
        if kind == twins.OF_WORDS or way is Way.NARROW:
            parts, state = parts | doors.NARROW, -1
        elif kind == twins.OF_KEYS or way is Way.LISTED:
            parts |= doors.LISTED
            state = int(self._engine.tables.within[state, k.REST]) if way else state
        if state >= 0:
            inside = self._insides.of(state)
            if len(inside.crossings.node):
                parts |= doors.CROSSING if inside.beyond is None else doors.CROSSING | doors.SORTED
        told = self._told if max(asked, around) < self._shared else None
        found = self._base(inside, embedded)
        at, near = (0 if one is None else one.address for one in (inside, embedded))
        self._known.keep_plan(key, found, (at, near, parts, found.number), told)

    def _base(self, inside: Inside | None, embedded: Inside | None) -> Base:
        """The tokens that stay in a lexeme, and in the white space before it."""
        bases, known = self._bases, (id(inside), id(embedded))
        if self._told is not None and _is_common(inside) and _is_common(embedded):
            bases = self._told.bases
        found = bases.get(known)
        if found is None:
            one = inside or embedded
            row, number = (self._common.nothing, 0) if one is None else (one.row, next(_numbers))
            if inside is not None and embedded is not None:
                row = inside.row | embedded.row
                self._nbytes += row.nbytes if bases is self._bases else 0
            found = bases[known] = Base(row, number, inside, embedded)
        return found

    def _way_of(self, q: int) -> Way:
        """How to find the tokens of a lexer state, found out once."""
        way = self._ways.get(q)
        if way is None:
            way = self._ways[q] = self._way(q)
        return way

    def _way(self, q: int) -> Way:
        """How to find the tokens of a lexer state."""
        engine, k = self._engine, self._engine.kernel_tables
        if not engine.tables.within[q, k.KIND]:
            engine.targets(q)  # enters listed words, if that is what it begins
        said = engine.tables.within[q].tolist()
        if 0 < said[k.KIND] < k.SPANS_TEXT:
            return Way.LISTED if said[k.FLAGS] & k.KEYS else Way.NARROW
        engine.targets(q)
        if engine.tables.accept[q] == k.SKIP_LABEL:
            return Way.ENTRY
        if said[k.OWNER] >= 0:
            return Way.WIDE
        if self._insides.is_gap(q):
            return Way.WIDE
        if engine.state(q).narrow:
            return Way.NARROW
        return Way.NARROW if q >= self._shared and self._is_plain(q) else Way.WIDE

    def _is_plain(self, q: int) -> bool:
        """Whether behind the first byte of a fork only ASCII can be read: few tokens."""
        engine, state = self._engine, self._engine.state(q)
        if not isinstance(state, Fork):
            return False
        after = (int(engine.targets(q)[byte]) for byte, _ in state.targets)
        return all(engine.targets(t)[0x80:].tobytes() == _NO_BYTES for t in after if t >= 0)

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return self._nbytes + self._insides.nbytes + self._known.nbytes

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
                engine.serve(code)
