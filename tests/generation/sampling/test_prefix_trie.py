"""Tests that prefix tries bound the probability of fitting, and survive being saved."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import structgen as sg
from structgen.errors import ArtifactError, GenerationError
from structgen.generation.sampling.exact import exact_law, kl
from structgen.generation.sampling.interfaces import Place, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import SequenceSampler
from structgen.generation.sampling.samplers.prefix_trie import (
    NONE,
    PrefixTrie,
    load_trie,
    save_trie,
)
from structgen.generation.sampling.samplers.trie_samplers import Asap, Cars
from structgen.generation.sampling.table import TableModel
from tests.generation.sampling.toys import (
    BITS,
    PATTERNS,
    RARE,
    future,
    letters,
    masked_law,
    posterior_distribution,
    seventeen,
)


def grown(posterior: Posterior, n: int, sampler: type[Asap | Cars] = Asap) -> PrefixTrie:
    """A trie that has seen `n` samples."""
    trie = PrefixTrie()
    sampler(trie).draw(posterior, n, 4)
    return trie


def next_distribution(posterior: Posterior, trie: PrefixTrie) -> dict[Tokens, float]:
    """The exact distribution of the next sample that ASAp would draw, dead ends left out.

    Written apart from the sampler: p times theta where the trie knows, masked p where it does not.
    """
    distribution: dict[Tokens, float] = {}

    def go_on(place: Place, node: int, q: float) -> None:
        if posterior.ended(place):
            distribution[place.tokens] = q
            return
        ids = posterior.allowed(place).tolist()
        if not ids:
            return
        weights = np.exp(posterior.log_probs([place])[0])[ids]
        if node != NONE:
            weights *= np.exp(trie.nodes[node].log_theta)
        for token, weight in zip(ids, weights, strict=True):
            if weight > 0:
                below = trie.child(node, token) if node != NONE else NONE
                go_on(posterior.after(place, token), below, q * float(weight / weights.sum()))

    go_on(posterior.start, trie.root, 1.0)
    total = sum(distribution.values())
    return {y: q / total for y, q in distribution.items()}


def bounds_hold(posterior: Posterior, trie: PrefixTrie) -> None:
    """No theta is below the exact probability that the prefix ends well."""
    for node, tokens in enumerate(trie.prefixes()):
        place = posterior.start
        for token in tokens:
            place = posterior.after(place, token)
        entry = trie.nodes[node]
        for token, log_theta in zip(entry.ids.tolist(), entry.log_theta, strict=True):
            assert math.exp(log_theta) >= future(posterior, posterior.after(place, token)) - 1e-12
    assert math.exp(trie.log_theta) >= future(posterior, posterior.start) - 1e-12


@pytest.mark.parametrize("sampler", [Asap, Cars])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_theta_never_falls_below_the_future(pattern: str, sampler: type[Asap | Cars]) -> None:
    """At 1, 5 and 30 samples, and with all texts seen it is the evidence itself."""
    posterior = letters(pattern, 8, max_tokens=3)
    for n in (1, 5, 30):
        bounds_hold(posterior, grown(posterior, n, sampler))
    everything = grown(posterior, 600, sampler)
    assert math.exp(everything.log_theta) == pytest.approx(
        future(posterior, posterior.start), rel=0.05
    )


def test_asap_is_exact_once_the_rare_string_was_drawn() -> None:
    """0.7538 nats before, 0 after 00000, which masking draws half of the time."""
    posterior = seventeen()
    target = posterior_distribution(posterior)
    assert kl(next_distribution(posterior, PrefixTrie()), target) == pytest.approx(0.7538, abs=5e-5)
    seen = set()
    trie = PrefixTrie()
    for seed in range(20):
        [sample] = Asap(trie).draw(posterior, 1, seed)
        seen.add(sample.tokens)
        distance = kl(next_distribution(posterior, trie), target)
        if RARE in seen:
            assert distance == pytest.approx(0.0, abs=1e-12)
        else:
            assert distance > 0.5
    assert RARE in seen
    assert math.exp(trie.log_theta) == pytest.approx(17 / 32)


@pytest.mark.thorough
def test_the_divergence_of_asap_falls() -> None:
    """Over random models, the mean exact divergence of the next sample after 0, 1, 2, 5, 20, 60.

    Within a run it may rise for a while: no theorem says that it does not.
    """
    distances = np.zeros((40, 6))
    constraint = sg.compile(sg.Regex("00000|1[01]{4}"), BITS)
    for i in range(len(distances)):
        model = TableModel(3, partial(coin, i))
        posterior = Posterior(model, constraint, max_tokens=5)
        target = posterior_distribution(posterior)
        trie = PrefixTrie()
        assert next_distribution(posterior, trie) == pytest.approx(masked_law(posterior))
        for k, more in enumerate((0, 1, 1, 3, 15, 40)):
            if more:
                Asap(trie).draw(posterior, more, 10 * i + k)
            distances[i, k] = kl(next_distribution(posterior, trie), target)
    mean = distances.mean(axis=0)
    assert (np.diff(mean) < 0).all()
    assert mean[0] > 1.0
    assert mean[-1] < 0.01


def coin(seed: int, prefix: Tokens) -> list[float]:
    """A distribution over two bits, another for each prefix; the text never ends by itself."""
    one = float(np.random.default_rng([seed, len(prefix), *prefix]).random())
    return [1 - one, one, 0.0]


def test_temperature_after_the_trie_would_not_come_to_the_posterior() -> None:
    """A control that fails: (p * theta) ** (1 / T) is not the posterior at temperature T."""
    temperature = 0.5
    cold = letters("aaa|b[abc]{2}", 2, max_tokens=4)
    raw = cold.model.log_probs

    def at_temperature(prefixes: list[Tokens]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        scaled = raw(prefixes) / temperature
        found: np.ndarray[tuple[int, int], np.dtype[np.float64]] = scaled - np.log(
            np.exp(scaled).sum(axis=1, keepdims=True)
        )
        return found

    cold.model.log_probs = at_temperature  # type: ignore[method-assign,assignment]
    target = posterior_distribution(cold)
    warm = letters("aaa|b[abc]{2}", 2, max_tokens=4)
    trie = PrefixTrie()
    Asap(trie).draw(warm, 400, 1)
    wrong = {y: p ** (1 / temperature) for y, p in posterior_distribution(warm).items()}
    total = sum(wrong.values())
    assert kl({y: p / total for y, p in wrong.items()}, target) > 0.01
    trie = PrefixTrie()
    Asap(trie).draw(cold, 400, 1)
    assert kl(next_distribution(cold, trie), target) < 1e-3


@pytest.mark.parametrize("sampler", [Asap, Cars])
def test_a_saved_trie_is_the_same_trie(sampler: type[Asap | Cars], tmp_path: Path) -> None:
    """All nodes come back, deeper ones too, and sampling goes on as it would have."""
    posterior = letters(PATTERNS[1], 6)
    trie = grown(posterior, 20, sampler)
    save_trie(trie, tmp_path / "trie")
    loaded = load_trie(tmp_path / "trie")
    assert len(loaded) == len(trie) > 5
    assert list(loaded.prefixes()) == list(trie.prefixes())
    assert loaded.log_theta == pytest.approx(trie.log_theta)
    assert loaded.key == trie.key
    again: list[SequenceSampler] = [sampler(trie), sampler(loaded)]
    texts = [[s.tokens for s in one.draw(posterior, 15, 9)] for one in again]
    assert texts[0] == texts[1]


def test_a_file_is_read_and_written_by_the_sampler(tmp_path: Path) -> None:
    """The second run starts with what the first has learnt, and needs the model less."""
    file = tmp_path / "kept.trie"
    first = Asap(file).draw(seventeen(), 40, 1)
    second = Asap(str(file)).draw(seventeen(), 40, 2)
    assert second.model_rows < first.model_rows
    assert second.bounds is not None
    assert second.bounds[1] == pytest.approx(17 / 32)


def test_a_directory_keeps_the_tries_apart(tmp_path: Path) -> None:
    """A file for each problem; a directory serves many prompts and specs."""
    first = Cars(tmp_path).draw(seventeen(), 20, 1)
    Cars(tmp_path).draw(letters("a|b", 1), 1, 1)
    assert len(list(tmp_path.iterdir())) == 2
    assert Cars(tmp_path).draw(seventeen(), 20, 2).model_rows < first.model_rows


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """One flipped byte, or another kind of file."""
    file = tmp_path / "trie"
    save_trie(grown(seventeen(), 5), file)
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ArtifactError):
        load_trie(file)


def test_merging_learns_from_both() -> None:
    """The union of the nodes, each theta at most either one's, and bounds still hold."""
    posterior = letters(PATTERNS[1], 7, max_tokens=5)
    one, other = PrefixTrie(), PrefixTrie()
    Asap(one).draw(posterior, 6, 1)
    Cars(other).draw(posterior, 6, 2)
    prefixes = set(one.prefixes()) | set(other.prefixes())
    before = one.log_theta, other.log_theta
    one.merge(other)
    assert set(one.prefixes()) == prefixes
    assert one.log_theta <= min(before) + 1e-12
    bounds_hold(posterior, one)


def test_a_trie_serves_one_problem() -> None:
    """Another spec, budget or model gets an error, not another problem's bounds."""
    trie = grown(seventeen(), 3)
    for other in (letters("a|b", 1), letters("a|b", 2), letters("a|b", 1, max_tokens=3)):
        with pytest.raises(GenerationError, match="another prompt"):
            Asap(trie).draw(other, 1, 0)
    with pytest.raises(GenerationError, match="another prompt"):
        grown(letters("a|b", 1), 1).merge(trie)


@pytest.mark.parametrize("sampler", [Asap, Cars])
def test_a_full_trie_is_cut_back_and_stays_right(sampler: type[Asap | Cars]) -> None:
    """Memory is bounded, the bounds hold, and samples go on to be proper."""
    posterior = letters(PATTERNS[1], 3, max_tokens=6)
    trie = PrefixTrie(max_bytes=2000)
    samples = sampler(trie).draw(posterior, 400, 5)
    assert trie.nbytes <= 2000
    assert trie.nbytes == sum(node.nbytes for node in trie.nodes)
    bounds_hold(posterior, trie)
    evidence = math.exp(exact_law(posterior).log_evidence)
    estimate = samples.satisfied
    assert abs(estimate.value - evidence) < 4 * estimate.standard_error
    for number, node in enumerate(trie.nodes):
        assert node.parent < number


def test_what_is_kept_is_what_matters() -> None:
    """Of the seventeen strings, the branch of 00000 is where masking goes wrong."""
    posterior = seventeen()
    trie = grown(posterior, 200)
    trie.max_bytes = 2 * sum(node.nbytes for node in trie.nodes[:1]) * 3
    trie.bound()
    assert {(), (0,)} <= set(trie.prefixes())
    assert (1,) not in set(trie.prefixes())
