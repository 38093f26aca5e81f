"""In: the prompt and the text so far. Out: drafts that copy from them.

Prompt lookup, or input-guided aggressive decoding (Ge et al. 2022; Sun et al. 2021): where the text
ends like an earlier place, what stood behind that place is drafted. Strings are compared by bytes,
and what is copied is cut into tokens anew, as far as the grammar takes it: behind a JSON quote a
value has other tokens than in the prose that it comes from. Where nothing ends alike, such as at
the beginning of a value, words of the prompt are tried that the grammar takes.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

from structgen.automaton.automaton import DEAD
from structgen.speculate.drafters.forced import RECENT, Cutter, ForcedTexts
from structgen.speculate.drafters.guessing import GuessDrafter, Guesses, ranked
from structgen.speculate.drafters.occurrences import Occurrences
from structgen.speculate.drafters.rates import Rates
from structgen.speculate.interfaces import Context, Round

LONGEST = 32  # bytes, or tokens, that are compared
COPIED = 64  # bytes that are copied at most
_PLACES = 4  # at which the same string is found, and words that are tried
_LOOKED_AT = 64  # words of the prompt that are looked at
_STAYS = 0.8  # guessed probability that copying goes on

_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")

Kind = tuple[str, int]


class Copied(NamedTuple):
    """What stands behind an earlier place: how it was found, its share among others, tokens."""

    kind: Kind
    share: float
    tokens: tuple[int, ...]


class CopyDrafter(GuessDrafter):
    """Drafts what stood behind the same string in the prompt, or earlier in the text.

    unit: "bytes" compares bytes and tries words, too; "tokens" compares tokens only.
    """

    name = "copy"

    def __init__(self, unit: Literal["bytes", "tokens"] = "bytes") -> None:
        self.unit = unit
        self.rates = Rates()
        self._texts = ForcedTexts()

    def guesser(self, context: Context) -> CopyGuesser:
        """For a new text."""
        source: ByteSource | TokenSource
        if self.unit == "bytes":
            source = ByteSource(self._texts.cutter(context.constraint.vocabulary))
        else:
            source = TokenSource()
        return CopyGuesser(source, self.rates)


class CopyGuesser:
    """Guesses along what is copied; a place is what the copies go on with."""

    def __init__(self, source: ByteSource | TokenSource, rates: Rates) -> None:
        self._source = source
        self._rates = rates
        self._place: list[Copied] | None = None

    def start(self, context: Context) -> list[Copied] | None:
        """What stands behind the earlier places that are like this one."""
        found = list(self._source.find(context))
        total = sum(copied.share for copied in found)
        self._place = [copied._replace(share=copied.share / total) for copied in found] or None
        return self._place

    def guesses(self, place: list[Copied], state: int) -> Guesses:
        """The next tokens of the copies, each with its share of how often such copies are right."""
        weights: dict[int, float] = {}
        for kind, share, tokens in place:
            weights[tokens[0]] = weights.get(tokens[0], 0.0) + share * self._rates.of(kind, _STAYS)
        return ranked(weights, 1.0, len(weights))

    def follow(self, place: list[Copied], token: int) -> list[Copied] | None:
        """The copies that go on behind this token."""
        kept = [c for c in place if c.tokens[0] == token and len(c.tokens) > 1]
        total = sum(copied.share for copied in kept)
        return [
            Copied(("goes on", min(kind[1], 3)), share / total, tokens[1:])
            for kind, share, tokens in kept
        ] or None

    def observe(self, context: Context, seen: Round) -> None:
        """Learn how often copies are right, along what was written."""
        place = self._place
        for token in seen.written:
            if not place:
                break
            for kind in {copied.kind for copied in place}:
                right = any(c.tokens[0] == token for c in place if c.kind == kind)
                self._rates.learn(kind, right)
            place = self.follow(place, token)
        self._place = None

    def end(self, context: Context) -> None:
        """The rates stay."""


class TokenSource:
    """Finds the longest string of tokens that ends the text and occurred before."""

    def __init__(self) -> None:
        self._seen = Occurrences(LONGEST, _LOOKED_AT)

    def find(self, context: Context) -> Iterator[Copied]:
        """What followed it, the latest place first."""
        tokens = context.tokens
        self._seen.extend(tokens[len(self._seen) :])
        matches = self._seen.matches(tokens[-1], tokens)
        if matches:
            length, places = matches[0]
            for rank, place in enumerate(places[: -_PLACES - 1 : -1]):
                copied = tuple(self._seen.tokens[place : place + LONGEST])
                yield Copied(("found", min(length, 8)), 0.5**rank, copied)


class ByteSource:
    """Finds the longest string of bytes that ends the text and occurred before, or words."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter = cutter
        self._text = b""  # prompt and text, without special tokens
        self._read = 0
        self._words: list[tuple[int, int]] = []  # where words of the prompt begin and end
        self._copied = 0  # where the last copy ended

    def find(self, context: Context) -> Iterator[Copied]:
        """Copies of what stands behind it, the place next to the last copy first."""
        self._catch_up(context)
        if context.state < 0:
            return
        length, places = self._alike()
        if length:
            self._copied = places[0]
        rank = 0
        for place in places:
            if tokens := self._cut(context, place, 1):
                yield Copied(("found", min(length, 12)), 0.5**rank, tokens)
                rank += 1
        if not _in_word(self._text[-1:]):
            for rank, (place, size) in enumerate(self._tried(context)):
                if tokens := self._cut(context, place, size):
                    yield Copied(("word", rank), 0.5 ** (rank + 2 * bool(length)), tokens)

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
        if low < 3 and _in_word(text[-low - 1 : -low] if low else b"a"):
            return 0, []
        wanted, at = text[size - low :], -1
        places: list[int] = []
        while len(places) < _LOOKED_AT:
            at = text.find(wanted, at + 1, size - 1)
            if at < 0:
                break
            places.append(at + low)
        whole = [p for p in places if not _in_word(text[p - low - 1 : p - low])]
        places = whole or places
        ahead = [p for p in places if p >= self._copied] + [p for p in places if p < self._copied]
        return low, ahead[:_PLACES]

    def _tried(self, context: Context) -> Iterator[tuple[int, int]]:
        """Words that may stand here, and how long they are: those behind the last copy first."""
        allowed = context.constraint.allowed_bytes(context.state)
        first = bisect_left(self._words, (self._copied, 0))
        ahead = itertools.chain(
            itertools.islice(self._words, first, None), itertools.islice(self._words, first)
        )
        found = 0
        for start, end in itertools.islice(ahead, _LOOKED_AT):
            if self._text[start] not in allowed:
                continue
            if context.constraint.advance_bytes(context.state, self._text[start:end]) != DEAD:
                yield start, end - start
                found += 1
                if found == _PLACES:
                    return

    def _cut(self, context: Context, place: int, least: int) -> tuple[int, ...]:
        """The tokens of what stands at a place, as far as it is allowed, at least `least` bytes."""
        data = self._text[place : place + COPIED]
        low, high = least - 1, len(data)
        while low < high:
            middle = (low + high + 1) // 2
            if context.constraint.advance_bytes(context.state, data[:middle]) != DEAD:
                low = middle
            else:
                high = middle - 1
        recent = context.tokens[-RECENT:]
        return tuple(self._cutter.cut_behind(recent, data[:low])) if low >= least else ()

    def _catch_up(self, context: Context) -> None:
        fresh = self._cutter.vocabulary.decode_bytes(context.tokens[self._read :])
        self._text += fresh
        if not self._read:
            text = self._cutter.vocabulary.decode_bytes(context.prompt)
            self._words = [word.span() for word in _WORD.finditer(text)]
        self._read = len(context.tokens)


def _in_word(character: bytes) -> bool:
    return _WORD.match(character) is not None
