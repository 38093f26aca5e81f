"""Beam search, with phrases that each result must contain.

Dynamic beam allocation (Post & Vilar 2018, N18-1119): hypotheses are kept in banks by how many
tokens of the phrases they have, and each bank has its share of the beam, so those that have begun a
phrase are not crowded out by those that avoid it. Without phrases there is one bank.

A partly matched phrase is followed by the Knuth-Morris-Pratt automaton: a byte that breaks it falls
back to the longest prefix of the phrase that still matches, so `aab` is found in `aaab`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from structgen.automata.interface import DEAD
from structgen.errors import SpecError
from structgen.generation.checks import check_count
from structgen.generation.closing import Speller
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Samples, check_found
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


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A prefix, its score (log-probability, with the potentials' factor), and its phrases."""

    place: Place
    logp: float
    score: float
    progress: Progress


@dataclass(frozen=True, slots=True)
class Beam:
    """The `n` best of the texts that the beam finishes, the best first.

    width: hypotheses kept, at least `n` of them. phrases: texts that each result contains.
    What is found was chosen, not drawn: `log_weight` is nan.
    """

    width: int = 8
    phrases: Sequence[str] = field(default=())

    def draw(self, posterior: Posterior, n: int, seed: int | None = None) -> Samples:
        """The `n` best found; `seed` is not used. TruncatedError when the beam finishes fewer."""
        del seed
        check_count("n", n)
        check_count("width", self.width)
        meter = UsageMeter(posterior)
        width = max(self.width, n)
        phrases = Phrases(self.phrases, posterior.constraint.vocabulary)
        beam = [Hypothesis(posterior.start, 0.0, 0.0, phrases.start)]
        done: list[Hypothesis] = []
        while beam:
            done += [h for h in beam if posterior.ended(h.place) and phrases.complete(h.progress)]
            done = sorted(done, key=lambda h: -h.score)[:n]
            bar = done[-1].score if len(done) == n and not posterior.potentials else -math.inf
            # Scores only fall as texts grow, so what is below the bar cannot come back.
            beam = [h for h in beam if not posterior.ended(h.place) and h.score > bar]
            if beam:
                beam = allocate(_candidates(posterior, phrases, beam, width), phrases, width)
        check_found(len(done), n, width)
        samples = tuple(posterior.sample(h.place, h.logp, math.nan, math.nan) for h in done)
        return Samples(samples, np.empty(0), **meter.read())


def allocate(candidates: list[Hypothesis], phrases: Phrases, width: int) -> list[Hypothesis]:
    """The best `width` candidates, each bank having its share.

    A bank's share is floor(width / banks), the last one, which has all phrases, gets the rest too;
    what a bank cannot fill goes to those with fewer tokens met, then to those with more.
    """
    banks: list[list[Hypothesis]] = [[] for _ in range(phrases.total + 1)]
    for candidate in sorted(candidates, key=lambda h: -h.score):
        banks[phrases.met(candidate.progress)].append(candidate)
    shares = [width // len(banks)] * len(banks)
    shares[-1] += width % len(banks)
    spare = 0
    for bank in (*range(len(banks) - 1, -1, -1), *range(len(banks))):
        shares[bank] += spare
        spare = max(shares[bank] - len(banks[bank]), 0)
        shares[bank] -= spare
    return [h for bank, share in zip(banks, shares, strict=True) for h in bank[:share]]


def _candidates(
    posterior: Posterior, phrases: Phrases, beam: list[Hypothesis], width: int
) -> list[Hypothesis]:
    """The best `width` continuations of each hypothesis, and those that bring phrases forward."""
    log_probs = posterior.log_probs([h.place for h in beam])
    found: list[Hypothesis] = []
    for hypothesis, row in zip(beam, log_probs, strict=True):
        ids = posterior.allowed(hypothesis.place)
        wanted = np.intersect1d(ids, np.array(phrases.useful(hypothesis.progress), np.int32))
        tokens = {*_best(ids, row, width), *_best(wanted, row, width)}
        for token in sorted(tokens):
            after = _after(posterior, phrases, hypothesis, token)
            if after is not None:
                place, progress = after
                logp = hypothesis.logp + float(row[token])
                found.append(Hypothesis(place, logp, logp, progress))
    factors = posterior.log_factors([h.place for h in found])
    return [
        Hypothesis(h.place, h.logp, h.logp + float(factor), h.progress)
        for h, factor in zip(found, factors, strict=True)
        if h.logp + factor > -math.inf
    ]


def _best(ids: np.ndarray[tuple[int], np.dtype[np.int32]], row: Doubles, count: int) -> list[int]:
    """The `count` most probable of some tokens."""
    order = np.argsort(-row[ids], kind="stable")[:count]
    return [int(ids[i]) for i in order]


def _after(
    posterior: Posterior, phrases: Phrases, hypothesis: Hypothesis, token: int
) -> tuple[Place, Progress] | None:
    """One token further; None where the text would end without its phrases, or is refused."""
    place = posterior.after(hypothesis.place, token)
    if place.state == DEAD:
        return None
    progress = hypothesis.progress
    if token not in posterior.ends:
        data = posterior.constraint.vocabulary.token_bytes(token)
        progress = phrases.advance(progress, data)
    if posterior.ended(place) and not phrases.complete(progress):
        return None
    return place, progress
