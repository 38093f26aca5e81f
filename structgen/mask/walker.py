"""In: an engine and a vocabulary. Out: mask rows, as `inside | crossing`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import DEAD, Masks, Row
from structgen.automaton.charset import ALL
from structgen.automaton.engine import Engine
from structgen.automaton.json_lexemes import Key, Scalar
from structgen.automaton.lexer import QUOTE, LexState, Text, free_form
from structgen.automaton.lexer_joints import Gap
from structgen.automaton.regex import ANY, EMPTY, chars
from structgen.automaton.regex_nodes import Repeat
from structgen.automaton.spelling_regex import is_counting
from structgen.jit import kernels
from structgen.mask.common import Characters, Inside, common_of
from structgen.mask.known import Known

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary


class Way(Enum):
    """How to find the tokens that fit a lexer state."""

    WIDE = 0  # many fit: those inside the lexeme are found once, those that cross its end each time
    NARROW = 1  # few fit: byte by byte
    ENTRY = 2  # those of the frame's lexeme, and those that begin with white space
    LISTED = 3  # those within listed words, and those of any other text


_CHARACTER = chars(ALL)
SKIP_LABEL = 1


def is_string(state: LexState) -> bool:
    """Whether `state` is between two characters of a JSON string."""
    return isinstance(state, Text) and state.role.quoted


def is_free(state: LexState) -> bool:
    """Whether `state` is inside a JSON string in which any characters may follow, to any length."""
    return (
        isinstance(state, Text)
        and state.role.quoted
        and ANY in state.vector
        and all(language is ANY or language is EMPTY for language in state.vector)
    )


def bounds_of(state: LexState) -> tuple[int, int] | None:
    """Fewest and most characters that follow in a value of any characters; None if not so."""
    if not isinstance(state, Text) or not isinstance(state.role, Scalar) or len(state.vector) != 1:
        return None
    language = state.vector[0]
    if not isinstance(language, Repeat) or language.body is not _CHARACTER or language is ANY:
        return None
    plain = state.role.quoted and not state.role.recorded
    return (language.low, language.high) if plain else None


class Walker(Masks):
    """Computes mask rows by walking the vocabulary's trie."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._walk, self._doors = kernels("walk"), kernels("doors")
        self._twins = kernels("twins")
        self._common = common_of(vocabulary)
        self._nodes = self._common.nodes
        self._words = vocabulary.words
        self._depth = vocabulary.trie.max_depth
        self._room = self._common.rooms.take()
        self._nodes_at = self._room.address
        self._known = Known(self._words)
        self._bases: dict[tuple[int, int], tuple[int, Row]] = {(-1, -1): (0, self._common.nothing)}
        self._inside: dict[int, Inside] = {}
        self._nbytes = 0
        self._ways: dict[int, Way] = {}
        self._shared = engine.shared_states

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
        """See `kernels.twins.seek`."""
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
        """Provide what `kernels.twins.seek` needs before it walks."""
        engine, twins = self._engine, self._twins
        if code == twins.NEED_PLAN:
            self._plan(*engine.tables.need[:4].tolist())
        elif code == twins.NEED_SAID:
            ctx = at & 0xFFFFFFFF
            frame = int(engine.tables.contexts[ctx, engine.kernel_tables.FRAME])
            self._known.say(at >> 32, self._kind(at >> 32), frame, engine.scalar(ctx))
        elif code == twins.NEED_ROOM:
            self._known.make_room(len(engine.tables.asked))
        else:
            engine.serve(engine.NEED_SPACE)

    def _kind(self, q: int) -> int:
        """What `kernels.known.Known` has of a lexer state."""
        k = kernels("known")
        state = self._engine.state(q) if self._is_described(q) else None
        scalar = isinstance(state, Text) and isinstance(state.role, Scalar)
        enters = self._way_of(q) is Way.ENTRY
        return int(k.SAID | (k.SCALAR if scalar else 0) | (k.ENTERS if enters else 0))

    def _plan(self, key: int, around: int, kind: int, state: int) -> None:
        """Say how to find the tokens of lexer states; see `kernels.twins.planned`.

        A base is named by the lexer states whose tokens it has, -1 for none.
        """
        doors, twins, k = self._doors, self._twins, self._engine.kernel_tables
        parts, inside, entered = 0, None, None
        if around >= 0:
            entered = self._inside_of(around)
            parts = doors.ENTRY if entered.beyond else 0
        way = self._way_of(state) if kind == twins.OWN else None
        if kind == twins.OF_WORDS or way is Way.NARROW:
            parts, state = parts | doors.NARROW, -1
        elif kind == twins.OF_KEYS or way is Way.LISTED:
            parts |= doors.LISTED
            state = int(self._engine.tables.within[state, k.REST]) if way else state
        if state >= 0:
            inside = self._inside_of(state)
            if len(inside.crossings.node):
                parts |= doors.CROSSING if inside.beyond is None else doors.CROSSING | doors.SORTED
        number, base = self._bases.get((state, around), (0, None))
        if base is None:
            rows = [one.row for one in (inside, entered) if one is not None]
            base, number = rows[0] if len(rows) == 1 else rows[0] | rows[1], len(self._bases)
            self._bases[state, around] = number, base
            self._nbytes += base.nbytes if len(rows) > 1 else 0
        at, near = (0 if one is None else one.address for one in (inside, entered))
        self._known.keep_plan(key, base, (at, near, parts, number))

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
        within = engine.tables.within
        if 0 < within[q, k.KIND] < k.SPANS_TEXT:
            return Way.LISTED if within[q, k.FLAGS] & k.KEYS else Way.NARROW
        targets = engine.targets(q)
        if engine.tables.accept[q] == SKIP_LABEL:
            return Way.ENTRY
        if within[q, k.OWNER] >= 0:
            return Way.WIDE
        if self._is_gap(q):
            return Way.WIDE
        if engine.state(q).narrow:
            return Way.NARROW
        return Way.NARROW if self._begins_names(int(targets[QUOTE])) else Way.WIDE

    def _is_gap(self, q: int) -> bool:
        """Whether a lexer state is within white space."""
        if self._engine.tables.accept[q] == SKIP_LABEL:
            return True
        return self._is_described(q) and isinstance(self._engine.state(q), Gap)

    def _begins_names(self, q: int) -> bool:
        """Whether `q` is the start of a key of which frames say which names they let through."""
        engine, k = self._engine, self._engine.kernel_tables
        if q < 0 or not self._is_described(q):
            return False
        state = engine.state(q)
        if not isinstance(state, Text) or not isinstance(state.role, Key):
            return False
        engine.targets(q)  # enters the names
        within = engine.tables.within[q]
        return bool(within[k.KIND] == k.IN_WORD and within[k.FLAGS] & k.GUARDED)

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return self._nbytes + self._known.nbytes

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`."""
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0], stack[-3] = at, node + 1
        ends = np.zeros(64, np.int32)
        k = kernels("below")
        while True:
            code = k.walk_below(self._engine.tables, self._nodes, node, row, ends, stack)
            if code == 0:
                return ends[: stack[-2]].copy()
            if code == k.ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                self._engine.serve(code)

    def _inside_of(self, q: int) -> Inside:
        inside = self._inside.get(q)
        if inside is None:
            lexicon = self._engine.machine.lexicon if q < self._shared else None
            inside = None if lexicon is None else self._common.inside(lexicon, q)
            if inside is None:
                inside = self._compute(q)
                if lexicon is not None:
                    self._common.keep(lexicon, q, inside)
                elif self._is_gap(q):
                    inside.sort(self._nodes)
            self._inside[q] = inside
            self._nbytes += inside.nbytes
        return inside

    def _compute(self, q: int) -> Inside:
        """Walk the whole trie, or only where `q` differs from a free string that it leads to."""
        looping = None
        if self._is_described(q):
            bounds = bounds_of(self._engine.state(q))
            if bounds is not None:
                return self._bounded(q, *bounds)
            looping = self._looping(q)
        stack = np.zeros(self._depth + 6, np.int64)
        stack[0] = q
        if looping is None:
            row = np.zeros(self._words, np.int32)
            return self._walked(row, stack, self._walk.walk_inside)
        common = self._inside_of(looping)
        stack[-4] = looping
        return self._walked(common.row.copy(), stack, self._walk.walk_apart, common.crossings)

    def _is_described(self, q: int) -> bool:
        """Whether Python described a lexer state, or can do so soon."""
        within, owner = self._engine.tables.within, self._engine.kernel_tables.OWNER
        return bool(within[q, owner] < 0) or is_counting(self._engine, q)

    def _bounded(self, q: int, low: int, high: int) -> Inside:
        """The part of a free string in which `low` to `high` characters follow."""
        state = self._engine.state(q)
        free = self._engine.free_id(free_form(state), q)
        inside = self._inside_of(free)
        started = self._started(free)
        found = inside.crossings
        count = started[found.node]
        kept = np.flatnonzero((count >= low) & (count <= high))
        crossings = found._replace(
            node=found.node[kept],
            label=found.label[kept],
            before=found.before[kept],
            start=np.zeros(len(kept) + 1, np.int32),
            text=np.zeros(0, np.uint8),  # a value's text is not remembered
        )
        return Inside(inside.row & self._common.short(high), crossings)

    def _started(self, free: int) -> npt.NDArray[np.int32]:
        """int32[nodes]: the characters that a free string has begun at each node of the trie."""
        found = self._common.characters
        if found is None:
            started = np.zeros(len(self._nodes.byte), np.int32)
            stack = np.zeros(self._depth + 4, np.int64)
            stack[0] = stack[-2] = free
            self._engine.ask(self._walk.count_characters, self._nodes, started, stack)
            at = np.flatnonzero(self._nodes.token >= 0)
            most = np.full(32 * self._words, np.iinfo(np.int32).max, np.int32)
            most[self._nodes.token[at]] = started[at]
            found = self._common.characters = Characters(started, most)
        return found.started

    def _looping(self, q: int) -> int | None:
        """The free string that most bytes lead to from lexer state `q`, if any does."""
        engine = self._engine
        if not is_string(engine.state(q)):
            return None
        targets = engine.targets(q)
        others = [int(t) for t in np.unique(targets) if t >= 0 and t != q]
        loops = [t for t in others if self._is_described(t) and is_free(engine.state(t))]
        return loops[0] if len(loops) == 1 else None

    def _walked(self, row: Row, stack: npt.NDArray[np.int64], walk: Any, *given: Any) -> Inside:
        engine = self._engine
        out = self._crossings(64, 64 * self._depth)
        while True:
            fixed = engine.tables, self._nodes, self._common.subtrees, engine.loops
            code = walk(*fixed, *given, out, row, stack)
            if code == engine.NEED_SPACE:
                larger = self._crossings(2 * len(out.node), 2 * len(out.text))
                for old, new in zip(out, larger, strict=True):
                    new[: len(old)] = old
                out = larger
            elif code != 0:
                engine.serve(code)
            else:
                break
        count, used = int(stack[-2]), int(stack[-1])
        sizes = (count, count, count, count + 1, used)
        out = type(out)(*(a[:n].copy() for a, n in zip(out, sizes, strict=True)))
        return Inside(row, out)

    def _crossings(self, count: int, text: int) -> Any:
        return self._walk.Crossings(
            node=np.zeros(count, np.int32),
            label=np.zeros(count, np.int32),
            before=np.zeros(count, np.uint8),
            start=np.zeros(count + 1, np.int32),
            text=np.zeros(text, np.uint8),
        )
