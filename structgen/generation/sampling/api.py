"""In: a Generator, a prompt, a spec. Out: the posterior they make, and samples of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from structgen.errors import GenerationError
from structgen.generation.prompts import Prompt, encode_prompt
from structgen.generation.sampling.families import draw
from structgen.generation.sampling.interfaces import Family
from structgen.generation.sampling.language_model import LanguageModel
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples
from structgen.generation.settings import Options, Settings

if TYPE_CHECKING:
    from structgen.generation.generator import Generator

NEUTRAL = {
    "top_k": None,
    "top_p": 1.0,
    "min_p": 0.0,
    "stop_sequences": (),
    "weight": None,
    "transforms": (),
    "speculate": None,
}  # what cuts the law is not part of it


def sample(
    generator: Generator,
    prompt: Prompt,
    spec: Any,
    *,
    sampler: str | Family = "cars",
    n: int = 1,
    potentials: Sequence[Any] = (),
    **options: Unpack[Options],
) -> Samples:
    """`n` samples of the model's law, given that the text fits `spec` within `max_tokens`.

    sampler: see `structgen.generation.sampling.draw`. potentials: critics of
    `structgen.generation.sampling`, further
    conditions or weights on the text. The options are those of `Settings`; `temperature` is part of
    the law, and must not be 0.
    """
    seed = Settings.of(options).seed
    posterior = posterior_of(generator, prompt, spec, potentials=potentials, **options)
    return draw(posterior, sampler, n, seed)


def posterior_of(
    generator: Generator,
    prompt: Prompt,
    spec: Any,
    *,
    potentials: Sequence[Any] = (),
    **options: Unpack[Options],
) -> Posterior:
    """The law that a prompt, a spec and a model stand for. GenerationError for a bad option."""
    settings = Settings.of(options)
    for name, neutral in NEUTRAL.items():
        if getattr(settings, name) != neutral:
            raise GenerationError(
                f"{name} is {getattr(settings, name)!r}, and a sampler aims at the model's own law",
                expected="temperature alone",
            )
    chat = generator.chat if settings.chat is None else settings.chat
    ids = encode_prompt(generator.tokenizer, prompt, chat, settings.system)
    model = LanguageModel(generator.target, ids, temperature=settings.temperature)
    constraint, _ = generator.specs.get(spec)
    weighing: Sequence[Any] = ()
    if potentials:
        from structgen.generation.sampling.potentials.joined import join

        constraint, weighing = join(constraint, potentials)
    return Posterior(
        model,
        constraint,
        max_tokens=settings.max_tokens,
        stop=settings.stop,
        potentials=weighing,
        speller=generator.specs.speller,
    )
