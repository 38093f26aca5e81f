"""Loads a model, given by name, path or object, with its tokenizer and its vocabulary."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.errors import ModelError, StructgenError, VocabularyError
from structgen.util.versions import warn_of_untested
from structgen.vocabulary.sources import cannot_load, load_tokenizer, place_of
from structgen.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from structgen.generation.models.target import HuggingFaceTarget

_HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/[\w.-]{1,96})?")  # "gpt2" or "owner/model"
_LOADING = (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError)


def load_target(
    model: Any, tokenizer: Any, device: Any, dtype: Any
) -> tuple[HuggingFaceTarget, Any]:
    """The target and its tokenizer.

    `model` is a name on the Hugging Face hub, a directory, a model object, or a pair (model,
    tokenizer). ModelError, in one line, when there is no such model, it cannot be loaded, it has an
    encoder, or a model object comes without a tokenizer. UntestedVersionWarning, once, when a
    package that it needs is newer than what was tested.
    """
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise ModelError(
                f"running a model needs the {package} package",
                hint="run: pip install 'structgen[hf]'",
            )
    warn_of_untested()
    if isinstance(model, tuple | list):
        if len(model) != 2 or tokenizer is not None:
            raise ModelError(f"model is {model!r:.80}", expected="a pair (model, tokenizer)")
        model, tokenizer = model
    name = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    if name is not None:
        _check_path(name, is_path=not isinstance(model, str))
        tokenizer = name if tokenizer is None else tokenizer
    elif not hasattr(model, "get_output_embeddings") or not hasattr(model, "config"):
        raise ModelError(
            f"model is a {type(model).__name__}",
            expected="a name, a directory, a transformers model, or (model, tokenizer)",
        )
    if tokenizer is None:
        raise ModelError(
            "a model object came without its tokenizer", hint="give (model, tokenizer)"
        )
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = load_tokenizer(os.fspath(tokenizer))
    if name is not None:
        model = _load_model(name, device, dtype)
    elif device is not None or dtype is not None:
        model = model.to(device=device, dtype=_dtype(dtype) if dtype is not None else None)
    if getattr(model.config, "is_encoder_decoder", False):
        raise ModelError(
            f"{type(model).__name__} reads the prompt with an encoder",
            expected="a causal language model, which reads prompt and text as one",
        )

    from structgen.generation.models.target import HuggingFaceTarget

    return HuggingFaceTarget(model), tokenizer


def vocabulary_of(target: HuggingFaceTarget, tokenizer: Any) -> Vocabulary:
    """The vocabulary in the size of the model's logits, with all end tokens that the model knows.

    Ids of the tokenizer beyond the logits cannot be generated and are left out; logits beyond the
    tokenizer's ids never match.
    """
    found = _tokenizer_vocabulary(tokenizer)
    size = target.vocab_size
    settings = getattr(target.model, "generation_config", None)
    ends = _ids(getattr(tokenizer, "eos_token_id", None))
    ends += _ids(getattr(settings, "eos_token_id", None))
    return Vocabulary(
        found.tokens[:size],
        eos_ids=[i for i in ends if 0 <= i < size],
        special_ids=[i for i in found.special_ids if i < size],
        size=size,
        encode=found.encode,
        prefix=found.prefix,
    )


def _tokenizer_vocabulary(tokenizer: Any) -> Vocabulary:
    """The tokenizer's own table; one that is not a fast tokenizer is read from its model file."""
    try:
        return Vocabulary.from_transformers(tokenizer)
    except VocabularyError:
        file = getattr(tokenizer, "vocab_file", None)
        if hasattr(tokenizer, "backend_tokenizer") or not str(file).endswith(".model"):
            raise
    return Vocabulary.from_sentencepiece(str(file))


def _ids(value: Any) -> list[int]:
    if value is None:
        return []
    return [int(i) for i in value] if isinstance(value, list | tuple) else [int(value)]


def _check_path(name: str, *, is_path: bool) -> None:
    """A name that can only be a path must be a model directory; others may be on the hub."""
    path = Path(name).expanduser()
    if os.path.isdir(path):  # `Path.is_dir` fails for a name that is too long
        if not (path / "config.json").is_file():
            raise ModelError(
                "the directory holds no model",
                location=str(path),
                expected="a config.json and the files that save_pretrained writes",
            )
    elif is_path or not _HUB_NAME.fullmatch(name) or path.exists() or _is_beside(path):
        raise ModelError(
            "there is no model directory",
            location=str(path),
            hint="give the path of a directory with config.json, or a name on the Hugging Face hub",
        )


def _is_beside(path: Path) -> bool:
    """Whether "owner/model" has the name of a directory here before the slash."""
    return path.parent != Path() and path.parent.is_dir()


def _load_model(name: str, device: Any, dtype: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    where, options = place_of(name)
    try:
        model = AutoModelForCausalLM.from_pretrained(where, dtype=_dtype(dtype), **options)
        return model.to(_device(device, torch))
    except StructgenError:
        raise
    except _LOADING as error:
        raise cannot_load("model", name, error) from None


def _dtype(dtype: Any) -> Any:
    """A torch dtype; a name becomes one, None becomes "auto", the one the model was saved in."""
    if dtype is None or (isinstance(dtype, str) and dtype == "auto"):
        return "auto"
    import torch

    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype):
        raise ModelError(f"dtype is {dtype!r:.80}", expected='such as "float32" or "bfloat16"')
    return found


def _device(device: Any, torch: Any) -> Any:
    if device is not None:
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
