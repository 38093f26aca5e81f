"""The demo tokenizer, and padded batches of token ids for training.

The tokenizer makes copying easy: a space, a digit and a punctuation sign outside JSON are tokens of
their own, so a value is cut into the same tokens in a sentence and between JSON quotes. Runs of
JSON signs such as `": "` may merge.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.demo.training.corpus import Example, example
from structgen.demo.training.values import Split

PAD, BOS, EOS, USER, ASSISTANT = "<|pad|>", "<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>"
SPECIAL = (PAD, BOS, EOS, USER, ASSISTANT)
VOCABULARY_SIZE = 1536
CONTEXT = 1024
LONGEST = 416
LENGTH_STEP = 32
POOL = 1024
CUT = r"""["{}\[\]:,]+(?: ["{}\[\]]+)*|\p{L}+|\p{N}| |\n+|[^\s\p{L}\p{N}]|\s"""
CHAT = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' "
    "%}<|assistant|>{{ message['content'] }}{{ eos_token }}{% else %}<|user|>{{ "
    "message['content'] }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% "
    "endif %}"
)


@dataclass(frozen=True)
class Batch:
    """Token ids and labels, int64[rows, length], padded on the right; -100 is no label."""

    ids: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]


def build_tokenizer(seed: int = 0, examples: int = 20000) -> Any:
    """Train the byte-level BPE tokenizer, a PreTrainedTokenizerFast, on the training split."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CUT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    rng = random.Random(seed)  # noqa: S311
    drawn = (example(rng) for _ in range(examples))
    raw.train_from_iterator((f"{e.prompt}\n{e.target}" for e in drawn), trainer)
    make: Any = PreTrainedTokenizerFast
    return make(
        tokenizer_object=raw,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json, the chat template inside it, to `folder`."""
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": PAD,
        "additional_special_tokens": [USER, ASSISTANT],
        "chat_template": CHAT,
        "model_max_length": CONTEXT,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def encode(
    tokenizer: Any, drawn: list[Example], rng: random.Random
) -> list[tuple[list[int], list[int]]]:
    """Prompt ids and answer ids of each example; one in sixteen goes without chat tokens."""
    chat = [rng.random() >= 1 / 16 for _ in drawn]
    prompts = [
        f"{BOS}{USER}{e.prompt}{ASSISTANT}" if c else e.prompt + rng.choice(("\n", ""))
        for e, c in zip(drawn, chat, strict=True)
    ]
    answers = [e.target + EOS for e in drawn]
    raw = tokenizer.backend_tokenizer
    heads = raw.encode_batch(prompts, add_special_tokens=False)
    tails = raw.encode_batch(answers, add_special_tokens=False)
    return [(h.ids, t.ids) for h, t in zip(heads, tails, strict=True)]


def batches(
    tokenizer: Any,
    seed: int,
    tokens: int,
    split: Split = "train",
    record_share: float = 0.3,
    longest: int = LONGEST,
) -> Iterator[Batch]:
    """Endless batches of `tokens` padded tokens, of few shapes, as a new shape costs set-up time.

    Examples of more than `longest` tokens are skipped, and one of more than `tokens` is a batch by
    itself. Each pool of examples is sorted by length and cut into batches, which are shuffled; what
    does not fill a batch waits for the next pool.
    """
    rng = random.Random(seed)  # noqa: S311
    waiting: list[tuple[list[int], list[int]]] = []
    while True:
        pairs = waiting + encode(
            tokenizer, [example(rng, split, record_share) for _ in range(POOL)], rng
        )
        pairs = sorted((p for p in pairs if _length(p) <= longest), key=_length)
        made = []
        while pairs:
            length = -(-_length(pairs[-1]) // LENGTH_STEP) * LENGTH_STEP
            rows = max(1, tokens // length)
            if rows > len(pairs):
                break
            made.append(_pad(pairs[-rows:], length, tokenizer.pad_token_id))
            del pairs[-rows:]
        waiting = pairs
        rng.shuffle(made)
        yield from made


def _length(pair: tuple[list[int], list[int]]) -> int:
    return len(pair[0]) + len(pair[1])


def _pad(pairs: list[tuple[list[int], list[int]]], length: int, pad: int) -> Batch:
    ids = np.full((len(pairs), length), pad, np.int64)
    labels = np.full((len(pairs), length), -100, np.int64)
    for row, (head, tail) in enumerate(pairs):
        end = len(head) + len(tail)
        ids[row, :end] = head + tail
        labels[row, len(head) : end] = tail
    return Batch(ids, labels)
