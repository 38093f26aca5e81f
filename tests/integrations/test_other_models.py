"""Checks `LogitsProcessor` with models whose `generate` reads more than one text: an encoder's, and
images. The prompt of such a model is what its decoder begins with.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList

import structgen as sg
from tests.generation.models import build_tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.matrix,
]
SPEC = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"k": {"enum": ["ab", True]}, "n": {"type": "integer", "maximum": 99}},
        "required": ["k"],
        "additionalProperties": False,
    }
)
OPTIONS = [
    {"do_sample": False},
    {"do_sample": True, "temperature": 2.0, "num_return_sequences": 3},
    {"do_sample": False, "num_beams": 3, "num_return_sequences": 2},
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tiny one."""
    return build_tokenizer()


def check_all(model: Any, tokenizer: Any, inputs: dict[str, Any], options: dict[str, Any]) -> None:
    """Every text of a call fits, behind the tokens that the decoder began with."""
    torch.manual_seed(0)
    model.eval()
    processor = sg.LogitsProcessor(SPEC, tokenizer)
    output = model.generate(
        **inputs, logits_processor=LogitsProcessorList([processor]), max_new_tokens=60, **options
    )
    begun = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    assert len(output) == options.get("num_return_sequences", 1)
    for row in output[:, begun:].tolist():
        text = tokenizer.decode(row[: row.index(tokenizer.eos_token_id)])
        sg.check(SPEC, text, exact_layout=True)


@pytest.mark.parametrize("options", OPTIONS, ids=["greedy", "sampled", "beams"])
def test_encoder_decoder_models(tokenizer: Any, options: dict[str, Any]) -> None:
    """A tiny BART: the encoder reads the prompt, and the decoder writes the text."""
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(3)
    config = BartConfig(
        vocab_size=len(tokenizer) + 5,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        init_std=0.5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=None,
    )
    model: Any = BartForConditionalGeneration(config)
    encoded = tokenizer("a film that was fun", return_tensors="pt")
    inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
    check_all(model, tokenizer, inputs, options)


@pytest.mark.parametrize("options", OPTIONS, ids=["greedy", "sampled", "beams"])
def test_models_that_see_images(tokenizer: Any, options: dict[str, Any]) -> None:
    """A tiny LLaVA: one token of the prompt stands for each patch of the image."""
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    torch.manual_seed(4)
    image = len(tokenizer)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            image_size=8,
            patch_size=4,
            projection_dim=16,
        ),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer) + 5,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=128,
            initializer_range=0.5,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        ),
        image_token_index=image,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
    )
    model: Any = LlavaForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    ids = torch.tensor([[5, *[image] * 4, 9]])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "pixel_values": torch.rand(1, 3, 8, 8),
    }
    check_all(model, tokenizer, inputs, options)
