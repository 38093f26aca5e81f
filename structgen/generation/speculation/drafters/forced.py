"""`ForcedDrafter`: drafts the text that every completion starts with.

What the grammar forces is drafted and verified, never written unasked: the model may tokenize the
same bytes differently, and its distribution is what counts. So the guess is the tokenizer's own
cut, together with the tokens before it, without the last tokens that could merge with what follows.
Where only a few tokens are allowed, all of them are drafted: then one of them is right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from structgen.automata.interface import DEAD
from structgen.generation.closing import Speller
from structgen.generation.interfaces import Constraint
from structgen.generation.speculation.drafters.guessing import (
    GuessDrafter,
    Guesses,
    grow,
)
from structgen.generation.speculation.interfaces import Budget, LearnsNothing
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.masks import bitmask
from structgen.util.cached import per_object
from structgen.vocabulary.vocabulary import Vocabulary

FEW = 5  # allowed tokens of which all are drafted
SURE = 0.95  # estimated probability of a forced token
RECENT = 2  # tokens before the forced text that are cut together with it
MOST_BYTES = 256  # of forced text that are cut at once
_REMEMBERED = 1 << 12  # answers kept for one constraint, or vocabulary
_LOOKED_AT = 64  # tokens that could merge past the end; where there are more, one is taken to

Recent = tuple[int, ...]
K = TypeVar("K")
T = TypeVar("T")


class ByteTokenizer:
    """Cuts bytes into tokens as the tokenizer does; without one, into the fewest tokens."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._speller = Speller(vocabulary) if vocabulary.encode is None else None
        self._known: dict[tuple[Recent, bytes], list[int]] = {}

    @cached_property
    def _words(self) -> list[bytes]:
        """The bytes of all text tokens, ascending. O(V log V), computed on first use."""
        return sorted({self.vocabulary.token_bytes(t) for t in self.vocabulary.text_ids.tolist()})

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._words), default=0)

    def cut(self, data: bytes) -> list[int]:
        """The tokens of `data`, up to its last whole character; [] where there are none."""
        if self._speller is not None:
            return list(self._speller.spell(data) or ())
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text = data[: error.start].decode()
        return (self.vocabulary.encode_continuation(text) or []) if text else []

    def tokenize_after(self, before: Sequence[int], data: bytes) -> list[int]:
        """The tokens of `data` after the tokens `before`, cut together if those do not change."""
        key = (tuple(before), data)
        found = self._known.get(key)
        if found is None:
            found = self._tokenize_after(before, data)
            _remember(self._known, key, found)
        return found

    def _tokenize_after(self, before: Sequence[int], data: bytes) -> list[int]:
        special = self.vocabulary.special_ids
        for first in range(len(before)):
            lead = list(before[first:])
            if special.isdisjoint(lead):
                cut = self.cut(self.vocabulary.decode_bytes(lead) + data)
                if len(cut) > len(lead) and cut[: len(lead)] == lead:
                    return cut[len(lead) :]
        return self.cut(data)

    def stable_prefix(
        self, constraint: Constraint, state: int, data: bytes, tokens: list[int]
    ) -> list[int]:
        """The first of the `tokens` of `data`, read from `state` on, that later text cannot change.

        A token is dropped when it reaches over a position from which a longer token could be cut,
        one that begins with the rest of `data` and goes on with what is allowed after it.
        """
        after = constraint.advance_bytes(state, data)
        following = constraint.allowed_bytes(after)
        stable = next(
            i
            for i in range(max(0, len(data) - self._longest + 1), len(data) + 1)
            if i == len(data) or self._goes_on(constraint, after, following, data[i:])
        )
        end, kept = 0, []
        for token in tokens:
            end += len(self.vocabulary.token_bytes(token))
            if end > stable:
                break
            kept.append(token)
        return kept

    def _goes_on(
        self, constraint: Constraint, after: int, following: frozenset[int], start: bytes
    ) -> bool:
        first = bisect_right(self._words, start)
        for looked_at, word in enumerate(self._words[first : first + _LOOKED_AT + 1]):
            if not word.startswith(start):
                return False
            rest = word[len(start) :]
            if looked_at == _LOOKED_AT:
                return True
            if rest[0] in following and constraint.advance_bytes(after, rest) != DEAD:
                return True
        return False


@lru_cache(maxsize=4)
def byte_tokenizer(vocabulary: Vocabulary) -> ByteTokenizer:
    """The ByteTokenizer of a vocabulary; those of the last few are cached."""
    return ByteTokenizer(vocabulary)


class ForcedText:
    """What one constraint forces, remembered by state. Safe to share by threads."""

    def __init__(self, vocabulary: Vocabulary, few: int = FEW) -> None:
        # The constraint is given with each question: kept here, it would never be freed.
        self._tokenizer = byte_tokenizer(vocabulary)
        self._few = few
        self._bytes: dict[int, bytes] = {}
        self._tokens: dict[tuple[int, Recent], Recent] = {}
        self._choices: dict[int, Recent] = {}

    def tokens(self, constraint: Constraint, state: int, recent: Recent) -> Recent:
        """The tokens forced in `state`, after the tokens `recent`; () where there are none."""
        found = self._tokens.get((state, recent))
        if found is None:
            found = self._worked_out(constraint, state, recent)
            ahead = found
            while True:  # the states on the way get the rest of it
                _remember(self._tokens, (state, recent), ahead)
                if not ahead:
                    break
                state = constraint.advance(state, ahead[0])
                recent, ahead = (*recent, ahead[0])[-RECENT:], ahead[1:]
        return found

    def _worked_out(self, constraint: Constraint, state: int, recent: Recent) -> Recent:
        data = self._bytes.get(state)
        if data is None:
            data = constraint.forced_bytes(state)[:MOST_BYTES]
            _remember(self._bytes, state, data)
        if not data:
            return ()
        cut = self._tokenizer.tokenize_after(recent, data)
        return tuple(self._tokenizer.stable_prefix(constraint, state, data, cut))

    def choices(self, constraint: Constraint, state: int) -> Recent:
        """All allowed tokens if they are few, else ()."""
        found = self._choices.get(state)
        if found is None:
            size = constraint.vocabulary.size
            row = bitmask.row_of(constraint, state, size)
            words = np.flatnonzero(row)
            few = len(words) <= self._few and np.bitwise_count(row[words].view(np.uint32)).sum()
            found = ()
            if 0 < few <= self._few:
                found = tuple(np.flatnonzero(bitmask.unpack(row, size)).tolist())
            _remember(self._choices, state, found)
        return found


def _remember(known: dict[K, T], key: K, value: T) -> None:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value


@dataclass
class ForcedGuesser(LearnsNothing):
    """Guesses forced tokens, and each of a few allowed ones. Its cursor: the last tokens."""

    constraint: Constraint
    known: ForcedText

    def start(self, context: Context) -> Recent:
        """The last tokens."""
        return tuple(context.tokens[-RECENT:])

    def guesses(self, cursor: Recent, state: int) -> Guesses:
        """One token where text is forced; all of those allowed, equally likely, where few are."""
        ahead = self.known.tokens(self.constraint, state, cursor)
        if ahead:
            return [(ahead[0], SURE)]
        choices = self.known.choices(self.constraint, state)
        return [(token, 1.0 / len(choices)) for token in choices]

    def follow(self, cursor: Recent, token: int) -> Recent:
        """The last tokens, with one more."""
        return (*cursor, token)[-RECENT:]


class ForcedDrafter(GuessDrafter):
    """Drafts what the grammar forces, and nothing else; alone, or after another draft.

    few: the number of allowed tokens up to which all of them are drafted.
    """

    name = "forced"

    def __init__(self, few: int = FEW) -> None:
        def forced_text(constraint: Constraint) -> ForcedText:
            return ForcedText(constraint.vocabulary, few)

        self._text_of = per_object(forced_text)

    def guesser(self, context: Context) -> ForcedGuesser:
        """The guesser of a new text."""
        return ForcedGuesser(context.constraint, self._text_of(context.constraint))

    def extend(self, tree: DraftTree, budget: Budget) -> None:
        """Add what is forced after every leaf of a tree, within the whole tree's budget."""
        context = tree.context
        recent = context.tokens[-RECENT:]
        starts = [(leaf, tuple([*recent, *tree.path(leaf)][-RECENT:])) for leaf in tree.leaves()]
        grow(tree, starts, self.guesser(context), budget)
