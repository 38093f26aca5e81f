"""`SuffixDrafter`: drafts what followed the same tokens in the prompt, this text or earlier texts.

SuffixDecoding (Oliaro et al. 2024): of all strings that end the text here and occurred before, the
one with the most promising continuations is drafted. A node's probability is the share of its count
among its allowed siblings; the score of a draft is the sum of the probabilities of its nodes, the
expected number of accepted tokens. Strings may be found by the automaton's state, too: after the
same state much the same was written, whatever the values before were.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Any, Literal, NamedTuple, Protocol

from structgen.generation.speculation.drafters.guessing import Guesses, Rates, grow
from structgen.generation.speculation.drafters.state_classes import Kind as ClassKind
from structgen.generation.speculation.drafters.state_classes import StateClasses
from structgen.generation.speculation.drafters.suffix_index import (
    END,
    Node,
    Occurrences,
    SuffixIndex,
)
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, DraftTree

_BROADEST = 16  # most continuations of one string that are looked at
_NEGLIGIBLE = 0.05  # share left to shorter strings from which on they are not asked
_LOST = 0.2  # share left over from which on the state is asked where a guess has led
_STRINGS = 12  # most strings that are asked at one node
_NEAR = 8  # of more tokens read at once, only so many are looked for in earlier texts
_SHARED = 1 << 16  # most tokens of earlier texts that are found by state


class Table(Protocol):
    """A table of strings that occurred; a node is a string."""

    def following(self, node: Any) -> Mapping[int, Any]:
        """The strings longer by one token, by that token."""

    def count(self, node: Any) -> int:
        """How often a string occurred."""


class Found(NamedTuple):
    """A string that ends the text and occurred before; `length` in tokens, more if by state."""

    length: float
    table: Any
    node: Any


@dataclass(frozen=True, slots=True)
class SuffixSettings:
    """How to draft from the strings found.

    mode: "tree" takes the string with the best score and drafts its continuations, "path" only the
    most frequent of them, as SuffixDecoding does; "blend" mixes the continuations of all strings: a
    longer one leaves a shorter one the less, the oftener it occurred and the less it varied.
    factor, offset: a string of n tokens earns at most factor * n + offset draft tokens.
    depth: the longest string distinguished. classes: by which classes of states strings are found,
    too. most: so many of the last
    occurrences in a text are looked at. across: by the states' classes, earlier texts are found.
    """

    mode: Literal["blend", "tree", "path"] = "blend"
    factor: float = 4.0
    offset: float = 4.0
    depth: int = 16
    classes: Sequence[ClassKind] = ("core", "mask")
    most: int | None = 32
    across: bool = True


class SuffixDrafter:
    """Drafts what followed before: in the prompt, in this text, in the texts before it.

    index: strings of earlier texts, found by their tokens; None: they are not kept. With
    `across=False` and no index, a text's drafts come from its own prompt and beginning alone. Safe
    to share by threads.
    """

    name = "suffix"
    hidden: tuple[int, ...] = ()

    def __init__(self, index: SuffixIndex | None = None, **settings: Any) -> None:
        """`settings`: fields of SuffixSettings."""
        self.settings = SuffixSettings(**settings)
        self.index = index
        self.classes = [StateClasses(kind) for kind in self.settings.classes]
        self.shared = self._empty()
        self.trust = Rates()
        self._lock = threading.Lock()

    def begin(self, context: Context) -> SuffixSession:
        """Start on a text, with what earlier texts have taught so far."""
        return SuffixSession(self, context)

    def guesser(self, context: Context) -> SuffixSession:
        """The same, as a Guesser."""
        return SuffixSession(self, context)

    def learn(self, tokens: Sequence[int], keys: Sequence[Sequence[Any]]) -> None:
        """A finished text. keys: for each token, those of the state before it."""
        if self.index is not None:
            self.index.add(tokens)
        if not self.settings.across:
            return
        with self._lock:
            if len(self.shared) + len(tokens) >= _SHARED:
                self.shared = self._empty()
            for token, before in zip(tokens, keys, strict=True):
                for key in before:
                    self.shared.mark(key)
                self.shared.append(token)
            self.shared.append(END)

    def _empty(self) -> Occurrences:
        return Occurrences(self.settings.depth, self.settings.most)


class Kind(NamedTuple):
    """Strings that are trusted alike: by table, length, how often, how many tokens followed."""

    table: int
    length: float
    often: int
    followers: int


class Cursor(NamedTuple):
    """The strings that end here, the longest first, and the tokens guessed since the text."""

    strings: list[Found]
    path: tuple[int, ...]


class SuffixSession:
    """One text, as a Session and as a Guesser."""

    def __init__(self, drafter: SuffixDrafter, context: Context) -> None:
        self._drafter = drafter
        self._settings = drafter.settings
        self._local = Occurrences(self._settings.depth, self._settings.most)
        self._local.extend(context.prompt)
        self._shared = drafter.shared
        self._array = None if drafter.index is None else drafter.index.array
        self._trust = drafter.trust
        self._cursor: Cursor | None = None
        self._constraint = context.constraint
        self._tokens = context.tokens
        self._ends: list[Node] = []  # strings of earlier texts that end here, longest first
        self._classes = [(c.kind, c.of(context.constraint)) for c in drafter.classes]
        self._state = context.state
        self._keys: list[list[Any]] = []
        self._read = len(context.prompt)
        self._follow_array(context.prompt)

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """A tree of the best string's continuations, or of all strings'."""
        cursor = self.start(context)
        best = DraftTree(context)
        if self._settings.mode == "blend":
            grow(best, [(0, cursor)], self, budget)
            return best
        if self._settings.mode == "path":
            budget = replace(budget, width=1)
        for string in cursor.strings:
            size = int(self._settings.factor * string.length + self._settings.offset)
            size = min(budget.nodes, max(size, 1))
            if size <= best.expected:
                continue  # a draft so small cannot be better
            tree = DraftTree(context)
            grow(tree, [(0, Cursor([string], ()))], self, replace(budget, nodes=size))
            if tree.expected > best.expected:
                best = tree
        return best

    def start(self, context: Context) -> Cursor:
        """The strings that end the text here; of equally long ones this text's first."""
        self._catch_up(context)
        tokens = self._tokens = context.tokens
        found = [
            Found(m.length, self._local, m.positions)
            for m in self._local.matches(tokens[-1], tokens)
        ]
        found += [Found(node.depth, self._array, node) for node in self._ends]
        found += self._by_state(context.state, tokens)
        found.sort(key=lambda string: -string.length)
        self._cursor = Cursor(found, ())
        return self._cursor

    def guesses(self, cursor: Cursor, state: int) -> Guesses:
        """The shares of what followed: those of the only string, or of all strings mixed."""
        if self._settings.mode != "blend":
            [string] = cursor.strings
            following = string.table.following(string.node)
            count = string.table.count
            total = count(string.node)
            shares = [(t, count(n) / total) for t, n in following.items() if t != END]
            return nlargest(_BROADEST, shares, key=lambda item: item[1])
        mixed: dict[int, float] = {}
        rest = self._mix(mixed, cursor.strings, 1.0)
        if rest > _LOST and cursor.path:
            # Few of the strings were followed so far; the state may have been here before.
            recent = [*self._tokens[-self._settings.depth :], *cursor.path]
            again = sorted(self._by_state(state, recent), key=lambda string: -string.length)
            self._mix(mixed, again, rest)
        return nlargest(_BROADEST, mixed.items(), key=lambda item: item[1])

    def follow(self, cursor: Cursor, token: int) -> Cursor | None:
        """The strings longer by this token, those that occurred."""
        longer = []
        for length, table, node in cursor.strings[:_STRINGS]:
            behind = table.following(node).get(token)
            if behind is not None:
                longer.append(Found(length + 1, table, behind))
        if not longer and not self._classes:
            return None
        return Cursor(longer, (*cursor.path, token))

    def observe(self, context: Context, seen: Round) -> None:
        """Learn which strings are to be trusted, along what was written."""
        cursor = self._cursor
        for token in seen.written:
            for string in cursor.strings[:_STRINGS] if cursor else ():
                hit = token in string.table.following(string.node)
                self._trust.learn(self._kind(string), hit)
                if hit:
                    break
            cursor = self.follow(cursor, token) if cursor else None
        self._cursor = None

    def _mix(self, mixed: dict[int, float], strings: list[Found], rest: float) -> float:
        """Share out `rest` among what followed; returns what is left for shorter strings."""
        # Longest strings first, as in back-off smoothing: each takes the share of `rest` that
        # strings of its kind deserve, by how often they were right, and leaves the rest to shorter
        # ones.
        for string in strings[:_STRINGS]:
            _, table, node = string
            kind = self._kind(string)
            guess = kind.often / (kind.often + kind.followers / (1.0 + kind.length))
            trust = self._trust.of(kind, guess)
            part = rest * trust / table.count(node)
            for token, behind in table.following(node).items():
                if token != END:
                    mixed[token] = mixed.get(token, 0.0) + part * table.count(behind)
            rest *= 1.0 - trust
            if rest < _NEGLIGIBLE:
                break
        return rest

    def _by_state(self, state: int, tokens: Sequence[int]) -> list[Found]:
        """The strings that end with `tokens` and after which the automaton was in `state`."""
        return [
            Found(match.length + 0.5, table, match.positions)
            for kind, class_of in self._classes
            for table in (self._local, self._shared)
            for match in table.matches((kind, class_of(self._constraint, state)), tokens)
        ]

    def end(self, context: Context) -> None:
        """Let later texts find this one."""
        self._array = None  # nothing is looked for any more
        self._catch_up(context)
        if context.written:
            self._drafter.learn(context.written, self._keys)

    def _catch_up(self, context: Context) -> None:
        """Read the tokens that were written since."""
        advance = context.constraint.advance
        tokens = context.tokens[self._read :]
        self._follow_array(tokens)
        for token in tokens:
            keys = [(kind, of(context.constraint, self._state)) for kind, of in self._classes]
            self._keys.append(keys)
            for key in keys:
                self._local.mark(key)
            self._local.append(token)
            self._local.mark(token)
            self._state = advance(self._state, token)
        self._read = len(context.tokens)

    def _kind(self, string: Found) -> Kind:
        length, table, node = string
        number = 0 if table is self._local else 1 if table is self._shared else 2
        followers = len(table.following(node))
        return Kind(number, min(length, 6.5), min(table.count(node), 4), min(followers, 4))

    def _follow_array(self, tokens: Sequence[int]) -> None:
        """Find the strings of earlier texts that end here, after some tokens more."""
        array = self._array
        if array is None:
            return
        if len(tokens) > _NEAR:
            self._ends, tokens = [], tokens[-_NEAR:]
        for token in tokens:
            ends = [array.following(node).get(token) for node in (*self._ends, array.root)]
            self._ends = [node for node in ends if node is not None]
