"""Checks that models and tokenizers load as asked, and that unusual ones are handled or refused."""

from __future__ import annotations

import copy
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import structgen as sg
from structgen.errors import GenerationError, ModelError, VocabularyError
from structgen.generation import compiled as compiled_module
from structgen.generation.closing import Speller
from structgen.generation.compiled import CompiledSpecs
from structgen.generation.generator import Generator, generate
from structgen.generation.prompts import encode_prompt
from tests.generation.models import build_model
from tests.generation.naive import NaiveConstraint

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools') }}"
    "{% endif %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="module")
def chatty(tokenizer: Any) -> Any:
    """The tiny tokenizer with a chat template."""
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = TEMPLATE
    return changed


def decoded(tokenizer: Any, ids: tuple[int, ...]) -> str:
    """The prompt as text, special tokens by name."""
    text: str = tokenizer.decode(list(ids), skip_special_tokens=False)
    return text


def test_the_chat_template_is_used_where_there_is_one(tokenizer: Any, chatty: Any) -> None:
    """chat="auto" follows the tokenizer, True and False are taken at their word."""
    assert decoded(chatty, encode_prompt(chatty, "hi")) == "<s>user: hi\nassistant: "
    assert decoded(chatty, encode_prompt(chatty, "hi", False)) == "hi"
    assert decoded(tokenizer, encode_prompt(tokenizer, "hi")) == "hi"
    assert encode_prompt(chatty, "hi", True) == encode_prompt(chatty, "hi")
    assert encode_prompt(chatty, "hi")[0] == chatty.bos_token_id, "written once, as one token"


def test_system_messages_and_conversations_reach_the_template(chatty: Any) -> None:
    """`system` comes first; a list of messages is taken as it is."""
    assert decoded(chatty, encode_prompt(chatty, "hi", system="be brief")) == (
        "<s>system: be brief\n<s>user: hi\nassistant: "
    )
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert decoded(chatty, encode_prompt(chatty, messages)) == (
        "<s>user: a\n<s>assistant: b\n<s>user: c\nassistant: "
    )


def test_what_a_template_cannot_write_is_refused(tokenizer: Any, chatty: Any) -> None:
    """A missing template, a message it rejects, and prompts that are neither text nor messages."""
    conversation = [{"role": "user", "content": "hi"}]
    with pytest.raises(ModelError, match="has no chat template"):
        encode_prompt(tokenizer, "hi", True)
    with pytest.raises(ModelError, match="to write a system message"):
        encode_prompt(tokenizer, "hi", system="be brief")
    with pytest.raises(ModelError, match="to write a conversation"):
        encode_prompt(chatty, conversation, False)
    with pytest.raises(ModelError, match="refuses the messages: no tools"):
        encode_prompt(chatty, [{"role": "tool", "content": "1"}])
    for wrong in (["hi"], [], 5, [{"role": "user"}]):
        with pytest.raises(ModelError, match="expected a text, or messages"):
            encode_prompt(chatty, wrong)  # type: ignore[arg-type]


def test_an_empty_prompt_begins_like_any_text(tokenizer: Any) -> None:
    """It is the start token alone; without one there is nothing to begin with."""
    assert encode_prompt(tokenizer, "") == (tokenizer.bos_token_id,)
    bare = copy.deepcopy(tokenizer)
    bare.bos_token = bare.eos_token = None
    with pytest.raises(ModelError, match="no token to begin with"):
        encode_prompt(bare, "")


def test_a_generator_takes_the_chat_setting_of_the_call(
    model: Any, chatty: Any, tokenizer: Any
) -> None:
    """Per call, else per Generator; the number of prompt tokens shows which."""
    generator = Generator(model, chatty, chat=False)
    words = NaiveConstraint(["a", "b"], generator.vocabulary)
    assert generator.generate("hi", words).prompt_tokens == 2
    assert generator.generate("hi", words, chat="auto").prompt_tokens > 10


def test_a_directory_is_loaded_and_generates_the_same(
    model_dir: Path, generator: Generator
) -> None:
    """A saved model, by string or path, gives what the object in memory gives."""
    words = NaiveConstraint(["aaa", "aba", "bab", "bb"], generator.vocabulary)
    expected = generator.generate("x", words, seed=1)
    for name in (model_dir, str(model_dir)):
        loaded = Generator(name, device="cpu")
        assert loaded.vocabulary.hash == generator.vocabulary.hash
        found = loaded.generate("x", words, seed=1)
        assert found.tokens == expected.tokens
        np.testing.assert_allclose(found.token_logprobs_raw, expected.token_logprobs_raw, rtol=1e-5)


def test_dtype_and_device_are_as_asked(model_dir: Path) -> None:
    """A name of a dtype, or the dtype itself; else the one the model was saved in."""
    assert Generator(model_dir, device="cpu").target.model.dtype == torch.float32
    for dtype in ("bfloat16", torch.bfloat16):
        loaded = Generator(model_dir, device="cpu", dtype=dtype)
        assert loaded.target.model.dtype == torch.bfloat16
        words = NaiveConstraint(["aaa", "aba", "bab", "bb"], loaded.vocabulary)
        assert loaded.generate("x", words).text.encode() in words.texts
    with pytest.raises(ModelError, match="dtype is 'float31'"):
        Generator(model_dir, dtype="float31")


@pytest.mark.parametrize("name", ["./nothing", "/no/such/model", "a/b/c", "~/nothing/here"])
def test_a_path_that_does_not_exist_is_one_line(name: str) -> None:
    """No traceback through transformers, no look-up on the hub, and what to do."""
    with pytest.raises(ModelError, match=r"there is no model directory at .*; give the path") as e:
        generate(name, "x", None)
    assert "\n" not in str(e.value)
    assert e.value.__cause__ is None


def test_a_misspelt_directory_is_not_looked_up_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name such as models/tiyn is a path where there is a directory models."""
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="there is no model directory at models/tiyn"):
        Generator("models/tiyn")


def test_directories_that_hold_no_model_are_one_line(tmp_path: Path, model_dir: Path) -> None:
    """An empty directory, a file, a broken configuration, a missing tokenizer."""
    with pytest.raises(ModelError, match="the directory holds no model"):
        Generator(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="there is no model directory"):
        Generator(str(tmp_path / "file"))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Generator(str(broken))
    assert "\n" not in str(caught.value)
    for file in model_dir.glob("token*"):
        file.unlink()
    with pytest.raises(ModelError, match="the tokenizer cannot be loaded") as caught:
        Generator(model_dir)
    assert "\n" not in str(caught.value)


def test_objects_that_are_no_model_are_refused(model: Any) -> None:
    """What is no model, and a model without its tokenizer."""
    with pytest.raises(ModelError, match="model is a int"):
        Generator(5)
    with pytest.raises(ModelError, match="without its tokenizer"):
        Generator(model)
    with pytest.raises(ModelError, match="expected a pair"):
        Generator((model,))


def test_models_with_an_encoder_are_refused(tokenizer: Any) -> None:
    """Before anything is read: the prompt has no place in such a decoder."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=300)
    with pytest.raises(ModelError, match="reads the prompt with an encoder"):
        Generator(T5ForConditionalGeneration(config), tokenizer)


def test_the_vocabulary_has_the_size_of_the_logits(tokenizer: Any) -> None:
    """More logits than tokens are padded with what never matches; fewer cut the table."""
    wide = Generator(build_model(tokenizer, extra=40), tokenizer)
    assert wide.vocabulary.size == len(tokenizer) + 40
    assert int(wide.vocabulary.text_ids.max()) < len(tokenizer)
    narrow = Generator(build_model(tokenizer, extra=-10), tokenizer)
    assert narrow.vocabulary.size == len(tokenizer) - 10
    for generator in (wide, narrow):
        words = NaiveConstraint(["ab", "abab", "ba,"], generator.vocabulary)
        results = generator.batch(["x", "yy"], words, n=5, seed=0)
        assert all(r.text.encode() in words.texts for row in results for r in row)


def test_every_end_token_that_the_model_knows_ends_a_text(tokenizer: Any) -> None:
    """Those of generation_config join the tokenizer's own, and none of them is text."""
    model = build_model(tokenizer)
    extra = tokenizer.convert_tokens_to_ids("z")
    model.generation_config.eos_token_id = [extra, tokenizer.pad_token_id, 10**6]
    generator = Generator(model, tokenizer)
    ends = (tokenizer.eos_token_id, extra, tokenizer.pad_token_id)
    assert generator.vocabulary.eos_ids == ends
    words = NaiveConstraint(["a", "aa", "aaa"], generator.vocabulary)
    results = generator.generate("x", words, n=60, seed=0, stop="eos", temperature=3.0)
    assert {r.tokens[-1] for r in results if r.finish_reason == "eos"} == set(ends)


def test_without_an_end_token_texts_end_where_they_must(tokenizer: Any) -> None:
    """Nothing is left to be chosen then, so stop="eos" is refused and "complete" still works."""
    model = build_model(tokenizer)
    model.generation_config.eos_token_id = None
    endless = copy.deepcopy(tokenizer)
    endless.eos_token = None
    generator = Generator(model, endless)
    assert generator.vocabulary.eos_ids == ()
    words = NaiveConstraint(["a", "ab", "abb"], generator.vocabulary)
    results = generator.generate("x", words, n=9, seed=0, max_tokens=2, temperature=3.0)
    assert {r.finish_reason for r in results} <= {"complete", "closed"}
    assert all(r.text.encode() in words.texts for r in results)
    with pytest.raises(GenerationError, match="names an end token"):
        generator.generate("x", words, stop="eos")


def test_a_tokenizer_that_hides_its_bytes_is_refused(model: Any) -> None:
    """A tokenizer that is neither fast nor has a SentencePiece file names what would do."""

    class Slow:
        vocab_file = None
        eos_token_id = 1

    with pytest.raises(VocabularyError, match="expected a fast tokenizer"):
        Generator(model, Slow())


def test_a_slow_sentencepiece_tokenizer_is_read_from_its_file(
    tokenizer: Any, data_dir: Path
) -> None:
    """Where the tokenizer is a Python one, the bytes come from the model file it names."""

    class Slow:
        vocab_file = str(data_dir / "tokenizers" / "llama2.sentencepiece.model")
        eos_token_id = 2

    from structgen.generation.models.loading import vocabulary_of

    class Wide:
        vocab_size = 32_064
        model = None

    vocabulary = vocabulary_of(Wide(), Slow())  # type: ignore[arg-type]
    assert vocabulary.size == 32_064
    assert vocabulary.eos_ids == (2,)
    assert vocabulary.token_bytes(3 + ord("{")) == b"{"


def test_a_constraint_of_too_many_states_is_compiled_anew(generator: Generator) -> None:
    """Those who have it go on with it; one that was given compiled stays."""
    vocabulary = generator.vocabulary
    specs = CompiledSpecs(vocabulary, Speller(vocabulary), kept=2, max_bytes=1 << 18)
    spec = sg.Lark('start: "[" start* "]"')
    first, own = specs.get(spec)[0], sg.compile(spec, vocabulary)
    for constraint in (first, own):
        assert specs.get(spec if constraint is first else own)[0] is constraint
        state = constraint.start
        for _ in range(1 << 10):
            state = constraint.advance_bytes(state, b"[")
        assert state >= 0
    second = specs.get(spec)[0]
    assert second is not first
    assert specs.get(spec)[0] is second
    assert specs.get(own)[0] is own
    assert first.advance_bytes(state, b"]" * (1 << 10)) >= 0


def test_memory_of_constraints_that_leave_is_given_back(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for so many of them, when they are gone, and while others can ask for theirs."""
    specs = CompiledSpecs(generator.vocabulary, Speller(generator.vocabulary), kept=2)
    made: list[weakref.ref[NaiveConstraint]] = []
    counts = []

    def compile_spec(_: Any) -> NaiveConstraint:
        constraint = NaiveConstraint(["a"], generator.vocabulary)
        made.append(weakref.ref(constraint))
        return constraint

    def counted() -> None:
        assert not specs._lock.locked()
        counts.append((len(made), sum(each() is not None for each in made)))

    monkeypatch.setattr(specs, "_compile", compile_spec)
    monkeypatch.setattr(compiled_module, "GIVE_BACK", 5)
    monkeypatch.setattr(compiled_module, "give_back", counted)
    for number in range(14):
        specs.get(str(number))
    assert [specs_made for specs_made, _ in counts] == [7, 12]
    assert all(alive <= 3 for _, alive in counts), "two are kept, and one is in use"


def test_compiled_specs_are_kept_and_the_longest_unused_leave(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal specs are compiled once; changed ones, and ones that had to leave, again."""
    compiled = []
    specs = CompiledSpecs(generator.vocabulary, Speller(generator.vocabulary), kept=2)

    def compile_spec(spec: Any) -> NaiveConstraint:
        compiled.append(repr(spec))
        return NaiveConstraint(["a"], generator.vocabulary)

    monkeypatch.setattr(specs, "_compile", compile_spec)
    schema = {"type": "object", "b": 1, "a": 2}
    first = specs.get(schema)
    assert specs.get(dict(schema))[0] is first[0]
    assert specs.get({"type": "object", "a": 2, "b": 1})[0] is not first[0], "order counts"
    assert len(compiled) == 2
    specs.get(schema)
    specs.get("third")  # the reordered one leaves
    assert specs.get(schema)[0] is first[0]
    schema["c"] = 3
    assert specs.get(schema)[0] is not first[0], "it was changed in place"
    assert len(compiled) == 4
    specs.get((1,))
    specs.get((True,))
    assert len(compiled) == 6, "1 and True are equal, and not the same spec"
