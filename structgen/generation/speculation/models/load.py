"""Loads a draft model as a target, with its vocabulary where that is known."""

from __future__ import annotations

from typing import Any

from structgen.demo import draft_path
from structgen.generation.models.loading import load_target, vocabulary_of
from structgen.generation.models.target import HuggingFaceTarget
from structgen.vocabulary.vocabulary import Vocabulary


def load_draft_model(
    model: Any, tokenizer: Any, device: Any, dtype: Any
) -> tuple[HuggingFaceTarget, Vocabulary | None]:
    """`model` and `tokenizer` as for `Generator`; None is the shipped small one, in float32.

    The vocabulary is None where there is no tokenizer: for a model object alone, and for a
    HuggingFaceTarget. Errors are those of `load_target` and `vocabulary_of`. It takes trees if
    there is a way.
    """
    if isinstance(model, HuggingFaceTarget):
        return model.with_trees() or model, None
    if tokenizer is None and hasattr(model, "get_output_embeddings"):
        target = HuggingFaceTarget(model.to(device=device, dtype=dtype))
        return target.with_trees() or target, None
    if model is None:
        model, dtype = draft_path(), dtype or "float32"
    target, tokenizer = load_target(model, tokenizer, device, dtype)
    return target.with_trees() or target, vocabulary_of(target, tokenizer)
