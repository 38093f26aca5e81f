"""Checks `CustomGenerate` in `model.generate` beside transformers' own loop."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList, pipeline

import structgen as sg
from structgen.errors import GenerationError
from structgen.generation.generator import Generator
from structgen.integrations.custom_generate import CustomGenerate
from structgen.integrations.huggingface import LogitsProcessor
from tests.generation.models import build_model, build_tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.matrix,
]
OBJECT = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"a long name": {"enum": ["x", "ab", True]}, "z": {"type": "boolean"}},
        "required": ["a long name", "z"],
        "additionalProperties": False,
    }
)
WORDS = sg.Regex("(ab|ba|x){2,9}")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tiny one, which pads on the left."""
    found = build_tokenizer()
    found.padding_side = "left"
    return found


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    """A tiny Llama."""
    return build_model(tokenizer, context=160)


def written(model: Any, tokenizer: Any, prompts: list[str], **options: Any) -> list[str]:
    """What `generate` writes behind the prompts, up to the end token that each text has."""
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    output = model.generate(**_known(inputs), **({"max_new_tokens": 60} | options))
    rows = output[:, inputs["input_ids"].shape[1] :].tolist()
    return [tokenizer.decode(row[: row.index(tokenizer.eos_token_id)]) for row in rows]


def _known(inputs: Any) -> dict[str, Any]:
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


@pytest.mark.parametrize("options", [{}, {"repetition_penalty": 1.7}, {"no_repeat_ngram_size": 3}])
def test_greedy_is_what_transformers_writes_in_fewer_passes(
    model: Any, tokenizer: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A padded batch with a spec per prompt; processors of the call change both alike."""
    prompts, specs = ["x", "a longer prompt", "yy"], [OBJECT, WORDS, OBJECT]
    processor = LogitsProcessor(specs, tokenizer)
    options = {"do_sample": False} | options
    expected = written(
        model, tokenizer, prompts, logits_processor=LogitsProcessorList([processor]), **options
    )
    passes, forward = [], model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        passes.append(1)
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", counted)
    writer = CustomGenerate(specs, tokenizer, stop="eos", speculate="forced")
    assert written(model, tokenizer, prompts, custom_generate=writer, **options) == expected
    assert [one.text for one in writer.results] == expected
    assert len(passes) < max(len(one.tokens) for one in writer.results)
    assert writer.results[0].value == json.loads(expected[0])


def test_samples_fit_and_follow_torchs_seed(model: Any, tokenizer: Any) -> None:
    """Each returned sequence has the spec of its prompt, and draws of its own."""
    writer = CustomGenerate([OBJECT, WORDS], tokenizer)
    options = {"do_sample": True, "top_k": 9, "temperature": 1.5, "num_return_sequences": 5}
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(written(model, tokenizer, ["x", "y"], custom_generate=writer, **options))
    assert found[0] == found[1] != found[2]
    for number, text in enumerate(found[0]):
        sg.check(OBJECT if number < 5 else WORDS, text, exact_layout=True)
    assert len(set(found[0][5:])) > 1


def test_samplers_of_the_call_are_ours() -> None:
    """Warpers at the end of the list become settings; what stands before them stays."""
    from transformers.generation import logits_process

    from structgen.integrations import custom_generate

    made: Any = logits_process
    penalty = made.RepetitionPenaltyLogitsProcessor(1.5)
    warpers = [
        made.TemperatureLogitsWarper(0.5),
        made.TopKLogitsWarper(3),
        made.TopPLogitsWarper(0.8),
        made.MinPLogitsWarper(0.1),
    ]
    values, rest = custom_generate._split([penalty, *warpers], sampled=True)
    assert values == {"temperature": 0.5, "top_k": 3, "top_p": 0.8, "min_p": 0.1}
    assert rest == [penalty]
    values, rest = custom_generate._split([warpers[1], warpers[0]], sampled=True)
    assert (values, rest) == ({"temperature": 0.5}, [warpers[1]])
    values, rest = custom_generate._split([penalty], sampled=False)
    assert (values, rest) == ({"temperature": 0.0}, [penalty])


def test_a_text_is_closed_within_its_limit(model: Any, tokenizer: Any) -> None:
    """In all limits that have room for the shortest text, and an error where there is none."""
    spec = sg.JsonSchema({"type": "array", "items": {"type": "string"}})
    writer = CustomGenerate(spec, tokenizer)
    for limit in (2, 3, 9):
        torch.manual_seed(limit)
        inputs = tokenizer(["x"], return_tensors="pt")
        output = model.generate(
            **_known(inputs), max_new_tokens=limit, do_sample=True, custom_generate=writer
        )
        assert output.shape[1] <= inputs["input_ids"].shape[1] + limit
        assert isinstance(writer.results[0].value, list)
    with pytest.raises(sg.errors.TruncatedError, match="needs 2 tokens, and 1 are left"):
        model.generate(**_known(inputs), max_new_tokens=1, custom_generate=writer)


def test_a_streamer_gets_prompt_and_tokens(model: Any, tokenizer: Any) -> None:
    """As from transformers' own loop, and the output may be transformers' object."""

    class Kept:
        """Keeps what it is shown."""

        def __init__(self) -> None:
            self.shown: list[int] = []
            self.ended = False

        def put(self, value: Any) -> None:
            """More tokens."""
            self.shown += value.flatten().tolist()

        def end(self) -> None:
            """No more."""
            self.ended = True

    kept = Kept()
    inputs = tokenizer(["x"], return_tensors="pt")
    writer = CustomGenerate(OBJECT, tokenizer, streamer=kept)
    options = {"max_new_tokens": 60, "do_sample": False, "return_dict_in_generate": True}
    output = model.generate(**_known(inputs), custom_generate=writer, **options)
    assert kept.ended
    assert kept.shown == output.sequences[0].tolist()


def test_what_the_loop_has_not_is_refused(model: Any, tokenizer: Any) -> None:
    """Beams, scores, criteria, other end tokens: each by name."""
    from transformers import MaxTimeCriteria, StoppingCriteriaList

    inputs = _known(tokenizer(["x", "y"], return_tensors="pt"))
    writer = CustomGenerate(OBJECT, tokenizer)
    criteria: Any = StoppingCriteriaList([MaxTimeCriteria(1.0)])
    cases: list[tuple[dict[str, Any], str]] = [
        ({"num_beams": 2}, "no beams"),
        ({"output_scores": True, "return_dict_in_generate": True}, "no output_scores"),
        ({"stopping_criteria": criteria}, "no MaxTimeCriteria"),
        ({"eos_token_id": 7}, r"ends at tokens \[7\]"),
    ]
    for options, message in cases:
        with pytest.raises(GenerationError, match=message):
            model.generate(**inputs, custom_generate=writer, max_new_tokens=60, **options)
    odd = CustomGenerate([OBJECT] * 3, tokenizer)
    with pytest.raises(GenerationError, match="2 rows for 3 specs"):
        model.generate(**inputs, custom_generate=odd, max_new_tokens=60)


def test_a_pipeline_takes_both_ways(model: Any, tokenizer: Any) -> None:
    """transformers' `pipeline` hands a logits processor and custom_generate on to `generate`."""
    write: Any = pipeline("text-generation", model=model, tokenizer=tokenizer)
    options = {"max_new_tokens": 60, "do_sample": False, "return_full_text": False}
    expected = Generator(model, tokenizer).generate("x", OBJECT, temperature=0, stop="eos").text
    ways: list[dict[str, Any]] = [
        {"logits_processor": LogitsProcessorList([LogitsProcessor(OBJECT, tokenizer)])},
        {"custom_generate": CustomGenerate(OBJECT, tokenizer, stop="eos")},
    ]
    for way in ways:
        assert write("x", **options, **way)[0]["generated_text"] == expected
