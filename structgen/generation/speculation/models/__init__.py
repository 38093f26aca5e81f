"""Drafters that ask a model: a smaller one, one with other tokens, or a part of the target."""

from structgen.generation.speculation.models.contrast import Contrast
from structgen.generation.speculation.models.drafter import ModelDrafter
from structgen.generation.speculation.models.layer_skip import LayerSkipDrafter
from structgen.generation.speculation.models.selectors import Clasp, EarlyExit, NearestPrompt, Swift
from structgen.generation.speculation.models.text_drafter import (
    NgramCache,
    Retokenizer,
    TextDrafter,
)

__all__ = [
    "Clasp",
    "Contrast",
    "EarlyExit",
    "LayerSkipDrafter",
    "ModelDrafter",
    "NearestPrompt",
    "NgramCache",
    "Retokenizer",
    "Swift",
    "TextDrafter",
]
