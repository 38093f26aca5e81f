"""Runs a real vLLM engine with a random model, and prints what it has written as JSON.

In a process of its own, in which structgen is loaded no earlier than vLLM's plugins are.

    python -m tests.integrations.vllm_engine FOLDER HOW

HOW is plain, drafts, processor, reasoning or reasoning-drafts.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"k": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}},
    "required": ["k"],
    "additionalProperties": False,
}
SPECS: list[tuple[str, Any]] = [
    ("json", SCHEMA),
    ("regex", "(ab|ba){2,4}"),
    ("choice", ["true", "abab"]),
    ("json", SCHEMA),
]
ENVIRONMENT = {
    "STRUCTGEN_VLLM": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_PLUGINS": "",
    "VLLM_USE_V2_MODEL_RUNNER": "0",
}
REASONING = ("<think>", REASONING_END := "</think>")
LETTERS = '{"k":[truefalse,true]}ab'  # all that texts of SPECS need
PROCESSOR = "structgen.integrations.vllm.logits_processor:StructgenProcessor"


def main(folder: str, how: str) -> None:
    """Write a text for each spec, and see a broken one refused."""
    os.environ |= ENVIRONMENT
    save_model(folder)
    options: dict[str, Any] = {"structured_outputs_config": {"backend": "outlines"}}
    if how == "processor":
        options = {"logits_processors": [PROCESSOR]}
    else:
        from structgen.integrations.vllm import plugin

        plugin.register()
    if how.startswith("reasoning"):
        options["structured_outputs_config"]["reasoning_parser"] = "deepseek_r1"
    if how.endswith("drafts"):
        lookup = {"prompt_lookup_max": 2, "prompt_lookup_min": 1}
        options["speculative_config"] = {"method": "ngram", "num_speculative_tokens": 3} | lookup
    from vllm import LLM

    llm = LLM(
        model=folder,
        load_format="dummy",
        dtype="float32",
        max_model_len=256,
        max_num_seqs=8,
        enforce_eager=True,
        **options,
    )
    given = [params(how, kind, content) for kind, content in SPECS]
    if how.startswith("reasoning"):  # of few tokens, the random model finds the end of reasoning
        vocabulary = llm.get_tokenizer().get_vocab()
        for seed, one in enumerate(given):
            one.seed = seed
            one.allowed_token_ids = [
                vocabulary[token] for token in [*LETTERS, "</s>", REASONING_END]
            ]
    texts = [one.outputs[0].text for one in llm.generate(["ab ab ab"] * len(given), given)]
    refused = ""
    try:
        llm.generate(["ab"], [params(how, "json", {"type": "bool"})])
    except Exception as error:  # noqa: BLE001  # which it is depends on vLLM; its text is looked at
        refused = f"{type(error).__name__}: {error}"
    print(json.dumps({"texts": texts, "refused": refused}))  # noqa: T201


def params(how: str, kind: str, content: Any) -> Any:
    """The sampling parameters of a request."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    if how == "processor":
        return SamplingParams(max_tokens=80, seed=3, extra_args={"structgen": {kind: content}})
    asked = StructuredOutputsParams(**{kind: content})
    return SamplingParams(max_tokens=200, seed=3, structured_outputs=asked)


def save_model(folder: str) -> None:
    """A tokenizer, and the shape of a small Llama."""
    from transformers import LlamaConfig

    from tests.generation.models import build_tokenizer

    tokenizer = build_tokenizer(before=REASONING)
    tokenizer.save_pretrained(folder)
    config: Any = LlamaConfig
    config(
        vocab_size=len(tokenizer) + 21,
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=512,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        architectures=["LlamaForCausalLM"],
    ).save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
