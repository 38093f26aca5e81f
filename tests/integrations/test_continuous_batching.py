"""Checks transformers' continuous batching with requests that have constraints of their own.

The host's real loop runs on the tiny model: it forks requests, drops their caches and reads them
again, and splits prompts, and the texts stay what our own loop writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import structgen as sg
from structgen.errors import GenerationError, VocabularyError
from structgen.generation.generator import Generator
from tests.generation.models import build_model, build_tokenizer

pytest.importorskip(
    "transformers.generation.continuous_batching.cb_logits_processors",
    reason="this transformers has no processors for single requests",
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.matrix,
]
SPECS = {
    "words": sg.Regex("(ab|ba){2,20}"),
    "long": sg.Regex("[xyz]{45}"),
    "object": sg.JsonSchema(
        {
            "type": "object",
            "properties": {"k": {"enum": [True, "ab", "aaa"]}},
            "required": ["k"],
            "additionalProperties": False,
        }
    ),
    "nested": sg.Lark('start: "[" ("true" | start) "]"'),
}
PROMPTS = {"words": "x", "long": "y", "object": "a longer prompt", "nested": "yy"}
TOKENS = 60  # each of these texts ends before


@pytest.fixture(scope="module")
def generator() -> Generator:
    """The tiny model and its vocabulary."""
    tokenizer = build_tokenizer()
    return Generator(build_model(tokenizer, context=192), tokenizer)


def manager_of(generator: Generator, *, sampled: bool = False, **options: Any) -> Any:
    """A manager that has not started. options: of its configuration and of the generation's."""
    import transformers
    from transformers.generation.configuration_utils import ContinuousBatchingConfig

    generation: Any = transformers.GenerationConfig
    config = {"num_blocks": 32, "max_batch_tokens": 64} | options
    returned = config.pop("num_return_sequences", 1)
    warpers = {"temperature": 2.0, "top_k": 5} if sampled else {}
    return generator.target.model.init_continuous_batching(
        generation_config=generation(
            max_new_tokens=TOKENS,
            do_sample=sampled,
            num_return_sequences=returned,
            eos_token_id=generator.tokenizer.eos_token_id,
            **warpers,
        ),
        continuous_batching_config=ContinuousBatchingConfig(**config),
    )


def constrained(generator: Generator, manager: Any) -> Any:
    """The processor that `constrain` puts in."""
    from structgen.integrations.continuous_batching import constrain

    return constrain(manager, generator.tokenizer)


def results(manager: Any, add: Callable[[], Sequence[str]], returned: int = 1) -> dict[str, Any]:
    """The outputs of the requests that `add` adds, by their ids."""
    manager.start()
    try:
        count = len(add()) * returned
        found: dict[str, Any] = {}
        for output in manager:
            found[output.request_id] = output
            if len(found) == count:
                break
        return found
    finally:
        manager.stop(block=True)


def text_of(generator: Generator, output: Any) -> str:
    """What a request wrote, without the end token that it must have."""
    *tokens, end = output.generated_tokens
    assert end == generator.tokenizer.eos_token_id
    return generator.vocabulary.decode_bytes(tokens).decode()


def prompt_ids(generator: Generator, name: str) -> list[int]:
    """The tokens of a prompt."""
    ids: list[int] = generator.tokenizer(PROMPTS[name])["input_ids"]
    return ids


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"max_batch_tokens": 5}, marks=pytest.mark.thorough),
        pytest.param(
            {"num_blocks": 17, "page_size": 4, "max_batch_tokens": 16, "safety_margin": 0.0},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"per_request_processors": True, "allow_block_sharing": False},
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["together", "prompts in parts", "caches dropped and read again", "other processors"],
)
def test_each_request_writes_what_our_own_loop_writes(
    generator: Generator, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Greedy texts of requests with different specs, beside one without."""
    from transformers.generation.continuous_batching.requests import RequestState

    dropped = []
    again = RequestState.create_equivalent_initial_request

    def drop(state: Any) -> Any:
        dropped.append(state.request_id)
        return again(state)

    monkeypatch.setattr(RequestState, "create_equivalent_initial_request", drop)
    free = Generator(generator.target.model, generator.tokenizer)
    expected = {
        name: generator.generate(PROMPTS[name], spec, temperature=0, stop="eos").text
        for name, spec in SPECS.items()
    }
    manager = manager_of(generator, **options)
    processor = constrained(generator, manager)
    names: dict[str, str] = {}

    def add() -> Sequence[str]:
        for name, spec in SPECS.items():
            ids = prompt_ids(generator, name)
            names[manager.add_request(ids, constraint=processor.compile(spec))] = name
        unmasked = manager.add_request(prompt_ids(generator, "words"))
        names[unmasked] = "free"
        return [*names]

    found = results(manager, add)
    texts = {names[key]: output for key, output in found.items()}
    assert all(output.error is None for output in found.values())
    assert {name: text_of(generator, texts[name]) for name in SPECS} == expected
    assert bool(dropped) == ("page_size" in options)
    inputs: Any = torch.tensor([prompt_ids(generator, "words")])
    plain = free.target.model.generate(inputs, max_new_tokens=TOKENS, do_sample=False)
    assert texts["free"].generated_tokens == plain[0, inputs.shape[1] :].tolist()


def test_samples_of_forked_requests_fit(generator: Generator) -> None:
    """Children share a prompt's cache and one constraint, and each goes its own way.

    The masks come before top-k, which leaves five tokens: else there would be none that fits.
    """
    torch.manual_seed(0)
    manager = manager_of(generator, sampled=True, num_return_sequences=6)
    words = constrained(generator, manager).compile(SPECS["words"])
    found = results(manager, lambda: manager.add_requests([[5, 9], [7]], constraint=words), 6)
    texts = [text_of(generator, output) for output in found.values()]
    assert len(texts) == 12
    assert len(set(texts)) > 2
    assert all(re.fullmatch("(ab|ba){2,20}", text) for text in texts)


def test_a_request_that_cannot_go_on_fails_alone(generator: Generator) -> None:
    """What is no constraint, or one for another vocabulary, is the request's own error."""
    manager = manager_of(generator)
    processor = constrained(generator, manager)
    other = sg.compile(
        SPECS["words"], sg.Vocabulary([*(bytes([i]) for i in range(256)), b""], eos_ids=[256])
    )
    good = processor.compile(SPECS["words"])
    assert processor.compile(good) is good
    with pytest.raises(VocabularyError, match="another vocabulary, of 257 tokens"):
        processor.compile(other)
    names = {}

    def add() -> Sequence[str]:
        for name, given in {"spec": "a+", "other": other, "good": good}.items():
            names[name] = manager.add_request([5], constraint=given)
        return [*names]

    found = results(manager, add)
    assert "has type str, expected Constraint" in found[names["spec"]].error
    assert "another vocabulary, of 257 tokens" in found[names["other"]].error
    assert found[names["good"]].error is None
    assert re.fullmatch("(ab|ba){2,20}", text_of(generator, found[names["good"]]))


def test_a_text_without_a_token_that_fits_ends_with_its_error(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask that allows nothing is reported; the host would have taken token 0."""
    manager = manager_of(generator)
    processor = constrained(generator, manager)
    barren, good = processor.compile(sg.Regex("ab*")), processor.compile(SPECS["words"])
    monkeypatch.setattr(barren, "fill_known", lambda state, row: row.fill(0) is None)
    names: list[str] = []

    def add() -> Sequence[str]:
        names.extend(manager.add_request([5], constraint=one) for one in (barren, good))
        return names

    found = results(manager, add)
    assert "allows no token here" in found[names[0]].error
    assert found[names[1]].error is None
    assert text_of(generator, found[names[1]])


def test_managers_that_cannot_be_constrained_are_refused(generator: Generator) -> None:
    """One that runs, and one that prepares a batch before it knows the last one's tokens."""
    running = manager_of(generator)
    running.warmup()
    with pytest.raises(GenerationError, match="has started"):
        constrained(generator, running)
    ahead = manager_of(generator)
    ahead.continuous_batching_config.use_async_batching = True
    with pytest.raises(GenerationError, match="use_async_batching"):
        constrained(generator, ahead)
    endless = manager_of(generator)
    endless.generation_config.eos_token_id = -1
    assert constrained(generator, endless).vocabulary.eos_ids == (generator.tokenizer.eos_token_id,)
