"""In: nothing. Out: the tiny tokenizer and the tiny random models that the decode tests use."""

from __future__ import annotations

from typing import Any

MERGES = [
    ("t", "r"), ("u", "e"), ("tr", "ue"), ("a", "b"), ("a", "a"), ("b", "a"), ("ab", "ab"),
    ("{", '"'), ('"', ":"), ('":', "Ġ"), ('{"', "k"), ('{"k', '":Ġ'), ('"', "}"), ("[", "true"),
    ("Ã", "©"), ("©", "a"), ("b", "Ã"), ("©", "Ã"), ("Ġ", "Ġ"), (",", "Ġ"), ("Ġ", '"'),
]  # fmt: skip
SPECIAL = ["<s>", "</s>", "<pad>"]


def build_tokenizer() -> Any:
    """A transformers tokenizer of all bytes, some merges that cut characters, and special tokens.

    In the byte-level alphabet "Ġ" is the space and "Ã©" is "é".
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*SPECIAL, *alphabet, *(a + b for a, b in MERGES)]
    bpe = models.BPE({piece: i for i, piece in enumerate(pieces)}, MERGES)
    backend = Tokenizer(bpe)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def build_model(tokenizer: Any, *, extra: int = 21, context: int = 96, seed: int = 5) -> Any:
    """A random float32 Llama with `extra` more logits than the tokenizer has tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + extra,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
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
