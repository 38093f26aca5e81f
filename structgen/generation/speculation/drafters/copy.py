"""`CopyDrafter`: drafts copied from the prompt or the text so far (prompt lookup).

Also known as input-guided aggressive decoding (Ge et al. 2022; Sun et al. 2021): where the text
ends like an earlier passage, what followed that passage is drafted. Strings are compared by bytes,
and what is copied is tokenized anew, as far as the grammar allows it: after a JSON quote a value
has other tokens than in the prose that it comes from. Where nothing matches, such as at the
beginning of a value, words of the prompt are tried that the grammar allows.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

from structgen.automata.interface import DEAD
from structgen.generation.speculation.drafters.forced import RECENT, ByteTokenizer, byte_tokenizer
from structgen.generation.speculation.drafters.guessing import (
    GuessDrafter,
    Guesses,
    Rates,
    ranked,
)
from structgen.generation.speculation.drafters.suffix_index import Occurrences
from structgen.generation.speculation.interfaces import LearnsNothing, Round
from structgen.generation.speculation.tree import Context

LONGEST = 32  # bytes, or tokens, that are compared
COPIED = 64  # bytes that are copied at most
_PLACES = 4  # occurrences of a string, and words, that are tried
_LOOKED_AT = 64  # words of the prompt that are looked at
_STAYS = 0.7  # guessed probability that a copy is right, before any was seen

_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_LAST_WORD = re.compile(rb"([0-9A-Za-z\x80-\xff]+)[^0-9A-Za-z\x80-\xff]*\Z")

Kind = tuple[str, int]


class Copied(NamedTuple):
    """What followed an earlier passage: how it was found, its share among others, tokens."""

    kind: Kind
    share: float
    tokens: tuple[int, ...]


class CopyDrafter(GuessDrafter):
    """Drafts what followed the same string in the prompt, or earlier in the text.

    unit: "bytes" compares bytes and tries words, too; "tokens" compares tokens only.
    """

    name = "copy"

    def __init__(self, unit: Literal["bytes", "tokens"] = "bytes") -> None:
        self.unit = unit
        self.rates = Rates()

    def guesser(self, context: Context) -> CopyGuesser:
        """The guesser of a new text."""
        source: ByteSource | TokenSource
        if self.unit == "bytes":
            source = ByteSource(byte_tokenizer(context.constraint.vocabulary))
        else:
            source = TokenSource()
        return CopyGuesser(source, self.rates)


class CopyGuesser(LearnsNothing):
    """Guesses along what is copied; a cursor is what the copies go on with."""

    def __init__(self, source: ByteSource | TokenSource, rates: Rates) -> None:
        self._source = source
        self._rates = rates
        self._cursor: list[Copied] | None = None

    def start(self, context: Context) -> list[Copied] | None:
        """What followed the earlier passages that match the end of the text."""
        self._cursor = list(self._source.find(context)) or None
        return self._cursor

    def guesses(self, cursor: list[Copied], state: int) -> Guesses:
        """The next tokens of the copies, each with its share of how often such copies are right."""
        weights: dict[int, float] = {}
        for kind, share, tokens in cursor:
            weights[tokens[0]] = weights.get(tokens[0], 0.0) + share * self._rates.of(
                kind, _guess(kind)
            )
        return ranked(weights, max(1.0, sum(weights.values())), len(weights))

    def follow(self, cursor: list[Copied], token: int) -> list[Copied] | None:
        """The copies that go on after this token."""
        kept = [c for c in cursor if c.tokens[0] == token and len(c.tokens) > 1]
        total = sum(copied.share for copied in kept)
        return [
            Copied(("goes on", min(kind[1], 3)), share / total, tokens[1:])
            for kind, share, tokens in kept
        ] or None

    def observe(self, context: Context, seen: Round) -> None:
        """Learn how often copies are right, along what was written."""
        cursor = self._cursor
        for token in seen.written:
            if not cursor:
                break
            for kind in {copied.kind for copied in cursor}:
                right = any(c.tokens[0] == token for c in cursor if c.kind == kind)
                self._rates.learn(kind, right)
            cursor = self.follow(cursor, token)
        self._cursor = None


class TokenSource:
    """Finds the longest string of tokens that ends the text and occurred before."""

    def __init__(self) -> None:
        self._seen = Occurrences(LONGEST, _LOOKED_AT)

    def find(self, context: Context) -> Iterator[Copied]:
        """What followed it, the latest occurrence first."""
        tokens = context.tokens
        self._seen.extend(tokens[len(self._seen) :])
        matches = self._seen.matches(tokens[-1], tokens)
        if matches:
            length, positions = matches[0]
            latest = positions[: -_PLACES - 1 : -1]
            for position, share in zip(latest, _shares(len(latest)), strict=True):
                copied = tuple(self._seen.tokens[position : position + LONGEST])
                yield Copied(("found", min(length, 8)), share, copied)


class ByteSource:
    """Finds the longest string of bytes that ends the text and occurred before, or words."""

    def __init__(self, cuts: ByteTokenizer) -> None:
        self._tokenizer = cuts
        self._text = b""  # prompt and text, without special tokens
        self._read = 0
        self._words: list[tuple[int, int]] = []  # where words of the prompt begin and end
        self._numbers: dict[bytes, list[int]] = {}  # which of them a word is
        self._copied = 0  # where the last copy ended

    def find(self, context: Context) -> Iterator[Copied]:
        """Copies of what followed it, the passage next to the last copy first."""
        self._catch_up(context)
        if context.state < 0:
            return
        length, positions = self._alike()
        if length:
            self._copied = positions[0]
        cut = [tokens for position in positions if (tokens := self._cut(context, position, 1))]
        inside = _in_word(self._text[-1:])
        for tokens, share in zip(cut, _shares(len(cut)), strict=True):
            yield Copied(("found" if inside else "found signs", min(length, 12)), share, tokens)
        if not inside:
            for rank, (kind, position, size) in enumerate(self._tried(context)):
                if tokens := self._cut(context, position, size):
                    yield Copied((kind, rank), 1.0, tokens)

    def _alike(self) -> tuple[int, list[int]]:
        """How long the string is, and where its occurrences end."""
        text, size = self._text, len(self._text)
        low, high = 0, min(LONGEST, size - 1)
        while low < high:  # a string occurs if a longer one with the same end does
            middle = (low + high + 1) // 2
            if text.find(text[size - middle :], 0, size - 1) >= 0:
                low = middle
            else:
                high = middle - 1
        # A match of one or two bytes in the middle of a word says nothing.
        if low < 3 and _in_word(text[-low - 1 : -low] if low else b"a"):
            return 0, []
        wanted, at = text[size - low :], -1
        positions: list[int] = []
        while len(positions) < _LOOKED_AT:
            at = text.find(wanted, at + 1, size - 1)
            if at < 0:
                break
            positions.append(at + low)
        # Matches that begin where a word begins are better; those after the last copy come first,
        # since values are mostly copied in the order of the prompt.
        whole = [p for p in positions if not _in_word(text[p - low - 1 : p - low])]
        positions = whole or positions
        ahead = [p for p in positions if p >= self._copied] + [
            p for p in positions if p < self._copied
        ]
        return low, ahead[:_PLACES]

    def _tried(self, context: Context) -> Iterator[tuple[str, int, int]]:
        """Words that may stand here: why they are tried, where they begin, how long they are.

        First those after the text's last word, such as a key, in the prompt; then those after the
        last copy.
        """
        allowed = context.constraint.allowed_bytes(context.state)
        words, first = self._words, bisect_left(self._words, (self._copied, 0))
        last = _LAST_WORD.search(self._text)
        behind = self._numbers.get(last[1], []) if last else []
        numbers = itertools.chain(
            (("behind", n + 1) for n in behind[:_PLACES]),
            (("ahead", n) for n in range(first, min(first + _LOOKED_AT, len(words)))),
            (("ahead", n) for n in range(min(first, _LOOKED_AT))),
        )
        tried: set[bytes] = set()
        for kind, number in numbers:
            if number >= len(words):
                continue
            start, end = words[number]
            word = self._text[start:end]
            if word[0] not in allowed or word in tried:
                continue
            if context.constraint.advance_bytes(context.state, word) != DEAD:
                yield kind, start, end - start
                tried.add(word)
                if len(tried) == _PLACES:
                    return

    def _cut(self, context: Context, position: int, least: int) -> tuple[int, ...]:
        """The tokens of the text at a position, as far as it is allowed, at least `least` bytes."""
        data = self._text[position : position + COPIED]
        low, high = least - 1, len(data)
        if context.constraint.advance_bytes(context.state, data) != DEAD:
            low = high  # as is usual inside of strings
        while low < high:
            middle = (low + high + 1) // 2
            if context.constraint.advance_bytes(context.state, data[:middle]) != DEAD:
                low = middle
            else:
                high = middle - 1
        recent = context.tokens[-RECENT:]
        return tuple(self._tokenizer.tokenize_after(recent, data[:low])) if low >= least else ()

    def _catch_up(self, context: Context) -> None:
        fresh = self._tokenizer.vocabulary.decode_bytes(context.tokens[self._read :])
        self._text += fresh
        if not self._read:
            text = self._tokenizer.vocabulary.decode_bytes(context.prompt)
            self._words = [word.span() for word in _WORD.finditer(text)]
            for number, (start, end) in enumerate(self._words):
                self._numbers.setdefault(text[start:end], []).append(number)
        self._read = len(context.tokens)


def _guess(kind: Kind) -> float:
    """How likely a kind of copy is right, before any was seen: of words, each less than before."""
    return 0.5 ** (kind[1] + 1) if kind[0] in {"behind", "ahead"} else _STAYS


def _shares(count: int) -> list[float]:
    """Of the positions of one string, each half as likely as the one before; together 1."""
    weights = [0.5**rank for rank in range(count)]
    return [weight / sum(weights) for weight in weights]


def _in_word(character: bytes) -> bool:
    return _WORD.match(character) is not None
