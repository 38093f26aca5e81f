"""Compute the token masks of the pushdown automaton (`automata.pushdown.engine`).

Start here to see where a mask comes from. A position is a lexer state and a stack node. Its mask
has parts that depend on less than both, and a *mask recipe* says which of them it needs:

- the **lexeme mask**: tokens that stay inside the lexeme. It depends on the lexer state only, is
  walked once (`lexeme_masks`), and is the **base row** to which the others are added;
- the **boundary tokens**: tokens that cross the end of the lexeme. They depend on what the parser
  does there. The trie nodes where lexemes end are listed with the lexeme mask; only the subtrees
  below them are walked for each position;
- in white space before a lexeme: tokens of that lexeme, and boundary tokens of the white space;
- where few bytes can follow at all, no base row but a walk byte by byte.

So `mask = lexeme mask | boundary tokens`; the special and end tokens are added by `Constraint`.
Before anything is walked, the *mask cache* (`mask_cache`) is asked for a position with an equal
lexer state and **stack signature**, whose mask is the same. The walks themselves are kernels
(`kernels.masks.same_mask` drives them); a kernel that lacks something returns a NEED_* code, Python
adds it, and the kernel goes on.
"""

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
from structgen.masks.mask_cache import BaseRow, MaskCache
from structgen.masks.parts import LexemeMask
from structgen.masks.shared import Workspace, shared_masks

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary


_NO_BYTES = np.full(0x80, DEAD, np.int32).tobytes()  # half of a lexer's row, leading nowhere
_numbers = count(1)  # of base rows, unique in the process: the caches of many specs compare them


def _is_shared(mask: LexemeMask | None) -> bool:
    """Whether there is no mask, or it is that of a state that all specs share."""
    return mask is None or mask.is_shared


class Strategy(Enum):
    """How the tokens that fit a lexer state are found: what its mask recipe is made of."""

    WIDE = 0  # many fit: the lexeme mask, made once, and boundary tokens for each position
    NARROW = 1  # few fit: a walk byte by byte
    ENTRY = 2  # white space before a lexeme: that lexeme's recipe, and white space first
    LISTED = 3  # within one of some words: a walk along these, and the recipe for other texts


class PushdownMasks(Masks):
    """The token masks of one pushdown automaton over one vocabulary (`Masks` says what it must do).

    The constraint holds its lock around every call, so nothing here is called by two threads.
    """

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._entry_points = kernels("masks.entry_points")
        self._same_mask = kernels("masks.same_mask")
        self._cache_kernels = kernels("masks.mask_cache")
        self._shared_masks = shared_masks(vocabulary)
        self._words = vocabulary.words
        self._depth = vocabulary.trie.max_depth
        self._workspaces = self._shared_masks.workspaces
        self._workspace: Workspace | None = None  # with the edits of a row that is to be written
        # Lexer states below this number (free strings, numbers, white space) are those of the
        # lexicon, and mean the same in every spec that uses it.
        self._shared_states = engine.shared_states
        lexicon = engine.machine.prepared.lexicon if self._shared_states and engine.is_new else None
        self._lexicon_cache = None if lexicon is None else self._shared_masks.lexicon_cache(lexicon)
        self._mask_cache = MaskCache(self._words, self._lexicon_cache)
        self._base_rows: dict[tuple[int, int], BaseRow] = {}  # as in `LexiconCache`
        self._lexeme_masks = LexemeMasks(engine, vocabulary)
        # The largest walks of all, once for all specs, and not in the middle of a text.
        if self._lexicon_cache is not None and not self._lexicon_cache.is_ready:
            self._lexicon_cache.is_ready = True
            self._lexeme_masks.prepare()
        self._nbytes = 0
        self._strategies: dict[int, Strategy] = {}

    def cached_position(self, at: int) -> int:
        """See `Masks.cached_position`.

        It is one with an equal lexer state, stack signature and answers to lookups; or, as this
        position's row edits are then made, one whose row turns out to be the same.
        """
        found = self._find_same(at, self._same_mask.RESTART)
        if found != DEAD:
            self._give_back()
        return found

    def write(self, at: int, row: Row) -> bool:
        """See `Masks.write`: a base row, and the edits that `cached_position` has just made."""
        ends = -1 if self._workspace is None else self._written(at, row)
        if ends < 0:  # there are no edits, or those of another position
            self._find_same(at, self._same_mask.RESTART | self._same_mask.REBUILD)
            ends = self._written(at, row)
        self._give_back()
        return bool(ends)

    def _written(self, at: int, row: Row) -> int:
        """Write a row by the edits at hand: whether the text may end, below 0 for another's."""
        ends: int = self._same_mask.write(
            self._borrowed().address, self._mask_cache.address, at, row
        )
        return ends

    def _borrowed(self) -> Workspace:
        """The workspace at hand: constraints share a few, as each works for a moment only."""
        if self._workspace is None:
            self._workspace = self._workspaces.take()
        return self._workspace

    def _give_back(self) -> None:
        """Let the next constraint have the workspace."""
        if self._workspace is not None:
            self._workspaces.give_back(self._workspace)
            self._workspace = None

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.empty(self._words, np.int32)
        self.write(at, row)
        return row

    def _find_same(self, at: int, how: int) -> int:
        """Look for a position with the same mask, or else make the edits of this one's row.

        See `kernels.masks.same_mask`. The on-demand loop: the kernel stops with a code, what it
        names is added, and it goes on. Codes above RESTART_BELOW come from the middle of a walk,
        which goes on where it stopped.
        """
        engine, find_same = self._engine, self._same_mask.find_same
        nodes_at, cache_at = self._borrowed().address, self._mask_cache.address
        found: int = find_same(engine.tables_at, nodes_at, cache_at, at, how)
        while found < DEAD:
            if found > self._same_mask.RESTART_BELOW:
                engine.fill_on_demand(found)
                how &= ~self._same_mask.RESTART
            else:
                self._fill_cache(found, at)
            found = find_same(engine.tables_at, nodes_at, cache_at, at, how)
        return found

    def _fill_cache(self, code: int, at: int) -> None:
        """Add what the cache lacks before a position can be looked up or walked from."""
        engine, same_mask = self._engine, self._same_mask
        if code == same_mask.NEED_RECIPE:
            self._add_recipe(*engine.tables.need[:4].tolist())  # from RECIPE_KEY on
        elif code == same_mask.NEED_KIND:
            q = at >> 32
            kind = self._kind(q)
            self._mask_cache.set_kind(q, kind)
            if self._lexicon_cache is not None and q < self._shared_states:
                self._lexicon_cache.set_kind(q, kind)
        elif code == same_mask.NEED_LEXEME:
            engine.fire(at & 0xFFFFFFFF, engine.kernel_tables.SKIP_TERMINAL)
        elif code == same_mask.NEED_ROOM:
            self._mask_cache.make_room(len(engine.tables.lookups))
        else:
            engine.fill_on_demand(engine.NEED_SPACE)

    def _kind(self, q: int) -> int:
        """The bits of a lexer state in the cache's `kinds`; see `kernels.masks.mask_cache`."""
        strategy, k = self._strategy_of(q), self._cache_kernels
        kind = k.DESCRIBED
        if strategy is not Strategy.LISTED and self._lexeme_masks.is_scalar(q):
            kind |= k.SCALAR
        if strategy is Strategy.ENTRY:
            kind |= k.ENTERS
        return int(kind)

    def _add_recipe(self, key: int, around: int, kind: int, state: int) -> None:
        """Add the mask recipe that a kernel asks for.

        key: in the table of recipes; around: the lexer state in white space before the lexeme, or
        -1; kind, state: for which lexer states it is good; see `kernels.masks.same_mask`.
        """
        parts_of, same_mask, k = self._entry_points, self._same_mask, self._engine.kernel_tables
        parts, lexeme, space, asked = 0, None, None, state
        if around >= 0:
            space = self._lexeme_masks.of(around)
            parts = parts_of.ENTRY if space.boundary_tokens else 0
        strategy = self._strategy_of(state) if kind == same_mask.OF_STATE else None
        if kind == same_mask.OF_WORDS or strategy is Strategy.NARROW:
            parts, state = parts | parts_of.NARROW, -1
        elif kind == same_mask.OF_KEYS or strategy is Strategy.LISTED:
            parts |= parts_of.LISTED
            # Beside the words, any other text may stand there: its lexer state, or -1.
            state = int(self._engine.tables.state_info[state, k.FALLBACK]) if strategy else state
        if state >= 0:
            lexeme = self._lexeme_masks.of(state)
            if len(lexeme.lexeme_ends.node):
                parts |= parts_of.BOUNDARY
                parts |= 0 if lexeme.boundary_tokens is None else parts_of.SORTED
        lexicon_cache = self._lexicon_cache if max(asked, around) < self._shared_states else None
        base = self._base_row(lexeme, space)
        lexeme_at, space_at = (0 if mask is None else mask.address for mask in (lexeme, space))
        numbers = lexeme_at, space_at, parts, base.number
        self._mask_cache.add_recipe(key, base, numbers, lexicon_cache)

    def _base_row(self, lexeme: LexemeMask | None, space: LexemeMask | None) -> BaseRow:
        """The tokens that stay in a lexeme, and in the white space before it; made once."""
        base_rows, key = self._base_rows, (id(lexeme), id(space))
        if self._lexicon_cache is not None and _is_shared(lexeme) and _is_shared(space):
            base_rows = self._lexicon_cache.base_rows
        found = base_rows.get(key)
        if found is None:
            only = lexeme or space
            row, number = self._shared_masks.no_tokens, 0
            if only is not None:
                row, number = only.row, next(_numbers)
            if lexeme is not None and space is not None:
                row = lexeme.row | space.row
                self._nbytes += row.nbytes if base_rows is self._base_rows else 0
            found = base_rows[key] = BaseRow(row, number, lexeme, space)
        return found

    def _strategy_of(self, q: int) -> Strategy:
        """How the tokens of a lexer state are found, decided once."""
        strategy = self._strategies.get(q)
        if strategy is None:
            strategy = self._strategies[q] = self._choose_strategy(q)
        return strategy

    def _choose_strategy(self, q: int) -> Strategy:
        """Decide how to find the tokens of a lexer state."""
        engine, k = self._engine, self._engine.kernel_tables
        if not engine.tables.state_info[q, k.KIND]:
            engine.targets(q)  # embeds listed words, if that is what it begins
        info = engine.tables.state_info[q].tolist()
        if 0 < info[k.KIND] < k.SPANS_TEXT:
            return Strategy.LISTED if info[k.FLAGS] & k.KEYS else Strategy.NARROW
        engine.targets(q)
        if engine.tables.accept[q] == k.SKIP_TERMINAL:
            return Strategy.ENTRY
        if info[k.OWNER] >= 0:
            return Strategy.WIDE
        if self._lexeme_masks.is_whitespace(q):
            return Strategy.WIDE
        if engine.state(q).narrow:
            return Strategy.NARROW
        # A shared state's lexeme mask is there anyway; of others, those that read only ASCII at
        # a fork allow so few tokens that a walk of their own would not pay.
        is_own = q >= self._shared_states
        return Strategy.NARROW if is_own and self._leads_to_ascii_only(q) else Strategy.WIDE

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
        return self._nbytes + self._lexeme_masks.nbytes + self._mask_cache.nbytes

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`: a walk byte by byte, for automata that this one is a part of."""
        # One position per depth; in the last entries the node to go on from and how many ends
        # have been found.
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0], stack[-3] = at, node + 1
        ends = np.zeros(64, np.int32)
        k, engine = kernels("masks.byte_walk"), self._engine
        while True:
            code = k.walk_below(
                engine.tables_at, self._shared_masks.nodes_at, node, row, ends, stack
            )
            if code == 0:
                return ends[: stack[-2]].copy()
            if code == k.ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                engine.fill_on_demand(code)
