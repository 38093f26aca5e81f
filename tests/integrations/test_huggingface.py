"""Checks that `model.generate` with our logits processor writes what fits."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList

import structgen as sg
from structgen.errors import GenerationError, VocabularyError
from structgen.generation.generator import Generator
from structgen.integrations.huggingface import LogitsProcessor
from structgen.vocabulary.vocabulary import Vocabulary
from tests.generation.models import build_model, build_tokenizer
from tests.generation.naive import NaiveConstraint, json_texts

# transformers warns about padding sides and generation flags that are beside the point here
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.matrix,
]


@pytest.fixture(scope="module")
def generator() -> Generator:
    """The tiny model and its vocabulary."""
    tokenizer = build_tokenizer()
    tokenizer.padding_side = "left"
    return Generator(build_model(tokenizer), tokenizer)


@pytest.fixture(scope="module")
def objects(generator: Generator) -> NaiveConstraint:
    """JSON objects, without whitespace behind so that they end by the end token at once."""
    texts = [text for text in json_texts("ab", 3) if not text.endswith(" ")]
    return NaiveConstraint(texts, generator.vocabulary)


@pytest.fixture(scope="module")
def words(generator: Generator) -> NaiveConstraint:
    """Short words, many of them prefixes of others."""
    return NaiveConstraint(["a", "ab", "aba", "abab", "b", "ba", "bbb"], generator.vocabulary)


def run(generator: Generator, prompts: list[str], processor: Any, **options: Any) -> list[str]:
    """Texts that transformers generates with the processor, up to the end token."""
    inputs = generator.tokenizer(prompts, return_tensors="pt", padding=True)
    torch.manual_seed(0)
    output = generator.target.model.generate(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        logits_processor=LogitsProcessorList([processor]),
        max_new_tokens=40,
        **options,
    )
    texts = []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        end = row.index(generator.tokenizer.eos_token_id)
        texts.append(generator.vocabulary.decode_bytes(row[:end]).decode())
    return texts


def test_greedy_is_what_the_generator_writes(
    generator: Generator, objects: NaiveConstraint, words: NaiveConstraint
) -> None:
    """A padded batch with a constraint per prompt gives the texts of our own loop."""
    prompts = ["x", "a much longer prompt", "yy"]
    specs = [objects, words, objects]
    expected = generator.batch(prompts, specs, temperature=0, stop="eos")
    assert run(generator, prompts, LogitsProcessor(specs), do_sample=False) == [
        r.text for r in expected
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "num_return_sequences": 6, "temperature": 2.0},
        {"do_sample": True, "top_p": 0.5, "top_k": 3},
        {"do_sample": False, "num_beams": 4, "num_return_sequences": 4},
        {"do_sample": True, "num_beams": 3},
    ],
    ids=["samples", "truncated", "beams", "sampled beams"],
)
def test_rows_that_multiply_and_move_still_fit(
    generator: Generator, objects: NaiveConstraint, words: NaiveConstraint, options: dict[str, Any]
) -> None:
    """Returned sequences and permuted beams follow the constraint of their own prompt."""
    texts = run(generator, ["x", "longer"], LogitsProcessor([objects, words]), **options)
    share = len(texts) // 2
    assert all(text.encode() in objects.texts for text in texts[:share])
    assert all(text.encode() in words.texts for text in texts[share:])


def test_assisted_generation_is_the_same_as_greedy(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """A draft model asks the same processor about histories that are dropped again."""
    expected = generator.generate("hi", objects, temperature=0, stop="eos").text
    assistant = build_model(generator.tokenizer, seed=99)
    found = run(
        generator, ["hi"], LogitsProcessor(objects), do_sample=False, assistant_model=assistant
    )
    assert found == [expected]


def test_one_processor_serves_one_call_after_another(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """Shorter, equal, longer and continued prompts each begin at the start of the constraint."""
    processor = LogitsProcessor(objects)
    for prompt in ["abc", "abc", "a", "abcdef", "abcdef" + "x" * 40, "other"]:
        expected = generator.generate(prompt, objects, temperature=0, stop="eos").text
        assert run(generator, [prompt], processor, do_sample=False) == [expected]


def masked(processor: LogitsProcessor, rows: list[list[int]], size: int) -> list[set[int]]:
    """The tokens that one call leaves for each row."""
    ids: Any = torch.tensor(rows)
    scores: Any = torch.zeros(len(rows), size)
    found = processor(ids, scores)
    assert not scores.any(), "the scores that were given are left alone"
    return [set(torch.isfinite(row).nonzero().flatten().tolist()) for row in found]


def test_the_mask_follows_from_the_tokens_alone(
    generator: Generator, words: NaiveConstraint
) -> None:
    """Any row may show any history in any order: its mask is that of its tokens."""
    rng = np.random.default_rng(0)
    processor = LogitsProcessor(words)
    size = generator.vocabulary.size
    prompt = [5, 6]
    [start] = masked(processor, [prompt], size)
    assert start == set(np.flatnonzero(words.allowed(words.start)).tolist())
    histories: list[tuple[list[int], int]] = [([], words.start)]
    for _ in range(60):
        history, state = histories[int(rng.integers(len(histories)))]
        options = np.flatnonzero(words.allowed(state)) if state >= 0 else np.array([2])
        token = int(rng.choice(options))
        histories.append(([*history, token], words.advance(state, token) if state >= 0 else state))
    by_length: dict[int, list[tuple[list[int], int]]] = {}
    for history, state in histories:
        by_length.setdefault(len(history), []).append((history, state))
    lengths = sorted(by_length)
    for length in [*lengths, *reversed(lengths), *lengths]:
        batch = by_length[length]
        found = masked(processor, [[*prompt, *history] for history, _ in batch], size)
        for tokens, (_, state) in zip(found, batch, strict=True):
            expected = words.allowed(state) if state >= 0 else np.arange(size) == 1
            assert tokens == set(np.flatnonzero(expected).tolist())


def test_a_broken_history_gets_the_end_token_alone(
    generator: Generator, words: NaiveConstraint
) -> None:
    """Tokens forced from outside do not make a row without any token, which would crash others."""
    processor = LogitsProcessor(words, prompt_length=1)
    [left] = masked(processor, [[5, 99]], generator.vocabulary.size)
    assert left == {generator.tokenizer.eos_token_id}


def test_a_given_prompt_length_resumes_a_text(generator: Generator, words: NaiveConstraint) -> None:
    """What stands behind the prompt at the first call counts as written."""
    [a] = generator.tokenizer("a")["input_ids"]
    processor = LogitsProcessor(words, prompt_length=2)
    [left] = masked(processor, [[5, 6, a]], generator.vocabulary.size)
    state = words.advance(words.start, a)
    assert left == set(np.flatnonzero(words.allowed(state)).tolist())
    with pytest.raises(GenerationError, match="prompt_length is 9"):
        masked(LogitsProcessor(words, prompt_length=9), [[5, 6, a]], generator.vocabulary.size)


def test_what_cannot_work_is_refused(generator: Generator, words: NaiveConstraint) -> None:
    """No end token, no constraint, rows that cannot be shared out, another vocabulary."""
    endless = NaiveConstraint(["a"], Vocabulary([b"a"]))
    with pytest.raises(VocabularyError, match="no end token"):
        LogitsProcessor(endless)
    with pytest.raises(GenerationError, match="no constraint"):
        LogitsProcessor([])
    with pytest.raises(GenerationError, match="3 rows for 2 constraints"):
        masked(LogitsProcessor([words, words]), [[5]] * 3, generator.vocabulary.size)
    with pytest.raises(VocabularyError, match="size the vocabulary by the model's logits"):
        masked(LogitsProcessor(words), [[5]], 5000)


def test_a_processor_can_be_copied_with_its_state(
    generator: Generator, words: NaiveConstraint
) -> None:
    """A copy made halfway goes on by itself, as a fork of a request does."""
    processor = LogitsProcessor(words)
    size = generator.vocabulary.size
    [a] = generator.tokenizer("a")["input_ids"]
    masked(processor, [[5]], size)
    fork = copy.copy(processor)
    assert masked(fork, [[5, a]], size) == masked(processor, [[5, a]], size)


def test_a_processor_says_what_is_enforced(generator: Generator) -> None:
    """For each of its constraints."""
    specs = [sg.Regex("a+"), sg.Choice(["a", "b"])]
    found = LogitsProcessor(specs, generator.tokenizer, eos_ids=generator.vocabulary.eos_ids)
    assert [sg.assert_enforced(one)["kind"] for one in found.enforced] == ["regex", "choice"]
