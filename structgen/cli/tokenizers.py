"""Make the vocabulary that the options around `--tokenizer` describe."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.errors import ModelError, VocabularyError

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary


def load_vocabulary(args: argparse.Namespace) -> Vocabulary:
    """The vocabulary of `args.tokenizer`, by default the demo model's.

    VocabularyError or ModelError when there is no such tokenizer, it cannot be read, or an option
    does not belong to its kind.
    """
    from structgen import Vocabulary, demo

    name = args.tokenizer if args.tokenizer is not None else str(demo.model_path())
    if name.endswith(".tiktoken"):
        return Vocabulary.from_tiktoken(
            name, special_tokens=dict(args.special), eos_ids=args.eos, size=args.size
        )
    if args.special:
        raise VocabularyError(
            "--special describes a .tiktoken file",
            location=name,
            hint="leave it out: this tokenizer says itself which tokens are special",
        )
    if name.endswith(".model"):
        return Vocabulary.from_sentencepiece(name, eos_ids=args.eos, size=args.size)
    return Vocabulary.from_transformers(load_tokenizer(name), args.size, eos_ids=args.eos)


def load_tokenizer(name: str) -> Any:
    """The transformers tokenizer in a folder, or of that name in the local cache or on the hub."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        exists = Path(name).exists()
        raise ModelError(
            f"no tokenizer could be loaded: {reason}" if exists else "there is no such tokenizer",
            location=name,
            expected="a folder with a transformers tokenizer, a .tiktoken or a .model file",
            hint="" if exists else "check the path or the name",
        ) from error
