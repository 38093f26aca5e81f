"""Tests what `Generator` promises, with a tiny random Llama and finite languages.

Oracles recompute every step from the whole sequence, without cache, batch or mask rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import structgen as sg
from structgen.constraint.enforced import Enforced
from structgen.errors import (
    GenerationError,
    ModelError,
    NoTokenError,
    TruncatedError,
    VocabularyError,
)
from structgen.generation.generator import Generator, generate
from structgen.generation.result import GenerationResult
from structgen.vocabulary.vocabulary import Vocabulary
from tests.generation.models import build_model
from tests.generation.naive import NaiveConstraint

Doubles = npt.NDArray[np.float64]
PROMPT = "ab: "


def raw_logits(generator: Generator, tokens: list[int]) -> Doubles:
    """Logits behind a whole sequence, read in one go."""
    with torch.no_grad():
        found = generator.target.model(torch.tensor([tokens])).logits[0, -1]
    return found.double().numpy()  # type: ignore[no-any-return]


def log_softmax(logits: Doubles) -> Doubles:
    """In float64, from the definition."""
    shifted = logits - logits.max()
    result: Doubles = shifted - math.log(float(np.exp(shifted).sum()))
    return result


def prompt_ids(generator: Generator, prompt: str = PROMPT) -> list[int]:
    """The prompt as the tokenizer has it."""
    return list(generator.tokenizer(prompt)["input_ids"])


def steps(
    generator: Generator, constraint: NaiveConstraint, result: GenerationResult
) -> list[tuple[Doubles, npt.NDArray[np.bool_], int]]:
    """Raw log-probabilities, allowed tokens and the token taken, for every step of a result."""
    found = []
    sequence, state = prompt_ids(generator), constraint.start
    for token in result.tokens:
        found.append(
            (log_softmax(raw_logits(generator, sequence)), constraint.allowed(state), token)
        )
        sequence.append(token)
        state = constraint.advance(state, token)
    return found


@pytest.mark.parametrize("prompt", ["", "x", "hello {", "é" * 20])
def test_greedy_is_the_most_probable_allowed_token_of_every_step(
    generator: Generator, objects: NaiveConstraint, prompt: str
) -> None:
    """The cached loop takes what a search without cache takes, until nothing more can follow."""
    sequence = prompt_ids(generator, prompt) or [generator.tokenizer.bos_token_id]
    state, tokens = objects.start, []
    while not (objects.is_accepting(state) and objects.allowed_bytes(state) <= {0x20}):
        logits = np.where(objects.allowed(state), raw_logits(generator, sequence), -np.inf)
        tokens.append(int(logits.argmax()))
        sequence.append(tokens[-1])
        state = objects.advance(state, tokens[-1])
    result = generator.generate(prompt, objects, temperature=0)
    assert list(result.tokens) == tokens
    assert result.finish_reason == "complete"


def test_a_text_fits_and_its_value_is_what_it_says(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """Whatever is drawn is one of the texts, spelled by the tokens, with its parsed value."""
    import json

    for result in generator.generate(PROMPT, objects, n=20, seed=1):
        assert result.text.encode() in objects.texts
        assert generator.vocabulary.decode_bytes(result.tokens).decode() == result.text
        assert result.value == json.loads(result.text)
        assert result.prompt_tokens == len(prompt_ids(generator))
        assert not result.text.endswith(" "), "stops before insignificant whitespace"


def test_probabilities_are_those_of_the_model(generator: Generator, words: NaiveConstraint) -> None:
    """Raw and masked log-probabilities and the removed mass equal a recomputation, step by step."""
    for result in generator.generate(PROMPT, words, n=5, seed=2, temperature=0.8, top_k=3):
        raw, masked, removed = [], [], []
        for logp, allowed, token in steps(generator, words, result):
            mass = np.exp(logp)[allowed].sum()
            raw.append(logp[token])
            masked.append(logp[token] - np.log(mass))
            removed.append(np.exp(logp)[~allowed].sum())
        np.testing.assert_allclose(result.token_logprobs_raw, raw, atol=1e-4)
        np.testing.assert_allclose(result.token_logprobs_masked, masked, atol=1e-4)
        np.testing.assert_allclose(result.mass_removed, removed, atol=1e-5)
        assert result.logprob_raw == pytest.approx(sum(raw), abs=1e-3)
        assert result.logprob_masked == pytest.approx(sum(masked), abs=1e-3)
        assert ((result.mass_removed >= 0) & (result.mass_removed < 1)).all()
        assert result.mass_removed.dtype == result.token_logprobs_raw.dtype == np.float64


@pytest.mark.thorough
def test_samples_follow_the_masked_distribution(
    generator: Generator, words: NaiveConstraint
) -> None:
    """First tokens of 4,000 samples agree with the masked softmax of the model (chi-square)."""
    logits = raw_logits(generator, prompt_ids(generator))
    allowed = words.allowed(words.start)
    distribution = np.where(allowed, np.exp(log_softmax(logits / 1.5)), 0)  # flat enough to count
    distribution /= distribution.sum()
    results = generator.generate(PROMPT, words, n=4000, seed=11, temperature=1.5, max_tokens=8)
    counts = Counter(r.tokens[0] if r.tokens else generator.vocabulary.eos_ids[0] for r in results)
    assert set(counts) <= set(np.flatnonzero(distribution).tolist())
    expected = {token: p * 4000 for token, p in enumerate(distribution) if p * 4000 >= 5}
    rest = sum(n for token, n in counts.items() if token not in expected)
    rest_expected = 4000 - sum(expected.values())
    statistic = sum((counts[t] - e) ** 2 / e for t, e in expected.items())
    statistic += (rest - rest_expected) ** 2 / max(rest_expected, 5)
    freedom = len(expected)
    assert freedom > 5
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)


SETTINGS: list[dict[str, Any]] = [
    {"temperature": 0},
    {"seed": 3},
    {"seed": 4, "temperature": 2.0, "top_k": 5},
    {"seed": 5, "top_p": 0.8, "min_p": 0.05, "stop": "eos"},
]


def test_a_result_says_under_which_spec_it_was_written(generator: Generator) -> None:
    """Drawn by masking or by a sampler; of a constraint that somebody else wrote, what it has."""
    spec = sg.Regex("[ab]{1,3}")
    results = [
        generator.generate(PROMPT, spec, seed=1),
        generator.sample(PROMPT, spec, seed=1, max_tokens=8)[0],
    ]
    for result in results:
        assert sg.assert_enforced(result) == Enforced(spec).to_json()
    own = generator.generate(PROMPT, NaiveConstraint(["a"], generator.vocabulary))
    assert sg.assert_enforced(own)["kind"] not in ("", "regex")


@pytest.mark.parametrize("options", SETTINGS)
def test_a_batch_gives_what_each_prompt_gives_by_itself(
    generator: Generator, words: NaiveConstraint, objects: NaiveConstraint, options: dict[str, Any]
) -> None:
    """Prompts of different lengths with a spec per row: same tokens, same probabilities."""
    prompts = ["", "a longer prompt than the others", "xy", "xy", "{"]
    specs = [objects, words, objects, words, words]
    together = generator.batch(prompts, specs, **options)
    for prompt, spec, result in zip(prompts, specs, together, strict=True):
        alone = generator.generate(prompt, spec, **options)
        assert result.tokens == alone.tokens
        assert result.finish_reason == alone.finish_reason
        np.testing.assert_allclose(
            result.token_logprobs_raw, alone.token_logprobs_raw, rtol=1e-4, atol=1e-4
        )


def test_samples_of_one_prompt_are_those_of_smaller_calls(
    generator: Generator, words: NaiveConstraint
) -> None:
    """The k-th sample depends on the seed and k, not on how many are drawn beside it."""
    many = [r.tokens for r in generator.generate(PROMPT, words, n=6, seed=9)]
    assert [r.tokens for r in generator.generate(PROMPT, words, n=3, seed=9)] == many[:3]
    assert generator.generate(PROMPT, words, seed=9).tokens == many[0]
    assert len(set(many)) > 1
    nested = generator.batch([PROMPT, "other"], words, n=2, seed=9)
    assert [r.tokens for r in nested[0]] == many[:2]
    assert [len(row) for row in nested] == [2, 2]


def test_a_seed_reproduces_and_no_seed_does_not(
    generator: Generator, words: NaiveConstraint
) -> None:
    """Twenty samples are the same with the same seed, and others without one."""

    def texts(seed: int | None) -> list[str]:
        return [r.text for r in generator.generate(PROMPT, words, n=20, seed=seed, temperature=2)]

    assert texts(1) == texts(1) != texts(2)
    assert texts(None) != texts(None)


def test_streamed_pieces_are_the_text(generator: Generator, objects: NaiveConstraint) -> None:
    """Pieces are never empty, never cut a character, and together are the text of the result."""
    for seed in range(10):
        stream = generator.stream(PROMPT, objects, seed=seed)
        seen = ""
        for piece in stream:
            assert piece
            seen += piece
            assert stream.text == seen
        assert stream.result.text == seen
        assert stream.result.tokens == generator.generate(PROMPT, objects, seed=seed).tokens
        assert stream.result is stream.result


def test_a_character_cut_by_tokens_is_held_back(generator: Generator) -> None:
    """A text written byte by byte comes in whole characters all the same."""
    vocabulary = generator.vocabulary
    cut = NaiveConstraint(["né€𝄞n"], vocabulary)
    single = np.array([len(vocabulary.token_bytes(t)) == 1 for t in range(vocabulary.size)])
    for state in range(len(cut.prefixes)):
        cut.allowed(state)[:] &= single
    stream = generator.stream(PROMPT, cut, seed=0)
    assert list(stream) == ["n", "é", "€", "𝄞", "n"]
    assert len(stream.result.tokens) == 1 + 2 + 3 + 4 + 1


def test_the_result_is_there_only_at_the_end(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """Asking early is an error; leaving early is fine."""
    stream = generator.stream(PROMPT, objects, seed=0)
    next(stream)
    with pytest.raises(GenerationError, match="not finished"):
        _ = stream.result
    assert stream.text


def test_stop_eos_lets_the_model_end(generator: Generator, words: NaiveConstraint) -> None:
    """With stop="eos" a text ends by an end token, which is counted, or by the budget."""
    results = generator.generate(PROMPT, words, n=40, seed=5, stop="eos", temperature=1.5)
    assert {r.finish_reason for r in results} >= {"eos"}
    for result in results:
        assert (result.tokens[-1] == generator.tokenizer.eos_token_id) == (
            result.finish_reason == "eos"
        )
        assert result.text.encode() in words.texts
        assert generator.vocabulary.decode_bytes(result.tokens).decode() == result.text


def test_stop_eos_asks_even_where_nothing_else_can_follow(generator: Generator) -> None:
    """The only text is followed by the end token, unless the budget has no room for it."""
    only = NaiveConstraint(["a"], generator.vocabulary)
    [token] = generator.tokenizer("a")["input_ids"]
    asked = generator.generate(PROMPT, only, stop="eos")
    assert asked.tokens == (token, generator.tokenizer.eos_token_id)
    assert asked.finish_reason == "eos"
    short = generator.generate(PROMPT, only, stop="eos", max_tokens=1)
    assert (short.tokens, short.finish_reason) == ((token,), "complete")


def test_stop_complete_waits_while_a_letter_may_follow(generator: Generator) -> None:
    """Whitespace alone ends the text, whitespace that a letter may follow does not."""
    vocabulary = generator.vocabulary
    ends = NaiveConstraint(["a", "a ", "a  ", "a \n"], vocabulary)
    assert generator.generate(PROMPT, ends, seed=0).text == "a"
    goes_on = NaiveConstraint(["a", "a b"], vocabulary)
    results = generator.generate(PROMPT, goes_on, n=60, seed=0, temperature=3.0)
    assert {(r.text, r.finish_reason) for r in results} >= {("a", "eos"), ("a b", "complete")}
    assert {r.text for r in results} == {"a", "a b"}


def test_an_empty_text_needs_no_token(generator: Generator) -> None:
    """Where only the empty text fits, the model is not even asked."""
    result = generator.generate(PROMPT, NaiveConstraint([""], generator.vocabulary))
    assert (result.text, result.tokens, result.finish_reason) == ("", (), "complete")
    assert (result.logprob_raw, result.mass_removed.shape) == (0.0, (0,))
    assert result.timings.tokens_per_second == 0.0


def fewest_tokens(vocabulary: Vocabulary, texts: list[bytes]) -> int:
    """The fewest tokens that write any of the texts, by breadth-first search over tokens."""
    pieces = {vocabulary.token_bytes(int(i)) for i in vocabulary.text_ids}
    for count in itertools.count():
        if b"" in texts:
            return count
        texts = list({t[len(p) :] for t in texts for p in pieces if t.startswith(p)})
    raise AssertionError


@pytest.mark.thorough
def test_every_budget_that_suffices_is_kept(generator: Generator, objects: NaiveConstraint) -> None:
    """From the smallest possible budget on, texts are valid and no longer than allowed."""
    least = fewest_tokens(generator.vocabulary, objects.texts)
    reasons = Counter()  # type: Counter[str]
    for budget in range(least, least + 8):
        results = generator.generate(
            PROMPT, objects, n=12, seed=budget, max_tokens=budget, temperature=3.0
        )
        for result in results:
            assert len(result.tokens) <= budget
            assert result.text.encode() in objects.texts
            reasons[result.finish_reason] += 1
            assert len(steps(generator, objects, result)) == len(result.tokens)
    assert reasons["closed"] > 5
    assert reasons["complete"] > 5


@pytest.mark.thorough
def test_a_text_is_closed_as_late_as_possible(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """A text goes its own way up to the token after which the budget would not suffice."""

    def needed(state: int) -> int:
        return fewest_tokens(generator.vocabulary, [objects.shortest_completion(state)])

    least = fewest_tokens(generator.vocabulary, objects.texts)
    for seed in range(12):
        free = generator.generate(PROMPT, objects, seed=seed, temperature=3.0)
        for budget in range(least, len(free.tokens) + 2):
            state, kept = objects.start, 0
            for left, token in enumerate(free.tokens):
                after = objects.advance(state, token)
                if needed(after) > budget - left - 1:
                    break
                state, kept = after, kept + 1
            result = generator.generate(
                PROMPT, objects, seed=seed, temperature=3.0, max_tokens=budget
            )
            assert result.tokens[:kept] == free.tokens[:kept]
            assert (
                result.text
                == (objects.prefixes[state] + objects.shortest_completion(state)).decode()
            )
            assert result.finish_reason == ("complete" if kept == len(free.tokens) else "closed")


def test_closing_tokens_have_the_model_s_probabilities(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """Tokens written to close the text are scored like any others, and are allowed ones."""
    least = fewest_tokens(generator.vocabulary, objects.texts)
    results = generator.generate(PROMPT, objects, n=12, seed=1, max_tokens=least, temperature=3.0)
    closed = [r for r in results if r.finish_reason == "closed"]
    assert closed
    for result in closed:
        for (logp, allowed, token), raw in zip(
            steps(generator, objects, result), result.token_logprobs_raw, strict=True
        ):
            assert allowed[token]
            assert raw == pytest.approx(logp[token], abs=1e-4)


def test_a_budget_too_small_for_any_text_is_refused_with_the_number(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """The error says how many tokens are needed; that many then suffice."""
    least = fewest_tokens(generator.vocabulary, objects.texts)
    with pytest.raises(TruncatedError, match=f"needs {least} tokens, and {least - 1} are left"):
        generator.generate(PROMPT, objects, max_tokens=least - 1)
    assert generator.generate(PROMPT, objects, max_tokens=least).text.encode() in objects.texts


def test_a_text_may_end_at_the_budget_where_it_may_end_anyway(
    generator: Generator, words: NaiveConstraint
) -> None:
    """Where every prefix is a text, the budget just stops; the reason says so."""
    for budget in (1, 2):
        for result in generator.generate(PROMPT, words, n=10, seed=budget, max_tokens=budget):
            assert len(result.tokens) <= budget
            assert result.text.encode() in words.texts
            assert result.finish_reason in {"closed", "eos", "complete"}


def test_raise_gives_the_partial_text(generator: Generator, objects: NaiveConstraint) -> None:
    """on_truncation="raise" fails at the budget with what was written, whole characters of it."""
    free = generator.generate(PROMPT, objects, seed=3)
    assert len(free.tokens) > 3
    with pytest.raises(TruncatedError, match="not finished after 3 tokens") as caught:
        generator.generate(PROMPT, objects, seed=3, max_tokens=3, on_truncation="raise")
    partial = generator.vocabulary.decode_bytes(free.tokens[:3]).decode(errors="ignore")
    assert caught.value.text == partial
    assert free.text.startswith(partial)
    enough = len(free.tokens)
    result = generator.generate(PROMPT, objects, seed=3, max_tokens=enough, on_truncation="raise")
    assert result.tokens == free.tokens


def test_a_text_that_the_budget_cut_is_truncated_even_where_it_may_end(
    generator: Generator, words: NaiveConstraint
) -> None:
    """A number cut in the middle is a number too, so "raise" must not let it pass."""
    unlucky = next(
        seed
        for seed in range(50)
        if len(generator.generate(PROMPT, words, seed=seed, stop="eos").tokens) > 2
    )
    with pytest.raises(TruncatedError):
        generator.generate(PROMPT, words, seed=unlucky, max_tokens=1, on_truncation="raise")


def test_the_context_limits_the_text_like_a_budget(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """A prompt that leaves room for a short text gets one; one that leaves none is refused."""
    context = generator.target.context
    assert context == 96
    prompt = "x" * (context - 12)
    for result in generator.generate(prompt, objects, n=10, seed=0, temperature=3.0):
        assert result.text.encode() in objects.texts
        assert len(result.tokens) <= 12
    with pytest.raises(ModelError, match="100 tokens and the model's context is 96"):
        generator.generate("x" * 100, objects)
    with pytest.raises(TruncatedError, match="and 2 are left"):
        generator.generate("x" * (context - 2), objects)


def test_an_error_in_a_batch_names_the_prompt(
    generator: Generator, objects: NaiveConstraint
) -> None:
    """With several prompts the message says which one it was."""
    with pytest.raises(ModelError, match="at prompt 1"):
        generator.batch(["x", "x" * 100], objects)


def test_no_token_left_says_why(generator: Generator, tokenizer: Any) -> None:
    """A constraint that the vocabulary cannot write, and a model that refuses all it may write."""
    vocabulary = generator.vocabulary
    stuck = NaiveConstraint(["ab"], vocabulary)
    stuck._allowed[stuck.start] = np.zeros(vocabulary.size, bool)
    with pytest.raises(NoTokenError, match="allows 0 tokens here, and it has none to allow"):
        generator.generate(PROMPT, stuck, on_truncation="raise")
    model = build_model(tokenizer)
    refusing = Generator(model, tokenizer)
    only = NaiveConstraint(["a"], refusing.vocabulary)
    [token] = np.flatnonzero(only.allowed(only.start))
    head = torch.nn.Linear(32, refusing.vocabulary.size)
    with torch.no_grad():
        head.weight.copy_(model.lm_head.weight)
        head.bias.zero_()
        head.bias[token] = -torch.inf
    model.lm_head = head
    for temperature in (0, 1):
        with pytest.raises(NoTokenError, match="allows 1 tokens here, and the model gives each"):
            refusing.generate(PROMPT, only, temperature=temperature)


def test_logits_that_are_not_numbers_are_the_model_s_fault(tokenizer: Any) -> None:
    """NaN from the model is a ModelError, not a random token."""
    model = build_model(tokenizer)
    with torch.no_grad():
        model.lm_head.weight[7] = torch.nan
    broken = Generator(model, tokenizer)
    words = NaiveConstraint(["a", "b"], broken.vocabulary)
    for temperature in (0, 1):
        with pytest.raises(ModelError, match="logits for token 1 are not finite"):
            broken.generate(PROMPT, words, temperature=temperature)


def test_timings_add_up(generator: Generator, objects: NaiveConstraint) -> None:
    """Model, mask and other make the total, the reader's time not counted."""
    import time

    stream = generator.stream(PROMPT, objects, seed=0)
    before = time.perf_counter()
    for _ in stream:
        time.sleep(0.05)
    passed = time.perf_counter() - before
    timings = stream.result.timings
    parts = (timings.model, timings.mask, timings.other)
    assert timings.total == pytest.approx(sum(parts))
    assert min(parts) > 0
    assert timings.total < passed - 0.05 * 3
    assert timings.tokens_per_second == pytest.approx(len(stream.result.tokens) / timings.total)


def test_the_function_takes_one_prompt_or_several(
    model: Any, tokenizer: Any, generator: Generator, words: NaiveConstraint
) -> None:
    """`generate` with a pair (model, tokenizer) gives what the Generator gives."""
    pair = (model, tokenizer)
    alone = generate(pair, PROMPT, words, seed=1)
    assert alone.tokens == generator.generate(PROMPT, words, seed=1).tokens
    several = generate(pair, [PROMPT, "x"], [words, words], seed=1)
    assert [r.tokens for r in several] == [
        generator.generate(p, words, seed=1).tokens for p in (PROMPT, "x")
    ]
    assert len(generate(pair, PROMPT, words, n=3)) == 3
    assert [len(r) for r in generate(pair, [PROMPT, "x"], words, n=2)] == [2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "no option 'temprature'.*did you mean 'temperature'"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"stop": "never"}, "stop is 'never'"),
        ({"on_truncation": "ignore"}, "on_truncation is 'ignore'"),
        ({"chat": "yes"}, "chat is 'yes'"),
        ({"temperature": -1}, "temperature is -1"),
        ({"n": 0}, "n is 0"),
    ],
)
def test_a_wrong_option_is_refused_by_name(
    generator: Generator, words: NaiveConstraint, options: dict[str, Any], message: str
) -> None:
    """Nothing is silently ignored."""
    with pytest.raises(GenerationError, match=message):
        generator.generate(PROMPT, words, **options)


ODD: list[Any] = [
    None,
    1,
    1.5,
    True,
    "x",
    b"x",
    [],
    [1],
    {},
    {"a": 1},
    object(),
    int,
    lambda: 1,
    np.zeros(2),
]
MEANT: dict[str, tuple[Any, ...]] = {  # what is fine for each option, of ODD
    "temperature": (1, 1.5), "top_k": (None, 1), "top_p": (1,), "min_p": (1,), "seed": (None, 1),
    "max_tokens": (1,), "stop": (), "stop_sequences": ([],), "on_truncation": (),
    "chat": (None, True), "system": (None, "x"), "weight": (None, *(x for x in ODD if callable(x))),
    "transforms": ([],), "speculate": (None,), "strict": (True,),
}  # fmt: skip


@pytest.mark.parametrize("option", MEANT)
def test_an_option_of_another_kind_is_refused_by_name(
    generator: Generator, words: NaiveConstraint, option: str
) -> None:
    """Before anything is generated."""

    fine = {id(x) for x in ODD for y in MEANT[option] if type(x) is type(y) and x == y}
    values: list[Any] = [x for x in ODD if id(x) not in fine]
    for value in values:
        with pytest.raises(GenerationError, match=option):
            generator.generate(PROMPT, words, **{option: value})


def test_other_things_than_samplers_potentials_and_prompts_are_refused(
    generator: Generator, words: NaiveConstraint
) -> None:
    """In words."""
    values: list[Any] = [x for x in ODD if not isinstance(x, str)]
    for value in values:
        with pytest.raises(GenerationError, match="sampler"):
            generator.sample(PROMPT, words, sampler=value)
        if not isinstance(value, list) or value:
            with pytest.raises(GenerationError, match="potentials"):
                generator.sample(PROMPT, words, potentials=value)
        with pytest.raises((GenerationError, ModelError)):
            generator.generate(value, words)
    with pytest.raises(ModelError, match="half a surrogate pair"):
        generator.generate("\ud800", words)


def test_prompts_and_specs_that_do_not_match_are_refused(
    generator: Generator, words: NaiveConstraint
) -> None:
    """Another number of specs, a string of prompts, a constraint of another vocabulary."""
    with pytest.raises(GenerationError, match="2 prompts and 1 specs"):
        generator.batch(["a", "b"], [words])
    with pytest.raises(GenerationError, match="expected a list of prompts"):
        generator.batch("ab", words)
    other = Vocabulary([b"a", b"b", b""], eos_ids=[2])
    with pytest.raises(VocabularyError, match="another vocabulary"):
        generator.generate(PROMPT, NaiveConstraint(["a"], other))
