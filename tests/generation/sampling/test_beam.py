"""Tests that beam search finds what enumeration finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import SpecError, TruncatedError
from structgen.generation import sampling
from structgen.generation.closing import Speller
from structgen.generation.sampling.exact import exact_law
from structgen.generation.sampling.interfaces import Place
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.samplers.best_of import BestOf
from structgen.generation.sampling.search.beam import Beam, Hypothesis, Phrases, allocate
from tests.generation.sampling.toys import LETTERS, letters

WIDE = 10_000


def best(posterior: Posterior, *phrases: str) -> tuple[float, set[tuple[int, ...]]]:
    """The highest log-probability of a text with all phrases, and the sequences that have it."""
    distribution = exact_law(posterior)
    found = {}
    for tokens, logp in distribution.log_probs.items():
        text = posterior.constraint.vocabulary.decode_bytes(
            t for t in tokens if t not in posterior.ends
        ).decode()
        if all(phrase in text for phrase in phrases):
            found[tokens] = logp + distribution.log_evidence
    top = max(found.values())
    return top, {tokens for tokens, logp in found.items() if logp > top - 1e-9}


@pytest.mark.parametrize("phrases", [(), ("ab",), ("ba", "c"), ("bab",)])
@pytest.mark.parametrize("seed", range(4))
def test_an_unbounded_beam_finds_the_best_text(seed: int, phrases: tuple[str, ...]) -> None:
    """By enumeration; with phrases, of the texts that contain them."""
    posterior = letters("(ab|ba|c)*", seed, max_tokens=5)
    top, which = best(posterior, *phrases)
    [found] = Beam(WIDE, phrases).draw(posterior, 1)
    assert found.tokens in which
    assert found.logp_model == pytest.approx(top)
    assert math.isnan(found.log_weight)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [6, 24])
def test_a_small_beam_covers_and_comes_near(width: int) -> None:
    """Every text found contains the phrases; the gap to the best one is small, and often none."""
    gaps = []
    for seed in range(12):
        posterior = letters("[abc]*", seed, max_tokens=6)
        top, _ = best(posterior, "cab", "bc")
        [found] = Beam(width, ("cab", "bc")).draw(posterior, 1)
        assert "cab" in found.text
        assert "bc" in found.text
        gaps.append(top - found.logp_model)
    assert min(gaps) > -1e-9
    assert np.mean(gaps) < {6: 2.0, 24: 0.3}[width]


def test_without_banks_the_phrases_are_crowded_out() -> None:
    """A control: the best of a beam of the same width that only filters does not cover."""
    missed = 0
    for seed in range(12):
        posterior = letters("[abc]*", seed, max_tokens=6)
        found = Beam(6).draw(posterior, 6)
        missed += not any("cab" in s.text and "bc" in s.text for s in found)
    assert missed > 6


def test_several_results_come_best_first() -> None:
    """The n best, in order, each once."""
    posterior = letters("(ab|ba)*c?", 3, max_tokens=5)
    distribution = exact_law(posterior)
    wanted = sorted(
        (logp + distribution.log_evidence for logp in distribution.log_probs.values()), reverse=True
    )
    found = Beam(WIDE).draw(posterior, 5)
    assert [s.logp_model for s in found] == pytest.approx(wanted[:5])
    assert len({s.tokens for s in found}) == 5


def test_a_phrase_that_does_not_fit_is_never_found() -> None:
    """No text of the spec contains it."""
    with pytest.raises(TruncatedError):
        Beam(8, ("cc",)).draw(letters("(ab|ba)*c?", 3), 1)


@given(text=st.text("ab", max_size=12), phrase=st.text("ab", min_size=1, max_size=5))
def test_progress_is_that_of_the_best_overlap(text: str, phrase: str) -> None:
    """Byte by byte, as a scan of the whole text would say; `a a b` is not missed in `a a a b`."""
    phrases = Phrases([phrase], LETTERS)
    progress = phrases.start
    for i, byte in enumerate(text.encode()):
        progress = phrases.advance(progress, bytes((byte,)))
        read = text[: i + 1]
        overlap = max(k for k in range(len(phrase) + 1) if read.endswith(phrase[:k]))
        assert progress == ((len(phrase) if phrase in read else overlap),)
    assert phrases.complete(progress) == (phrase in text)
    spelled = Speller(LETTERS).spell(phrase.encode())
    assert spelled is not None
    assert phrases.total == len(spelled)
    assert phrases.met(progress) <= phrases.total
    assert (phrases.met(progress) == phrases.total) == (phrase in text)


def test_useful_tokens_bring_a_phrase_forward() -> None:
    """From the start of "abc": those that end in its beginning, or hold more of it."""
    phrases = Phrases(["abc"], LETTERS)
    names = {LETTERS.token_bytes(t) for t in phrases.useful(phrases.start)}
    assert names == {b"a", b"ab"}
    assert {LETTERS.token_bytes(t) for t in phrases.useful((2,))} == {b"c"}
    assert phrases.useful((3,)) == []


@pytest.mark.parametrize("phrase", ["", "d"])
def test_a_phrase_that_cannot_be_written_is_refused(phrase: str) -> None:
    """Empty, or in letters that no token has."""
    with pytest.raises(SpecError):
        Phrases([phrase], LETTERS)


def test_banks_share_the_beam() -> None:
    """Each bank its part, the last one the rest; what one cannot fill goes to its neighbours."""
    phrases = Phrases(["cc"], LETTERS)  # two tokens: three banks

    def many(progress: int, count: int, score: float) -> list[Hypothesis]:
        return [Hypothesis(Place(0, ()), 0.0, score - i, (progress,)) for i in range(count)]

    full = allocate(many(0, 9, 0.0) + many(1, 9, -50.0) + many(2, 9, -90.0), phrases, 8)
    assert [h.progress[0] for h in full] == [0, 0, 1, 1, 2, 2, 2, 2]
    empty = allocate(many(0, 9, 0.0) + many(2, 1, -90.0), phrases, 8)
    assert [h.progress[0] for h in empty] == [0] * 7 + [2]
    late = allocate(many(2, 9, 0.0), phrases, 8)
    assert len(late) == 8


def test_the_best_of_several_is_the_best() -> None:
    """By the model's probability, or by a score of one's own."""
    posterior = letters("(ab|ba)*c?", 3, max_tokens=5)
    by_model = BestOf(40).draw(posterior, 2, 1)
    drawn = sampling.draw(posterior, "mask", 80, 1)
    for k, one in enumerate(by_model):
        group = drawn[40 * k : 40 * k + 40]
        assert one.logp_model == max(s.logp_model for s in group)
    longest = BestOf(40, score=len).draw(posterior, 1, 1)[0]
    assert len(longest.text) == max(len(s.text) for s in drawn[:40])
    assert math.isnan(by_model.effective_sample_size)
    assert by_model.satisfied.value > 0
