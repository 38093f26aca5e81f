"""In: a vocabulary. Out: parts of mask rows that all specs share, each made once in a process.

What a state of a lexicon (free strings and keys, numbers, white space) allows by itself depends on
nothing else, and neither does how many characters of a free string each token begins.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.automata.lexer.lexicon import Lexicon
from structgen.automata.pushdown.tables import PackedArrays
from structgen.kernels.build.loader import kernels
from structgen.masks.bitmask import pack
from structgen.masks.mask_cache import LexiconCache
from structgen.masks.workspaces import Workspaces
from structgen.regular.byte_groups import groups
from structgen.vocabulary.per_vocabulary import per_vocabulary

if TYPE_CHECKING:
    from structgen.masks.shared_file import SavedParts
    from structgen.vocabulary.trie import Trie
    from structgen.vocabulary.vocabulary import Vocabulary

MAX_BYTES = 64 << 20  # of parts of rows kept for one vocabulary
MAX_SHORT = 256  # rows of tokens with at most so many characters
MAX_SPELLED = 64  # rows of tokens with no characters but certain ones
_NBYTES = attrgetter("nbytes")


def _written(crossings: Any) -> PackedArrays:
    """Crossings written down, with room for what lies beyond them."""
    written = PackedArrays(len(crossings) + len(kernels("masks.boundary_tokens").Beyond._fields))
    kernels("masks.entry_points").keep_crossings(crossings, written.address)
    return written


@cache
def _no_crossings() -> tuple[Any, PackedArrays]:
    """Those of a text that ends with no token."""
    sizes = {"before": np.uint8, "text": np.uint8}
    names = kernels("masks.lexeme_walk").Crossings._fields
    arrays = [np.zeros(int(name == "start"), sizes.get(name, np.int32)) for name in names]
    none = kernels("masks.lexeme_walk").Crossings(*arrays)
    return none, _written(none)


class LexemeMask:
    """What a lexer state allows by itself, and where tokens leave the lexeme.

    row: int32[words]; crossings: `kernels.masks.lexeme_walk.Crossings`; beyond:
    `kernels.masks.boundary_tokens.Beyond`, None as
    long as nobody has sorted what lies there. address: where kernels find the last two.
    """

    def __init__(self, row: Row, crossings: Any | None = None) -> None:
        self.row = row
        self.beyond: Any = None
        self.is_common = False  #: whether it is that of a state of a lexicon
        self.nbytes = row.nbytes  #: bytes of all
        if crossings is not None and len(crossings.node):
            self.crossings, self._written = crossings, _written(crossings)
            self.nbytes += sum(map(_NBYTES, crossings))
        else:
            self.crossings, self._written = _no_crossings()
        self.address = self._written.address

    def sort(self, nodes: Any) -> None:
        """Sort what tokens read beyond the lexeme, where there is any. nodes: those of the trie."""
        found, end = self.crossings, kernels("trie.nodes").NODE_END
        if self.beyond is not None or not len(found.node):
            return
        sizes = np.where(found.before, 1, nodes.at[found.node, end] - found.node)
        room = int(sizes.sum())
        labels = np.unique(found.label)
        beyond = kernels("masks.boundary_tokens").Beyond(
            label=labels,
            first=np.zeros(256 * len(labels) + 1, np.int32),
            node=np.zeros(room, np.int32),
            end=np.zeros(room, np.int32),
            token=np.zeros(room, np.int32),
            ended=np.zeros(len(found.node), np.int32),
            ends=np.zeros(len(labels) + 1, np.int32),
        )
        kernels("masks.boundary_tokens").arrange(nodes, found, beyond)
        entries, ended = int(beyond.first[-1]), int(beyond.ends[-1])
        used = {name: getattr(beyond, name)[:entries].copy() for name in ("node", "end", "token")}
        self.beyond = beyond._replace(**used, ended=beyond.ended[:ended].copy())
        self.nbytes += sum(array.nbytes for array in self.beyond)
        kernels("masks.entry_points").keep_beyond(self.beyond, self.address)


class Characters(NamedTuple):
    """How many characters a free string has begun.

    started: int32[nodes], at each node of the trie; most: by token, int32[32 * words].
    """

    started: npt.NDArray[np.int32]
    most: npt.NDArray[np.int32]


def subtrees_of(nodes: Any, max_depth: int) -> Any:
    """What is at and below the nodes of a trie, `kernels.trie.nodes.Nodes`: `Subtrees` there."""
    count, k = len(nodes.at), kernels("trie.nodes")
    found = k.Subtrees(
        at=np.zeros((count, 4), np.int64),
        first=np.zeros(count + 1, np.int32),
        order=np.zeros(int((nodes.at[:, k.NODE_TOKEN] >= 0).sum()), np.int32),
    )
    stack = np.zeros(max_depth + 4, np.int64)
    left = np.zeros(count, np.uint8)
    kernels("trie.subtrees").describe_subtrees(nodes, groups(), found, left, stack)
    return found


Parts = OrderedDict[tuple[Lexicon, Hashable], LexemeMask]


class SharedMasks:
    """What is the same for every spec over one vocabulary. Safe to use from many threads.

    The parts used last are kept, MAX_BYTES of them, and those of lexicons before all others.
    """

    characters: Characters | None = None

    def __init__(self, trie: Trie, words: int) -> None:
        self.words = words
        self.nodes = trie.nodes
        self.subtrees = subtrees_of(self.nodes, trie.max_depth)
        k = kernels("trie.nodes")
        self._letters = np.full(32 * words, -1, np.int64)  # of each token, as bits of their groups
        stack = np.zeros(trie.max_depth + 4, np.int64)
        kernels("trie.subtrees").spell_tokens(self.nodes, self.subtrees, self._letters, stack)
        highest = int(self.subtrees.at[:, k.HEIGHT].max(initial=0))
        #: characters that a token has at most
        self.longest = trie.max_depth if highest == k.MANY else highest
        #: int32[256]: nodes below each first byte
        self.weights = np.zeros(256, np.int32)
        tops = self.nodes.root_child[self.nodes.root_child >= 0]
        self.weights[self.nodes.root_child >= 0] = self.nodes.at[tops, k.NODE_END] - tops
        self.rooms = Workspaces(self.nodes, words, trie.max_depth)
        self._room, self._written = self.rooms.take(), PackedArrays(len(self.subtrees))
        self.nodes_at, self.subtrees_at = self._room.address, self._written.address
        kernels("masks.entry_points").keep_subtrees(self.subtrees, self.subtrees_at)
        self.nothing = np.zeros(words, np.int32)  #: the row without tokens
        self.nothing.flags.writeable = False
        first = trie.root_child
        #: whether there is a token for each single byte
        self.writes_all_bytes = bool((first >= 0).all() and (trie.token[first] >= 0).all())
        self._lexeme_masks: Parts = OrderedDict()  # those of the states of lexicons
        self._others: Parts = OrderedDict()
        self._lexicon_caches: dict[Lexicon, LexiconCache] = {}
        self._short: dict[int, Row] = {}
        self._spelled: dict[int, Row] = {}
        self._nbytes = 0
        self._saved: SavedParts | None = None
        self._lock = threading.Lock()
        self.made = 0  #: parts that no file had

    @property
    def nbytes(self) -> int:
        """Bytes of the parts of rows."""
        return self._nbytes

    def inside(self, lexicon: Lexicon, place: Hashable) -> LexemeMask | None:
        """What a state allows, None if nobody has kept it.

        place: its number in the lexicon, or what else tells it from all others there.
        """
        key = lexicon, place
        kept = self._parts(place)
        with self._lock:
            found = kept.get(key)
            if found is not None:
                kept.move_to_end(key)
        if found is None and self._saved is not None and isinstance(place, int):
            found = self._saved.inside(lexicon, place)
            if found is not None:
                self._keep(lexicon, place, found)
        return found

    def lexicon_cache(self, lexicon: Lexicon) -> LexiconCache:
        """What is said of the states of a lexicon."""
        with self._lock:
            return self._lexicon_caches.setdefault(lexicon, LexiconCache())

    def use(self, saved: SavedParts) -> None:
        """Take from a file what has not been made yet."""
        self._saved = saved
        if self.characters is None:
            self.characters = saved.characters

    def items(self) -> Iterator[tuple[Lexicon, int, LexemeMask]]:
        """The parts of states of lexicons, with these, those used last first."""
        with self._lock:
            kept = list(self._lexeme_masks.items())
        for (lexicon, place), inside in reversed(kept):
            if isinstance(place, int):  # as all of them are
                yield lexicon, place, inside

    def keep(self, lexicon: Lexicon, place: Hashable, inside: LexemeMask) -> None:
        """Keep what a state allows; what was used least recently goes where there is no room."""
        self.made += isinstance(place, int)
        self._keep(lexicon, place, inside)

    def _keep(self, lexicon: Lexicon, place: Hashable, inside: LexemeMask) -> None:
        key, kept = (lexicon, place), self._parts(place)
        if isinstance(place, int):
            inside.sort(self.nodes)
            inside.is_common = True
        with self._lock:
            if key not in kept:
                kept[key] = inside
                self._nbytes += inside.nbytes
            while self._nbytes > MAX_BYTES:
                first = self._others or self._lexeme_masks
                self._nbytes -= first.popitem(last=False)[1].nbytes

    def _parts(self, place: Hashable) -> Parts:
        return self._lexeme_masks if isinstance(place, int) else self._others

    def short(self, high: int) -> Row:
        """The tokens with which a free string begins at most `high` characters."""
        found = self._short.get(high)
        if found is None:
            most = np.zeros(0, np.int32) if self.characters is None else self.characters.most
            found = pack(most <= high)
            if len(self._short) >= MAX_SHORT:
                self._short = {}
            self._short[high] = found
        return found

    def spelled(self, letters: int, most: int) -> Row:
        """The tokens of at most `most` characters, all of the groups with bits `letters`.

        Where `most` is less than `longest`, `characters` must be known, and strings must hold the
        letters as they are.
        """
        found = self._spelled.get(letters)
        if found is None:
            found = np.empty(self.words, np.int32)
            kernels("trie.subtrees").allow_letters(self._letters, letters, found)
            if len(self._spelled) >= MAX_SPELLED:
                self._spelled = {}
            self._spelled[letters] = found
        return found if most >= self.longest else found & self.short(most)


@per_vocabulary
def shared_masks(vocabulary: Vocabulary) -> SharedMasks:
    """What this process has made for a vocabulary."""
    return SharedMasks(vocabulary.trie, vocabulary.words)
