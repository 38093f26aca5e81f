"""What all specs over a vocabulary share of masks, each made once in a process.

The lexeme mask of a state of a lexicon (free strings and keys, numbers, white space) depends on
nothing but the vocabulary, and neither does how many characters of a free string each token begins.
Kernels also need arrays to work in, which go from one constraint to the next.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.automata.lexer.lexicon import Lexicon
from structgen.automata.pushdown.tables import PackedArrays
from structgen.kernels.build.loader import kernels
from structgen.masks.bitmask import pack
from structgen.masks.mask_cache import LexiconCache
from structgen.masks.parts import CharacterCounts, LexemeMask
from structgen.regular.byte_groups import groups as all_groups
from structgen.util.arrays import with_room
from structgen.util.cached import per_object

if TYPE_CHECKING:
    from structgen.masks.shared_file import SavedParts
    from structgen.vocabulary.trie import Trie
    from structgen.vocabulary.vocabulary import Vocabulary

MAX_BYTES = 64 << 20  # of lexeme masks kept for one vocabulary
OWN_BYTES = 16 << 20  # of these at most for states of specs' own, which few specs share
MAX_SHORT = 256  # rows of tokens with at most so many characters
SPARE = 8  # workspaces that are kept
ENDS_AT_FIRST = 256  # lexeme ends for which a workspace has room at first


class Workspace:
    """Arrays in which kernels walk the trie, for one mask at a time.

    address: where kernels find the trie's nodes and, behind them, the arrays (`Scratch` of
    `kernels.masks.entry_points`). lexeme_ends: room for those that a walk finds. To make these
    takes longer than most walks.
    """

    def __init__(self, nodes: object, words: int, depth: int) -> None:
        k = kernels("masks.entry_points")
        self.scratch = k.Scratch(
            rest=np.zeros(4096, np.uint8),
            rests=np.zeros(512, np.int64),
            bits=np.zeros(words, np.int32),
            touched=np.zeros(words + 1, np.int32),
            changed=np.zeros(2 * words, np.int32),
            stack=np.zeros(2 * depth + 6, np.int64),
        )
        self._nodes = nodes  # lives as long as its address is in use
        self._packed = PackedArrays(len(k.Nodes._fields) + len(self.scratch))
        self.address = self._packed.address
        k.keep_nodes(nodes, self.scratch, self.address)
        self.lexeme_ends = kernels("masks.lexeme_walk").LexemeEnds(
            node=np.empty(ENDS_AT_FIRST, np.int32),
            label=np.empty(ENDS_AT_FIRST, np.int32),
            before=np.empty(ENDS_AT_FIRST, np.uint8),
            start=np.zeros(ENDS_AT_FIRST + 1, np.int32),
            text=np.empty(ENDS_AT_FIRST * max(depth, 1), np.uint8),
        )

    def make_room(self) -> None:
        """Have room for twice as many lexeme ends."""
        ends = self.lexeme_ends
        self.lexeme_ends = type(ends)(*(with_room(array, len(array) + 1) for array in ends))


class Workspaces:
    """The workspaces of one vocabulary, a pool. Safe to use from many threads."""

    def __init__(self, nodes: object, words: int, depth: int) -> None:
        self._made_of = nodes, words, depth
        self._spare: deque[Workspace] = deque(maxlen=SPARE)

    def take(self) -> Workspace:
        """A workspace that nobody else has until it is given back."""
        try:
            return self._spare.pop()
        except IndexError:
            return Workspace(*self._made_of)

    def give_back(self, workspace: Workspace) -> None:
        """Take a workspace back. What a walk that was broken off left in it does no harm."""
        self._spare.append(workspace)  # when there are too many, the first one given back goes


def subtrees_of(nodes: Any, max_depth: int) -> Any:
    """What is at and below each node of a trie, as `Subtrees` of `kernels.trie.nodes`."""
    return _described(nodes, max_depth)[0]


def _described(nodes: Any, max_depth: int) -> tuple[Any, npt.NDArray[np.uint8]]:
    """`subtrees_of`, and uint8[nodes]: how many bytes of a character are wanted behind each."""
    count, k = len(nodes.at), kernels("trie.nodes")
    found = k.Subtrees(
        at=np.zeros((count, 4), np.int64),
        first=np.zeros(count + 1, np.int32),
        order=np.zeros(int((nodes.at[:, k.NODE_TOKEN] >= 0).sum()), np.int32),
    )
    stack = np.zeros(max_depth + 4, np.int64)
    left = np.zeros(count, np.uint8)
    kernels("trie.subtrees").describe_subtrees(nodes, all_groups(), found, left, stack)
    return found, left


Masks = OrderedDict[tuple[Lexicon, Hashable], LexemeMask]


class SharedMasks:
    """What is the same for every spec over one vocabulary. Safe to use from many threads.

    Lexeme masks are kept by lexicon and key: the number of a lexer state that every spec with the
    lexicon has (an int), or what tells a spec's own state from all others (see `LexemeMasks`).
    Those used last are kept, MAX_BYTES of them and OWN_BYTES of specs' own states; those of shared
    states before all others.
    """

    def __init__(self, trie: Trie, words: int) -> None:
        self.words = words
        self.nodes = trie.nodes
        self.subtrees, self._wanted = _described(self.nodes, trie.max_depth)
        k = kernels("trie.nodes")
        highest = int(self.subtrees.at[:, k.HEIGHT].max(initial=0))
        #: characters that a token has at most
        self.longest = trie.max_depth if highest == k.MANY else highest
        #: int32[256]: nodes below each first byte
        self.weights = np.zeros(256, np.int32)
        tops = self.nodes.root_child[self.nodes.root_child >= 0]
        self.weights[self.nodes.root_child >= 0] = self.nodes.at[tops, k.NODE_END] - tops
        self.workspaces = Workspaces(self.nodes, words, trie.max_depth)
        self._workspace, self._packed = self.workspaces.take(), PackedArrays(len(self.subtrees))
        self.nodes_at, self.subtrees_at = self._workspace.address, self._packed.address
        kernels("masks.entry_points").keep_subtrees(self.subtrees, self.subtrees_at)
        self.no_tokens = np.zeros(words, np.int32)  #: the row without tokens
        self.no_tokens.flags.writeable = False
        first = trie.root_child
        #: whether there is a token for each single byte
        self.writes_all_bytes = bool((first >= 0).all() and (trie.token[first] >= 0).all())
        self._lexeme_masks: Masks = OrderedDict()  # those of the states of lexicons
        self._others: Masks = OrderedDict()  # those of specs' own states
        self._lexicon_caches: dict[Lexicon, LexiconCache] = {}
        #: of free strings with any escapes, and with none but needed ones, once somebody asked
        self.character_counts: dict[bool, CharacterCounts] = {}
        self._short: dict[tuple[int, bool], Row] = {}
        self._nbytes = self._own_nbytes = 0
        self._saved: SavedParts | None = None
        self._lock = threading.Lock()
        self.made = 0  #: lexeme masks of shared states that no file had

    @cached_property
    def characters_below(self) -> npt.NDArray[np.int64]:
        """int64[nodes]: the groups of the characters below each node of the trie."""
        below: npt.NDArray[np.int64] = self.subtrees.at[:, kernels("trie.nodes").BELOW].copy()
        return below

    @cached_property
    def seldom_whole(self) -> npt.NDArray[np.bool_]:
        """bool[32 * words]: the tokens that end within a character, or have a backslash.

        All others end with a whole character, also where characters are escaped.
        """
        k, at = kernels("trie.nodes"), self.nodes.at
        found = np.zeros(32 * self.words, np.bool_)
        some = self._wanted != 0
        for node in np.flatnonzero(at[:, k.NODE_BYTE] == ord("\\")).tolist():
            some[node : at[node, k.NODE_END]] = True
        tokens = at[some, k.NODE_TOKEN]
        found[tokens[tokens >= 0]] = True
        found[self.nodes.extra_token] = found[at[self.nodes.extra_node, k.NODE_TOKEN]]
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the lexeme masks."""
        return self._nbytes

    def lexeme_mask(self, lexicon: Lexicon, state: Hashable) -> LexemeMask | None:
        """The lexeme mask of a state, from memory or a file; None if nobody has made it.

        state: its number in the lexicon, or what else tells it from all others there.
        """
        masks, key = self._masks_of(state), (lexicon, state)
        with self._lock:
            found = masks.get(key)
            if found is not None:
                masks.move_to_end(key)
        if found is None and self._saved is not None and isinstance(state, int):
            found = self._saved.lexeme_mask(lexicon, state)
            if found is not None:
                self._keep(lexicon, state, found)
        return found

    def lexicon_cache(self, lexicon: Lexicon) -> LexiconCache:
        """What masks of all specs with a lexicon begin with."""
        with self._lock:
            return self._lexicon_caches.setdefault(lexicon, LexiconCache())

    def use(self, saved: SavedParts) -> None:
        """Take from a file what has not been made yet."""
        self._saved = saved
        self.character_counts = saved.character_counts | self.character_counts

    def items(self) -> Iterator[tuple[Lexicon, int, LexemeMask]]:
        """Lexicon, state and lexeme mask of each shared state, those used last first."""
        with self._lock:
            kept = list(self._lexeme_masks.items())
        for (lexicon, state), mask in reversed(kept):
            if isinstance(state, int):  # as all of them are
                yield lexicon, state, mask

    def keep(self, lexicon: Lexicon, state: Hashable, mask: LexemeMask) -> None:
        """Keep a new lexeme mask; where there is no room, the least recently used one goes."""
        self.made += isinstance(state, int)
        self._keep(lexicon, state, mask)

    def _keep(self, lexicon: Lexicon, state: Hashable, mask: LexemeMask) -> None:
        key, masks = (lexicon, state), self._masks_of(state)
        if isinstance(state, int):
            mask.sort_boundary_tokens(self.nodes)
            mask.is_shared = True
        with self._lock:
            if key not in masks:
                masks[key] = mask
                self._nbytes += mask.nbytes
                self._own_nbytes += mask.nbytes if masks is self._others else 0
            while self._nbytes > MAX_BYTES or self._own_nbytes > OWN_BYTES:
                first = self._others or self._lexeme_masks
                dropped = first.popitem(last=False)[1].nbytes
                self._nbytes -= dropped
                self._own_nbytes -= dropped if first is self._others else 0

    def _masks_of(self, state: Hashable) -> Masks:
        return self._lexeme_masks if isinstance(state, int) else self._others

    def tokens_up_to(self, high: int, *, escapes: bool) -> Row:
        """int32[words]: the tokens with which a free string begins at most `high` characters.

        escapes: whether it may have any escapes; its character counts must be known. Tokens that it
        does not contain may be among them.
        """
        found = self._short.get((high, escapes))
        if found is None:
            found = pack(self.character_counts[escapes].most <= high)
            if len(self._short) >= MAX_SHORT:
                self._short = {}
            self._short[high, escapes] = found
        return found


@per_object
def shared_masks(vocabulary: Vocabulary) -> SharedMasks:
    """The `SharedMasks` of a vocabulary, the same for all who ask."""
    return SharedMasks(vocabulary.trie, vocabulary.words)
