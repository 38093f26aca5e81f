"""In: an engine and a vocabulary. Out: what each lexer state allows by itself, walked once.

Most states resemble others: a walk over the whole trie is the last resort.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.automata.lexer.json_lexemes import Scalar
from structgen.automata.lexer.lexer import LexState, Role, Text
from structgen.automata.lexer.separators import Either, Fork, Gap
from structgen.automata.pushdown.engine import Engine
from structgen.automata.spelling import expressions
from structgen.kernels.build.loader import kernels
from structgen.masks.bitmask import forbid
from structgen.masks.shared import Characters, LexemeMask, shared_masks
from structgen.regular.byte_groups import quoted
from structgen.regular.regex import ANY, EMPTY
from structgen.util.arrays import with_room

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

Numbers = npt.NDArray[np.int32]

AT_FIRST = 256  # crossings for which there is room at first
NEAR = 12  # characters: where fewer may follow, many tokens are too long
FEW_LONGER = 24  # characters: few tokens have more
RECENT = 32  # states that others are compared with
MOST_UNSURE = 64  # tokens that are read byte by byte
MANY_GROUPS = 32  # of characters: then tokens of these alone are not walked again
_ALL_BITS = (1 << 64) - 1


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


def _is_value(role: Role) -> bool:
    """Whether the text of a role is a string of which nothing is remembered."""
    return isinstance(role, Scalar) and role.quoted and not role.recorded


class OneState:
    """The start of a value, which specs share as an object: to compare such states takes long."""

    def __init__(self, state: LexState) -> None:
        self._state = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneState) and other._state is self._state

    def __hash__(self) -> int:
        return id(self._state)


class LexemeMasks:
    """What lexer states allow, by number. nbytes: of all that is kept."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._walk, self._apart = kernels("masks.lexeme_walk"), kernels("masks.lexeme_difference")
        self._shared_masks = shared_masks(vocabulary)
        self._nodes = self._shared_masks.nodes
        self._vocabulary = vocabulary
        self._depth = vocabulary.trie.max_depth
        self._shared_states = engine.shared_states
        self._inside: dict[int, LexemeMask] = {}
        self._recent = np.full(RECENT + 1, -1, np.int32)  # a free string; states walked last
        self._turn = 0
        self._room = self._walk.Crossings(
            node=np.empty(AT_FIRST, np.int32),
            label=np.empty(AT_FIRST, np.int32),
            before=np.empty(AT_FIRST, np.uint8),
            start=np.zeros(AT_FIRST + 1, np.int32),
            text=np.empty(AT_FIRST * max(self._depth, 1), np.uint8),
        )
        self._held: set[int] = set()  # ids of what is there
        self.nbytes = 0

    def of(self, q: int) -> LexemeMask:
        """What a lexer state allows."""
        inside = self._inside.get(q)
        if inside is None:
            inside = self._inside[q] = self._found(q)
            if id(inside) not in self._held:  # some are those of several states
                self._held.add(id(inside))
                self.nbytes += inside.nbytes
        return inside

    def _found(self, q: int) -> LexemeMask:
        """What a lexer state allows: as it was found for another engine, or computed."""
        if q >= self._shared_states and self.is_described(q):
            far = expressions.far_id(self._engine, q, self._shared_masks.longest)
            if far is not None:
                return self.of(far)
            expressions.embed_vector(self._engine, q)
        place = self._place(q)
        if place is None:
            return self._computed(q)
        lexicon = self._engine.machine.lexicon
        inside = self._shared_masks.inside(lexicon, place)
        if inside is None:
            inside = self._computed(q)
            last = np.maximum.reduce(inside.crossings.label, initial=0)
            if last < len(lexicon.terminals):  # else it has others' labels
                self._shared_masks.keep(lexicon, place, inside)
        return inside

    def _place(self, q: int) -> Hashable:
        """What lexer state `q` is wherever engines have the same lexicon; None if that is not said.

        Labels have the same numbers there only if they are the lexicon's.
        """
        engine = self._engine
        if q < self._shared_states or not self._shared_states:
            return q if self._shared_states else None
        if not engine.tables.within[q, engine.kernel_tables.KIND]:
            state = engine.state(q) if engine.is_new else None
            return OneState(state) if isinstance(state, Fork | Either) else None
        found = expressions.shared(engine, q)
        if found is None:
            return None
        label = found[-1]
        return found if label is None or label in engine.machine.lexicon.terminal_ids else None

    def prepare(self) -> None:
        """Walk once for each free text of the lexicon, and count its characters."""
        for q in range(self._shared_states):
            state = self._engine.state(q)
            if is_free(state):
                self.of(q)
                if not state.recorded:  # a value, whose length may be bounded
                    self._started(q)

    def _computed(self, q: int) -> LexemeMask:
        """What a lexer state allows, sorted where many frames go on from it."""
        inside = self._compute(q)
        if self.is_gap(q):
            inside.sort(self._nodes)
        return inside

    def _compute(self, q: int) -> LexemeMask:
        """Walk the whole trie, or only where `q` differs from what is known."""
        engine = self._engine
        letters, most = self._letters(q)
        embedded = expressions.embedded_at(engine, q)
        if embedded is not None:
            bounds = self._bounds(*embedded)
            if bounds is not None:
                return self._bounded(embedded[0].free_id(engine), *bounds)
            found = self._not_too_long(q, *embedded)
            if found is not None:
                return found
        engine.targets(q)
        self._recent[0] = self._free_beside(q, embedded)
        near = int(self._apart.nearest(engine.tables_at, self._shared_masks.weights, self._recent, q))
        stack = np.zeros(self._depth + 5, np.int64)
        stack[0] = q
        if near >= 0:
            other = self.of(near)
            inside = self._walked(
                self._apart.walk_apart,
                lambda: (self._shared_masks.subtrees_at, engine.loops, other.address, near),
                other.row.copy(),
                stack,
            )
        else:
            told = np.array([letters, most, 0], np.int64)
            inside = self._walked(
                self._walk.walk_inside,
                lambda: (self._shared_masks.subtrees_at, engine.loops, told),
                self._shared_masks.spelled(letters, most).copy(),
                stack,
            )
        self._turn = self._turn % RECENT + 1
        self._recent[self._turn] = q
        return inside

    def _free_beside(self, q: int, embedded: tuple[expressions.EmbeddedDfa, int] | None) -> int:
        """The free string that lexer state `q` may lead to, its row filled; -1 if there is none."""
        free = self._looping(q) if embedded is None else embedded[0].known_free
        if free is None:
            return -1
        self._engine.targets(free)
        return free

    def _letters(self, q: int) -> tuple[int, int]:
        """Many groups of characters that lexer state `q` reads again and again, and how often.

        0 for none, where it is not so many that to walk less pays.
        """
        loops, most = self._engine.loops, self._shared_masks.longest
        if q >= len(loops.often):
            return 0, most
        letters, often = int(loops.groups[q]), int(loops.often[q])
        if (letters & _ALL_BITS).bit_count() < MANY_GROUPS:
            return 0, most
        if often >= min(most, kernels("trie.nodes").MANY):
            return letters, most
        counted = self._shared_masks.characters is not None and not letters & ~int(quoted())
        return (letters, often) if counted else (0, most)

    def is_described(self, q: int) -> bool:
        """Whether Python described a lexer state."""
        return bool(self._engine.tables.within[q, self._engine.kernel_tables.OWNER] < 0)

    def is_scalar(self, q: int) -> bool:
        """Whether a lexer state is within the text of a string or number."""
        if self.is_described(q):
            state = self._engine.state(q)
            return isinstance(state, Text) and isinstance(state.role, Scalar)
        self._engine.targets(q)
        k, within = self._engine.kernel_tables, self._engine.tables.within[q]
        return bool(within[k.KIND] == k.SPANS_TEXT and within[k.FLAGS] & k.SCALARS)

    @staticmethod
    def _bounds(embedded: expressions.EmbeddedDfa, state: int) -> tuple[int, int] | None:
        """Fewest and most characters that follow in a value of any characters; None if not so."""
        return embedded.left(state) if _is_value(embedded.role) else None

    def _bounded(self, free: int, low: int, high: int) -> LexemeMask:
        """The part of the free string `free` in which `low` to `high` characters follow."""
        inside = self.of(free)
        if low <= 0 and high >= self._shared_masks.longest:
            return inside  # no token comes to where the length counts
        crossings = self._ending(inside, self._started(free), low, high)
        return LexemeMask(inside.row & self._shared_masks.short(high), crossings)

    def _ending(self, inside: LexemeMask, started: Numbers, low: int, high: int) -> Any:
        """The crossings of a value where it has `low` to `high` characters."""
        found = inside.crossings
        count = started[found.node]
        kept = np.flatnonzero((count >= low) & (count <= high))
        return found._replace(
            node=found.node[kept],
            label=found.label[kept],
            before=found.before[kept],
            start=np.zeros(len(kept) + 1, np.int32),
            text=np.zeros(0, np.uint8),  # a value's text is not remembered
        )

    def _not_too_long(self, q: int, embedded: expressions.EmbeddedDfa, state: int) -> LexemeMask | None:
        """What is allowed without bounds of length, but for what is too long.

        None where there are no such bounds, or where much of it is too long.
        """
        engine, found = self._engine, embedded.unbounded(self._engine, state)
        if found is None:
            return None
        same, base = found
        unbounded = base.number(same.state)
        if same.free >= self._shared_masks.longest:
            return self.of(unbounded)
        if same.free < NEAR or not _is_value(embedded.role):
            return None
        started = self._started(embedded.free_id(engine))
        if same.wanted is None:
            few = same.free >= FEW_LONGER
            return self._long_apart(q, self.of(unbounded), started, same.free) if few else None
        inside = self.of(unbounded)
        row, unsure = inside.row.copy(), np.zeros(MOST_UNSURE + 1, np.int32)
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0] = unbounded
        engine.ask(
            kernels("masks.length_bound").refuse_longer,
            self._shared_masks.nodes_at,
            self._shared_masks.subtrees_at,
            started,
            same.wanted,
            np.array([base.place, same.free, same.most], np.int64),
            row,
            unsure,
            stack,
        )
        if unsure[0] == MOST_UNSURE:
            return None
        at, text_of = q << 32 | engine.start & 0xFFFFFFFF, self._vocabulary.token_bytes
        tokens = unsure[1 : unsure[0] + 1].tolist()
        forbid(row, [token for token in tokens if engine.run(at, text_of(token))[0] < 0])
        return LexemeMask(row, self._ending(inside, started, 0, same.most))

    def _long_apart(self, q: int, inside: LexemeMask, started: Numbers, free: int) -> LexemeMask:
        """`inside`, but for tokens of more than `free` characters what lexer state `q` allows."""
        stack = np.zeros(self._depth + 5, np.int64)
        stack[0], told = q, np.array([0, 0, free], np.int64)
        found = self._walked(
            self._walk.walk_inside,
            lambda: (self._shared_masks.subtrees_at, self._engine.loops, told),
            inside.row & self._shared_masks.short(free),
            stack,
        )
        near = self._ending(inside, started, 0, free)
        long = self._ending(found, started, free + 1, self._shared_masks.longest)
        both = [np.concatenate(pair) for pair in zip(near[:3], long[:3], strict=True)]
        order = both[0].argsort()
        start = np.zeros(len(order) + 1, np.int32)
        return LexemeMask(found.row, type(near)(*(x[order] for x in both), start, near.text))

    def _started(self, free: int) -> Numbers:
        """int32[nodes]: the characters that a free string has begun at each node of the trie."""
        found = self._shared_masks.characters
        if found is None:
            trie = self._vocabulary.trie
            started = np.zeros(len(trie), np.int32)
            stack = np.zeros(self._depth + 4, np.int64)
            stack[0] = stack[-2] = free
            count = kernels("trie.subtrees").count_characters
            self._engine.ask(count, self._shared_masks.nodes_at, started, stack)
            at = np.flatnonzero(trie.token >= 0)
            most = np.full(32 * self._vocabulary.words, np.iinfo(np.int32).max, np.int32)
            most[trie.token[at]] = started[at]
            found = self._shared_masks.characters = Characters(started, most)
        return found.started

    def _looping(self, q: int) -> int | None:
        """The free string that most bytes lead to from lexer state `q`, if any does."""
        engine = self._engine
        if not self.is_described(q) or not is_string(engine.state(q)):
            return None
        targets = engine.targets(q)
        others = [int(t) for t in np.unique(targets) if t >= 0 and t != q]
        loops = [t for t in others if self.is_described(t) and is_free(engine.state(t))]
        return loops[0] if len(loops) == 1 else None

    def _walked(
        self,
        walk: Callable[..., int],
        given: Callable[[], tuple[Any, ...]],
        row: Row,
        stack: npt.NDArray[np.int64],
    ) -> LexemeMask:
        """What a walk finds. given: what it takes beside the tables, the trie, and room."""
        engine = self._engine
        while True:
            room = self._room
            code = walk(engine.tables_at, self._shared_masks.nodes_at, *given(), room, row, stack)
            if code == engine.NEED_SPACE:
                self._room = type(room)(*(with_room(array, len(array) + 1) for array in room))
            elif code != 0:
                engine.fill_on_demand(code)
            else:
                break
        count, used = int(stack[-2]), int(stack[-1])
        if not count:
            return LexemeMask(row)
        sizes = (count, count, count, count + 1, used)
        return LexemeMask(row, type(room)(*(a[:n].copy() for a, n in zip(room, sizes, strict=True))))

    def is_gap(self, q: int) -> bool:
        """Whether a lexer state is within white space."""
        if self._engine.tables.accept[q] == self._engine.kernel_tables.SKIP_LABEL:
            return True
        return self.is_described(q) and isinstance(self._engine.state(q), Gap)
