"""The tiny tokenizer and the tiny random models that the tests use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
import transformers

from structgen.util.versions import release

# Before 5.5 recurrent models of transformers had caches of kinds of their own, which are refused.
STATES_ARE_SHARED = release(transformers.__version__) >= (5, 5)
SHARED_STATES = pytest.mark.skipif(not STATES_ARE_SHARED, reason="needs transformers 5.5")
MERGES = [
    ("t", "r"), ("u", "e"), ("tr", "ue"), ("a", "b"), ("a", "a"), ("b", "a"), ("ab", "ab"),
    ("{", '"'), ('"', ":"), ('":', "Ġ"), ('{"', "k"), ('{"k', '":Ġ'), ('"', "}"), ("[", "true"),
    ("Ã", "©"), ("©", "a"), ("b", "Ã"), ("©", "Ã"), ("Ġ", "Ġ"), (",", "Ġ"), ("Ġ", '"'),
]  # fmt: skip
OTHER_MERGES = [("a", "b"), ("b", "a"), ("t", "r"), ("u", "e"), ('"', ":"), ("k", '"')]
SPECIAL = ["<s>", "</s>", "<pad>"]


def build_tokenizer(merges: Sequence[tuple[str, str]] = MERGES, before: Sequence[str] = ()) -> Any:
    """A transformers tokenizer of all bytes, some merges that cut characters, and special tokens.

    before: more tokens, which shift the ids of the others.

    In the byte-level alphabet "Ġ" is the space and "Ã©" is "é".
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*before, *SPECIAL, *alphabet, *(a + b for a, b in merges)]
    bpe = models.BPE({piece: i for i, piece in enumerate(pieces)}, list(merges))
    backend = Tokenizer(bpe)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def build_model(
    tokenizer: Any, *, extra: int = 21, context: int = 96, seed: int = 5, layers: int = 2
) -> Any:
    """A random float32 Llama with `extra` more logits than the tokenizer has tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + extra,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model: Any = LlamaForCausalLM(config)
    return model.eval()


def sliding_model() -> Any:
    """A tiny model whose layers see the last few tokens only."""
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(1)
    config = MistralConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        sliding_window=4,
        initializer_range=0.5,
    )
    untyped: Any = MistralForCausalLM(config)
    return untyped.eval()


def gpt2_model() -> Any:
    """A tiny model with learned positions, which padding must not shift."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(2)
    config = GPT2Config(
        vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32, initializer_range=0.5
    )
    untyped: Any = GPT2LMHeadModel(config)
    return untyped.eval()


def bloom_model() -> Any:
    """A tiny model without positions: its attention falls off with distance (ALiBi)."""
    from transformers import BloomConfig, BloomForCausalLM

    config = BloomConfig(
        vocab_size=64, hidden_size=16, n_layer=2, n_head=2, initializer_range=0.5, use_cache=True
    )
    untyped: Any = BloomForCausalLM
    return untyped(config)


def mamba_model() -> Any:
    """A tiny model that keeps a state of fixed size instead of keys and values."""
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2, state_size=4)
    untyped: Any = MambaForCausalLM
    return untyped(config)


def mixed_model() -> Any:
    """A tiny model in which layers that see a few tokens take turns with layers that see all."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(4)
    config = Gemma2Config(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, sliding_window=4,
        initializer_range=0.5,
    )  # fmt: skip
    untyped: Any = Gemma2ForCausalLM(config)
    return untyped.eval()


def hybrid_model() -> Any:
    """A tiny model whose recurrent layer goes on from what it remembers (gated delta rule)."""
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    torch.manual_seed(6)
    config = Qwen3NextConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, linear_key_head_dim=4,
        linear_value_head_dim=4, linear_num_key_heads=2, linear_num_value_heads=2,
        num_experts=2, num_experts_per_tok=1, moe_intermediate_size=8,
        shared_expert_intermediate_size=8, initializer_range=0.5,
        layer_types=["linear_attention", "full_attention"],
    )  # fmt: skip
    untyped: Any = Qwen3NextForCausalLM(config)
    return untyped.eval()
