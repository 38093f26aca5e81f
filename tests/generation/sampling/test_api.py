"""Tests what users of `generate(sampler=...)` can rely on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.errors import GenerationError, TruncatedError
from structgen.generation import sampling
from structgen.generation.sampling.registry import FAMILIES, sampler_named
from structgen.generation.sampling.samplers.independent import Mask
from structgen.generation.sampling.samplers.smc import Smc
from tests.generation.models import build_model, build_tokenizer

SPEC = sg.Regex("(true|ab){1,3}")
SAMPLERS = ["mask", "awrs", "asap", "cars", "smc", "best_of"]


@pytest.fixture(scope="module")
def generator() -> sg.Generator:
    """A random model behind its tokenizer."""
    tokenizer = build_tokenizer()
    return sg.Generator(build_model(tokenizer), tokenizer)


@pytest.mark.parametrize("name", [*SAMPLERS, "beam"])
def test_every_text_fits(generator: sg.Generator, name: str) -> None:
    """All samplers write texts of the spec, with the model's own probability of their tokens."""
    samples = generator.sample("x", SPEC, sampler=name, n=3, seed=1, max_tokens=8, temperature=2.0)
    assert len(samples) == 3
    for one in samples:
        sg.check(SPEC, one.text)
        assert one.value == one.text
        assert one.logp_model < 0
    again = generator.sample("x", SPEC, sampler=name, n=3, seed=1, max_tokens=8, temperature=2.0)
    assert [s.tokens for s in again] == [s.tokens for s in samples]


@pytest.mark.parametrize("name", ["mask", "awrs", "smc", "rejection"])
def test_a_sample_does_not_depend_on_those_beside_it(name: str) -> None:
    """The first three of five are the three."""
    posterior = table()
    few, many = (sampling.draw(posterior, name, n, seed=5) for n in (3, 5))
    assert [s.tokens for s in few] == [s.tokens for s in many[:3]]


@pytest.mark.parametrize("name", ["mask", "awrs", "smc", "asap", "cars", "rejection"])
def test_the_evidence_is_estimated_with_its_error(name: str) -> None:
    """How probable the model makes the constraint by itself; tries bound it for certain."""
    posterior = table()
    evidence = math.exp(sampling.exact_law(posterior).log_evidence)
    samples = sampling.draw(posterior, name, 400, seed=3)
    estimate = samples.satisfied
    assert abs(estimate.value - evidence) < 4 * estimate.standard_error + 1e-9
    assert estimate.standard_error < 0.2 * evidence
    assert 1 <= samples.effective_sample_size <= 400 + 1e-9
    if name in {"asap", "cars"}:
        assert samples.bounds is not None
        assert samples.bounds[0] <= evidence <= samples.bounds[1] + 1e-12
        assert samples.bounds[0] > 0


def test_generate_takes_a_sampler(generator: sg.Generator) -> None:
    """Through the one public function: a Sample, or with n Samples."""
    model = (generator.target.model, generator.tokenizer)
    one = sg.generate(model, "x", SPEC, sampler="mask", seed=1, max_tokens=8)
    many = sg.generate(model, "x", SPEC, sampler=Smc(3), n=2, seed=1, max_tokens=8)
    assert isinstance(one, sampling.Sample)
    assert isinstance(many, sampling.Samples)
    assert len(many) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": "smcc"}, "did you mean 'smc'"),
        ({"sampler": Smc(), "top_k": 5}, "temperature alone"),
        ({"temperature": 0.0}, "more than 0"),
        ({"n": 0}, "1 or more"),
    ],
)
def test_options_that_make_no_sense(
    generator: sg.Generator, options: dict[str, Any], words: str
) -> None:
    """Are refused in words."""
    with pytest.raises(GenerationError, match=words):
        generator.sample("x", SPEC, **options)


def test_the_names_are_families() -> None:
    """Each name that is there can draw."""
    for name in FAMILIES:
        assert callable(sampler_named(name).draw)
    assert sampler_named(Mask(3)) == Mask(3)


@pytest.mark.parametrize("name", ["mask", "asap", "cars", "rejection", "smc"])
def test_what_cannot_end_in_time_is_an_error(name: str) -> None:
    """A text of five tokens in a budget of four; nobody loops for ever."""
    posterior = table("aaaaa", max_tokens=4)
    sampler = sampler_named(name)
    object.__setattr__(sampler, "max_attempts", 20)
    with pytest.raises(TruncatedError, match="0 of 1"):
        sampler.draw(posterior, 1, 0)


def test_weights_resample_to_the_posterior() -> None:
    """`resample` draws by weight: what weighs nothing never comes, what weighs more comes more."""
    samples = sampling.draw(table(), "mask", 400, seed=2)
    picked = samples.resample(4000, seed=1)
    weights = dict.fromkeys((s.tokens for s in samples), 0.0)
    for one, weight in zip(samples, samples.weights, strict=True):
        weights[one.tokens] += float(weight)
    for tokens, weight in weights.items():
        share = np.mean([one.tokens == tokens for one in picked])
        assert share == pytest.approx(weight, abs=0.01)


def table(pattern: str = "00000|1[01]{4}|a", max_tokens: int = 6) -> sampling.Posterior:
    """A table model over four tokens."""
    vocabulary = sg.Vocabulary([b"0", b"1", b"a", b"</s>"], eos_ids=[3])
    model = sampling.TableModel.random(4, 3)
    return sampling.Posterior(
        model, sg.compile(sg.Regex(pattern), vocabulary), max_tokens=max_tokens
    )
