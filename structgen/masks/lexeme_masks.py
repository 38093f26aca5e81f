"""Find the lexeme mask of each lexer state: the tokens that stay inside its lexeme.

A walk over the whole trie takes a millisecond, so it is the last resort. In this order:

1. A state of the lexicon, or one that another spec over this vocabulary has met: its mask is there.
2. A text in which any characters may follow, between two bounds of length: the mask of the free
   string without the tokens that are too long, by the character counts of the vocabulary.
3. An expression with a length bound that few tokens reach: the mask without the bound, and only the
   long tokens are looked at.
4. A state of two automata side by side: what both or either allows, where that says it all.
5. A state most of whose bytes lead where they lead from a state walked before: that one's mask, and
   a walk of the subtrees below the other bytes (`kernels.masks.lexeme_difference`).
6. A walk (`kernels.masks.lexeme_walk`), which passes over subtrees all of whose characters the
   state reads again and again.

Each also finds the lexeme ends, from which boundary tokens are walked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.automata.lexer.json_lexemes import Key, Scalar
from structgen.automata.lexer.lexer import LexState, Role, Text
from structgen.automata.lexer.separators import Either, Fork, Gap
from structgen.automata.pushdown.engine import Engine
from structgen.automata.spelling import embedded_dfa
from structgen.kernels.build.loader import kernels
from structgen.masks.bitmask import forbid, unpack
from structgen.masks.parts import CharacterCounts, LexemeMask
from structgen.masks.shared import shared_masks
from structgen.regular.lazy_dfa.states import Unbounded
from structgen.regular.regex import ANY, EMPTY

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

Numbers = npt.NDArray[np.int32]

NEAR = 12  # characters: where fewer may follow, many tokens are too long
FEW_LONGER = 24  # characters: few tokens have more
# Neither matters where states are found in Python (`is_slow`): any token not read is a gain.
RECENT = 32  # states walked last, with which others are compared
MOST_UNSURE = 64  # bounded states found to read byte by byte what counting does not decide


def is_string(state: LexState) -> bool:
    """Whether `state` is between two characters of a JSON string."""
    return isinstance(state, Text) and state.role.quoted


def is_free_string(state: LexState) -> bool:
    """Whether `state` is inside a JSON string in which any characters may follow, to any length."""
    return (
        isinstance(state, Text)
        and state.role.quoted
        and ANY in state.vector
        and all(language is ANY or language is EMPTY for language in state.vector)
    )


def _is_string(role: Role) -> bool:
    """Whether the text of a role is that of a string, a value or a key."""
    return isinstance(role, Scalar | Key) and role.quoted


def _joined(found: list[Any], *, joint: bool) -> Any:
    """The lexeme ends of a string that all of some masks have, or any of them."""
    node = np.concatenate([ends.node for ends in found])
    order = node.argsort(kind="stable")
    node = node[order]
    most = len(found) - 1 if joint else 0  # so many equal ones must stand behind
    count = max(len(node) - most, 0)
    kept = node[:count] == node[most : most + count]
    kept[1:] &= node[: max(count - 1, 0)] != node[1:count]  # each once
    size = np.concatenate([np.diff(ends.start) for ends in found])
    whole = found[0]._replace(
        node=np.concatenate([ends.node for ends in found]),
        label=np.concatenate([ends.label for ends in found]),
        before=np.concatenate([ends.before for ends in found]),
        start=np.append(0, size.cumsum()).astype(np.int32),
        text=np.concatenate([ends.text for ends in found]),
    )
    return _some_ends(whole, order[:count][kept])


def _some_ends(ends: Any, at: npt.NDArray[np.int64]) -> Any:
    """Some of the lexeme ends, with what they capture."""
    first, size = ends.start[:-1][at], np.diff(ends.start)[at]
    start = np.append(0, size.cumsum()).astype(np.int32)
    within = np.arange(start[-1]) - start[:-1].repeat(size)
    return ends._replace(
        node=ends.node[at],
        label=ends.label[at],
        before=ends.before[at],
        start=start,
        text=ends.text[first.repeat(size) + within],
    )


class ByIdentity:
    """A lexer state as a key that is compared by identity.

    For the start of a value, an object that specs share: to compare two such states by what they
    are would take long.
    """

    def __init__(self, state: LexState) -> None:
        self._state = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other._state is self._state

    def __hash__(self) -> int:
        return id(self._state)


class LexemeMasks:
    """The lexeme masks of one automaton's lexer states. nbytes: memory of all that are kept."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._walk = kernels("masks.lexeme_walk")
        self._difference = kernels("masks.lexeme_difference")
        self._shared_masks = shared_masks(vocabulary)
        self._nodes = self._shared_masks.nodes
        self._vocabulary = vocabulary
        self._depth = vocabulary.trie.max_depth
        self._shared_states = engine.shared_states
        self._masks: dict[int, LexemeMask] = {}
        # The candidates of step 5: a free string in the first place, then states walked last, in a
        # ring.
        self._recent = np.full(RECENT + 1, -1, np.int32)
        self._turn = 0
        self._counted: set[int] = set()  # ids of the masks in `nbytes`: states may share one
        self.nbytes = 0

    def of(self, q: int) -> LexemeMask:
        """The lexeme mask of lexer state `q`."""
        mask = self._masks.get(q)
        if mask is None:
            mask = self._masks[q] = self._find(q)
            if id(mask) not in self._counted:
                self._counted.add(id(mask))
                self.nbytes += mask.nbytes
        return mask

    def prepare(self) -> None:
        """Walk once for each free string of the lexicon, and count its characters."""
        for q in range(self._shared_states):
            state = self._engine.state(q)
            if isinstance(state, Text) and is_free_string(state):
                self.of(q)
                if not state.recorded:  # a value, whose length may be bounded
                    self._characters_begun(q, escapes=state.role.escapes)

    def is_described(self, q: int) -> bool:
        """Whether Python described a lexer state; if not, it is one of an embedded DFA."""
        return bool(self._engine.tables.state_info[q, self._engine.kernel_tables.OWNER] < 0)

    def is_scalar(self, q: int) -> bool:
        """Whether a lexer state is within the text of a string or number."""
        if self.is_described(q):
            state = self._engine.state(q)
            return isinstance(state, Text) and isinstance(state.role, Scalar)
        self._engine.targets(q)
        k, info = self._engine.kernel_tables, self._engine.tables.state_info[q]
        return bool(info[k.KIND] == k.SPANS_TEXT and info[k.FLAGS] & k.SCALARS)

    def is_whitespace(self, q: int) -> bool:
        """Whether a lexer state is within white space."""
        if self._engine.tables.accept[q] == self._engine.kernel_tables.SKIP_TERMINAL:
            return True
        return self.is_described(q) and isinstance(self._engine.state(q), Gap)

    # -- masks that are known, or follow from known ones ----------------------------------------

    def _find(self, q: int) -> LexemeMask:
        """The lexeme mask as it was found for another spec, or computed."""
        if q >= self._shared_states and self.is_described(q):
            # A bound beyond the longest token makes no difference to a mask.
            far = embedded_dfa.far_id(self._engine, q, self._shared_masks.longest)
            if far is not None:
                return self.of(far)
            embedded_dfa.embed_vector(self._engine, q)
        key = self._shared_key(q)
        if key is None:
            return self._computed(q)
        lexicon = self._engine.machine.prepared.lexicon
        mask = self._shared_masks.lexeme_mask(lexicon, key)
        if mask is None:
            mask = self._computed(q)
            last = np.maximum.reduce(mask.lexeme_ends.label, initial=0)
            if last < len(lexicon.terminals):  # else a terminal has a number of this spec only
                self._shared_masks.keep(lexicon, key, mask)
        return mask

    def _shared_key(self, q: int) -> Hashable:
        """What lexer state `q` is in every spec with the same lexicon; None if that is not known.

        Terminals have the same numbers there only if they are the lexicon's.
        """
        engine = self._engine
        if q < self._shared_states or not self._shared_states:
            return q if self._shared_states else None
        if not engine.tables.state_info[q, engine.kernel_tables.KIND]:
            state = engine.state(q) if engine.is_new else None
            return ByIdentity(state) if isinstance(state, Fork | Either) else None
        found = embedded_dfa.shared_key(engine, q)
        if found is None:
            return None
        terminal = found[-1]
        if terminal is None or terminal in engine.machine.prepared.lexicon.terminal_ids:
            return found
        return None

    def _computed(self, q: int) -> LexemeMask:
        """The lexeme mask, its boundary tokens sorted where many stack nodes go on from it."""
        mask = self._compute(q)
        if self.is_whitespace(q):
            mask.sort_boundary_tokens(self._nodes)
        return mask

    def _compute(self, q: int) -> LexemeMask:
        """The lexeme mask by steps 2 to 6 of this module's docstring."""
        engine = self._engine
        embedded = embedded_dfa.embedded_at(engine, q)
        if embedded is not None:
            bounds = self._bounds(*embedded)
            if bounds is not None:
                return self._within_lengths(embedded[0], *bounds)
            found = self._short_enough(q, *embedded) or self._side_by_side(*embedded)
            if found is not None:
                return found
        engine.targets(q)
        self._recent[0] = self._free_string_beside(q, embedded)
        near = int(
            self._difference.nearest(engine.tables_at, self._shared_masks.weights, self._recent, q)
        )
        stack = np.zeros(self._depth + 5, np.int64)
        stack[0] = q
        if near >= 0:
            other = self.of(near)
            mask = self._run_walk(
                self._difference.walk_difference,
                lambda: (self._shared_masks.subtrees_at, engine.loops, other.address, near),
                other.row.copy(),
                stack,
            )
        else:
            mask = self._run_walk(
                self._walk.walk_lexeme,
                lambda: (self._shared_masks.subtrees_at, engine.loops, 0),
                np.zeros(self._vocabulary.words, np.int32),
                stack,
            )
        self._turn = self._turn % RECENT + 1
        self._recent[self._turn] = q
        return mask

    @staticmethod
    def _bounds(embedded: embedded_dfa.EmbeddedDfa, state: int) -> tuple[int, int] | None:
        """Fewest and most characters that follow in a value of any characters; None if not so."""
        return embedded.left(state) if _is_string(embedded.role) else None

    def _within_lengths(
        self, embedded: embedded_dfa.EmbeddedDfa, low: int, high: int
    ) -> LexemeMask:
        """The part of the free string of a DFA in which `low` to `high` characters follow."""
        free, escapes = embedded.free_id(self._engine), embedded.role.escapes
        mask = self.of(free)
        if low <= 0 and high >= self._shared_masks.longest:
            return mask  # no token comes to where the length counts
        ends = self._lexeme_ends_within(
            mask, self._characters_begun(free, escapes=escapes), low, high
        )
        return LexemeMask(mask.row & self._shared_masks.tokens_up_to(high, escapes=escapes), ends)

    def _lexeme_ends_within(self, mask: LexemeMask, begun: Numbers, low: int, high: int) -> Any:
        """The lexeme ends of a value before which it has `low` to `high` characters."""
        count = begun[mask.lexeme_ends.node]
        kept = np.flatnonzero((count >= low) & (count <= high))
        return _some_ends(mask.lexeme_ends, kept)

    def _short_enough(
        self, q: int, embedded: embedded_dfa.EmbeddedDfa, state: int
    ) -> LexemeMask | None:
        """The mask without the length bound of an expression, except for tokens that are too long.

        None where there is no such bound, or where many tokens are too long.
        """
        engine, found = self._engine, embedded.unbounded(self._engine, state)
        if found is None:
            return None
        same, base = found
        unbounded = base.number(same.state)
        longest = self._shared_masks.longest
        if same.free >= longest and not same.least:
            return self.of(unbounded)
        near, few = (0, 1) if embedded.is_slow else (NEAR, FEW_LONGER)
        if same.free < near or not _is_string(embedded.role):
            return None
        escapes = embedded.role.escapes
        begun = self._characters_begun(embedded.free_id(engine), escapes=escapes)
        if same.free >= longest:
            mask = self.of(unbounded)
            ends = self._lexeme_ends_within(mask, begun, same.least, longest)
            return LexemeMask(mask.row, ends)
        if same.wanted is None:  # how soon a text can end from each state is not known
            if same.free < few:
                return None
            return self._with_long_tokens(q, self.of(unbounded), begun, same, escapes=escapes)
        mask = self.of(unbounded)
        row = self._that_end(embedded, state, mask.row, begun)
        if row is None:
            return None
        return LexemeMask(row, self._lexeme_ends_within(mask, begun, same.least, same.most))

    def _that_end(
        self, embedded: embedded_dfa.EmbeddedDfa, state: int, row: Row, begun: Numbers
    ) -> Row | None:
        """The tokens of the unbounded state's row behind which a text ends in time.

        None where to know that takes too many bounded states.
        """
        engine, shared, k = self._engine, self._shared_masks, kernels("masks.length_bound")
        row, stack, code, given = row.copy(), np.zeros(self._depth + 4, np.int64), -1, None
        while code:
            found: Any = embedded.unbounded(engine, state)  # anew, as the DFA may have grown
            same, base = found
            if given is None:
                stack[0] = base.number(same.state)
                bounds = base.place, same.free, same.most, same.straying
                given = np.array([*bounds, embedded.number(state), 0, MOST_UNSURE], np.int64)
            trie = shared.nodes_at, shared.subtrees_at, engine.loops, begun
            wanted = np.stack(same.wanted)
            code = k.refuse_longer(engine.tables_at, *trie, wanted, given, row, stack)
            if code == k.TOO_MANY:
                return None
            if code:
                engine.fill_on_demand(code)
        return row

    def _with_long_tokens(
        self, q: int, mask: LexemeMask, begun: Numbers, same: Unbounded, *, escapes: bool
    ) -> LexemeMask:
        """`mask` for tokens of at most `same.free` characters; a walk from `q` for others."""
        free, short = same.free, self._shared_masks.tokens_up_to(same.free, escapes=escapes)
        stack = np.zeros(self._depth + 5, np.int64)
        stack[0] = q
        found = self._run_walk(
            self._walk.walk_lexeme,
            lambda: (self._shared_masks.subtrees_at, self._engine.loops, free),
            mask.row & short,
            stack,
        )
        near = self._lexeme_ends_within(mask, begun, same.least, free)
        far = self._lexeme_ends_within(found, begun, free + 1, self._shared_masks.longest)
        return LexemeMask(found.row, _joined([near, far], joint=False))

    def _side_by_side(self, embedded: embedded_dfa.EmbeddedDfa, state: int) -> LexemeMask | None:
        """The mask of a state that reads several automata side by side, from those of their states.

        None where these do not say it all.
        """
        role = embedded.role
        found = embedded.halves(self._engine, state) if _is_string(role) else None
        if found is None or role.surrogates:
            return None
        fits, free, states = found
        masks = [self.of(q) for q in states]
        if fits == "none":  # any text goes on, and ends where the format's do not
            mask = self.of(embedded.free_id(self._engine))
            ends = np.zeros(len(self._vocabulary.trie), np.bool_)
            ends[masks[0].lexeme_ends.node] = True
            kept = np.flatnonzero(~ends[mask.lexeme_ends.node])
            return LexemeMask(mask.row, _some_ends(mask.lexeme_ends, kept))
        if embedded.halves(self._engine, state) is None:  # now that all states between are known
            return None
        if isinstance(embedded, embedded_dfa.EmbeddedVectorDfa):
            return self._told_apart(embedded.number(state), masks)
        joint = fits == "all"
        join = np.bitwise_and if joint else np.bitwise_or
        row = join.reduce([mask.row for mask in masks])
        ends = _joined([mask.lexeme_ends for mask in masks], joint=joint)
        if joint and free < self._shared_masks.longest:
            self._forbid_broken(embedded, state, row, free)
        return LexemeMask(row, ends)

    def _told_apart(self, q: int, masks: list[LexemeMask]) -> LexemeMask | None:
        """The mask of a state that reads a text in several expressions, from the mask of each.

        The terminal of a lexeme end depends on the expressions that end there: it is read off for
        one end of each kind. None where that terminal captures texts and theirs do not, or the
        other way round.
        """
        row = np.bitwise_or.reduce([mask.row for mask in masks])
        ends = _joined([mask.lexeme_ends for mask in masks], joint=False)
        if not len(ends.node):
            return LexemeMask(row, ends)
        fits = np.column_stack([np.isin(ends.node, mask.lexeme_ends.node) for mask in masks])
        _, examples, kinds = np.unique(fits, axis=0, return_index=True, return_inverse=True)
        terminals = [self._terminal_at(q, node) for node in ends.node[examples].tolist()]
        label = np.array(terminals, np.int32)[kinds.reshape(-1)]
        captures = self._engine.tables.needs_text != 0
        same = (captures[label] == captures[ends.label]).all()
        return LexemeMask(row, ends._replace(label=label)) if same else None

    def _terminal_at(self, q: int, node: int) -> int:
        """The terminal of a string from lexer state `q` whose quote is at a node of the trie."""
        engine, trie = self._engine, self._vocabulary.trie
        below = trie.token[node : trie.end[node]]
        token = self._vocabulary.token_bytes(int(below[below >= 0][0]))
        *text, quote = token[: trie.depth[node]]
        at, _ = engine.run(q << 32 | engine.start & 0xFFFFFFFF, bytes(text))
        return -int(engine.targets(at >> 32)[quote]) - 2

    def _forbid_broken(
        self, embedded: embedded_dfa.EmbeddedDfa, state: int, row: Row, free: int
    ) -> None:
        """Clear the bits of tokens of more than `free` characters whose last one cannot go on.

        Several automata may read the first bytes of a character, but no whole one in common.
        """
        engine, shared, text_of = self._engine, self._shared_masks, self._vocabulary.token_bytes
        self._characters_begun(embedded.free_id(engine), escapes=embedded.role.escapes)
        longer = shared.character_counts[embedded.role.escapes].most > free
        tokens = np.flatnonzero(unpack(row, 32 * len(row)) & shared.seldom_whole & longer)
        at = embedded.number(state) << 32 | engine.start & 0xFFFFFFFF
        forbid(row, [token for token in tokens.tolist() if engine.run(at, text_of(token))[0] < 0])

    # -- what walks need ------------------------------------------------------------------------

    def _run_walk(
        self,
        walk: Callable[..., int],
        arguments: Callable[[], tuple[Any, ...]],
        row: Row,
        stack: npt.NDArray[np.int64],
    ) -> LexemeMask:
        """The mask that a walk finds, which stops and goes on as long as it lacks something.

        arguments: what it takes beside the tables, the trie, and room for lexeme ends; made anew
        for each call, since tables may have grown. row: int32[words], or-ed into. stack: its last
        two entries are the number of lexeme ends, and of the bytes captured at these.
        """
        engine, workspaces = self._engine, self._shared_masks.workspaces
        workspace = workspaces.take()
        while True:
            found = workspace.lexeme_ends
            code = walk(
                engine.tables_at, self._shared_masks.nodes_at, *arguments(), found, row, stack
            )
            if code == engine.NEED_SPACE:
                workspace.make_room()
            elif code != 0:
                engine.fill_on_demand(code)
            else:
                break
        count, used = int(stack[-2]), int(stack[-1])
        ends = None
        if count:
            sizes = (count, count, count, count + 1, used)
            ends = type(found)(*(a[:n].copy() for a, n in zip(found, sizes, strict=True)))
        workspaces.give_back(workspace)
        return LexemeMask(row, ends)

    def _characters_begun(self, free: int, *, escapes: bool) -> Numbers:
        """int32[nodes]: the characters that a free string has begun at each node of the trie.

        free: its lexer state; escapes: whether it may have any escapes.
        """
        found = self._shared_masks.character_counts.get(escapes)
        if found is None:
            trie = self._vocabulary.trie
            begun = np.zeros(len(trie), np.int32)
            stack = np.zeros(self._depth + 4, np.int64)
            stack[0] = stack[-2] = free
            count = kernels("trie.subtrees").count_characters
            self._engine.ask(count, self._shared_masks.nodes_at, begun, stack)
            at = np.flatnonzero(trie.token >= 0)
            most = np.full(32 * self._vocabulary.words, np.iinfo(np.int32).max, np.int32)
            most[trie.token[at]] = begun[at]
            found = self._shared_masks.character_counts[escapes] = CharacterCounts(begun, most)
        return found.started

    def _free_string_beside(
        self, q: int, embedded: tuple[embedded_dfa.EmbeddedDfa, int] | None
    ) -> int:
        """The free string that lexer state `q` may lead to, its row filled; -1 if there is none."""
        free = self._free_string_after(q) if embedded is None else embedded[0].known_free
        if free is None:
            return -1
        self._engine.targets(free)
        return free

    def _free_string_after(self, q: int) -> int | None:
        """The one free string that bytes lead to from lexer state `q`; None if there is not one."""
        engine = self._engine
        if not self.is_described(q) or not is_string(engine.state(q)):
            return None
        targets = engine.targets(q)
        others = sorted({*targets.tolist()} - {q})
        others = [target for target in others if target >= 0]
        free = [t for t in others if self.is_described(t) and is_free_string(engine.state(t))]
        return free[0] if len(free) == 1 else None
