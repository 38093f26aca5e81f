"""`sample`: samples of the posterior that a Generator, a prompt and a spec define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Unpack

from structgen.errors import GenerationError
from structgen.generation.compiled import CompiledSpecs
from structgen.generation.interfaces import Target
from structgen.generation.prompts import Prompt
from structgen.generation.row import Request
from structgen.generation.sampling.language_model import LanguageModel
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.potentials.joined import join
from structgen.generation.sampling.registry import SequenceSampler, draw
from structgen.generation.sampling.results import Samples
from structgen.generation.settings import Options, Settings

NEUTRAL = {
    "top_k": None,
    "top_p": 1.0,
    "min_p": 0.0,
    "stop_sequences": (),
    "weight": None,
    "transforms": (),
    "speculate": None,
}  # options that truncate or reweight are not part of the posterior


class LoadedModel(Protocol):
    """The parts of a `Generator` that sampling uses."""

    specs: CompiledSpecs

    @property
    def target(self) -> Target[Any]:
        """The model as the decode loop sees it."""

    def request(self, prompt: Prompt, spec: Any, settings: Settings) -> Request:
        """What a text is made of."""


def sample(
    generator: LoadedModel,
    prompt: Prompt,
    spec: Any,
    *,
    sampler: str | SequenceSampler = "cars",
    n: int = 1,
    potentials: Sequence[Any] = (),
    **options: Unpack[Options],
) -> Samples:
    """`n` samples of the model's distribution, given that the text fits `spec` within `max_tokens`.

    sampler: see `structgen.generation.sampling.draw`. potentials: critics of
    `structgen.generation.sampling`, further conditions or weights on the text. The options are
    those of `Settings`; `temperature` is part of the distribution, and must not be 0.
    """
    seed = Settings.of(options).seed
    posterior = posterior_of(generator, prompt, spec, potentials=potentials, **options)
    return draw(posterior, sampler, n, seed)


def posterior_of(
    generator: LoadedModel,
    prompt: Prompt,
    spec: Any,
    *,
    potentials: Sequence[Any] = (),
    **options: Unpack[Options],
) -> Posterior:
    """The posterior of a model, a prompt and a spec. GenerationError for a bad option."""
    settings = Settings.of(options)
    for name, neutral in NEUTRAL.items():
        if getattr(settings, name) != neutral:
            raise GenerationError(
                f"{name} is {getattr(settings, name)!r}, and a sampler aims at the model's own "
                "distribution",
                expected="temperature alone",
            )
    return posterior_of_request(generator, generator.request(prompt, spec, settings), potentials)


def posterior_of_request(
    generator: LoadedModel, request: Request, potentials: Sequence[Any] = ()
) -> Posterior:
    """The model's own distribution of the texts that a request asks for."""
    constraint, weighing = join(request.constraint, potentials)
    return Posterior(
        LanguageModel(generator.target, request.prompt, temperature=request.sampler.temperature),
        constraint,
        max_tokens=request.budget,
        stop=request.stop,
        potentials=weighing,
        speller=generator.specs.speller,
    )
