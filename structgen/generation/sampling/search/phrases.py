"""How much of the required phrases a text contains, byte by byte.

A partly matched phrase is followed by the Knuth-Morris-Pratt automaton: a byte that breaks it falls
back to the longest prefix of the phrase that still matches, so `aab` is found in `aaab`.
"""

from __future__ import annotations

from collections.abc import Sequence

from structgen.errors import SpecError
from structgen.generation.closing import Speller
from structgen.vocabulary.vocabulary import Vocabulary

Progress = tuple[int, ...]  # bytes of each phrase that were read, its length once it was seen


class Phrases:
    """Phrases to be contained, over one vocabulary. Attributes: `phrases`, `start`, `total`.

    Progress is measured in tokens, as dynamic beam allocation does (N18-1119): `total` is how many
    the phrases have in their shortest spellings.
    """

    def __init__(self, phrases: Sequence[str], vocabulary: Vocabulary) -> None:
        """SpecError for a phrase that is empty or that the vocabulary cannot write."""
        self.phrases = tuple(phrase.encode() for phrase in phrases)
        self.start: Progress = (0,) * len(self.phrases)
        self._vocabulary = vocabulary
        self._failures = [_failures(phrase) for phrase in self.phrases]
        self._left = [_tokens_left(p, Speller(vocabulary)) for p in self.phrases]
        self._useful: dict[tuple[int, int], tuple[int, ...]] = {}
        self.total = sum(left[0] for left in self._left)

    def advance(self, progress: Progress, data: bytes) -> Progress:
        """The progress after more bytes."""
        return tuple(self._read(i, at, data) for i, at in enumerate(progress))

    def met(self, progress: Progress) -> int:
        """Tokens of the phrases that are written, of `total`."""
        return self.total - sum(self._left[i][at] for i, at in enumerate(progress))

    def complete(self, progress: Progress) -> bool:
        """Whether all phrases were seen."""
        return all(at == len(p) for at, p in zip(progress, self.phrases, strict=True))

    def useful(self, progress: Progress) -> list[int]:
        """The tokens that bring a phrase forward which is not seen yet."""
        found: dict[int, None] = {}
        for i, at in enumerate(progress):
            if at < len(self.phrases[i]):
                found |= dict.fromkeys(self._tokens_for(i, at))
        return list(found)

    def _tokens_for(self, i: int, at: int) -> tuple[int, ...]:
        """O(V) the first time; the tokens after which phrase i has more than `at` bytes."""
        if (i, at) not in self._useful:
            wanted = self.phrases[i][at : at + 1]
            tokens = self._vocabulary.text_ids.tolist()
            data = {t: self._vocabulary.token_bytes(t) for t in tokens}
            self._useful[i, at] = tuple(
                t for t in tokens if wanted in data[t] and self._read(i, at, data[t]) > at
            )
        return self._useful[i, at]

    def _read(self, i: int, at: int, data: bytes) -> int:
        phrase, failures = self.phrases[i], self._failures[i]
        # Knuth-Morris-Pratt: on a mismatch go on from the longest border of what has matched.
        for byte in data:
            if at == len(phrase):
                break
            while at and phrase[at] != byte:
                at = failures[at - 1]
            if phrase[at] == byte:
                at += 1
        return at


def _failures(phrase: bytes) -> list[int]:
    """For each beginning of the phrase, its longest proper border."""
    table = [0] * len(phrase)
    border = 0
    for i in range(1, len(phrase)):
        while border and phrase[border] != phrase[i]:
            border = table[border - 1]
        if phrase[border] == phrase[i]:
            border += 1
        table[i] = border
    return table


def _tokens_left(phrase: bytes, speller: Speller) -> list[int]:
    """Tokens that write the phrase from each of its bytes on."""
    spelled = [speller.spell(phrase[at:]) for at in range(len(phrase) + 1)]
    if not phrase or None in spelled:
        raise SpecError(
            f"the phrase {phrase.decode()!r} cannot be written with the vocabulary",
            expected="phrases of one character or more, in tokens that exist",
        )
    return [len(tokens or ()) for tokens in spelled]
